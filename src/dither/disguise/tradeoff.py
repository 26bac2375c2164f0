"""The same disguise with smaller and larger classes: what each k leaves to find, and what it costs (an R-U map)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dither.disguise.contract import Disguise
from dither.disguise.table import Table
from dither.errors import InvalidParameter


@dataclass(frozen=True)
class Point:
    """One k of the map.

    Args:
        k: that was asked for.
        ncp: the normalised certainty penalty, from 0 to 1.
        marketer: the share of rows that are found again on average.
        right: the share of values that are guessed right by everybody's class, in the worst sensitive column.

    """

    k: int
    ncp: float
    marketer: float
    right: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


def tradeoff(by: Disguise, table: Table, sizes: Iterable[int]) -> tuple[Point, ...]:
    """Return the map of a disguise over several k, with all its other parameters as they are."""
    wanted = sorted(set(sizes))
    if not wanted:
        raise InvalidParameter("map", wanted, "one or more values of k")
    points = []
    for k in wanted:
        other: Any = by
        made = replace(other, rules=replace(by.rules, k=k)).apply(table)
        right = max((one.right for one in made.risk.guesses), default=None)
        points.append(Point(k, made.blur.ncp or 0.0, made.risk.marketer, right))
    return tuple(points)
