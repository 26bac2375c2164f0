"""Views: what may be done with released tables and public ones, as a closed tree. Nothing here reads private rows.

A view has columns and rows as a table has. Its leaves are the released tables of a report, public tables, and one row
without columns. Expressions are those of ``dither.data.expressions``: total, equal everywhere, over the columns of the
view below. Every view is a function of what was released: it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final

from dither.data import Expression, Kind, Table
from dither.data.expressions import kind_of
from dither.data.public_rows import PublicScan
from dither.errors import InvalidParameter
from dither.exact import typed

#: Aggregates of released rows, with what they give: a kind, or "same" for that of the argument, "sum" for an integer of
#: integers and a real otherwise.
MEASURES: Final[Mapping[str, Kind | str]] = MappingProxyType(
    {
        "count": Kind.INTEGER,  # rows
        "count_of": Kind.INTEGER,  # values that are not NULL
        "count_different": Kind.INTEGER,
        "sum": "sum",
        "mean": Kind.REAL,
        "minimum": "same",
        "maximum": "same",
        "quantile": Kind.REAL,
        "variance": Kind.REAL,
        "deviation": Kind.REAL,
        "sample_variance": Kind.REAL,
        "sample_deviation": Kind.REAL,
    }
)
#: Window functions that are not aggregates, with what they give.
WINDOWS: Final[Mapping[str, Kind | str]] = MappingProxyType(
    {
        "row_number": Kind.INTEGER,
        "rank": Kind.INTEGER,
        "dense_rank": Kind.INTEGER,
        "percent_rank": Kind.REAL,
        "cume_dist": Kind.REAL,
        "ntile": Kind.INTEGER,
        "lag": "same",
        "lead": "same",
        "first_value": "same",
        "last_value": "same",
    }
)
_NO_ARGUMENT: Final = ("count", "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
JOINS: Final = ("inner", "left", "full", "cross")
SETS: Final = ("union", "except", "intersect")

#: An expression, whether the largest come first, and whether NULL comes first.
Order = tuple[tuple[Expression, bool, bool], ...]


class View:
    """Base of the tree."""

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The columns and their kinds, in order."""
        raise NotImplementedError

    def below(self) -> tuple[View, ...]:
        """Return the views directly below."""
        return ()


@dataclass(frozen=True)
@typed
class ViewRelease(View):
    """The table that one of a report's queries released: its name, the kinds of its outputs, whether it is one row."""

    release: str
    outputs: tuple[tuple[str, Kind], ...]
    is_single: bool = False

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The outputs of the query."""
        return _columns(self.outputs)


@dataclass(frozen=True)
@typed
class ViewPublic(View):
    """All rows of a public table, sorted by all columns."""

    scan: PublicScan

    @property
    def table(self) -> Table:
        """The public table."""
        return self.scan.table

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The columns of the table."""
        return self.scan.columns


@dataclass(frozen=True)
@typed
class ViewOne(View):
    """One row without columns: what SELECT without FROM reads."""

    @property
    def columns(self) -> Mapping[str, Kind]:
        """None."""
        return MappingProxyType({})


class _Over(View):
    """A view over another one, which keeps its columns by default."""

    view: View

    @property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the view below."""
        return self.view.columns

    def below(self) -> tuple[View, ...]:
        """Return the view below."""
        return (self.view,)


@dataclass(frozen=True)
@typed
class ViewWhere(_Over):
    """The rows for which a condition is true."""

    view: View
    condition: Expression

    def __post_init__(self) -> None:
        """Refuse a condition that is not true or false."""
        if kind_of(self.condition, self.view.columns) is not Kind.BOOLEAN:
            raise InvalidParameter("condition", self.condition, "true or false")


@dataclass(frozen=True)
@typed
class ViewSelect(_Over):
    """Named expressions of each row."""

    view: View
    outputs: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        """Refuse expressions that do not fit."""
        self.columns  # noqa: B018 - computed to be checked

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The outputs."""
        below = self.view.columns
        return _columns(tuple((name, kind_of(value, below)) for name, value in self.outputs))


@dataclass(frozen=True)
@typed
class ViewMeasure:
    """An aggregate of rows: a name, a function of ``MEASURES``, its argument, and the share of a quantile."""

    name: str
    function: str
    argument: Expression | None = None
    share: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse anything that is not an aggregate."""
        if self.function not in MEASURES or (self.argument is None) != (self.function in _NO_ARGUMENT):
            raise InvalidParameter("function", self.function, f"one of {', '.join(MEASURES)}, with its argument")
        if (self.share is None) != (self.function != "quantile") or not 0 <= (self.share or 0) <= 1:
            raise InvalidParameter("share", self.share, "from 0 to 1 for a quantile, else omitted")

    def kind(self, columns: Mapping[str, Kind]) -> Kind:
        """Return the kind of its values."""
        return _kind(self.function, MEASURES, self.argument, columns)


@dataclass(frozen=True)
@typed
class ViewGroup(_Over):
    """One row for each value of the keys, with aggregates of its rows; without keys one row, empty or not."""

    view: View
    keys: tuple[tuple[str, Expression], ...]
    measures: tuple[ViewMeasure, ...]

    def __post_init__(self) -> None:
        """Refuse expressions that do not fit."""
        self.columns  # noqa: B018 - computed to be checked

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The keys, then the aggregates."""
        below = self.view.columns
        keys = tuple((name, kind_of(value, below)) for name, value in self.keys)
        return _columns((*keys, *((measure.name, measure.kind(below)) for measure in self.measures)))


