"""Windows within a person: numbers, ranks, neighbours and totals of a person's own rows.

A window is partitioned by the privacy id, and perhaps by more. With ORDER BY a total runs up to the row at hand, and to
those that the order leaves equal to it, unless a frame says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dither.data import Call, Case, Cast, Expression, Kind, Literal, Name, Window
from dither.data.expressions import kind_of
from dither.data.owners import names_person
from dither.data.relations import FARTHEST, ORDERED, PEERS, person_columns
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import free_name, only_where, person_sum, sorted_by
from dither.publish.queries.keys import may_be_null
from dither.publish.queries.sql.aggregates import read_aggregate
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.frames import Frame, Order, backwards, frame_of
from dither.publish.queries.sql.rows import Rows
from dither.publish.queries.sql.scope import Scope

if TYPE_CHECKING:
    from sqlglot import exp

_NUMBERED: Final = {"rownumber": "row_number", "rank": "rank", "denserank": "dense_rank"}
_MEASURED: Final = {"count": "count", "sum": "sum", "avg": "mean", "min": "smallest", "max": "largest"}
_ENDS: Final = {"firstvalue": "first", "lastvalue": "last", "first": "first", "last": "last"}
_KNOWN: Final = (
    "ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN and MAX are understood"
)
_ALL: Final = Frame()
_ALL_ROWS: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


class Windows:
    """Adds a column to the relation for every window in an expression."""

    def __init__(self, rows: Rows, scope: Scope, select: exp.Expression) -> None:
        self.rows = rows
        self.relation = scope.relation
        self.wanted: str | None = None
        self._scope = scope
        self._below = rows.scalars(scope)
        self._placed: dict[tuple[tuple[Expression, ...], Order], Order] = {}
        self._are_several = sum(node.key == "window" for node in select.walk()) > 1
        self._named = {part.this.name.lower(): part for part in select.args.get("windows") or ()}
        self.scalars = Scalars(rows.parsed, self._below.column, self._special)

    def _special(self, node: exp.Expression) -> Typed | None:
        if node.key != "window":
            return self.rows.said(self._scope, node)
        made = self._window(node)
        return Typed(made, kind_of(made, self.relation.columns))

    def _window(self, node: exp.Expression) -> Expression:
        rows, below = self.rows, self._below
        if not self.relation.has_persons:
            rows.parsed.refuse(
                node, "a window looks at several rows, and each row is its own unit", "ask for an aggregate"
            )
        rows.only(node, "this", "partition_by", "order", "over", "spec", "alias")
        parts = self._parts(node)
        partition = [below.value(part).expression for part in parts["partition_by"]]
        ids = person_columns(self.relation)
        inside = tuple(part for part in partition if not (isinstance(part, Name) and part.name in ids))
        named = [part.name for part in partition if isinstance(part, Name)]
        if not names_person(rows.dataset, self.relation, named):
            shown = ", ".join(sorted(ids)) or "the privacy id"
            rows.parsed.refuse(
                node,
                "a window that is not partitioned by the privacy id compares different people",
                f"add {shown} to PARTITION BY",
            )
        order = tuple(part for one in parts["order"] for part in self._ordered(one))
        frame = frame_of(self._below, node, parts["spec"], ordered=bool(order))
        if frame.is_reversed and node.this.key in (*_MEASURED, *_ENDS):
            order = backwards(order, self.relation)
        return self._function(node, inside, order, frame)

    def _parts(self, node: exp.Expression) -> dict[str, list[exp.Expression]]:
        """Return partition, order and frame, those of a named window where the window itself has none."""
        found: dict[str, list[exp.Expression]] = {"partition_by": [], "order": [], "spec": []}
        chain = [node]
        while chain[-1].args.get("alias") is not None:
            name = chain[-1].args["alias"].name
            named = self._named.get(name.lower())
            if named is None or any(named is one for one in chain):
                known = ", ".join(self._named) or "none is named"
                raise InvalidParameter(f"window at {self.rows.parsed.place(node)}", name, f"one of WINDOW: {known}")
            self.rows.only(named, "this", "partition_by", "order", "over", "spec", "alias")
            chain.append(named)
        for one in chain:
            found["partition_by"] = found["partition_by"] or list(one.args.get("partition_by") or ())
            found["order"] = found["order"] or list(one.args["order"].expressions if one.args.get("order") else ())
            found["spec"] = found["spec"] or ([one.args["spec"]] if one.args.get("spec") is not None else [])
        return found

    def _ordered(self, node: exp.Expression) -> Order:
        if node.args.get("nulls_first"):
            self.rows.parsed.refuse(node, "NULLS FIRST is not understood", "remove it, or order by COALESCE")
        value = self._below.value(node.this).expression
        return sorted_by(value, bool(node.args.get("desc")), may_be_null(value, self.relation))

    def _add(
        self,
        function: str,
        value: Expression | None,
        partition: tuple[Expression, ...],
        order: Order,
        *,
        frame: Frame = _ALL,
        offset: int | None = None,
        name: str | None = None,
    ) -> Name:
        """Return a new column of the relation; where several windows tell equal rows apart, all do it alike."""
        is_told_apart = function in ORDERED and function not in PEERS
        if self._are_several and (is_told_apart or frame.running == "rows" or frame.rows is not None):
            order = self._places(partition, order)
            if function == "row_number" and isinstance(order[0][0], Name):
                return order[0][0]
        return self._new(function, value, partition, order, frame=frame, offset=offset, name=name)

    def _new(
        self,
        function: str,
        value: Expression | None,
        partition: tuple[Expression, ...],
        order: Order,
        *,
        frame: Frame = _ALL,
        offset: int | None = None,
        name: str | None = None,
    ) -> Name:
        label = free_name(name or self.wanted or "window", self.relation.columns)
        try:
            made = Window(self.relation, label, function, value, partition, order, frame.running, offset, frame.rows)
            made.columns  # noqa: B018 - kinds are checked where they are first asked for
        except InvalidParameter as error:
            raise InvalidParameter("window", error.offender, error.rule) from None
        self.relation = made
        return Name(label)

    def _function(
        self, node: exp.Expression, partition: tuple[Expression, ...], order: Order, frame: Frame
    ) -> Expression:
        inner, name = node.this, node.this.key
        if name in _NUMBERED:
            if not order:
                self.rows.parsed.refuse(
                    node, f"{_NUMBERED[name].upper()} without ORDER BY", "say by what rows are numbered"
                )
            return self._add(_NUMBERED[name], None, partition, order)
        if name in ("lag", "lead"):
            return self._neighbour(node, partition, order)
        if name in _ENDS:
            return self._end(node, partition, order, frame)
        if name not in _MEASURED:
            what = str(inner.sql_name()) if hasattr(inner, "sql_name") else name
            self.rows.parsed.refuse(node, f"the window function {what.upper()[:40]}", _KNOWN)
        asked = read_aggregate(self._below, inner, self.relation)
        if asked.distinct is not None or asked.function == "persons":
            self.rows.parsed.refuse(node, "DISTINCT in a window", "group by the privacy id in a subquery")
        if not asked.arguments:
            return self._add("count", None, partition, order, frame=frame)
        return self._measured(_MEASURED[name], asked.arguments[0], partition, order, frame)

    def _measured(
        self,
        function: str,
        value: Expression,
        partition: tuple[Expression, ...],
        order: Order,
        frame: Frame,
    ) -> Expression:
        is_truth = kind_of(value, self.relation.columns) is Kind.BOOLEAN
        if is_truth and function == "count":
            # COUNT was turned into a condition: in a window NULL is what does not count.
            value = only_where(value, Literal(1, Kind.INTEGER), self.relation.columns)
        elif is_truth and function in ("sum", "mean"):
            value = Cast(value, Kind.INTEGER)
        if function not in ("sum", "mean"):
            return self._add(function, value, partition, order, frame=frame)
        steps, restore = person_sum(value, self.relation)
        is_nullable = may_be_null(value, self.relation) or frame.rows is not None
        if (frame.running == "rows" or frame.rows is not None) and (is_nullable or function == "mean"):
            order = self._places(partition, order)
        total = restore(self._add("sum", steps, partition, order, frame=frame))
        if function == "sum" and not is_nullable:
            return total
        many = self._add("count", value, partition, order, frame=frame, name="values")
        if function == "mean":
            return Call("divide", (total, many))
        # The sum of no values is NULL.
        none = Call("equal", (many, Literal(0, Kind.INTEGER)))
        return Case(((none, Literal(None, kind_of(total, self.relation.columns))),), total)

    def _places(self, partition: tuple[Expression, ...], order: Order) -> Order:
        """Return the order of the places of rows: for windows that are read together, so that equal rows keep theirs.

        Each window puts rows that are equal in order by all columns, and what another one has added is among these.
        """
        if order in self._placed.values():
            return order
        if (partition, order) not in self._placed:
            self._placed[partition, order] = ((self._new("row_number", None, partition, order, name="place"), False),)
        return self._placed[partition, order]

    def _neighbour(self, node: exp.Expression, partition: tuple[Expression, ...], order: Order) -> Expression:
        """Return LAG or LEAD, over one row or several, with a value where there is no such row."""
        inner, name = node.this, node.this.key
        self.rows.only(inner, "this", "offset", "default")
        if not order:
            self.rows.parsed.refuse(node, f"{name.upper()} without ORDER BY", "say by what rows are ordered")
        given = inner.args.get("offset")
        away = 1 if given is None else self._below.whole_constant(given)
        if not 1 <= away <= FARTHEST:
            self.rows.parsed.refuse(node, f"{name.upper()} over {away} rows", f"write a number from 1 to {FARTHEST}")
        value = self._below.settled(self._below.value(inner.this), Kind.TEXT)
        default = inner.args.get("default")
        if default is not None:
            order = self._places(partition, order)
        found = self._add(name, value.expression, partition, order, offset=None if away == 1 else away)
        if default is None:
            return found
        place: Expression = order[0][0]
        if name == "lead":
            rows = self._add("count", None, partition, (), name="rows")
            place = Call("add", (Call("subtract", (rows, place)), Literal(1, Kind.INTEGER)))
        is_none = Call("at_most", (place, Literal(away, Kind.INTEGER)))
        other = self._below.value(default)
        return self._below.choice(node, [is_none], [other, Typed(found, value.kind)]).expression

    def _end(self, node: exp.Expression, partition: tuple[Expression, ...], order: Order, frame: Frame) -> Expression:
        function = _ENDS[node.this.key]
        self.rows.only(node.this, "this")
        if not order:
            self.rows.parsed.refuse(node, f"{function.upper()}_VALUE without ORDER BY", "say by what rows are ordered")
        if function == "last" and frame.running == "range":
            self.rows.parsed.refuse(
                node,
                "LAST_VALUE ends at the row at hand unless the window says otherwise",
                f"add {_ALL_ROWS}, or take the value itself",
            )
        value = self._below.settled(self._below.value(node.this.this), Kind.TEXT)
        if frame.is_reversed:
            function = "last" if function == "first" else "first"
        if frame.running == "rows" and function == "last":
            frame = Frame(None, (None, 0))
        return self._add(function, value.expression, partition, order, frame=Frame(None, frame.rows))
