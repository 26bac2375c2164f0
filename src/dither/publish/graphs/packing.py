"""The number of copies of a pattern, cut to a bound of copies at each node by a linear programme.

Every copy gets a share between 0 and 1, and the shares of the copies at one node add up to at most the bound; the sum
of all shares is as large as possible. Where no node is in more copies than the bound, that is their number. One node
moves it by at most the bound, and never down by coming in. A solver in floats proposes; whole numbers decide: its
prices give an upper bound and its shares a lower one, and what may lie between is part of the stated sensitivity. If
ever they lie farther apart, the programme is solved in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.publish.graphs.copy_blocks import Copies
from dither.publish.graphs.simple_graph import Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Values are whole multiples of 1/1024, at most 1/128 of the bound above the optimum.
PARTS: Final = 2**10
_GAP: Final = PARTS // 128
#: Prices and shares are rounded to multiples of one over this.
_GRID: Final = 2**30
#: What the solver is asked for, and what of a copy's worth prices must leave for it to be worth a look.
_TOLERANCE: Final = 1e-9
_CHEAP: Final = 2**6
_LARGEST: Final = 2.0**62
#: Up to this many copies are given to the solver at once; of more, the next number at first.
SHORT: Final = 2**22
_FIRST: Final = 2**18
_MIXED: Final = np.uint64(0x9E3779B97F4A7C15)
#: A programme is planned where the nodes times the bound, both public, are at most this.
MOST_CORNERS: Final = 3 * 2**28


def moved(bound: int) -> int:
    """Return how far one node moves a packed value, at most: the bound and the gap."""
    return bound * (PARTS + _GAP)


def drawn_apart(bound: int) -> int:
    """Return the sensitivity for values that are compared: they may be off their optima on both sides."""
    return bound * (PARTS + 2 * _GAP)


def most_bound(nodes: int) -> int:
    """Return the largest bound whose programme is planned for that many nodes, by this public number alone."""
    return max(MOST_CORNERS // nodes, 1)


def check_bounds(nodes: int, bounds: Sequence[int]) -> None:
    """Refuse bounds whose programmes might not fit into memory, by public numbers alone."""
    if bounds[-1] > most_bound(nodes):
        rule = f"at most {most_bound(nodes):,} for {nodes:,} nodes: more might not fit into memory"
        raise InvalidParameter("bounds", bounds, rule)


def packed(copies: Copies, bound: int) -> int:
    """Return the largest sum of shares in parts of 1/1024, rounded up by at most 1/128 of the bound.

    Args:
        copies: of a pattern.
        bound: the largest sum of shares at a node.

    >>> packed(Copies.of(np.array([[0, 1, 2], [0, 3, 4], [0, 5, 6]]), 7), 4) / PARTS
    3.0

    """
    full = np.flatnonzero(copies.at_node > bound)
    if not len(full):
        return PARTS * copies.many
    place = np.full(copies.nodes, -1, dtype=np.int64)
    place[full] = np.arange(len(full))
    programme = _Programme(copies, place, bound)
    above = programme.whole() if programme.is_short else programme.grown()
    return PARTS * programme.free + -(-above.numerator * PARTS // above.denominator)


class _Programme:
    """The limits of full nodes, and the copies that they limit.

    Nodes within the bound set no limit; copies at the same full nodes share one variable. Where all nodes of a copy are
    full it has a variable to itself, and of those only as many are in memory as the solver is given.
    """

    def __init__(self, copies: Copies, place: Ints, bound: int) -> None:
        self.copies, self.place, self.bound = copies, place, bound
        self.rows = int(place.max()) + 1
        self.is_short = copies.many <= SHORT
        self.free = 0
        # What has a node that is not full, once, and how many copies each stands for; some of the others.
        self.shared, self.times = np.empty((0, 0), dtype=np.int64), np.empty(0, dtype=np.int64)
        apart: list[Ints] = []
        step = -(-copies.many // _FIRST)
        for limits in self._limits():
            is_apart = (limits[:, 0] >= 0) & (not self.is_short)
            self._share(limits[~is_apart])
            apart.append(limits[is_apart][::step])
        self.apart = np.concatenate([np.empty((0, self.shared.shape[1]), dtype=np.int64), *apart])

    def _limits(self, *, is_counted: bool = True) -> Iterator[Ints]:
        """Yield the full nodes of copies that have any, -1 for others, in order."""
        for block in self.copies.blocks():
            limits = np.sort(self.place[block], axis=1)
            is_limited = limits[:, -1] >= 0
            self.free += int((~is_limited).sum()) if is_counted else 0
            yield limits[is_limited]

    def _share(self, limits: Ints) -> None:
        found, times = np.unique(limits, axis=0, return_counts=True)
        if len(self.times):
            both = np.concatenate([self.shared, found])
            found, where = np.unique(both, axis=0, return_inverse=True)
            weights = np.concatenate([self.times, times])
            times = np.zeros(len(found), dtype=np.int64)
            np.add.at(times, where.ravel(), weights)
        self.shared, self.times = found, times

    def whole(self) -> Fraction:
        """Return what is near the optimum with all copies at hand."""
        found = _solved(self.shared, self.times, self.rows, self.bound)
        if found is not None and _is_close(found.above, found.below, self.bound):
            return Fraction(found.above, _GRID)
        rows = [tuple(row for row in column if row >= 0) for column in self.shared.tolist()]
        return in_fractions(rows, self.times.tolist(), self.rows, self.bound)

    def grown(self) -> Fraction:
        """Return what is near the optimum with some copies at hand, and more of them until it is close enough."""
        # No variable is above the bound, whatever it stands for.
        self.times, best = np.minimum(self.times, self.bound), -1
        while True:
            columns = np.concatenate([self.shared, self.apart])
            most = np.concatenate([self.times, np.ones(len(self.apart), dtype=np.int64)])
            found = _solved(columns, most, self.rows, self.bound)
            if found is None:
                break
            # A price that is rounded up leaves nothing open where copies have just their price.
            prices = np.minimum(found.prices + (found.prices > 0), _GRID)
            above, further = self._priced(prices)
            if _is_close(above, found.below, self.bound):
                return Fraction(above, _GRID)
            if not len(further):
                break
            if found.below > best:
                # Copies without a share and above their price can come back; only then nothing goes round in a circle.
                best = found.below
                is_used = (found.shares[len(self.times) :] > 0) | (_left(prices, self.apart) > 0)
                self.apart = self.apart[is_used]
            self.apart = np.concatenate([self.apart, further])
        self.shared, self.times = np.empty((0, 0), dtype=np.int64), np.empty(0, dtype=np.int64)
        for limits in self._limits(is_counted=False):
            self._share(limits)
        return self.whole()

    def _priced(self, prices: Ints) -> tuple[int, Ints]:
        """Return the value of prices over all copies, and copies that are not at hand and cost least."""
        above = _price(prices, self.shared, self.times, self.bound)
        room = max(len(self.apart), _FIRST)
        found, gains = self.apart[:0], np.empty(0, dtype=np.int64)
        at_hand = np.sort(_keys(self.apart))
        for limits in self._limits(is_counted=False):
            apart = limits[limits[:, 0] >= 0]
            left = _left(prices, apart)
            above += int(left.sum())
            is_cheap = left > _CHEAP
            apart, left = apart[is_cheap], left[is_cheap]
            # By sorting: a table of keys beyond 2^63 overflows in the first releases of NumPy 2.
            is_new = ~np.isin(_keys(apart), at_hand, kind="sort")
            found, gains = np.concatenate([found, apart[is_new]]), np.concatenate([gains, left[is_new]])
            if len(found) > room:
                first = np.argpartition(-gains, room)[:room]
                found, gains = found[first], gains[first]
        return above, found


def _keys(columns: Ints) -> NDArray[np.uint64]:
    """Return a number for each copy. Should two ever share one, one of them is passed over, and no value changes."""
    found = np.zeros(len(columns), dtype=np.uint64)
    for column in columns.T:
        found = (found ^ column.astype(np.uint64)) * _MIXED
        found ^= found >> np.uint64(29)
    return found


@dataclass(frozen=True)
class _Solved:
    """What a solver proposed for some copies: prices, shares, and the values of both, all on the grid and exact."""

    prices: Ints
    shares: Ints
    above: int
    below: int


def _is_close(above: int, below: int, bound: int) -> bool:
    """Whether two values of the grid are close enough; one part of the gap is left for rounding up to whole parts."""
    return (above - below) * PARTS <= (bound * _GAP - 1) * _GRID


def _solved(columns: Ints, most: Ints, rows: int, bound: int) -> _Solved | None:
    """Return what the solver proposes, or None."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    entry = columns.ravel()
    variable = np.repeat(np.arange(len(columns)), columns.shape[1])
    kept = entry >= 0
    matrix = csr_matrix((np.ones(int(kept.sum())), (entry[kept], variable[kept])), shape=(rows, len(columns)))
    boxes = np.column_stack([np.zeros(len(most)), most])
    options = {"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE}
    room = np.full(rows, float(bound))
    found = linprog(-np.ones(len(most)), A_ub=matrix, b_ub=room, bounds=boxes, method="highs", options=options)
    prices, shares = getattr(getattr(found, "ineqlin", None), "marginals", None), found.x
    if prices is None or shares is None:
        return None
    on_grid = _on_grid(-prices, 1)
    kept_shares = np.minimum(_on_grid(shares, int(most.max())), _GRID * most)
    if kept_shares.sum(dtype=np.float64) > _LARGEST:
        # More than all limits allow: nonsense, which might not fit into 64 bits when it is added up.
        return None
    below = _share(kept_shares, matrix, bound)
    return _Solved(on_grid, kept_shares, _price(on_grid, columns, most, bound), below)


def _on_grid(values: Any, most: int) -> Ints:
    """Return numbers from 0 to the largest in whole multiples of the grid; what is not a number is 0."""
    clean = np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=most, neginf=0.0), 0, most)
    return np.floor(clean * _GRID).astype(np.int64)


