"""CSV: the vectorised reader beside a slow one that walks a grammar byte by byte, and beside Python's own."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dither.data import Column, Kind, Table
from dither.data.importing import csv_reader
from dither.data.importing.conversion import convert
from dither.data.importing.csv_reader import CsvReader
from dither.data.importing.raw_parquet import TextWriter
from dither.errors import EngineUnavailable

Row = tuple[str | None, ...]


def slow(data: bytes, delimiter: str) -> list[Row] | None:
    """Return the fields of every row, None for an empty field without quotes; None for what is no CSV."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return None
    if "\0" in text or text.endswith("\r"):
        return None
    rows: list[list[str | None]] = [[]]
    ends: list[str] = []
    if text and not text.endswith("\n"):
        text += "\r\n" if _first_end(text) == "\r\n" else "\n"
    place, size = 0, len(text)
    while place < size:
        if text[place] == '"':
            content, place = "", place + 1
            while True:
                if place >= size:
                    return None
                if text[place] != '"':
                    content, place = content + text[place], place + 1
                elif text[place : place + 2] == '""':
                    content, place = content + '"', place + 2
                else:
                    place += 1
                    break
            rows[-1].append(content)
        else:
            start = place
            while place < size and text[place] not in f'{delimiter}\n"' and not text.startswith("\r\n", place):
                place += 1
            rows[-1].append(text[start:place] or None)
        rest = text[place:]
        end = "\r\n" if rest.startswith("\r\n") else "\n" if rest.startswith("\n") else ""
        if end:
            ends.append(end)
            place += len(end)
            rows.append([])
        elif rest.startswith(delimiter):
            place += 1
        elif rest:
            return None
    if rows[-1] == [] and len(rows) > 1:
        rows.pop()
    if rows[0] == []:
        rows[0] = [None]
    width = len(rows[0])
    while width > 1 and len(rows) > 1 and rows[-1] == [None]:
        rows.pop()
    if len(set(ends)) > 1 or any(len(row) != width for row in rows):
        return None
    return [tuple(row) for row in rows]


def _first_end(text: str) -> str:
    is_inside = False
    for place, sign in enumerate(text):
        is_inside ^= sign == '"'
        if sign == "\n" and not is_inside:
            return "\r\n" if text[:place].endswith("\r") else "\n"
    return "\n"


def fast(path: Path, names: set[str] | None = None) -> tuple[str, list[Row]]:
    """Return the delimiter and the fields of every row."""
    with CsvReader(path, names or ()) as reader:
        width = len(reader.header.names)
        rows: list[Row] = []
        for block in reader:
            columns = []
            for place in range(width):
                content, lengths = block.column(place)
                cells, start = [], 0
                for length in lengths.tolist():
                    text = content[start : start + length].tobytes().decode()
                    cells.append(text[1:] if text.startswith('"') else text or None)
                    start += length
                columns.append(cells)
            rows += list(zip(*columns, strict=True))
        reader.finish()
        return reader.header.dialect.delimiter, [tuple(reader.header.names), *rows]


_signs = st.sampled_from([*'ab",;\n', "\r\n", '""', '","', '"\n"', "é", "日", "\r", "\0", "\t", "|", "\\"])
_texts = st.lists(_signs, max_size=24).map("".join)
_bytes = _texts.map(str.encode) | st.lists(
    st.sampled_from([b'"', b",", b"\n", b"\r", b"a", b"\xff", b"\xc3", b"\xa9"]), max_size=16
).map(b"".join)


