"""Windows over released rows: ranks, neighbouring values, and aggregates of the rows around each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dither.data import Case, Expression, Kind, Literal
from dither.data.expressions import kind_of
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import only_where
from dither.publish.queries.reports.views import MEASURES, View, ViewWindow
from dither.publish.queries.sql.aggregates import name_of, read_aggregate
from dither.publish.queries.sql.expressions import Scalars
from dither.publish.queries.sql.parse import Parsed

if TYPE_CHECKING:
    from sqlglot import exp

_RANKS: Final = {
    "rownumber": "row_number",
    "rank": "rank",
    "denserank": "dense_rank",
    "percentrank": "percent_rank",
    "cumedist": "cume_dist",
}
_VALUES: Final = {"firstvalue": "first_value", "lastvalue": "last_value", "first": "first_value", "last": "last_value"}
_LARGEST: Final = 10**9


class Measured(NamedTuple):
    """An aggregate of released rows, as a window or a group has it."""

    function: str
    argument: Expression | None
    share: Fraction | None = None


def read_measure(scalars: Scalars, node: exp.Expression, rows: Callable[[], View]) -> Measured:
    """Return what an aggregate measures of released rows; reject those that have no meaning there.

    Args:
        scalars: translates expressions over the rows.
        node: the aggregate.
        rows: gives the released rows once its expressions are translated: a subquery in them adds a column.

    """
    condition = None
    if node.key == "filter":
        scalars.only(node, "this", "expression")
        condition = scalars.condition(node.expression.this)
        node = node.this
    if node.key == "count":
        found = _count(scalars, node)
    else:
        # Only COUNT(DISTINCT id) asks whose rows these are, and it is read here.
        nobody: Any = None
        asked = read_aggregate(scalars, node, nobody)
        if asked.function not in MEASURES or len(asked.arguments) > 1:
            scalars.refuse(
                node,
                f"{name_of(node)} of released rows is not understood",
                "ask for COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, VARIANCE or STDDEV of them",
            )
        found = Measured(asked.function, asked.arguments[0] if asked.arguments else None, asked.share)
    function, argument, share = found
    if condition is not None and argument is None:
        return Measured("count_of", _true_only(condition))
    if condition is not None and argument is not None:
        argument = only_where(condition, argument, rows().columns)
    if function == "count_of" and node.key == "countif" and argument is not None:
        argument = _true_only(argument)  # COUNT_IF counts what is true
    if argument is not None and kind_of(argument, rows().columns) is Kind.BOOLEAN and function in ("sum", "mean"):
        scalars.refuse(
            node, f"{name_of(node)} of true and false", "write COUNT_IF(x), or CASE WHEN x THEN 1 ELSE 0 END"
        )
    return Measured(function, argument, share)


def _count(scalars: Scalars, node: exp.Expression) -> Measured:
    scalars.only(node, "this", "expressions")
    this = node.args.get("this")
    if node.expressions:
        scalars.refuse(node, "COUNT of several things", "count one of them, or COUNT(*)")
    if this is None or this.key == "star" or (this.key == "column" and this.this.key == "star"):
        return Measured("count", None)
    if this.key == "distinct":
        scalars.only(this, "expressions")
        if len(this.expressions) != 1:
            scalars.refuse(node, "COUNT(DISTINCT ...) of several things", "count one of them")
        return Measured("count_different", scalars.settled(scalars.value(this.expressions[0]), Kind.TEXT).expression)
    return Measured("count_of", scalars.settled(scalars.value(this), Kind.INTEGER).expression)


def _true_only(condition: Expression) -> Expression:
    return Case(((condition, Literal(1, Kind.INTEGER)),), Literal(None, Kind.INTEGER))


def add_window(
    parsed: Parsed,
    scalars: Scalars,
    rows: Callable[[], View],
    node: exp.Expression,
    name: str,
    named: Mapping[str, exp.Expression],
) -> tuple[ViewWindow, Expression | None]:
    """Return a view with one more column for a window, and what LAG and LEAD give beyond the edge.

    Args:
        parsed: the query, for places.
        scalars: translates expressions over the view.
        rows: gives the released rows once the expressions of the window are translated.
        node: the window.
        name: of the new column.
        named: the windows that the query names.

    """
    given = _named(parsed, node, named)
    scalars.only(node, "this", "partition_by", "order", "spec", "over", "alias")
    partition = tuple(scalars.value(part).expression for part in given.get("partition_by") or ())
    clause = given.get("order")
    order = tuple(ordered(scalars, part) for part in (clause.expressions if clause is not None else ()))
    frame = _frame(parsed, scalars, node, given.get("spec"))
    function, argument, number, share, default = _function(scalars, node, rows)
    try:
        made = ViewWindow(rows(), name, function, argument, partition, order, frame, number, share)
    except InvalidParameter as error:
        raise InvalidParameter(f"window at {parsed.place(node)}", error.offender, error.rule) from None
    return made, default


def ordered(scalars: Scalars, part: exp.Expression) -> tuple[Expression, bool, bool]:
    """Return what ORDER BY says: the expression, whether the largest come first, whether NULL comes first."""
    value = scalars.settled(scalars.value(part.this), Kind.INTEGER).expression
    return value, bool(part.args.get("desc")), bool(part.args.get("nulls_first"))


def _named(parsed: Parsed, node: exp.Expression, named: Mapping[str, exp.Expression]) -> dict[str, Any]:
    given = {part: node.args.get(part) for part in ("partition_by", "order", "spec")}
    alias = node.args.get("alias")
    if alias is not None:
        word = named.get(alias.name.lower())
        if word is None:
            known = ", ".join(named) or "none is named"
            raise InvalidParameter(f"window at {parsed.place(node)}", alias.name, f"one of WINDOW: {known}")
        given = {part: given[part] or word.args.get(part) for part in given}
    return given


def _frame(
    parsed: Parsed, scalars: Scalars, node: exp.Expression, spec: exp.Expression | None
) -> tuple[int | None, int | None] | None:
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    ends = [(spec.args.get(end), str(spec.args.get(f"{end}_side") or "").upper()) for end in ("start", "end")]
    is_whole = [str(end) for end, _ in ends] == ["UNBOUNDED", "CURRENT ROW"]
    if kind == "RANGE" and is_whole and not spec.args.get("exclude"):
        return None  # the frame of an ordered window that says nothing
    if kind != "ROWS" or spec.args.get("exclude"):
        parsed.refuse(node, "a frame other than ROWS BETWEEN ...", "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
    (first, first_side), (last, last_side) = ends
    return _far(scalars, first, first_side, -1), _far(scalars, last, last_side, 1)


def _far(scalars: Scalars, end: Any, side: str, sign: int) -> int | None:
    """Return how many rows a frame reaches to one side; None for all of them."""
    if end is None or str(end) == "CURRENT ROW":
        return 0
    if str(end) == "UNBOUNDED":
        return None
    many = scalars.whole_constant(end)
    if not 0 <= many <= _LARGEST:
        raise InvalidParameter("frame", many, f"from 0 to {_LARGEST} rows")
    return many * sign if side == "FOLLOWING" else -many * sign


def _function(
    scalars: Scalars, node: exp.Expression, rows: Callable[[], View]
) -> tuple[str, Expression | None, int, Fraction | None, Expression | None]:
    inner = node.this
    name = inner.key
    if name in _RANKS:
        return _RANKS[name], None, 1, None, None
    if name == "ntile":
        scalars.only(inner, "this")
        return "ntile", None, _number(scalars, inner.this, 1), None, None
    if name in ("lag", "lead"):
        scalars.only(inner, "this", "offset", "default")
        value = scalars.settled(scalars.value(inner.this), Kind.INTEGER)
        offset, default = inner.args.get("offset"), inner.args.get("default")
        number = 1 if offset is None else _number(scalars, offset, 0)
        beyond = None
        if default is not None:
            beyond = scalars.alike(inner, [value, scalars.value(default)])[1].expression
        return name, value.expression, number, None, beyond
    if name in _VALUES:
        scalars.only(inner, "this")
        return _VALUES[name], scalars.settled(scalars.value(inner.this), Kind.INTEGER).expression, 1, None, None
    found = read_measure(scalars, inner, rows)
    return found.function, found.argument, 1, found.share, None


def _number(scalars: Scalars, node: exp.Expression, least: int) -> int:
    found = scalars.whole_constant(node)
    if not least <= found <= _LARGEST:
        raise InvalidParameter("number of a window", found, f"from {least} to {_LARGEST}")
    return found
