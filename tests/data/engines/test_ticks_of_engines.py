"""Rows of a stream, read tick by tick from every engine, and batches as Spark hands them over."""

from __future__ import annotations

import contextlib
import datetime
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.curator.folder import Curator
from dither.data.reference import ReferenceEngine
from dither.publish.streams.arrivals import Arrivals, Batch
from dither.publish.streams.examples import COUNT, TOTAL, clinic_stream, stream_query

START = datetime.datetime(2025, 1, 1)


def row(minutes: int | None, person: str, site: str | None = "east", cost: int | None = 2) -> dict[str, Any]:
    moment = None if minutes is None else START + datetime.timedelta(minutes=minutes)
    return {"person": person, "at": moment, "site": site, "cost": cost}


ROWS = [
    row(0, "ann"),
    row(59, "bob", "west", 9),
    row(60, "ann", "nowhere"),
    row(61, "cy", None, None),
    row(61, "cy", "west", -4),
    row(150, "ann"),
    row(150, "ann"),
    row(None, "dan"),
    row(-1, "eve"),
    row(240, "eve"),
]


def seen(batch: Batch) -> list[tuple[Any, ...]]:
    """Return the rows of a batch, in an order of their own."""
    people = batch.people or (None,) * len(batch)
    columns = (batch.moments.tolist(), people, batch.groups.tolist(), batch.numbers.tolist(), batch.counts.tolist())
    rows = zip(*columns, strict=True)
    return sorted((moment, person, group, *numbers, count) for moment, person, group, numbers, count in rows)


@pytest.mark.parametrize("name", ["duckdb", "postgresql", "spark"])
def test_every_engine_reads_the_ticks_that_the_reference_reads(name: str, factories: dict[str, Any]) -> None:
    dataset = clinic_stream(persons=True)
    arrivals = Arrivals(stream_query(dataset, COUNT, TOTAL, by_site=True))
    reference = ReferenceEngine(dataset, {"visits": ROWS})
    # Spark plans a query for about a second: all ticks at once, and a part.
    spans = ((1, 3),) if name == "spark" else ((0, 4), (1, 3), (3, 4))
    with ExitStack() as stack:
        engine = stack.enter_context(factories[name](dataset, {"visits": ROWS}))
        for span in spans:
            asked = arrivals.asked(*span)
            expected, found = (arrivals.batch(one.aggregate(asked)) for one in (reference, engine))
            assert seen(found) == seen(expected)
            numbers = arrivals.ticks.numbers(found.moments.astype("datetime64[us]"))
            assert np.all((numbers >= span[0]) & (numbers < span[1]))


def test_a_stream_of_a_table_of_postgresql_is_released(tmp_path: Path, factories: dict[str, Any]) -> None:
    """From the door: opened, released, and not looked at behind the last tick."""
    dataset = clinic_stream(persons=False)
    engine = factories["postgresql"](dataset, {"visits": [one for one in ROWS if one["at"] is not None]})
    with contextlib.closing(engine):
        stored = replace(engine.dataset, name="stored")
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as curator:
        curator.add(stored, epsilon=10**5)
        text = "SELECT COUNT(*) AS n FROM visits"
        with contextlib.closing(curator.session("stored", analyst="ana")) as session:
            with contextlib.closing(session.stream("s", text, epsilon=10**5)) as stream:
                assert stream.release(2).column("n", raw=True) == (2, 5)
            with contextlib.closing(session.stream("s")) as again:
                assert again.release().column("n", raw=True) == (7, 7)


def test_a_batch_of_spark_is_fed_once(tmp_path: Path) -> None:
    """As ``foreachBatch`` hands it over: a frame of Spark becomes one of this process by ``toPandas``."""
    pandas = pytest.importorskip("pandas")

    class Handed:
        def toPandas(self) -> Any:  # noqa: N802
            return pandas.DataFrame(ROWS[:3])

    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as curator:
        curator.add(clinic_stream(persons=False), epsilon=10**5)
        session = curator.session("clinic", analyst="ana")
        with contextlib.closing(session.stream("s", "SELECT COUNT(*) AS n FROM visits", epsilon=10**5)) as stream:
            assert stream.feed(Handed(), batch="0")
            assert not stream.feed(Handed(), batch="0")
            assert stream.release(2).column("n", raw=True) == (2, 3)