@given(
    header=st.sampled_from(["a,b", "a", '"a","b"', "a,b,c"]),
    body=_bytes,
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(1, 12),
)
@example(header="a,b", body=b'1,"a\\"b"\n2,"x"\n', end="\n", block=4)
@example(header="a,b", body=b'1,"a"b\n2,x\n', end="\n", block=4)
@example(header="a,b", body=b"1,a\rb\n2,x\n", end="\n", block=4)
@example(header="a,b", body=b'1,"a\rb"\n2,x\n', end="\n", block=4)
@example(header="a,b", body=b"1,x\r\n\r\n\r\n", end="\r\n", block=4)
@example(header="a,b", body=b"1,x\n\n\n2,y\n", end="\n", block=4)
@example(header="a", body=b'\n""\n\n', end="\n", block=2)
@example(header="a,b", body=b'1,"a"\r\n', end="\n", block=4)
@example(header="a,b", body=b'1,"a"\rb\r\n', end="\r\n", block=4)
@example(header="a,b", body=b"1,a\r\r\n\r\n", end="\r\n", block=4)
@example(header="a,b", body=b"1,a\n2,b\r", end="\n", block=2)
@example(header="a,b", body=b"1,a\r\n2,b\r", end="\r\n", block=2)
@example(header="a", body=b"\r", end="\r\n", block=1)
def test_the_fast_reader_takes_what_the_grammar_takes_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, header: str, body: bytes, end: str, block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    path.write_bytes(header.encode() + end.encode() + body)
    meant = slow(path.read_bytes(), ",")
    with pytest.MonkeyPatch.context() as small:
        small.setattr(csv_reader, "_BLOCK", block)
        small.setattr(csv_reader, "_LONGEST_HEADER", len(header) + len(end))
        if meant is None:
            with pytest.raises(EngineUnavailable, match=r"hostile.csv, line \d+: "):
                fast(path, set("abc"))
            return
        assert fast(path, set("abc")) == (",", meant)
    text = path.read_bytes().decode()
    if "\r" in text.replace("\r\n", ""):
        return  # Python takes every carriage return for a line end
    theirs = [tuple(row) or ("",) for row in csv.reader(io.StringIO(text, newline=""), strict=True)]
    while len(meant[0]) > 1 and theirs[-1] == ("",):
        theirs.pop()
    assert theirs == [tuple(cell or "" for cell in row) for row in meant]


_cells = st.text(st.sampled_from([*'ab",;\n\r\t|\\ é🙂', "\x1f", "\x85", "\u2028"]), max_size=6)


@given(
    rows=st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[_cells] * width), max_size=8)),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    end=st.sampled_from(["\n", "\r\n"]),
    zipped=st.booleans(),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_what_a_tool_that_quotes_has_written_is_read_as_it_was_meant(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, ...]],
    delimiter: str,
    quoting: int,
    end: str,
    zipped: bool,
    mark: str,
) -> None:
    if rows and len(rows[0]) == 1:
        delimiter = ","  # a header of one name shows none, and the first is taken
    is_plain = quoting != csv.QUOTE_ALL
    rows = [tuple(text.replace("\r", "") if is_plain else text for text in row) for row in rows]
    names = tuple(f"c{place}" for place in range(len(rows[0]) if rows else 2))
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows([names, *rows])
    data = (mark + written.getvalue()).encode()
    path = tmp_path_factory.getbasetemp() / ("told.csv.gz" if zipped else "told.csv")
    path.write_bytes(gzip.compress(data) if zipped else data)
    found, cells = fast(path, set(names))
    assert found == delimiter
    assert [tuple(cell or "" for cell in row) for row in cells] == [names, *rows]


