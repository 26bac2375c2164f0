"""What the tests of mechanisms share: a source that counts its words, and an exact test of counts against a law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from dither.noise import Noise, SystemEntropy

#: The chance that ``misfits`` names any outcome although the law holds.
FALSE_ALARM = 1e-10


class CountingEntropy(SystemEntropy):
    """System entropy that counts the words it hands out, and runs a hook before each batch."""

    def __init__(self) -> None:
        self.used = 0
        self.before: Callable[[], None] = lambda: None

    def words(self, count: int) -> NDArray[np.uint16]:
        self.before()
        self.used += count
        return super().words(count)


@pytest.fixture
def entropy() -> CountingEntropy:
    return CountingEntropy()


@pytest.fixture
def noise(entropy: CountingEntropy) -> Noise:
    return Noise(entropy)


def _misfits(drawn: Iterable[Hashable], law: Mapping[Any, float]) -> list[Any]:
    counts = Counter(drawn)
    draws, rest = counts.total(), max(0.0, 1 - sum(law.values()))
    other = sum(count for outcome, count in counts.items() if outcome not in law)
    cells = [(outcome, counts[outcome], p) for outcome, p in law.items()] + [("any other", other, rest)]
    level = FALSE_ALARM / (2 * len(cells))
    return [
        outcome
        for outcome, count, p in cells
        if bdtr(count, draws, p) < level or (count > 0 and bdtrc(count - 1, draws, p) < level)
    ]


@pytest.fixture(scope="session")
def misfits() -> Callable[[Iterable[Hashable], Mapping[Any, float]], list[Any]]:
    """Return the outcomes whose count the law refutes: exact binomial tails, a union bound over all outcomes.

    Whatever the number of draws, a true law is refuted with probability 1e-10 at most.
    """
    return _misfits
