"""``DP_INTERVAL_LOW(n)`` and ``DP_INTERVAL_HIGH(n)``: the ends of the interval of a released number, as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dither.data import Expression, Name
from dither.data.expressions import IntervalEnd
from dither.publish.queries.sql.expressions import Scalars
from dither.publish.queries.sql.parse import Parsed

if TYPE_CHECKING:
    from sqlglot import exp

_ENDS: Final = {"dp_interval_low": False, "dp_interval_high": True}


def end_of_interval(
    parsed: Parsed, select: exp.Expression, item: exp.Expression, scalars: Scalars
) -> IntervalEnd | None:
    """Return the end that an item of SELECT asks for, None if it asks for something else.

    Args:
        parsed: the query.
        select: the SELECT of the item, whose aliases the argument may name.
        item: what is selected, with or without an alias.
        scalars: the translator of what is released.

    """
    bare = item.this if item.key == "alias" else item
    if bare.key != "anonymous" or str(bare.name).lower() not in _ENDS:
        return None
    if len(bare.expressions) != 1:
        parsed.refuse(bare, f"{parsed.word(bare)} of {len(bare.expressions)} columns", "name one released column")
    argument = bare.expressions[0]
    aliases = {other.alias.lower(): other.this for other in select.expressions if other.key == "alias"}
    if argument.key == "column" and not argument.table and argument.name.lower() in aliases:
        argument = aliases[argument.name.lower()]
    value = scalars.value(argument)
    if value.kind is None or not value.kind.is_number:
        parsed.refuse(bare, "the interval of something else than a number", "name a count, sum or mean")
    return IntervalEnd(value.expression, _ENDS[str(bare.name).lower()])


def end_name(value: Expression) -> str | None:
    """Return the name of a column of ends, None for anything else."""
    if not isinstance(value, IntervalEnd):
        return None
    of = f"_{value.value.name}" if isinstance(value.value, Name) else ""
    return f"dp_interval_{'high' if value.is_upper else 'low'}{of}"
