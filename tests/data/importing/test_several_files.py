"""Several files, compressed files and folders are one table, and a file that differs is named with its line."""

from __future__ import annotations

import glob
import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither import private
from dither.curator.folder import Curator
from dither.data import Column, Kind
from dither.data.facts import Facts
from dither.data.files import dump_schema, loads
from dither.data.importing.conversion import convert
from dither.data.importing.fit import fit_of
from dither.data.importing.named_files import named_files
from dither.data.importing.sources import files_of, folder_values
from dither.data.schema import Table
from dither.data.suggest import described, suggest
from dither.errors import DitherError, EngineUnavailable, InvalidParameter
from dither.privacy import PureDP

COLUMNS = (Column("who", Kind.INTEGER), Column("ward", Kind.TEXT))


def read(table: Table, folder: Path) -> list[Any]:
    """Return the rows that are imported."""
    goal = folder / "copy.parquet"
    goal.unlink(missing_ok=True)
    convert(table, files_of(table, None), goal)
    return sorted(duckdb.sql(f"SELECT * FROM '{goal}'").fetchall(), key=str)  # noqa: S608 - a path of this test


def parquet(file: Path, columns: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    place = str(file).replace("'", "''")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {columns}) TO '{place}' (FORMAT parquet)")


def two_texts(folder: Path) -> list[Path]:
    plain, packed = folder / "a[1].csv", folder / "b.csv.gz"
    plain.write_text("who,ward\n1,north\n2,\n")
    packed.write_bytes(gzip.compress(b'ward;who\r\n"x;y";3\r\n'))
    return [plain, packed]


def test_files_of_other_orders_delimiters_and_packings_are_one_table(tmp_path: Path) -> None:
    """Named one by one, by a pattern, or by their folder; the schema says them as they were named."""
    (tmp_path / "in").mkdir()
    files = two_texts(tmp_path / "in")
    (tmp_path / "in" / ".hidden.csv").write_text("of no account")
    want = [(1, "north"), (2, None), (3, "x;y")]
    ways: list[tuple[Any, str]] = [(files, "a_1"), (str(tmp_path / "in" / "*.csv*"), "t"), (tmp_path / "in", "in")]
    for given, name in ways:
        named = named_files(given, "file")
        assert [Path(file).name for file in named.files] == ["a[1].csv", "b.csv.gz"]
        draft = suggest(named)
        assert f"dataset: {name}\n" in draft.text
        assert [found[0] for found in described(named)] == ["who", "ward"]
        table = Table("t", COLUMNS, named.source)
        assert read(table, tmp_path) == want
        assert fit_of(table, files_of(table, None)).rows == 3
        with Facts(named) as facts:
            assert [(one.kind, one.kept) for one in facts.columns] == [(Kind.INTEGER, 3), (Kind.TEXT, 2)]
            assert facts.columns[1].values == ("north", "x;y")


def test_a_link_out_of_a_folder_is_refused_and_one_inside_it_counts_once(tmp_path: Path) -> None:
    """Whoever may write to the folder could bring in any file that the owner may read."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("who,ward\n5,north\n")
    (tmp_path / "secret.csv").write_text("who,ward\n6,north\n")
    (tmp_path / "in" / "b.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(EngineUnavailable, match="link to a file outside"):
        named_files(tmp_path / "in", "file")
    assert len(named_files(str(tmp_path / "in" / "*.csv"), "file").files) == 2
