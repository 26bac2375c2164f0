# ruff: noqa: S608 - paths of this test
"""JSON lines and workbooks: what their cells mean, and what is refused in words; delimiters and sheets."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import Column, Kind, Table
from dither.data.facts import Facts
from dither.data.importing import excel_reader
from dither.data.importing.conversion import convert
from dither.data.importing.sources import unknown_kind
from dither.data.suggest import described
from dither.errors import EngineUnavailable, InvalidParameter
from tests.workbook_files import Day, rows_of, write_workbook

pytest.importorskip("python_calamine")

KINDS = {"n": Kind.INTEGER, "x": Kind.REAL, "t": Kind.TEXT, "d": Kind.DATE, "m": Kind.TIMESTAMP, "b": Kind.BOOLEAN}


def read(path: Path, *, form: dict[str, tuple[str, ...]] | None = None, **how: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a file as they are imported, in any order."""
    names = how.pop("names", KINDS)
    columns = tuple(Column(name, KINDS[name], form=(form or {}).get(name)) for name in names)
    goal = path.with_name("copy.parquet")
    goal.unlink(missing_ok=True)
    convert(Table("t", columns, str(path), **how), [str(path)], goal)
    return sorted(duckdb.sql(f"SELECT * FROM '{goal}'").fetchall(), key=str)


def workbook(folder: Path, *rows: list[Any], behind: str = "") -> Path:
    path = folder / "book.xlsx"
    write_workbook(path, {"Data": rows_of(rows)}, behind)
    return path


def test_cells_of_a_workbook_are_what_excel_stores(tmp_path: Path) -> None:
    path = workbook(
        tmp_path,
        [*KINDS],
        [3.0, 0.1, "a;b", Day(45292), Day(45292.75), True],
        [2.5, "7", 12.0, Day(45292.75), "2024-01-02 10:00:00", "x"],
        [],
        ["5", None, None, "2024-01-01", Day(45292), False],
    )
    day, evening = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 18)
    assert read(path) == [
        (3, 0.1, "a;b", day, evening, True),
        (5, None, None, day, datetime.datetime(2024, 1, 1), False),
        # A number with decimals is no integer; the day of a moment is a day.
        (None, 7.0, "12", day, datetime.datetime(2024, 1, 2, 10), None),
    ]


def test_forms_are_about_strings_and_not_about_stored_numbers_and_days(tmp_path: Path) -> None:
    path = workbook(tmp_path, ["x", "d"], [1234.5, Day(45292)], ["1.234,5 €", "2.1.2024"], ["1234.5", "2024-01-01"])
    form = {"x": ("1.234,56 €",), "d": ("DD.MM.YYYY",)}
    want = [(1234.5, datetime.date(2024, 1, 1)), (1234.5, datetime.date(2024, 1, 2)), (None, None)]
    assert read(path, names=("x", "d"), form=form) == want
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"x": 1234.5, "d": "1.1.2024"}\n{"x": "1.234,5 €", "d": "2.1.2024"}\n{"x": "1234.5"}\n')
    assert read(lines, names=("x", "d"), form=form) == want
    assert read(lines, names=("x",), decimal=",") == [(1234.5,), (None,), (None,)]


@pytest.mark.parametrize(
    ("rows", "behind", "says"),
    [
        ([], "", "the sheet 'Data' is empty"),
        ([["n"], [1], ["<f>1+1</f>"], ["<f>1+1</f><v></v>"]], "", "2 formulas have no stored result, the first in A3"),
        ([["n"], [1]], '<mergeCells><mergeCell ref="A2:A5"/></mergeCells>', r"cells are merged \(A2:A5\)"),
        ([["m"], [1]], "", "did you mean 'm'|no such column"),
        ([["n", "n"], [1, 2]], "", "occurs twice"),
    ],
)
def test_sheets_that_are_no_table_are_refused_in_words(tmp_path: Path, rows: Any, behind: str, says: str) -> None:
    with pytest.raises(EngineUnavailable, match=says):
        read(workbook(tmp_path, *rows, behind=behind), names=("n",))


def test_formulas_with_results_are_their_results(tmp_path: Path) -> None:
    assert read(workbook(tmp_path, ["n"], ["<f>1+1</f><v>2</v>"]), names=("n",)) == [(2,)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999), "an old .xls; save it as .xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "it has a password"),
        (b"n\n1\n", "not a workbook"),
        (b"PK\x05\x06" + bytes(18), "cannot be read as a workbook"),
    ],
)
def test_files_that_are_no_workbooks_are_refused_in_words(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(content)
    with pytest.raises(EngineUnavailable, match=says):
        described(path)


@given(st.integers(0, 2**16), st.integers(1, 255))
@settings(max_examples=15)
def test_a_damaged_workbook_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, at: int, by: int) -> None:
    path = tmp_path_factory.mktemp("damaged") / "book.xlsx"
    write_workbook(path, {"Data": rows_of([["n"], [1], [2]])})
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= by
    path.write_bytes(data)
    with contextlib.suppress(EngineUnavailable, InvalidParameter):
        read(path, names=("n",))


