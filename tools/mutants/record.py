"""A mutant, how it is switched on, and what becomes of it.

A mutant changes the product in one place, as a patch that is undone when the block ends. Its check is the cheapest one
that should notice: it must pass on the product as it is, and complain about the product with the mutant in it. Places
are named by texts, because some of them lie in rooms above this one, which may not be imported from here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Any

from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter

#: The kinds of checks that kill without a sample.
WITHOUT_SAMPLING = ("exact law", "contract", "replay", "sensitivity", "accountants", "ledger", "randomness", "requests")
SAMPLING = "sampling"


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Args:
        number: its place in the list.
        name: a few words.
        origin: where the bug was really made; nothing where it was made up.
        breaks: what is no longer true.
        killed_by: the kind of check.
        patch: switches it on, as a context manager.
        check: complains with ContractViolation if it notices.

    """

    number: int
    name: str
    origin: str
    breaks: str
    killed_by: str
    patch: Callable[[], AbstractContextManager[None]]
    check: Callable[[], None]

    def __post_init__(self) -> None:
        if self.killed_by not in (*WITHOUT_SAMPLING, SAMPLING):
            raise InvalidParameter("killed_by", self.killed_by, f"one of {', '.join((*WITHOUT_SAMPLING, SAMPLING))}")

    @property
    def is_sampled(self) -> bool:
        """Whether the check draws samples, and so may miss it."""
        return self.killed_by == SAMPLING


@dataclass(frozen=True)
class Trial:
    """What became of a mutant: whether its check passes without it, and what it said with it."""

    mutant: Mutant
    passes_without: bool
    complaint: str
    seconds: float

    @property
    def is_killed(self) -> bool:
        """Whether the check noticed the mutant, and nothing but the mutant."""
        return self.passes_without and bool(self.complaint)

    @property
    def outcome(self) -> str:
        """Killed, survived, or the check complains about the product itself."""
        if not self.passes_without:
            return "the check complains without it"
        return "killed" if self.complaint else "survived"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "number": self.mutant.number,
            "name": self.mutant.name,
            "origin": self.mutant.origin,
            "breaks": self.mutant.breaks,
            "killed_by": self.mutant.killed_by,
            "is_sampled": self.mutant.is_sampled,
            "outcome": self.outcome,
            "complaint": self.complaint,
            "seconds": self.seconds,
        }


def try_mutant(mutant: Mutant, passed: set[Callable[[], None]] | None = None) -> Trial:
    """Run the check without the mutant and with it.

    Args:
        mutant: the planted bug.
        passed: checks that are known to pass without any mutant; grows.

    """
    start, known = process_time(), set[Callable[[], None]]() if passed is None else passed
    if mutant.check not in known:
        complaint = _complaint(mutant.check)
        if complaint:
            return Trial(mutant, False, complaint, process_time() - start)
        known.add(mutant.check)
    with mutant.patch():
        complaint = _complaint(mutant.check)
    return Trial(mutant, True, complaint, process_time() - start)


def try_mutants(mutants: Iterable[Mutant]) -> list[Trial]:
    """Run all of them, one after the other."""
    passed = set[Callable[[], None]]()
    return [try_mutant(mutant, passed) for mutant in mutants]


def _complaint(check: Callable[[], None]) -> str:
    """Return what a check complains about; any other error is one of the check itself, and is raised."""
    try:
        check()
    except ContractViolation as violation:
        return str(violation) or "complained"
    return ""


@contextmanager
def both(*patches: AbstractContextManager[None]) -> Iterator[None]:
    """Switch several patches on together."""
    with ExitStack() as undo:
        for patch in patches:
            undo.enter_context(patch)
        yield


@contextmanager
def replaced(target: str, replacement: Any) -> Iterator[None]:
    """Put something else in the place of one attribute, and the old one back at the end.

    Args:
        target: ``module:attribute`` or ``module:Class.attribute``.
        replacement: what stands there meanwhile.

    """
    owner, name = _found(target)
    # Of a class the raw attribute is kept, a property and not what it would give; what is inherited is covered up.
    is_own, before = name in owner.__dict__, owner.__dict__.get(name)
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        if is_own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


@contextmanager
def mutated(target: str, mutant: Callable[..., Any]) -> Iterator[None]:
    """Put a function in the place of another, which it is given before its arguments.

    Args:
        target: of a function, a method or a class method.
        mutant: ``mutant(before, *arguments)`` is called instead of ``before(*arguments)``.

    """
    before = original(target)
    is_of_class = isinstance(before, classmethod)
    inner = before.__func__ if is_of_class else before

    def replacement(*given: Any, **named: Any) -> Any:
        return mutant(inner, *given, **named)

    with replaced(target, classmethod(replacement) if is_of_class else replacement):
        yield


def original(target: str) -> Any:
    """Return what stands at a place now."""
    owner, name = _found(target)
    return owner.__dict__.get(name, getattr(owner, name))


def _found(target: str) -> tuple[Any, str]:
    module, _, path = target.partition(":")
    *outer, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in outer:
        owner = getattr(owner, part)
    if not hasattr(owner, name):
        raise InvalidParameter("target", target, "an attribute that the module or class has")
    return owner, name
