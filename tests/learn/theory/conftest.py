"""What tests of learning theory share: exact laws of small learners, and a runner that keeps what it was given."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dither.exact import exp_up
from dither.mechanisms.core.runner import Runner
from dither.testing.branching import branch_outcomes
from dither.testing.enumeration import Enumeration


class Silent:
    """Answers with the value itself, or with given answers, and remembers parts, values and stabilities."""

    def __init__(self, answers: list[Any] | None = None) -> None:
        self.seen: list[tuple[Any, Any, Any]] = []
        self._answers = answers if answers is not None else []

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.seen.append((part, value, stability))
        return self._answers.pop(0) if self._answers else value

    def parallel(self, siblings: int) -> list[Silent]:
        return [self] * siblings


def tables(points: int, most: int, labels: tuple[int, ...] = (0, 1)) -> Iterator[np.ndarray]:
    """Return every collection of up to ``most`` rows over so many points."""
    kinds = list(product(range(points), labels))
    for size in range(most + 1):
        for rows in combinations_with_replacement(kinds, size):
            yield np.array(rows, dtype=np.int64).reshape(size, 2)


def added(table: np.ndarray, points: int, labels: tuple[int, ...] = (0, 1)) -> Iterator[np.ndarray]:
    """Return every table with one row more."""
    for row in product(range(points), labels):
        yield np.vstack([table, [row]])


def softmax_law(scores: Any, scale: Any) -> np.ndarray:
    """Return the law of the exponential mechanism, from its definition."""
    weights = [math.exp((score - max(scores)) / float(scale)) for score in scores]
    return np.array(weights) / sum(weights)


def law_of(mechanism: Any, data: Any, *, runs: int) -> Enumeration:
    """Return the law of what a composed mechanism releases, as far as so many branches show it."""

    def draw(noise: Any) -> Any:
        released = mechanism.release(data, Runner(mechanism.fixed_plan, noise))
        return tuple(released.tolist()) if hasattr(released, "tolist") else released

    return branch_outcomes(draw, runs=runs)


def needed_delta(one: Enumeration, other: Enumeration, epsilon: Fraction) -> Fraction:
    """Return at least how much delta the step from one law to the other needs at this epsilon: certain, not estimated.

    The mass of an outcome is at least what was found, and all outcomes together exceed that by what stayed undecided.
    """
    limit = exp_up(epsilon)
    over = (mass - limit * other.mass.get(outcome, Fraction(0)) for outcome, mass in one.mass.items())
    return max(Fraction(0), sum((each for each in over if each > 0), Fraction(0)) - limit * other.undecided)


class Tools:
    """The helpers above, for tests."""

    silent = Silent
    tables = staticmethod(tables)
    added = staticmethod(added)
    softmax_law = staticmethod(softmax_law)
    law_of = staticmethod(law_of)
    needed_delta = staticmethod(needed_delta)


@pytest.fixture
def tools() -> type[Tools]:
    return Tools
