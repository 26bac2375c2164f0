"""Totals that agree: counts and sums of several grouping sets of the same public keys (ROLLUP, CUBE, GROUPING SETS).

Every set is measured with noise of its own. Weighted least squares over all of them gives the cells, and from these all
sets anew: every total is then the sum of what stands below it, and no number has more variance than its own measurement
(Gauss and Markov: the measurement is one of the unbiased linear estimates, and least squares is the best of them).

**How.** A table of counts is the sum of one part for each subset T of its keys: what deviates along the keys of T and
is constant along the others. The parts are orthogonal, and a set measures those whose T it contains. So the least
squares solve for each T by itself: the weighted mean of what the sets say of it, where a set with the keys S and noise
of variance v says it with the variance v times the number of cells of S for one of T. Cost: a few sums of each table
for each T, which is a subset of a set that was asked for.

**What is shown.** The values as drawn (``raw``) are these least squares. What is shown is in addition possible: counts
are integers of at least 0 that add up, by the nearest non-negative numbers with the given totals, from coarser sets
down to finer ones. An interval stays that of the measurement, and is widened to the shown value where that lies
outside: so it covers whenever the interval of the measurement does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind
from dither.estimate.projections import non_negative_with_total
from dither.estimate.rounding import largest_remainder
from dither.publish.queries.reports.cells import Cells
from dither.publish.queries.reports.views import ViewTotals

Reals = NDArray[np.float64]
Places = tuple[int, ...]

#: Larger numbers have no digits after the point: they are left as they are.
_LARGEST: Final = 2.0**50


def least_squares(
    tables: Mapping[Places, Reals], variances: Mapping[Places, float], sizes: Sequence[int]
) -> dict[Places, Reals]:
    """Return the tables of all sets as they follow from one table of cells, fitted to all of them.

    Args:
        tables: for every set, by the places of its keys in ascending order, its measured table, an axis for each key.
        variances: of the noise in one cell of each set, in any common unit.
        sizes: the number of values of every key.

    >>> fitted = least_squares({(0,): np.array([1.0, 2.0]), (): np.array(6.0)}, {(0,): 1.0, (): 1.0}, [2])
    >>> fitted[(0,)].tolist(), float(fitted[()])
    ([2.0, 3.0], 5.0)

    """
    parts: dict[Places, Reals] = {}
    subsets = {part for keys in tables for many in range(len(keys) + 1) for part in itertools.combinations(keys, many)}
    for part in subsets:
        total, weight = np.zeros([sizes[key] for key in part]), 0.0
        for keys, table in tables.items():
            if set(part) <= set(keys):
                others = tuple(axis for axis, key in enumerate(keys) if key not in part)
                one = 1 / (variances[keys] * math.prod(sizes[key] for key in keys if key not in part))
                total += one * _deviation(table.sum(axis=others))
                weight += one
        parts[part] = total / weight
    return {keys: _assembled(keys, parts, sizes) for keys in tables}


def _deviation(table: Reals) -> Reals:
    """Return what deviates from the mean along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _assembled(keys: Places, parts: Mapping[Places, Reals], sizes: Sequence[int]) -> Reals:
    whole = np.zeros([sizes[key] for key in keys])
    for many in range(len(keys) + 1):
        for part in itertools.combinations(keys, many):
            others = math.prod(sizes[key] for key in keys if key not in part)
            shape = [sizes[key] if key in part else 1 for key in keys]
            whole = whole + parts[part].reshape(shape) / others
    return whole


def possible(
    tables: Mapping[Places, Reals], sizes: Sequence[int], *, integers: bool
) -> dict[Places, NDArray[Any]] | None:
    """Return fitted tables as numbers of at least 0 that add up, or None where they are too large for that.

    The largest sets are taken one after the other. What one has in common with those before it is a part of one of
    them, and is shared out among its cells: so both agree on it, and numbers that are possible already stay as they
    are. Sets within a largest one are its sums. Where the largest sets cannot be ordered so ((a, b), (b, c), (a, c)),
    the cells of all keys are shared out from the total at once.
    """
    if any(np.abs(table).max(initial=0.0) > _LARGEST for table in tables.values()):
        return None
    total = max(float(min(tables.items(), key=lambda item: len(item[0]))[1].sum()), 0.0)
    above: NDArray[Any] = np.array(round(total) if integers else total)
    ordered = _ordered(tables)
    fitted = dict(tables)
    if ordered is None:
        finest = tuple(sorted(set().union(*tables)))
        if math.prod(sizes[key] for key in finest) > _MOST_CELLS:
            return None
        fitted, ordered = {finest: _cells(tables, finest, sizes)}, [(finest, None)]
    found: dict[Places, NDArray[Any]] = {}
    for largest, before in ordered:
        common = () if before is None else tuple(key for key in largest if key in before)
        shared = above if before is None else _summed(found[before], before, common)
        found[common] = shared
        for keys in _within(common, largest, fitted):
            found[keys] = _shared_out(fitted[keys], keys, common, shared, integers=integers)
            common, shared = keys, found[keys]
    sums = [(keys, next(largest for largest, _ in ordered if set(keys) <= set(largest))) for keys in tables]
    return {keys: found[keys] if keys in found else _summed(found[largest], largest, keys) for keys, largest in sums}


def _ordered(tables: Iterable[Places]) -> list[tuple[Places, Places | None]] | None:
    """Return the largest sets, each with one before it that has all it shares with those before it; None if none is."""
    names = list(tables)
    largest = [keys for keys in names if not any(set(keys) < set(other) for other in names)]
    ordered: list[tuple[Places, Places | None]] = [(largest.pop(0), None)]
    while largest:
        pairs = [(keys, before) for keys in largest for before, _ in ordered]
        keys, before = max(pairs, key=lambda pair: len(set(pair[0]) & set(pair[1])))
        if set(keys) & {key for other, _ in ordered for key in other} > set(keys) & set(before):
            return None
        largest.remove(keys)
        ordered.append((keys, before))
    return ordered


