# ruff: noqa: S608 - statements that must be refused
"""DuckDB alone: files and frames that are odd, absent or damaged, and a connection that can do nothing else."""

from __future__ import annotations

import datetime
import gzip
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dither.data import Aggregation, Column, CountRows, DataSet, Keep, Kind, Name, Relation, Scan, Sum, Table
from dither.data.engines import connect
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.evaluation import cell
from dither.errors import DitherError, EngineFailure, EngineUnavailable, InvalidParameter
from dither.privacy import ROW

EVERY_KIND = (
    Column("row", Kind.INTEGER),
    Column("b", Kind.BOOLEAN),
    Column("i", Kind.INTEGER),
    Column("r", Kind.REAL),
    Column("t", Kind.TEXT),
    Column("d", Kind.DATE),
    Column("m", Kind.TIMESTAMP),
)


def dataset(source: str, columns: tuple[Column, ...] = EVERY_KIND) -> DataSet:
    return DataSet("odd", (Table("odd", columns, source),), ROW)


def cells_of(engine: Any) -> dict[Any, tuple[Any, ...]]:
    table = engine.dataset.tables[0]
    keys = tuple(Name(name) for name in table.kinds)
    answer = engine.aggregate(Aggregation(Scan(table), keys, (CountRows(),)))
    return {key[0]: key[1:] for key in answer.keys}


def count(engine: Any) -> int:
    answer: int = engine.aggregate(Aggregation(Scan(engine.dataset.tables[0]), (), (CountRows(),))).measures[0][0]
    return answer


ODD_CELLS = [
    ("true", "12", "1e3", "plain", "2024-02-29", "2024-02-29 10:11:12"),
    ("F", "12.0", ".5", '"quoted ""text"", with comma"', "2024-02-30", "2024-02-29T10:11:12"),
    ("yes", "12.5", "nan", '"two\nlines"', "29.2.2024", "2024-02-29"),
    ("1", "9223372036854775808", "1e400", '""', "0000-01-01", "later"),
    ("", "", "", "", "", ""),
    ("tRuE", "0x10", "1_000", "'", "epoch", "now"),
    (" true", " 7 ", " 7.5 ", " padded ", "2024-01-01 ", "2024-01-01 24:00:00"),
    ("0", "-9223372036854775808", "-0", "日本🙂", "9999-12-31", "9999-12-31 23:59:59"),
]


