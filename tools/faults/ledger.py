"""``python -m tools.faults``: kill the clients of a ledger, again and again, and count what goes wrong.

In a trial sixteen processes spend one small budget. Some are killed with SIGKILL: at a named step, or at a random
moment, or while the log is folded into the file. Each notes in its own file what it drew, sent and was refused:
these notes, not the ledger, are the witnesses. Then the ledger is opened and verified, every request is tried again,
and witnesses and ledger are compared: what was drawn is never drawn again. Half of the requests are drawn with a proof,
as releases that may resume are: each of these must be answered in the end, with the bytes that its dead client had. In
further trials many callers share one key (``shared``).

The ledger itself has no switch for this: a function is handed to it that is told of every step.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.curator.ledger.group_commit import STEPS, ignore_step
from dither.curator.ledger.interface import Account, Reservation, Stored
from dither.curator.ledger.rules import Books
from dither.curator.ledger.sqlite import SqliteLedger
from dither.errors import BudgetExceeded, DitherError, ReleaseFailed
from dither.privacy import PureDP
from tools.faults.shared import SharedTrial

if TYPE_CHECKING:
    from dither.testing.postgres import PostgresServer

#: Opens a ledger, given a folder, the function to tell of steps, and the length of the log.
Opener = Callable[[Path, Callable[[str], None], int], Books]
#: Steps of a client outside the ledger.
_OUTSIDE = ("opened", "reserved", "drawing", "drawn", "answer is stored")
POINTS = STEPS + _OUTSIDE
_LOSS = Fraction(1, 10)
#: A trial that takes longer than this hangs: somebody waits for the dead.
_LONGEST_TRIAL_SECONDS = 120
#: Steps of the client that carries out the requests of others.
_WITHIN_ROUNDS = (": written", ": committed", ": anchored")
#: What a commit takes at least.
_COMMIT_SECONDS = 0.0005
#: Trials that one ledger lives through.
_TRIALS_A_LEDGER = 5


@dataclass
class Tally:
    """The events of all trials; the first eight counts must be 0.

    ``lost`` are requests that may resume and were not answered. ``never_answered`` are those that may not, whose client
    died between its draw and its answer: paid for, and never drawn again.
    """

    overspends: int = 0
    answers_without_debit: int = 0
    lost_debits: int = 0
    double_debits: int = 0
    changed_answers: int = 0
    drawn_twice: int = 0
    lost: int = 0
    other_failures: int = 0
    trials: int = 0
    kills: int = 0
    releases: int = 0
    may_resume: int = 0
    resumed: int = 0
    never_answered: int = 0
    refusals: int = 0
    retries: int = 0
    slowest_open_seconds: float = 0.0
    slowest_verify_seconds: float = 0.0
    kills_at: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        wrong = (self.overspends, self.answers_without_debit, self.lost_debits, self.double_debits)
        return not any((*wrong, self.changed_answers, self.drawn_twice, self.lost, self.other_failures))

    def fail(self, kind: str, text: str) -> None:
        """Count a failure and keep its text."""
        setattr(self, kind, getattr(self, kind) + 1)
        self.failures.append(f"{kind}: {text}")


def may_resume(account: Account, key: str) -> bool:
    """Whether a request is one of those that may resume: every other one."""
    return (int(account.analyst.split()[1]) + int(key[1:])) % 2 == 0


def proof_of(held: Reservation) -> str:
    """Return the proof of a draw that may resume; bound to its debit, as those of releases are."""
    return f"1:{hashlib.sha256(held.hash.encode()).hexdigest()}"


def derived(held: Reservation) -> str:
    """Return an answer that follows from the debit alone, as noise that is derived does."""
    return f"derived from {held.hash}"


class Lots:
    """Numbers for choosing victims and moments; new ones in each run, the same for one name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def below(self, most: int) -> int:
        """Return an integer below ``most``."""
        self._count += 1
        return int.from_bytes(hashlib.sha256(f"{self._name} {self._count}".encode()).digest()[:8], "big") % most