def _within(common: Places, largest: Places, tables: Iterable[Places]) -> list[Places]:
    """Return the sets between two, from the coarsest, if they lie within one another; else the largest alone."""
    inside = sorted((keys for keys in tables if set(common) < set(keys) <= set(largest)), key=len)
    if all(set(one) <= set(other) for one, other in itertools.pairwise(inside)):
        return inside if set(common) != set(largest) else []
    return [largest]


def _summed(table: NDArray[Any], keys: Places, kept: Places) -> NDArray[Any]:
    """Return the sums over the keys that are not kept."""
    return np.asarray(table.sum(axis=tuple(axis for axis, key in enumerate(keys) if key not in kept)))


#: Cells of all keys together, where sets do not lie within one another.
_MOST_CELLS: Final = 1_000_000


def _cells(tables: Mapping[Places, Reals], finest: Places, sizes: Sequence[int]) -> Reals:
    """Return cells of all keys that add up to the sets, which agree already."""
    parts: dict[Places, Reals] = {}
    for keys, table in tables.items():
        for many in range(len(keys) + 1):
            for part in itertools.combinations(keys, many):
                others = tuple(axis for axis, key in enumerate(keys) if key not in part)
                parts.setdefault(part, _deviation(table.sum(axis=others)))
    subsets = (part for many in range(len(finest) + 1) for part in itertools.combinations(finest, many))
    known = {part: parts.get(part, np.zeros([sizes[key] for key in part])) for part in subsets}
    return _assembled(finest, known, sizes)


def _shared_out(table: Reals, keys: Places, above: Places, totals: NDArray[Any], *, integers: bool) -> NDArray[Any]:
    """Return non-negative numbers near a table, whose sums over the keys that are not above are the totals."""
    axes = [axis for axis, key in enumerate(keys) if key in above]
    others = [axis for axis, key in enumerate(keys) if key not in above]
    turned = np.transpose(table, (*axes, *others))
    rows = turned.reshape(totals.size, -1)
    near = [non_negative_with_total(row, float(total)) for row, total in zip(rows, totals.ravel(), strict=True)]
    if integers:
        shared = np.stack([largest_remainder(row, int(total)) for row, total in zip(near, totals.ravel(), strict=True)])
    else:
        shared = np.stack(near)
    back = np.argsort((*axes, *others)) if keys else ()
    found: NDArray[Any] = np.transpose(shared.reshape(turned.shape), back)
    return found


def with_totals(view: ViewTotals, tables: Sequence[Mapping[str, Cells]]) -> dict[str, Cells]:
    """Return the tables of all sets one below the other, with totals that agree."""
    sizes = [size for _, _, size in view.keys]
    columns: dict[str, Cells] = {}
    lengths = [len(next(iter(table.values())).shown) for table in tables]
    for place, (name, _, _) in enumerate(view.keys):
        cells: list[Any] = []
        for (_, keys), table, length in zip(view.sets, tables, lengths, strict=True):
            cells += table[name].shown if place in keys else [None] * length
        columns[name] = Cells(cells)
    for name, kind in view.measures:
        columns[name] = _stacked([table[name] for table in tables])
        if name in view.additive:
            _agree(view, name, kind, tables, sizes, columns[name])
    for name, places in view.marks:
        marks: list[Any] = []
        for (_, keys), length in zip(view.sets, lengths, strict=True):
            mark = 0
            for place in places:
                mark = 2 * mark + (place not in keys)
            marks += [mark] * length
        columns[name] = Cells(marks)
    return columns


def _stacked(parts: Sequence[Cells]) -> Cells:
    first = parts[0]

    def every(which: str) -> list[Any]:
        return [value for part in parts for value in getattr(part, which)]

    ends = (every("low"), every("high")) if first.has_ends else ([], [])
    return Cells(
        every("shown"), every("raw"), *ends, True, first.has_ends, first.estimand, first.bias, limit=first.limit
    )


def _agree(
    view: ViewTotals,
    name: str,
    kind: Kind,
    tables: Sequence[Mapping[str, Cells]],
    sizes: Sequence[int],
    column: Cells,
) -> None:
    """Change a column so that its totals agree; a set that is asked for twice is measured once."""
    measured: dict[Places, Reals] = {}
    variances: dict[Places, float] = {}
    for (_, keys), table in zip(view.sets, tables, strict=True):
        cells = table[name]
        shape = [sizes[key] for key in keys]
        if len(cells.raw) != math.prod(shape) or any(value is None for value in cells.raw):
            return  # a rehearsal on one group, or a number beyond what a cell can hold: nothing to agree on
        measured[keys] = np.array(cells.raw, dtype=np.float64).reshape(shape)
        variances[keys] = cells.variance
    fitted = least_squares(measured, variances, sizes)
    is_positive = all(low is not None and low >= 0 for low in column.low)
    chosen = possible(fitted, sizes, integers=kind is Kind.INTEGER) if is_positive else None
    column.raw = [value for _, keys in view.sets for value in fitted[keys].ravel().tolist()]
    chosen = fitted if chosen is None else chosen
    column.shown = [value for _, keys in view.sets for value in chosen[keys].ravel().tolist()]
    for place, value in enumerate(column.shown):
        if column.has_ends and column.low[place] is not None:
            column.low[place], column.high[place] = min(column.low[place], value), max(column.high[place], value)
