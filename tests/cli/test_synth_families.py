"""``dither synthesize --tables``: parents and children from two CSV files, joined in the drawn rows as before."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from dither.curator.folder import Curator
from dither.errors import DitherError, InvalidParameter
from dither.publish.synthetic import SyntheticFamilies

from .test_publish import record, run

pytest.importorskip("pyarrow")

SCHEMA = """\
dataset: town
unit: person
contribution: {rows: 3}
tables:
  houses:
    source: houses.csv
    privacy id: house
    columns:
      house: integer
      area: {kind: text, categories: [hill, lake]}
      rooms: {kind: integer, bounds: [1, 4]}
  people:
    source: people.csv
    privacy id: house
    columns:
      house: integer
      area: {kind: text, categories: [born, moved]}
      age: {kind: real, bounds: [0, 90]}
"""
WORDS = ("synthesize", "town", "--tables", "houses,people")


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # On the hill two young people live in each house, at the lake one old person.
    houses = "".join(f"{n},{'hill' if n % 2 else 'lake'},{1 + n % 4}\n" for n in range(400))
    people = "".join(f"{n},born,{10 if n % 2 else 80}\n" * (2 if n % 2 else 1) for n in range(400))
    (tmp_path / "houses.csv").write_text("house,area,rooms\n" + houses)
    (tmp_path / "people.csv").write_text("house,area,age\n" + people)
    (tmp_path / "town.yaml").write_text(SCHEMA)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    run("add", "town.yaml", "--budget", "1000")
    return tmp_path


def rows_of(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def test_two_tables_are_drawn_and_still_belong_together(town: Path) -> None:
    """Epsilon 400: in 30 runs 400 houses, 1.995 to 2 people on the hill, 0.9967 to 1 of the right age."""
    said = record(
        *WORDS, "--epsilon", "400", "-o", "made.csv", "--bins", "age=2", "--report", "r.json", "--model", "model.json"
    )
    assert set(said["written"]) == {"houses", "people", "model", "report on houses", "report on people"}
    houses, people = rows_of("made-houses.csv"), rows_of("made-people.csv")
    assert list(houses[0]) == ["house", "area", "rooms"]
    assert abs(len(houses) - 400) < 40
    own = Counter(person["house"] for person in people)
    assert set(own) <= {house["house"] for house in houses}
    assert max(own.values()) <= 3
    area = {house["house"]: house["area"] for house in houses}
    hill = [own[number] for number, where in area.items() if where == "hill"]
    assert abs(sum(hill) / len(hill) - 2) < 0.3
    is_right = [(float(person["age"]) < 45) == (area[person["house"]] == "hill") for person in people]
    assert sum(is_right) / len(is_right) > 0.85
    assert json.loads(Path("r-people.json").read_text())["is_private"] is True
    again = SyntheticFamilies.load("model.json")
    assert len(again.sample(7)["houses"]) == 7
    assert record("ledger", "show", "town")[0]["releases"] == 1


def test_a_session_charges_once_and_only_its_owner_sees_rows(town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.publish.synthetic.quality._learning", lambda *_: [])
    curator = Curator.open(town / "home")
    ana = curator.session("town", analyst="ana")
    made = ana.synthesize_families("houses", "people", ["rooms", "age"], epsilon=2, bins={"age": 3}, key="k")
    again = ana.synthesize_families("houses", "people", ["rooms", "age"], epsilon=2, bins={"age": 3}, key="k")
    assert made == again
    assert ana.balance().spent.pure == made.loss.pure == 2
    with pytest.raises(InvalidParameter, match="analyst must be 'curator'"):
        ana.compare_synthetic(made)
    owner = curator.session("town")
    above, below = owner.compare_synthetic(made)
    assert above.compares_real
    assert below.real is not None
    # 200 houses of two and 200 of one, of whom none has too many.
    assert len(below.real) == 600
    assert ana.balance().releases == 1
    for opened in (ana, owner):
        opened.close()
    curator.close()


REFUSED = [
    (["--tables", "houses"], "PARENT,CHILD"),
    (["--tables", "houses,houses"], "two different tables"),
    (["--tables", "houses,cellars"], "table"),
    (["--children", "4"], "at most 3"),
    (["--columns", "area,rooms"], r"TABLE\.COLUMN"),
    (["--columns", "rooms"], "at least one of people"),
    (["--bins", "height=3"], "bins"),
    (["--other", "area=else"], r"TABLE\.COLUMN"),
    (["--where", "rooms > 2"], "tables"),
    (["--method", "magic"], "method"),
    (["--report", "r.json", "--compare-with-real", "--analyst", "ana"], "analyst must be 'curator'"),
    (["-o", "rows.xls"], "out"),
]


def test_nothing_is_paid_for_what_cannot_be_made(town: Path) -> None:
    for words, said in REFUSED:
        out = [] if "-o" in words else ["-o", "rows.csv"]
        with pytest.raises(DitherError, match=said):
            run(*WORDS, "--epsilon", "1", *out, *words)
    assert record("ledger", "show", "town")[0]["releases"] == 0
