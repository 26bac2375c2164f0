"""``python -m tools.faults.releases``: kill processes that release, again and again; nothing that may resume is lost.

In a trial several processes open one curator's folder and ask real questions of imported rows: queries with public and
with discovered groups, histograms, workloads and marginals. Some are killed with SIGKILL, at a named step of the ledger
or at a random moment; then all ask again with the same keys, some are killed once more, and at last all are left to
live. So no request is begun more than three times, and each must be answered. Every process notes the SHA-256 of each
answer that it is about to store, before it does: all notes of a request, and its stored answer, must be the same.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.curator.access import receipt_of
from dither.curator.folder import Curator
from dither.curator.ledger.group_commit import STEPS
from dither.curator.session import Session
from dither.errors import DitherError
from dither.publish.workloads import Workload

if TYPE_CHECKING:
    from dither.testing.postgres import PostgresServer

SCHEMA: Final = """\
dataset: clinic
unit: row
tables:
  visits:
    source: visits.csv
    columns:
      ward: {kind: text, categories: [heart, skin]}
      age: {kind: integer, bounds: [0, 100]}
      note: text
"""
EPSILON: Final = "0.001"
OFFERS: Final[tuple[Callable[[Session, str], Any], ...]] = (
    lambda session, key: session.offer.sql(
        "SELECT ward, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY ward", epsilon=EPSILON, key=key
    ),
    lambda session, key: session.offer.sql(
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", epsilon=EPSILON, delta="1e-9", key=key
    ),
    lambda session, key: session.offer.histogram("visits", "age", 10, epsilon=EPSILON, key=key),
    lambda session, key: session.offer.workload("visits", "age", Workload.prefixes(8), 8, epsilon=EPSILON, key=key),
    lambda session, key: session.offer.marginals(
        "visits", [["ward"], ["ward", "age"]], {"age": 4}, epsilon=EPSILON, key=key
    ),
)
#: Steps outside of the ledger: noise is drawn, and the answer is on its way.
_OUTSIDE: Final = ("drawn", "presented")
POINTS: Final = (*STEPS, *_OUTSIDE)
#: A client that takes longer than this waits for the dead.
_LONGEST_SECONDS: Final = 120
#: How long a client may live where it is killed at random, in milliseconds.
_RANDOM_MILLISECONDS: Final = 1500
_TRIALS_A_FOLDER: Final = 20


@dataclass
class Tally:
    """What happened; the first five counts must be 0."""

    lost: int = 0
    changed: int = 0
    double_debits: int = 0
    overspent: int = 0
    other_failures: int = 0
    trials: int = 0
    kills: int = 0
    requests: int = 0
    #: Requests that were killed after their draw, and answered with the same noise.
    resumed: int = 0
    #: Those that were killed before it, and begun again.
    renewed: int = 0
    kills_at: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        return not any((self.lost, self.changed, self.double_debits, self.overspent, self.other_failures))

    def fail(self, kind: str, text: str) -> None:
        """Count a failure and keep its text."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.failures.append(f"{kind}: {text}")


class Client:
    """One process that releases, takes notes, and may be told to die.

    Args:
        folder: where the curator's folder and the anchors are.
        notes: the file of its notes.
        point: where it dies; "" where it lives, or is killed from outside.
        at: at which time that it comes there.

    """

    def __init__(self, folder: Path, notes: Path, point: str = "", at: int = 1) -> None:
        self._folder, self._point, self._left = folder, point, at
        self._file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def reach(self, step: str) -> None:
        """Die here, if this is the point and the time has come."""
        if step == self._point:
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

    def work(self, requests: list[tuple[str, int]]) -> None:
        """Release, and note the digest of every answer before it is stored."""
        with Curator.open(self._folder / "home", anchors=self._folder / "anchors") as curator:
            ledger: Any = curator.ledger
            ledger._reach, ledger._is_watched = self.reach, True
            begin, complete = ledger.begin_draw, ledger.complete

            def drawn(held: Any, **how: Any) -> None:
                begin(held, **how)
                self.reach("drawn")

            def presented(held: Any, answer: bytes, **how: Any) -> Any:
                self._note("computed", held.key, hashlib.sha256(answer).hexdigest())
                self.reach("presented")
                return complete(held, answer, **how)

            ledger.begin_draw, ledger.complete = drawn, presented
            with curator.session("clinic") as session:
                for key, kind in requests:
                    try:
                        receipt = receipt_of(session, OFFERS[kind](session, key))
                        self._note("answered", key, hashlib.sha256(receipt.answer).hexdigest())
                    except DitherError as error:
                        self._note("refused", key, f"{type(error).__name__}: {error}")

    def _note(self, what: str, key: str, text: str) -> None:
        os.write(self._file, (json.dumps([what, key, text]) + "\n").encode())