@dataclass(frozen=True)
@typed
class ViewWindow(_Over):
    """Each row with one more column: a rank, a neighbouring value, or an aggregate of the rows around it.

    ``rows`` is the frame of an aggregate, or of a first or last value: how many rows before and after the row itself
    (None: all of them). Without it the frame is the partition, or with an order everything up to the row's equals.
    ``number`` is how far LAG and LEAD look, and how many parts NTILE makes.
    """

    view: View
    name: str
    function: str
    argument: Expression | None
    partition: tuple[Expression, ...]
    order: tuple[tuple[Expression, bool, bool], ...]
    rows: tuple[int | None, int | None] | None = None
    number: int = 1
    share: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse anything that is not a window."""
        known = {**MEASURES, **WINDOWS}
        if self.function not in known or (self.argument is None) != (self.function in _NO_ARGUMENT):
            raise InvalidParameter("function", self.function, f"one of {', '.join(known)}, with its argument")
        if not 0 <= self.number <= 10**9 or (self.function == "ntile" and not self.number):
            raise InvalidParameter("number", self.number, "from 0 to 10^9, and from 1 for NTILE")
        for part in (*self.partition, *(value for value, *_ in self.order)):
            kind_of(part, self.view.columns)
        self.columns  # noqa: B018 - computed to be checked

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the view below, and the new one."""
        below = self.view.columns
        kind = _kind(self.function, {**MEASURES, **WINDOWS}, self.argument, below)
        return _columns((*below.items(), (self.name, kind)))


@dataclass(frozen=True)
@typed
class ViewScalar(_Over):
    """Each row with one more column: the first value of the first row of another view, NULL where it has no row."""

    view: View
    name: str
    scalar: View

    def __post_init__(self) -> None:
        """Refuse a view of several columns."""
        if len(self.scalar.columns) != 1:
            raise InvalidParameter("scalar", list(self.scalar.columns), "a view of one column")
        self.columns  # noqa: B018 - computed to be checked

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the view below, and the new one."""
        (kind,) = self.scalar.columns.values()
        return _columns((*self.view.columns.items(), (self.name, kind)))

    def below(self) -> tuple[View, ...]:
        """Return both views."""
        return (self.view, self.scalar)


@dataclass(frozen=True)
@typed
class ViewAmong(_Over):
    """Each row with one more column: whether a value is one of those of another view, as IN says it."""

    view: View
    name: str
    value: Expression
    among: View

    def __post_init__(self) -> None:
        """Refuse a view of several columns, and values that cannot be compared."""
        if len(self.among.columns) != 1:
            raise InvalidParameter("among", list(self.among.columns), "a view of one column")
        (kind,) = self.among.columns.values()
        check_alike("among", kind_of(self.value, self.view.columns), kind)
        self.columns  # noqa: B018 - computed to be checked

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the view below, and the new one."""
        return _columns((*self.view.columns.items(), (self.name, Kind.BOOLEAN)))

    def below(self) -> tuple[View, ...]:
        """Return both views."""
        return (self.view, self.among)


@dataclass(frozen=True)
@typed
class ViewJoin(View):
    """Pairs of rows of two views for which a condition is true; ``left`` and ``full`` keep rows without a partner."""

    left: View
    right: View
    how: str
    condition: Expression | None

    def __post_init__(self) -> None:
        """Refuse joins that are not understood, and a condition that is not true or false."""
        if self.how not in JOINS or (self.condition is None) != (self.how == "cross"):
            raise InvalidParameter("how", self.how, f"one of {', '.join(JOINS)}, with a condition unless cross")
        if self.condition is not None and kind_of(self.condition, self.columns) is not Kind.BOOLEAN:
            raise InvalidParameter("condition", self.condition, "true or false")

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """Those of both views."""
        return _columns((*self.left.columns.items(), *self.right.columns.items()))

    def below(self) -> tuple[View, ...]:
        """Return both views."""
        return (self.left, self.right)


