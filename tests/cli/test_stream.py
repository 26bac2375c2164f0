"""``dither stream``: open, feed, release, show, close, as they are typed."""

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
    source: frames
    stream: {time: at, tick: 1 hour, start: 2025-01-01, horizon: 3}
    columns:
      at: timestamp
      ward: {kind: text, categories: [a, b]}
"""
QUERY = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
RUNNER = CliRunner()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "clinic.yaml", epsilon=10**6)
    return tmp_path / "home"


def typed(*words: Any, home: Path) -> str:
    found = RUNNER.invoke(app, ["stream", *map(str, words), "--home", str(home)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_stream_is_opened_fed_released_shown_and_closed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert "would cost epsilon = 100000" in typed(
        "open", "clinic", "hourly", QUERY, "--epsilon", 10**5, "--quote", home=home
    )
    quoted = ("open", "clinic", "hourly", QUERY, "--epsilon", 1, "--quote")
    errors = json.loads(typed(*quoted, "--json", home=home))["errors"]
    assert all(0 < error < 30 for found in errors.values() for error in found.values())
    assert [f"{error} at tick {tick}" in typed(*quoted, home=home) for tick, error in errors["n"].items()] == [True] * 3
    assert "at every tick" in typed(*quoted, "--released", "tick", home=home)
    assert "0 of 3 ticks of 1 hour released, open" in typed(
        "open", "clinic", "hourly", QUERY, "--epsilon", 10**5, home=home
    )
    file = tmp_path / "monday.csv"
    file.write_text("at,ward\n2025-01-01 00:10:00,a\n2025-01-01 01:10:00,b\n2025-01-01 01:20:00,b\n")
    assert "taken" in typed("feed", "clinic", "hourly", file, "--batch", "monday", home=home)
    assert "nothing was done" in typed("feed", "clinic", "hourly", file, "--batch", "monday", home=home)
    first = json.loads(typed("release", "clinic", "hourly", "--until", 2, "--json", home=home))
    assert [row[2] for row in first["rows"]] == [1, 0, 1, 2]
    page, table = tmp_path / "all.html", tmp_path / "all.csv"
    typed("release", "clinic", "hourly", "-o", table, home=home)
    assert len(table.read_text().splitlines()) == 1 + 2
    assert "nothing new: 3 of 3 ticks" in typed("release", "clinic", "hourly", home=home)
    assert "3 of 3 ticks" in typed("show", "clinic", "hourly", "-o", page, home=home)
    assert page.read_text().count("<svg") == 1
    assert typed("show", "clinic", home=home).split() == ["hourly"]
    assert "closed after 3 of 3 ticks" in typed("close", "clinic", "hourly", home=home)


@pytest.mark.parametrize(
    "words",
    [
        ("release", "clinic", "nothing"),
        ("feed", "clinic", "nothing", "nowhere.csv"),
        ("open", "clinic", "a b", QUERY, "--epsilon", "1"),
        ("open", "clinic", "x", "SELECT MEDIAN(at) FROM visits", "--epsilon", "1"),
        ("open", "clinic", "x", QUERY),
    ],
)
def test_what_cannot_be_done_is_said(home: Path, words: tuple[str, ...]) -> None:
    found = RUNNER.invoke(app, ["stream", *words, "--home", str(home)])
    assert isinstance(found.exception, DitherError), found.output
