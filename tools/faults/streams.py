"""``python -m tools.faults.streams``: kill whoever releases a stream, again and again, and count what goes wrong.

In a trial processes open one stream, feed it and release its ticks, one after the other; each is killed with SIGKILL at
a named step, or at a random moment. The last one is left alive. Then the stream must have every tick once, with the
answers that anybody was sent, made of every row once, for one debit. There are several ways to go on (``WAYS``): rows
that are fed before a release or with it, streams that keep noisy numbers only, and tables that are read and have other
rows for every process. In some the loss is so large that no noise is left, and answers are compared with the truth. In
the others noise is as large as the counts, so that noise that was drawn twice is seen.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import gc
import json
import os
import secrets
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

from dither.curator.folder import Curator
from dither.curator.ledger.rules import Books
from dither.curator.streams.book import Book
from dither.curator.streams.marks import Marks
from dither.curator.streams.seal import Seal
from dither.curator.streams.stream import Stream
from dither.data import Column, DataSet, Kind, Table
from dither.data.schema import FRAMES
from dither.data.ticks import Ticks
from dither.errors import DitherError
from dither.privacy import ROW

START: Final = datetime.datetime(2025, 1, 1)
TICKS: Final = 6
#: Above this epsilon counts have no noise: another answer than the truth has a chance below e^-1000.
_NO_NOISE: Final = 1000
#: What is called when something becomes durable, or is about to.
STEPS: Final[tuple[tuple[type, str], ...]] = (
    (Book, "create"),
    (Book, "__init__"),
    (Book, "arrive"),
    (Book, "freeze"),
    (Book, "store"),
    (Book, "report"),
    (Marks, "append"),
    (Seal, "write"),
    (Books, "reserve"),
    (Books, "complete"),
    (Book, "keep_checkpoint"),
)
POINTS: Final = tuple(f"{when} {owner.__name__}.{name}" for owner, name in STEPS for when in ("before", "after"))


@dataclass(frozen=True)
class Way:
    """How the processes of a trial go on.

    Args:
        kept: what the stream keeps.
        is_together: whether rows come with the release, and not before it.
        is_read: whether the table is read, and has other rows for every process.
        epsilon: of the whole stream; up to 1000 nothing is compared with the truth.

    """

    kept: str = "exact"
    is_together: bool = False
    is_read: bool = False
    epsilon: int = 10**6


#: Fed and released, apart and together, with and without noise; and read.
WAYS: Final = (
    Way(),
    Way(is_together=True),
    Way(kept="noisy"),
    Way(is_together=True, epsilon=1),
    Way(kept="noisy", is_together=True),
    Way(is_read=True, epsilon=1),
    Way(epsilon=1),
)


@dataclass
class Tally:
    """What happened in all trials."""

    kills: dict[str, int] = field(default_factory=dict)
    ticks: int = 0
    failures: list[str] = field(default_factory=list)


def clinic(source: str = FRAMES) -> DataSet:
    """Return a data set whose rows are fed by the hour, or read from a file."""
    columns = (Column("at", Kind.TIMESTAMP), Column("site", Kind.TEXT, categories=("east", "west")))
    visits = Table("visits", columns, source, stream=Ticks("at", 3600, START, TICKS))
    return DataSet("clinic", (visits,), ROW)


def rows_of(tick: int) -> list[dict[str, Any]]:
    """Return the rows of one tick: another number in each, so that a row too few or too many is seen."""
    moment = START + datetime.timedelta(hours=tick, minutes=5)
    return [{"at": moment, "site": "east" if row % 3 else "west"} for row in range(5 + 7 * tick)]


def other_rows(folder: Path) -> DataSet:
    """Return the data set with a file of other rows than any time before."""
    path = folder / f"visits-{secrets.token_hex(4)}.csv"
    with path.open("w") as file:
        file.write("at,site\n")
        for tick in range(TICKS):
            for row in rows_of(tick)[: secrets.randbelow(5 + 7 * tick)]:
                file.write(f"{row['at'].isoformat(sep=' ')},{row['site']}\n")
    return clinic(str(path))


def made(folder: Path, way: Way = WAYS[0]) -> None:
    """Make a curator's folder with one data set."""
    with contextlib.closing(Curator.create(folder / "home", anchors=folder / "anchors")) as curator:
        curator.add(other_rows(folder) if way.is_read else clinic(), epsilon=10**6)


def change_rows(folder: Path) -> None:
    """Put other rows in place of those that are there."""
    with contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        curator.add(other_rows(folder), epsilon=10**6)


def work(folder: Path, notes: Path | None = None, way: Way = WAYS[0]) -> list[list[Any]]:
    """Open the stream, feed it and release its ticks; note what was sent. Return all that was released."""
    checkpoints = mock.patch.object(Stream, "checkpoint_every", 2)
    with checkpoints, contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        session = curator.session("clinic", analyst="ana")
        text = "SELECT site, COUNT(*) AS n FROM visits GROUP BY site"
        how: dict[str, Any] = {"kept": way.kept, "released": "tick"} if way.kept == "noisy" else {}
        with contextlib.closing(session.stream("hourly", text, epsilon=way.epsilon, **how)) as stream:
            for tick in range(stream.released, TICKS):
                given: dict[str, Any] = {} if way.is_read else {"rows": rows_of(tick), "batch": f"hour {tick}"}
                if given and not way.is_together:
                    stream.feed(**given)
                    given = {}
                sent = stream.release(tick + 1, **given).rows
                if notes is not None:
                    with notes.open("a") as file:
                        file.write(json.dumps([tick, [list(row[1:]) for row in sent]]) + "\n")
            return [list(row[1:]) for row in stream.answers().rows]