class Trial:
    """Some requests, three rounds, and the reckoning.

    Args:
        folder: where the curator's folder is; trials may share it.
        number: tells trials apart; the points are gone through in turn, and in every third trial moments are random.
        tally: of all trials.
        clients: processes.
        requests: of each.
        point: where they die, in place of the one whose turn it is.

    """

    def __init__(
        self,
        folder: Path,
        number: int,
        tally: Tally,
        *,
        clients: int = 4,
        requests: int = 3,
        point: str | None = None,
    ) -> None:
        self._folder, self._number, self._tally = folder, number, tally
        self._notes = folder / f"notes {number}"
        self._batches = [
            [
                (f"trial {number}, client {client}, request {one}", (number + client + one) % len(OFFERS))
                for one in range(requests)
            ]
            for client in range(clients)
        ]
        turn = "" if number % 3 == 2 else POINTS[(number // 3 * 2 + number % 3) % len(POINTS)]
        self._point = turn if point is None else point

    def run(self) -> None:
        """Ask, kill, ask again, and compare."""
        self._notes.mkdir()
        for turn in range(3):
            children = [self._fork(turn, place) for place in range(len(self._batches))]
            if turn < 2 and not self._point:
                for child in children:
                    time.sleep(secrets.randbelow(_RANDOM_MILLISECONDS) / 1000 / len(children))
                    # Not waited for yet: its number is not another's.
                    os.kill(child, signal.SIGKILL)
            for child in children:
                _, status = os.waitpid(child, 0)
                if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                    self._tally.kills += 1
                    where = self._point or "at random"
                    self._tally.kills_at[where] = self._tally.kills_at.get(where, 0) + 1
                elif status:
                    self._tally.fail("other_failures", f"trial {self._number}: a client ended with status {status}")

    def _fork(self, turn: int, place: int) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            signal.alarm(_LONGEST_SECONDS)
            # In the last round everybody lives.
            point = self._point if turn < 2 else ""
            at = 1 + (place + turn) % 2
            Client(self._folder, self._notes / f"{turn} {place}", point, at).work(self._batches[place])
            status = 0
        finally:
            os._exit(status)

    def reckon(self, curator: Curator) -> None:
        """Compare what the processes noted with the books."""
        tally, digests = self._tally, defaultdict[str, set[str]](set)
        refusals: dict[str, str] = {}
        for path in sorted(self._notes.iterdir()):
            for line in path.read_text(encoding="utf-8").splitlines():
                what, key, text = json.loads(line)
                if what == "refused":
                    refusals[key] = text
                else:
                    digests[key].add(text)
        entries = defaultdict[str, list[str]](list)
        for entry in curator.ledger.entries("clinic"):
            if entry.key is not None and entry.key.startswith(f"trial {self._number},"):
                entries[entry.key].append(entry.kind)
        for key in (key for batch in self._batches for key, _ in batch):
            kinds = entries[key]
            tally.requests += 1
            if kinds.count("reserve") != 1 or kinds.count("draw") > 1 or kinds.count("renew") > 2:
                tally.fail("double_debits", f"{key}: {kinds}")
            if "answer" not in kinds:
                tally.fail("lost", f"{key}: {kinds}; {refusals.get(key, '')}")
                continue
            stored = {one.answer_digest for one in curator.ledger.answers_called("clinic", [key])}
            if len(digests[key] | stored) != 1:
                tally.fail("changed", f"{key}: {len(digests[key] | stored)} answers to one request")
            after = kinds[kinds.index("draw") :]
            tally.resumed += "renew" in after
            tally.renewed += "renew" in kinds[: kinds.index("draw")]


def made(folder: Path, ledger: str = "ledger.sqlite") -> None:
    """Make a curator's folder, in a process apart: one that has opened an engine is not forked."""
    child = os.fork()
    if not child:
        status = 1
        try:
            rows = "".join(f"{'heart' if one % 3 else 'skin'},{one % 90},n{one % 5}\n" for one in range(600))
            (folder / "visits.csv").write_text("ward,age,note\n" + rows)
            (folder / "clinic.yaml").write_text(SCHEMA)
            with Curator.create(folder / "home", ledger=ledger, anchors=folder / "anchors") as curator:
                curator.add(folder / "clinic.yaml", epsilon=1000, delta="1/100")
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the folder could not be made")
    # What clients need is loaded and planned once, before they are forked; no row is read and no engine is opened.
    importlib.import_module("duckdb")
    importlib.import_module("dither.data.engines.duckdb")
    with Curator.open(folder / "home", anchors=folder / "anchors") as curator, curator.session("clinic") as session:
        for offer in OFFERS:
            session.quote(offer(session, "never asked"))


def run(folder: Path, *, kills: int, minutes: float = 60, server: PostgresServer | None = None) -> Tally:
    """Run trials until so many processes were killed.

    Args:
        folder: where all is kept.
        kills: how many.
        minutes: after which no further trial begins.
        server: where ledgers are; None for files.

    """
    tally, until = Tally(), time.monotonic() + 60 * minutes
    while tally.kills < kills and time.monotonic() < until:
        home = folder / str(tally.trials)
        home.mkdir()
        made(home, "ledger.sqlite" if server is None else server.new_database())
        trials: list[Trial] = []
        while len(trials) < _TRIALS_A_FOLDER and tally.kills < kills and time.monotonic() < until:
            trials.append(Trial(home, tally.trials, tally))
            trials[-1].run()
            tally.trials += 1
        _reckon(home, trials, tally)
        sys.stderr.write(
            f"{tally.trials} trials, {tally.kills} kills, {tally.resumed} resumed, {len(tally.failures)}\n"
        )
    return tally


def _reckon(home: Path, trials: list[Trial], tally: Tally) -> None:
    with Curator.open(home / "home", anchors=home / "anchors") as curator:
        for problem in curator.ledger.verify().problems:
            tally.fail("other_failures", problem)
        for trial in trials:
            trial.reckon(curator)
        entries = list(curator.ledger.entries("clinic"))
        debits = Counter((entry.analyst, entry.key) for entry in entries if entry.kind == "reserve")
        charged = sum(entry.loss.pure or 0 for entry in entries if entry.loss is not None)
        balance = curator.ledger.balance("clinic")
        if balance.releases != len(debits) or charged > 1000:
            tally.fail("overspent", f"{balance} for {len(debits)} requests")


@contextlib.contextmanager
def _server(is_asked: bool) -> Iterator[PostgresServer | None]:
    if not is_asked:
        yield None
        return
    from dither.testing.postgres import temporary_postgres

    with temporary_postgres() as server:
        yield server


def main() -> None:
    """Kill, count, and say what was found; exit 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=250, help="how many processes are killed in all")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further trial begins")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--postgres", action="store_true", help="with the ledgers in a PostgreSQL server of its own")
    where.add_argument("--both", action="store_true", help="half of the kills with SQLite, half with PostgreSQL")
    asked = parser.parse_args()
    memory = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
    is_clean = True
    for is_server in (False, True) if asked.both else (asked.postgres,):
        with (
            _server(is_server) as server,
            tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name,
        ):
            kills = asked.kills // 2 if asked.both else asked.kills
            tally = run(Path(name), kills=kills, minutes=asked.minutes, server=server)
        is_clean = is_clean and tally.is_clean
        print("PostgreSQL" if is_server else "SQLite", json.dumps(asdict(tally), indent=1))
    sys.exit(0 if is_clean else 1)


if __name__ == "__main__":
    main()