def run(
    folder: Path,
    *,
    trials: int,
    clients: int = 16,
    releases: int = 3,
    shared: int = 0,
    make: Opener | None = None,
    say: Callable[[str], None] = ignore_step,
) -> Tally:
    """Run the trials and return the tally.

    Args:
        folder: where ledgers and notes are kept.
        trials: how many; the points are gone through in turn.
        clients: processes in a trial.
        releases: what each of them tries to release.
        shared: further trials, in which all callers share one key.
        make: opens a ledger, given a folder, the function to tell, and the length of the log; a file unless told.
        say: told of progress.

    """
    tally, opener = Tally(), make or _file
    lots = Lots(f"{os.getpid()} {time.time_ns()}")
    home = folder
    for trial in range(trials):
        if trial % _TRIALS_A_LEDGER == 0:
            home = folder / f"ledger {trial}"
            home.mkdir()
        with _alarm(_LONGEST_TRIAL_SECONDS):
            _Trial(home, trial, tally, lots, clients, releases, opener).run()
        tally.trials += 1
        if (trial + 1) % 50 == 0:
            say(f"{trial + 1} trials, {tally.kills} kills, {tally.releases} releases, {len(tally.failures)} failures")
    for trial in range(shared):
        if trial % _TRIALS_A_LEDGER == 0:
            home = folder / f"shared ledger {trial}"
            home.mkdir()
        with _alarm(_LONGEST_TRIAL_SECONDS):
            SharedTrial(home, trial, tally, opener).run()
        tally.trials += 1
    return tally


def _file(home: Path, reach: Callable[[str], None], pages: int) -> Books:
    return SqliteLedger(home / "ledger.db", home / "anchors", reach=reach, checkpoint_pages=pages)


