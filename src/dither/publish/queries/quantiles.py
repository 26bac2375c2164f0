"""Quantiles by descending a tree of cells: medians, quartiles, extremes, on grids of up to 2^32 cells.

Values are clamped to their range and put into cells. At every level the rows in the children of a node are counted with
noise, and the descent goes on in the child in which the wanted rank lies. Rows of one level lie in disjoint cells, so a
level costs what one count costs, whatever is asked of it: all quantiles of one argument descend together, and each is
accompanied by two scouts, which look for the ends of its interval.

**The interval.** The number of rows below an edge between two cells is the sum of the noisy counts to the left of the
path that leads to it. Let ``L(t)`` be the true number of rows below the edge t and ``N`` that of all rows. The
quantile of share p is the smallest value such that at least p N rows are at or below it (at least one row, for p = 0).
So it lies at or above t if ``L(t) < p N``, and below t otherwise. The noise of ``L(t) - p N`` is a sum of independent
variables: at the first level every child counts with weight 1 - p or -p, below it all to the left of the path.

The lower scout goes to the first child whose right edge is not surely below the quantile, the upper one to the last
whose left edge is not surely above it. So the lower scout is wrong only if it leaves the path to the *true* quantile to
the right: then one edge of that path, which does not depend on the noise, was taken to be below though it is not. There
is one such edge a level, so that only levels share the failure probability. A group in which there may be no row at all
has the whole range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import DiscreteGaussian, Geometric
from dither.publish.queries.measures import Scaled
from dither.publish.queries.query import Aggregate
from dither.publish.queries.sums_of_noise import many_reach

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Asks for the exact or noisy counts of the children of nodes: level, nodes (groups, slots), and which are asked first.
Ask = Callable[[int, Integers, NDArray[np.bool_]], Integers]

_BITS: Final = 4
_SCOUTS: Final = 3
_WIDTH: Final = (1 << 62) - 1
_DEFAULT_FAILURE: Final = 0.05
_HALF: Final = 1 << 32


class LevelPart(Protocol):
    """The noise of one level."""

    @property
    def stability(self) -> Fraction:
        """How far the counts of a level move per unit, in the distance of the noise."""

    def drawn(self, *shape: int) -> Geometric | DiscreteGaussian:
        """Return the noise for counts of that shape."""


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
    def cells(self) -> int:
        """How many cells there are."""
        return self.scaled.grid.most + 1

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

    def weights(self, share: Fraction) -> tuple[float, float]:
        """Return the weights of the first level's counts, to the left of an edge and to the right of it."""
        return (1.0, 0.0) if share == 0 else (float(1 - share), float(share))

    def reach(self, noise: Geometric | DiscreteGaussian, level: int, share: Fraction, failure: float) -> float:
        """Return a bound on the error of any edge's noisy rank at a level, and on every level above it."""
        left, right = self.weights(share)
        below = sum(self.children(further) - 1 for further in range(1, level + 1)) + bool(level)
        first = self.children(0)
        found = many_reach(
            noise,
            np.array([[max(left, right), 1.0]]),
            np.array([[first, below]], dtype=np.float64),
            failure / self.levels,
        )
        return float(found[0])

    def rank_error(self, part: LevelPart, share: Fraction, failure: float) -> float:
        """Return a bound on the error of a quantile's rank."""
        return self.reach(part.drawn(), self.levels - 1, share, failure)

    def draws(self, part: LevelPart, groups: int) -> Iterator[tuple[Geometric | DiscreteGaussian, Fraction]]:
        """Yield every draw with its stability, in order."""
        for level in range(self.levels):
            yield part.drawn(groups, self.slots, self.children(level)), part.stability

    def empty(self) -> list[Integers]:
        """Return the counts of one group without rows, without noise."""
        return [np.zeros((1, self.slots, self.children(level)), dtype=np.int64) for level in range(self.levels)]

    def descend(self, noise: Geometric | DiscreteGaussian, groups: int, ask: Ask) -> list[Integers]:
        """Return the noisy counts of every level; each level's nodes depend on the noisy counts before."""
        path = _Path(self, noise, groups)
        counts = []
        for level in range(self.levels):
            counts.append(ask(level, path.nodes, path.is_first))
            path.step(level, counts[-1])
        return counts

    def read(
        self, part: LevelPart, groups: int, counts: Sequence[Integers], failure: float
    ) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Return every aggregate's value in every group, and the ends of its interval."""
        return self.found(part.drawn(), groups, counts, failure)

    def found(
        self, noise: Geometric | DiscreteGaussian, groups: int, counts: Sequence[Integers], failure: float
    ) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Return every aggregate's value in every group, and the ends of its interval, for counts with that noise."""
        path, ends = _Path(self, noise, groups), _Ends(self, noise, groups, failure)
        for level, seen in enumerate(counts):
            ends.step(level, path, seen)
            path.step(level, seen)
        most = self.scaled.grid.most
        cells = np.clip(path.nodes[:, ::_SCOUTS], 0, most)
        low, high = np.clip(ends.low, 0, most), np.clip(ends.high, 0, most)
        # Where an interval has failed its ends may cross.
        low, high = np.minimum(low, high), np.maximum(low, high)
        return [
            tuple(worth_of(self.scaled, part[:, place]) for part in (cells, low, high))  # type: ignore[misc]
            for place in range(len(self.aggregates))
        ]


