"""Counts of places from people who choose a region and a loss each (PCEP).

Each person names a public safe region that holds their place, and an epsilon. Everybody may know the region; where in
it a person is stays private. The report is one bit about the cells of the region: the sign of one entry of a random
matrix of signs, or the other one, which is local hashing with two groups. The server adds up, over regions and losses,
the estimated counts of their cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, probability, typed, whole
from dither.local.document import Document
from dither.local.domains import Range
from dither.local.frequencies.hashing import LocalHashing
from dither.privacy import PureDP

MOST_CELLS = 2**20


@dataclass(frozen=True)
@typed
class SafeRegion:
    """A public set of cells, in one of which a person is, and what the report of which of them may lose.

    Guarantee: two places in the region lose ``law.loss(1)``, at most ``epsilon``. That the person is in the region is
    public. A place outside counts as its first cell.

    Args:
        cells: the numbers of the cells, growing.
        epsilon: the target of the report.

    >>> region = SafeRegion((4, 5, 8, 9), Fraction(1))
    >>> region.place(8), region.place(7)
    (2, 0)

    """

    cells: tuple[int, ...]
    epsilon: Fraction

    def __post_init__(self) -> None:
        """Refuse regions of one cell, where nothing is hidden, and cells that repeat."""
        cells = self.cells
        if len(cells) < 2 or cells[0] < 0 or any(a >= b for a, b in pairwise(cells)):
            raise InvalidParameter("cells", self.cells, "two growing numbers of cells or more")
        _ = self.law

    @property
    def law(self) -> LocalHashing:
        """The law of the bit."""
        return LocalHashing.calibrated(PureDP(self.epsilon), categories=len(self.cells), group_bits=1)

    def place(self, cell: int) -> int:
        """Return the place of a cell in the region; of one outside, that of the first."""
        return self.cells.index(cell) if cell in self.cells else 0

    def document(self, question: str) -> Document:
        """Return the survey of everybody with this region and loss; an answer is the place of a cell in it."""
        return self.law.document(question, Range(0, len(self.cells) - 1))


@dataclass(frozen=True)
class PlaceCounts:
    """Estimated numbers of people in each cell.

    Args:
        counts: unbiased.
        low: lower ends of intervals.
        high: upper ends.
        people: how many people reported.

    """

    counts: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    people: int


def count_places(
    regions: Sequence[tuple[SafeRegion, NDArray[np.int64]]], *, cells: int, confidence: Number = "0.95"
) -> PlaceCounts:
    """Return how many people are in each cell, over all regions.

    The estimates of different regions come from different people, so they and their variances add up. In a cell of no
    region nobody is. With no report at all every interval is infinite.

    Args:
        regions: each with the reports of its people.
        cells: how many cells the map has.
        confidence: of each interval.

    """
    several, level = whole("cells", cells, least=2, most=MOST_CELLS), probability("confidence", confidence)
    counts, variances, people = np.zeros(several), np.zeros(several), 0
    for region, reports in regions:
        if region.cells[-1] >= several:
            raise InvalidParameter("regions", region.cells[-1], f"regions of cells below {several}")
        if not len(reports):
            continue
        law, number = region.law, len(reports)
        shares = law.estimate(law.totals(reports), number)
        at = np.array(region.cells)
        counts[at] += number * shares
        # The largest variance of a share between 0 and 1, so that no estimate is plugged in.
        worst = max(float(law.variance(np.array([end]), number)[0]) for end in (0.0, 1.0))
        variances[at] += number**2 * worst
        people += number
    if not people:
        ends = np.full(several, np.inf)
        return PlaceCounts(counts, -ends, ends, 0)
    from scipy.special import ndtri

    reach = -float(ndtri(float(1 - level) / 2)) * np.sqrt(variances)
    return PlaceCounts(counts, counts - reach, counts + reach, people)
