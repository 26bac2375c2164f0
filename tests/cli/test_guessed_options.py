"""What people guess on the command line works, or is refused free with the right spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.data import schema_from
from dither.errors import InvalidParameter
from dither.publish.queries.sql.spelling import nearest

SCHEMA = """
dataset: clinic
unit: row
tables:
  visits:
    source: visits.csv
    columns: {ward: {kind: text, categories: [a, b]}}
"""
RUNNER = CliRunner()
COUNT = "SELECT COUNT(*) AS n FROM data"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text("ward\na\nb\n")
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "clinic.yaml", epsilon=10**6)
    return tmp_path / "home"


def test_help_is_a_word_everywhere() -> None:
    for words, usage in ((["help", "sql"], "sql [OPTIONS]"), (["help"], "COMMAND"), (["publish", "help"], "publish")):
        found = RUNNER.invoke(app, words)
        assert found.exit_code == 0, found.output
        assert usage in found.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sql", "clinic", COUNT, "--limit", "5"], "end the query with LIMIT"),
        (["sql", "clinic", COUNT, "--rows", "5"], "max_rows_contributed"),
        (["sql", "clinic", COUNT, "--output", "x.csv"], "write --out"),
        (["sql", "clinic", COUNT, "--eps", "1"], "write --epsilon"),
        (["sql", "clinic", COUNT, "--dry-run"], "write --quote"),
        (["sql", "clinic", COUNT, "--seed", "1"], "noise has no seed"),
        (["synthesize", "clinic", "--limit", "5"], "write --rows"),
        (["publish", "-o", "x.html"], "histogram, count, workload, marginals"),
        (["publish", "clinic"], "histogram, count, workload, marginals"),
    ],
)
def test_a_guessed_option_is_refused_with_its_spelling(words: list[str], said: str) -> None:
    found = RUNNER.invoke(app, words)
    assert found.exit_code == 2
    assert said in " ".join(found.output.replace("│", " ").split())


def test_what_was_typed_is_never_suggested() -> None:
    assert nearest("count", ["COUNT", "COUNTS"]) == "COUNTS"
    assert nearest("COUNT", ["COUNT"]) is None
    found = RUNNER.invoke(app, ["sql", "clinic", "--hepl"])
    assert "--help" in found.output
    assert found.output.count("--hepl") == 1


def test_the_only_table_is_data_and_the_same_query_again_is_free_before_it_is_charged(home: Path) -> None:
    def asked(*words: str) -> str:
        found = RUNNER.invoke(app, ["sql", "clinic", *words, "--epsilon", "1000", "--home", str(home)])
        assert found.exit_code == 0, found.output
        return found.output

    assert "answered before" not in asked(COUNT, "--key", "first")
    # Under its own name it is the same question.
    again = asked(COUNT.replace("data", "visits"))
    assert "'dither answer first --dataset clinic' shows it again for free" in again
    assert "answered before" not in asked(COUNT, "--key", "first"), "a retry is no second charge"
    shown = RUNNER.invoke(app, ["answer", "first", "--dataset", "clinic", "--home", str(home)])
    assert "not charged" in shown.output


def test_on_a_screen_the_same_query_is_charged_again_only_if_that_is_wanted(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ["sql", "clinic", COUNT, "--epsilon", "1000", "--home", str(home)]
    assert RUNNER.invoke(app, how).exit_code == 0
    monkeypatch.setattr("dither.cli.ask.is_screen", lambda: True)
    spent = []
    for typed in ("\n", "n\n", "y\n"):
        found = RUNNER.invoke(app, how, input=typed)
        assert found.exit_code == 0, found.output
        with Curator.open(home) as curator:
            spent.append(curator.session("clinic", analyst="curator").balance().spent.pure)
    assert spent == [1000, 1000, 2000]


def test_a_table_that_is_called_data_has_the_name() -> None:
    columns = {"columns": {"x": "integer"}}
    two = {"visits": {"source": "v.csv", **columns}, "data": {"source": "d.csv", "public": True, "key": "x", **columns}}
    known = schema_from({"dataset": "d", "unit": "row", "tables": two})
    assert known.table("data").source == "d.csv"
    several = {"one": {"source": "v.csv", **columns}, "other": {"source": "w.csv", **columns}}
    with pytest.raises(InvalidParameter, match="one of one, other"):
        schema_from({"dataset": "d", "unit": "row", "tables": several}).table("data")


def test_a_published_table_is_a_page(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    words = ["publish", "histogram", "clinic", "data", "ward", "--epsilon", "1", "-o", str(page), "--home", str(home)]
    found = RUNNER.invoke(app, words)
    assert found.exit_code == 0, found.output
    assert "<svg" in page.read_text(encoding="utf-8")
