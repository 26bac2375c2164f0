"""``dither publish``: tables of counts to the screen and to files, and errors before anything is paid for."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.errors import DitherError

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
      items: {kind: integer, bounds: [0, 9]}
"""


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def record(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{n},{('Basel', 'Bern')[n % 2]},{n % 40},{n % 10}\n" for n in range(300))
    (tmp_path / "sales.csv").write_text("customer,city,price,items\n" + rows)
    (tmp_path / "shop.yaml").write_text(SCHEMA)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    run("add", "shop.yaml", "--budget", "100")
    return tmp_path


def test_a_histogram_goes_to_the_screen_and_to_files(home: Path) -> None:
    shown = run(
        "publish", "histogram", "shop", "sales", "price", "--bins", "5", "--epsilon", "9", "-o", "h.csv", "--plot"
    )
    assert "price_from" in shown
    rows = list(csv.DictReader((home / "h.csv").read_text().splitlines()))
    assert [row["price_to"] for row in rows] == ["10.0", "20.0", "30.0", "40.0", "50"]
    # 80 rows in truth; noise of scale 1/3: a band of 120 scales.
    assert abs(float(rows[0]["count"]) - 80) < 40
    assert "<svg" in (home / "h.html").read_text()
    for name in ("h.json", "h.parquet"):
        run(
            "publish",
            "histogram",
            "shop",
            "sales",
            "city",
            "items",
            "--bins",
            "items=0,5,9",
            "--epsilon",
            "1",
            "-o",
            name,
        )
        assert (home / name).stat().st_size > 100


def test_a_count_is_quoted_at_most_and_charged_what_it_lost(home: Path) -> None:
    """Of 300 rows at scales up to 2: noise is 50 off with a probability below 1e-10."""
    words = ("publish", "count", "shop", "sales", "--share", "0.1", "--levels", "2", "--epsilon", "1", "--key", "k")
    assert "at most epsilon = 1, usually less" in run(*words, "--quote")
    told = record(*words)
    assert abs(told["rows"][0][0] - 300) < 50
    assert told["loss"]["epsilon"] == "1/2"
    assert record("publish", "count", "shop", "sales", "city", "--levels", "2", "--epsilon", "1")["columns"]


def test_a_quote_says_how_far_counts_may_be_off(home: Path) -> None:
    """Three rows a person at epsilon 1: either cell is off by more than b with probability 2 a^(b + 1) / (1 + a)."""
    words = ("publish", "histogram", "shop", "sales", "city", "--method", "identity", "--epsilon", "1")
    said = record(*words, "--quote")["error"]
    assert said.startswith("the largest absolute error of any entry before negative counts are raised to 0")
    assert "limits on one person" in said
    falls = math.exp(-1 / 3)
    wanted = next(b for b in range(100) if 2 * falls ** (b + 1) / (1 + falls) <= 0.05 / 2)
    assert f"is at most {wanted} in 95 % of cases" in said
    assert said in run(*words, "--quote")
    assert "chosen for" in run("publish", "histogram", "shop", "sales", "city", "--epsilon", "1", "--quote")
    for verb, columns in (("workload", ["items"]), ("marginals", ["city,items"]), ("count", [])):
        assert record("publish", verb, "shop", "sales", *columns, "--epsilon", "1", "--quote")["error"]


def test_a_quote_says_why_it_knows_no_error(home: Path) -> None:
    words = ("publish", "histogram", "shop", "sales", "items", "--method", "uniform", "--epsilon", "1", "--quote")
    said = record(*words)["error"]
    assert said.startswith("not known before: ")
    assert said in run(*words)


def test_a_repeat_says_that_it_is_free(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("dither.cli.ask.note", said.append)
    words = ("publish", "histogram", "shop", "sales", "city", "--epsilon", "1", "--key", "mine")
    first = record(*words)
    assert said == ["key mine"]
    assert record(*words) == first
    assert len(said) == 3
    assert re.fullmatch(
        r"this is the answer that key mine was charged for before \(entry \d+\): nothing more is charged", said[2]
    )


def test_a_workload_and_marginals(home: Path) -> None:
    answers = record(
        *("publish", "workload", "shop", "sales", "items", "--range", "0:4", "--range", "0:9", "--epsilon", "9")
    )
    assert [abs(row[1] - exact) < 60 for row, exact in zip(answers["rows"], (150, 300), strict=True)] == [True] * 2
    prefixes = record("publish", "workload", "shop", "sales", "items", "--queries", "prefixes", "--epsilon", "1")
    assert len(prefixes["rows"]) == 10
    tables = record("publish", "marginals", "shop", "sales", "city", "city,items", "--epsilon", "9", "-o", "m.csv")
    assert set(tables) == {"city", "city-items"}
    assert (home / "m-city.csv").exists()
    assert (home / "m-city-items.csv").exists()


@pytest.mark.parametrize(
    "words",
    [
        "histogram shop sales price",
        "histogram shop sales price --bins x",
        "histogram shop sales price --bins 0,30",
        "histogram shop sales price --bins 0,30,20,50",
        "histogram shop sales price --bins 4 -o table.xlsx",
        "histogram shop sales price --bins 4 --plot",
        "histogram shop sales price --bins 4 --method magic",
        "histogram shop sales price --bins 1000000000",
        "histogram shop sales price city --bins 4",
        "workload shop sales items --queries medians",
        "workload shop sales items --range 1-4",
        "workload shop sales items --range 4:11",
        "marginals shop sales city,city",
    ],
)
def test_nothing_is_paid_for_what_cannot_be_published(home: Path, words: str) -> None:
    with pytest.raises(DitherError):
        run("publish", *words.split(), "--epsilon", "1")
    assert record("ledger", "show", "shop")[0]["releases"] == 0


def test_the_comparison_ends_in_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_DATA", raising=False)
    grid = ("--scales", "1000", "--domains", "64", "--epsilons", "1", "--shapes", "flat", "--repeats", "2")
    words = ("bench", "histograms", "-o", str(tmp_path / "b"), *grid, "--methods", "identity,hierarchical,auto")
    assert {row["method"] for row in record(*words)} == {"identity", "hierarchical", "auto"}
    assert "<table>" in (tmp_path / "b" / "index.html").read_text()
    assert "median ratio" in run(*words)
    for bad in (("--scales", "1e3"), ("--methods", "magic"), ("--shapes", "round")):
        with pytest.raises(DitherError):
            run(*words, *bad)


def test_auto_is_told_what_will_be_asked_and_the_only_table_may_be_left_out(home: Path) -> None:
    words = ("publish", "histogram", "shop", "items", "--epsilon", "1")
    assert "ranges" in str(record(*words, "--questions", "ranges")["notes"])
    assert record(*words, "--questions", "cells")["notes"] != record(*words, "--questions", "ranges")["notes"]
    with pytest.raises(DitherError, match="questions must be omitted, or one of"):
        run(*words, "--questions", "all")
    for verb, columns in (("histogram", ["city", "items"]), ("workload", ["items"]), ("marginals", ["city,items"])):
        priced = [
            record("publish", verb, "shop", *table, *columns, "--epsilon", "1", "--quote")
            for table in ([], ["sales"], ["SALES"])
        ]
        assert priced[0] == priced[1] == priced[2]


def test_the_share_that_decides_which_groups_are_shown_is_an_option(home: Path) -> None:
    schema = SCHEMA.replace("dataset: shop", "dataset: wide").replace("sales.csv", "wide.csv")
    (home / "open.yaml").write_text(schema.replace(", categories: [Basel, Bern]", ""))
    (home / "wide.csv").write_text("customer,city,price,items\n7,Ulm,1,2\n")
    text = "SELECT city, COUNT(*) AS n FROM sales GROUP BY city"
    run("add", "open.yaml", "--budget", "10", "--delta", "0.1")
    loss = ("--epsilon", "1", "--delta", "1e-3")
    by_sql = record("quote", "wide", f"{text} OPTION (THRESHOLD_SHARE = 0.3)", *loss)
    assert record("quote", "wide", text, "--threshold-share", "0.3", *loss) == by_sql
    assert record("sql", "wide", text, "--threshold-share", "0.3", *loss, "--quote") == by_sql
    assert record("quote", "wide", text, "--threshold-share", "0.7", *loss) != by_sql
    record("sql", "wide", text, "--threshold-share", "3/10", *loss)
    with pytest.raises(DitherError, match="set once"):
        run("sql", "wide", f"{text} OPTION (THRESHOLD_SHARE = 0.3)", "--threshold-share", "0.3", *loss)
