"""Margins: many marginals of private rows, counted by an engine without the full table of their columns.

The columns may have any number of cells together. Every row is turned into integers by the engine, one for each
column, and several of these into one: so an engine groups by a few integers, whatever the columns hold. (A column
of more than 64 listed values stays as it is, and its values are numbered here.) Which statements are put is a function
of the request alone:

- marginals that overlap are counted together in *blocks* of at most 2^14 cells, a statement for each block;
- where that would take more than 64 statements, one statement groups by all columns. It returns a row for each
  combination that occurs, so never more than there are rows, and the marginals are added up from these.

All statements ask for the same rows: those that lie in a cell of every column, and of each person as many as the limits
leave. Nothing here adds noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import (
    Aggregated,
    Aggregation,
    Bounded,
    Call,
    Case,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Kind,
    Literal,
    Name,
    Project,
    Relation,
)
from dither.data.column_values import counted_columns, integer_column, place_column
from dither.data.columns import Values
from dither.data.engines.protocol import Engine
from dither.data.expressions import Value, kind_of
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.attributes import Attributes, Axes
from dither.lift.axes import Axis
from dither.lift.blocks import merged
from dither.lift.cells import Cells, listed_rows
from dither.lift.records import Records
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import RECORDS, ROW, ROW_EXCHANGED, Distance

Codes = NDArray[np.int64]

#: Cells of a block: what one statement returns at most.
_BLOCK: Final = 2**14
_MOST_STATEMENTS: Final = 64
#: Columns of a table from which marginals are added up.
_WIDEST: Final = 12
#: Whole numbers of one key stay below this, with room in 64 bits.
_LARGEST_KEY: Final = 2**62
#: Listed values of a column that a statement tells apart one by one.
_MOST_LABELS: Final = 64
#: No table has more rows; and sums of fewer are exact in doubles.
_MOST_ROWS: Final = 2**50
_ALL_AT_ONCE: Final = 256
_NOTHING: Final = Literal(None, Kind.INTEGER)


@dataclass(frozen=True)
class Block:
    """Columns that one statement counts together: their places, and how they are packed into keys."""

    axes: Axes
    keys: tuple[Axes, ...]


@dataclass(frozen=True)
@typed
class Margins(Source[Records]):
    """Private rows that stay in their engine, which counts the marginals that a method requests.

    Args:
        cells: the rows, and the cells of each column; any number of them together.
        sets: the marginals that are counted together as soon as one of them is requested, each by the places of its
            columns among those of ``cells``, in increasing order. Others are counted one by one.

    """

    cells: Cells
    sets: tuple[Axes, ...]

    def __post_init__(self) -> None:
        width = len(self.cells.axes)
        for axes in self.sets:
            if list(axes) != sorted(set(axes)) or not all(0 <= axis < width for axis in axes):
                raise InvalidParameter("sets", axes, f"increasing places of columns, below {width}")
        if not self.sets:
            raise InvalidParameter("sets", self.sets, "at least one marginal")

    @classmethod
    def of_pairs(cls, cells: Cells) -> Margins:
        """Return the source that counts all columns and all pairs of them together."""
        width = range(len(cells.axes))
        return cls(cells, (*((axis,) for axis in width), *itertools.combinations(width, 2)))

    @property
    def dataset(self) -> DataSet:
        """The schema."""
        return self.cells.dataset

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's first aggregations."""
        return self.asked

    def read(self, engine: Engine) -> Records:
        """Return records that the engine counts; the statements follow from the requested marginals."""
        return _EngineRecords(self, engine)

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many records one unit adds and removes together, or replaces by others."""
        together, exchanged = self.cells.sensitivity.l1, Fraction(self.cells.contribution.total)
        return {RECORDS: together, ROW: together, ROW_EXCHANGED: exchanged}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for other columns."""
        super().check(method)
        if getattr(method, "attributes", None) != self.attributes:
            raise InvalidParameter("method", method.name, f"a method on the columns {', '.join(self.cells.names)}")

    @property
    def attributes(self) -> Attributes:
        """The columns and their numbers of cells."""
        return self.cells.attributes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns that are counted together."""
        sizes = self.cells.shape
        found = merged(sizes, self.sets, most_cells=_BLOCK)
        if len(found) > _MOST_STATEMENTS:
            found = (tuple(range(len(sizes))),)
        return tuple(Block(axes, packed(sizes, axes, self._listed)) for axes in found)

    @cached_property
    def _listed(self) -> frozenset[int]:
        """The columns whose values are numbered here rather than by the engine."""
        return frozenset(
            place
            for place, axis in enumerate(self.cells.axes)
            if not axis.is_numbered and len(axis.labels or ()) > _MOST_LABELS
        )

    @cached_property
    def rows(self) -> Relation:
        """The counted rows as integers: the place of the row's cell along each column."""
        axes, relation = self.cells.axes, self.cells.relation
        for place in self._listed:
            relation = listed_rows(relation, axes[place], len(self._listed))
        numbered = [
            axis.value if place in self._listed else number_of(axis, relation.columns)
            for place, axis in enumerate(axes)
        ]
        names = [_code(place) for place in range(len(axes))]
        relation = Project(relation, tuple(zip(names, numbered, strict=True)))
        has_number = [
            condition
            for place, name in enumerate(names)
            if place not in self._listed
            for condition in _is_cell(Name(name), axes[place])
        ]
        if has_number:
            relation = Filter(relation, _all(has_number))
        if not self.cells.dataset.protects_persons:
            return relation
        # Groups are the cells of all columns, which their packed numbers tell apart.
        groups = packed(self.cells.shape, tuple(range(len(axes))), self._listed)
        keys = tuple(_packing(self.cells.shape, key) for key in groups)
        return Bounded(relation, keys, self.cells.limits, tuple(names))

    @cached_property
    def asked(self) -> tuple[Aggregation, ...]:
        """The engine's aggregations, block by block."""
        return tuple(
            Aggregation(self.rows, tuple(_packing(self.cells.shape, key) for key in block.keys), (CountRows(),))
            for block in self.blocks
        )

    def tables(self, answers: Sequence[Aggregated]) -> dict[Axes, Codes]:
        """Return the counts of every marginal; odd rows of an answer are ignored."""
        found: dict[Axes, Codes] = {}
        for block, answer in zip(self.blocks, answers, strict=True):
            codes, counts = self._decoded(block, answer)
            inside = set(block.axes)
            wanted = {axes for axes in self.sets if axes not in found and inside.issuperset(axes)}
            orders = sorted({len(axes) for axes in wanted})
            # Several marginals are added up from one that holds them: rows are gone through less often.
            for cover in merged(self.cells.shape, tuple(sorted(wanted)), most_cells=_BLOCK // 4, most_axes=_WIDEST):
                table = self._count(codes, counts, cover)
                for axes in itertools.chain.from_iterable(itertools.combinations(cover, order) for order in orders):
                    if axes in wanted:
                        wanted.remove(axes)
                        dropped = tuple(place for place, axis in enumerate(cover) if axis not in axes)
                        found[axes] = table.sum(axis=dropped)
        return found

    def _count(self, codes: dict[int, Codes], counts: NDArray[np.float64], axes: Axes) -> Codes:
        places = np.zeros(counts.size, dtype=np.int64)
        for axis in axes:
            places = places * self.cells.shape[axis] + codes[axis]
        summed = np.bincount(places, weights=counts, minlength=self.attributes.cells_of(axes))
        return summed.astype(np.int64).reshape(self.attributes.shape_of(axes))

    def _decoded(self, block: Block, answer: Aggregated) -> tuple[dict[int, Codes], NDArray[np.float64]]:
        """Return the places along each column of a block, and how many rows lie there."""
        columns, counts = counted_columns(answer, len(block.keys))
        found = [self._places(key, cells, len(counts)) for key, cells in zip(block.keys, columns, strict=True)]
        is_cell = np.logical_and.reduce([places >= 0 for places in found])
        codes: dict[int, Codes] = {}
        for place, axes in enumerate(block.keys):
            rest = found[place][is_cell]
            for axis in reversed(axes):
                rest, codes[axis] = np.divmod(rest, self.cells.shape[axis])
        return codes, np.minimum(counts[is_cell], _MOST_ROWS).astype(np.float64)

    def _places(self, axes: Axes, cells: Values, length: int) -> Codes:
        """Return the packed places that a column of keys holds; -1 for what is none."""
        if axes[0] in self._listed:
            axis = self.cells.axes[axes[0]]
            return place_column(cells, length, axis.labels or (), kind_of(axis.value, self.cells.relation.columns))
        return integer_column(cells, length, math.prod(self.cells.shape[axis] for axis in axes))


class _EngineRecords:
    """Records that an engine holds."""

    def __init__(self, margins: Margins, engine: Engine) -> None:
        self._margins, self._engine = margins, engine
        self._counted: dict[Axes, Codes] = {}

    @property
    def attributes(self) -> Attributes:
        """Names and sizes."""
        return self._margins.attributes

    def count(self, axes: Axes) -> Codes:
        """Return a marginal."""
        known = axes in self._margins.sets
        if not axes and not known:
            return np.asarray(self.count((0,)).sum())
        if axes not in self._counted:
            margins = self._margins if known else Margins(self._margins.cells, (axes,))
            self._counted.update(margins.tables([self._engine.aggregate(asked) for asked in margins.asked]))
        return self._counted[axes]


def packed(sizes: Sequence[int], axes: Axes, apart: Collection[int] = ()) -> tuple[Axes, ...]:
    """Return the axes in order, in groups of fewer than 2^62 cells each; those ``apart`` stay alone.

    >>> packed((2**40, 2**20, 2**30), (0, 1, 2))
    ((0, 1), (2,))
    """
    groups: list[list[int]] = []
    cells = _LARGEST_KEY
    for axis in axes:
        cells *= sizes[axis]
        if cells >= _LARGEST_KEY or axis in apart:
            groups.append([])
            cells = sizes[axis]
        groups[-1].append(axis)
        if axis in apart:
            cells = _LARGEST_KEY
    return tuple(map(tuple, groups))


def number_of(axis: Axis, columns: Mapping[str, Kind]) -> Expression:
    """Return the number of a row's cell along an axis, from 0; NULL if it has none."""
    if axis.is_numbered:
        return axis.value
    labels = axis.labels or ()
    kind = kind_of(axis.value, columns)
    numbered = [(label, place) for place, label in enumerate(labels) if label is not None]
    if kind is not Kind.BOOLEAN:
        numbered.sort(key=lambda pair: pair[0])
    absent = [place for place, label in enumerate(labels) if label is None]
    missing: Expression = Literal(absent[0], Kind.INTEGER) if absent else _NOTHING
    found: Expression = _NOTHING
    if _is_run(numbered, kind):
        # Integers without a gap: counted from the first, which is far shorter than a search.
        (first, start), (last, _) = numbered[0], numbered[-1]
        outside = Call(
            "or", (Call("less", (axis.value, Literal(first, kind))), Call("more", (axis.value, Literal(last, kind))))
        )
        found = Case(((outside, _NOTHING),), Call("subtract", (axis.value, _whole(int(first) - start))))  # type: ignore[arg-type]
    elif numbered:
        found = _searched(axis.value, numbered, kind)
    return Case(((Call("is_null", (axis.value,)), missing),), found)


def _is_cell(number: Expression, axis: Axis) -> Iterator[Expression]:
    """Return the condition that a number is a cell's: for any axis, a row lies in a cell or nowhere."""
    yield Call("not", (Call("is_null", (number,)),))
    if axis.is_numbered:
        yield Call("at_least", (number, _whole(0)))
        yield Call("less", (number, _whole(axis.size)))


def _is_run(numbered: Sequence[tuple[Value, int]], kind: Kind) -> bool:
    """Return whether values and their places are integers that increase together one by one."""
    if kind is not Kind.INTEGER or not numbered:
        return False
    return all(
        isinstance(label, int) and label - place == numbered[0][0] - numbered[0][1]  # type: ignore[operator]
        for label, place in numbered
    )


def _searched(value: Expression, numbered: Sequence[tuple[Value, int]], kind: Kind) -> Expression:
    """Return the number of the label that equals the value, by bisection if labels are ordered."""
    if len(numbered) == 1 or kind is Kind.BOOLEAN:
        equal = [(Call("equal", (value, Literal(label, kind))), _whole(place)) for label, place in numbered]
        return Case(tuple(equal), _NOTHING)
    middle = len(numbered) // 2
    below = Call("less", (value, Literal(numbered[middle][0], kind)))
    return Case(((below, _searched(value, numbered[:middle], kind)),), _searched(value, numbered[middle:], kind))


def _packing(sizes: Sequence[int], axes: Axes) -> Expression:
    """Return one integer for the places along several axes: the cell's number in the order of the table."""
    found: Expression = Name(_code(axes[0]))
    for axis in axes[1:]:
        found = Call("add", (Call("multiply", (found, _whole(sizes[axis]))), Name(_code(axis))))
    return found


def _all(conditions: Sequence[Expression]) -> Expression:
    """Return whether all conditions hold."""
    while len(conditions) > 1:
        parts = [conditions[start : start + _ALL_AT_ONCE] for start in range(0, len(conditions), _ALL_AT_ONCE)]
        conditions = [part[0] if len(part) == 1 else Call("and", tuple(part)) for part in parts]
    return conditions[0]


def _code(place: int) -> str:
    return f"a{place}"


def _whole(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


register_records(Margins)
