"""Public numbers that follow from released ones: a graph is then a function of what was released, and of nothing else.

They look like chance and have no privacy role: whatever is made with them is post-processing.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.publish.graphs.simple_graph import Ints

Floats = NDArray[np.float64]
#: Odd multipliers of a public mixing function (splitmix64), and the step of its counter.
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


class Settled:
    """Numbers that follow from released ones.

    Args:
        released: numbers and arrays of them; equal ones give equal numbers.

    >>> Settled(1, 2).random(3).tolist() == Settled(1, 2).random(3).tolist() != Settled(1, 3).random(3).tolist()
    True

    """

    def __init__(self, *released: Any) -> None:
        digest = hashlib.sha256()
        for one in released:
            digest.update(np.ascontiguousarray(one, dtype=np.float64).tobytes())
        self._state = np.uint64(int.from_bytes(digest.digest()[:8], "big"))
        self._drawn = 0

    def _words(self, count: int) -> NDArray[np.uint64]:
        places = np.arange(self._drawn + 1, self._drawn + count + 1, dtype=np.uint64)
        self._drawn += count
        mixed = np.full(count, self._state, dtype=np.uint64) + places * _STEP
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))

    def random(self, count: int) -> Floats:
        """Return numbers from 0 up to 1."""
        return np.asarray((self._words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53)

    def integers(self, end: int, count: int) -> Ints:
        """Return whole numbers from 0 up to an end, without it."""
        return np.minimum((self.random(count) * end).astype(np.int64), end - 1)

    def permutation(self, values: Ints) -> Ints:
        """Return the values in another order."""
        return np.asarray(values[np.argsort(self._words(len(values)), kind="stable")])
