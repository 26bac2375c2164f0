"""SQL's aggregate functions: which are supported, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dither.data import Call, Expression, Kind, Literal, Name, Relation
from dither.data.relations import person_columns
from dither.publish.queries.sql.expressions import Scalars
from dither.publish.queries.sql.numbers import whole_number
from dither.publish.queries.sql.refused_aggregates import REGRESSIONS, is_refused, refused

if TYPE_CHECKING:
    from sqlglot import exp

_ONE: Final = {
    "sum": "sum",
    "avg": "mean",
    "variance": "sample_variance",
    "variancepop": "variance",
    "stddev": "sample_deviation",
    "stddevsamp": "sample_deviation",
    "stddevpop": "deviation",
    "min": "minimum",
    "max": "maximum",
    "mode": "mode",
}
_TWO: Final = {"covarpop": "covariance", "covarsamp": "sample_covariance", "corr": "correlation"}
_QUANTILES: Final = {"quantile": "quantile", "percentilecont": "expression", "approxquantile": "quantile"}
_ROUNDED: Final = {"percentiledisc": "expression"}
#: Names that other systems have for the same aggregates.
_SYNONYMS: Final = {
    "std": "sample_deviation",
    "stdev": "sample_deviation",
    "var": "sample_variance",
    "stdevp": "deviation",
    "stddevp": "deviation",
    "varp": "variance",
    "mode": "mode",
}
_SYNONYMS_OF_TWO: Final = {"covar": "sample_covariance"}
_SYNONYMS_OF_QUANTILES: Final = frozenset(("percentile", "approx_percentile", "percentile_approx", "approx_median"))


@dataclass(frozen=True)
class Asked:
    """An aggregate as requested."""

    function: str
    arguments: tuple[Expression, ...] = ()
    where: Expression | None = None
    share: Fraction | None = None
    many: int | None = None
    distinct: Expression | None = None  # COUNT(DISTINCT this), which is no measure by itself


def is_aggregate(node: exp.Expression) -> bool:
    """Return whether a node calls an aggregate function, supported or not."""
    name = node.key
    if name == "anonymous":
        called = str(node.this).lower()
        return is_refused(node) or any(
            called in known for known in (_SYNONYMS, _SYNONYMS_OF_TWO, _SYNONYMS_OF_QUANTILES)
        )
    if name in ("filter", "withingroup") or name in REGRESSIONS:
        return True
    return name in ("count", "countif", "median", "approxtopk", "approxdistinct") or (
        any(name in known for known in (_ONE, _TWO, _QUANTILES, _ROUNDED)) or is_refused(node)
    )


def name_of(node: exp.Expression) -> str:
    """Return SQL's name of an aggregate's function, for messages."""
    while node.key in ("filter", "withingroup", "ignorenulls", "respectnulls"):
        node = node.this
    name = node.this if node.key == "anonymous" else node.sql_name() if hasattr(node, "sql_name") else node.key
    return str(name).upper()


def aggregates_in(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the outermost aggregates below a node, without entering windows and subqueries."""
    stack = [node]
    while stack:
        part = stack.pop()
        if part.key in ("window", "subquery", "select"):
            continue
        if is_aggregate(part):
            yield part
        else:
            stack += list(part.iter_expressions())[::-1]


def read_aggregate(scalars: Scalars, node: exp.Expression, relation: Relation) -> Asked:
    """Return an aggregate's request; ``scalars`` translates its arguments over the relation's rows."""
    if node.key == "filter":
        scalars.only(node, "this", "expression")
        asked = read_aggregate(scalars, node.this, relation)
        where = scalars.condition(node.expression.this)
        return Asked(asked.function, asked.arguments, where, asked.share, asked.many, asked.distinct)
    name = node.key
    if name == "count":
        return _count(scalars, node, relation)
    if name == "withingroup":
        return _within_group(scalars, node)
    if name in _ONE:
        _refuse_distinct(scalars, node)
        scalars.only(node, "this")
        return Asked(_ONE[name], (scalars.settled(scalars.value(node.this), Kind.INTEGER).expression,))
    if name in _TWO:
        scalars.only(node, "this", "expression")
        return Asked(_TWO[name], tuple(scalars.value(part).expression for part in (node.this, node.expression)))
    if name == "median":
        scalars.only(node, "this")
        return Asked("quantile", (scalars.value(node.this).expression,), share=Fraction(1, 2))
    if name == "countif":
        scalars.only(node, "this")
        return Asked("count_of", (scalars.condition(node.this),))
    if name == "approxtopk":
        scalars.only(node, "this", "expression")
        many = scalars.whole_constant(node.expression)
        if not 1 <= many <= 1000:
            scalars.refuse(node, "a number of commonest values outside 1 to 1000", "ask for fewer")
        return Asked("top", (scalars.value(node.this).expression,), many=many)
    if name in _QUANTILES or name in _ROUNDED:
        share = {**_QUANTILES, **_ROUNDED}[name]
        scalars.only(node, "this", share)
        return Asked(
            "quantile", (scalars.value(node.this).expression,), share=_share(scalars, node, node.args.get(share))
        )
    if name == "approxdistinct":
        scalars.only(node, "this")
        return _different(scalars.value(node.this).expression, relation)
    if name == "anonymous" and not is_refused(node):
        return _by_other_name(scalars, node)
    raise refused(scalars, node, name_of(node))