class _Trial:
    """One budget, many clients, some deaths, and the reckoning."""

    def __init__(
        self,
        home: Path,
        number: int,
        tally: Tally,
        lots: Lots,
        clients: int,
        releases: int,
        opener: Opener,
    ) -> None:
        self._home, self._tally, self._lots, self._opener = home, tally, lots, opener
        self._clients, self._releases = clients, releases
        self._dataset = f"trial {number}"
        self._notes = home / f"notes {number}"
        # Two thirds of what is asked for fits, so that clients compete for the last of it.
        self._budget = _LOSS * (clients * releases * 2 // 3)
        modes = len(POINTS) + 3
        mode = number % modes
        self._is_first = number < modes
        self._point = POINTS[mode] if mode < len(POINTS) else ""
        # A log of one page is folded into the file after every commit, and kills fall into that.
        self._pages = 1 if mode == modes - 1 else 1000

    def run(self) -> None:
        self._notes.mkdir()
        with self._opener(self._home, ignore_step, self._pages) as ledger:
            ledger.register(self._dataset, budget=PureDP(self._budget), unit="row")
        victims = {number: 1 + self._lots.below(self._releases) for number in range(self._clients) if self._chosen()}
        children = {self._fork(number, victims.get(number, 0)): number for number in range(self._clients)}
        if not self._point:
            self._kill_at_random(list(children))
        deaths = 0
        for child in children:
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                deaths += 1
            elif status:
                self._tally.fail("other_failures", f"{self._dataset}: a client ended with status {status}")
        self._tally.kills += deaths
        where = self._point or ("during checkpoints" if self._pages == 1 else "at random")
        self._tally.kills_at[where] = self._tally.kills_at.get(where, 0) + deaths
        self._reckon()

    def _chosen(self) -> bool:
        if not self._point:
            return False
        if self._point.endswith(_WITHIN_ROUNDS):
            # Only those come there who carry out what others ask: in the first trial all who do so die, later half.
            return self._is_first or self._lots.below(2) == 0
        return self._lots.below(3) == 0

    def _kill_at_random(self, children: list[int]) -> None:
        """Kill about half of the clients, at moments spread over the trial."""
        for _ in range(len(children) // 2):
            time.sleep(self._lots.below(8000) / 1e6)
            victim = children[self._lots.below(len(children))]
            # A child that has ended is not waited for yet, so that its number is not reused.
            os.kill(victim, signal.SIGKILL)

    def _fork(self, number: int, dies_at_count: int) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            # A client that hangs ends itself, so that none is left behind when the trial is given up.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_LONGEST_TRIAL_SECONDS)
            _Client(self._notes / str(number), self._point, dies_at_count).work(
                lambda reach: self._opener(self._home, reach, self._pages),
                Account(self._dataset, f"client {number}"),
                self._releases,
            )
            status = 0
        finally:
            os._exit(status)

    def _reckon(self) -> None:
        """Compare what the witnesses say with what the ledger says."""
        tally = self._tally
        start = time.monotonic()
        ledger = self._opener(self._home, ignore_step, 1000)
        opened = time.monotonic()
        found = ledger.verify()
        tally.slowest_open_seconds = max(tally.slowest_open_seconds, opened - start)
        tally.slowest_verify_seconds = max(tally.slowest_verify_seconds, time.monotonic() - opened)
        with ledger:
            for problem in found.problems:
                tally.fail("other_failures", f"{self._dataset}: {problem}")
            debits = self._debits(ledger)
            for number in range(self._clients):
                self._compare(ledger, number, debits)
            self._add_up(ledger)

    def _debits(self, ledger: Books) -> dict[tuple[str, str], int]:
        counts: dict[tuple[str, str], int] = {}
        for entry in ledger.entries(self._dataset):
            if entry.kind == "reserve":
                name = (entry.analyst or "", entry.key or "")
                counts[name] = counts.get(name, 0) + 1
        for name, count in counts.items():
            if count > 1:
                self._tally.fail("double_debits", f"{self._dataset}: {name} was debited {count} times")
        return counts

    def _compare(self, ledger: Books, number: int, debits: dict[tuple[str, str], int]) -> None:
        tally, account = self._tally, Account(self._dataset, f"client {number}")
        seen = _read_notes(self._notes / str(number))
        for text in seen.get("failed", {}).values():
            tally.fail("other_failures", f"{self._dataset}: client {number}: {text}")
        for key in seen.get("reserved", {}):
            if (account.analyst, key) not in debits:
                tally.fail("lost_debits", f"{self._dataset}: {account.analyst} {key}")
        for key in seen.get("drawn", {}):
            if (account.analyst, key) not in debits:
                tally.fail("answers_without_debit", f"{self._dataset}: {account.analyst} {key}")
        tally.refusals += len(seen.get("refused", {}))
        for key in (f"k{count}" for count in range(self._releases)):
            sent, drawn = seen.get("sent", {}).get(key), seen.get("drawn", {}).get(key)
            try:
                again = ledger.reserve(account, key, f"request {key}", PureDP(_LOSS), resumes=may_resume(account, key))
            except BudgetExceeded:
                if (account.analyst, key) in debits:
                    tally.fail("lost_debits", f"{self._dataset}: {account.analyst} {key} was refused on retry")
                continue
            except ReleaseFailed:
                tally.retries += 1
                tally.never_answered += 1
                if may_resume(account, key):
                    tally.fail("lost", f"{self._dataset}: {account.analyst} {key} may resume, and is given up")
                if sent is not None:
                    tally.fail("lost_debits", f"{self._dataset}: {account.analyst} {key} was sent, and is given up")
                continue
            tally.retries += 1
            tally.may_resume += may_resume(account, key)
            if isinstance(again, Reservation):
                if drawn is not None and not again.proof:
                    tally.fail("drawn_twice", f"{self._dataset}: {account.analyst} {key}")
                if sent is not None:
                    tally.fail("answers_without_debit", f"{self._dataset}: {account.analyst} {key} was sent, not kept")
                if again.proof:
                    tally.resumed += 1
                    if again.proof != proof_of(again):
                        tally.fail("changed_answers", f"{self._dataset}: {account.analyst} {key} has another proof")
                    again = Stored(ledger.complete(again, derived(again).encode()))
                else:
                    ledger.begin_draw(again)
                    again = Stored(ledger.complete(again, b"drawn on retry"))
            for before in (sent, drawn):
                if before is not None and again.answer.decode() != before:
                    tally.fail("changed_answers", f"{self._dataset}: {account.analyst} {key}")

    def _add_up(self, ledger: Books) -> None:
        """Add the losses up anew, as fractions."""
        entries = [entry for entry in ledger.entries(self._dataset) if entry.kind in ("reserve", "draw", "answer")]
        debited = sum((entry.loss.pure or 0 for entry in entries if entry.loss is not None), Fraction(0))
        answered = sum(1 for entry in entries if entry.kind == "answer")
        draws = [(entry.analyst, entry.key) for entry in entries if entry.kind == "draw"]
        if len(set(draws)) != len(draws):
            self._tally.fail("drawn_twice", f"{self._dataset}: {len(draws)} draws for {len(set(draws))} requests")
        balance = ledger.balance(self._dataset)
        self._tally.releases += answered
        if debited > self._budget or answered * _LOSS > debited:
            self._tally.fail("overspends", f"{self._dataset}: {debited} of {self._budget}, {answered} answers")
        if balance.spent.pure != debited:
            self._tally.fail("lost_debits", f"{self._dataset}: the sum is {balance.spent.pure}, not {debited}")
        if balance.left.pure != 0:
            self._tally.fail("other_failures", f"{self._dataset}: {balance.left} was refused to everybody")


class _Client:
    """One process that releases, takes notes, and may be told to die at a point."""

    def __init__(self, notes: Path, point: str, dies_at_count: int) -> None:
        self._file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._point, self._left = point, dies_at_count

    def reach(self, step: str) -> None:
        """Die here, if this is the point and the time has come."""
        if step.endswith(": written"):
            # In memory a commit takes no time: others come while one is under way, as they do on a disk.
            time.sleep(_COMMIT_SECONDS)
        if step == self._point and self._left:
            self._left -= 1
            if not self._left or step == "opened":
                os.kill(os.getpid(), signal.SIGKILL)

    def note(self, what: str, key: str, text: str = "") -> None:
        """Write down what happened; what is written survives the process."""
        os.write(self._file, (json.dumps([what, key, text]) + "\n").encode())

    def work(self, opener: Callable[[Callable[[str], None]], Books], account: Account, releases: int) -> None:
        """Release, and note everything."""
        try:
            ledger = opener(self.reach)
            self.reach("opened")
            for count in range(releases):
                key = f"k{count}"
                try:
                    reserved = ledger.reserve(account, key, f"request {key}", PureDP(_LOSS))
                except BudgetExceeded:
                    self.note("refused", key)
                    continue
                self.note("reserved", key)
                self.reach("reserved")
                if isinstance(reserved, Reservation):
                    ledger.begin_draw(reserved, proof=proof_of(reserved) if may_resume(account, key) else "")
                    self.reach("drawing")
                    answer = (
                        derived(reserved) if may_resume(account, key) else f"{account.analyst} {key} by {os.getpid()}"
                    )
                    self.note("drawn", key, answer)
                    self.reach("drawn")
                    reserved = Stored(ledger.complete(reserved, answer.encode()))
                self.reach("answer is stored")
                self.note("sent", key, reserved.answer.decode())
            ledger.close()
        except (DitherError, OSError) as error:
            self.note("failed", "", f"{type(error).__name__}: {error}")
            raise


def _read_notes(path: Path) -> dict[str, dict[str, str]]:
    """Return what one client wrote down, by what happened and by key."""
    seen: dict[str, dict[str, str]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            what, key, text = json.loads(line)
            seen.setdefault(what, {})[key] = text
    return seen


@contextlib.contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """End the whole run, with an error, if a trial hangs."""

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"a trial took more than {seconds} s: somebody waits for the dead")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _server(server: PostgresServer) -> Opener:
    """Return a function that opens a ledger in a separate database for each folder."""

    def make(home: Path, reach: Callable[[str], None], pages: int) -> Books:
        from dither.curator.ledger.postgres import PostgresLedger

        # The first to come is the one that forks all others.
        address = home / "address"
        if not address.exists():
            address.write_text(server.new_database(), encoding="utf-8")
        return PostgresLedger(address.read_text(encoding="utf-8"), home / "anchors", reach=reach)

    return make


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> None:
    """Run the trials, print the tally, and fail if anything went wrong."""
    parser = argparse.ArgumentParser(prog="tools.faults", description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--releases", type=int, default=3, help="what each client tries to release in a trial")
    parser.add_argument("--shared", type=int, help="trials with one key for all callers; else one for ten others")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to try; else the temporary one")
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server started for this")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        make = None
        if given.postgres:
            # Here, because every client is a copy of this process, and should be a small one.
            from dither.testing.postgres import temporary_postgres

            make = _server(stack.enter_context(temporary_postgres()))
        sizes = {"trials": given.trials, "clients": given.clients, "releases": given.releases}
        shared = given.trials // 10 if given.shared is None else given.shared
        tally = run(folder, **sizes, shared=shared, make=make, say=_say)
    sys.stdout.write(json.dumps(asdict(tally), indent=2) + "\n")
    sys.exit(0 if tally.is_clean else 1)