def test_a_csv_file_gives_its_cells_by_the_declared_kinds_and_nothing_is_guessed(tmp_path: Path) -> None:
    lines = ["extra,row,b,i,r,t,d,m", *(f"x,{place},{','.join(row)}" for place, row in enumerate(ODD_CELLS))]
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kinds = [column.kind for column in EVERY_KIND[1:]]
    meant = {}
    for place, row in enumerate(ODD_CELLS):
        plain = [None if text == "" else text.strip('"').replace('""', '"') for text in row]
        meant[place] = tuple(cell(text, kind) for text, kind in zip(plain, kinds, strict=True))
    with connect(dataset("odd.csv"), folder=tmp_path) as engine:
        engine.check()
        assert cells_of(engine) == meant


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_read_off_the_first_line(tmp_path: Path, delimiter: str) -> None:
    text = "\ufeff" + delimiter.join(("i", "a b", '"t"')) + "\n" + delimiter.join(("1", "x", "y")) + "\n"
    with gzip.open(tmp_path / "odd.csv.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    columns = (Column("i", Kind.INTEGER), Column("t", Kind.TEXT))
    with DuckDBEngine(dataset("odd.csv.gz", columns), folder=tmp_path) as engine:
        assert cells_of(engine) == {1: ("y",)}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"2", "1 field, while the first line has 2"),
        (b"3,Quist,c", "3 fields"),
        (b"4,Quist\xff\xfe", "not UTF-8"),
        (b"5,Quist\x00", "NUL"),
        (b'6,"Quist', "never closed"),
        (b'7,"Quist"x', "between the closing quote"),
        (b'8,"Qui\\"st"', "between the closing quote"),
        (b'9,Qui"st', "a quote within a field"),
        (b"10,Quist\r", "ends in CR LF, while the first one ends in LF"),
        (b"", "a blank line"),
    ],
)
def test_a_file_is_taken_whole_or_refused_with_line_and_reason_and_without_a_cell(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], row: bytes, reason: str
) -> None:
    (tmp_path / "odd.csv").write_bytes(b'row,t\n1,a\n0,"two\nlines"\n' + row + b"\n9,z\n")
    columns = (Column("row", Kind.INTEGER), Column("t", Kind.TEXT))
    with (
        caplog.at_level(logging.DEBUG),
        DuckDBEngine(dataset("odd.csv", columns), folder=tmp_path) as engine,
        pytest.raises(EngineUnavailable, match=rf"odd\.csv, line 5: .*({reason})") as caught,
    ):
        engine.check()
    assert "Qui" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert "Qui" not in repr(caught.value.__context__)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_long_text_in_a_csv_file_is_a_text_of_the_declared_length(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(f"row,t\n1,{'x' * 3_000_000}\n2,y\n")
    columns = (Column("row", Kind.INTEGER), Column("t", Kind.TEXT, length=50_000))
    with DuckDBEngine(dataset("odd.csv", columns), folder=tmp_path) as engine:
        assert {key: len(texts[0]) for key, texts in cells_of(engine).items()} == {1: 50_000, 2: 1}


def odd_values() -> dict[str, list[Any]]:
    moment = datetime.datetime(2024, 2, 29, 10, 11, 12, 345678)
    return {
        "row": [0, 1, 2],
        "b": [True, None, False],
        "i": [2**63 - 1, None, -(2**63)],
        "r": [float("nan"), float("inf"), -0.0],
        "t": ["a'b", None, "日本🙂"],
        "d": [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)],
        "m": [moment, None, datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    }


MEANT = {
    0: (True, 2**63 - 1, None, "a'b", datetime.date(1, 1, 1), datetime.datetime(2024, 2, 29, 10, 11, 12, 345678)),
    1: (None, None, None, None, None, None),
    2: (
        False,
        -(2**63),
        0.0,
        "日本🙂",
        datetime.date(9999, 12, 31),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ),
}


def arrow() -> Any:
    return pytest.importorskip("pyarrow").table(odd_values())


def pandas_frame() -> Any:
    pandas = pytest.importorskip("pandas")
    values = odd_values()
    typed = {"i": pandas.array(values["i"], dtype="Int64"), "b": pandas.array(values["b"], dtype="boolean")}
    return pandas.DataFrame({**values, **typed, "d": pandas.Series(values["d"], dtype=object)})


def pandas_objects() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name, cells in odd_values().items()})


def polars_frame() -> Any:
    pytest.importorskip("pyarrow")
    return pytest.importorskip("polars").DataFrame(odd_values())


@pytest.mark.parametrize("make", [arrow, pandas_frame, pandas_objects, polars_frame])
def test_frames_of_every_kind_give_the_same_cells(make: Any) -> None:
    with DuckDBEngine(dataset("-"), frames={"odd": make()}) as engine:
        engine.check()
        assert cells_of(engine) == MEANT


