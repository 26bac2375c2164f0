"""Comparisons from the command line end in tables and a page, and refuse what they do not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.errors import DitherError

SMALL = ("--scales", "100", "--epsilons", "1", "--repeats", "2")
KINDS = {
    "histograms": ("--domains", "16", "--shapes", "flat", "--methods", "identity,sorted-histogram,stability-histogram"),
    "histograms --dimensions 2": ("--domains", "16", "--shapes", "towns", "--methods", "identity,quad-tree"),
    "workloads": ("--domains", "16", "--shapes", "flat", "--methods", "identity,privelet,two-phase"),
    "marginals": ("--domains", "3", "--shapes", "answers", "--methods", "noisy-marginals,residual-planner"),
}


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_DATA", raising=False)


def run(*words: str) -> str:
    found = CliRunner().invoke(app, ["bench", *words], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_comparison_ends_in_tables_and_a_page(kind: str, tmp_path: Path) -> None:
    words = (*kind.split(), "-o", str(tmp_path), *SMALL, *KINDS[kind])
    rows = json.loads(run(*words, "--json"))
    assert {row["method"] for row in rows} == set(KINDS[kind][-1].split(","))
    page = (tmp_path / "index.html").read_text()
    for row in rows:
        assert f"<td>{row['method']}</td>" in page
    assert {row["asked"] for row in rows} == {text.split(",")[0] for text in _headings(page)}
    done = (tmp_path / "results.jsonl").read_text()
    shown = run(*words)
    assert "median ratio" in shown
    # Nothing was run again.
    assert (tmp_path / "results.jsonl").read_text() == done


def _headings(page: str) -> list[str]:
    return [piece.partition("</h2>")[0] for piece in page.split("<h2>")[1:]]


@pytest.mark.parametrize(
    "words",
    [
        "histograms --dimensions 2 --domains 15",
        "workloads --asked medians",
        "workloads --delta x",
        "workloads --epsilons 0",
        "marginals --shapes nobody",
        "marginals --domains 1e3",
        # A pure loss alone, for a method of Gaussian noise: nothing fits.
        "marginals --methods residual-planner --delta=",
    ],
)
def test_what_cannot_be_compared_is_refused(words: str, tmp_path: Path) -> None:
    with pytest.raises(DitherError):
        run(*words.split(), "-o", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
