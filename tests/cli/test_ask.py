"""``dither ask``: many questions for one price, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.errors import DitherError

SCHEMA = """
dataset: clinic
unit: row
tables:
  visits:
    source: visits.csv
    columns:
      ward: {kind: text, categories: [a, b]}
      age: {kind: integer, bounds: [0, 99]}
"""
RUNNER = CliRunner()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    lines = [f"{'ab'[age % 2]},{age}" for age in range(100)]
    (tmp_path / "visits.csv").write_text("\n".join(["ward,age", *lines]) + "\n")
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "clinic.yaml", epsilon=10**6)
    return tmp_path / "home"


def typed(*words: Any, home: Path) -> str:
    found = RUNNER.invoke(app, ["ask", *map(str, words), "--home", str(home)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_hundred_questions_are_answered_under_one_price(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    how = ("--columns", "ward,age", "--epsilon", 10**5)
    assert "would cost epsilon = 100000" in typed("clinic", "wards", *how, "--quote", home=home)
    assert "0 asked so far" in typed("clinic", "wards", *how, home=home)
    file = tmp_path / "questions.txt"
    file.write_text("\n".join(f"age >= {age}" for age in range(1, 100)) + "\n")
    found = json.loads(typed("clinic", "wards", "ward = 'a'", "--file", file, "--json", home=home))
    assert [one["count"] for one in found["answers"]] == [50, *range(99, 0, -1)]
    with Curator.open(home) as curator:
        assert curator.session("clinic", analyst="curator").balance().spent.pure == 10**5
    assert "50 [50, 50] at 0.95, from the model" in typed("clinic", "wards", "ward = 'a'", home=home)
    assert "100 asked so far" in typed("clinic", "wards", home=home)
    refused = RUNNER.invoke(app, ["ask", "clinic", "wards", "ward = 'a'", "ward = 'd'", "--home", str(home)])
    assert refused.exception is not None
    assert refused.exception.__notes__ == ["that is question 2 of 2: ward = 'd'"]
    again = json.loads(typed("clinic", "wards", "--answers", "--json", home=home))
    assert again["answers"] == found["answers"]
    assert "50 [50, 50] at 0.95, from the model  ward = 'a'" in typed("clinic", "wards", "--answers", home=home)


def test_distances_are_asked_as_counts_are(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    how = ("--columns", "age", "--kind", "distances", "--metric", "line", "--epsilon", 10**5)
    assert "would cost epsilon = 100000" in typed("clinic", "far", *how, "--quote", home=home)
    typed("clinic", "far", *how, home=home)
    found = json.loads(typed("clinic", "far", "0", "99", "--json", home=home))["answers"]
    assert [one["count"] for one in found] == [sum(range(100))] * 2


def test_whoever_opens_one_is_told_which_rows_count(home: Path) -> None:
    """Before anything is paid for, from the schema alone; programs that read JSON are told nothing beside it."""
    words = ["ask", "clinic", "wards", "--columns", "ward", "--epsilon", "1", "--quote", "--home", str(home)]
    assert "a row counts only if it has a declared value in each of ward;" in RUNNER.invoke(app, words).stderr
    assert RUNNER.invoke(app, [*words, "--json"]).stderr == ""


def test_what_cannot_be_done_is_said(home: Path) -> None:
    for words in (
        ("clinic", "nothing", "age > 3"),
        ("clinic", "wards", "--columns", "ward"),
        ("clinic", "wards", "--epsilon", "1"),
        ("clinic", "wards", "age > 3", "--answers"),
        ("clinic", "wards", "--kind", "distances"),
        ("clinic", "wards", "--kind", "cuts", "--epsilon", "1"),
        ("clinic", "wards", "--columns", "ward,age", "--epsilon", "1", "--bins", "age"),
        ("clinic", "wards", "--columns", "ward,age", "--epsilon", "1", "--file", "nowhere.txt"),
        ("clinic", "wards", "--columns", "ward,age", "--epsilon", "1", "--table", "nowhere"),
    ):
        found = RUNNER.invoke(app, ["ask", *words, "--home", str(home)])
        assert isinstance(found.exception, DitherError), found.output
