"""A part of the trial: natural mistakes are refused free, and name the next thing to type."""

from __future__ import annotations

from pathlib import Path

from tools.trial.answers import ANSWERS, MOST_ANSWERS
from tools.trial.mistakes import MISTAKES, Mistake, try_mistakes

#: Every eighth; ``python -m tools.trial`` makes all of them.
STEP = 8


def test_mistakes_are_free_and_name_the_next_thing_to_type(tmp_path: Path) -> None:
    outcomes = try_mistakes(MISTAKES[::STEP], tmp_path)
    assert [(one.mistake.what, one.problem, one.said) for one in outcomes if one.problem] == []
    assert len(outcomes) >= len(MISTAKES) // STEP


def test_what_is_charged_written_or_unclear_is_a_miss(tmp_path: Path) -> None:
    query = ("sql", "visits", "SELECT COUNT(*) AS n FROM visits")
    paid = Mistake("charged", (*query, "--epsilon", "0.1"), 0, "")
    unclear = Mistake("unclear", (*query, "--epsilon", "0"), 2, "something else")
    other = Mistake("another code", (*query, "--epsilon", "0"), 3, "")
    problems = [one.problem for one in try_mistakes([paid, unclear, other], tmp_path)]
    assert problems == [
        "it was charged, or something was written",
        "the message does not name 'something else'",
        "exit code 2 in place of 3",
    ]


def test_there_are_sixty_mistakes_and_at_most_eight_answers() -> None:
    assert len({one.what for one in MISTAKES}) == len(MISTAKES) >= 60
    assert len(ANSWERS) <= MOST_ANSWERS
