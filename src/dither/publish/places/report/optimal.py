"""The optimal report: the table between up to 100 public cells that errs least by a public prior.

A linear programme finds, for each true cell, how likely each reported cell is, so that the expected distance is as
small as the loss allows. Constraints are written for the edges of a spanner only. The solver's word is not taken: its
floats are mixed with a table that is certainly private and rounded to integers with a common sum, and the loss is that
of those integers, which are what is sampled. Cost: a linear programme once (a second for 49 cells, ten for 100), then
one draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.places import Box, CellGrid
from dither.errors import InvalidParameter
from dither.exact import Number, Of, positive
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import Category
from dither.mechanisms.response_table import TOTAL, ResponseTable
from dither.privacy import Plan, Relation, Unit, Use
from dither.publish.places.report.planar import LEAST_EPSILON, MOST_EPSILON

MOST_CELLS: Final = 100
#: Not the unit of reports that take places as they are: places a metre apart may lie in cells far apart.
BETWEEN_CELLS: Final = Unit("place", Relation.METRIC, "great circle, between the middles of cells")
#: A little more than ln 2^52.
_LARGEST_LOG: Final = 37.0


def _examples() -> Iterator[Example]:
    cells = CellGrid(Box.of(0, 0, 1, 3, plane=True), 3, 1)
    rows = np.array([[4, 2, 2], [2, 4, 2], [1, 2, 5]]) * (TOTAL // 8)
    far = 2**25
    pairs = ((0, 1, far), (1, 0, far), (0, 2, far), (2, 5, 1), (-3, 0, 1))
    yield Example(OptimalReport(cells=cells, weights=rows), 0, pairs)


@register(
    examples=_examples,
    source="Optimal Geo-Indistinguishable Mechanisms for Location Privacy (Bordenabe et al. 2014), sections 3 and 4",
)
@dataclass(frozen=True, kw_only=True)
class OptimalReport(Composed[Any, int]):
    """Report a cell for a cell, by a table of whole weights.

    Guarantee: cells whose middles are ``d_in`` metres apart over the ground lose epsilon = ``epsilon_per_metre *
    d_in``, which is the largest logarithm of a ratio of weights for each metre between two cells. That is
    geo-indistinguishability between cells and NOT plain differential privacy: places of one cell are the same, and
    places on two sides of a border count as the middles of their cells.

    Args:
        cells: the grid; public, up to 100 cells.
        weights: for each true cell a row, for each reported cell a column; whole numbers above 0 with the sum 2^52.

    >>> cells = CellGrid(Box.of(0, 0, 100, 200, plane=True), 2, 1)
    >>> half = OptimalReport(cells=cells, weights=[[TOTAL // 4 * 3, TOTAL // 4], [TOTAL // 2, TOTAL // 2]])
    >>> round(float(half.loss(100).epsilon), 6)
    0.693147

    """

    name: ClassVar[str] = "optimal-report"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the expected error depends on a prior, which is not part of the table"
    no_interval_because: ClassVar[str] = "a cell has no interval"

    cells: Of[CellGrid] = Of(
        CellGrid, where=lambda grid: 2 <= grid.cells <= MOST_CELLS, rule="a grid of 2 to 100 cells"
    )
    weights: Array = Array("int", axes=2, least=2, most=MOST_CELLS, rule="whole weights, a row for each cell")

    def __post_init__(self) -> None:
        """Refuse a table that is none for these cells."""
        if len(self.weights.values) != self.cells.cells:
            raise InvalidParameter("weights", self.weights, "whole weights, a row for each cell")
        _ = self.response

    @property
    def distance(self) -> Unit:
        """Metres over the ground between the middles of cells: a relaxed notion of privacy."""
        return BETWEEN_CELLS

    @cached_property
    def response(self) -> ResponseTable:
        """The table, with the distances between the middles of cells, which are never too long."""
        return ResponseTable(weights=self.weights, apart=ground_distances(self.cells))

    @property
    def epsilon_per_metre(self) -> Fraction:
        """The smallest epsilon per metre that holds for all pairs of cells."""
        return self.response.rate

    def plan(self) -> Plan:
        """Return one draw: the public distance between cells is at most that over the ground."""
        return Use(self.response)

    def release(self, data: Any, run: Runner) -> int:
        """Return the number of a cell; one out of range counts as the nearest."""
        return int(run(self.response, Category(self.cells.cells).admit(data)))


def ground_distances(cells: CellGrid) -> NDArray[np.float64]:
    """Return distances between the middles of all cells over the ground, never too long."""
    middles = cells.centres()
    apart = np.hypot(*(middles[:, None] - middles[None]).transpose(2, 0, 1))
    return np.asarray(apart * float(cells.box.projection.least) * (1 - 1e-9))


def optimal_report(cells: CellGrid, prior: Any, *, epsilon: Number, stretch: Number = "1.1") -> OptimalReport:
    """Return the report with the least expected distance under a public prior, with at most ``epsilon`` per metre.

    Args:
        cells: the grid, of at most 100 cells.
        prior: how likely each cell is; public.
        epsilon: the loss for each metre not to exceed.
        stretch: how much longer than the direct way a way over the edges of the spanner may be, above 1: larger is
            quicker and a little worse.

    """
    wanted, longer = positive("epsilon", epsilon), positive("stretch", stretch)
    if not LEAST_EPSILON <= wanted <= MOST_EPSILON or longer <= 1:
        raise InvalidParameter(
            "epsilon, stretch", (float(wanted), float(longer)), "epsilon in 1/metre, stretch above 1"
        )
    if cells.cells > MOST_CELLS:
        raise InvalidParameter("cells", cells.cells, f"at most {MOST_CELLS} cells")
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (cells.cells,) or not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() <= 0:
        raise InvalidParameter("prior", "another array", "a number of at least 0 for each cell, not all 0")
    apart, target = ground_distances(cells), float(wanted)
    safe = _safe_channel(apart, target)
    for share in (1e-6, 1e-4, 1e-2, 1.0):
        # A little below the target, so that mixing and rounding stay within it.
        solved = _solve(apart, weights / weights.sum(), 0.999 * target, float(longer)) if share < 1 else safe
        made = OptimalReport(cells=cells, weights=_integers((1 - share) * solved + share * safe))
        if made.epsilon_per_metre <= wanted:
            return made
    raise InvalidParameter(
        "epsilon", float(wanted), "small enough that the weights of the farthest cells are above 2^-52"
    )


def _safe_channel(apart: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return the exponential mechanism, certainly within the loss: half of it is in the weights, half in their sum."""
    weights = np.exp(-0.499 * epsilon * apart)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def spanner(apart: NDArray[np.float64], stretch: float) -> list[tuple[int, int]]:
    """Return edges such that no way over them is longer than ``stretch`` times the direct one: the greedy spanner."""
    count = len(apart)
    ways = np.full((count, count), np.inf)
    np.fill_diagonal(ways, 0.0)
    first, second = np.triu_indices(count, 1)
    edges = []
    for at in np.argsort(apart[first, second], kind="stable"):
        a, b = int(first[at]), int(second[at])
        if ways[a, b] > stretch * apart[a, b]:
            edges.append((a, b))
            through = np.minimum(
                ways[:, a, None] + apart[a, b] + ways[None, b], ways[:, b, None] + apart[a, b] + ways[None, a]
            )
            ways = np.minimum(ways, through)
    return edges


def _solve(
    apart: NDArray[np.float64], prior: NDArray[np.float64], epsilon: float, stretch: float
) -> NDArray[np.float64]:
    """Return the solver's channel, with rows that add up to 1."""
    from scipy import sparse
    from scipy.optimize import linprog

    count = len(apart)
    edges = spanner(apart, stretch)
    pairs = np.array([*edges, *((b, a) for a, b in edges)])
    # Weights are whole, so that no ratio of two is above 2^52: a smaller factor than that of far cells costs nothing.
    factor = np.exp(np.minimum(epsilon / stretch * apart[pairs[:, 0], pairs[:, 1]], _LARGEST_LOG))
    # For each ordered edge (a, b) and column z: K[a, z] - e^(epsilon d) K[b, z] <= 0.
    many = len(pairs) * count
    rows = np.arange(many)
    columns = np.tile(np.arange(count), len(pairs))
    left = np.repeat(pairs[:, 0], count) * count + columns
    right = np.repeat(pairs[:, 1], count) * count + columns
    entries = np.concatenate([np.ones(many), -np.repeat(factor, count)])
    upper = sparse.csr_matrix((entries, (np.tile(rows, 2), np.concatenate([left, right]))), shape=(many, count * count))
    sums = sparse.kron(sparse.eye(count), np.ones((1, count)), format="csr")
    cost = (prior[:, None] * apart).ravel()
    solved = linprog(
        cost, A_ub=upper, b_ub=np.zeros(many), A_eq=sums, b_eq=np.ones(count), bounds=(0, 1), method="highs-ipm"
    )
    if solved.x is None:
        return _safe_channel(apart, epsilon)
    table = np.clip(solved.x.reshape(count, count), 0, None)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _integers(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole weights of at least 1, all rows with the common sum."""
    whole = np.maximum(np.floor(table * TOTAL), 1).astype(np.int64)
    best = whole.argmax(axis=1)
    whole[np.arange(len(whole)), best] += TOTAL - whole.sum(axis=1)
    return whole


def expected_distance(report: OptimalReport, prior: Any) -> float:
    """Return the mean distance of a report from its cell under a prior, from the weights that are sampled."""
    weights = np.asarray(prior, dtype=np.float64)
    channel = report.weights.values / TOTAL
    return float(math.fsum(((weights / weights.sum())[:, None] * channel * ground_distances(report.cells)).ravel()))
