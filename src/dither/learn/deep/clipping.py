"""Gradients as integers: on a grid, shortened by a whole weight, and added exactly.

A gradient becomes a row of integers. Its squared length is an integer below 2^53, and the weight by which it is
multiplied is a whole number, so that no rounding can make a contribution longer than the clip. What one example adds
is a function of that example's own row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.rows import Floats

#: The weight of a gradient within the clip; the weight of a longer one is less.
WEIGHT: Final = 2**16
#: Entries of a gradient.
MOST_ENTRIES: Final = 2**27
_MOST_BITS: Final = 21
#: Sums over this many examples, and 256 more, stay below 2^53.
_MOST_IN_PART: Final = 2**15
#: Sums over fewer examples than this fit in 64 bits.
_MOST_IN_INT64: Final = 2**23
#: Totals are clipped here.
_SATURATED: Final = 2**60
#: Numbers that are handled together: enough that calls do not count, and few enough for a cache.
_CACHED: Final = 2**20


@dataclass(frozen=True)
class Grid:
    """The grid of gradients with a public number of entries.

    Args:
        entries: the number of entries of a gradient.

    """

    entries: int

    @property
    def bits(self) -> int:
        """Integers are at most 2^bits, so that the squares of all entries add up to less than 2^53."""
        return min(_MOST_BITS, (52 - (self.entries - 1).bit_length()) // 2)

    @property
    def clip(self) -> int:
        """The clip, in steps."""
        return 1 << (self.bits - 1)

    @property
    def length(self) -> int:
        """The longest contribution of an example, in steps of the grid of contributions."""
        return WEIGHT * self.clip

    @property
    def rows(self) -> int:
        """The number of gradients that are handled together."""
        return max(1, min(256, _CACHED // self.entries))

    def whole(self, gradients: NDArray[Any], clip: float, out: Floats | None = None) -> Floats:
        """Return rows of integers: gradients in steps, of which the stated clip has ``self.clip``.

        They are written to ``out``, if it is stated. A row with an entry of 2^bits steps or more lies beyond the clip;
        it is divided by the least power of two that makes its entries smaller. A row with an entry that is no finite
        number becomes 0.
        """
        with np.errstate(all="ignore"):
            steps: Floats = np.multiply(gradients, self.clip / clip, out=out, dtype=np.float64)
            peaks = np.maximum(steps.max(axis=1, initial=0.0), -steps.min(axis=1, initial=0.0))
            if not peaks.max(initial=0.0) < 1 << self.bits:
                finite = np.isfinite(peaks)
                steps[~finite] = 0.0
                _, exponents = np.frexp(np.where(finite, peaks, 0.0))
                steps *= np.ldexp(1.0, np.minimum(self.bits - exponents, 0))[:, None]
        found: Floats = np.rint(steps, out=steps)
        return found


def squared_lengths(whole: Floats) -> NDArray[np.int64]:
    """Return the exact squared length of each row of integers; below 2^53, so in any order of additions."""
    found: NDArray[np.int64] = np.einsum("bd,bd->b", whole, whole).astype(np.int64)
    return found


def roots_up(squares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the square roots of integers from 0 to 2^62, rounded up: exactly."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= roots * roots > squares
    roots += roots * roots < squares
    return roots


def whole_weights(squares: NDArray[np.int64], clip: int, weight: int = WEIGHT) -> NDArray[np.int64]:
    """Return a weight for each row of integers: weight times length is at most ``weight * clip``.

    Args:
        squares: squared lengths.
        clip: in the same steps.
        weight: the weight of rows within the clip.

    """
    found: NDArray[np.int64] = np.minimum(weight, weight * clip // np.maximum(roots_up(squares), 1))
    return found


class ExactSum:
    """The sum of contributions, which depends on neither their order nor the blocks they come in."""

    def __init__(self, entries: int) -> None:
        self._grid = Grid(entries)
        self._total: NDArray[Any] = np.zeros(entries, dtype=np.int64)
        # Integers as floats, exact while there are few of them; and memory that is written again and again.
        self._part, self._row = np.zeros(entries), np.empty(entries)
        self._steps = np.empty((self._grid.rows, entries))
        self._in_part = self._examples = 0

    def add(self, gradients: NDArray[Any], clip: float) -> None:
        """Add gradients, one a row, each shortened to the clip."""
        for start in range(0, len(gradients), len(self._steps)):
            block = gradients[start : start + len(self._steps)]
            whole = self._grid.whole(block, clip, out=self._steps[: len(block)])
            weights = whole_weights(squared_lengths(whole), self._grid.clip).astype(np.float64)
            # Integers below 2^53 in every partial sum: 256 rows of entries of at most 2^21, with weights up to 2^16.
            np.matmul(weights, whole, out=self._row)
            self._part += self._row
            self._in_part += len(block)
            if self._in_part >= _MOST_IN_PART:
                self._flush()

    def total(self) -> NDArray[np.int64]:
        """Return the sum, clipped to 2^60."""
        self._flush()
        found: NDArray[np.int64] = np.clip(self._total, -_SATURATED, _SATURATED).astype(np.int64)
        return found

    def in_units(self, noisy: NDArray[Any], clip: float) -> Floats:
        """Return a noisy sum in units of the gradient."""
        return np.asarray(noisy, dtype=np.float64) * (clip / self._grid.length)

    def _flush(self) -> None:
        self._examples += self._in_part
        if self._examples >= _MOST_IN_INT64 and self._total.dtype != object:
            self._total = self._total.astype(object)
        self._total += self._part.astype(np.int64)
        self._part[:] = 0
        self._in_part = 0