@contextlib.contextmanager
def dying(point: str, count: int) -> Iterator[None]:
    """Kill this process when it comes to a point for the given time. Only ever used in a child."""
    left = [count]

    def reach(here: str) -> None:
        if here == point:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(owner: type, name: str) -> Callable[..., Any]:
        plain = owner.__dict__[name]
        call = plain.__func__ if isinstance(plain, classmethod) else plain

        def wrapper(*given: Any, **named: Any) -> Any:
            reach(f"before {owner.__name__}.{name}")
            found = call(*given, **named)
            reach(f"after {owner.__name__}.{name}")
            return found

        return classmethod(wrapper) if isinstance(plain, classmethod) else wrapper  # type: ignore[return-value]

    for owner, name in STEPS:
        setattr(owner, name, wrapped(owner, name))
    yield


def killed(
    folder: Path, notes: Path, point: str, count: int, work: Callable[[Path, Path | None], object] = work
) -> bool:
    """Work in a child that dies at a point, or at a random moment where there is none; return whether it died."""
    child = os.fork()
    if not child:
        # What the parent holds is not collected here: a database would wait for threads that are not in the child.
        gc.disable()
        code = 1
        try:
            if point:
                with dying(point, count):
                    work(folder, notes)
            else:
                wait = secrets.randbelow(400) / 1000
                timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGKILL))
                timer.daemon = True
                timer.start()
                work(folder, notes)
            code = 0
        except DitherError as problem:
            with notes.open("a") as file:
                file.write(json.dumps(["raised", str(problem)]) + "\n")
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def problems(folder: Path, notes: Path, way: Way = WAYS[0]) -> list[str]:
    """Finish a stream, and return all that is wrong with it."""
    released = work(folder, way=way)
    found = _other_than_true(released, way) if way.epsilon > _NO_NOISE else []
    if len(released) != 2 * TICKS:
        found.append(f"{len(released)} numbers were released of {TICKS} ticks")
    for line in notes.read_text().splitlines() if notes.exists() else ():
        tick, sent = json.loads(line)
        if tick == "raised":
            found.append(f"raised {sent}")
        elif sent[-2:] != released[2 * tick : 2 * tick + 2]:
            found.append(f"tick {tick} was sent as {sent} and is {released[2 * tick : 2 * tick + 2]}")
    with contextlib.closing(Curator.open(folder / "home", anchors=folder / "anchors")) as curator:
        debits = [entry for entry in curator.ledger.entries("clinic") if entry.kind == "reserve"]
        if len(debits) != 1:
            found.append(f"{len(debits)} debits for one stream")
        found += list(curator.ledger.verify().problems)
    return found


def _other_than_true(released: list[list[Any]], way: Way) -> list[str]:
    """Return where answers without noise are not those of all rows.

    A stream that keeps noisy numbers only may have lost the rows of a tick, all of them, as its rule says.
    """
    east = west = 0
    truth = []
    for tick in range(TICKS):
        if way.kept == "noisy":
            east = west = 0
        east += sum(row["site"] == "east" for row in rows_of(tick))
        west += sum(row["site"] == "west" for row in rows_of(tick))
        truth.append([["east", east], ["west", west]])
    told = [released[place : place + 2] for place in range(0, len(released), 2)]
    lost = [["east", 0], ["west", 0]]
    if way.kept == "noisy":
        truth = [lost if pair == lost else true for true, pair in zip(truth, told, strict=False)]
    return [] if told == truth else [f"released {told}, and the truth is {truth}"]


def trial(folder: Path, points: list[tuple[str, int]], tally: Tally, way: Way = WAYS[0]) -> None:
    """Kill one process after the other, then finish and compare."""
    made(folder, way)
    notes = folder / "notes"
    for point, count in points:
        if killed(folder, notes, point, count, functools.partial(work, way=way)):
            name = point or "at random"
            tally.kills[name] = tally.kills.get(name, 0) + 1
        if way.is_read:
            change_rows(folder)
    tally.failures += [f"{way}, {points}: {problem}" for problem in problems(folder, notes, way)]
    tally.ticks += TICKS


def main() -> None:
    """Run trials, and say what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    trials = parser.parse_args().trials
    tally = Tally()
    for number in range(trials):
        point = POINTS[number % len(POINTS)]
        chosen = [(point, 1 + secrets.randbelow(3))] + [
            (secrets.choice((*POINTS, "")), 1 + secrets.randbelow(4)) for _ in range(2)
        ]
        with tempfile.TemporaryDirectory() as folder:
            trial(Path(folder), chosen, tally, WAYS[number % len(WAYS)])
        if tally.failures:
            break
    print(
        json.dumps(
            {"trials": number + 1, "kills": tally.kills, "ticks": tally.ticks, "failures": tally.failures}, indent=1
        )
    )
    raise SystemExit(bool(tally.failures))


if __name__ == "__main__":
    main()
