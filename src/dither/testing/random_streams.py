"""Random streams: people with several visits, at several ticks and in several groups, and the stream without one.

Rows are fed as a caller feeds them: an engine reads them, the tally decides what counts of each person, and what comes
out is fed to the mechanism tick by tick. So a pair tries the bound on contributions and the noise together.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, Final, cast

import numpy as np

from dither.data import Kind
from dither.data.reference import ReferenceEngine
from dither.mechanisms import Dialogue
from dither.privacy import Relation, Unit
from dither.publish.streams.asked import StreamAnswer
from dither.publish.streams.tally import Standing, tick_sums
from dither.testing.choices import Choices
from dither.testing.hostile import Pair
from dither.testing.random_rows import random_row

Rows = list[dict[str, Any]]

_MOST_PEOPLE: Final = 4
_MOST_VISITS: Final = 7
#: Of a stream without an end as many ticks are fed.
_TICKS: Final = 6


def stream_pairs(answer: StreamAnswer, choices: Choices) -> Iterator[Pair]:
    """Return the ticks of streams one unit apart: a person with all their visits, or a single row.

    Not of two people: how far two people who come at the same ticks move a stream is measured with a margin.
    """
    unit: Unit = answer.distance
    while True:
        others = [_visits(answer, f"p{number}", choices) for number in range(choices.below(_MOST_PEOPLE))]
        base = [row for rows in others for row in rows]
        come = _unit_of(answer, "new", choices)
        gone = _unit_of(answer, "old", choices) if unit.relation is Relation.REPLACE else []
        here, there = choices.shuffled([*base, *gone]), choices.shuffled([*base, *come])
        if choices.below(2):
            here, there = there, here
        yield stream_of(answer, here), stream_of(answer, there), 1


def stream_of(answer: StreamAnswer, rows: Rows) -> Dialogue:
    """Return what rows add up to, tick by tick, as the mechanism of a stream is fed it."""
    arrivals, standings = answer.arrivals, dict[Any, Standing]()
    tables = {table.name: rows if table is arrivals.table else [] for table in answer.query.dataset.tables}
    batch = arrivals.batch(ReferenceEngine(answer.query.dataset, tables).aggregate(arrivals.whole()))
    ticks, fed = arrivals.ticks.numbers(batch.moments.astype("datetime64[us]")), []
    for tick in range(_length(answer)):
        numbers, changed = tick_sums(
            batch.only(ticks == tick),
            tick,
            ticks=arrivals.ticks,
            measured=arrivals.measured,
            cells=answer.cells,
            standings=standings,
            only_first=answer.is_running,
        )
        standings.update(changed)
        fed.append(numbers)
    return Dialogue(None, tuple(fed))


def event_pairs(script: tuple[Any, ...], choices: Choices) -> Iterator[Pair]:
    """Return streams of counts one to three events apart, at the same tick or at several."""
    while True:
        here = [np.asarray(choices.one((0, 0, 1, 5, 2**20, one)), dtype=np.int64).item() for one in script]
        there, apart = list(here), 1 + (choices.below(3) if choices.below(4) == 0 else 0)
        for _ in range(apart):
            there[choices.below(len(there))] += 1
        yield (*_both(Dialogue(None, tuple(here)), Dialogue(None, tuple(there)), choices), apart)


def _both(here: Any, there: Any, choices: Choices) -> tuple[Any, Any]:
    return (here, there) if choices.below(2) else (there, here)


def _length(answer: StreamAnswer) -> int:
    return min(answer.most_ticks, _TICKS)


def _unit_of(answer: StreamAnswer, person: str, choices: Choices) -> Rows:
    visits = _visits(answer, person, choices) or [_visit(answer, person, choices)]
    return visits if answer.arrivals.table.person else visits[:1]


def _visits(answer: StreamAnswer, person: str, choices: Choices) -> Rows:
    """Return the visits of one person: any number, often several in one tick, often the same row again.

    Or as many at every tick as would move a stream by most, if all of them counted.
    """
    rows: Rows = []
    if choices.below(3) == 0:
        ends = [one for one in answer.arrivals.table.columns if one.upper is not None]
        row = _visit(answer, person, choices) | {one.name: choices.one((one.lower, one.upper)) for one in ends}
        ticks = range(_length(answer)) if choices.below(2) else range(0, _length(answer), 2)
        for tick in ticks:
            for _ in range(1 + choices.below(4)):
                rows.append({**row, **_moment(answer, tick, choices)})
        return rows
    for _ in range(choices.below(_MOST_VISITS + 1)):
        rows.append(dict(choices.one(rows)) if rows and choices.below(4) == 0 else _visit(answer, person, choices))
    return rows


def _visit(answer: StreamAnswer, person: str, choices: Choices) -> dict[str, Any]:
    table = answer.arrivals.table
    tick = choices.below(_length(answer)) if choices.below(12) else choices.one((-1, _length(answer), 10**4))
    row = random_row(table.columns, choices) | _moment(answer, tick, choices)
    if table.person is not None:
        row[table.person] = person
    return row


def _moment(answer: StreamAnswer, tick: int, choices: Choices) -> dict[str, Any]:
    """Return some moment of a tick, as the cell of a row."""
    ticks = answer.arrivals.ticks
    start = cast("datetime.datetime", ticks.start)
    moment = start + datetime.timedelta(seconds=tick * ticks.seconds + choices.below(ticks.seconds))
    is_date = answer.arrivals.table.column(ticks.time).kind is Kind.DATE
    return {ticks.time: moment.date() if is_date else moment}
