"""A survey about a number, from the question to a table: three commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.cli.survey import read_survey
from dither.local.clients import Client
from dither.service.report_store import ReportStore


def run(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("method", "row"),
    [("hybrid-number", "mean"), ("square-wave", "50 % quantile"), ("memoised-kary", None), ("prefix-hashing", "5")],
)
def test_a_survey_about_numbers_ends_in_a_table_with_intervals(tmp_path: Path, method: str, row: str | None) -> None:
    survey = tmp_path / "hours.json"
    question = ("--question", "How many hours?", "--epsilon", "8", "--range", "0..15")
    said = run("survey", "new", str(survey), *question, "--method", method)
    assert f"{method}, as requested" in said
    document = read_survey(survey)
    texts = [Client(document).report(5) for _ in range(200)]
    with ReportStore(survey.with_suffix(".reports"), document) as store:
        store.add(texts)
    record = json.loads(run("estimate", str(survey), "--json"))
    assert record["reports"] == 200
    page = tmp_path / "page.html"
    table = run("estimate", str(survey), "--plot", str(page))
    assert "How many hours?" in table
    assert "How many hours?" in page.read_text(encoding="utf-8")
    if row is None:
        assert max(record["answers"], key=lambda one: one["share"])["answer"] == "5"
    else:
        found = {one["name"]: one for one in record["quantities"]}[row]
        assert row in table
        near = 1 if found["is_share"] else 5
        assert abs(found["value"] - near) < 1


def test_an_unknown_randomiser_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    typed = ["survey", "new", str(tmp_path / "a.json"), "--question", "?", "--epsilon", "1", "--range", "0..9"]
    done = CliRunner().invoke(app, [*typed, "--method", "guess"])
    assert done.exit_code != 0
    assert "hybrid-number" in str(done.exception)
    done = CliRunner().invoke(app, [*typed, "--method", "prefix-hashing"])
    assert done.exit_code != 0
    assert "power of 2" in str(done.exception)
