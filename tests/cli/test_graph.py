"""``dither graph``: a quote without rows, an answer, a file with its plot."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli.app import app

SCHEMA = """
dataset: ring
unit: edge
tables:
  ring:
    source: ring.csv
    graph: {ends: [one, other]}
    columns:
      one: {kind: integer, bounds: [0, 30]}
      other: {kind: integer, bounds: [0, 30]}
"""


def test_a_graph_is_quoted_asked_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{node},{(node + step) % 30}" for node in range(30) for step in (1, 2)]
    Path("ring.csv").write_text("\n".join(["one,other", *rows]))
    Path("ring.yaml").write_text(SCHEMA)

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    run("init", "home")
    lost = CliRunner().invoke(app, ["add", "ring.yaml", "--budget", "1"])
    assert "--home home" in str(lost.exception)
    assert "dither graph ring edges" in run("--home", "home", "add", "ring.yaml", "--budget", "100000")
    Path("ring.csv").unlink()
    assert "would cost epsilon = 1" in run("--home", "home", "graph", "ring", "triangles", "--epsilon", "1", "--quote")
    assert "60       [60, 60]" in run("--home", "home", "graph", "ring", "edges", "--epsilon", "1000")
    run("--home", "home", "graph", "ring", "degrees", "--epsilon", "1000", "-o", "degrees.csv", "--plot")
    assert Path("degrees.csv").read_text().splitlines()[2].startswith("4,30")
    assert "<svg" in Path("degrees.html").read_text()
    priced = run("--home", "home", "graph", "ring", "edges", "--error", "10", "--quote")
    assert "would cost epsilon = 0.2995" in priced
    assert "30       [30, 30]" in run(
        "--home", "home", "graph", "ring", "cliques", "--k", "3", "--method", "laplace", "--epsilon", "1000"
    )
    told = run("--home", "home", "graph", "ring", "clustering", "--epsilon", "1")
    assert "made of released counts" in told
    assert "1 row; epsilon = 1; edges" in told, "intervals are not announced where there are none"
    drawn = ("graph", "ring", "synthesize", "--epsilon", "1000")
    assert "would cost epsilon = 1000" in run("--home", "home", *drawn, "--quote")
    run("--home", "home", *drawn, "--method", "top-edges", "-o", "synthetic.csv", "--plot")
    assert len(Path("synthetic.csv").read_text().splitlines()) == 61
    assert "Synthetic graph" in Path("synthetic.html").read_text()
    refusals = (
        (["stars"], "required for stars (the neighbours of a star: 2 or more)"),
        (["synthesize", "--k", "2"], "not allowed for synthesize: an option of stars, k-triangles, cliques"),
        (["triangles", "--worth", "1"], "not allowed for triangles: an option of degree-sum"),
        (["edges", "--method", "magic"], "method must be"),
        (["edges-between"], "required for edges-between (a column of the table of nodes)"),
        (["degree-sum", "--worth", "1,x"], "worth must be integers, separated by commas"),
        (["degree-sum", "--worth", "1,2"], "what must be a query for edge privacy"),
        (["loops"], "edges-between, spanning-tree, path, synthesize, got 'loops'"),
    )
    rows = [f"{node},{(node + step) % 30}" for node in range(30) for step in (1, 3)]
    Path("people.csv").write_text("\n".join(["one,other", *rows]))
    Path("people.yaml").write_text(
        SCHEMA.replace("ring", "people").replace("unit: edge", "unit: node").replace("other]}", "other], degree: 8}")
    )
    run("--home", "home", "add", "people.yaml", "--budget", "100000")
    capped = ("graph", "people", "degree-sum", "--worth", "1,2,3", "--epsilon", "1000")
    assert "would cost epsilon = 1000" in run("--home", "home", *capped, "--quote")
    assert "90" in run("--home", "home", *capped)
    for wrong, words in refusals:
        refused = CliRunner().invoke(app, ["--home", "home", "graph", "ring", *wrong, "--epsilon", "1"])
        assert words in str(refused.exception)
