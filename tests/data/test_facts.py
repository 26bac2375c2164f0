# ruff: noqa: S608 - paths and names are made here
"""What owners are shown of their rows agrees with what an import keeps of them."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import duckdb
import pytest

from dither.cli.column_choices import Choices
from dither.cli.questions import Answers
from dither.data.expressions import Kind
from dither.data.facts import FROM_DATA, FROM_NAME, FROM_TYPE, Facts, round_range
from dither.data.files import schema_from
from dither.data.importing.conversion import convert
from dither.data.importing.fit import PlaceFit, fit_of, why_lost
from dither.data.place_tables import Places
from dither.data.schema import Column, Table
from dither.errors import EngineUnavailable

CELLS = ["", "0", "1", " 12 ", "-3.5", "1e3", "1.234,5", "yes", "TRUE", "f", "nan", "inf", "9" * 30, "2024-02-29",
         "2023-02-29", "31.12.2024", "2024-01-01 10:00:00", "P00663", '""', "x" * 2000]  # fmt: skip


def test_a_fit_counts_what_an_import_keeps(tmp_path: Path) -> None:
    """Every cell under every kind, one column each: filled, kept and lost are those of the copy."""
    quoted = [f'"{cell}"' if "," in cell else cell for cell in CELLS]
    file, copy = tmp_path / "cells.csv", tmp_path / "copy.parquet"
    names = [f"c{place}" for place in range(len(CELLS))]
    file.write_text("\n".join([",".join(names), ",".join(quoted), ",".join(reversed(quoted)), ""]))
    with Facts(file) as facts:
        # What is proposed never loses a cell.
        assert all(one.kept == one.filled for one in facts.columns)
        as_kind = {kind: facts.kept_as("c3", kind)[0] for kind in Kind}
    for kind in Kind:
        table = Table("t", tuple(Column(name, kind) for name in names), source=str(file))
        fit = fit_of(table, [str(file)])
        copy.unlink(missing_ok=True)
        convert(table, [str(file)], copy)
        counted = ", ".join(f"count({name})" for name in names)
        with duckdb.connect() as connection:
            rows, *kept = connection.execute(f"SELECT count(*), {counted} FROM read_parquet('{copy}')").fetchall()[0]
        assert (fit.rows, [one.kept for one in fit.columns]) == (rows, kept)
        assert as_kind[kind] == kept[3]
        for place, one in enumerate(fit.columns):
            assert one.filled == sum(cell != "" for cell in (CELLS[place], CELLS[-1 - place]))
            assert bool(one.reason) == bool(one.lost)


def test_values_outside_bounds_and_categories_are_counted(tmp_path: Path) -> None:
    numbers, words = [-1, 0, 5, 10, 11], ["a", "b", "c"]
    rows = list(itertools.product(numbers, words))
    for part, name in ((rows[::2], "one.csv"), (rows[1::2], "two.csv")):
        (tmp_path / name).write_text("\n".join(["n,w", *(f"{n},{w}" for n, w in part), ""]))
    columns = (Column("n", Kind.INTEGER, 0, 10), Column("w", Kind.TEXT, categories=("a", "b")))
    table = Table("t", columns, source=str(tmp_path / "*.csv"))
    fit = fit_of(table, [str(tmp_path / name) for name in ("one.csv", "two.csv")])
    assert fit.rows == len(rows)
    assert fit.columns[0].outside == sum(not 0 <= n <= 10 for n, _ in rows)
    assert fit.columns[1].outside == sum(w == "c" for _, w in rows)
    assert fit.columns[1].outside_example == "c"
    assert not fit.is_whole


def test_positions_outside_the_box_are_counted_and_those_that_are_swapped(tmp_path: Path) -> None:
    """Every pair of some coordinates, in two files: as the rule of the box says, written down once more."""
    ends = ["", "x", "0", "1", "2", "3", "9", "10", "11", "12", "89"]
    rows = list(itertools.product(ends, ends))
    for part, name in ((rows[::2], "one.csv"), (rows[1::2], "two.csv")):
        (tmp_path / name).write_text("\n".join(["lat,lon", *(f"{lat},{lon}" for lat, lon in part), ""]))
    columns = (Column("lat", Kind.REAL), Column("lon", Kind.REAL))
    known = [(float(lat), float(lon)) for lat, lon in rows if {lat, lon}.isdisjoint(["", "x"])]
    for coordinates, unknown in (("degrees", 1), ("metres", 0)):
        places = Places(("lat", "lon"), box=(1.0, 10.0, 3.0, 12.0), coordinates=coordinates)
        table = Table("t", columns, source=str(tmp_path / "*.csv"), places=places)
        found = fit_of(table, [str(tmp_path / name) for name in ("one.csv", "two.csv")])
        outside = [(lat, lon) for lat, lon in known if not (1 <= lat <= 3 and 10 <= lon <= 12)]
        swapped = [(lat, lon) for lat, lon in outside if 1 <= lon <= 3 and 10 <= lat <= 12]
        assert found.places == (PlaceFit(("lat", "lon"), len(outside) - unknown, len(swapped), unknown),)
        assert not found.is_whole


def test_facts_of_parquet_come_from_its_types(tmp_path: Path) -> None:
    file = tmp_path / "v.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i AS id, i / 4.0 AS \"the cost\", CASE WHEN i % 3 > 0 THEN 'a' END AS w, "
            f"TIMESTAMP '2024-05-06' AS at, [i] AS lists FROM range(12) t(i)) TO '{file}' (FORMAT parquet)"
        )
    with Facts(file) as facts:
        assert {one.origin for one in facts.columns} == {FROM_TYPE}
        assert [one.name for one in facts.columns] == ["id", "the_cost", "w", "at"]
        assert facts.column("w").missing == pytest.approx(1 / 3)
        assert facts.column("w").values == ("a",)
        assert (facts.column("the_cost").least, facts.column("the_cost").largest) == (0, 2.75)
        assert facts.rows_a_person("id") == {1: 12}
        assert "lists" in facts.left_out[0]
        answers = Answers(facts, "v", Choices(facts))
    assert schema_from(answers.tree()).table("v").column("at").is_bounded is False


@pytest.mark.parametrize(
    ("name", "cells", "kind", "origin", "says"),
    [
        (
            "education-level",
            ("3", "12"),
            Kind.INTEGER,
            FROM_DATA,
            "looks like that of a text, but every cell is an integer",
        ),
        ("region", ("1.5", "2"), Kind.REAL, FROM_DATA, "looks like that of a text, but every cell is a real"),
        ("age", ("1.5", "2"), Kind.REAL, FROM_DATA, "looks like that of an integer, but every cell is a real"),
        ("region", ("north", "2"), Kind.TEXT, FROM_NAME, ""),
        ("region", ("", ""), Kind.TEXT, FROM_NAME, ""),
        ("age", ("", ""), Kind.INTEGER, FROM_NAME, ""),
        ("education-num", ("3", "12"), Kind.INTEGER, FROM_DATA, ""),
        # Codes, cells that stand for nothing, and days in another order: texts, and the owner is told why.
        ("code", ("01067", "10115"), Kind.TEXT, FROM_DATA, "'01067' begin with a 0 that numbers lose"),
        ("region", ("01067", "10115"), Kind.TEXT, FROM_NAME, "'01067' begin with a 0 that numbers lose"),
        ("code", ("0", "10115"), Kind.INTEGER, FROM_DATA, ""),
        ("code", ("0.5", "10115"), Kind.REAL, FROM_DATA, ""),
        ("age", ("05", "11"), Kind.INTEGER, FROM_NAME, ""),
        ("code", ("1", "2", "3", "4", "n/a"), Kind.TEXT, FROM_DATA, "4 of 5 cells could be an integer; 'n/a'"),
        ("code", ("1", "2", "n/a", "n/a"), Kind.TEXT, FROM_DATA, ""),
        ("seen", ("31.12.2024", "01.01.25"), Kind.DATE, FROM_DATA, ""),
        ("seen", ("2024-12-31T10:00:00Z",), Kind.TIMESTAMP, FROM_DATA, ""),
        ("seen", ("31.12.2024 10:00", "1.2.2024"), Kind.TIMESTAMP, FROM_DATA, ""),
    ],
)
def test_what_the_cells_are_counts_more_than_a_name(
    tmp_path: Path, name: str, cells: tuple[str, ...], kind: Kind, origin: str, says: str
) -> None:
    file = tmp_path / "a.csv"
    file.write_text("\n".join([f"{name},x", *(f"{cell},1" for cell in cells), ""]))
    with Facts(file) as facts:
        found = facts.columns[0]
    assert (found.kind, found.origin) == (kind, origin)
    assert says in found.note
    assert bool(says) == bool(found.note)


COMMAS = ["3,14", "-0,5", "12", "+7,0", ",5", "5,", "1e3", "1,5e2", " 2,5 ", "1.234,5", "3.14", "1.234", ",", "1,2,3",
          "", "x,y", "nan", "-"]  # fmt: skip


def test_a_decimal_comma_is_read_as_declared_and_a_point_is_never_guessed(tmp_path: Path) -> None:
    """With a comma declared each cell is what a point in its place makes of it, and NULL if it has a point."""
    names = [f"c{place}" for place in range(len(COMMAS))]
    found = {}
    for decimal, cells in ((",", COMMAS), (None, [cell.replace(",", ".") for cell in COMMAS])):
        file, copy = tmp_path / f"in{decimal}.csv", tmp_path / f"out{decimal}.parquet"
        file.write_text("\n".join([";".join(names), ";".join(cells), ""]))
        for kind in (Kind.REAL, Kind.INTEGER, Kind.TEXT):
            table = Table("t", tuple(Column(name, kind) for name in names), source=str(file), decimal=decimal)
            copy.unlink(missing_ok=True)
            convert(table, [str(file)], copy)
            with duckdb.connect() as connection:
                found[decimal, kind] = connection.execute(f"SELECT * FROM read_parquet('{copy}')").fetchall()[0]
            fit = fit_of(table, [str(file)])
            assert [one.kept for one in fit.columns] == [cell is not None for cell in found[decimal, kind]]
    for kind in (Kind.REAL, Kind.INTEGER):
        for cell, comma, point in zip(COMMAS, found[",", kind], found[None, kind], strict=True):
            assert comma == (None if "." in cell else point), cell
    assert [cell or "" for cell in found[",", Kind.TEXT]] == COMMAS
    assert found[",", Kind.REAL][:4] == (3.14, -0.5, 12.0, 7.0)


@pytest.mark.parametrize(
    ("text", "decimal", "kinds"),
    [
        ("a;b\n3,14;1\n2;2\n", ",", (Kind.REAL, Kind.INTEGER)),
        ('a,b\n"3,14",1\n"2",2\n', ",", (Kind.REAL, Kind.INTEGER)),
        ("a;b\n3,14;1.5\n2;2\n", None, (Kind.TEXT, Kind.REAL)),  # both: neither is guessed
        ("a;b\n3,14;x,y\n2;2\n", ",", (Kind.REAL, Kind.TEXT)),
        ("a;b\n1.234,5;1\n2,5;2\n", None, (Kind.REAL, Kind.INTEGER)),
        ("a;b\n1,2,3;1\n2;2\n", None, (Kind.TEXT, Kind.INTEGER)),
        ("a;b\n;1\n;2\n", None, (Kind.TEXT, Kind.INTEGER)),
    ],
)
def test_a_decimal_comma_is_proposed_where_cells_look_so(
    tmp_path: Path, text: str, decimal: str | None, kinds: tuple[Kind, ...]
) -> None:
    (tmp_path / "a.csv").write_text(text)
    with Facts(tmp_path / "a.csv") as facts:
        assert facts.decimal == decimal
        assert tuple(one.kind for one in facts.columns) == kinds
        facts.read_with(None)
        assert (facts.columns[0].kind is Kind.TEXT) is not bool(facts.columns[0].form)
    with Facts(tmp_path / "a.csv", decimal=".") as facts:
        assert (facts.decimal, facts.read) == (None, {})
    with Facts(tmp_path / "a.csv", decimal=",") as facts:
        assert (facts.decimal, facts.read) == (None, {"decimal": ","})


def test_every_proposal_can_be_declared(tmp_path: Path) -> None:
    file = tmp_path / "all.csv.gz"
    text = (
        "User ID,age,when_at,born,spend,is_new,note,paid\n"
        "1,30,2024-01-01 10:00:00,2001-02-03,-12.5,true,x,1.234 €\n1,,,,1234,,y,n/a\n"
    )
    file.write_bytes(gzip.compress(text.encode()))
    with Facts(file) as facts:
        origins = {one.name: one.origin for one in facts.columns}
        assert origins == {
            "User_ID": FROM_DATA, "age": FROM_NAME, "when_at": FROM_NAME, "born": FROM_NAME, "spend": FROM_DATA,
            "is_new": FROM_NAME, "note": FROM_DATA, "paid": FROM_DATA,
        }  # fmt: skip
        choices = Choices(facts)
        choices.change({name: choices[name].taken() for name in choices.names})
        table = schema_from(Answers(facts, "everything", choices).tree()).table("everything")
        assert facts.rows_a_person("User_ID") == {2: 1}
    assert {one.name: (one.kind, one.form) for one in table.columns if one.name != "User_ID"} == {
        one.name: (one.kind, one.form or None) for one in facts.columns if one.name != "User_ID"
    }


def test_files_without_rows_have_facts_too(tmp_path: Path) -> None:
    (tmp_path / "head.csv").write_text("a,b\n")
    with Facts(tmp_path / "head.csv") as facts:
        assert facts.rows == 0
        assert [one.missing for one in facts.columns] == [0.0, 0.0]
        assert facts.rows_a_person("a") == {}
        assert [one.kind for one in facts.columns] == [Kind.TEXT] * 2
    (tmp_path / "broken.csv").write_text('a,b\n1,"x\n')
    with pytest.raises(EngineUnavailable, match=r"broken\.csv, line 2"):
        Facts(tmp_path / "broken.csv")


def test_facts_leave_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "a.csv").write_text("a\nsecret\n")
    with Facts(tmp_path / "a.csv") as facts:
        assert facts.columns[0].values == ("secret",)
    table = Table("t", (Column("a", Kind.INTEGER),), source="a.csv")
    assert "secret" in fit_of(table, [str(tmp_path / "a.csv")]).columns[0].reason
    assert [path for path in (tmp_path / "tmp").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("least", [-1e14, -87.3, -1, -0.2, 0, 0.4, 3, 19, 1990])
@pytest.mark.parametrize("largest", [2, 9.99, 10, 101, 5e13])
def test_round_numbers_hold_the_range_and_have_one_digit(least: float, largest: float) -> None:
    if least > largest:
        return
    low, high = round_range(least, largest) or (1, 0)
    assert low <= least <= largest <= high
    for value in (low, high):
        assert len(str(abs(value)).rstrip("0")) <= 1
    assert round_range("a", 1) is None
    assert round_range(-1e300, 1e300) is None


def test_reasons_say_what_would_help() -> None:
    assert "declare it as text" in why_lost(Kind.INTEGER, "P00663")
    assert "categories" in why_lost(Kind.BOOLEAN, "yes")
    assert "1.234,5" in why_lost(Kind.REAL, "1.234,5").split("form: ")[1]
    assert "2024-12-31" in why_lost(Kind.DATE, "1/2/2024")
    for kind in set(Kind) - {Kind.TEXT}:
        assert "NULL is right if it means nothing" in why_lost(kind, " N/A ")
    for zone in ("Z", "+01:00", " UTC", "-0530"):
        assert "ISO" in why_lost(Kind.TIMESTAMP, f"2024-12-31T10:00:00{zone}")
