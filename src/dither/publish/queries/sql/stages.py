"""A stage of a query over released rows: a view that grows by a column for every subquery and window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dither.data import Call, Case, Expression, Kind, Literal, Name
from dither.data.expressions import kind_of
from dither.errors import DitherError, InvalidParameter
from dither.publish.queries.assemble import conjunction, free_name
from dither.publish.queries.reports.views import (
    View,
    ViewAmong,
    ViewGroup,
    ViewJoin,
    ViewMeasure,
    ViewOne,
    ViewRelease,
    ViewScalar,
    ViewSelect,
    ViewSet,
    ViewSlice,
    ViewTotals,
    ViewWindow,
)
from dither.publish.queries.sql.correlation import Tied
from dither.publish.queries.sql.expressions import Column, Scalars, Special, Typed
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.view_windows import add_window

if TYPE_CHECKING:
    from sqlglot import exp


class Inner(NamedTuple):
    """What may be asked about a subquery.

    Args:
        view: its view.
        tied: how it is tied to the rows outside; None if it is not.
        has_people: whether its rows are those of people.
        has_all_groups: whether a view has every group that has rows; a release of groups that are found has not.

    """

    view: Callable[[exp.Expression], View]
    tied: Callable[[exp.Expression, Callable[[exp.Expression], bool]], Tied | None]
    has_people: Callable[[exp.Expression], bool]
    has_all_groups: Callable[[View], bool]


class Stage:
    """The released rows of one SELECT at one moment: after FROM and WHERE, or after GROUP BY.

    Args:
        parsed: the query, for places.
        view: the rows.
        column: what a column means.
        special: what stands for itself, such as an aggregate after GROUP BY.
        inner: what may be asked about subqueries.
        visible: the columns that a star stands for: shown name, name in the view, table.
        windows: the windows that the query names.

    """

    def __init__(
        self,
        parsed: Parsed,
        view: View,
        column: Column,
        special: Special,
        inner: Inner,
        visible: Sequence[tuple[str, Expression, str]],
        windows: Mapping[str, exp.Expression],
    ) -> None:
        self.parsed, self.view, self.visible = parsed, view, visible
        self._column, self._special, self._inner, self._windows = column, special, inner, windows
        self._known: dict[int, Typed] = {}

    def scalars(
        self, aliases: Mapping[str, exp.Expression] | None = None, *, aliases_first: bool = False, windows: bool = True
    ) -> Scalars:
        """Return the translator of expressions over these rows, which may name outputs by their aliases."""
        names = aliases or {}
        scalars: Scalars
        busy: set[str] = set()

        def alias(node: exp.Expression) -> Typed | None:
            word = node.name.lower() if node.key == "column" and not node.args.get("table") else ""
            if word not in names or word in busy:
                return None
            busy.add(word)  # an alias may hide the column that it is made of
            try:
                return scalars.value(names[word])
            finally:
                busy.discard(word)

        def special(node: exp.Expression) -> Typed | None:
            made = self._made(node, scalars, windows)
            if made is None and aliases_first:
                made = alias(node)
            if made is None:
                made = self._special(node)
            if made is None and names and not self._resolves(node):
                made = alias(node)
            return made

        scalars = Scalars(self.parsed, self._column, special)
        return scalars

    def _resolves(self, node: exp.Expression) -> bool:
        if node.key != "column":
            return True
        try:
            self._column(node)  # type: ignore[arg-type]
        except DitherError:
            return False
        return True

    def _is_outside(self, node: exp.Expression) -> bool:
        """Return whether a column that a subquery names is one of these rows."""
        try:
            return self._special(node) is not None or self._resolves(node)
        except DitherError:
            return False

    def _made(self, node: exp.Expression, scalars: Scalars, windows: bool) -> Typed | None:
        is_among = node.key == "in" and node.args.get("query") is not None
        if not is_among and node.key not in ("subquery", "select", "exists", "window"):
            return None
        if id(node) not in self._known:
            if is_among:
                self._known[id(node)] = self._among(node, scalars)
            elif node.key == "exists":
                self._known[id(node)] = self._exists(node, scalars)
            elif node.key == "window":
                if not windows:
                    self.parsed.refuse(node, "a window in WHERE or inside an aggregate", "compute it in a subquery")
                self._known[id(node)] = self._window(node, scalars)
            else:
                self._known[id(node)] = self._scalar(node, scalars)
        return self._known[id(node)]

    def _scalar(self, node: exp.Expression, scalars: Scalars) -> Typed:
        tied = self._inner.tied(node, self._is_outside)
        if tied is not None:
            return self._met(node, tied, scalars)
        view = self._inner.view(node)
        if len(view.columns) != 1:
            self.parsed.refuse(node, "a subquery of several columns in an expression", "select one of them")
        if not has_one_row(view):
            self.parsed.refuse(
                node, "a subquery in an expression must have one row", "aggregate it without GROUP BY, or write LIMIT 1"
            )
        return self._beside(view)

    def _beside(self, view: View) -> Typed:
        name = self._free("subquery")
        self.view = ViewScalar(self.view, name, view)
        return Typed(Name(name), self.view.columns[name])

    def _met(self, node: exp.Expression, tied: Tied, scalars: Scalars) -> Typed:
        """Return the total of the key that a row has; of no rows as SQL says it, and NULL where it is not released."""
        totals = self._inner.view(tied.select)
        shown = {name: self._free(name) for name in (*tied.keys, tied.total)}
        right = ViewSelect(totals, tuple((shown[name], Name(name)) for name in shown))
        equal = []
        for key, theirs in zip(tied.keys, tied.outside, strict=True):
            given, wanted = scalars.value(theirs), Typed(Name(shown[key]), right.columns[shown[key]])
            equal.append(scalars.compared(node, "equal", given, wanted).expression)
        # Each row meets one group of keys at most, so that it stays one row.
        self.view = ViewJoin(self.view, right, "left", conjunction(equal))
        value: Expression = Name(shown[tied.total])
        kind = right.columns[shown[tied.total]]
        if node.key == "exists":
            return Typed(Call("not", (Call("is_null", (value,)),)), Kind.BOOLEAN)
        if tied.is_count and self._inner.has_all_groups(totals):
            value = Call("coalesce", (value, Literal(0, Kind.INTEGER)))
        return Typed(value, kind)

    def _exists(self, node: exp.Expression, scalars: Scalars) -> Typed:
        if self._inner.has_people(node.this):
            self.parsed.refuse(
                node,
                "EXISTS with a subquery over rows of people would show whether a person has such a row",
                "compare a count with a number, such as (SELECT COUNT(*) FROM t WHERE ...) > 100",
            )
        tied = self._inner.tied(node, self._is_outside)
        if tied is not None:
            return self._met(node, tied, scalars)
        many = ViewGroup(self._inner.view(node.this), (), (ViewMeasure("rows", "count"),))
        some = Call("more", (Name("rows"), Literal(0, Kind.INTEGER)))
        return self._beside(ViewSelect(many, (("exists", some),)))

    def _among(self, node: exp.Expression, scalars: Scalars) -> Typed:
        scalars.only(node, "this", "query")
        if self._inner.has_people(node.args["query"]):
            self.parsed.refuse(
                node,
                "IN with a subquery over rows of people would show which values they have",
                "aggregate in it, such as IN (SELECT x FROM t GROUP BY x HAVING COUNT(*) > 100), or list the values",
            )
        self._inner.tied(node, self._is_outside)
        value, among = scalars.settled(scalars.value(node.this), Kind.TEXT), self._inner.view(node.args["query"])
        name = self._free("among")
        try:
            self.view = ViewAmong(self.view, name, value.expression, among)
        except InvalidParameter as error:
            raise InvalidParameter(f"IN at {self.parsed.place(node)}", error.offender, error.rule) from None
        return Typed(Name(name), Kind.BOOLEAN)

    def _window(self, node: exp.Expression, scalars: Scalars) -> Typed:
        # Subqueries in its arguments come first, so that the window stands over them.
        for part in node.walk():
            if part is not node and part.key in ("subquery", "window"):
                self._made(part, scalars, False)  # type: ignore[arg-type]
        name = self._free("window")
        made, beyond = add_window(self.parsed, scalars, lambda: self.view, node, name, self._windows)
        self.view = made
        kind = made.columns[name]
        if beyond is None:
            return Typed(Name(name), kind)
        there = self._free("window")
        one = Literal(1, Kind.INTEGER)
        self.view = ViewWindow(made, there, made.function, one, made.partition, made.order, made.rows, made.number)
        chosen = Case(((Call("is_null", (Name(there),)), beyond),), Name(name))
        return Typed(chosen, kind_of(chosen, self.view.columns))

    def _free(self, name: str) -> str:
        return free_name(f"__{name}", self.view.columns)


def has_one_row(view: View) -> bool:
    """Return whether a view has one row at most, by its form."""
    if isinstance(view, ViewSlice) and view.limit is not None and view.limit <= 1:
        return True
    if isinstance(view, ViewGroup):
        return not view.keys
    if isinstance(view, ViewOne):
        return True
    if isinstance(view, ViewRelease):
        return view.is_single
    if isinstance(view, ViewJoin | ViewSet | ViewTotals):
        return False
    below = view.below()
    return bool(below) and has_one_row(below[0])
