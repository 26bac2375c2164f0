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
    text = "dataset: d\nunit: row\ntables: {t: {source: [a.csv, 'b*.csv', c/], columns: {who: integer}}}"
    dataset = loads(text)
    assert dataset.table("t").sources == ("a.csv", "b*.csv", "c/")
    assert loads(dump_schema(dataset)) == dataset


def test_a_file_that_names_other_columns_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,ward,more\n1,north,1\n")
    cases = {
        "who,ward\n1,x\n": r"b\.csv, line 1: it has no column 'more', which .*a\.csv has",
        "who,ward,more,age\n": r"line 1: it has a column 'age', which .*a\.csv lacks",
        "who,ward,mode\n": "no column 'more', .*and has a column 'mode'",
        "who,ward,more,more\n": "line 1: it names a column more often",
        "who,ward,more\n1,x,2\n1,2\n": r"b\.csv, line 3: 2 fields, while the first line has 3",
    }
    table = Table("t", COLUMNS, str(tmp_path / "*.csv"))
    for text, says in cases.items():
        (tmp_path / "b.csv").write_text(text)
        for act in (lambda: read(table, tmp_path), lambda: fit_of(table, files_of(table, None))):
            with pytest.raises(EngineUnavailable, match=says):
                act()
        with pytest.raises(EngineUnavailable, match=says):
            Facts(named_files(tmp_path / "*.csv", "file")).close()


