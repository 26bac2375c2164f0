"""Found columns: rows in an engine whose bins are found, and the fine public grid that they are found on.

The grid follows from the declared bounds: one cell for each integer or day but the two largest, which share one, in
ranges of up to 2^20 values; else, and for reals, about 2^16 cells of equal width. The engine counts rows by its cells,
and then, once bins are known, by bins: it is never asked for pairs of columns on the grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from dither.data import Aggregation, Column, DataSet, Kind
from dither.data.engines.protocol import Engine
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.lift.axes import ENDS, Axis, axis_of, even_runs
from dither.lift.cells import Cells, source_of
from dither.lift.margins import Codes, Margins
from dither.lift.records import Records
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import Distance
from dither.publish.synthetic.columns import FINE_BINS, Coding, number_of_value, recoded

#: Where each bin begins, as a number of a fine cell, for each column whose bins are found.
Starts = Mapping[str, tuple[int, ...]]
#: What ``bins`` says of a column whose bins are to be found.
FOUND: Final = "found"
#: How many bins are found; NULL has one more. More of them take longer and leave each too few rows for pairs.
FOUND_BINS: Final = 128
#: Columns of integers or dates with more values have their bins found unless told otherwise.
_WIDE: Final = 4 * FINE_BINS
#: Up to this many values have a cell each, and in wider ranges there are this many cells.
_MOST_VALUES: Final = 2**20
_WIDE_GRID: Final = 2**16
#: Values of all columns whose bins are found without being asked for.
_MOST_TOGETHER: Final = MOST_CELLS // 4
#: In wider ranges the numbers of cells could overflow in an engine.
_WIDEST: Final = 2**46


def wide_columns(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return the columns whose bins are found unless told otherwise, as many as can be counted together.

    >>> wide_columns(Column(name, Kind.INTEGER, lower=0, upper=most) for name, most in (("age", 99), ("gain", 9999)))
    ('gain',)

    """
    found, cells = [], 0
    for column in columns:
        low, high = column.lower, column.upper
        if column.kind not in (Kind.INTEGER, Kind.DATE) or low is None or high is None or column.categories:
            continue
        span = number_of_value(high) - number_of_value(low) + 1
        if not _WIDE < span <= _WIDEST:
            continue
        # As many as ``found_grid`` has: they are not listed to be counted.
        cells += sum(bins for _, bins in _runs(span))
        if cells <= _MOST_TOGETHER:
            found.append(column.name)
    return tuple(found)


def found_grid(column: Column) -> Axis:
    """Return the fine cells of a column whose bins are to be found, or reject it.

    >>> found_grid(Column("gain", Kind.INTEGER, lower=0, upper=99_999)).edges[-3:]
    (99997, 99998, 99999)

    """
    name = f"bins of {column.name}"
    low, high = column.lower, column.upper
    if column.kind not in (Kind.INTEGER, Kind.DATE, Kind.REAL) or low is None or high is None or column.categories:
        raise InvalidParameter(name, FOUND, "for columns of numbers or dates with bounds; give others no bins")
    if column.kind is Kind.REAL:
        return axis_of(column, _WIDE_GRID, ENDS)
    span = number_of_value(high) - number_of_value(low) + 1
    if span <= FINE_BINS + 1:
        raise InvalidParameter(name, f"{FOUND} among {span} values", "not allowed for few values: each has a cell")
    if span > _WIDEST:
        raise InvalidParameter(name, f"{FOUND} among {span} values", f"for at most {_WIDEST} values; give edges")
    return even_runs(column, _runs(span), ENDS)


def _runs(span: int) -> list[tuple[int, int]]:
    """Return where runs of fine cells begin, and how many cells each has."""
    return [(0, span - 2 if span <= _MOST_VALUES else _WIDE_GRID), (span - 2, 1)]


