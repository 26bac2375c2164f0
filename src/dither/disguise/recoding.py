"""What a class is published as: one cell for each quasi-identifier that stands for all values of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dither.disguise.classes import Figures
from dither.disguise.dates import written
from dither.disguise.hierarchies import ANYTHING, Hierarchy
from dither.disguise.rules import ordered_values
from dither.disguise.table import Codes, Column, Table

#: What stands for a missing value within a range or a set.
MISSING = "?"
_BETWEEN = " | "


def published(
    table: Table, quasi: Sequence[str], parts: Codes, count: int, hierarchies: Mapping[str, Hierarchy]
) -> tuple[dict[str, Column], float]:
    """Return the columns of quasi-identifiers that classes are published with, and how wide cells are on average.

    Args:
        table: as it was.
        quasi: its quasi-identifiers.
        parts: the class of each row.
        count: how many classes there are.
        hierarchies: whose labels are taken for texts.

    """
    weights = np.bincount(parts, minlength=count) / max(len(parts), 1)
    columns, penalty = {}, 0.0
    for name in quasi:
        if name in hierarchies:
            cells, widths = _by_labels(table[name], parts, count, hierarchies[name])
        elif (numbers := table[name].scale()) is not None:
            cells, widths = _by_ranges(table[name], numbers, parts, count)
        else:
            cells, widths = _by_sets(table[name], parts, count)
        made = Column.of(cells)
        columns[name] = Column(made.values, made.codes[parts])
        penalty += float(widths @ weights) / len(quasi)
    return columns, penalty


def _by_ranges(column: Column, numbers: Figures, parts: Codes, count: int) -> tuple[list[object], Figures]:
    order = ordered_values(column)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    codes, first = ranks[column.codes], int(np.count_nonzero(np.isnan(numbers)))
    ordered, values = numbers[order], [column.values[place] for place in order]
    is_there = codes >= first
    low, high = np.full(count, len(order)), np.full(count, -1)
    np.minimum.at(low, parts[is_there], codes[is_there])
    np.maximum.at(high, parts[is_there], codes[is_there])
    lacks = np.zeros(count, dtype=np.bool_)
    lacks[parts[~is_there]] = True
    top, bottom = np.minimum(high, len(order) - 1), np.minimum(low, len(order) - 1)
    reach = ordered[-1] - ordered[first]
    widths = np.where(high >= 0, ordered[top] - ordered[bottom], 0.0) / (reach if reach > 0 else 1.0)
    widths = np.where(lacks & (high >= 0), 1.0, widths)
    # A minus between two numbers would be read as a sign where there are signs, and dates have their own.
    to = " to " if ordered[first] < 0 or column.numbers() is None else "-"
    cells: list[object] = []
    for start, stop, lack in zip(low.tolist(), high.tolist(), lacks.tolist(), strict=True):
        if stop < 0:
            cells.append(None)
            continue
        said = values[start] if start == stop else f"{written(values[start])}{to}{written(values[stop])}"
        cells.append(f"{MISSING}{_BETWEEN}{written(said)}" if lack else said)
    return cells, widths


def _by_sets(column: Column, parts: Codes, count: int) -> tuple[list[object], Figures]:
    size = len(column.values)
    pairs = np.unique(parts * size + column.codes)
    of_part = pairs // size
    sizes = np.bincount(of_part, minlength=count)
    order = ordered_values(column)
    ranks = np.empty(size, dtype=np.int64)
    ranks[order] = np.arange(size)
    places = order[np.sort(of_part * size + ranks[pairs % size]) % size].tolist()
    cells: list[object] = []
    seen: dict[tuple[int, ...], object] = {}
    start = 0
    for number in sizes.tolist():
        key = tuple(places[start : start + number])
        start += number
        if key not in seen:
            seen[key] = set_of([column.values[place] for place in key])
        cells.append(seen[key])
    return cells, (sizes - 1) / max(size - 1, 1)


def set_of(values: Sequence[object]) -> object:
    """Return what a set of values is written as; one value stays as it is.

    >>> set_of(["a"]), set_of(["a", None])
    ('a', 'a | ?')

    """
    shown = _BETWEEN.join(MISSING if value is None else written(value) for value in values)
    return values[0] if len(values) == 1 else shown


def _by_labels(column: Column, parts: Codes, count: int, hierarchy: Hierarchy) -> tuple[list[object], Figures]:
    cells: list[object] = [ANYTHING] * count
    widths = np.ones(count)
    left = np.ones(count, dtype=np.bool_)
    for level in hierarchy.levels(column):
        codes = level.codes[column.codes]
        low, high = np.full(count, len(level.labels)), np.full(count, -1)
        np.minimum.at(low, parts, codes)
        np.maximum.at(high, parts, codes)
        for part in np.flatnonzero(left & (low == high)).tolist():
            label = level.labels[low[part]]
            cells[part] = label or None
        widths = np.where(left & (low == high), level.widths[np.minimum(low, len(level.labels) - 1)], widths)
        left &= low != high
    return cells, widths