class _Walk:
    """Slots in every group that go down the tree, and what the noise of their ranks is made of."""

    def __init__(
        self, search: Search, noise: Geometric | DiscreteGaussian, groups: int, failure: float, sides: tuple[int, ...]
    ) -> None:
        self.search, self.noise, self.failure = search, noise, failure
        many = len(search.aggregates)
        self.sides = np.tile(np.array(sides), many)
        shape = groups, len(sides) * many
        self.nodes: Integers = np.zeros(shape, dtype=np.int64)
        self.ranks: Floats = np.zeros(shape)
        # How many counts stand to the left of the node, in the first level and below it.
        self.first: Integers = np.zeros(shape, dtype=np.int64)
        self.below: Integers = np.zeros(shape, dtype=np.int64)
        # Ranks are counted in parts of a row, as many as the share's denominator, so that they are integers.
        self.parts: Floats = np.repeat([float(share.denominator) for share in search.shares], len(sides))
        self.wanted: Floats = np.repeat([float(share.numerator) for share in search.shares], len(sides))
        self.each = len(sides)

    def edges(self, level: int, seen: Integers) -> Floats:
        """Return the noisy ranks of the right edges of all children, relative to the wanted ones."""
        if level == 0:
            total = seen[:, :1].sum(axis=2, dtype=np.float64)
            self.ranks = np.where(self.wanted == 0, -1.0, -self.wanted * total)
        return self.ranks[:, :, None] + np.cumsum(seen * self.parts[None, :, None], axis=2)

    def chosen(self, level: int, edges: Floats) -> Integers:
        """Return which child each slot goes to."""
        children = edges.shape[2]
        reaches = self.reaches(level, children)
        inner = edges[:, :, :-1]
        is_below = inner < -reaches
        first = np.where(is_below.all(axis=2), children - 1, np.argmin(is_below, axis=2))
        may_be_below = inner - reaches < 0
        last = np.where(may_be_below.any(axis=2), children - 1 - may_be_below[:, :, ::-1].argmax(axis=2), 0)
        return np.where(self.sides == 1, last, first)

    def reaches(self, level: int, children: int) -> Floats:
        """Return how far the noisy rank of every inner edge may be off; 0 for a slot that seeks no end."""
        search = self.search
        places = np.arange(1, children)
        found = np.zeros((*self.nodes.shape, children - 1))
        failure = self.failure / search.levels
        # How many counts stand to the left of a node, in one number: in the first level and, in the lower half, below.
        counts = self.first * _HALF + self.below
        steps = places * (_HALF if level == 0 else 1)
        for number, share in enumerate(search.shares):
            left, right = search.weights(share)
            mine = [slot for slot in range(number * self.each, (number + 1) * self.each) if self.sides[slot]]
            # Nodes first, and then the edges of each: there are many times as many edges, most of them alike.
            nodes, node = np.unique(counts[:, mine], return_inverse=True)
            edges, edge = np.unique(nodes[:, None] + steps, return_inverse=True)
            before, after = edges >> 32, edges & (_HALF - 1)
            many = np.stack([before, search.children(0) - before, after], axis=1).astype(np.float64)
            weights = np.broadcast_to(np.array([left, right, 1.0]), many.shape)
            reach = np.floor(many_reach(self.noise, weights, many, failure) * share.denominator)
            found[:, mine] = reach[edge.reshape(-1, children - 1)][node.reshape(-1, len(mine))]
        return found

    def enter(self, level: int, edges: Floats, chosen: Integers) -> None:
        """Go down to the chosen children."""
        before = np.take_along_axis(edges, np.maximum(chosen - 1, 0)[:, :, None], axis=2)[:, :, 0]
        self.ranks = np.where(chosen > 0, before, self.ranks)
        if level == 0:
            self.first = self.first + chosen
        else:
            self.below = self.below + chosen
        self.nodes = self.nodes * edges.shape[2] + chosen


