"""``python -m tools.faults.conversations``: kill whoever asks a conversation, and count what goes wrong.

In a trial processes open one conversation and ask it, one after the other; each is killed with SIGKILL at a named step,
or at a random moment. The last one is left alive. Then every question has one answer, the one that anybody was sent,
for one debit, although the table changes with every process: counts are frozen once. Noise is as large as the counts,
so that noise that was drawn twice is seen. Every second conversation has too many cells for a table: there the count of
each question is frozen by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import tempfile
from pathlib import Path
from typing import Any, Final

from dither.curator.folder import Curator
from dither.data import Column, DataSet, Kind, Table
from dither.privacy import ROW
from tools.faults.streams import POINTS, Tally, killed

#: Those that a conversation comes to: nothing arrives.
REACHED: Final = tuple(point for point in POINTS if not point.endswith("arrive"))
AGES: Final = 40
QUESTIONS: Final = tuple(f"age < {age} AND site = 'east'" for age in range(4, AGES, 6))
FURTHER: Final = ("x", "y", "z")
#: A folder with this file has a conversation about all columns.
WIDE: Final = "wide"


def asked(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns of a trial's conversation, and its questions."""
    if (folder / WIDE).exists():
        return ["age", "site", *FURTHER], tuple(f"{question} AND x < 20" for question in QUESTIONS)
    return ["age", "site"], QUESTIONS


def clinic(folder: Path) -> DataSet:
    """Return a data set with other rows than any time before."""
    rows = []
    for _ in range(20 + secrets.randbelow(60)):
        numbers = [str(secrets.randbelow(AGES)) for _ in range(1 + len(FURTHER))]
        rows.append(",".join([*numbers, secrets.choice(("east", "west"))]))
    path = folder / f"visits-{secrets.token_hex(4)}.csv"
    path.write_text("\n".join([",".join(["age", *FURTHER, "site"]), *rows]) + "\n")
    ages = tuple(Column(name, Kind.INTEGER, lower=0, upper=AGES - 1) for name in ("age", *FURTHER))
    site = Column("site", Kind.TEXT, categories=("east", "west"))
    return DataSet("clinic", (Table("visits", (*ages, site), str(path)),), ROW)


def made(folder: Path) -> None:
    """Make a curator's folder with one data set."""
    with contextlib.closing(Curator.create(folder / "home", anchors=folder / "anchors")) as curator:
        curator.add(clinic(folder), epsilon=10)


def change_rows(folder: Path) -> None:
    """Put other rows in place of those that are there."""
    with contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        curator.add(clinic(folder), epsilon=10)


def work(folder: Path, notes: Path | None = None) -> list[dict[str, Any]]:
    """Open the conversation and ask it; note what was sent. Return all answers."""
    with contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        session = curator.session("clinic", analyst="ana")
        columns, questions = asked(folder)
        with contextlib.closing(session.conversation("talk", "visits", columns, epsilon=1)) as talk:
            for question in questions:
                sent = talk.ask(question).to_dict()
                if notes is not None:
                    with notes.open("a") as file:
                        file.write(json.dumps([question, sent]) + "\n")
            return [one.to_dict() for one in talk.answers()]


def problems(folder: Path, notes: Path) -> list[str]:
    """Finish a conversation, and return all that is wrong with it."""
    found = []
    answers = {one["question"]: one for one in work(folder)}
    if list(answers) != list(asked(folder)[1]):
        found.append(f"answered {list(answers)}")
    for line in notes.read_text().splitlines() if notes.exists() else ():
        question, sent = json.loads(line)
        if question == "raised":
            found.append(f"raised {sent}")
        elif sent != answers[question]:
            found.append(f"{question} was sent as {sent} and is {answers[question]}")
    if [one.to_dict() for one in read(folder)] != list(answers.values()):
        found.append("what is read is not what was answered")
    with contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        debits = [entry for entry in curator.ledger.entries("clinic") if entry.kind == "reserve"]
        if len(debits) != 1:
            found.append(f"{len(debits)} debits for one conversation")
        found += list(curator.ledger.verify().problems)
    return found


def read(folder: Path) -> tuple[Any, ...]:
    """Return all answers, by who only reads."""
    with contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        session = curator.session("clinic", analyst="ana")
        with contextlib.closing(session.conversation("talk", only_read=True)) as talk:
            return talk.answers()


def trial(folder: Path, points: list[tuple[str, int]], tally: Tally, *, is_wide: bool = False) -> None:
    """Kill one process after the other, with other rows for each, then finish and compare."""
    if is_wide:
        (folder / WIDE).touch()
    made(folder)
    notes = folder / "notes"
    for point, count in points:
        if killed(folder, notes, point, count, work):
            name = point or "at random"
            tally.kills[name] = tally.kills.get(name, 0) + 1
        change_rows(folder)
    tally.failures += [f"{points}: {problem}" for problem in problems(folder, notes)]
    tally.ticks += len(QUESTIONS)


def main() -> None:
    """Run trials, and say what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    trials = parser.parse_args().trials
    tally = Tally()
    for number in range(trials):
        first = (REACHED[number % len(REACHED)], 1 + secrets.randbelow(3))
        others = [(secrets.choice((*REACHED, "")), 1 + secrets.randbelow(5)) for _ in range(2)]
        with tempfile.TemporaryDirectory() as folder:
            trial(Path(folder), [first, *others], tally, is_wide=number % 2 == 1)
        if tally.failures:
            break
    print(
        json.dumps(
            {"trials": number + 1, "kills": tally.kills, "questions": tally.ticks, "failures": tally.failures}, indent=1
        )
    )
    raise SystemExit(bool(tally.failures))


if __name__ == "__main__":
    main()
