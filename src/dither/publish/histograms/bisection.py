"""Private bisection: for each of several disjoint segments of ordered cells, choose the cut with the most even parts.

For methods that split a domain again and again (PHP). Cost: at most ``candidates`` cuts a segment, each one pass over
the segment. One unit of L1 lies in one segment, so all segments together cost as much as one choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Positive, TupleOf, Whole, non_negative
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.privacy import L1, Loss, Metric, PureDP
from dither.publish.histograms.common import neighbours

if TYPE_CHECKING:
    from dither.noise import Noise

_MOST_CELLS = 2**20


def _examples() -> Iterator[Example]:
    yield Example(Bisection(cells=4, starts=(0,), scale=4), np.array([4, 4, 0, 1]), neighbours((4,)))
    yield Example(Bisection(cells=4, starts=(0, 1), scale=2), np.array([4, 4, 0, 1]), neighbours((4,)))


def _increase_from_0(starts: tuple[int, ...]) -> bool:
    return starts[0] == 0 and all(here < there for here, there in pairwise(starts))


@register(
    examples=_examples,
    source="Differentially Private Histogram Publishing through Lossy Compression (Acs, Castelluccia, Chen 2012), "
    "section 5",
)
@dataclass(frozen=True, kw_only=True)
class Bisection(Primitive[Any, Any]):
    """Choose a cut in every segment with probability proportional to e^(-(deviation left + deviation right) / scale).

    Guarantee: counts ``d_in`` apart in L1 lose epsilon = ``4 d_in / scale``.

    A deviation is the sum of absolute differences from the mean of the part, rounded down. Releases for every segment
    the cell at which its right part begins; a segment of one cell releases that cell.

    Args:
        cells: the number of cells; public.
        starts: where the segments begin; public, or released before.
        scale: the scale of the choice, in counts.
        candidates: how many cuts of a segment are looked at, evenly apart.

    >>> Bisection(cells=8, starts=(0, 3), scale=8).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "bisection"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "what a cut costs more than the best one depends on the counts"
    no_interval_because: ClassVar[str] = "a cut is no estimate of a number"

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    starts: TupleOf = TupleOf(Whole(most=_MOST_CELLS), where=_increase_from_0, rule="increasing cells, 0 first")
    scale: Positive = Positive()
    candidates: Whole = Whole(64, least=1, most=2**12)

    def __post_init__(self) -> None:
        if self.starts[-1] >= self.cells:
            raise InvalidParameter("starts", self.starts[-1], f"below {self.cells}, the number of cells")

    @property
    def distance(self) -> Metric:
        """L1 on the counts."""
        return L1

    @property
    def domain(self) -> IntegerArray:
        """One count for each cell."""
        return IntegerArray((self.cells,))

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One cut for each segment."""
        return (len(self.starts),)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = 4 d_in / scale."""
        return PureDP(4 * non_negative("d_in", d_in) / self.scale)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return the cuts of independent choices."""
        limit = LARGEST_VALUE // (2 * self.cells**2)
        counts = np.clip(self.domain.admit(value), -limit, limit)
        drawn = np.empty((count, len(self.starts)), dtype=np.int64)
        for number, (start, end) in enumerate(zip(self.starts, (*self.starts[1:], self.cells), strict=True)):
            cuts = cuts_of(end - start, self.candidates)
            if cuts.size == 0:
                drawn[:, number] = start
                continue
            scores = np.array([-_deviation(counts[start:end], cut) for cut in cuts.tolist()], dtype=np.int64)
            drawn[:, number] = start + cuts[noise.select(scores, 1 / self.scale, count)]
        return drawn


def cuts_of(length: int, most: int) -> NDArray[np.int64]:
    """Return where a segment may be cut: at most ``most`` evenly spaced places.

    >>> cuts_of(5, 9).tolist(), cuts_of(9, 3).tolist(), cuts_of(1, 3).tolist()
    ([1, 2, 3, 4], [2, 4, 6], [])
    """
    if length - 1 <= most:
        return np.arange(1, length)
    return np.arange(1, most + 1) * length // (most + 1)


def _deviation(counts: NDArray[np.int64], cut: int) -> int:
    """Return the deviations of both parts, rounded down; L times each is an integer."""
    total = 0
    for part in (counts[:cut], counts[cut:]):
        total += int(np.abs(part * part.size - part.sum()).sum()) // part.size
    return total
