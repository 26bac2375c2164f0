"""State left behind by a run: all modules, classes and functions of this project.

Records of public parameters are made once and live long, modules and classes live for ever; what a run on private data
leaves in one of them, a later run can tell. A snapshot is a digest of every mutable thing that can be reached from a
module: containers, class attributes, defaults and closures of functions, and counters of
caches. Caches that are filled from public parameters are the same after runs on neighbours.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from dither.testing.sameness import digest

#: What may change with every run, and why.
ALLOWED: Final = {
    "dither.noise.entropy": "words that are random and used once",
    "dither.testing": "recorders hold private values; they are for tests alone",
    "dither.mechanisms.core.registry:_entries": "examples, whose engines keep what they computed from their tables",
}
_CONTAINERS = (dict, list, set, deque, bytearray, np.ndarray)

#: Seconds after which a child is ended; far more than any needs.
_LONGEST_CHILD = 600

Snapshot = dict[str, str]


def snapshot(*records: Any) -> Snapshot:
    """Return a digest of every place that could have kept something: in all modules, and in these records."""
    found = {name: digest(thing) for name, thing in _places()}
    return found | {f"record {number}": digest(one) for number, one in enumerate(records)}


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the places at which two snapshots differ."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def generators() -> str:
    """Return a digest of the global generators, from which no code should draw."""
    return digest([np.random.get_state(), sys.modules["random"].getstate()])


def in_child(call: Callable[[], Any]) -> Any:
    """Return the result of ``call`` in a child process, whose memory is lost with it: plain JSON data."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Later Pythons warn of forks beside threads; the child waits for none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        # Nothing of the parent's may run in the child, not even its handlers at exit.
        try:
            # A child of a process with threads may wait for one that is not there; its parent must not.
            signal.alarm(_LONGEST_CHILD)
            answer = _told(call)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    record = json.loads(content) if content else {"failed": "without a word"}
    if "failed" in record:
        raise RuntimeError(f"a child of this process failed: {record['failed']}")
    return record["returned"]


def _told(call: Callable[[], Any]) -> bytes:
    try:
        return json.dumps({"returned": call()}).encode()
    except Exception as failure:  # told to the parent, who raises it
        return json.dumps({"failed": f"{type(failure).__name__}: {failure}"}).encode()


def _places() -> Iterator[tuple[str, Any]]:
    for name in sorted(sys.modules):
        module = sys.modules[name]
        if not (name == "dither" or name.startswith("dither.")) or name.startswith(tuple(ALLOWED)):
            continue
        for attribute, thing in list(vars(module).items()):
            if attribute.startswith("__") or f"{name}:{attribute}" in ALLOWED:
                continue
            yield from _of(f"{name}:{attribute}", thing, name)


def _of(place: str, thing: Any, module: str) -> Iterator[tuple[str, Any]]:
    """Return the mutable state at one place; imported objects are read where they were made."""
    if isinstance(thing, _CONTAINERS):
        yield place, thing
    elif isinstance(thing, types.FunctionType):
        if thing.__module__ == module:
            yield from _of_function(place, thing)
    elif hasattr(thing, "cache_info") and hasattr(thing, "__wrapped__"):
        if getattr(thing, "__module__", module) == module:
            info = thing.cache_info()
            yield place, (info.misses, info.currsize)
    elif isinstance(thing, type):
        if thing.__module__ == module:
            for name, one in list(vars(thing).items()):
                if name not in ("__dict__", "__weakref__", "__doc__", "__annotations__") and not _is_bookkeeping(name):
                    yield from _of_member(f"{place}.{name}", one)
    elif type(thing).__module__.startswith("dither.") and not isinstance(thing, type) and hasattr(thing, "__dict__"):
        yield place, vars(thing)


def _of_member(place: str, one: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(one, "__func__", one)
    if isinstance(inner, types.FunctionType):
        yield from _of_function(place, inner)
    elif isinstance(one, _CONTAINERS):
        yield place, one
    elif hasattr(one, "cache_info"):
        info = one.cache_info()
        yield place, (info.misses, info.currsize)
    elif not callable(one) and isinstance(one, (int, float, str, bytes, tuple, frozenset, type(None))):
        yield place, one


def _of_function(place: str, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Return the state of a function: mutable defaults, attributes, and containers that it closes over."""
    kept = [one for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()) if _is_kept(one)]
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if _is_kept(content):
            kept.append(content)
    attributes = {name: one for name, one in vars(function).items() if name != "__wrapped__" and _is_kept(one)}
    if kept or attributes:
        yield place, [kept, attributes]


def _is_kept(thing: Any) -> bool:
    return isinstance(thing, _CONTAINERS)


def _is_bookkeeping(name: str) -> bool:
    """Whether Python's own machinery keeps it: of dataclasses, of abstract classes, of generics."""
    return name.startswith(("__dataclass", "_abc_", "__abstract", "__parameters", "__orig_bases", "__match_args"))
