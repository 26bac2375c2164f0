"""Quantiles by descending a tree of cells: medians, quartiles, extremes, on grids of up to 2^32 cells.

Values are clamped to their range and put into cells. At every level the rows in the children of a node are counted with
noise, and the descent goes on in the child in which the wanted rank lies. Rows of one level lie in disjoint cells, so a
level costs what one count costs, whatever is asked of it: all quantiles of one argument descend together, and each is
accompanied by two scouts, which look for the ends of its interval.

**The interval.** The number of rows below an edge between two cells is the sum of the noisy counts to the left of the
path that leads to it. Let ``L(t)`` be the true number of rows below the edge t and ``N`` that of all rows. The
quantile of share p is the smallest value such that at least p N rows are at or below it (at least one row, for p = 0).
So it lies at or above t if ``L(t) < p N``, and below t otherwise. The noise of ``L(t) - p N`` is a sum of independent
variables: at the first level every child counts with weight 1 - p or -p, at each further level at most all but one of
the children of one node count. Where the descent goes depends on the noise, so a bound must hold for all edges that it
may meet. Two do, and the smaller one is taken: Chernoff's bound with the union bound over all edges of a level; or with
Levy's inequality, by which the farthest of the partial sums of a node's children is beyond x at most twice as often as
the last, so that each further level costs a factor 2 instead of the number of its children.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import DiscreteGaussian, Geometric
from dither.publish.queries.measures import Scaled
from dither.publish.queries.query import Aggregate

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Asks for the exact or noisy counts of the children of nodes: level, nodes (groups, slots), and which are asked first.
Ask = Callable[[int, Integers, NDArray[np.bool_]], Integers]

_BITS: Final = 4
_SCOUTS: Final = 3
_WIDTH: Final = (1 << 62) - 1
_DEFAULT_FAILURE: Final = 0.05


@dataclass(frozen=True)
class Search:
    """All quantiles of one argument, found together.

    Args:
        scaled: the argument in cells, counted from the lower end.
        aggregates: the requested quantiles.

    """

    scaled: Scaled
    aggregates: tuple[Aggregate, ...]

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """How many bits of the cell number each level decides, the odd remainder first."""
        whole = max(1, self.scaled.grid.most.bit_length())
        first = whole % _BITS
        return ((first,) if first else ()) + (_BITS,) * (whole // _BITS)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.bits)

    @property
    def slots(self) -> int:
        """How many nodes of a group are inspected at each level: every quantile has two scouts."""
        return _SCOUTS * len(self.aggregates)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Each aggregate's quantile."""
        return tuple(share_of(aggregate) for aggregate in self.aggregates)

    def shift(self, level: int) -> int:
        """Return by how many bits to shift a cell to get its node below a level."""
        return sum(self.bits[level + 1 :])

    def children(self, level: int) -> int:
        """Return how many children a node has at a level."""
        return 1 << self.bits[level]

    def reach(self, noise: Geometric | DiscreteGaussian, level: int, share: Fraction, failure: float) -> float:
        """Return a bound on the error of any edge's noisy rank at a level; all levels share the failure probability."""
        # All edges of the level; or, below the first level, the farthest that a path of one of the slots can get.
        edges = min(
            sum(self.bits[: level + 1]) * math.log(2),
            (self.bits[0] + level) * math.log(2) + math.log(_SCOUTS),
        )
        below = sum(self.children(further) - 1 for further in range(1, level + 1))
        first = self.children(0)
        heaviest = 1.0 if share == 0 else float(max(share, 1 - share))
        rates, cumulant = _cumulants(noise)
        exponent = first * cumulant(heaviest * rates) + below * cumulant(rates)
        bound = (exponent + edges + math.log(2 * self.levels / failure)) / rates
        return float(np.min(bound)) * (1 + 1e-9)

    def descend(self, noise: Geometric | DiscreteGaussian, groups: int, ask: Ask) -> list[Integers]:
        """Return the noisy counts of every level; each level's nodes depend on the noisy counts before."""
        path = _Path(self, noise, groups, _DEFAULT_FAILURE)
        counts = []
        for level in range(self.levels):
            counts.append(ask(level, path.nodes, path.is_first))
            path.step(level, counts[-1])
        return counts

    def found(
        self, noise: Geometric | DiscreteGaussian, groups: int, counts: Sequence[Integers], failure: float
    ) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Return every aggregate's value in every group, and the ends of its interval."""
        path = _Path(self, noise, groups, _DEFAULT_FAILURE)
        path.failure = failure
        for level, seen in enumerate(counts):
            path.step(level, seen)
        most = self.scaled.grid.most
        cells = np.clip(path.nodes[:, ::_SCOUTS], 0, most)
        low, high = np.clip(path.low, 0, most), np.clip(path.high, 0, most)
        # Outside the event in which all edges hold the ends may cross.
        low, high = np.minimum(low, high), np.maximum(low, high)
        return [
            (self._worth(cells[:, place]), self._worth(low[:, place]), self._worth(high[:, place]))
            for place in range(len(self.aggregates))
        ]

    def _worth(self, cells: Integers) -> NDArray[Any]:
        grid = self.scaled.grid
        if self.scaled.is_exact and grid.exponent == 0:
            return cells + int(grid.origin)
        return grid.origin + np.ldexp(cells.astype(np.float64), -grid.exponent)


