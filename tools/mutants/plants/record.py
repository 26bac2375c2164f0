"""A plant: a privacy bug with a witness, against which the whole contract and the whole audit are tried.

A mutant names the one check that should notice it. A plant names only what it breaks and the mechanisms concerned; its
witness, written without any code of the checks, proves that a claim really is broken. A plant whose witness stays
silent is not live: it is listed and not counted.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from dither.errors import InvalidParameter
from tools.mutants.record import original, replaced

#: Where a bug is planted; kill rates are printed for each.
FAMILIES = (
    "primitives",
    "composition and prices",
    "histograms, workloads and marginals",
    "queries and emitted SQL",
    "synthetic data",
    "learners",
    "streams and conversations",
    "graphs",
    "places",
    "samples",
    "ledger arithmetic and stored answers",
)


@dataclass(frozen=True)
class Plant:
    """A planted bug.

    Args:
        number: its place in the list.
        name: a few words.
        family: one of ``FAMILIES``.
        breaks: what is no longer true, and for which parameters.
        mechanisms: the registered names whose contract and audit should notice; none where no mechanism is concerned.
        patch: switches it on, as a context manager.
        witness: returns what is broken, in words, or an empty string; runs with the patch and without it.
        is_known_kind: whether a mutant of this kind already existed.

    """

    number: int
    name: str
    family: str
    breaks: str
    mechanisms: tuple[str, ...]
    patch: Callable[[], AbstractContextManager[None]]
    witness: Callable[[], str]
    is_known_kind: bool = False

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InvalidParameter("family", self.family, f"one of {', '.join(FAMILIES)}")

    def broken(self) -> str:
        """Return what the witness shows with the patch in place."""
        with self.patch():
            return self.witness()

    @property
    def is_live(self) -> bool:
        """Whether the witness shows a break with the patch, and none without it."""
        return not self.witness() and bool(self.broken())


def edited(target: str, *changes: tuple[str, str]) -> Callable[[], AbstractContextManager[None]]:
    """Return what switches an edit of the source on: each text, found exactly once, gives way to another.

    The function is compiled again in its own module. A function of a module is replaced wherever it was imported.

    Args:
        target: ``module:function`` or ``module:Class.method``; methods with ``super()`` are not supported.
        changes: pairs of an old and a new text.

    """
    return lambda: _edit(target, changes)


@contextmanager
def _edit(target: str, changes: tuple[tuple[str, str], ...]) -> Iterator[None]:
    module_name, _, path = target.partition(":")
    module, before = importlib.import_module(module_name), original(target)
    source = textwrap.dedent(inspect.getsource(_function_of(before)))
    for old, new in changes:
        if source.count(old) != 1:
            raise InvalidParameter("changes", old, f"found once in {target}, and it is there {source.count(old)} times")
        source = source.replace(old, new)
    made: dict[str, Any] = {}
    code = compile("from __future__ import annotations\n" + source, f"<plant in {target}>", "exec", dont_inherit=True)
    exec(code, module.__dict__, made)  # noqa: S102 - the project's own source, with an edit
    after = made[path.rsplit(".", 1)[-1]]
    if hasattr(after, "__set_name__"):
        after.__set_name__(None, path.rsplit(".", 1)[-1])
    with replaced(target, after) if "." in path else everywhere(before, after):
        yield


@contextmanager
def everywhere(before: Any, after: Any) -> Iterator[None]:
    """Put one function in the place of another in every module of the package that holds it, and undo that."""
    _swap(before, after)
    try:
        yield
    finally:
        _swap(after, before)


def _swap(before: Any, after: Any) -> None:
    for name, module in list(sys.modules.items()):
        if module is None or not (name == "dither" or name.startswith("dither.")):
            continue
        for attribute, held in list(vars(module).items()):
            if held is before:
                setattr(module, attribute, after)


def _function_of(found: Any) -> Any:
    """Return the function inside a property, a cached property, a class method or a cache."""
    for name in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, name, found)
    return found
