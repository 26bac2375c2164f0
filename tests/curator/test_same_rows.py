"""Where every row is a unit of its own, no row stands in two tables of a data set."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.errors import InvalidParameter
from dither.privacy import PureDP

HEAD = "ward,waited\n"
ROWS = HEAD + "".join(f"{('heart', 'skin')[n % 2]},{n}\n" for n in range(40))
OTHERS = HEAD + "".join(f"skin,{n}\n" for n in range(7))
COLUMNS = "{ward: {kind: text, categories: [heart, skin]}, waited: {kind: integer, bounds: [0, 50]}}"
UNITED = "SELECT COUNT(*) AS n FROM (SELECT ward FROM first UNION ALL SELECT ward FROM second) AS u"


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    (tmp_path / "first.csv").write_text(ROWS)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as made:
        yield made


def schema(folder: Path, second: str, *, first: str = "first.csv", unit: str = "row", extra: str = "") -> Path:
    """Write a schema of two tables and return its path."""
    tables = "".join(
        f"  {name}: {{source: '{source}', columns: {COLUMNS}{extra if name == 'second' else ''}}}\n"
        for name, source in (("first", first), ("second", second))
    )
    path = folder / "wards.yaml"
    path.write_text(f"dataset: wards\nunit: {unit}\ntables:\n{tables}")
    return path


WAYS = ["itself", "spelling", "pattern", "hard link", "symbolic link", "copy", "line ends", "part of a pattern"]


@pytest.mark.parametrize("unit", ["row", "row replaced"])
@pytest.mark.parametrize("way", WAYS)
def test_two_tables_do_not_read_the_same_rows(curator: Curator, tmp_path: Path, way: str, unit: str) -> None:
    source, other = "first.csv", tmp_path / "other.csv"
    if way == "spelling":
        (tmp_path / "deep").mkdir()
        source = "deep/../first.csv"
    elif way == "pattern":
        source = "fir*.csv"
    elif way != "itself":
        source = "other.csv"
    if way == "hard link":
        os.link(tmp_path / "first.csv", other)
    elif way == "symbolic link":
        other.symlink_to(tmp_path / "first.csv")
    elif way == "copy":
        shutil.copy(tmp_path / "first.csv", other)
    elif way == "line ends":
        other.write_bytes(ROWS.replace("\n", "\r\n").encode())
    elif way == "part of a pattern":
        source = "part*.csv"
        (tmp_path / "part1.csv").write_text(OTHERS)
        shutil.copy(tmp_path / "first.csv", tmp_path / "part2.csv")
    with pytest.raises(InvalidParameter, match="different rows for first and second"):
        curator.add(schema(tmp_path, source, unit=unit), budget=PureDP(10))
    assert curator.datasets() == ()
    assert curator.ledger.datasets() == ()


@pytest.mark.parametrize("in_place", [True, False])
def test_parquet_is_known_again_where_it_stays(curator: Curator, tmp_path: Path, in_place: bool) -> None:
    duckdb = pytest.importorskip("duckdb")
    duckdb.sql(f"COPY (SELECT 'skin' AS ward, 1 AS waited) TO '{tmp_path / 'a.parquet'}' (FORMAT parquet)")
    shutil.copy(tmp_path / "a.parquet", tmp_path / "b.parquet")
    with pytest.raises(InvalidParameter, match="different rows for first and second"):
        curator.add(schema(tmp_path, "b.parquet", first="a.parquet"), budget=PureDP(10), in_place=in_place)


def test_other_rows_public_tables_and_people_are_added(curator: Curator, tmp_path: Path) -> None:
    """What cannot count twice is not refused: other rows, public rows, and rows of people, who are bounded together."""
    (tmp_path / "other.csv").write_text(OTHERS)
    curator.add(schema(tmp_path, "other.csv"), budget=PureDP(10**6))
    with curator.session("wards") as session:
        assert round(session.sql(UNITED, epsilon=10**5).column("n")[0]) == 47
    (tmp_path / "known.csv").write_text(OTHERS + OTHERS.removeprefix(HEAD))
    named = schema(tmp_path, "known.csv", extra=", public: true")
    curator.add(named.rename(tmp_path / "wards_public.yaml"), budget=PureDP(10**6))
    text = schema(tmp_path, "first.csv", unit="person").read_text().replace("columns:", "privacy id: waited, columns:")
    (tmp_path / "people.yaml").write_text(f"{text}contribution: {{rows: 2}}\n")
    with Curator.create(tmp_path / "second", anchors=tmp_path / "anchors") as apart:
        apart.add(tmp_path / "people.yaml", budget=PureDP(10**6))


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_files_without_rows_may_be_in_two_tables(curator: Curator, tmp_path: Path, ending: str) -> None:
    """They hold nothing that could count; with rows they are refused, also as the next edition."""

    def write(name: str, text: str) -> None:
        path = tmp_path / f"{name}.{ending}"
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if ending.endswith("gz") else text.encode())

    for name in ("a1", "b1"):
        write(name, HEAD)
    empty = schema(tmp_path, f"b*.{ending}", first=f"a*.{ending}")
    curator.add(empty, budget=PureDP(10))
    write("a2", ROWS)
    write("b2", OTHERS)
    curator.add(empty, budget=PureDP(10))  # an empty file beside different ones
    write("b3", ROWS)
    with pytest.raises(InvalidParameter, match="different rows"):
        curator.add(empty, budget=PureDP(10))


def test_one_frame_is_not_two_tables(curator: Curator, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    curator.add(schema(tmp_path, "frames", first="frames"), budget=PureDP(10**6))
    rows = pandas.DataFrame({"ward": ["skin", "heart"], "waited": [1, 2]})
    with pytest.raises(InvalidParameter, match="different rows for first and second"):
        curator.session("wards", frames={"first": rows, "second": rows})
    with curator.session("wards", frames={"first": rows, "second": rows[:1]}) as session:
        assert round(session.sql(UNITED, epsilon=10**5).column("n")[0]) == 3


def test_counts_of_two_frames_share_the_loss(curator: Curator, tmp_path: Path) -> None:
    """Copies of one frame cannot be told from frames of other rows."""
    pandas = pytest.importorskip("pandas")
    curator.add(schema(tmp_path, "frames", first="frames"), budget=PureDP(10))
    rows = pandas.DataFrame({"ward": ["skin", "heart"], "waited": [1, 2]})
    apart = "SELECT 'a' AS t, COUNT(*) AS n FROM first UNION ALL SELECT 'b', COUNT(*) FROM second"
    with curator.session("wards", frames={"first": rows, "second": rows.copy(deep=False)}) as session:
        assert [column.share for column in session.quote(apart, epsilon=1).columns] == [Fraction(1, 2)] * 2


def test_counts_of_two_tables_cost_one_of_them(curator: Curator, tmp_path: Path) -> None:
    """A row is in one table, so each count has all of the loss; counts of one table share it."""
    (tmp_path / "second.csv").write_text(OTHERS)
    curator.add(schema(tmp_path, "second.csv"), budget=PureDP(10))
    apart = "SELECT 'a' AS t, COUNT(*) AS n FROM first UNION ALL SELECT 'b', COUNT(*) FROM second"
    together = "SELECT 'a' AS t, COUNT(*) AS n FROM first UNION ALL SELECT 'b', COUNT(*) FROM first WHERE waited > 3"
    with curator.session("wards") as session:
        widths = []
        for text in (apart, together):
            quoted = session.quote(text, epsilon=1)
            assert quoted.loss.epsilon == 1
            widths.append([column.share for column in quoted.columns])
        assert widths == [[1, 1], [Fraction(1, 2), Fraction(1, 2)]]
        found = session.sql(apart, epsilon=1)
        assert len(found.rows) == 2
        assert found.loss.epsilon == 1