def test_a_parquet_file_gives_the_same_cells_and_several_may_be_given(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for place in range(2):
        parquet.write_table(arrow().slice(place * 2, 2 - place), tmp_path / f"part{place}.parquet")
    for source in ("part*.parquet", str(tmp_path / "part*.parquet")):
        with DuckDBEngine(dataset(source), folder=tmp_path) as engine:
            engine.check()
            assert cells_of(engine) == MEANT


def test_objects_of_any_kind_in_a_pandas_column_are_cells_or_null() -> None:
    pandas = pytest.importorskip("pandas")
    odd = [1, "x", None, object(), 2.5, float("nan"), True, b"bytes", [1], Decimal("3.5"), 10**30, "\ud800"]
    frame = pandas.DataFrame({"row": range(len(odd)), "i": pandas.Series(odd, dtype=object)})
    for kind in Kind:
        columns = (Column("row", Kind.INTEGER), Column("i", kind))
        with DuckDBEngine(dataset("-", columns), frames={"odd": frame}) as engine:
            assert cells_of(engine) == {place: (cell(value, kind),) for place, value in enumerate(odd)}


def test_stored_types_that_are_wider_or_narrower_are_cast_and_others_refused() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    numbers = {
        "row": [0, 1],
        "u": pyarrow.array([2**64 - 1, 7], type=pyarrow.uint64()),
        "s": pyarrow.array([1, -1], type=pyarrow.int8()),
        "f": pyarrow.array([float("inf"), -2.5], type=pyarrow.float32()),
        "x": pyarrow.array([Decimal("-2.50"), None], type=pyarrow.decimal128(20, 2)),
        "c": pyarrow.array(["a", "b"]).dictionary_encode(),
        "ns": pyarrow.array([0, 1_500], type=pyarrow.timestamp("ns")),
        "z": pyarrow.array([0, 1], type=pyarrow.timestamp("us", tz="Asia/Tokyo")),
    }
    frame = pyarrow.table(numbers)
    fitting = {
        ("u", Kind.INTEGER): (None, 7),
        ("u", Kind.REAL): (None, 7.0),
        ("s", Kind.TEXT): ("1", "-1"),
        ("f", Kind.REAL): (None, -2.5),
        ("f", Kind.INTEGER): (None, -3),
        ("x", Kind.INTEGER): (-3, None),
        ("c", Kind.TEXT): ("a", "b"),
        ("ns", Kind.TIMESTAMP): (datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
        ("ns", Kind.DATE): (datetime.date(1970, 1, 1), datetime.date(1970, 1, 1)),
        ("z", Kind.TIMESTAMP): (datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
    }
    for (name, kind), meant in fitting.items():
        with DuckDBEngine(
            dataset("-", (Column("row", Kind.INTEGER), Column(name, kind))), frames={"odd": frame}
        ) as engine:
            assert cells_of(engine) == {0: meant[:1], 1: meant[1:]}
    for name, kind in (("s", Kind.DATE), ("ns", Kind.REAL), ("f", Kind.TEXT)):
        engine = DuckDBEngine(dataset("-", (Column("row", Kind.INTEGER), Column(name, kind))), frames={"odd": frame})
        with engine, pytest.raises(EngineUnavailable, match=f"column {name} of table odd is declared {kind.value}"):
            engine.check()


def test_tables_that_cannot_be_opened_are_refused_with_the_fix(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow(), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "text.parquet").write_text("row,b\n1,2\n")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "twice.csv").write_text("row,row\n1,2\n")
    (tmp_path / "near.csv").write_text("rows,b\n1,2\n")
    (tmp_path / "binary.csv").write_bytes(whole)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"row\n1\n")[:12])
    (tmp_path / "notes.docx").write_text("row\n1\n")
    one = (Column("row", Kind.INTEGER),)
    cases = [
        ("absent.csv", one, "does not exist; correct its source"),
        ("*.none", one, "does not exist; correct its source"),
        (".", one, "notes.docx is of no known kind"),
        ("cut.parquet", one, "write it again"),
        ("empty.parquet", one, "write it again"),
        ("text.parquet", one, "write it again"),
        ("empty.csv", one, "has no column names"),
        ("twice.csv", one, "occurs twice"),
        ("near.csv", one, "did you mean 'rows'"),
        ("binary.csv", one, "binary.csv, line 1: in the names of the columns, a NUL"),
        ("cut.csv.gz", one, "write it again"),
        ("notes.docx", one, "files end in"),
        ("whole.parquet", (Column("nothing", Kind.INTEGER),), "no such column"),
        ("whole.parquet", (Column("ROW", Kind.INTEGER),), "no such column"),
    ]
    for source, columns, message in cases:
        with (
            DuckDBEngine(dataset(source, columns), folder=tmp_path) as engine,
            pytest.raises(EngineUnavailable) as caught,
        ):
            engine.check()
        assert message in str(caught.value), source
        assert caught.value.__cause__ is None
    for frame in ([{"row": 1}], "row", 7, pyarrow.array([1])):
        engine = DuckDBEngine(dataset("-", one), frames={"odd": frame})
        with engine, pytest.raises(EngineUnavailable, match="give a pandas"):
            engine.check()


