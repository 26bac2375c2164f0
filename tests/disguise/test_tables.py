"""Tables come from frames and files and go back as they came; hierarchies without sense are refused."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dither.disguise import Hierarchy, Mondrian, Roles, Rules, Table, disguises, read_hierarchies, risk_of
from dither.disguise.contract import WARNING
from dither.disguise.report import write_disguised, write_risk
from dither.errors import InvalidParameter

PEOPLE = {"age": [21, 25, 43, None], "zip": ["0471", "0472", "0471", ""], "ill": ["a", "b", "a", "b"]}


def test_frames_come_back_as_they_came() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    method = Mondrian(Roles(("age",), ("ill",)), Rules(k=2, l=2))
    expected = method.apply(PEOPLE).frame()
    for given in (pd.DataFrame(PEOPLE), pl.DataFrame(PEOPLE), pl.DataFrame(PEOPLE).lazy(), pa.table(PEOPLE)):
        frame = method.apply(given).frame()
        kind: Any = pl.DataFrame if isinstance(given, pl.LazyFrame) else type(given)
        assert isinstance(frame, kind)
        assert Table.of(frame).columns()["ill"] == expected["ill"]
        # A column of numbers of pandas with a missing one is a column of reals.
        assert risk_of(Table.of(frame), ("age",)).by_size == ((1, 0), (2, 4))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_files_keep_codes_as_they_are(tmp_path: Path, ending: str) -> None:
    file = Table.of(PEOPLE).write(tmp_path / f"people{ending}")
    read = Table.read(file)
    assert read["zip"].cells() == ["0471", "0472", "0471", None]
    assert read["zip"].numbers() is None
    assert read["age"].numbers() is not None
    assert Table.of({"a": [".5", "-2", "1e3"]})["a"].numbers() is not None
    for texts in (["1", "x"], ["nan"], [True], [""]):
        assert Table.of({"a": texts})["a"].numbers() is None
    assert len(read) == 4


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("short.csv", "a,b\n1,2\n1\n", "row 2"),
        ("twice.csv", "a,a\n1,2\n", "different name"),
        ("empty.csv", "", "different name"),
        ("some.txt", "a\n", "ending in .csv"),
        ("latin.csv", "a\nZ\udcfcrich\n", "save it so"),
        ("some.parquet", "no Parquet", "Parquet file"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path: Path, name: str, text: str, match: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(InvalidParameter, match=match):
        Table.read(tmp_path / name)
    with pytest.raises(InvalidParameter, match="an existing file"):
        Table.read(tmp_path / "nothing.csv")


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="one value"):
        Table.of({"a": [[1], [2]]})
    for wrong in ([1, 2], {"a": [1], "b": [1, 2]}, {}):
        with pytest.raises(InvalidParameter, match="table"):
            Table.of(wrong)
    with pytest.raises(InvalidParameter, match=r"\.csv or \.parquet"):
        Table.of(PEOPLE).write("people.txt")


def test_hierarchies_of_four_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "wards.csv").write_text("a;front;*\nb;front;*\nc;back;*\n")
    (tmp_path / "levels.yaml").write_text(
        "age: {intervals: [5, 10]}\nzip: {masks: true}\nward: {file: wards.csv}\nsex: {flat: true}\n"
        "job: {office: [clerk, lawyer], field: [farmer]}\n"
    )
    values: dict[str, list[object]] = {"age": [3, None], "zip": ["12"], "ward": ["a"], "sex": ["f"], "job": ["clerk"]}
    found = read_hierarchies(tmp_path / "levels.yaml", values)
    assert found["age"].labels == {"3": ("[0, 5)", "[0, 10)", "*"), "": ("?", "?", "*")}
    assert found["zip"].labels == {"12": ("1*", "**")}
    assert found["ward"].labels["c"] == ("back", "*")
    assert found["sex"].labels == {"f": ("*",)}
    assert found["job"].labels["lawyer"] == ("office", "*")
    with pytest.raises(InvalidParameter, match="mapping from columns"):
        read_hierarchies(tmp_path / "levels.yaml", {"age": []})
    with pytest.raises(InvalidParameter, match="an existing file"):
        read_hierarchies(tmp_path / "none.yaml", {})
    with pytest.raises(InvalidParameter, match="an existing file"):
        Hierarchy.read(tmp_path / "none.csv")
    (tmp_path / "wards.csv").write_text("a;front\na;back\n")
    with pytest.raises(InvalidParameter, match="one line"):
        Hierarchy.read(tmp_path / "wards.csv")


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        ({}, "gap"),
        ({"a": ("x", "*"), "b": ("*",)}, "gap"),
        ({"a": ("x", ""), "b": ("x", "")}, "without gaps"),
        ({"a": ("x", "y"), "b": ("x", "z")}, "this one has two"),
        # A cycle is a label that comes back with another parent.
        ({"a": ("b",), "b": ("a",)}, "without cycles"),
        ({"a": ("x", "y", "x"), "b": ("y", "x", "y"), "c": ("x", "z", "x")}, "this one has two"),
    ],
)
def test_hierarchies_without_sense_are_refused(lines: dict[str, tuple[str, ...]], match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        Hierarchy(lines)


def test_makers_of_hierarchies_refuse_what_they_cannot_read() -> None:
    for widths in ([0], [5, 7], [-1]):
        with pytest.raises(InvalidParameter, match="widths"):
            Hierarchy.intervals([1], widths)
    with pytest.raises(InvalidParameter, match="'old'"):
        Hierarchy.intervals([1, "old"], [5])
    with pytest.raises(InvalidParameter, match="each value once"):
        Hierarchy.tree({"x": ["a"], "y": ["a"]})
    with pytest.raises(InvalidParameter, match="lists of values"):
        Hierarchy.tree({"x": "a"})


def test_reports_say_that_nothing_is_guaranteed(tmp_path: Path) -> None:
    made = Mondrian(Roles(("age",), ("ill",)), Rules(k=2, l=2)).apply(PEOPLE)
    for ending in (".html", ".json"):
        first = write_disguised(tmp_path / f"made{ending}", made).read_text()
        second = write_risk(tmp_path / f"risk{ending}", made.risk).read_text()
        assert WARNING in first
        assert WARNING in second
    page = (tmp_path / "made.html").read_text()
    assert "dither attack homogeneity" in page
    assert made.to_dict()["warning"] == WARNING
    assert sorted(made.shuffled().columns()["ill"]) == sorted(PEOPLE["ill"])  # type: ignore[type-var]


def test_every_disguise_is_on_the_page_with_attacks_that_are_there() -> None:
    from dither.attack import attacks

    page = (Path(__file__).parents[2] / "docs" / "disguise.md").read_text(encoding="utf-8")
    for name, kind in disguises().items():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert kind.source
        assert kind.attacks
        assert set(kind.attacks) <= set(attacks())
        assert all(f"`{attack}`" in row for attack in kind.attacks)


def test_the_index_has_every_entry_with_an_attack_that_is_there() -> None:
    from dither.attack import attacks

    page = (Path(__file__).parents[2] / "docs" / "disguise-index.md").read_text(encoding="utf-8")
    for entry in (*(f"DG{number:02}" for number in range(1, 24)), "D04", "BM07", "EX20"):
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {entry} |"))
        named = re.findall(r"`([^`]+)`", row.split("|")[-2])
        assert named
        assert set(named) <= set(attacks())


def test_the_page_of_every_entry_names_its_attack() -> None:
    root = Path(__file__).parents[2]
    listed = yaml.safe_load((root / "src" / "dither" / "cli" / "sources.yaml").read_text(encoding="utf-8"))
    every = [one for group in listed.values() for one in group if isinstance(one, dict)]
    entries = {one["id"]: one for one in every if "id" in one}
    for name in (*(f"DG{number:02}" for number in range(1, 24)), "D04", "BM07", "EX20"):
        page = (root / "docs" / entries[name]["page"]).read_text(encoding="utf-8")
        assert entries[name]["attacks"]
        assert all(f"`{attack}`" in page for attack in entries[name]["attacks"]), name


def test_frames_and_arrays_are_read_without_going_through_their_cells() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    cells: dict[str, list[Any]] = {
        "number": [3, 1, 3],
        "part": [1.5, float("nan"), 1.5],
        "text": ["b", "", "a"],
        "flag": [True, False, True],
        "day": [datetime.date(2024, 5, 17), None, datetime.date(2023, 1, 1)],
    }
    plain = Table.of(cells).columns()
    assert plain["part"] == [1.5, None, 1.5]
    assert plain["text"] == ["b", None, "a"]
    for frame in (pd.DataFrame(cells), pl.DataFrame(cells), pa.table(cells)):
        table = Table.of(frame)
        assert table.columns() == plain
        assert type(table.frame()) is type(frame)
    assert Table.of({"a": np.array([7, -2, 7])})["a"].cells() == [7, -2, 7]
    assert Table.of({"a": np.array([2**63, 1], dtype=np.uint64)})["a"].cells() == [2**63, 1]
    assert Table.of({"a": np.ma.array([1, 2], mask=[False, True])})["a"].cells() == [1, None]
    assert Table.of(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}))["a"].cells() == [1, None]
    with pytest.raises(InvalidParameter, match="one value"):
        Table.of(pa.table({"a": [[1], [2]]}))


def test_dates_have_months_and_years() -> None:
    days = [datetime.date(2024, 5, 17), "2019-12-31", None]
    lines = Hierarchy.dates(days, ["month", "quarter", "year", "decade"]).labels
    assert lines["2024-05-17"] == ("2024-05", "2024 Q2", "2024", "2020s", "*")
    assert lines["2019-12-31"] == ("2019-12", "2019 Q4", "2019", "2010s", "*")
    assert lines[""] == ("?", "?", "?", "?", "*")
    for steps in ([], ["year", "month"], ["week"]):
        with pytest.raises(InvalidParameter, match="month, quarter"):
            Hierarchy.dates(days, steps)
    with pytest.raises(InvalidParameter, match="'soon'"):
        Hierarchy.dates(["soon"], ["year"])


def test_odd_columns_are_spoken_of() -> None:
    table = {"id": [1, 2, 3, 4], "age": [1, 2, None, "x"], "pay": [1.5, 2.5, 3.5, 4.5]}
    said = " ".join(Mondrian(Roles(("age",), others=("id",)), Rules(k=2)).apply(table).done)
    assert "Missing values of age" in said
    assert "'x' among its numbers" in said
    assert "another value of id" in said
    assert "pay" not in said


def test_files_are_read_and_written_a_few_lines_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.disguise.table._LINES", 2)
    lines = ["a,b", "1,x", "", "2,", "1,x", "3,y", ""]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    table = Table.read(tmp_path / "t.csv")
    assert table.columns() == {"a": ["1", "2", "1", "3"], "b": ["x", None, "x", "y"]}
    again = Table.read(table.write(tmp_path / "again.csv"))
    assert again.columns() == table.columns()
    (tmp_path / "t.csv").write_text("a,b\n1,x\n\n2,y\n3\n")
    with pytest.raises(InvalidParameter, match="row 3 must be 2 cells wide"):
        Table.read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("a,b\n")
    assert len(Table.read(tmp_path / "t.csv")) == 0