def _by_other_name(scalars: Scalars, node: exp.Expression) -> Asked:
    called = str(node.this).lower()
    wanted = 1 if called in _SYNONYMS or called == "approx_median" else 2
    if len(node.expressions) != wanted:
        rule = f"{called.upper()} with {len(node.expressions)} arguments"
        scalars.refuse(node, rule, f"it takes {wanted}")
    if called in _SYNONYMS:
        return Asked(_SYNONYMS[called], (scalars.value(node.expressions[0]).expression,))
    if called in _SYNONYMS_OF_TWO:
        return Asked(_SYNONYMS_OF_TWO[called], tuple(scalars.value(part).expression for part in node.expressions))
    share = Fraction(1, 2) if wanted == 1 else _share(scalars, node, node.expressions[1])
    return Asked("quantile", (scalars.value(node.expressions[0]).expression,), share=share)


def _different(value: Expression, relation: Relation) -> Asked:
    """Return the number of different values: of people, if it is the privacy id."""
    if isinstance(value, Name) and value.name in person_columns(relation):
        return Asked("persons")
    return Asked("count_of", (value,), distinct=value)


def _count(scalars: Scalars, node: exp.Expression, relation: Relation) -> Asked:
    scalars.only(node, "this", "expressions")
    if node.expressions:
        scalars.refuse(node, "COUNT of several things", "count one of them, or COUNT(*)")
    this = node.args.get("this")
    if this is None:
        return Asked("count")
    if this.key == "distinct":
        scalars.only(this, "expressions")
        if len(this.expressions) != 1:
            scalars.refuse(
                node,
                "COUNT(DISTINCT ...) of several things",
                "count one of them, or a string made of all: COUNT(DISTINCT a || '/' || b)",
            )
        return _different(scalars.value(this.expressions[0]).expression, relation)
    if this.key == "star" or (this.key == "column" and this.this.key == "star"):
        return Asked("count")
    found = scalars.value(this)
    if found.kind is None:
        scalars.refuse(node, "COUNT(NULL) counts nothing", "write COUNT(*)")
    if isinstance(found.expression, Literal):
        return Asked("count")
    if found.kind is Kind.BOOLEAN:
        # COUNT counts what is not NULL; ``count_of`` counts a condition where it is true.
        return Asked("count_of", (Call("not", (Call("is_null", (found.expression,)),)),))
    return Asked("count_of", (found.expression,))


def _within_group(scalars: Scalars, node: exp.Expression) -> Asked:
    inner, order = node.this, node.expression
    if inner.key == "mode" and inner.args.get("this") is None and len(order.expressions) == 1:
        return Asked("mode", (scalars.value(order.expressions[0].this).expression,))
    if inner.key not in ("percentilecont", "percentiledisc") or len(order.expressions) != 1:
        scalars.refuse(
            node, "WITHIN GROUP of another aggregate", "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"
        )
    scalars.only(inner, "this")
    ordered = order.expressions[0]
    share = _share(scalars, node, inner.this)
    value = scalars.value(ordered.this).expression
    return Asked("quantile", (value,), share=1 - share if ordered.args.get("desc") else share)


def _share(scalars: Scalars, node: exp.Expression, given: exp.Expression | None) -> Fraction:
    if given is not None and given.key == "div":
        # A third is not a decimal number.
        sides = (given.this, given.expression)
        above, below = (whole_number(str(side.this), 10**9) if side.key == "literal" else None for side in sides)
        if above is not None and below and above <= below:
            return Fraction(above, below)
    constant = None if given is None or given.key == "array" else scalars.constant(given)
    if isinstance(constant, bool) or not isinstance(constant, int | float) or not 0 <= constant <= 1:
        scalars.refuse(node, "a quantile without one share from 0 to 1", "write QUANTILE(x, 0.9), once for each share")
    return Fraction(str(constant))


def _refuse_distinct(scalars: Scalars, node: exp.Expression) -> None:
    if node.args.get("this") is not None and node.this.key == "distinct":
        scalars.refuse(
            node,
            f"{scalars.parsed.word(node)}(DISTINCT ...) depends on which values other people have",
            "remove DISTINCT, or make values different within each person: SELECT DISTINCT id, x in a subquery; "
            "COUNT(DISTINCT x) is answered",
        )
