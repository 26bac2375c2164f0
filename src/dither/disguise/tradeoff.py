"""The same disguise with other values of one rule: what each leaves to find, and what it costs (an R-U map)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, get_args

from dither.disguise.contract import Disguise
from dither.disguise.table import Table
from dither.errors import InvalidParameter

#: The rules that a map may be over.
Mapped = Literal["k", "l", "t", "alpha", "beta", "delta"]
MAPPED: Final = get_args(Mapped)


@dataclass(frozen=True)
class Point:
    """One value of the map.

    Args:
        rule: that was changed.
        value: that was asked for.
        ncp: the normalised certainty penalty, from 0 to 1.
        marketer: the share of rows that are found again on average.
        right: the share of values that are guessed right by everybody's class, in the worst sensitive column.

    """

    rule: str
    value: float
    ncp: float
    marketer: float
    right: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


def tradeoff(by: Disguise, table: Table, values: Iterable[float], rule: Mapped = "k") -> tuple[Point, ...]:
    """Return the map of a disguise over several values of a rule, with all its other parameters as they are.

    Args:
        by: the disguise.
        table: that it is applied to.
        values: of the rule.
        rule: k, l, t, alpha, beta or delta.

    """
    if rule not in MAPPED:
        raise InvalidParameter("map", rule, f"over one of {', '.join(MAPPED)}")
    wanted = sorted(set(values))
    if not wanted:
        raise InvalidParameter("map", wanted, f"one or more values of {rule}")
    points = []
    for value in wanted:
        other: Any = by
        changed: Any = {rule: value}
        made = replace(other, rules=replace(by.rules, **changed)).apply(table)
        right = max((one.right for one in made.risk.guesses), default=None)
        points.append(Point(rule, value, made.blur.ncp or 0.0, made.risk.marketer, right))
    return tuple(points)
