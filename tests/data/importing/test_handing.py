"""Blocks without a quote go to the engine as they are: every character in them means what the strict reader says."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.data import Column, Kind
from dither.data.engines.emit_duckdb import read_at_once
from dither.data.importing import csv_reader, handing, sources
from dither.data.importing.conversion import cells_once, convert, importing_connection, printed_cells
from dither.data.importing.fit import fit_of
from dither.data.importing.handing import reading_once, texts_of
from dither.data.schema import Table
from dither.errors import EngineUnavailable

#: What some reader or other takes for more than a cell: comments, marks of encoding, words for nothing, escapes.
CELLS = [
    "",
    "a",
    " ",
    "#x",
    "\ufeffz",
    "NULL",
    "null",
    "\\",
    "\\N",
    "'",
    "''",
    "é",
    "\u2028",
    "\t",
    "-",
    "0x1",
    "1_0",
    "é" * 300,
]


def texts(path: Path, folder: Path, delimiter: str | None = None) -> tuple[list[Any], handing.Handed]:
    """Return what the engine reads of the columns a and b."""
    table = Table("t", (Column("b", Kind.TEXT), Column("a", Kind.TEXT)), str(path), delimiter=delimiter)
    goal = folder / "texts"
    handing.forget_texts(goal)
    handed = texts_of(table, str(path), goal)
    with importing_connection(folder) as connection:
        statement = f"SELECT {handed.source[1]['a'][0]}, {handed.source[1]['b'][0]} FROM {handed.source[0]}"  # noqa: S608 - made up
        found = connection.execute(statement).fetchall()
    return sorted(found, key=str), handed


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", [64, 2**22])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_pair_of_cells_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int, delimiter: str
) -> None:
    """Every odd cell beside every other one, in small blocks, some with quotes, and in one, as Python writes them."""
    monkeypatch.setattr(csv_reader, "_BLOCK", block)
    pairs = [[one, other, "x"] for one, other in itertools.product(CELLS, CELLS)]
    for more in ([], [['q"', "2", f"m{delimiter}\nn"]], [["plain", "2", "a\rb"]]):
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
        want = [*pairs, *more, *pairs[:3]]
        writer.writerows([["a", "b", "c"], *want])
        path = tmp_path / "cells.csv"
        path.write_bytes(out.getvalue().encode())
        found, handed = texts(path, tmp_path, delimiter)
        assert found == sorted(((a or None, b or None) for a, b, _ in want), key=str)
        assert handed.rows == len(want)
        # Cells with the delimiter are quoted; where no cell is, all goes as it is.
        is_plain = b'"' not in path.read_bytes() and not more
        assert not is_plain or "read_parquet" not in handed.source[0]


def test_lines_that_readers_skip_or_refuse_are_written_as_cells(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(b"a\n\n1\n\n")
    table = Table("t", (Column("a", Kind.TEXT),), str(path))
    convert(table, [str(path)], tmp_path / "copy.parquet")
    rows = duckdb.sql(f"SELECT * FROM '{tmp_path}/copy.parquet'").fetchall()  # noqa: S608 - a path of this test
    assert sorted(rows, key=str) == [("1",), (None,), (None,)]
    long = "x" * 3_000_000
    path.write_text(f"a,b\n{long},1\n2,3\n")
    found, handed = texts(path, tmp_path)
    assert found == sorted([(long, "1"), ("2", "3")])
    assert "read_csv" not in handed.source[0]


def test_a_file_is_read_once_for_all_that_is_done_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"x"\n2,y\n')
    table = Table("t", (Column("a", Kind.INTEGER), Column("b", Kind.TEXT)), str(path))
    opened: list[str] = []
    plain = sources.DigestingReader.__init__

    def counting(self: Any, path: Any) -> None:
        opened.append(str(path))
        plain(self, path)

    monkeypatch.setattr(sources.DigestingReader, "__init__", counting)
    with reading_once():
        assert fit_of(table, [str(path)]).rows == 2
        (origin,) = convert(table, [str(path)], tmp_path / "copy.parquet")
        assert len(opened) == 1
        # What has changed since is read again, and what is no CSV any more is refused.
        path.write_text("a,b\n1,x\n2,y\n3,z\n")
        assert fit_of(table, [str(path)]).rows == 3
        assert len(opened) == 2
        path.write_text("a,b\n1\n")
        with pytest.raises(EngineUnavailable, match="line 2"):
            convert(table, [str(path)], tmp_path / "other.parquet")
    assert len(origin.digest) == 64
    assert len(duckdb.sql(f"SELECT * FROM '{tmp_path}/copy.parquet'").fetchall()) == 2  # noqa: S608 - a path of this test
    assert not list(tmp_path.glob("*.csv.csv"))


def test_rows_that_go_missing_on_the_way_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    table = Table("t", (Column("a", Kind.INTEGER), Column("b", Kind.TEXT)), str(path))
    monkeypatch.setattr(handing, "_lines", lambda rows, dialect: b"1,x\n")
    with pytest.raises(EngineUnavailable, match="2 rows were handed over"):
        convert(table, [str(path)], tmp_path / "copy.parquet")


def test_numbers_that_are_read_at_once_are_the_same_numbers(tmp_path: Path) -> None:
    """All short texts of the characters of numbers: the quick cast and the printed one agree on each."""
    cells = ["".join(word) for size in range(6) for word in itertools.product("1.-e ", repeat=size)]
    cells += ["1e400", "-1e400", "0x1", "inf", "nan", "1_0", "9" * 400, "+1.5e+3", "1e-400", "12345678901234567890"]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest(?::VARCHAR[]) AS x", [cells])
        table = Table("t", (Column("x", Kind.REAL), Column("n", Kind.INTEGER)), "t")
        source = ("t", {"x": ("x", "VARCHAR"), "n": ("x", "VARCHAR")})
        plain = printed_cells(table, source)
        inner, outer = cells_once(table, source)
        assert "regexp_full_match" in inner["x"]
        made = ", ".join(f'{sql} AS "{name}"' for name, sql in inner.items())
        quick = ", ".join(outer.values())
        rows = connection.execute(f"SELECT {', '.join(plain.values())} FROM t").fetchall()  # noqa: S608 - printed
        others = connection.execute(f"SELECT {quick} FROM (SELECT {made} FROM t)").fetchall()  # noqa: S608 - printed
    assert len(rows) == len(cells)
    assert repr(rows) == repr(others)
    assert sum(row[0] is not None for row in rows) > 100
    assert read_at_once("CAST(x AS DOUBLE)") == "CAST(x AS DOUBLE)"