def test_rows_are_never_read_twice_and_what_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("who,ward\n1,north\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "notes.doc").write_text("x")
    (tmp_path / "link.csv").symlink_to(file)
    refused: list[tuple[Any, type[DitherError], str]] = [
        ([file, file], InvalidParameter, "rows would count twice"),
        ([file, tmp_path / "link.csv"], InvalidParameter, "rows would count twice"),
        (tmp_path / "none*.csv", InvalidParameter, "a pattern that some file fits"),
        (tmp_path / "empty", InvalidParameter, "this one is empty"),
        ([file, tmp_path / "gone.csv"], EngineUnavailable, r"gone\.csv is no file"),
        (tmp_path / "odd", EngineUnavailable, r"notes\.doc is of no known kind"),
        ([], InvalidParameter, "path of a file"),
    ]
    for given, error, says in refused:
        with pytest.raises(error, match=says):
            named_files(given, "file")
    # A pattern fits a link and what it leads to, and a hard link: the rows are there once.
    (tmp_path / "hard.csv").hardlink_to(file)
    assert len(files_of(Table("t", COLUMNS, f"{file}\n{tmp_path}/*.csv"), None)) == 1
    with pytest.raises(EngineUnavailable, match="has no files"):
        files_of(Table("t", COLUMNS, str(tmp_path / "empty")), None)


def test_names_of_folders_are_columns(tmp_path: Path) -> None:
    """As Hive, Spark and DuckDB write partitions; text files may be partitioned as well."""
    parquet(tmp_path / "p" / "who=7" / "ward=x%2Fy" / "1.parquet", "1 AS n")
    parquet(tmp_path / "p" / "who=8" / "ward=__HIVE_DEFAULT_PARTITION__" / "1.parquet", "2 AS n")
    parquet(tmp_path / "p" / "who=z" / "ward=it's" / "2.parquet", "3 AS n")
    columns = (*COLUMNS, Column("n", Kind.INTEGER))
    want = [(7, "x/y", 1), (8, None, 2), (None, "it's", 3)]
    for source in (f"{tmp_path}/p", f"{tmp_path}/p/*/*/*.parquet", f"{tmp_path}/p/who=?"):
        assert read(Table("t", columns, source), tmp_path) == sorted(want, key=str)
    (tmp_path / "t" / "ward=north").mkdir(parents=True)
    (tmp_path / "t" / "ward=north" / "a.csv").write_text("who,n\n1,2\n")
    assert read(Table("t", columns, f"{tmp_path}/t/"), tmp_path) == [(1, "north", 2)]
    named = named_files(tmp_path / "t", "file")
    assert [name for name, *_ in described(named)] == ["who", "n", "ward"]
    # DuckDB itself, which writes such folders, is the other reader.
    with duckdb.connect() as connection:
        made = "SELECT i AS n, i % 3 AS who, 'w' || (i % 2) AS ward FROM range(12) t(i)"
        connection.execute(f"COPY ({made}) TO '{tmp_path}/d' (FORMAT parquet, PARTITION_BY (who, ward))")
        rows = connection.execute(f"SELECT who, ward, n FROM ({made})").fetchall()  # noqa: S608 - written above
    assert read(Table("t", columns, f"{tmp_path}/d"), tmp_path) == sorted(rows, key=str)


def test_a_column_of_a_file_and_of_its_folder_is_refused(tmp_path: Path) -> None:
    parquet(tmp_path / "p" / "ward=x" / "1.parquet", "1 AS who, 'y' AS ward")
    (tmp_path / "c" / "ward=x").mkdir(parents=True)
    (tmp_path / "c" / "ward=x" / "1.csv").write_text("who,ward\n1,y\n")
    for folder in ("p", "c"):
        with pytest.raises(EngineUnavailable, match="has column ward, and so has the name of its folder"):
            read(Table("t", COLUMNS, str(tmp_path / folder)), tmp_path)
    # What is above the folder, and the folder of a file that is named itself, say nothing.
    assert read(Table("t", COLUMNS, str(tmp_path / "p" / "ward=x")), tmp_path) == [(1, "y")]
    odd = tmp_path / "ward=z" / "x[1]"
    odd.mkdir(parents=True)
    (odd / "a.csv").write_text("who,ward\n1,y\n")
    assert folder_values(Table("t", COLUMNS, f"{glob.escape(str(odd))}/"), str(odd / "a.csv")) == {}


def test_folders_are_not_read_in_place_as_columns(tmp_path: Path) -> None:
    for name in "ab":
        parquet(tmp_path / "p" / f"ward={name}" / "1.parquet", "1 AS who")
    schema = f"dataset: d\nunit: row\ntables: {{t: {{source: {tmp_path}/p/, columns: {{who: integer, ward: text}}}}}}"
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        with pytest.raises(EngineUnavailable, match=r"column ward .* comes from the names of folders"):
            curator.add(loads(schema), budget=PureDP(1), in_place=True)
        curator.add(loads(schema), budget=PureDP(1))
        with curator.session("d") as session:
            answer = session.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.9")
        assert answer.names == ("n",)


def test_a_session_takes_a_list_a_pattern_and_a_folder(tmp_path: Path) -> None:
    files = two_texts(tmp_path)
    for data in (files, str(tmp_path / "*.csv*"), tmp_path):
        with private(data, budget=1, unit="row", categories={"ward": ["north"]}, name="t") as session:
            assert session.dataset.table("t").kinds == {"who": Kind.TEXT, "ward": Kind.TEXT}
            session.sql("SELECT COUNT(*) AS n FROM t", epsilon="0.5")
    with pytest.raises(InvalidParameter, match="a pattern that some file fits"):
        private(tmp_path / "none*.csv", budget=1, unit="row")


def test_a_path_with_a_line_break_names_no_other_files(tmp_path: Path) -> None:
    """A schema lists paths one a line, so that one such path was read as two."""
    (tmp_path / "a.csv").write_text("who,ward\n5,north\n")
    (tmp_path / "b.csv").write_text("who,ward\n6,north\n")
    odd = Path(f"{tmp_path / 'a.csv'}\n{tmp_path / 'b.csv'}")
    odd.parent.mkdir(parents=True)
    odd.write_text("who,ward\n1,north\n")
    for given in (odd, [odd, tmp_path / "a.csv"], odd.parent, str(odd.parent / "*")):
        with pytest.raises(InvalidParameter, match="without line breaks"):
            named_files(given, "file")


def test_a_link_out_of_a_folder_is_refused_and_one_inside_it_counts_once(tmp_path: Path) -> None:
    """Whoever may write to the folder could bring in any file that the owner may read."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("who,ward\n5,north\n")
    (tmp_path / "secret.csv").write_text("who,ward\n6,north\n")
    (tmp_path / "in" / "b.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(EngineUnavailable, match="link to a file outside"):
        named_files(tmp_path / "in", "file")
    assert len(named_files(str(tmp_path / "in" / "*.csv"), "file").files) == 2
