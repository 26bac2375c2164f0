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
    fed = typed("feed", "clinic", "hourly", file, "--batch", "monday", home=home)
    assert fed == "taken; rows from 2025-01-01 03:00:00 UTC on, after the last tick, were not\n"
    assert "nothing was done" in typed("feed", "clinic", "hourly", file, "--batch", "monday", home=home)
    first = json.loads(typed("release", "clinic", "hourly", "--until", 2, "--json", home=home))
    assert [row[2] for row in first["rows"]] == [1, 0, 1, 2]
    page, table = tmp_path / "all.html", tmp_path / "all.csv"
    typed("release", "clinic", "hourly", "-o", table, home=home)
    assert len(table.read_text().splitlines()) == 1 + 2
    assert "nothing new: 3 of 3 ticks" in typed("release", "clinic", "hourly", home=home)
    late = RUNNER.invoke(app, ["stream", "feed", "clinic", "hourly", str(file), "--home", str(home)])
    assert late.exit_code != 0
    assert "were not taken" in str(late.exception)
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


def test_every_kind_is_typed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "first.csv"
    file.write_text("at,ward\n2025-01-01 00:10:00,b\n2025-01-01 00:20:00,b\n2025-01-01 00:30:00,a\n")
    kinds: dict[str, tuple[tuple[str, ...], list[Any]]] = {
        "decayed": (("--released", "decayed", "--decay", "1/2"), ["a", 1]),
        "quantiles": (("--released", "quantiles", "--ranks", "0.5, 1"), ["b", "b"]),
        "top": (("--released", "top", "--top", "1", "--changes", "1"), [1, "b"]),
    }
    for name, (words, expected) in kinds.items():
        typed("open", "clinic", name, QUERY, "--epsilon", 10**5, *words, home=home)
        typed("feed", "clinic", name, file, home=home)
        found = json.loads(typed("release", "clinic", name, "--until", 1, "--json", home=home))
        assert found["rows"][0][1:] == expected
        typed("show", "clinic", name, "-o", tmp_path / f"{name}.html", home=home)
    said = typed("open", "clinic", "noisy", QUERY, "--epsilon", 10**5, "--kept", "noisy", home=home)
    assert "Nothing exact is stored" in said
    refused = RUNNER.invoke(app, ["stream", "feed", "clinic", "noisy", str(file), "--home", str(home)])
    assert isinstance(refused.exception, DitherError)
    assert "--rows" in str(refused.exception)
    found = json.loads(typed("release", "clinic", "noisy", "--until", 1, "--rows", file, "--json", home=home))
    assert [row[2] for row in found["rows"]] == [1, 2]
    goes_on = RUNNER.invoke(app, ["stream", "release", "clinic", "noisy", "--until", "1", "--home", str(home)])
    assert goes_on.stderr == ""
    further = ["stream", "release", "clinic", "noisy", "--rows", str(file), "--home", str(home)]
    assert "1 tick was released without rows" in RUNNER.invoke(app, further).stderr


def test_the_latest_rows_are_printed_and_all_are_counted(home: Path, tmp_path: Path) -> None:
    long = SCHEMA.replace("horizon: 3", "horizon: 30").replace("clinic", "ward").replace("visits", "stays")
    (tmp_path / "ward.yaml").write_text(long)
    with Curator.open(home, anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "ward.yaml", epsilon=1)
    typed("open", "ward", "hourly", QUERY.replace("visits", "stays"), "--epsilon", 1, home=home)
    for shown in (typed("release", "ward", "hourly", home=home), typed("show", "ward", "hourly", home=home)):
        assert "the latest 40 of 60 rows" in shown
        assert "2025-01-02 05:00:00" in shown
        assert "2025-01-01 09:00:00" not in shown
    assert len(json.loads(typed("show", "ward", "hourly", "--json", home=home))["rows"]) == 60
    assert "2025-01-01 09:00:00" in typed("show", "ward", "hourly", "--end", 20, home=home)


def test_a_list_that_was_not_chosen_yet_says_so(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "first.csv"
    file.write_text("at,ward\n2025-01-01 01:10:00,b\n2025-01-01 01:20:00,b\n")
    typed("open", "clinic", "top", QUERY, "--epsilon", 10**5, "--released", "top", "--top", 1, home=home)
    typed("feed", "clinic", "top", file, home=home)
    assert "NOT CHOSEN YET" in typed("release", "clinic", "top", "--until", 1, home=home)
    assert "NOT CHOSEN" not in typed("release", "clinic", "top", home=home)
    assert "NOT CHOSEN before 2025-01-01 01:00:00" in typed("show", "clinic", "top", home=home)


def test_a_stream_without_rows_says_so(home: Path) -> None:
    typed("open", "clinic", "empty", QUERY, "--epsilon", 1, home=home)
    words = ["stream", "release", "clinic", "empty", "--until", "1", "--home", str(home)]
    assert "nothing was ever fed" in RUNNER.invoke(app, words).stderr