def _price(prices: Ints, columns: Ints, most: Ints, bound: int) -> int:
    """Return the value of prices of the nodes, which no shares exceed; exact."""
    left = _left(prices, columns)
    # In two halves, each of which stays below 2^63 for any number of copies in memory.
    high, low = int(((left >> 15) * most).sum()), int(((left & 2**15 - 1) * most).sum())
    return bound * int(prices.sum()) + (high << 15) + low


def _left(prices: Ints, columns: Ints) -> Ints:
    """Return what the prices of its nodes leave of the worth of each copy."""
    left: Ints = np.maximum(_GRID - np.append(prices, 0)[columns].sum(axis=1), 0)
    return left


def _share(shares: Ints, matrix: csr_matrix, bound: int) -> int:
    """Return the sum of shares after what is too much at a node was taken off; exact."""
    at_node = matrix.astype(np.int64)
    for node in np.flatnonzero(at_node @ shares > bound * _GRID).tolist():
        held = at_node.indices[at_node.indptr[node] : at_node.indptr[node + 1]]
        before = np.cumsum(shares[held]) - shares[held]
        shares[held] = np.clip(bound * _GRID - before, 0, shares[held])
    return int(shares.sum())


def in_fractions(columns: list[tuple[int, ...]], most: list[int], rows: int, bound: int) -> Fraction:
    """Return the optimum itself by the simplex method on fractions: slow, and always right.

    Args:
        columns: the limits that each variable counts against.
        most: the largest value of each variable.
        rows: the number of limits.
        bound: what every limit allows.

    """
    size, limits = len(columns), rows + len(columns)
    # A tableau: a row for each limit with its slack as basis, variables first, then slacks, then the right side.
    table = [[Fraction(0)] * (size + limits + 1) for _ in range(limits)]
    for variable, column in enumerate(columns):
        for row in (*column, rows + variable):
            table[row][variable] = Fraction(1)
    for row in range(limits):
        table[row][size + row] = Fraction(1)
        table[row][-1] = Fraction(bound if row < rows else most[row - rows])
    basis = [size + row for row in range(limits)]
    goal = [Fraction(-1)] * size + [Fraction(0)] * (limits + 1)
    while True:
        # Bland's rule, which never cycles: the first column that gains, and of the tightest rows the first variable.
        enter = next((column for column, gain in enumerate(goal[:-1]) if gain < 0), None)
        if enter is None:
            return goal[-1]
        tight = min(
            (entries[-1] / entries[enter], basis[row], row) for row, entries in enumerate(table) if entries[enter] > 0
        )[2]
        pivot = table[tight][enter]
        table[tight] = [entry / pivot for entry in table[tight]]
        for row, entries in enumerate(table):
            if row != tight and entries[enter]:
                table[row] = _minus(entries, entries[enter], table[tight])
        goal = _minus(goal, goal[enter], table[tight])
        basis[tight] = enter


def _minus(entries: list[Fraction], times: Fraction, other: list[Fraction]) -> list[Fraction]:
    return [one - times * two for one, two in zip(entries, other, strict=True)]
