"""Progress is for whoever looks: files have a share, releases only a time, and a pipe sees nothing."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from dither.cli import progress
from dither.data.importing.sources import known, telling

from .test_publish import SCHEMA, run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{n},{('Basel', 'Bern')[n % 2]},{n % 40},{n % 10}\n" for n in range(300))
    (tmp_path / "sales.csv").write_text("customer,city,price,items\n" + rows)
    (tmp_path / "shop.yaml").write_text(SCHEMA)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run("init", "home")
    return tmp_path


def test_every_byte_is_told_once(place: Path) -> None:
    told: list[int] = []
    with telling(told.append):
        known(place / "sales.csv")
    known(place / "sales.csv")
    size = (place / "sales.csv").stat().st_size
    assert sum(told) == size == progress.size_of(place / "shop.yaml")
    assert progress.size_of(place / "nowhere.yaml") is None


def test_an_owner_sees_how_much_of_a_file_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "errors", screen)
    with progress.reading(place / "shop.yaml"):
        known(place / "sales.csv")
    assert screen.file.getvalue() == ""  # type: ignore[attr-defined]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.reading(place / "shop.yaml"):
        known(place / "sales.csv")
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "importing" in shown
    assert "100%" in shown


def test_a_release_shows_its_time_and_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """How far a mechanism has come may follow from rows, or from a number of runs that is secret."""
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "errors", screen)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.progress("learning"):
        pass
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "learning" in shown
    assert "0:00:0" in shown
    assert "%" not in shown


def test_a_bar_has_a_share_and_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr(progress, "errors", screen)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.share() as shown:
        list(shown.track(range(4), description="methods"))
    said = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "4/4" in said
    assert "100%" in said