@dataclass(frozen=True)
@typed
class FoundMargins(Source[Records]):
    """Private rows that stay in their engine, of which some columns have bins that are found.

    Args:
        cells: the rows, and codes of their columns; where bins are found, as many public ones as will be found.
        found: the names of those columns.

    """

    cells: Cells
    found: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.found or len(set(self.found)) != len(self.found):
            raise InvalidParameter("found", self.found, "different names of columns, at least one")
        if unknown := [name for name in self.found if name not in self.cells.names]:
            raise InvalidParameter("found", unknown, f"among the columns {', '.join(self.cells.names)}")
        for name, axis in self.grids.items():
            bins = self.cells.shape[self.cells.names.index(name)]
            if not 2 <= bins <= axis.size:
                raise InvalidParameter("cells", f"{bins} bins of {name}", f"2 to {axis.size}")

    @property
    def dataset(self) -> DataSet:
        """The schema."""
        return self.cells.dataset

    @cached_property
    def grids(self) -> Mapping[str, Axis]:
        """The fine cells of each column whose bins are found."""
        declared = source_of(self.dataset, self.cells.relation)[1]
        return {name: found_grid(declared(name)) for name in self.found}

    @cached_property
    def fine(self) -> Margins:
        """The rows by fine cells; only those columns are counted."""
        cells = recoded(self.cells, self.grids)
        return Margins(cells, tuple((cells.names.index(name),) for name in sorted(self.found, key=cells.names.index)))

    @property
    def attributes(self) -> Attributes:
        """The columns and their numbers of fine cells."""
        return self.fine.attributes

    def binned(self, starts: Starts) -> Margins:
        """Return the rows by bins, and all pairs of columns."""
        declared = source_of(self.dataset, self.cells.relation)[1]
        axes = {name: axis_of(declared(name), list(self.edges(name, own)), ENDS) for name, own in starts.items()}
        return Margins.of_pairs(recoded(self.cells, axes))

    def edges(self, name: str, starts: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the edges of a column's bins, from where they begin; a start beyond the grid is that of NULL."""
        edges = self.grids[name].edges or ()
        return (*(edges[start] for start in starts if start < len(edges) - 1), edges[-1])

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's first aggregations."""
        return self.fine.aggregations()

    def read(self, engine: Engine) -> Records:
        """Return records that the engine counts, by fine cells and then by bins."""
        return _FoundRecords(self, engine)

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many records one unit adds and removes together: by fine cells or by bins, whichever is more."""
        fine, binned = self.fine.moves(), Margins.of_pairs(self.cells).moves()
        return {distance: max(far, binned[distance]) for distance, far in fine.items()}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for other columns, or other numbers of bins."""
        super().check(method)
        inner = getattr(getattr(method, "method", None), "attributes", None)
        if getattr(method, "attributes", None) != self.attributes or inner != self.cells.attributes:
            rule = f"a method that finds {FOUND_BINS} bins of {', '.join(self.found)}"
            raise InvalidParameter("method", method.name, rule)


class _FoundRecords:
    """Records that an engine holds."""

    def __init__(self, source: FoundMargins, engine: Engine) -> None:
        self._source, self._engine = source, engine
        self._fine = source.fine.read(engine)

    @property
    def attributes(self) -> Attributes:
        """Names and sizes on the fine grid."""
        return self._fine.attributes

    def count(self, axes: Axes) -> Codes:
        """Return a marginal on the fine grid."""
        return self._fine.count(axes)

    def grouped(self, starts: Starts) -> Records:
        """Return the records by bins."""
        return self._source.binned(starts).read(self._engine)


def with_edges(codings: tuple[Coding, ...], source: FoundMargins, starts: Starts) -> tuple[Coding, ...]:
    """Return codings with the bins that were found in the place of public ones."""
    return tuple(
        replace(coding, edges=source.edges(coding.column, starts[coding.column])) if coding.column in starts else coding
        for coding in codings
    )


register_records(FoundMargins)
