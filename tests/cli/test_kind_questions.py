"""The wizard asks about a kind of data that it does not know: what the kind registered is asked, taken and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dither.cli import curate
from dither.cli.kind_questions import QUESTIONS, Part
from dither.cli.prompts import Question, meant
from dither.data.facts import FROM_NAME, Facts
from dither.data.files import load_schema
from tests.cli.test_curate import home, run
from tests.cli.test_owners import typed
from tests.data.test_kinds import Likes, ratings

__all__ = ["home", "ratings"]


def asked(facts: Facts) -> list[Question]:
    names = [one.name for one in facts.columns]
    return [Question("likes.item", "which column says what is rated?", "film", FROM_NAME)] if "film" in names else []


class RatingAnswers:
    """Takes the item, and knows the value."""

    def __init__(self, facts: Facts, problem: Callable[[Mapping[str, Any]], str]) -> None:
        self._facts, self._problem = facts, problem
        self.tree: dict[str, Any] = {}
        self.columns: tuple[str, ...] = ()
        self.unbounded: tuple[str, ...] = ()

    def applies(self, question: Question, *, has_persons: bool) -> bool:
        return has_persons

    def leave_out(self, question: Question) -> str:
        return ""

    def decide(self, question: Question, typed: str) -> str:
        column = meant(self._facts, typed)
        if column is None:
            return "not a column of items"
        self.tree, self.columns = {"item": column, "value": "stars", "scale": [1, 5]}, (column, "stars")
        return self._problem(self.tree)


@pytest.fixture(autouse=True)
def screen(home: Path, ratings: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(curate, "is_screen", lambda: True)
    QUESTIONS.add("likes", Part(asked, RatingAnswers, "a column of what is rated"))
    yield
    del QUESTIONS._parts["likes"]


ROWS = "who,film,stars\n" + "".join(f"p{n},f{n % 3},{n % 5 + 1}\n" for n in range(30))


def test_a_registered_kind_is_asked_for_and_written(home: Path) -> None:
    (home / "films.csv").write_text(ROWS)
    answers = (
        "2 out; 3 kind integer; 3 range 1..5", "",
        "who", "9", "",  # whose, and how many rows and groups
        "music", "",  # what is rated, proposed by its name: it cannot be out
        "y",
    )  # fmt: skip
    shown = run("add", "films.csv", "--budget", "1", text=typed(*answers))
    assert "which column says what is rated?: film (from the name)" in shown
    assert "not a column of items" in shown
    table = load_schema(home / "films.yaml").table("films")
    assert Likes.of(table) == Likes("film", "stars", scale=(1.0, 5.0))


def test_it_is_not_asked_for_where_its_answers_say_so(home: Path) -> None:
    (home / "films.csv").write_text(ROWS)
    run("add", "films.csv", "--budget", "1", text=typed("3 range 1..5", "", "", "row", "y"))
    assert load_schema(home / "films.yaml").table("films").declared == ()