@dataclass(frozen=True)
@typed
class ViewSet(View):
    """The rows of two views put together: union, except or intersect, with duplicates (``keeps_all``) or without."""

    left: View
    right: View
    how: str
    keeps_all: bool

    def __post_init__(self) -> None:
        """Refuse views whose columns cannot stand under one another."""
        first, second = list(self.left.columns.values()), list(self.right.columns.values())
        if self.how not in SETS:
            raise InvalidParameter("how", self.how, f"one of {', '.join(SETS)}")
        if len(first) != len(second):
            raise InvalidParameter("columns", (len(first), len(second)), "the same number on both sides")
        for one, other in zip(first, second, strict=True):
            check_alike("columns", one, other)

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """Those of the first view; a real where either side has one."""
        pairs = zip(self.left.columns.items(), self.right.columns.values(), strict=True)
        return _columns(tuple((name, Kind.REAL if Kind.REAL in (one, other) else one) for (name, one), other in pairs))

    def below(self) -> tuple[View, ...]:
        """Return both views."""
        return (self.left, self.right)


@dataclass(frozen=True)
@typed
class ViewDistinct(_Over):
    """Every row once; the first of equal ones stays."""

    view: View


@dataclass(frozen=True)
@typed
class ViewSort(_Over):
    """The rows in order; what is equal stays in the order it had."""

    view: View
    order: tuple[tuple[Expression, bool, bool], ...]

    def __post_init__(self) -> None:
        """Refuse expressions that do not fit."""
        for value, *_ in self.order:
            kind_of(value, self.view.columns)


@dataclass(frozen=True)
@typed
class ViewSlice(_Over):
    """The rows after the first ``offset``, at most ``limit`` of them."""

    view: View
    offset: int
    limit: int | None

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if self.offset < 0 or (self.limit is not None and self.limit < 0):
            raise InvalidParameter("offset, limit", (self.offset, self.limit), "0 or more")


@dataclass(frozen=True)
@typed
class ViewTotals(View):
    """The released tables of several grouping sets of the same public keys, with totals that agree.

    Args:
        sets: for every set its released table, and which of the keys it has, by their places.
        keys: the names of all keys, with the number of their values; a key that a set does not have is NULL in it.
        measures: the other columns of each set, by the same names.
        additive: which of the measures are sums over rows, and are made to agree.
        marks: a column for each of some keys: 1 where a set does not have the key, 0 where it has it (GROUPING).

    """

    sets: tuple[tuple[ViewRelease, tuple[int, ...]], ...]
    keys: tuple[tuple[str, Kind, int], ...]
    measures: tuple[tuple[str, Kind], ...]
    additive: tuple[str, ...]
    marks: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def __post_init__(self) -> None:
        """Refuse sets whose tables have other columns."""
        for table, places in self.sets:
            names = [*(self.keys[place][0] for place in places), *(name for name, _ in self.measures)]
            if list(table.columns) != names:
                raise InvalidParameter("sets", list(table.columns), f"of the columns {', '.join(names)}")
        if not set(self.additive) <= {name for name, _ in self.measures}:
            raise InvalidParameter("additive", self.additive, "measures")
        self.columns  # noqa: B018 - computed to be checked

    @cached_property
    def columns(self) -> Mapping[str, Kind]:
        """The keys, the measures, and the marks."""
        keys = ((name, kind) for name, kind, _ in self.keys)
        return _columns((*keys, *self.measures, *((name, Kind.INTEGER) for name, _ in self.marks)))

    def below(self) -> tuple[View, ...]:
        """Return the released tables."""
        return tuple(table for table, _ in self.sets)


def views_in(view: View) -> Iterator[View]:
    """Yield a view and all views below it; refuse objects outside the closed tree."""
    stack = [view]
    while stack:
        part = stack.pop()
        if type(part) not in CLOSED:
            raise InvalidParameter("view", type(part).__name__, "one of the closed tree")
        yield part
        stack += part.below()


def check_alike(parameter: str, one: Kind, other: Kind) -> None:
    """Reject two kinds that cannot be compared."""
    if one is not other and not (one.is_number and other.is_number):
        raise InvalidParameter(parameter, f"{one.value} and {other.value}", "of one kind")


def _kind(
    function: str, known: Mapping[str, Kind | str], argument: Expression | None, columns: Mapping[str, Kind]
) -> Kind:
    below = None if argument is None else kind_of(argument, columns)
    rule = known[function]
    is_arithmetic = function in ("sum", "mean", "quantile") or function.endswith(("variance", "deviation"))
    if is_arithmetic and below is not None and not below.is_number:
        raise InvalidParameter(function, below.value, "of numbers")
    if isinstance(rule, Kind):
        return rule
    return Kind.INTEGER if below is None else below


def _columns(pairs: tuple[tuple[str, Kind], ...]) -> Mapping[str, Kind]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise InvalidParameter("columns", [name for name, _ in pairs], "different names")
    return MappingProxyType(dict(pairs))


CLOSED: Final[tuple[type[View], ...]] = (
    *(ViewRelease, ViewPublic, ViewOne, ViewWhere, ViewSelect, ViewGroup, ViewWindow, ViewScalar, ViewAmong),
    *(ViewJoin, ViewSet, ViewDistinct, ViewSort, ViewSlice, ViewTotals),
)
