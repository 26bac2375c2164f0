"""The code that a mechanism can reach: its own methods and every function of this project that they name.

A release that asks the clock, the environment, the locale, or where an object lies in memory, may answer otherwise on
another day or another machine, and no run here would show it. Their names stand in the code all the same. The walk goes
through functions, closures, classes and modules of this project as they are now, patches included; it does not see what
is looked up by a text, nor inside other libraries.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any, Final

#: Modules through which the world outside shows, or through which something is left in it.
OUTSIDE: Final = frozenset(
    {
        *("time", "locale", "random", "secrets", "uuid", "socket", "subprocess", "atexit", "gc", "weakref"),
        *("tempfile", "shutil", "pickle", "shelve", "sqlite3", "ctypes", "mmap", "signal", "resource", "platform"),
        *("getpass", "urllib", "http", "contextvars", "numpy.random", "numpy.ctypeslib", "asyncio", "multiprocessing"),
    }
)
#: Of modules that have harmless uses, what has none here.
NAMES: Final = frozenset(
    {("os", name) for name in ("environ", "environb", "getenv", "system", "popen", "urandom", "getlogin", "uname")}
    | {("sys", name) for name in ("argv", "settrace", "setprofile", "getrefcount", "flags", "_getframe")}
    | {("threading", name) for name in ("Thread", "Timer", "local")}
)
#: Functions whose answer depends on the process: addresses, and hashes of texts.
BUILT_IN: Final = frozenset({"id", "hash", "input", "open", "eval", "exec", "print", "breakpoint"})

#: Where these are what a module is for.
ALLOWED: Final = {
    "dither.noise.entropy": "keys belong to a process and a thread",
    "dither.mechanisms.core.runner": "a runner belongs to a process and a thread",
    "dither.estimate.public_randomness": "its seed is public, and a part of what is released",
    "dither.publish.workloads.grouped": "groups that are alike are computed once within a call",
    "dither.mechanisms.core.registry": "rooms are loaded on first use",
}

#: Whose code is followed: the package's, and that of a checkout's tools, which plant bugs in it.
_OURS: Final = ("dither", "tools.")


def outside_names(*roots: Any) -> Iterator[str]:
    """Return every name by which code that can be reached from functions or classes looks outside, and where.

    >>> def late(): return __import__("time").time()
    >>> list(outside_names(late))
    []
    >>> def address(thing): return id(thing)
    >>> list(outside_names(address))
    ['id in address']

    """
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, types.FunctionType):
            for name, thing in _named(one):
                if name:
                    yield f"{name} in {one.__qualname__}"
                elif _is_ours(thing):
                    waiting.append(thing)
        elif isinstance(one, type):
            waiting += [part for part in _members(one) if _is_ours(part)]
        elif isinstance(one, property):
            waiting += [part for part in (one.fget, one.fset) if part is not None]
        elif isinstance(one, classmethod | staticmethod):
            waiting.append(one.__func__)
        elif hasattr(one, "__wrapped__"):
            waiting.append(one.__wrapped__)
        elif hasattr(one, "func"):
            # Of a cached property, or a partial function.
            waiting.append(one.func)


def _members(kind: type) -> Iterator[Any]:
    for one in kind.__mro__:
        if one.__module__.startswith(_OURS):
            yield from (part for name, part in list(vars(one).items()) if name not in _OF_RECORDS)


def _is_ours(thing: Any) -> bool:
    if isinstance(thing, property | classmethod | staticmethod):
        return True
    module = getattr(thing, "__module__", None)
    is_code = isinstance(thing, types.FunctionType | type) or hasattr(thing, "__wrapped__") or hasattr(thing, "func")
    return is_code and isinstance(module, str) and module.startswith(_OURS) and not module.startswith(tuple(ALLOWED))


def _named(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Return what a function names: a name that looks outside, or an object to follow."""
    for cell in function.__closure__ or ():
        try:
            yield "", cell.cell_contents
        except ValueError:
            continue
    for first, *attributes in _chains(function.__code__):
        held = function.__globals__.get(first, _NOTHING)
        if held is _NOTHING:
            if first in BUILT_IN or first in OUTSIDE:
                yield first, None
            continue
        if isinstance(held, types.ModuleType) and held.__name__ in OUTSIDE:
            yield held.__name__, None
        elif _origin(held) in OUTSIDE:
            yield f"{_origin(held)}.{first}", None
        yield "", held
        for name in attributes:
            if not isinstance(held, types.ModuleType):
                break
            if (held.__name__, name) in NAMES or f"{held.__name__}.{name}" in OUTSIDE:
                yield f"{held.__name__}.{name}", None
            held = getattr(held, name, None)
            yield "", held


@functools.cache
def _chains(code: types.CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the global names that a code and all codes within it load, each with the attributes read from it at once.

    Of modules that are loaded within a function, their names.
    """
    found: list[list[str]] = []
    for one in _codes(code):
        is_open = False
        for step in dis.get_instructions(one):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
                found.append([step.argval])
                is_open = step.opname != "IMPORT_NAME"
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and is_open:
                found[-1].append(step.argval)
            elif step.opname not in ("CACHE", "PUSH_NULL", "PRECALL"):
                is_open = False
    return tuple({tuple(chain) for chain in found})


def _origin(thing: Any) -> str:
    """Return the module that a function of another library comes from."""
    if isinstance(thing, types.BuiltinFunctionType | types.FunctionType):
        return getattr(thing, "__module__", None) or ""
    return ""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Return a code and all codes within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


_NOTHING: Final = object()
#: What records have by themselves: they are hashed and printed outside of releases.
_OF_RECORDS: Final = frozenset({"__hash__", "__repr__", "__eq__"})