def test_a_query_that_dies_midway_has_one_text_and_no_cause(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = (Column("row", Kind.INTEGER), Column("t", Kind.TEXT))
    table = pytest.importorskip("pyarrow").table({"row": list(range(5000)), "t": [f"secret{n}" for n in range(5000)]})
    parquet.write_table(table, tmp_path / "odd.parquet")
    whole = bytearray((tmp_path / "odd.parquet").read_bytes())
    with DuckDBEngine(dataset("odd.parquet", columns), folder=tmp_path) as engine:
        engine.check()
        assert count(engine) == 5000
        whole[10 : len(whole) // 2] = b"\xff" * (len(whole) // 2 - 10)
        (tmp_path / "odd.parquet").write_bytes(whole)
        with pytest.raises(EngineFailure) as caught:
            cells_of(engine)
    assert str(caught.value) == str(EngineFailure())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")
    parquet.write_table(table, tmp_path / "odd.parquet")
    with DuckDBEngine(dataset("odd.parquet", columns), folder=tmp_path) as engine:
        engine.check()
        (tmp_path / "odd.parquet").unlink()
        with pytest.raises(EngineFailure):
            count(engine)


def test_the_connection_can_read_the_declared_files_and_do_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("row\n1\n")
    (tmp_path / "other.csv").write_text("row\n2\n")
    engine = DuckDBEngine(dataset("odd.csv", EVERY_KIND[:1]), folder=tmp_path)
    with engine:
        engine.check()
        inside = engine._opened()
        for statement in (
            f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
            f"SELECT * FROM '{tmp_path}/other.csv'",
            f"SELECT * FROM glob('{tmp_path}/*')",
            f"SELECT * FROM read_text('{tmp_path}/other.csv')",
            f"COPY (SELECT 1) TO '{tmp_path}/written.csv'",
            f"COPY (SELECT 1) TO '{tmp_path}/odd.parquet'",
            f"ATTACH '{tmp_path}/written.db'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET memory_limit = '1GB'",
            "SET lock_configuration = false",
            "SELECT * FROM dataset",
        ):
            with pytest.raises(Exception, match=r"(Permission|Invalid Input|Catalog|Binder|IO) Error"):
                inside.execute(statement).fetchall()
        spill = engine._spill.path
        assert spill.stat().st_mode & 0o077 == 0
        assert count(engine) == 1
    assert not spill.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd.csv", "other.csv"]


def test_paths_are_texts_whatever_they_look_like(tmp_path: Path) -> None:
    for name in ("it's.csv", "a'] , x); --.csv", 'quo"ted.csv', "日本.csv", "$1 {0} %s.csv"):
        (tmp_path / name).write_text("row\n1\n2\n")
        with DuckDBEngine(dataset(name, EVERY_KIND[:1]), folder=tmp_path) as engine:
            assert count(engine) == 2
    with DuckDBEngine(dataset("a\x00.csv", EVERY_KIND[:1]), folder=tmp_path) as engine, pytest.raises(DitherError):
        engine.check()


def test_a_small_memory_limit_spills_and_answers_the_same(tmp_path: Path) -> None:
    from dither.data import Bounded, Limits
    from dither.data.schema import person_unit

    pyarrow = pytest.importorskip("pyarrow")
    numbers = list(range(400_000))
    frame = pyarrow.table({"id": [n % 100_003 for n in numbers], "t": [f"text number {n:09d}" for n in numbers]})
    table = Table("odd", (Column("id", Kind.INTEGER), Column("t", Kind.TEXT)), "-", person="id")
    persons = DataSet("odd", (table,), person_unit("id"), rows=2)
    aggregation = Aggregation(Bounded(Scan(table), (), Limits(rows=2), ("id", "t")), (), (CountRows(), Sum(Name("id"))))
    answers = []
    for memory in ("40MB", None):
        with DuckDBEngine(persons, frames={"odd": frame}, memory=memory, threads=1) as engine:
            answers.append(engine.aggregate(aggregation).measures)
    assert answers[0] == answers[1]
    assert answers[0][0][0] == 200_006


def test_lists_of_public_keys_do_not_pile_up(tmp_path: Path) -> None:
    from dither.data import Keep

    (tmp_path / "odd.csv").write_text("row\n" + "\n".join(map(str, range(50))) + "\n")
    with DuckDBEngine(dataset("odd.csv", EVERY_KIND[:1]), folder=tmp_path) as engine:
        for number in range(30):
            kept = Keep(Scan(engine.dataset.tables[0]), (Name("row"),), ((number,), (None,)))
            assert engine.aggregate(Aggregation(kept, (Name("row"),), (CountRows(),))).keys == ((number,),)
        tables = engine._opened().execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    assert tables[0][0] <= 8


def test_settings_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("row\n1\n")
    engine = DuckDBEngine(dataset("odd.csv", EVERY_KIND[:1]), folder=tmp_path, memory="plenty")
    with engine, pytest.raises(EngineUnavailable, match="DuckDB does not start"):
        engine.check()
    with pytest.raises(InvalidParameter, match="engine must be"):
        connect(DataSet("odd", (Table("odd", EVERY_KIND, "odd.csv"),), ROW, engine="oracle"), folder=tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_end_in_one_of_two_ways(tmp_path: Path, end: str, last: bool) -> None:
    text = end.join(("row,t", "1,a", '2,"b"', "3,c")) + (end if last else "")
    (tmp_path / "odd.csv").write_bytes(text.encode())
    columns = (Column("row", Kind.INTEGER), Column("t", Kind.TEXT))
    with DuckDBEngine(dataset("odd.csv", columns), folder=tmp_path) as engine:
        assert cells_of(engine) == {1: ("a",), 2: ("b",), 3: ("c",)}


def test_names_in_a_path_are_no_columns(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "row=7").mkdir()
    parquet.write_table(pyarrow.table({"row": [1], "t": ["a"]}), tmp_path / "row=7" / "odd.parquet")
    (tmp_path / "row=7" / "odd.csv").write_text("row,t\n1,a\n")
    columns = (Column("row", Kind.INTEGER), Column("t", Kind.TEXT))
    for name in ("odd.parquet", "odd.csv"):
        with DuckDBEngine(dataset(f"row=7/{name}", columns), folder=tmp_path) as engine:
            assert cells_of(engine) == {1: ("a",)}


def test_one_statement_may_name_more_lists_than_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    names = [f"c{number}" for number in range(12)]
    table = Table("wide", tuple(Column(name, Kind.INTEGER) for name in names), "wide")
    engine = connect(
        DataSet("wide", (table,), ROW), frames={"wide": pandas.DataFrame({name: [1, 2] for name in names})}
    )
    rows: Relation = Scan(table)
    for place, name in enumerate(names):
        rows = Keep(rows, (Name(name),), ((1,), (100 + place,)))
    assert engine.aggregate(Aggregation(rows, (), (CountRows(),))).measures[0][0] == 1
    engine.close()