def test_what_would_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    path = tmp_path / "book.xlsx"
    write_workbook(path, {"Data": far})
    with pytest.raises(EngineUnavailable, match=r"1,048,576 rows and 16,384 columns is too large .* CSV or Parquet"):
        described(path)
    # A bomb: much more than its archive.
    monkeypatch.setattr(excel_reader, "MOST_BYTES", 2**20)
    write_workbook(path, {"Data": rows_of([["n"], [1]]) + " " * 2**21})
    assert path.stat().st_size < 2**14
    with pytest.raises(EngineUnavailable, match="more than 1 MiB is too large"):
        described(path)


def test_one_of_several_sheets_must_be_named(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_workbook(path, {f"S{n}": rows_of([["n"], [n]]) for n in range(10)})
    with pytest.raises(InvalidParameter, match=r"sheet must be one of the 10 sheets of .*: 'S0', 'S1'"):
        described(path)
    assert described(path, sheet="S3") == [("n", None, "")]
    assert read(path, names=("n",), sheet="S7") == [(7,)]
    with Facts(path, sheet="S7") as facts:
        assert facts.read == {"sheet": "S7"}


CELLS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)


@settings(max_examples=8)
@given(st.lists(CELLS, min_size=1, max_size=8), st.integers(0, 7), st.booleans())
def test_a_cell_of_json_is_the_same_whatever_the_other_lines_are(
    tmp_path_factory: pytest.TempPathFactory, cells: list[Any], place: int, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    path = folder / ("a.ndjson.gz" if packed else "a.ndjson")

    def rows(chosen: list[Any]) -> list[tuple[Any, ...]]:
        data = "".join(
            json.dumps({"n": one, "x": one, "t": one, "d": one, "m": one, "b": one}) + "\n" for one in chosen
        )
        path.write_bytes(gzip.compress(data.encode()) if packed else data.encode())
        return read(path)

    chosen = cells[place % len(cells)]
    (alone,) = rows([chosen])
    assert alone in rows(cells)
    if isinstance(chosen, float):
        assert alone[1] == chosen
    elif isinstance(chosen, bool):
        assert alone[5] is chosen
    elif isinstance(chosen, int):
        assert alone[0] == (chosen if -(2**63) <= chosen < 2**63 else None)
    elif isinstance(chosen, str):
        assert alone[2] == chosen


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"n": 1}\n[2]\n', "line 2: not one JSON object"),
        ('{"n": 1}\n{"n": ', "line 2: not one JSON object"),
        ('{"n": 1} {"n": 2}\n', "line 1: not one JSON object"),
        ("[" * 10**5, "line 1: not one JSON object"),
        ('{"n": 1}\n\n{"n": 2, "n": 3}\n', "line 3: a key occurs twice"),
        ('{"n": [1]}\n', "line 1: 'n' is a list"),
        ('{"n": {"a": 1}}\n', "line 1: 'n' is an object"),
        ('{"nn": 1}\n', "did you mean 'nn'"),
    ],
)
def test_lines_that_are_no_records_are_refused_with_their_number(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(EngineUnavailable, match=says):
        read(path, names=("n",))


def test_numbers_of_json_keep_all_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('\ufeff{"n": 9007199254740993, "t": 0.10}\n{"n": 1e3, "x": NaN, "t": "\\ud800"}\n\n{"x": 1e3}')
    assert read(path, names=("n", "x", "t")) == [
        (9007199254740993, None, "0.10"),
        (None, 1000.0, None),
        (None, None, None),
    ]


def test_a_delimiter_is_declared_where_the_first_row_has_several(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n;t,x,y\n1;a,b,c\n")
    assert [name for name, *_ in described(path)] == ["n;t", "x", "y"]
    assert [name for name, *_ in described(path, delimiter=";")] == ["n", "t,x,y"]
    with pytest.raises(InvalidParameter, match="a semicolon, a tab or a bar, for a CSV file"):
        described(path, delimiter=":")
    columns = (Column("n", Kind.INTEGER), Column("t", Kind.TEXT, source="t,x,y"))
    goal = tmp_path / "copy.parquet"
    convert(Table("t", columns, str(path), delimiter=";"), [str(path)], goal)
    assert duckdb.sql(f"SELECT * FROM '{goal}'").fetchall() == [(1, "a,b,c")]


@pytest.mark.parametrize(("name", "says"), [("a.xls", "save it as .xlsx"), ("a.json", ".jsonl"), ("a.doc", ".parquet")])
def test_files_of_other_kinds_are_refused_with_what_to_do(name: str, says: str) -> None:
    assert says in unknown_kind(name)
