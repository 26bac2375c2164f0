# ruff: noqa: S608 - the names in these statements are the test
"""Columns of any name: every engine reads the column that the source calls so, and no other one."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dither.curator.folder import Curator
from dither.data import Aggregation, Column, CountRows, DataSet, Kind, Name, Scan, Sum, Table
from dither.data.engines import Engine, connect
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.spark import SparkEngine
from dither.data.files import dump_schema, loads
from dither.data.hints import plain_names
from dither.data.suggest import suggest
from dither.data.wire import dumps
from dither.data.wire import loads as loads_wire
from dither.errors import EngineUnavailable, InvalidParameter, InvalidSchema
from dither.privacy import ROW, PureDP
from dither.publish.queries.sql import parse_sql

#: What people and programs write above a column, and worse.
NAMES = [
    *("plain", "education-num", "Total Spend (£)", "Größe", "2024", "Name", "name", "NAME", "", " ", "a b", "a.b"),
    *('say "hi"', '"', '""', "it's", "`tick`", "``", "[bracket]", "]", "semi;colon", "a,b", "tab\there", "line\nbreak"),
    *(
        "select",
        "GROUP",
        "order",
        "\N{SNOWMAN}",
        "\N{PILE OF POO}",
        "数量",
        "percent%",
        "%s",
        "$1",
        "{0}",
        "--",
        "/* */",
    ),
    *("^a.*$", "*", "#", "@", "x0", "x1", "c1", "C2", "Name_1", "name_1", "a\\b", "\\", "\u200b", "e\u0301", "\u00e9"),
    *("x" * 70, "x" * 71, "y" * 300, "null", "true", "rowid", "__person", "_", "café", "№ 5", "1", "01", "-1", "1.5"),
]


def dataset_of(source: str, engine: str = "duckdb", names: list[str] | None = None) -> DataSet:
    listed = NAMES if names is None else names
    columns = [
        Column(name, Kind.INTEGER, 0, 1000, source=None if name == stored else stored)
        for name, stored in zip(plain_names(listed), listed, strict=True)
    ]
    return DataSet("odd", (Table("odd", tuple(columns), source),), ROW, engine=engine)


def sums(engine: Engine, dataset: DataSet) -> list[int]:
    """Return the sum of every column: column n holds n + 1, once."""
    table = dataset.table("odd")
    with engine:
        engine.check()
        measures = tuple(Sum(Name(column.name)) for column in table.columns)
        (found,) = engine.aggregate(Aggregation(Scan(table), (), (CountRows(), *measures))).measures
    assert found[0] == 1
    return list(found[1:])


def write_csv(path: Any, names: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(names)
        writer.writerow(range(1, len(names) + 1))


def arrow() -> Any:
    return pa.table([pa.array([place + 1]) for place in range(len(NAMES))], names=NAMES)


EXPECTED = list(range(1, len(NAMES) + 1))


def test_names_are_drafted_by_themselves_and_a_schema_keeps_them(tmp_path):
    declared = plain_names(NAMES)
    assert len({name.lower() for name in declared}) == len(NAMES)
    schema = dataset_of("odd.csv")
    assert loads(dump_schema(schema)) == schema
    assert loads_wire(dumps(schema)) == schema
    write_csv(tmp_path / "odd.csv", NAMES)
    draft = suggest(tmp_path / "odd.csv")
    assert draft.left_out == ()
    text = draft.text.replace("unit: ???", "unit: row")
    lines = [line for line in text.splitlines() if not line.strip().startswith(("contribution", "privacy id"))]
    drafted = loads("\n".join(line.replace(": ???", ": integer") for line in lines))
    assert [column.stored_name for column in drafted.tables[0].columns] == NAMES


def test_duckdb_reads_files_and_frames_by_the_names_of_the_source(tmp_path):
    write_csv(tmp_path / "odd.csv", NAMES)
    pq.write_table(arrow(), tmp_path / "odd.parquet")
    for source in ("odd.csv", "odd.parquet"):
        schema = dataset_of(source)
        assert sums(DuckDBEngine(schema, folder=tmp_path, threads=1), schema) == EXPECTED, source
    schema = dataset_of("frames")
    frames = [
        arrow(),
        arrow().to_batches()[0],
        pl.DataFrame({name: [place + 1] for place, name in enumerate(NAMES)}),
        arrow().to_pandas(),
    ]
    # pandas may call columns by numbers.
    frames.append(arrow().to_pandas().rename(columns={"2024": 2024, "-1": -1}))
    for frame in frames:
        assert sums(DuckDBEngine(schema, frames={"odd": frame}, threads=1), schema) == EXPECTED, type(frame)


@pytest.mark.slow
def test_spark_reads_files_and_frames_by_the_names_of_the_source(tmp_path, factories):
    # Skips with the reason where pyspark or Java is absent.
    table = Table("none", (Column("a", Kind.INTEGER),), "none")
    factories["spark"](DataSet("none", (table,), ROW), {"none": []})
    # Names that Spark could read as something else; a plan of all of them takes it half a minute.
    names = [
        *NAMES[:4],
        *("Name", "name", "", "a.b", "`tick`", "``", "line\nbreak", "*", "\\", "x1", "_", "C2", "rowid"),
    ]
    values = [pa.array([place + 1]) for place in range(len(names))]
    pq.write_table(pa.table(values, names=names), tmp_path / "odd.parquet")
    schema = dataset_of("odd.parquet", "spark", names)
    assert sums(SparkEngine(schema, folder=tmp_path), schema) == EXPECTED[: len(names)]
    schema = dataset_of("frames", "spark", names[4:8])
    assert sums(SparkEngine(schema, frames={"odd": pa.table(values[:4], names=names[4:8])}), schema) == EXPECTED[:4]


def test_postgresql_reads_tables_by_the_names_of_the_source(factories):
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    table = Table("none", (Column("a", Kind.INTEGER),), "none")
    url = str(factories["postgresql"](DataSet("none", (table,), ROW), {"none": []}).dataset.engine)
    # A server cuts names at 63 bytes and has none that is empty.
    names = [name for name in NAMES if name and len(name.encode()) <= 63]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    schema = dataset_of("public.odd", url, names)
    with psycopg.connect(url, autocommit=True) as connection:
        columns = ", ".join(f"{name} bigint" for name in quoted)
        connection.cursor().execute(f"CREATE TABLE odd ({columns})".encode())
        try:
            values = ", ".join(map(str, range(1, len(names) + 1)))
            connection.cursor().execute(f"INSERT INTO odd VALUES ({values})".encode())
            assert sums(connect(schema), schema) == list(range(1, len(names) + 1))
            long = replace(schema.tables[0].columns[0], name="long", source="x" * 70)
            cut = replace(schema, tables=(replace(schema.tables[0], columns=(long,)),))
            with pytest.raises(EngineUnavailable, match="no such column"):
                connect(cut).check()
        finally:
            connection.execute("DROP TABLE odd")


@pytest.mark.parametrize("in_place", [False, True])
def test_a_curator_keeps_declared_names_and_asks_by_either(tmp_path, in_place):
    pq.write_table(arrow(), tmp_path / "odd.parquet")
    write_csv(tmp_path / "odd.csv", NAMES)
    source = "odd.parquet" if in_place else "odd.csv"
    schema = dataset_of(str(tmp_path / source))
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(schema, budget=PureDP(1000), in_place=in_place)
        if not in_place:
            (copy,) = (tmp_path / "home" / "data" / "odd").glob("*.parquet")
            assert pq.read_schema(copy).names == plain_names(NAMES)
        with curator.session("odd") as session:
            for name, stored in (("spend", "Total Spend (£)"), ("hi", 'say ""hi""'), ("row", "line\nbreak")):
                answer = session.sql(f'SELECT SUM("{stored}") AS {name} FROM odd WHERE "{stored}" > 0', epsilon=10)
                # The chance of noise beyond this is below 1e-9: 22 times its scale of 100.
                place = NAMES.index(stored.replace('""', '"'))
                assert abs(answer.to_rows()[0][name] - EXPECTED[place]) < 2200


def test_every_name_can_be_asked_for_as_the_source_spells_it():
    dataset = dataset_of("odd.csv")
    for name, stored in zip(plain_names(NAMES), NAMES, strict=True):
        quoted = stored.replace('"', '""')
        declared = parse_sql(f'SELECT SUM("{name}") AS s FROM odd', dataset)
        if stored and stored.lower() not in ("name", "name_1", "name_2"):
            assert parse_sql(f'SELECT SUM("{quoted}") AS s FROM odd', dataset) == declared, stored


def test_sql_takes_either_name_and_refuses_what_is_not_clear():
    columns = (
        Column("education_num", Kind.INTEGER, 1, 16, source="education-num"),
        Column("Name", Kind.TEXT, categories=("a",)),
        Column("name_2", Kind.TEXT, categories=("a",), source="name"),
        Column("id", Kind.INTEGER, source="Größe"),
    )
    people = Table("people", columns, "people.csv")
    dataset = DataSet("people", (people,), ROW)

    def query(text: str) -> Any:
        return parse_sql(text, dataset)

    declared = query("SELECT education_num, COUNT(*) AS n FROM people GROUP BY education_num")
    for word in ('"education-num"', '"Education-Num"', "Education_NUM", '"education_num"', 'people."education-num"'):
        assert query(f"SELECT {word}, COUNT(*) AS n FROM people GROUP BY {word}") == declared, word
    inner = 'SELECT education_num, COUNT(*) AS n FROM (SELECT "education-num" FROM people) AS x GROUP BY education_num'
    assert query(inner).outputs == declared.outputs
    assert query("SELECT COUNT(Größe) AS n FROM people") == query("SELECT COUNT(id) AS n FROM people")
    assert query("SELECT Name, COUNT(*) AS n FROM people GROUP BY Name") != query(
        "SELECT name_2, COUNT(*) AS n FROM people GROUP BY name_2"
    )
    # In quotes a header means itself, as it is spelled.
    assert query('SELECT "name", COUNT(*) AS n FROM people GROUP BY "name"') == query(
        "SELECT name_2, COUNT(*) AS n FROM people GROUP BY name_2"
    )
    for word in ("name", "NAME", '"NAME"'):
        with pytest.raises(InvalidParameter, match="clear: one of Name, name_2, got"):
            query(f"SELECT COUNT({word}) AS n FROM people")
    with pytest.raises(InvalidParameter, match='"education-num", or one of'):
        query('SELECT COUNT("educatoin-num") AS n FROM people')


def test_what_no_source_can_be_asked_for_is_refused_with_its_place():
    text = "dataset: odd\nunit: row\ntables:\n  odd:\n    source: odd.csv\n    columns:\n"
    assert loads(text + '      a: {kind: text, from: ""}\n').tables[0].columns[0].source == ""
    for line, place, rule in (
        ('a: {kind: text, from: "x\\0"}', r"columns\.a\.from \(line 7\)", "without NUL"),
        ("a: {kind: text, from: " + "x" * 1025 + "}", r"columns\.a\.from", "at most 1024 characters"),
        ("a: {kind: text, from: }", r"columns\.a\.from", "the name that the column has in its source"),
        ("a: {kind: text, from: [x]}", r"columns\.a\.from", "the name that the column has in its source"),
        ("a: {kind: text, from: x}\n      b: {kind: text, from: x}", r"tables\.odd\.columns", "one column only"),
        ("a: {kind: text, from: b}\n      b: text", r"tables\.odd", "one column only"),
        (
            "a: {kind: text, from: b}\n      b: {kind: text, from: c}",
            r"columns\.a\.from",
            "of no other declared column",
        ),
    ):
        with pytest.raises(InvalidSchema, match=place) as refused:
            loads(f"{text}      {line}\n")
        assert rule in str(refused.value)
    for name in ("\ud800", "\x00"):
        with pytest.raises(InvalidParameter, match="lone surrogates"):
            Column("a", Kind.TEXT, source=name)


def test_columns_that_share_a_name_are_left_out_and_said_to_be(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("id,cost,cost,day\n1,2,3,4\n")
    draft = suggest(path)
    assert [line.split(":")[0] for line in draft.left_out] == ["cost", "cost"]
    assert "names 2 columns, so that it identifies none of them: give them different names" in draft.text
    # Not even where somebody declares it: which one would be meant?
    schema = dataset_of(str(path), names=["cost"])
    with pytest.raises(EngineUnavailable, match="occurs twice"):
        DuckDBEngine(schema).check()
    twice = pa.table([[1], [2]], names=["cost", "cost"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(EngineUnavailable, match="occurs twice"):
        DuckDBEngine(dataset_of(str(tmp_path / "twice.parquet"), names=["cost"])).check()
    number_and_text = pd.DataFrame([[1, 2]], columns=[1, "1"])
    for frame in (twice, twice.to_pandas(), number_and_text):
        name = "1" if frame is number_and_text else "cost"
        schema = dataset_of("frames", names=[name])
        with pytest.raises(EngineUnavailable, match="occurs twice in the frame"):
            DuckDBEngine(schema, frames={"odd": frame}).check()


def test_what_a_name_matches_does_not_depend_on_rows(tmp_path):
    """DuckDB numbers names that differ in case alone: its numbers are no names of the file."""
    pq.write_table(pa.table([[1], [2]], names=["Name", "name"]), tmp_path / "a.parquet")
    pq.write_table(pa.table([[2], [1]], names=["name", "Name"]), tmp_path / "b.parquet")
    with pytest.raises(EngineUnavailable, match="no such column"):
        DuckDBEngine(dataset_of(str(tmp_path / "a.parquet"), names=["name_1"])).check()
    # Each file by itself is clear; DuckDB reads several of them by the places of the first.
    schema = dataset_of(str(tmp_path / "*.parquet"), names=["Name", "name"])
    with pytest.raises(EngineUnavailable, match="differ in case alone"):
        DuckDBEngine(schema).check()
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(schema, budget=PureDP(1))
        (copy,) = (tmp_path / "home" / "data" / "odd").glob("*.parquet")
    assert pq.read_table(copy).to_pydict() == {"Name": [1, 1], "name_2": [2, 2]}


def test_files_that_are_read_together_have_the_same_columns(tmp_path):
    """DuckDB finds the columns of all files by the names, and casts their cells to the types, of the first."""
    pq.write_table(pa.table({"name": [7, 7]}), tmp_path / "a.parquet")
    others = {
        # The first of these would be read for the second.
        "differ in case alone": pa.table({"NAME": [1, 2], "name": [7, 7]}),
        # One such cell would fail every statement, after its charge.
        "is BIGINT in one file and VARCHAR in another": pa.table({"name": ["7", "x"]}),
        # Two numbers would be rounded to one.
        "is BIGINT in one file and DOUBLE in another": pa.table({"name": [7.4, 6.6]}),
    }
    schema = dataset_of(str(tmp_path / "*.parquet"), names=["name"])
    for place, (reason, other) in enumerate(others.items()):
        pq.write_table(other, tmp_path / "b.parquet")
        with pytest.raises(EngineUnavailable, match=reason):
            DuckDBEngine(schema).check()
        with Curator.create(tmp_path / f"home {place}", anchors=tmp_path / "anchors") as curator:
            with pytest.raises(EngineUnavailable, match=reason):
                curator.add(schema, budget=PureDP(1), in_place=True)
            assert not curator.datasets()
            curator.add(schema, budget=PureDP(1))


class Label:
    """A label that calls itself equal to anything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("cost")

    def __str__(self) -> str:
        return "cost"


def test_labels_of_pandas_that_are_no_names_match_nothing():
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("cost", "a"), ("cost", "b")]))
    foreign = pd.DataFrame([[1]], columns=pd.Index([Label()], dtype=object))
    for frame in (levels, foreign, pd.DataFrame([[1]], columns=[True]), pd.DataFrame([[1]], columns=[None])):
        for name in ("cost", "True", "None", "nan", "('cost', 'a')"):
            with pytest.raises(EngineUnavailable, match=r"no such column|no column names"):
                DuckDBEngine(dataset_of("frames", names=[name]), frames={"odd": frame}).check()
        with pytest.raises(InvalidParameter, match="named by strings or integers"):
            suggest(frame)