def test_what_pandas_writes_is_read_as_it_was_meant_or_refused(tmp_path: Path) -> None:
    """It writes a carriage return without quotes; only at the end of a line can nobody tell what it is."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x\ry", "\r", "z\n"], "b": ["1", "2\r3", "4"]})
    frame.to_csv(tmp_path / "told.csv", index=False)
    assert fast(tmp_path / "told.csv", {"a", "b"})[1][1:] == list(frame.itertuples(index=False, name=None))
    frame.assign(b="1\r").to_csv(tmp_path / "told.csv", index=False)
    with pytest.raises(EngineUnavailable, match="line 2: a line that ends in CR LF, while the first one ends in LF"):
        fast(tmp_path / "told.csv")


def _import(tmp_path: Path, data: bytes, columns: tuple[Column, ...]) -> list[tuple[object, ...]]:
    (tmp_path / "odd.csv").write_bytes(data)
    convert(Table("odd", columns, "odd.csv"), [str(tmp_path / "odd.csv")], tmp_path / "odd.parquet")
    return duckdb.read_parquet(str(tmp_path / "odd.parquet")).order("i").fetchall()


def test_the_texts_of_the_reader_reach_duckdb_byte_by_byte(tmp_path: Path) -> None:
    odd = ['"', "", "a,b", "x\r\ny", "\r", "tab\t", "🙂" * 3000, "\x1f\x1e", "\\", "'", "line\u2028", " padded "]
    lines = "".join(f'{place},"{text.replace(chr(34), 2 * chr(34))}"\n' for place, text in enumerate(odd))
    columns = (Column("i", Kind.INTEGER), Column("t", Kind.TEXT))
    found = _import(tmp_path, f"i,t\n{lines}99,\n".encode(), columns)
    assert found == [*enumerate(odd), (99, None)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd.csv", "odd.parquet"]


def test_many_blocks_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "_BLOCK", 50)
    monkeypatch.setattr(csv_reader, "_LONGEST_HEADER", 50)
    rows = "".join(f'{place},"{place % 7}\n{"x" * (place % 90)}"\n' for place in range(400))
    found = _import(tmp_path, f"i,t\n{rows}".encode(), (Column("i", Kind.INTEGER), Column("t", Kind.TEXT)))
    assert found == [(place, f"{place % 7}\n{'x' * (place % 90)}") for place in range(400)]


def test_a_row_that_never_ends_is_refused_before_memory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "_BLOCK", 16)
    monkeypatch.setattr(csv_reader, "_LONGEST_HEADER", 16)
    monkeypatch.setattr(csv_reader, "_LONGEST_ROW", 100)
    path = tmp_path / "long.csv"
    path.write_text('a,b\n1,2\n3,"' + "x\n" * 500)
    with pytest.raises(EngineUnavailable, match=r"line 3: a row of more than 100 bytes, or an unclosed quote"):
        fast(path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, reason in (("absent.csv", "No such file"), ("folder.csv", "Is a directory")):
        with pytest.raises(EngineUnavailable, match=rf"{name} cannot be read: {reason}"):
            fast(tmp_path / name)


def test_wide_tables_reach_other_readers_of_parquet_too(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    names = [f"c{place}" for place in range(40)]
    rows = [[f"{row}-{name}é" for name in names] for row in range(30)]
    with (tmp_path / "raw.parquet").open("wb") as stream:
        writer = TextWriter(stream, names)
        for start in range(0, 30, 2):
            columns = [[row[place].encode() for row in rows[start : start + 2]] for place in range(40)]
            lengths = [np.array([len(text) for text in column]) for column in columns]
            texts = [np.frombuffer(b"".join(column), dtype=np.uint8) for column in columns]
            writer.write(list(zip(texts, lengths, strict=True)), 2)
        writer.finish()
    found = parquet.read_table(tmp_path / "raw.parquet")
    assert found.column_names == names
    assert [list(row.values()) for row in found.to_pylist()] == rows
    assert sorted(duckdb.read_parquet(str(tmp_path / "raw.parquet")).fetchall()) == sorted(map(tuple, rows))


@pytest.mark.parametrize("text", ["a\r", "a\n1\r", "a\r\n1\r", "a,b\n1,2\n3,\r", "a\r1\r2\r", '"a"\r', "\r"])
def test_a_carriage_return_that_ends_the_file_is_refused_whatever_its_lines_end_in(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cut.csv"
    path.write_bytes(text.encode())
    line = text.count("\n") + 1
    with pytest.raises(EngineUnavailable, match=rf"cut\.csv, line {line}: a carriage return at the end of the file"):
        fast(path, {"a"})
