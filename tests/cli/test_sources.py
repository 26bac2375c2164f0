"""What the literature describes: every name in the table is there, and nothing registered is missing from it."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dither.attack import attacks
from dither.audit.specimens import SPECIMENS
from dither.cli.app import main
from dither.cli.sources import STATES, WORKS, Item, elsewhere, found, items
from dither.mechanisms import registered

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def resolved(name: str) -> object:
    """What a dotted name stands for: as much of it as is a module is imported, and the rest are attributes."""
    words = f"dither.{name}".split(".")
    for length in range(len(words), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        for word in words[length:]:
            value = getattr(value, word)
        return value
    raise AssertionError(name)


def complaints(item: Item) -> list[str]:
    """What is wrong with a row."""
    wrong = [f"no mechanism {name}" for name in item.mechanisms if name not in registered()]
    wrong += [f"no specimen {name}" for name in item.specimens if name not in SPECIMENS]
    wrong += [f"no attack {name}" for name in item.attacks if name not in attacks()]
    wrong += [f"no tool {name}" for name in item.tools if not (ROOT / f"{name.replace('.', '/')}.py").is_file()]
    for name in item.code:
        try:
            resolved(name)
        except AttributeError:
            wrong.append(f"no code {name}")
    if item.page and not (DOCS / item.page).is_file():
        wrong.append(f"no page {item.page}")
    if item.state not in STATES:
        wrong.append(f"the state {item.state}")
    if not re.fullmatch(r"[A-Z].*\.", item.differs):
        wrong.append("not a sentence on what differs")
    if item.state != "not yet" and not item.page:
        wrong.append("a state without a page")
    if item.state == "not yet" and item.mechanisms:
        wrong.append("mechanisms of what is not there")
    if not all(re.match(rf"({'|'.join(WORKS)}) ", part) for part in item.printed.split("; ")):
        wrong.append(f"printed in {item.printed}")
    return wrong


def test_every_name_of_the_table_is_there() -> None:
    assert {item.id: wrong for item in items() if (wrong := complaints(item))} == {}


def test_a_wrong_row_is_complained_of() -> None:
    """The twin: each kind of name, misspelt."""
    row = Item(
        "X99",
        "nothing",
        "no such thing",
        "a pamphlet 1",
        "there",
        "as printed",
        mechanisms=("laplac",),
        code=("privacy.losses.NoLoss", "privacy.losses"),
        specimens=("none",),
        attacks=("none",),
        tools=("tools.none",),
        page="none.md",
    )
    said = complaints(row)
    for word in (
        "mechanism laplac",
        "code privacy.losses.NoLoss",
        "specimen",
        "attack",
        "tool",
        "page",
        "sentence",
        "pamphlet",
    ):
        assert any(word in each for each in said), word
    assert len(said) == 8


def test_ids_are_unique_and_all_works_are_read() -> None:
    ids = [item.id for item in items()]
    assert len(ids) == len(set(ids)) == 348
    assert len({item.name for item in items()}) == len(ids)
    for work in WORKS:
        assert any(work in item.printed for item in items()), work


def test_a_mechanism_in_no_row_is_from_elsewhere_and_says_where_it_is_described() -> None:
    own = {name: entry for name, entry in registered().items() if entry.mechanism.__module__.startswith("dither.")}
    in_rows = {name for item in items() for name in item.mechanisms}
    assert set(elsewhere()) == own.keys() - in_rows
    assert list(elsewhere()) == sorted(elsewhere())
    titles = [title.partition(" (")[0] for title in WORKS.values()]
    named = {name for name in elsewhere() if any(title in own[name].source for title in titles)}
    # What one of the five works describes has a row, which says what differs from print; these are parts of others.
    assert named == {"column-counts", "equi-width-histogram", "frank-wolfe", "independent"}


def test_every_specimen_and_attack_is_in_a_row() -> None:
    """But for the one attack that none of the works describes."""
    assert {name for item in items() for name in item.specimens} == set(SPECIMENS)
    assert {name for item in items() for name in item.attacks} == set(attacks()) - {"census"}


def test_the_page_is_fresh(load_tool: Callable[[str], ModuleType]) -> None:
    tool = load_tool("catalogue")
    assert tool.SOURCES.read_text(encoding="utf-8") == tool.by_source()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr("sys.argv", ["dither", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code is None or isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(words, ended.value.code or 0, said.out, said.err)

    return run


def test_the_command_lists_and_searches(here: Callable[..., Any]) -> None:
    rows = json.loads(here("catalog", "--sources", "--json").stdout)
    assert [row["id"] for row in rows] == [item.id for item in items()]
    assert all(row["differs"] and row["printed"] for row in rows)
    shown = here("catalog", "--sources", "PrivBasis").stdout
    assert "I02" in shown
    assert "I03" not in shown
    assert "1 item: 1 there, 0 partly, 0 not yet" in shown
    assert "no entry matches" in here("catalog", "--sources", "nonsense").stdout
    assert [item.id for item in found("privbasis")] == ["I02"]


@pytest.mark.parametrize("words", [("--sources", "--card"), ("--sources", "--all"), ("--card", "--task", "median")])
def test_one_list_at_a_time(words: tuple[str, ...], here: Callable[..., Any]) -> None:
    done = here("catalog", "laplace", *words)
    assert done.returncode != 0
    assert "--sources, --card" in done.stderr


def test_the_command_prints_a_card(here: Callable[..., Any]) -> None:
    card = json.loads(here("catalog", "dawa", "--card", "--json").stdout)
    assert len(card) == 11
    assert "geometric" in card["selected_mechanism"]
    assert "utility analysis" in here("catalog", "publish histogram", "--card").stdout
    assert here("catalog", "nonsense", "--card").returncode == 4
    assert "the name of a mechanism" in here("catalog", "--card").stderr


def test_rows_whose_pages_tell_of_them_are_not_behind() -> None:
    """What a page tells or measures is at least partly there."""
    states = {item.id: item.state for item in items()}
    assert [states[one] for one in ("K02", "Y07")] == ["there"] * 2
    assert [states[one] for one in ("EX07", "EX12", "EX13", "EX18", "EX22")] == ["partly"] * 5