class _Path(_Walk):
    """Where counts are asked for: for every quantile one slot looks for it, and two for the ends of its interval."""

    def __init__(self, search: Search, noise: Geometric | DiscreteGaussian, groups: int) -> None:
        super().__init__(search, noise, groups, _DEFAULT_FAILURE, (0, -1, 1))

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
        owner = np.argmax(self.nodes[:, :, None] == self.nodes[:, None, :], axis=2)
        seen = np.take_along_axis(counts.reshape(-1, slots, children), owner[:, :, None], axis=1)
        edges = self.edges(level, seen)
        self.enter(level, edges, self.chosen(level, edges))


class _Ends(_Walk):
    """The ends of intervals at a failure probability, as far down as counts were asked for on the way to them."""

    def __init__(self, search: Search, noise: Geometric | DiscreteGaussian, groups: int, failure: float) -> None:
        super().__init__(search, noise, groups, failure, (-1, 1))
        self.ends: Integers = np.zeros(self.nodes.shape, dtype=np.int64)
        self.is_open: NDArray[np.bool_] = np.ones(self.nodes.shape, dtype=bool)
        self.is_empty: NDArray[np.bool_] = np.zeros(self.nodes.shape, dtype=bool)

    @property
    def low(self) -> Integers:
        """The first cell in which each quantile may lie."""
        return np.where(self.is_empty, 0, self.ends)[:, ::2]

    @property
    def high(self) -> Integers:
        """The last cell in which each quantile may lie."""
        return np.where(self.is_empty, _WIDTH, self.ends)[:, 1::2]

    def step(self, level: int, path: _Path, counts: Integers) -> None:
        """Go one level down where the node was counted; elsewhere the end stays at the node's own end."""
        search = self.search
        children, shift = search.children(level), search.shift(level)
        counted = counts.reshape(-1, search.slots, children)
        same = self.nodes[:, :, None] == path.nodes[:, None, :]
        self.is_open &= same.any(axis=2)
        seen = np.take_along_axis(counted, np.argmax(same, axis=2)[:, :, None], axis=1)
        if level == 0:
            # The total of a group without rows is noise alone.
            reach = many_reach(self.noise, np.ones((1, 1)), np.array([[float(children)]]), self.failure)[0]
            self.is_empty = np.broadcast_to(seen[:, :1].sum(axis=2) - reach < 1, self.nodes.shape)
        edges = self.edges(level, seen)
        self.enter(level, edges, self.chosen(level, edges))
        ends = (self.nodes << shift) + np.where(self.sides == 1, (1 << shift) - 1, 0)
        self.ends = np.where(self.is_open, ends, self.ends)


def worth_of(scaled: Scaled, cells: Integers) -> NDArray[Any]:
    """Return the values at which cells begin."""
    grid = scaled.grid
    if scaled.is_exact and grid.exponent == 0:
        return cells + int(grid.origin)
    return grid.origin + np.ldexp(cells.astype(np.float64), -grid.exponent)


def share_of(aggregate: Aggregate) -> Fraction:
    """Return an aggregate's quantile."""
    known = {"minimum": Fraction(0), "maximum": Fraction(1)}
    return known.get(aggregate.function, aggregate.share if aggregate.share is not None else Fraction(1, 2))