class _Path:
    """The position of each slot in each group, and what has been learned, from released numbers alone."""

    def __init__(self, search: Search, noise: Geometric | DiscreteGaussian, groups: int, failure: float) -> None:
        self.search, self.noise, self.failure = search, noise, failure
        self.nodes: Integers = np.zeros((groups, search.slots), dtype=np.int64)
        self.ranks: Floats = np.zeros((groups, search.slots))
        self.low: Integers = np.zeros((groups, len(search.aggregates)), dtype=np.int64)
        self.high: Integers = np.full((groups, len(search.aggregates)), _WIDTH, dtype=np.int64)
        # Ranks are counted in parts of a row, as many as the share's denominator, so that they are integers.
        self.parts: Floats = np.array([float(share.denominator) for share in search.shares])
        # The scouts look where the interval of usual confidence will end.
        reaches = self._reaches(search.levels - 1)
        self.offsets: Floats = np.array([offset for reach in reaches for offset in (0.0, -reach, reach)])

    def _reaches(self, level: int) -> Floats:
        """Return every quantile's reach at a level; integers have integer errors."""
        shares = self.search.shares
        reaches = [self.search.reach(self.noise, level, share, self.failure) for share in shares]
        return np.floor(np.array(reaches) * self.parts)

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """Which slots are the first of their group at their node: only these count, the others reuse their counts."""
        same = self.nodes[:, :, None] == self.nodes[:, None, :]
        earlier = np.tril(np.ones((self.nodes.shape[1],) * 2, dtype=bool), -1)
        first: NDArray[np.bool_] = ~(same & earlier[None]).any(axis=2)
        return first

    def step(self, level: int, counts: Integers) -> None:
        """Take in the children's noisy counts, of which only first slots count, and go one level down."""
        children, slots = self.search.children(level), self.search.slots
        same = self.nodes[:, :, None] == self.nodes[:, None, :]
        owner = np.argmax(same, axis=2)
        seen = np.take_along_axis(counts.reshape(-1, slots, children), owner[:, :, None], axis=1).astype(np.float64)
        seen *= np.repeat(self.parts, _SCOUTS)[None, :, None]
        if level == 0:
            total = counts.reshape(-1, slots, children)[:, :1].sum(axis=2, dtype=np.float64)
            wanted = np.array([float(share.numerator) for share in self.search.shares for _ in range(_SCOUTS)])
            self.ranks = np.where(wanted == 0, -1.0, -wanted * total)
        edges = self.ranks[:, :, None] + np.cumsum(seen, axis=2)
        self._learn(level, edges)
        passed = edges < self.offsets[None, :, None]
        chosen = np.minimum(_first_not(passed), children - 1)
        before = np.take_along_axis(edges, np.maximum(chosen - 1, 0)[:, :, None], axis=2)[:, :, 0]
        self.ranks = np.where(chosen > 0, before, self.ranks)
        self.nodes = self.nodes * children + chosen

    def _learn(self, level: int, edges: Floats) -> None:
        """Keep the highest edge surely below the quantile, and the lowest surely above it."""
        children, shift = self.search.children(level), self.search.shift(level)
        inner = edges[:, :, :-1]
        places = (self.nodes[:, :, None] * children + np.arange(1, children)) << shift
        groups, quantiles = self.low.shape
        each = np.repeat(self._reaches(level), _SCOUTS)[None, :, None]
        below = np.where(inner + each < 0, places, 0).reshape(groups, quantiles, -1).max(axis=2)
        above = np.where(inner - each >= 0, places - 1, _WIDTH).reshape(groups, quantiles, -1).min(axis=2)
        self.low, self.high = np.maximum(self.low, below), np.minimum(self.high, above)


def share_of(aggregate: Aggregate) -> Fraction:
    """Return an aggregate's quantile."""
    known = {"minimum": Fraction(0), "maximum": Fraction(1)}
    return known.get(aggregate.function, aggregate.share if aggregate.share is not None else Fraction(1, 2))


def _first_not(passed: NDArray[np.bool_]) -> Integers:
    """Return the first child that is not passed, or one past the last."""
    children = passed.shape[2]
    first: Integers = np.where(passed.all(axis=2), children, np.argmin(passed, axis=2))
    return first


def _cumulants(noise: Geometric | DiscreteGaussian) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Return rates, and a bound on ln E[e^(rate X)] for rates up to those."""
    if isinstance(noise, DiscreteGaussian):
        sigma = float(noise.sigma)
        # The sum of e^(-(x - a)^2 / (2 sigma^2)) over whole x is largest at a = 0, by Poisson's formula; so the moment
        # generating function is at most that of continuous noise.
        return np.geomspace(1e-4, 1e2, 241) / sigma, lambda rate: np.square(sigma * rate) / 2
    scale = float(noise.scale)

    def of_laplace(rate: Floats) -> Floats:
        # sinh(rate / 2) / sinh(1 / (2 scale)), for small scales by way of exponentials that cannot overflow.
        half = 1 / (2 * scale)
        ratio = np.exp(rate / 2 - half) * -np.expm1(-rate) / -math.expm1(-2 * half)
        return np.asarray(-np.log1p(-np.minimum(ratio * ratio, 1 - 1e-15)))

    return np.geomspace(1e-4, 0.999, 241) / scale, of_laplace
