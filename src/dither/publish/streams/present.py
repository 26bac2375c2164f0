"""What a stream shows: a row for each tick and group, with an interval for every number."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.privacy import Loss
from dither.publish.queries.groups import key_kinds
from dither.publish.queries.result import QueryResult, ResultColumn

if TYPE_CHECKING:
    from dither.publish.streams.seizable import SeizableAnswer
    from dither.publish.streams.ticked import TickedAnswer

#: The column that says when a tick begins.
TICK: Final = "tick"


def presented(
    mechanism: TickedAnswer | SeizableAnswer,
    noisy: NDArray[np.int64],
    first: int,
    confidence: Fraction,
    receipt: str,
    *,
    loss: Loss,
) -> QueryResult:
    """Return released ticks as a table.

    Args:
        mechanism: what was released.
        noisy: an array of ticks, groups and measures.
        first: the number of the first tick.
        confidence: the level of the intervals, each for one number.
        receipt: where the charge is written down.
        loss: what was charged for all ticks.

    """
    arrivals = mechanism.arrivals
    ticks, cells = len(noisy), mechanism.cells
    flat = noisy.reshape(ticks * cells, noisy.shape[2])
    values, low, high = [], [], []
    for statistic, found in zip(arrivals.statistics, arrivals.values(flat), strict=True):
        places = [arrivals.measured.index(one) for one in statistic.measured]
        level = 1 - (1 - confidence) / len(places)
        reach = np.array(
            [[mechanism.reach(tick, place, level) for place in places] for tick in range(first, first + ticks)]
        )
        around = np.repeat(reach.reshape(ticks, len(places)), cells, axis=0).astype(np.int64)
        ends = statistic.enclosed(
            [flat[:, place] - around[:, column] for column, place in enumerate(places)],
            [flat[:, place] + around[:, column] for column, place in enumerate(places)],
        )
        values.append(found.tolist())
        low.append(ends[0].tolist())
        high.append(ends[1].tolist())
    begins = [arrivals.ticks.begin(tick) for tick in range(first, first + ticks)]
    keys = [(begin, *group) for begin in begins for group in arrivals.groups]
    none = (None,) * (1 + len(arrivals.query.keys))
    return QueryResult(
        columns=_columns(mechanism),
        rows=rows_of(keys, [_possible(*three) for three in zip(values, low, high, strict=True)]),
        low=rows_of([none] * len(keys), low),
        high=rows_of([none] * len(keys), high),
        confidence=confidence,
        is_simultaneous=False,
        loss=loss,
        unit=str(mechanism.distance),
        notes=mechanism.notes,
        receipt=receipt,
        raw=rows_of(keys, values),
    )


def _columns(mechanism: TickedAnswer | SeizableAnswer) -> tuple[ResultColumn, ...]:
    arrivals = mechanism.arrivals
    query = arrivals.query
    keys = [
        ResultColumn(key.name, kind.value, is_key=True) for key, kind in zip(query.keys, key_kinds(query), strict=True)
    ]
    so_far = ", from the start to the end of the tick" if mechanism.is_running else ", in the tick"
    if mechanism.decay is not None:
        so_far = f", in all ticks so far, of which {mechanism.decay} is left with every later tick"
    numbers = [
        ResultColumn(one.aggregate.name, one.kind.value, is_key=False, estimand=one.estimand + so_far, bias=one.bias)
        for one in arrivals.statistics
    ]
    return (ResultColumn(TICK, "timestamp", is_key=True), *keys, *numbers)


def rows_of(keys: list[Any], columns: list[list[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Return rows: of each its keys, and its number of every column."""
    return tuple((*key, *rest) for key, rest in zip(keys, zip(*columns, strict=True), strict=True))


def _possible(values: list[Any], low: list[Any], high: list[Any]) -> list[Any]:
    """Return the nearest values within their intervals: a count is at least 0."""
    return [min(max(value, least), most) for value, least, most in zip(values, low, high, strict=True)]
