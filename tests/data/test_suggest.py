"""Drafts come from names and declared types; copies are typed, private and appear at once or not at all."""

import datetime
import gzip
from contextlib import ExitStack

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dither.data.files import loads
from dither.data.hints import hint, id_candidates
from dither.data.suggest import suggest
from dither.errors import EngineUnavailable, InvalidParameter, InvalidSchema
from dither.testing.postgres import PostgresAbsent, temporary_postgres


def decided(draft, *, kinds=None):
    """Decide a draft as a curator would: replace every placeholder, leave every comment."""
    fixed = {"unit": "person", "contribution": "{rows: 5}", "privacy id": "patient_id", "kind": "text"}
    answers = {**fixed, **(kinds or {})}
    lines = []
    for line in draft.text.splitlines():
        key, separator, rest = line.partition(": ???")
        lines.append(f"{key}: {answers[key.strip()]}{rest}" if separator else line)
    return "\n".join(lines)


def test_a_draft_of_a_csv_file_reads_the_first_line_alone(tmp_path):
    path = tmp_path / "visits 2024.csv"
    # What follows the names is no text at all: nothing of it may be read, let alone shown.
    path.write_bytes(b"patient_id,age,region,Cost (EUR),day\n\xff\xfe\x00 42,secretville\n")
    draft = suggest(path)
    assert "secretville" not in draft.text
    assert draft.decisions == (
        "unit",
        "contribution",
        "tables.visits_2024.privacy id",
        *(f"tables.visits_2024.columns.{name}" for name in ("patient_id", "age", "region", "Cost_EUR.kind", "day")),
    )
    assert draft.left_out == ()
    assert "perhaps real, and below it a line 'bounds: [0, 1000]'" in draft.text
    assert "perhaps {kind: integer, bounds: [0, 120]}" in draft.text
    assert "candidates by their names: patient_id" in draft.text
    with pytest.raises(InvalidSchema, match="decided by the curator"):
        loads(draft.text)
    kinds = {"patient_id": "integer", "age": "integer", "region": "text", "day": "date"}
    dataset = loads(decided(draft, kinds=kinds))
    assert dataset.table("visits_2024").column("Cost_EUR").source == "Cost (EUR)"
    assert dataset.table("visits_2024").person == "patient_id"
    assert dataset.table("visits_2024").source == str(path)


def test_a_draft_of_json_lines_says_that_its_columns_were_read_from_rows(tmp_path):
    path = tmp_path / "visits.jsonl"
    path.write_text('{"age": 1}\n{"age": 2, "only_here": 3}\n')
    assert "only_here" in suggest(path).text
    assert "a key that a single row has" in suggest(path).text
    plain = tmp_path / "visits.csv"
    plain.write_text("age\n1\n")
    assert "a single row" not in suggest(plain).text


@pytest.mark.parametrize("place", range(7))
def test_a_draft_is_refused_until_the_last_decision(tmp_path, place):
    path = tmp_path / "visits.csv"
    path.write_text("patient_id,age,region,day\n")
    draft = suggest(path)
    kinds = {"patient_id": "integer", "age": "integer", "region": "text", "day": "date"}
    text = decided(draft, kinds=kinds)
    loads(text)
    decisions = [line for line in draft.text.splitlines() if ": ???" in line]
    assert len(decisions) == len(draft.decisions) == 7
    key = decisions[place].split(": ???")[0]
    undone = "\n".join(decisions[place] if line.startswith(f"{key}: ") else line for line in text.splitlines())
    with pytest.raises(InvalidSchema, match=draft.decisions[place].replace(".", r"\.")):
        loads(undone)


def test_declared_types_of_parquet(tmp_path):
    path = tmp_path / "visits.parquet"
    duckdb.sql(
        "SELECT 1::BIGINT AS patient_id, 2.5::DECIMAL(9, 2) AS price, true AS is_new, 'north' AS region, "
        "DATE '2024-01-01' AS day, TIMESTAMP '2024-01-01' AS at, [1] AS list, "
        "TIMESTAMPTZ '2024-01-01' AS zoned, 'x'::BLOB AS photo"
    ).write_parquet(str(path))
    draft = suggest(path)
    assert [line.split(":")[0] for line in draft.left_out] == ["list", "photo"]
    kinds = loads(decided(draft)).table("visits").kinds
    assert {name: kind.value for name, kind in kinds.items()} == {
        "patient_id": "integer",
        "price": "real",
        "is_new": "boolean",
        "region": "text",
        "day": "date",
        "at": "timestamp",
        "zoned": "timestamp",
    }
    assert "north" not in draft.text


_NOW = datetime.datetime(2024, 1, 1)
FRAMES = {
    "pandas": pd.DataFrame(
        {
            "patient_id": pd.Series([1], dtype="Int64"),
            "price": [1.5],
            "is_new": [True],
            "region": pd.Series(["north"], dtype="string"),
            "at": [_NOW],
        }
    ),
    "polars": pl.DataFrame(
        {"patient_id": [1], "price": [1.5], "is_new": [True], "region": ["north"], "at": [_NOW]},
    ),
    "arrow": pa.table({"patient_id": [1], "price": [1.5], "is_new": [True], "region": ["north"], "at": [_NOW]}),
}


