"""Columns as arrays of numbers and of codes; each cell means what ``cell_values`` says of it.

A column that came as an array is read as one. Any other is read cell by cell, so that an engine or a frame cannot
change what a cell means by how it holds it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.data.cell_values import NO_CLASS, codes_of, number_of
from dither.data.columns import ColumnRows, Values
from dither.data.expressions import Kind, Value
from dither.data.relations import Aggregated
from dither.data.returned import canonical, first_number, saturated_column

N = TypeVar("N", bound=np.generic)
_LEAST, _LIMIT = -(2**63), 2**63
#: The types of arrays of columns of a kind.
_KINDS: Final = {Kind.BOOLEAN: "b", Kind.INTEGER: "i", Kind.REAL: "f"}


def counted_columns(answer: Aggregated, width: int) -> tuple[list[Values], NDArray[np.int64]]:
    """Return the keys of an answer as columns, and how often each row occurs; rows of another width are dropped.

    Args:
        answer: whose first measure counts rows.
        width: the number of keys.

    """
    keys, measures = answer.keys, answer.measures
    if isinstance(keys, ColumnRows) and isinstance(measures, ColumnRows) and keys.width == width:
        counts = saturated_column(measures.columns[0] if measures.width else None, len(measures))
        if len(keys) == len(measures):
            return list(keys.columns), np.maximum(counts, 0)
    rows = [
        (key, max(first_number(numbers), 0))
        for key, numbers in zip(keys, measures, strict=False)
        if isinstance(key, tuple | list) and len(key) == width
    ]
    columns: list[Values] = [[key[place] for key, _ in rows] for place in range(width)]
    return columns, np.array([count for _, count in rows], dtype=np.int64)


def number_column(cells: Values, length: int) -> NDArray[np.float64]:
    """Return the number of each cell of a column; NaN for a string and for anything else that is not a number.

    >>> number_column(["1", 2, None, True], 4).tolist(), number_column(np.ma.masked_equal([3, 4], 4), 2).tolist()
    ([nan, 2.0, nan, 1.0], [3.0, nan])
    """
    if cells is None:
        return np.full(length, np.nan)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufb":
        return _unmasked(cells.astype(np.float64), np.nan, np.ma.getmask(cells))
    return np.fromiter(map(_number, cells), dtype=np.float64, count=length)


def code_column(cells: Values, length: int, labels: Sequence[Any]) -> NDArray[np.int64]:
    """Return the place of each cell of a column among declared labels, ``NO_CLASS`` where it equals none.

    >>> code_column(np.array([2, 7, 1]), 3, [1, 2]).tolist(), code_column(["b", None, "a"], 3, ["a", "b"]).tolist()
    ([1, -1, 0], [1, -1, 0])
    """
    if cells is None:
        return np.full(length, NO_CLASS, dtype=np.int64)
    code = codes_of(labels)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "ifb":
        return _unmasked(_places(np.ma.getdata(cells), labels, code), NO_CLASS, np.ma.getmask(cells))
    listed = cells if isinstance(cells, list) else cells.tolist()
    if all(type(cell) is str or cell is None for cell in listed):
        known = {cell: code(cell) for cell in set(listed)}
        return np.fromiter(map(known.__getitem__, listed), dtype=np.int64, count=length)
    return np.fromiter(map(code, listed), dtype=np.int64, count=length)


def label_numbers(codes: NDArray[np.int64], labels: int, *, as_codes: bool = False) -> NDArray[np.float64]:
    """Return a row of numbers for each code of a declared label: 1 for the label that a cell equals and 0 for others.

    Args:
        codes: of ``code_column``.
        labels: how many there are.
        as_codes: whether the code is the one number of a row; the number of labels where a cell equals none.

    >>> label_numbers(np.array([1, -1]), 2).tolist(), label_numbers(np.array([1, -1]), 2, as_codes=True).tolist()
    ([[0.0, 1.0], [0.0, 0.0]], [[1.0], [2.0]])

    """
    if as_codes:
        return np.where(codes == NO_CLASS, labels, codes).astype(np.float64).reshape(-1, 1)
    found: NDArray[np.float64] = (codes[:, None] == np.arange(labels)).astype(np.float64)
    return found


def place_column(cells: Values, length: int, labels: Sequence[Value], kind: Kind) -> NDArray[np.int64]:
    """Return the place of each cell among labels of its kind, of which one may be NULL; -1 for any other cell.

    Args:
        cells: of one kind; a cell of any other kind is no label.
        length: their number.
        labels: public and different.
        kind: of the labels.

    >>> place_column(["b", None, 2], 3, [None, "b"], Kind.TEXT).tolist()
    [1, 0, -1]

    """
    known = {canonical((label,), (kind,)): place for place, label in enumerate(labels)}
    known.pop(None, None)
    if isinstance(cells, np.ndarray) and cells.dtype.kind == _KINDS.get(kind):
        exact = {label: place for (label,), place in known.items() if label is not None}  # type: ignore[misc]
        found = _found(np.ma.getdata(cells), exact)
        return _unmasked(found, known.get((None,), NO_CLASS), np.ma.getmask(cells))

    def place_of(cell: Any) -> int:
        return known.get(canonical((cell,), (kind,)), NO_CLASS)

    listed = [None] * length if cells is None else cells if isinstance(cells, list) else cells.tolist()
    if set(map(type, listed)) <= {type(None), str} or set(map(type, listed)) <= {type(None), datetime.date}:
        # Of one type, equal cells are one.
        places = {cell: place_of(cell) for cell in set(listed)}
        return np.fromiter(map(places.__getitem__, listed), dtype=np.int64, count=length)
    return np.fromiter(map(place_of, listed), dtype=np.int64, count=length)


def integer_column(cells: Values, length: int, size: int) -> NDArray[np.int64]:
    """Return each cell that is an integer from 0 to below a size; -1 for any other.

    >>> integer_column(np.array([0, 7, -1]), 3, 5).tolist(), integer_column([4, True, None, 2.0], 4, 5).tolist()
    ([0, -1, -1], [4, -1, -1, -1])
    """
    if isinstance(cells, np.ndarray) and cells.dtype == np.int64:
        plain = np.ma.getdata(cells)
        return _unmasked(np.where((plain >= 0) & (plain < size), plain, NO_CLASS), NO_CLASS, np.ma.getmask(cells))
    listed = [None] * length if cells is None else cells if isinstance(cells, list) else cells.tolist()
    inside = (cell if type(cell) is int and 0 <= cell < size else NO_CLASS for cell in listed)
    return np.fromiter(inside, dtype=np.int64, count=length)


def _places(cells: NDArray[Any], labels: Sequence[Any], code: Callable[[Any], int]) -> NDArray[np.int64]:
    """Return the places of numbers among labels of any type."""
    exact: dict[float, int] = {}
    for label in labels:
        number = label.item() if isinstance(label, np.generic) else label
        held = _held(number, cells.dtype.kind) if isinstance(number, bool | int | float) else None
        if held is not None:
            exact[held] = code(label)
    return _found(cells, exact)


def _found(cells: NDArray[Any], places: Mapping[Any, int]) -> NDArray[np.int64]:
    """Return the place of each number among places of its type; NO_CLASS for one that equals none of them."""
    if not places:
        return np.full(cells.shape, NO_CLASS, dtype=np.int64)
    kind: Any = np.float64 if cells.dtype.kind == "f" else np.int64
    known, numbers = sorted(places), cells.astype(kind, copy=False)
    values, found = np.array(known, dtype=kind), np.array([places[one] for one in known], dtype=np.int64)
    nearest = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
    return np.where(values[nearest] == numbers, found[nearest], NO_CLASS)


def _held(number: float, kind: str) -> int | float | None:
    """Return a number as one of a type; None where no number of this type equals it."""
    if kind != "f" and not _LEAST <= number < _LIMIT:
        return None
    try:
        held = float(number) if kind == "f" else int(number)
    except OverflowError:
        return None
    return held if held == number else None


def _unmasked(values: NDArray[N], otherwise: float, mask: Any) -> NDArray[N]:
    """Return an array in which masked cells hold a value."""
    plain: NDArray[N] = np.ma.getdata(values)
    return plain if mask is np.ma.nomask else np.where(mask, plain.dtype.type(otherwise), plain)


def _number(cell: Any) -> float:
    # Not isinstance, which would ask the cell what it says its class is.
    return float("nan") if issubclass(type(cell), str) else number_of(cell)
