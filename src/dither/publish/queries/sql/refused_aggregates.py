"""Aggregates that SQL has and that are not answered: why not, and what to ask instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dither.errors import Unanswerable
from dither.publish.queries.sql.expressions import Scalars

if TYPE_CHECKING:
    from sqlglot import exp

#: Regressions are made of other aggregates: see ``made_of``.
REGRESSIONS: Final = frozenset(("regrslope", "regrintercept", "regrr2", "regrcount", "regravgx", "regravgy"))
_RAW: Final = (
    "shows values of single people as they are",
    "ask for MODE(x), or group by the column and count",
)
_ONE_DECIDES: Final = (
    "can be turned by one row of one person",
    "ask for AVG(x), the share of rows where it is true, or for COUNT_IF(NOT x)",
)
_UNBOUNDED: Final = (
    "can be moved by one row without limit",
    "ask for SUM, AVG, VARIANCE or quantiles",
)
_OTHER: Final = (
    "is not answered privately",
    "ask for COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN, MAX, COVAR_POP, CORR or MODE",
)
_REASONS: Final = {
    **dict.fromkeys(("arrayagg", "array_agg", "arrayuniqueagg", "groupconcat", "string_agg", "listagg", "list"), _RAW),
    **dict.fromkeys(("first", "last", "argmax", "argmin", "arg_max", "arg_min", "firstvalue", "lastvalue"), _RAW),
    **dict.fromkeys(("anyvalue", "any_value", "max_by", "min_by", "arbitrary"), _RAW),
    **dict.fromkeys(("logicaland", "logicalor", "bool_and", "bool_or", "every", "some"), _ONE_DECIDES),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor", "bitwiseandagg", "bitwiseoragg", "bitwisexoragg"), _ONE_DECIDES),
    **dict.fromkeys(("product", "geomean", "geometric_mean"), _UNBOUNDED),
    **dict.fromkeys(("skewness", "kurtosis", "entropy", "mad", "favg", "fsum", "histogram"), _OTHER),
    **dict.fromkeys(("ignorenulls", "respectnulls", "regrsxx", "regrsyy", "regrsxy", "checksum"), _OTHER),
}


def is_refused(node: exp.Expression) -> bool:
    """Return whether a node calls an aggregate function that is never answered as it is."""
    name = str(node.this).lower() if node.key == "anonymous" else node.key
    return name in _REASONS


def refused(scalars: Scalars, node: exp.Expression, called: str) -> Unanswerable:
    """Return the refusal of an aggregate."""
    inner = node.this if node.key in ("ignorenulls", "respectnulls") else node
    name = str(inner.this).lower() if inner.key == "anonymous" else inner.key
    reason, instead = _REASONS.get(name, _OTHER)
    return scalars.parsed.refusal(node, f"{called} {reason}", instead)
