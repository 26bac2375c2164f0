"""Public bins: every column is cut into cells before any data is read, so that no threshold comes from data.

A column of numbers has cells of one width between its bounds; a column of categories has a cell for each code. What
trees look like is drawn from a public seed by SHAKE-256: the same seed gives the same trees for any data.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.learn.rows import Box, Floats
from dither.mechanisms.core.public import Array, PublicArray

Whole64 = NDArray[np.int64]
MOST_BINS: Final = 2**10
USUAL_BINS: Final = 32


class CellCounts(Array):
    """The number of cells of each column."""

    def __init__(self) -> None:
        super().__init__("int", axes=1, within=(1, MOST_BINS), rule=f"1 to {MOST_BINS} cells for each column")


class Unordered(Array):
    """A one for each column whose cells have no order, and a zero for each other column."""

    def __init__(self) -> None:
        super().__init__("int", axes=1, within=(0, 1), rule="0 or 1 for each column: 1 where its cells have no order")


@dataclass(frozen=True)
class Bins:
    """The cells of all columns.

    Args:
        lower: bounds of the columns; a number beyond a bound means the bound, NaN means the centre of the column.
        upper: bounds of the columns.
        counts: the number of cells of each column.
        unordered: 1 where the cells of a column are categories, 0 where they have an order.

    """

    lower: PublicArray
    upper: PublicArray
    counts: PublicArray
    unordered: PublicArray

    def __post_init__(self) -> None:
        columns = Box(self.lower, self.upper).columns
        for name in ("counts", "unordered"):
            if getattr(self, name).values.shape != (columns,):
                raise InvalidParameter(name, getattr(self, name), f"one for each of {columns} columns")

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.lower.values.size

    @property
    def widest(self) -> int:
        """The number of cells of the column that has most."""
        return int(self.counts.values.max())

    def cells(self, values: Floats) -> Whole64:
        """Return the cell of each number: elementwise, so that a record's cells depend on that record alone."""
        low, high, counts = self.lower.values, self.upper.values, self.counts.values
        with np.errstate(all="ignore"):
            known = np.where(np.isnan(values), Box(self.lower, self.upper).centre, values)
            share = (np.clip(known, low, high) - low) / (high - low)
            cells: Whole64 = np.clip(np.floor(share * counts), 0, counts - 1).astype(np.int64)
        return cells


def public_numbers(public_seed: str, count: int) -> Whole64:
    """Return ``count`` public integers below 2^32, the same for the same seed.

    >>> public_numbers("a", 2).tolist() == public_numbers("a", 3).tolist()[:2]
    True
    """
    digest = hashlib.shake_256(public_seed.encode("utf-8", "surrogatepass")).digest(4 * count)
    return np.frombuffer(digest, dtype="<u4").astype(np.int64)


def public_order(public_seed: str, count: int) -> Whole64:
    """Return a public permutation of 0, 1, ..., count - 1."""
    order: Whole64 = np.argsort(public_numbers(public_seed, count), kind="stable").astype(np.int64)
    return order


def public_parts(public_seed: str, cells: int, parts: int, *, unordered: bool) -> Whole64:
    """Return the part, of at most ``parts``, of each cell of a column: intervals, or any sets of categories.

    >>> public_parts("a", 6, 3, unordered=False).tolist()
    [0, 0, 0, 1, 1, 2]
    """
    count = min(parts, cells)
    if unordered:
        dealt = public_order(public_seed, cells) % count  # nearly as many categories in each part
        return dealt.astype(np.int64)
    edges = np.sort(public_order(public_seed, cells - 1)[: count - 1])
    return np.searchsorted(edges, np.arange(cells), side="left").astype(np.int64)


def bins_of(columns: int, lower: Any, upper: Any, bins: Any, categorical: Any) -> tuple[Whole64, Whole64]:
    """Return the number of cells of each column, and which columns are categories, from an estimator's declarations.

    Args:
        columns: the number of columns.
        lower: their bounds.
        upper: their bounds.
        bins: cells of a column of numbers: one number for all, or one for each column.
        categorical: the places of columns of codes, each of which has as many cells as its bounds hold integers.

    """
    try:
        counts = np.broadcast_to(np.asarray(bins, dtype=np.int64), (columns,)).copy()
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("bins", bins, f"cells for all columns, or a number for each of {columns}") from None
    flags = np.zeros(columns, dtype=np.int64)
    try:
        flags[np.asarray(() if categorical is None else categorical, dtype=np.int64)] = 1
    except (TypeError, ValueError, IndexError, OverflowError):
        raise InvalidParameter("categorical", categorical, f"places of columns, from 0 to {columns - 1}") from None
    codes = flags == 1
    spans = np.floor(np.asarray(upper)[codes]) - np.ceil(np.asarray(lower)[codes]) + 1
    if not bool(np.all((spans >= 2) & (spans <= MOST_BINS))):
        raise InvalidParameter("categorical", categorical, f"columns whose bounds hold 2 to {MOST_BINS} codes")
    counts[codes] = spans.astype(np.int64)
    return counts, flags
