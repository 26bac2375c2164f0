"""Examples of streams, for checks: a clinic's visits over a few ticks, and neighbours one unit apart."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dither.data import Column, DataSet, Kind, Limits, Scan, Table
from dither.data.expressions import Name
from dither.data.schema import person_unit
from dither.data.ticks import Ticks
from dither.mechanisms.core.registry import Dialogue, Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, PureDP
from dither.publish.queries.query import Aggregate, Key, Query


def clinic_stream(
    *, persons: bool, is_replaced: bool = False, sites: tuple[str, ...] = ("east", "west"), horizon: int = 4
) -> DataSet:
    """Return a clinic whose visits arrive by the hour.

    Args:
        persons: whether people are protected, and not visits.
        is_replaced: whether one visit takes the place of another.
        sites: where there are visits.
        horizon: how many hours there are.

    """
    start = datetime.datetime(2025, 1, 1)
    ticks = Ticks("at", 3600, start, horizon)
    if persons:
        ticks = replace(ticks, rows=2, ticks=2, gap=2)
    columns = (
        Column("person", Kind.TEXT),
        Column("at", Kind.TIMESTAMP),
        Column("site", Kind.TEXT, categories=sites),
        Column("cost", Kind.INTEGER, lower=0, upper=3),
    )
    visits = Table("visits", columns, "frames", person="person" if persons else None, stream=ticks)
    if persons:
        return DataSet("clinic", (visits,), person_unit("person"), rows=2)
    return DataSet("clinic", (visits,), ROW_REPLACED if is_replaced else ROW)


def stream_query(dataset: DataSet, *aggregates: Aggregate, by_site: bool = False) -> Query:
    """Return a query over the visits.

    Args:
        dataset: as ``clinic_stream`` makes it.
        aggregates: what is measured.
        by_site: whether it is measured for each site.

    """
    keys = (Key("site", Name("site"), dataset.tables[0].column("site").categories),) if by_site else ()
    names = [key.name for key in keys] + [one.name for one in aggregates]
    return Query(
        dataset, Scan(dataset.tables[0]), keys, aggregates, tuple((name, Name(name)) for name in names), Limits()
    )


COUNT = Aggregate("visits", "count")
TOTAL = Aggregate("cost", "sum", (Name("cost"),), ((0.0, 3.0),))


def ticked_examples() -> Iterator[Example]:
    """Yield streams with neighbours one unit apart: numbers of each tick, a row for each group."""
    from dither.publish.streams.ticked import DECAYED, RUNNING, TICK, plan_stream

    def ticks(*numbers: tuple[int, ...]) -> Dialogue:
        return Dialogue(None, tuple(np.array([[one] for one in tick], dtype=np.int64) for tick in numbers))

    visits = plan_stream(stream_query(clinic_stream(persons=False), COUNT, by_site=True), PureDP(1), released=TICK)
    here = ticks((1, 0), (2, 2), (0, 0), (1, 1))
    moved = ((here, ticks((1, 0), (2, 3), (0, 0), (1, 1)), 1),)
    yield Example(visits, here, moved)
    swapped = plan_stream(
        stream_query(clinic_stream(persons=False, is_replaced=True), COUNT), ZCDP("1/2"), released=RUNNING
    )
    one = ticks((1,), (2,), (0,), (1,))
    yield Example(swapped, one, ((one, ticks((0,), (2,), (0,), (2,)), 1),))
    people = plan_stream(stream_query(clinic_stream(persons=True), TOTAL), PureDP(2), released=RUNNING)
    yield Example(people, one, ((one, ticks((7,), (2,), (6,), (1,)), 1), (one, ticks((1,), (5,), (0,), (7,)), 1)))
    lately = plan_stream(stream_query(clinic_stream(persons=True), TOTAL), ZCDP(2), released=DECAYED, decay="1/2")
    yield Example(lately, one, ((one, ticks((7,), (2,), (6,), (1,)), 1), (one, ticks((1,), (5,), (0,), (7,)), 1)))


def _ticks(*numbers: tuple[int, ...]) -> Dialogue:
    return Dialogue(None, tuple(np.array([[one] for one in tick], dtype=np.int64) for tick in numbers))


def ranked_examples() -> Iterator[Example]:
    """Yield running quantiles with neighbours one unit apart."""
    from dither.publish.streams.ranked import plan_ranked

    five = ("a", "b", "c", "d", "e")
    visits = stream_query(clinic_stream(persons=False, sites=five), COUNT, by_site=True)
    here = _ticks((1, 0, 0, 0, 0), (2, 2, 0, 1, 1), (0, 0, 0, 0, 0), (1, 1, 1, 1, 1))
    moved = _ticks((1, 0, 0, 0, 0), (2, 2, 1, 1, 1), (0, 0, 0, 0, 0), (1, 1, 1, 1, 1))
    for loss in (PureDP(1), ZCDP("1/2")):
        yield Example(plan_ranked(visits, loss, ranks=("1/2", 1)), here, ((here, moved, 1),))
    people = plan_ranked(stream_query(clinic_stream(persons=True), COUNT, by_site=True), ZCDP("1/2"))
    one = _ticks((1, 0), (2, 0), (0, 0), (1, 0))
    yield Example(people, one, ((one, _ticks((3, 0), (2, 0), (1, 1), (1, 0)), 1),))


def seizable_examples() -> Iterator[Example]:
    """Yield streams that keep noisy numbers only, with neighbours one row apart."""
    from dither.publish.streams.seizable import plan_seizable

    here, moved = (_ticks((1, 0), (2, last), (0, 0), (1, 1)) for last in (2, 3))
    for released in ("tick", "running"):
        visits = stream_query(clinic_stream(persons=False), COUNT, by_site=True)
        yield Example(plan_seizable(visits, PureDP(1), released=released), here, ((here, moved, 1),))


def leading_examples() -> Iterator[Example]:
    """Yield lists of the largest groups with neighbours one unit apart."""
    from dither.publish.streams.leading import plan_leading

    three = ("a", "b", "c")
    visits = stream_query(clinic_stream(persons=False, sites=three), COUNT, by_site=True)
    here, moved = (_ticks((0, 1, 0), (0, 2, last), (0, 0, 0), (1, 1, 1)) for last in (2, 3))
    listed = plan_leading(visits, PureDP(4), top=1, changes=2, threshold=1)
    yield Example(listed, here, ((here, moved, 1),))
    people = stream_query(clinic_stream(persons=True, sites=three), COUNT, by_site=True)
    more = _ticks((0, 1, 0), (0, 2, 4), (0, 0, 0), (1, 1, 3))
    yield Example(plan_leading(people, PureDP(40), top=2, changes=1), here, ((here, more, 1),))
