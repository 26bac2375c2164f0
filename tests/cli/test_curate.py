"""The curator's verbs: from a CSV to a private GROUP BY with error bars, and the books afterwards."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from dither.cli import ask, main
from dither.cli.app import app
from dither.errors import EngineUnavailable, InvalidParameter

SCHEMA = """\
dataset: shop
unit: person
contribution: {rows: 3}
tables:
  sales:
    source: sales.csv
    privacy id: customer
    columns:
      customer: integer
      city: {kind: text, categories: [Basel, Bern]}
      price: {kind: real, bounds: [0, 50]}
"""
QUERY = "SELECT city, COUNT(*) AS sales, SUM(price) AS income FROM sales GROUP BY city"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{n % 90},{('Basel', 'Bern')[n % 2]},{n % 40}\n" for n in range(300))
    (tmp_path / "sales.csv").write_text("customer,city,price\n" + rows)
    (tmp_path / "shop.yaml").write_text(SCHEMA)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    return tmp_path


def run(*words: str, code: int = 0, text: str | None = None) -> str:
    done = CliRunner().invoke(app, list(words), input=text)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.output


def record(*words: str, code: int = 0) -> Any:
    return json.loads(run(*words, "--json", code=code))


def test_a_file_for_spreadsheets_has_no_formula(home: Path) -> None:
    schema = SCHEMA.replace("[Basel, Bern]", "[Basel, '=1+1', ' @SUM(1)']")
    (home / "shop.yaml").write_text(schema)
    run("add", "shop.yaml", "--budget", "2")
    by_city = 'SELECT city AS "=city", COUNT(*) AS sales FROM sales GROUP BY city'
    run("sql", "shop", by_city, "--epsilon", "0.5", "--out", "answer.csv")
    run("publish", "histogram", "shop", "sales", "city", "--epsilon", "0.5", "--out", "histogram.csv")
    for name in ("answer", "histogram"):
        head, *rows = csv.reader((home / f"{name}.csv").read_text().splitlines())
        assert head[0] in ("'=city", "city")
        assert {row[0] for row in rows} >= {"Basel", "'=1+1", "' @SUM(1)"}


def test_several_files_and_a_folder_are_added_as_one_table(home: Path) -> None:
    head, *rows = (home / "sales.csv").read_text().splitlines()
    (home / "parts" / "year=1").mkdir(parents=True)
    for place, name in enumerate(("a.csv", "b.csv")):
        text = "\n".join([head, *rows[place::2], ""])
        (home / name).write_text(text)
        # The same rows would be refused: they are another data set's.
        (home / "parts" / "year=1" / name).write_text(text.replace("B", "T"))
    words = ("--person", "customer", "--rows", "1", "--budget", "1")
    assert "300 rows" in run("add", "a.csv", "b.csv", "--name", "both", *words)
    assert f"source: [{home}/a.csv, {home}/b.csv]" in (home / "both.yaml").read_text()
    (home / "a.csv").unlink()
    assert "300 rows" in run("add", "parts", "--kind", "year=integer", *words)
    assert f"source: {home}/parts/\n" in (home / "parts.yaml").read_text()
    # The schema that was written reads the very same rows, which are no new edition.
    assert record("add", "parts.yaml", "--budget", "1")["edition"] == 1
    refused = {"*.csv shop.yaml": "a schema names its files itself", "none*.csv": "a pattern that some file fits"}
    for typed, says in refused.items():
        with pytest.raises(InvalidParameter, match=says):
            run("add", *typed.split(), "--budget", "1")
    draft = run("add", "--suggest", "b.csv", "sales.csv")
    assert "source: [" in draft


def test_from_a_file_to_answers(home: Path) -> None:
    draft = run("add", "--suggest", "sales.csv")
    assert "customer" in draft
    assert "???" in draft
    added = record("add", "shop.yaml", "--budget", "2")
    assert added["dataset"] == "shop"
    quoted = record("quote", "shop", QUERY, "--epsilon", "0.5")
    assert {column["name"] for column in quoted["columns"]} == {"sales", "income"}
    answer = record("sql", "shop", QUERY, "--epsilon", "0.5", "--out", "answer.csv")
    assert [row[0] for row in answer["rows"]] == ["Basel", "Bern"]
    assert (home / "answer.csv").read_text().startswith('"city","sales","sales_low","sales_high","income')
    shown = record("ledger", "show", "shop")
    assert shown[0]["releases"] == 1
    assert record("datasets")[0]["tables"] == ["sales"]
    assert record("ledger", "verify")["is_intact"]


def test_what_people_see(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    assert "95 %" in run("sql", "shop", QUERY, "--epsilon", "0.5")
    assert "discrete Laplace" not in run("quote", "shop", QUERY, "--epsilon", "0.5")
    assert "discrete Laplace" in run("quote", "shop", QUERY, "--epsilon", "0.5", "--verbose")
    assert "shop" in run("datasets")
    assert "intact" in run("ledger", "verify")
    assert "1.5" in run("ledger", "show", "shop")
    lines = [json.loads(line) for line in run("ledger", "export").splitlines()]
    assert [line["kind"] for line in lines] == ["register", "reserve", "draw", "answer"]
    card = yaml.safe_load(run("card", "shop"))
    assert card["privacy_loss"]["releases"] == 1


def test_would_a_release_fit(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    assert "fits" in run("ledger", "show", "shop", "--epsilon", "1")
    assert "does not fit" in run("ledger", "show", "shop", "--epsilon", "3", code=1)


def test_a_target_error_finds_the_epsilon(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    quoted = record("quote", "shop", QUERY, "--target", "sales=10")
    assert next(column["error"] for column in quoted["columns"] if column["name"] == "sales") <= 10


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "html"])
def test_answers_are_written_in_every_form(home: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    run("add", "shop.yaml", "--budget", "2")
    run("sql", "shop", QUERY, "--epsilon", "0.5", "-o", f"answer.{suffix}")
    assert (home / f"answer.{suffix}").stat().st_size > 50


def test_the_rows_are_imported_for_the_owner_alone(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    copies = list((home / "home" / "data" / "shop").iterdir())
    assert sorted(path.suffix for path in copies) == [".json", ".parquet"]
    for path in (*copies, home / "home" / "data" / "shop"):
        assert path.stat().st_mode & 0o077 == 0
    (home / "sales.csv").unlink()
    assert [row[0] for row in record("sql", "shop", QUERY, "--epsilon", "0.5")["rows"]] == ["Basel", "Bern"]


def test_an_add_that_fails_leaves_nothing_behind(home: Path) -> None:
    text = (home / "sales.csv").read_text()
    (home / "sales.csv").write_text(text + '7,"Bern"x,3\n')
    with pytest.raises(EngineUnavailable, match=r"sales\.csv, line 302: something between the closing quote"):
        run("add", "shop.yaml", "--budget", "2")
    assert record("datasets") == []
    assert run("ledger", "export") == ""
    assert {path.name for path in (home / "home" / "data").iterdir()} <= {".lock"}
    (home / "sales.csv").write_text(text)
    assert record("add", "shop.yaml", "--budget", "3")["budget"]["epsilon"] == "3"


def test_parquet_may_stay_where_it_is(home: Path) -> None:
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    rows = arrow.table({"customer": [1, 2], "city": ["Bern", "Basel"], "price": [1.0, 2.0]})
    parquet.write_table(rows, home / "sales.parquet")
    with pytest.raises(InvalidParameter, match="in_place is not allowed for CSV"):
        run("add", "shop.yaml", "--budget", "2", "--in-place")
    (home / "shop.yaml").write_text(SCHEMA.replace("sales.csv", "sales.parquet"))
    run("add", "shop.yaml", "--budget", "2", "--in-place")
    assert [path.name for path in (home / "home" / "data" / "shop").iterdir()] == ["edition.json"]
    assert len(record("sql", "shop", QUERY, "--epsilon", "0.5")["rows"]) == 2
    parquet.write_table(rows.slice(1), home / "sales.parquet")
    with pytest.raises(EngineUnavailable, match="is not what was added; add it again"):
        run("sql", "shop", QUERY, "--epsilon", "0.5")
    assert record("ledger", "show", "shop")[0]["releases"] == 1


def test_the_prompt_answers_line_by_line_and_survives_mistakes(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("add", "shop.yaml", "--budget", "2")
    lines = iter(["SELECT COUNT(*) AS n", "FROM sales;", "SELECT nonsense;", f"EXPLAIN PRIVACY {QUERY};", "\\q"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    with pytest.raises(typer.Exit):
        ask.sql("shop", None, epsilon="0.5", analyst="ana", yes=True)
    seen = capsys.readouterr()
    assert "n: number of rows" in seen.out
    assert "at most, in 95 % of cases" in seen.out
    assert "nonsense" in seen.err
    assert record("ledger", "show", "shop")[0]["releases"] == 1


def test_a_wrong_file_ending_costs_nothing(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    with pytest.raises(ValueError, match="csv"):
        run("sql", "shop", QUERY, "--epsilon", "0.5", "-o", "answer.xls")
    assert record("ledger", "show", "shop")[0]["releases"] == 0


@pytest.mark.parametrize(
    ("words", "named", "code"),
    [
        (["sql", "nowhere", QUERY, "--epsilon", "1"], "shop", 4),
        (["sql", "shop", "SELECT price FROM sales", "--epsilon", "1"], "raw rows", 2),
        (["sql", "shop", QUERY], "epsilon", 2),
        (["sql", "shop", QUERY, "--epsilon", "99"], "spent", 3),
        (["add", "missing.yaml", "--budget", "1"], "missing.yaml", 2),
        (["add", "shop.yaml", "--budget", "-1"], "budget must be", 2),
    ],
)
def test_a_mistake_is_one_line_and_an_exit_code(
    home: Path,
    words: list[str],
    named: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("add", "shop.yaml", "--budget", "2")
    monkeypatch.setattr(sys, "argv", ["dither", *words])
    with pytest.raises(SystemExit) as left:
        main()
    seen = capsys.readouterr()
    assert left.value.code == code, seen
    assert named in seen.err
    assert "Traceback" not in seen.err


def test_a_clamp_that_is_found_is_priced_and_paid_for_with_its_query(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    query = QUERY.replace("SUM(price)", "SUM(CLAMP(price, AUTO))")
    for words in (("quote", "shop", query), ("sql", "shop", query, "--quote")):
        assert record(*words, "--epsilon", "1")["loss"]["epsilon"] == "1"
        assert "the range of price, for epsilon = 0.1 each" in run(*words, "--epsilon", "1")
        assert "for epsilon = 0.5 each" in run(*words, "--epsilon", "1", "--auto-share", "1/2")
    first = record("sql", "shop", query, "--epsilon", "1", "--key", "once", "-o", "answer.csv")
    assert "price was clamped" in first["notes"][-1] or "no range of price" in first["notes"][-1]
    assert record("sql", "shop", query, "--epsilon", "1", "--key", "once") == first
    assert record("ledger", "show", "shop")[0]["spent"]["epsilon"] == "1"
    with pytest.raises(InvalidParameter, match="auto_share must be"):
        run("sql", "shop", query, "--epsilon", "1", "--auto-share", "1")
