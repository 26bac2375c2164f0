"""What the mutants of releases are planted into, and tried on: registered mechanisms and their own examples."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from dither.mechanisms import Example, find
from tools.mutants.record import mutated

#: A histogram, a linear classifier, a naive Bayes classifier, a table of keys, and a choice among concepts.
HISTOGRAM, LINEAR, BAYES, KEYS, CHOICE = (
    "identity-histogram",
    "gradient-descent",
    "gaussian-naive-bayes",
    "sparse-histogram",
    "pac-learner",
)


def example_of(name: str, number: int = 0) -> Example:
    """Return an example of a registered mechanism, all of it copies, which a mutant may spoil."""
    found = list(find(name).examples())[number]
    data, neighbours = copy.deepcopy((found.data, found.neighbours))
    return Example(replace(found.mechanism), data, neighbours)  # type: ignore[type-var]


def release_of(name: str) -> str:
    """Return the place of the method by which a mechanism releases."""
    kind = find(name).mechanism
    return f"{kind.__module__}:{kind.__qualname__}.release"


def planted(name: str, mutant: Callable[..., Any]) -> Callable[[], AbstractContextManager[None]]:
    """Return what switches a mutant of a release on; it is given the release before its arguments."""
    return lambda: mutated(release_of(name), mutant)


def of(check: Callable[[Example], None], name: str, number: int = 0) -> Callable[[], None]:
    """Return a check of the contract on an example of a mechanism; the same function for the same three."""
    known = _checks.get((check, name, number))
    if known is None:
        known = _checks[check, name, number] = partial(_run, check, name, number)
    return known


def _run(check: Callable[[Example], None], name: str, number: int) -> None:
    check(example_of(name, number))


_checks: dict[tuple[Callable[[Example], None], str, int], Callable[[], None]] = {}
