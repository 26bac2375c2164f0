"""Cells of Parquet files that nobody imported: a value or NULL, or the file is refused before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from dither.data import Aggregation, Column, CountRows, DataSet, Kind, Name, Scan, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.emit_duckdb import family
from dither.data.engines.protocol import can_hold
from dither.errors import EngineUnavailable
from dither.privacy import ROW

pa = pytest.importorskip("pyarrow", reason="Parquet files are written with pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LEAST, MOST = -(2**63), 2**63 - 1
#: Beside these years 1 and 9999 of nanoseconds are far away; DuckDB's infinities are among them.
NANOSECONDS = [LEAST + 1, LEAST + 2, LEAST + 1000, -1, 0, 1, 999, 1000, MOST - 1000, MOST - 1, MOST]


def bits(values: list[int], kind: Any) -> Any:
    width = np.int32 if kind.bit_width == 32 else np.int64
    return pa.array(np.array(values, dtype=width)).view(kind)


def texts(*cells: bytes) -> Any:
    ends = np.cumsum([0, *map(len, cells)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(cells))]
    return pa.Array.from_buffers(pa.string(), len(cells), buffers)


def integers(kind: str) -> Any:
    limits = np.iinfo(kind)
    return pa.array(np.array([0, limits.min, limits.max], dtype=kind))


def decimals(digits: int, scale: int) -> Any:
    largest = Decimal((0, (9,) * digits, -scale))
    return pa.array([Decimal(0), largest, largest.copy_negate()], pa.decimal128(digits, scale))


COLUMNS: dict[str, Callable[[], Any]] = {
    "timestamp_ms": lambda: bits([0, -1, -MOST // 1000 + 1, MOST // 1000, MOST], pa.timestamp("ms")),
    "timestamp_ms beyond": lambda: bits([0, MOST // 1000 + 1], pa.timestamp("ms")),
    "timestamp_us": lambda: bits([0, -1, LEAST, LEAST + 1, MOST - 1, MOST], pa.timestamp("us")),
    "timestamp_ns": lambda: bits([LEAST, *NANOSECONDS], pa.timestamp("ns")),
    "timestamp_ns_zone": lambda: bits([LEAST, *NANOSECONDS], pa.timestamp("ns", "America/New_York")),
    "timestamp_zone": lambda: bits([0, MOST], pa.timestamp("us", "UTC")),
    "date32": lambda: bits([0, -(2**31), -719163, -719162, 2932896, 2932897, 2**31 - 1], pa.date32()),
    "time32": lambda: bits([0, -1, 2**31 - 1], pa.time32("ms")),
    "time64": lambda: bits([0, -1, MOST], pa.time64("ns")),
    "duration": lambda: bits([0, LEAST, MOST], pa.duration("us")),
    "float16": lambda: pa.array(np.array([0, np.nan, np.inf, -np.inf, 65504], dtype=np.float16)),
    "float32": lambda: pa.array(np.array([0, np.nan, np.inf, -np.inf, 3.4e38], dtype=np.float32)),
    "float64": lambda: pa.array([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.7e308, 5e-324, 2.0**63]),
    **{kind: lambda kind=kind: integers(kind) for kind in ("int8", "int64", "uint8", "uint32", "uint64")},
    **{f"decimal {d}, {s}": lambda d=d, s=s: decimals(d, s) for d, s in ((9, 2), (18, 18), (38, 0), (38, 38))},
    "decimal256": lambda: pa.array([Decimal(0), Decimal((0, (9,) * 76, 0))], pa.decimal256(76, 0)),
    "text": lambda: texts(
        b"", b"\x00", "\U0010ffff\ufeff".encode(), b"-1e400", b"9" * 400, b"0001-01-01", b"x" * 70_000
    ),
    "text that is none": lambda: texts(b"a", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3"),
    "dictionary": lambda: pa.array(["a", None, "b"]).dictionary_encode(),
    "bytes": lambda: pa.array([b"a", b"\xff"], pa.binary()),
    "bytes of one length": lambda: pa.array([b"abcd", b"\xff" * 4], pa.binary(4)),
    "boolean": lambda: pa.array([True, False, None]),
    "null": lambda: pa.nulls(3),
    "list": lambda: pa.array([[1], [None], None]),
    "record": lambda: pa.array([{"a": 1}, None]),
    "map": lambda: pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "uuid": lambda: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"\xff" * 16], pa.binary(16))),
}
REFUSED = {"timestamp_ms beyond", "text that is none"}


def opened(column: Any, place: Path | None, kinds: list[Kind]) -> DuckDBEngine:
    """Return an engine over one column that is declared as several kinds, in a file or in a frame."""
    frame = pa.table({kind.value: column for kind in kinds})
    table = Table("t", tuple(Column(kind.value, kind) for kind in kinds), "frames" if place is None else place.name)
    dataset = DataSet("d", (table,), ROW)
    if place is None:
        return DuckDBEngine(dataset, frames={"t": frame}, threads=1)
    parquet.write_table(frame, place)
    return DuckDBEngine(dataset, folder=place.parent, threads=1)


def cells(engine: DuckDBEngine, kind: Kind) -> dict[Any, int]:
    """Return each value of the column, and how many rows have it."""
    found = engine.aggregate(Aggregation(Scan(engine.dataset.tables[0]), (Name(kind.value),), (CountRows(),)))
    return {key[0]: count for key, (count,) in zip(found.keys, found.measures, strict=True)}


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - REFUSED))
def test_every_cell_is_a_value_or_null_or_the_type_is_refused(name: str, tmp_path: Path) -> None:
    column = COLUMNS[name]()
    parquet.write_table(pa.table({"c": column}), tmp_path / "types.parquet")
    with duckdb.connect() as own:
        place = str(tmp_path / "types.parquet")
        ((_, stored, *_),) = own.execute("DESCRIBE SELECT * FROM read_parquet(?)", [place]).fetchall()
    kinds = [kind for kind in Kind if can_hold(family(str(stored)), kind)]
    if not kinds:
        with pytest.raises(EngineUnavailable, match="is declared text, but the file stores"):
            opened(column, tmp_path / "t.parquet", [Kind.TEXT]).check()
        return
    with opened(column, tmp_path / "t.parquet", kinds) as engine:
        for kind in kinds:
            assert sum(cells(engine, kind).values()) == len(column)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_file_with_a_cell_that_no_query_could_read_is_refused_when_it_is_opened(name: str, tmp_path: Path) -> None:
    """A query over it failed after its charge."""
    kind = Kind.TEXT if name.startswith("text") else Kind.TIMESTAMP
    rule = f"column {kind.value} of .* cannot be read to its end"
    with pytest.raises(EngineUnavailable, match=rule) as refused:
        opened(COLUMNS[name](), tmp_path / "t.parquet", [kind]).check()
    assert refused.value.__cause__ is refused.value.__context__ is None


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_a_moment_of_nanoseconds_is_the_same_in_a_file_and_in_a_frame(zone: str | None, tmp_path: Path) -> None:
    column, kinds = bits(NANOSECONDS, pa.timestamp("ns", zone)), [Kind.TIMESTAMP, Kind.DATE]
    with (
        opened(column, tmp_path / "t.parquet", kinds) as file,
        opened(column, None, kinds) as frame,
        opened(bits(NANOSECONDS, pa.timestamp("ns")), None, kinds) as plain,
    ):
        for kind in kinds:
            assert cells(file, kind) == cells(frame, kind) == cells(plain, kind)
            assert None not in cells(file, kind)


def test_files_that_were_read_when_they_were_added_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    monkeypatch.setattr("dither.data.engines.duckdb.check_parquet", lambda *given: read.append(given))
    parquet.write_table(pa.table({"c": [1]}), tmp_path / "t.parquet")
    dataset = DataSet("d", (Table("t", (Column("c", Kind.INTEGER),), "t.parquet"),), ROW)
    for are_read in (True, False):
        with DuckDBEngine(dataset, folder=tmp_path, are_read=are_read) as engine:
            engine.check()
        assert len(read) == int(not are_read)