@pytest.mark.parametrize("library", FRAMES)
def test_declared_types_of_frames(library):
    draft = suggest(FRAMES[library], name="visits")
    kinds = loads(decided(draft)).table("visits").kinds
    assert [kind.value for kind in kinds.values()] == ["integer", "real", "boolean", "text", "timestamp"]


def test_zones_and_objects_declare_nothing():
    zoned = pd.DataFrame({"patient_id": [1], "at": pd.to_datetime(["2024-01-01"], utc=True)})
    for frame in (zoned, pl.from_pandas(zoned), pa.Table.from_pandas(zoned)):
        assert "      at: timestamp" in suggest(frame).text.splitlines()
    mixed = pd.DataFrame({"patient_id": pd.Series([1, "x"], dtype=object)})
    assert suggest(mixed).decisions[-1] == "tables.rows.columns.patient_id"


def test_names_cannot_break_out_of_the_draft(tmp_path):
    path = tmp_path / "a\nunit: row # .csv"
    stored = ["patient_id", "a: [1", "__person", "AGE", "age", "é", "#"]
    path.write_text('patient_id,"a: [1","__person",AGE,age,é,"#"\n')
    dataset = loads(decided(suggest(path), kinds={"patient_id": "integer", "AGE": "integer"}))
    assert dataset.protects_persons
    assert dataset.tables[0].source == str(path)
    assert list(dataset.tables[0].kinds) == ["patient_id", "a_1", "person", "AGE", "age_2", "e", "c"]
    assert [column.stored_name for column in dataset.tables[0].columns] == stored
    names = ["patient_id", "x\nengine: postgresql://evil", "y\u2028engine: spark", "z\rengine: spark"]
    frame = pd.DataFrame({name: [1] for name in names})
    dataset = loads(decided(suggest(frame, name="rows: 1")))
    assert dataset.engine == "duckdb"
    assert [column.stored_name for column in dataset.tables[0].columns] == names


def test_other_delimiters_and_compression(tmp_path):
    path = tmp_path / "visits.tsv.gz"
    path.write_bytes(gzip.compress("\ufeffpatient_id\tage\n1\t2\n".encode()))
    assert suggest(path).decisions[-1] == "tables.visits.columns.age"
    path = tmp_path / "visits.csv"
    path.write_text("patient_id;age\n")
    assert suggest(path).decisions[-1] == "tables.visits.columns.age"


def test_what_cannot_be_drafted(tmp_path):
    with pytest.raises(EngineUnavailable, match="no file"):
        suggest(tmp_path / "absent.csv")
    (tmp_path / "a.doc").write_bytes(b"x")
    with pytest.raises(EngineUnavailable, match="no known kind"):
        suggest(tmp_path / "a.doc")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 secretville")
    with pytest.raises(EngineUnavailable, match="damaged") as caught:
        suggest(tmp_path / "a.parquet")
    assert "secretville" not in str(caught.value)
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(EngineUnavailable, match="no column"):
        suggest(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(b"\xff\xff\n")
    with pytest.raises(EngineUnavailable, match="first line"):
        suggest(tmp_path / "a.csv")
    with pytest.raises(InvalidParameter, match="source"):
        suggest({"age": [1]})
    with pytest.raises(InvalidParameter) as hidden:
        suggest("mysql://ana:hunter2@db/clinic", name="visits")
    assert "hunter2" not in str(hidden.value)


def test_declared_types_of_a_database(monkeypatch):
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg")
    with ExitStack() as stack:
        try:
            server = stack.enter_context(temporary_postgres())
        except PostgresAbsent as absent:
            pytest.skip(str(absent))
        with psycopg.connect(server.url) as connection:
            connection.execute("CREATE SCHEMA ward")
            connection.execute(
                "CREATE TABLE ward.visits (patient_id bigint, price numeric(9, 2), is_new boolean, region varchar(20), "
                "day date, at timestamp, zoned timestamptz, list integer[], photo bytea)"
            )
            connection.execute("INSERT INTO ward.visits (region) VALUES ('secretville')")
        monkeypatch.setenv("DITHER_TEST_DATABASE", "postgres")
        address = server.address("${DITHER_TEST_DATABASE}")
        draft = suggest(address, name="ward.visits")
        assert [line.split(":")[0] for line in draft.left_out] == ["list", "photo"]
        dataset = loads(decided(draft))
        assert dataset.engine == address
        assert dataset.table("visits").source == "ward.visits"
        kinds = [kind.value for kind in dataset.table("visits").kinds.values()]
        assert kinds == ["integer", "real", "boolean", "text", "date", "timestamp", "timestamp"]
        assert "secretville" not in draft.text
        with pytest.raises(EngineUnavailable, match="no table"):
            suggest(address, name="visits")
        with pytest.raises(EngineUnavailable, match="no table"):
            suggest(address, name="x'; DROP TABLE ward.visits; --")
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT count(*) FROM ward.visits").fetchone() == (1,)
        with pytest.raises(InvalidParameter, match="name"):
            suggest(address)
    with pytest.raises(EngineUnavailable) as caught:
        suggest(server.url.replace("dither@", "dither:hunter2@"), name="visits")
    assert "hunter2" not in str(caught.value)


def test_names_suggest():
    assert id_candidates(["age", "order_id", "customerId", "patient_age", "user"]) == ["customerId", "user", "order_id"]
    assert hint("DischargeHour").bounds == "[0, 23]"
    assert hint("success_pct").bounds == "[0, 100]"
    assert hint("total").kind is None
