"""Many callers with one key at the same moment, and holders that are killed: everybody gets the same bytes.

In a trial sixty-four threads of four processes ask for one request. The holder draws, and some holders are killed
with SIGKILL, with all callers of their process. Each caller notes what it drew and what it was given. Then witnesses
and ledger are compared: one debit, one draw at most, one answer for all who live, and one attempt more for each holder
that died before its draw was durable. If a holder died between draw and answer, all who live are refused alike.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from dither.curator.ledger.group_commit import ignore_step
from dither.curator.ledger.interface import MOST_ATTEMPTS, Account, Stored
from dither.curator.ledger.rules import Books
from dither.errors import DitherError, ReleaseFailed
from dither.privacy import PureDP

if TYPE_CHECKING:
    from tools.faults.ledger import Opener, Tally

#: Where a holder dies: before it draws, while it draws, or on the way of its answer into the ledger.
SHARED_POINTS = (
    "reserved",
    "drawing",
    "draw: committed",
    "complete: written",
    "complete: committed",
    "complete: anchored",
)
#: Up to here nothing is drawn, and another attempt begins; up to there what was drawn is lost with its holder.
_BEFORE_DRAW, _LOST_AT = SHARED_POINTS[:1], SHARED_POINTS[1:4]
_LOSS = PureDP("1/10")
_KEY = "shared"
#: A caller that waits longer than this hangs.
_LONGEST_TRIAL_SECONDS = 120


class SharedTrial:
    """One request, many callers, some dead holders, and the reckoning.

    Args:
        home: where the ledger is.
        number: tells trials apart; how many holders die, and where, goes with it in turn.
        tally: what happened in all trials.
        opener: opens a ledger.
        processes: that ask.
        threads: of each of them.

    """

    def __init__(
        self, home: Path, number: int, tally: Tally, opener: Opener, *, processes: int = 4, threads: int = 16
    ) -> None:
        self._home, self._tally, self._opener = home, tally, opener
        self._processes, self._threads = processes, threads
        self._account = Account(f"shared {number}", "everybody")
        self._notes = home / f"shared notes {number}"
        self._deaths = number % MOST_ATTEMPTS
        self._point = SHARED_POINTS[number // MOST_ATTEMPTS % len(SHARED_POINTS)]

    def run(self) -> None:
        """Ask, kill, and compare."""
        with self._opener(self._home, ignore_step, 1000) as ledger:
            ledger.register(self._account.dataset, budget=PureDP(1), unit="row")
        gate, opened = os.pipe()
        children = [self._fork(number, gate, opened) for number in range(self._processes)]
        os.close(gate)
        # All callers wait for this end to close.
        os.close(opened)
        kills = 0
        for child in children:
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                kills += 1
            elif status:
                self._fail(f"a process of callers ended with status {status}")
        self._tally.kills += kills
        where = f"{self._point} (one key for all)"
        self._tally.kills_at[where] = self._tally.kills_at.get(where, 0) + kills
        self._reckon(kills)

    def _fail(self, text: str) -> None:
        self._tally.fail("other_failures", f"{self._account.dataset}: {text}")

    def _fork(self, number: int, gate: int, opened: int) -> int:
        child = os.fork()
        if child:
            return child
        status = 1
        try:
            os.close(opened)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_LONGEST_TRIAL_SECONDS)
            callers = _Callers(self._notes.with_name(f"{self._notes.name} {number}"), self._point, self._deaths)
            with self._opener(self._home, callers.reach, 1000) as ledger:
                os.read(gate, 1)
                callers.ask(ledger, self._account, self._threads)
            status = 0
        finally:
            os._exit(status)

    def _reckon(self, kills: int) -> None:
        seen = [
            json.loads(line)
            for path in self._home.glob(f"{self._notes.name} *")
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        drawn = [text for what, text in seen if what == "drawn"]
        given = [text for what, text in seen if what == "given"]
        for text in (text for what, text in seen if what == "failed"):
            self._fail(text)
        refused = [text for what, text in seen if what == "refused"]
        is_lost = kills > 0 and self._point in _LOST_AT
        told, others = (refused, given) if is_lost else (given, refused)
        if len(told) < self._threads * (self._processes - kills) or others:
            self._fail(f"{len(given)} were answered, {len(refused)} refused, with {kills} of {self._processes} killed")
        with self._opener(self._home, ignore_step, 1000) as ledger:
            for problem in ledger.verify().problems:
                self._fail(problem)
            kinds = [entry.kind for entry in ledger.entries(self._account.dataset)]
            try:
                stored = ledger.reserve(self._account, _KEY, "digest", _LOSS)
                answers = {*given, stored.answer.decode()} if isinstance(stored, Stored) else {*given, ""}
                if len(answers) != 1 or not answers <= set(drawn):
                    self._tally.fail("changed_answers", f"{self._account.dataset}: {len(answers)} answers to a request")
            except ReleaseFailed as error:
                self._tally.never_answered += 1
                if not is_lost:
                    self._fail(f"{type(error).__name__}: {error}")
            if kinds.count("reserve") != 1 or ledger.balance(self._account.dataset).spent.pure != _LOSS.pure:
                self._tally.fail("double_debits", f"{self._account.dataset}: {kinds}")
        begun_again = kills if self._point in _BEFORE_DRAW else 0
        counts = [kinds.count(kind) for kind in ("renew", "draw", "seal", "answer")]
        if counts != [begun_again, 1, int(is_lost), int(not is_lost)] or len(drawn) > 1:
            self._fail(f"{kills} holders died at {self._point!r}, {len(drawn)} drew, and the chain has {kinds}")
        self._tally.releases += kinds.count("answer")


class _Callers:
    """The threads of one process that ask for one request, and may die with the one that holds it."""

    def __init__(self, notes: Path, point: str, deaths: int) -> None:
        self._file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._point, self._deaths = point, deaths
        self._is_doomed = False

    def reach(self, step: str) -> None:
        """Die here, if this is the point and a thread of this process holds the request."""
        if self._is_doomed and step == self._point:
            os.kill(os.getpid(), signal.SIGKILL)

    def ask(self, ledger: Books, account: Account, threads: int) -> None:
        """Ask with all threads, and wait for them."""
        asking = [threading.Thread(target=self._ask, args=(ledger, account, number)) for number in range(threads)]
        for each in asking:
            each.start()
        for each in asking:
            each.join()

    def _ask(self, ledger: Books, account: Account, number: int) -> None:
        try:
            held = ledger.reserve(account, _KEY, "digest", _LOSS)
            if not isinstance(held, Stored):
                self._is_doomed = held.attempt <= self._deaths
                self.reach("reserved")
                ledger.begin_draw(held)
                answer = f"drawn by thread {number} of {os.getpid()}"
                self._note("drawn", answer)
                self.reach("drawing")
                held = Stored(ledger.complete(held, answer.encode()))
            self._note("given", held.answer.decode())
        except ReleaseFailed as error:
            self._note("refused", str(error))
        except (DitherError, OSError) as error:
            self._note("failed", f"{type(error).__name__}: {error}")

    def _note(self, what: str, text: str) -> None:
        os.write(self._file, (json.dumps([what, text]) + "\n").encode())
