"""The number of copies of a pattern, cut to a bound of copies at each node by a linear programme.

Every copy gets a share between 0 and 1, and the shares of the copies at one node add up to at most the bound; the sum
of all shares is as large as possible. Where no node is in more copies than the bound, that is their number. One node
moves it by at most the bound, and never down by coming in. A solver in floats proposes; whole numbers decide: its
prices give an upper bound and its shares a lower one, and what may lie between is part of the stated sensitivity. If
ever they lie farther apart, the programme is solved in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dither.publish.graphs.simple_graph import Ints, SimpleGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: Values are whole multiples of 1/1024, at most 1/128 of the bound above the optimum.
PARTS: Final = 2**10
_GAP: Final = PARTS // 128
#: Prices and shares are rounded to multiples of one over this.
_GRID: Final = 2**30
#: What the solver is asked for, and how many edges are looked at together.
_TOLERANCE: Final = 1e-9
_EDGES_AT_A_TIME: Final = 2**14


def moved(bound: int) -> int:
    """Return how far one node moves a packed value, at most: the bound and the gap."""
    return bound * (PARTS + _GAP)


def drawn_apart(bound: int) -> int:
    """Return the sensitivity for values that are compared: they may be off their optima on both sides."""
    return bound * (PARTS + 2 * _GAP)


def triangles_of(graph: SimpleGraph) -> Ints:
    """Return the nodes of all triangles, one triangle a row.

    >>> from dither.publish.graphs.simple_graph import graph_of
    >>> sorted(triangles_of(graph_of([(0, 1), (0, 2), (1, 2), (2, 3)], 4))[0].tolist())
    [0, 1, 2]
    """
    # From later places, of smaller degree, to earlier ones; ordered by where they start.
    keys = np.sort(graph.ranked[:, 1] * graph.nodes + graph.ranked[:, 0])
    source, target = keys // graph.nodes, keys % graph.nodes
    starts = np.searchsorted(source, np.arange(graph.nodes + 1))
    lengths = np.diff(starts)
    found = [np.empty((0, 3), dtype=np.int64)]
    for first in range(0, len(keys), _EDGES_AT_A_TIME):
        many = lengths[target[first : first + _EDGES_AT_A_TIME]]
        edge = np.repeat(np.arange(first, first + len(many)), many)
        offset = np.arange(len(edge)) - np.repeat(np.cumsum(many) - many, many)
        third = target[starts[target[edge]] + offset]
        wanted = source[edge] * graph.nodes + third
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[place] == wanted
        found.append(np.column_stack([source[edge[hit]], target[edge[hit]], third[hit]]))
    return graph.order[np.concatenate(found)]


def packed(copies: Ints, nodes: int, bound: int) -> int:
    """Return the largest sum of shares in parts of 1/1024, rounded up by at most 1/128 of the bound.

    Args:
        copies: the nodes of each copy, a copy a row.
        nodes: their number.
        bound: the largest sum of shares at a node.

    >>> packed(np.array([[0, 1, 2], [0, 3, 4], [0, 5, 6]]), 7, 4) / PARTS
    3.0

    """
    at_node = np.bincount(copies.ravel(), minlength=nodes)
    full = np.flatnonzero(at_node > bound)
    if not len(full):
        return PARTS * len(copies)
    place = np.full(nodes, -1, dtype=np.int64)
    place[full] = np.arange(len(full))
    # Nodes within the bound set no limit; copies at the same full nodes share one variable.
    limits = np.sort(place[copies], axis=1)
    is_limited = limits[:, -1] >= 0
    columns, most = np.unique(limits[is_limited], axis=0, return_counts=True)
    free = int((~is_limited).sum())
    above = _certified(columns, most, len(full), bound)
    if above is None:
        rows = [tuple(row for row in column if row >= 0) for column in columns.tolist()]
        above = in_fractions(rows, most.tolist(), len(full), bound)
    return PARTS * free + -(-above.numerator * PARTS // above.denominator)


def _certified(columns: Ints, most: Ints, rows: int, bound: int) -> Fraction | None:
    """Return an upper bound on the optimum that is close enough to a lower one, or None."""
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
    above = _price(_on_grid(-prices, 1), columns, most, bound)
    below = _share(np.minimum(_on_grid(shares, int(most.max())), _GRID * most), matrix, bound)
    # One part of the gap is left for rounding up to whole parts.
    return Fraction(above, _GRID) if (above - below) * PARTS <= (bound * _GAP - 1) * _GRID else None


def _on_grid(values: Any, most: int) -> Ints:
    """Return numbers from 0 to the largest in whole multiples of the grid; what is not a number is 0."""
    clean = np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0, posinf=most, neginf=0.0), 0, most)
    return np.floor(clean * _GRID).astype(np.int64)


def _price(prices: Ints, columns: Ints, most: Ints, bound: int) -> int:
    """Return the value of prices of the nodes, which no shares exceed; exact."""
    left = np.maximum(_GRID - np.append(prices, 0)[columns].sum(axis=1), 0)
    return bound * int(prices.sum()) + int((left * most).sum())


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
