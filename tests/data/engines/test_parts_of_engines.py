"""Parts that are asked one after the other need rows that stay: those of a server change between two questions."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dither import ROW, Budget, converse
from dither.curator.access import rows_of_session
from dither.curator.folder import Curator
from dither.data import Column, DataSet, Kind, Table
from dither.data.engines.spark import SparkEngine
from dither.data.examples import clinic, some_visits
from dither.data.reference import ReferenceEngine
from dither.errors import Unanswerable
from dither.privacy import PureDP
from dither.publish.queries import AdaptiveParts
from dither.publish.queries.adaptive_parts import check_fixed, clinic_parts


def test_parts_of_rows_that_may_change_are_refused() -> None:
    """A row that moves from one part to the other between two questions would be paid for once, and lost twice."""

    class Live(ReferenceEngine):
        has_fixed_rows = False

    made = AdaptiveParts(partition=clinic_parts(ROW), each=PureDP(1))
    rows = Live(made.partition.dataset, {"visits": some_visits()})
    with pytest.raises(Unanswerable, match="may change"):
        converse(made, rows, budget=Budget(epsilon=1, unit=ROW))


def test_rows_that_spark_reads_elsewhere_are_refused_and_those_in_files_or_frames_are_not(tmp_path: Path) -> None:
    """Nothing says whether an address or a table of the catalogue holds what it held before."""
    path = tmp_path / "visits.parquet"
    path.write_bytes(b"not read here")
    dataset = clinic(ROW)

    def engine(source: str, **given: Any) -> SparkEngine:
        tables = tuple(replace(table, source=source) for table in dataset.tables)
        return SparkEngine(replace(dataset, tables=tables, engine="spark"), folder=tmp_path, **given)

    for source in (f"file://{path}", "s3a://bucket/visits", "hospital.visits"):
        with pytest.raises(Unanswerable, match="rows of visits may change"):
            check_fixed(engine(source))
        check_fixed(engine(source, frames={"visits": some_visits()}))
    for source in (str(path), "visits.parquet"):
        check_fixed(engine(source))


def test_a_spark_that_takes_the_place_of_one_that_died_reads_the_same_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame is copied once, when it is first read."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = Table("t", (Column("c", Kind.INTEGER),), "frames")
    frame, read = pandas.DataFrame({"c": [1, 2]}), []
    engine = SparkEngine(DataSet("d", (table,), ROW, engine="spark"), frames={"t": frame})
    spark = SimpleNamespace(createDataFrame=lambda rows: read.append(rows.to_pydict()) or rows)
    for _ in range(2):
        engine._session = spark
        engine._frame(table)
        frame.loc[0, "c"] = 9
        engine.close()
    assert read == [{"c": [1, 2]}] * 2


def test_a_table_of_postgresql_is_refused_before_the_charge(tmp_path: Path, factories: dict[str, Any]) -> None:
    engine = factories["postgresql"](clinic(ROW), {"visits": some_visits()})
    with contextlib.closing(engine):
        stored = replace(engine.dataset, name="stored")
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as curator:
        curator.add(stored, epsilon=1)
        with contextlib.closing(curator.session("stored", analyst="ana")) as session:
            sites = session.table("visits").partition("site", {"north": ["north"], "south": ["south"]})
            with pytest.raises(Unanswerable, match="may change"):
                session.parts("sites", sites, epsilon=1)
            assert session.balance().releases == 0


def test_parts_of_one_release_read_one_moment_of_a_server(tmp_path: Path, factories: dict[str, Any]) -> None:
    """A row that is moved to the other part between two statements counts once."""
    import psycopg

    engine = factories["postgresql"](clinic(ROW), {"visits": some_visits()})
    with contextlib.closing(engine):
        stored = replace(engine.dataset, name="moved")
        source = stored.table("visits").source
    with contextlib.closing(Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")) as curator:
        curator.add(stored, epsilon=10**6)
        with contextlib.closing(curator.session("moved", analyst="ana")) as session:
            parts = session.table("visits").partition("site", {"north": ["north"], "south": ["south"]})
            asked = parts.ask(north=lambda rows: rows.count("n"), south=lambda rows: rows.count("n"))
            before = session.ask_parts(asked, epsilon=10**5)
            with rows_of_session(session) as opened:
                plain = opened.aggregate

            def moving(aggregation: Any) -> Any:
                found = plain(aggregation)
                with psycopg.connect(stored.engine, autocommit=True) as other:
                    other.execute(f"UPDATE {source} SET site = CASE site WHEN 'north' THEN 'south' ELSE 'north' END")  # noqa: S608 - a table of the test
                return found

            opened.aggregate = moving  # type: ignore[method-assign]
            after = session.ask_parts(asked, epsilon=10**5, key="again")
            assert {label: one.rows for label, one in after.items()} == {
                label: one.rows for label, one in before.items()
            }
