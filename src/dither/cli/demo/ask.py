"""``dither demo --ask``: a hundred questions about a generated table, for one price."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from dither.cli.demo import clinic
from dither.cli.demo.anew import remove_earlier
from dither.curator.folder import Curator

COLUMNS: Final = ("ward", "region", "age")
EPSILON: Final = 1
AGES: Final = tuple(range(10, 101, 10))
#: Where each column of a question is in a row.
_PLACES: Final = {"age": 1, "region": 2, "ward": 3}


@dataclass(frozen=True)
class Asked:
    """What the demonstration did.

    Args:
        folder: where its files are.
        price: what the questions would cost, in words, before any was asked.
        answers: all of them, as they were given.
        truth: how many rows each question is about, all counted.
        same: whether the first question has the same answer when it is asked again.
        spent: what was paid, in words.

    """

    folder: Path
    price: str
    answers: tuple[Any, ...]
    truth: tuple[int, ...]
    same: bool
    spent: str

    @property
    def error(self) -> float:
        """How far an answer is off, on average."""
        off = [abs(one.count - true) for one, true in zip(self.answers, self.truth, strict=True)]
        return float(sum(off) / len(off))


def questions() -> list[tuple[str, str, str, int]]:
    """Return a hundred questions, each with a column, its value and the age below which is asked."""
    groups = [("ward", ward) for ward in clinic.WARDS] + [("region", region) for region in clinic.REGIONS]
    return [(f"{name} = '{value}' AND age < {age}", name, value, age) for (name, value), age in product(groups, AGES)]


def take(folder: Path) -> Asked:
    """Open a conversation, and ask it a hundred questions."""
    remove_earlier(folder, "clinic.yaml")
    rows = clinic.write(folder)
    asked = questions()
    truth = tuple(
        sum(row[_PLACES[name]] == value and row[_PLACES["age"]] < age for row in rows) for _, name, value, age in asked
    )
    with contextlib.closing(Curator.create(folder / "home")) as curator:
        curator.add(folder / "clinic.yaml", epsilon=2 * EPSILON)
        with contextlib.closing(curator.session("clinic")) as session:
            offer = session.offer.conversation("visits", list(COLUMNS), epsilon=EPSILON)
            price = str(session.quote(offer))
            with contextlib.closing(session.conversation("many", "visits", list(COLUMNS), epsilon=EPSILON)) as talk:
                answers = talk.ask_all([words for words, *_ in asked])
                same = talk.ask(asked[0][0]).count == answers[0].count
            return Asked(folder, price, answers, truth, same, str(session.balance()))
