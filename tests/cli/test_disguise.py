"""``dither disguise`` and ``dither risk``: from a file to a file and a report, and never silent about guarantees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.data import Column, Kind, wire
from dither.data.files import dump_schema, loads
from dither.data.suggest import suggest
from dither.disguise import WARNING, k_anonymity, l_diversity
from dither.disguise.table import Table
from dither.errors import InvalidParameter, InvalidSchema

ROWS = "name,age,zip,ill\n" + "".join(f"p{row},{20 + row},{1200 + row % 4},{'abc'[row % 3]}\n" for row in range(24))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(ROWS)
    return tmp_path


def typed(line: str) -> Any:
    found = CliRunner().invoke(app, line.split())
    if isinstance(found.exception, InvalidParameter):
        raise found.exception
    return found


def test_a_file_becomes_a_disguised_one_with_a_report(here: Path) -> None:
    line = "disguise t.csv --quasi age,zip --sensitive ill --identifiers name --k 4 --l 3 -o out.csv --report r.html"
    line += " --map 4,8"
    found = typed(line)
    assert found.exit_code == 0, found.output
    assert WARNING in found.output.replace("\n", " ")
    out = Table.read(here / "out.csv")
    assert out.names == ("age", "zip", "ill")
    assert k_anonymity(out, ("age", "zip")) >= 4
    assert l_diversity(out, ("age", "zip"), "ill") >= 3
    page = (here / "r.html").read_text()
    assert WARNING in page
    assert "Other values of k" in page
    assert "with privacy" in page
    with pytest.raises(InvalidParameter, match="force"):
        typed(line)
    again = typed(f"{line} --force --json")
    said = json.loads(again.output)
    assert (said["warning"], said["risk"]["rows"]) == (WARNING, 24)
    told = typed("risk out.csv --quasi age,zip --sensitive ill --population out.csv --json")
    assert json.loads(told.output)["risk"]["smallest"] == said["risk"]["smallest"]
    told = typed("risk out.csv --quasi age,zip --sensitive ill --fraction 0.5 --household zip --report risk.json")
    assert "Pitman" in told.output
    assert "prosecutor" in told.output
    assert json.loads((here / "risk.json").read_text())["warning"] == WARNING


def test_levels_are_chosen_from_hierarchies(here: Path) -> None:
    (here / "levels.yaml").write_text("age: {intervals: [8, 16]}\nzip: {masks: true}\nill: {x: [a, b], y: [c]}\n")
    found = typed(
        "disguise t.csv --quasi age,zip --sensitive ill --k 4 --method optimal --hierarchies levels.yaml "
        "--t 0.5 --distance hierarchical -o out.csv --keep-order --others name"
    )
    assert found.exit_code == 0, found.output
    assert Table.read(here / "out.csv")["name"].cells() == [f"p{row}" for row in range(24)]


@pytest.mark.parametrize(("method", "quasi"), [("k-member", "age,zip"), ("averages", "age")])
def test_other_methods_are_reached_by_name(here: Path, method: str, quasi: str) -> None:
    found = typed(f"disguise t.csv --quasi {quasi} --k 4 --method {method} --identifiers name -o out.csv")
    assert found.exit_code == 0, found.output
    assert k_anonymity(Table.read(here / "out.csv"), quasi.split(",")) >= 4


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("disguise t.csv --quasi age --k 2 -o t.csv --force", "another file"),
        ("disguise t.csv --quasi age --k 2 -o out.txt", "ending in"),
        (
            "disguise t.csv --quasi age --k 2 -o out.csv --method optimal --relaxed --identifiers name",
            "left out with optimal",
        ),
        ("disguise t.csv --quasi age --k 2 -o out.csv --suppression 0.1 --identifiers name", "left out with mondrian"),
        ("disguise t.csv --quasi age --k 99 -o out.csv --identifiers name", "number of rows"),
        ("disguise t.csv --quasi age --k 2 -o out.csv", "another value in each row"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --others town", "one of name"),
        ("disguise none.csv --quasi age --k 2 -o out.csv", "is there"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --map 2,4", "given with --report"),
        ("disguise t.csv --quasi age --k 2 -o out.csv --report r.html --map 2,x --identifiers name", "whole numbers"),
        ("risk t.csv --quasi age --earlier t.csv", "given with --report"),
        ("risk t.csv --quasi age --fraction 2", "a share"),
        ("risk t.csv --quasi town", "one of name"),
    ],
)
def test_what_cannot_be_done_is_said_and_writes_nothing(here: Path, line: str, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        typed(line)
    assert not (here / "out.csv").exists()
    assert (here / "t.csv").read_text() == ROWS


SCHEMA = """dataset: d
unit: row
tables:
  t:
    source: t.csv
    columns:
      age: {kind: integer, role: quasi}
      post: {from: zip, kind: integer, role: quasi}
      ill: {kind: text, role: ROLE}
"""


def test_a_schema_states_the_roles(here: Path) -> None:
    (here / "s.yaml").write_text(SCHEMA.replace("ROLE", "sensitive"))
    assert typed("disguise t.csv --schema s.yaml --k 4 --l 2 -o out.csv").exit_code == 0
    # The schema does not name the names: as everywhere, other columns are not kept.
    assert Table.read(here / "out.csv").names == ("age", "zip", "ill")
    told = json.loads(typed("risk out.csv --schema s.yaml --table t --json").output)
    assert told["risk"]["guesses"][0]["column"] == "ill"
    (here / "s.yaml").write_text(SCHEMA.replace(", role: ROLE", ""))
    for line, match in (
        ("risk t.csv --schema s.yaml", "role for every column"),
        ("risk t.csv --schema s.yaml --quasi age", "left out with"),
        ("risk t.csv --quasi age --table t", "given with --schema"),
        ("risk t.csv", "one or more columns"),
    ):
        with pytest.raises(InvalidParameter, match=match):
            typed(line)


def test_a_role_is_written_read_and_checked() -> None:
    dataset = loads(SCHEMA.replace("ROLE", "other"))
    assert loads(dump_schema(dataset)) == dataset
    assert [one.role for one in dataset.tables[0].columns] == ["quasi", "quasi", "other"]
    assert wire.decode(wire.encode(dataset)) == dataset
    assert "role" not in wire.encode(Column("age", Kind.INTEGER))
    with pytest.raises(InvalidSchema, match="identifier, quasi, sensitive, other"):
        loads(SCHEMA)


def test_a_draft_proposes_roles_by_names(here: Path) -> None:
    (here / "people.csv").write_text("name,age,diagnosis,note\nAda,3,flu,x\n")
    text = suggest(here / "people.csv").text
    for role, column in (("identifier", "name"), ("quasi", "age"), ("sensitive", "diagnosis")):
        assert f"perhaps 'role: {role}': {column}\n" in text
    assert "'role: other'" not in text
