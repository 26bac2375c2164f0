"""``dither synthesize``: from a schema and a CSV to synthetic rows and a report, with errors before any charge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dither.errors import BudgetExceeded, DitherError

from .test_publish import home, record, run

__all__ = ["home"]
pytest.importorskip("pyarrow")

FACTS = """\
impossible:
  - {columns: [city, items], values: [[Basel, 9]]}
"""


def test_bins_are_found_for_one_price(home: Path) -> None:
    words = ["synthesize", "shop", "sales", "--columns", "city,price", "--bins", "price=found", "--epsilon", "20"]
    assert "20" in run(*words, "--quote")
    said = run(*words, "-o", "rows.csv", "--report", "report.json")
    assert "cost epsilon = 20" in said
    assert len((home / "rows.csv").read_text().splitlines()) > 1


def test_one_command_gives_rows_a_model_and_a_report(home: Path) -> None:
    said = run(
        "synthesize",
        "shop",
        "-o",
        "rows.parquet",
        "--epsilon",
        "20",
        "--model",
        "model.json",
        "--report",
        "report.html",
    )
    assert "synthetic rows of sales to rows.parquet" in said
    assert "NOT PRIVATE" not in said
    pandas = pytest.importorskip("pandas")
    rows = pandas.read_parquet("rows.parquet")
    assert list(rows.columns) == ["city", "price", "items"]
    assert set(rows["city"]) <= {"Basel", "Bern"}
    assert rows["price"].between(0, 50).all()
    assert abs(len(rows) - 300) < 100
    assert "may be published" in Path("report.html").read_text()
    assert json.loads(Path("model.json").read_text())["synthetic"] == 1
    spent = record("ledger", "show", "shop")
    assert "20" in json.dumps(spent)


def test_facts_rows_and_retries(home: Path) -> None:
    Path("facts.yaml").write_text(FACTS)
    words = ["synthesize", "shop", "sales", "--columns", "city,items", "--constraints", "facts.yaml", "--epsilon", "5"]
    first = record(*words, "--rows", "50", "-o", "rows.csv", "--key", "once")
    again = record(*words, "--rows", "70", "-o", "more.json", "--key", "once")
    assert (first["rows"], again["rows"]) == (50, 70)
    assert first["receipt"] == again["receipt"]
    assert "Basel,9" not in Path("rows.csv").read_text().replace('"', "")
    assert len(Path("more.json").read_text().splitlines()) == 70


def test_a_comparison_with_real_rows_says_so(home: Path) -> None:
    said = run("synthesize", "shop", "-o", "rows.csv", "--epsilon", "20", "--report", "r.json", "--compare-with-real")
    assert "NOT PRIVATE" in said
    report = json.loads(Path("r.json").read_text())
    assert report["is_private"] is False
    values = {figure["name"]: figure["value"] for figure in report["figures"]}
    assert 0 <= values["total variation, 1-way"] <= 0.5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "rows.xls"], "out"),
        (["-o", "nowhere/rows.csv"], "folder that exists"),
        (["--report", "r.pdf"], "report"),
        (["--compare-with-real"], "report"),
        (["--compare-with-real", "--report", "r.json", "--analyst", "ana"], "analyst must be 'curator'"),
        (["--children", "3"], "with --tables"),
        (["--method", "magic"], "method"),
        (["--columns", "city,customer"], "privacy id"),
        (["--other", "city"], "COLUMN=LABEL"),
        (["--constraints", "absent.yaml"], "constraints"),
        (["--bins", "price"], "COLUMN=BINS"),
    ],
)
def test_nothing_is_paid_for_what_cannot_be_made(home: Path, words: list[str], said: str) -> None:
    before = record("ledger", "show", "shop")
    out: list[Any] = [] if "-o" in words else ["-o", "rows.csv"]
    with pytest.raises(DitherError, match=said):
        run("synthesize", "shop", "--epsilon", "1", *out, *words)
    assert record("ledger", "show", "shop") == before


def test_a_budget_that_is_too_small_is_said(home: Path) -> None:
    with pytest.raises(BudgetExceeded):
        run("synthesize", "shop", "-o", "rows.csv", "--epsilon", "200")
