"""Files of one table whose declared columns differ are refused by name, from their footers; other columns may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.data import Column, Kind
from dither.data.importing.alike import check_alike, parquet_columns
from dither.data.schema import Table
from dither.errors import EngineUnavailable

TABLE = Table("visits", (Column("age", Kind.INTEGER), Column("ward", Kind.TEXT)), "folder")
#: What the second file selects, and what is said of it.
CASES = {
    "1 AS age": "second.parquet lacks column ward, where another file has column ward as VARCHAR",
    "1.5::DOUBLE AS age, 'x' AS ward": "has column age as DOUBLE, where another file has column age as INT",
    "1 AS age, 'x' AS \"WARD\"": "second.parquet lacks column ward",
    "1 AS age, 7 AS ward": "second.parquet has column ward as INTEGER",
    "1::BIGINT AS age, 'x' AS ward": "second.parquet has column age as BIGINT",
}


def write(file: Path, columns: str) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {columns}) TO '{file}' (FORMAT parquet)")
    return str(file)


@pytest.mark.parametrize("columns", CASES, ids=str)
def test_a_file_that_differs_is_named(tmp_path: Path, columns: str) -> None:
    files = [write(tmp_path / "first.parquet", "1 AS age, 'x' AS ward"), write(tmp_path / "second.parquet", columns)]
    with pytest.raises(EngineUnavailable, match=f"table visits: .*{CASES[columns]}.*; write the files alike"):
        check_alike(TABLE, parquet_columns(files), str(tmp_path))


def test_what_is_not_declared_and_the_order_of_columns_may_differ(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "first.parquet", "1 AS age, 'x' AS ward, 2 AS more"),
        write(tmp_path / "second.parquet", "'x' AS ward, 'text' AS more, 1 AS age, 3 AS \"AGE\""),
    ]
    check_alike(TABLE, parquet_columns(files), str(tmp_path))


def test_a_column_comes_from_folders_or_from_files_and_not_from_both(tmp_path: Path) -> None:
    folders = [write(tmp_path / f"ward={name}" / "part.parquet", "1 AS age") for name in "ab"]
    check_alike(TABLE, parquet_columns(folders), str(tmp_path))
    both = [write(tmp_path / "other" / f"ward={name}" / "part.parquet", "1 AS age, 'x' AS ward") for name in "ab"]
    with pytest.raises(EngineUnavailable, match="has column ward, and so has the name of its folder"):
        check_alike(TABLE, parquet_columns(both), str(tmp_path / "other"))
    # What is above the folder that is read says nothing.
    check_alike(TABLE, parquet_columns(both[:1]), str(Path(both[0]).parent))
    check_alike(TABLE, parquet_columns(both), "")


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    files: list[Any] = [write(tmp_path / "first.parquet", "1 AS age, 'x' AS ward"), str(tmp_path / "second.parquet")]
    Path(files[1]).write_bytes(b"PAR1 and nothing more")
    with pytest.raises(EngineUnavailable, match=r"second\.parquet cannot be read"):
        check_alike(TABLE, parquet_columns(files))
