"""Many callers of a service with one key at the same moment, while whoever works on it is killed.

A double click, a proxy that tries again and four tiles of one dashboard do just that. Callers are spread over all
workers. In every third trial nobody is killed; in the others, as soon as the debit is seen, the worker that holds the
request is (where the ledger is a file, whose locks name their owners) or any one (where it is a database). Then there
must be one debit, one answer for everybody, one attempt more for each holder that died before noise was drawn, and no
seal; where a holder died after that, everybody must be refused alike.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dither.curator.folder import Curator
from dither.errors import DitherError, EngineFailure, ReleaseFailed, RequestSealed
from dither.service.client import connect
from tools.faults.load import Tally
from tools.faults.served import COUNT, EACH, Served, kill, made

if TYPE_CHECKING:
    from dither.testing.postgres import PostgresServer

CALLERS: Final = 64
_LONGEST_SECONDS: Final = 60.0


def run(trials: int, workers: int, *, callers: int = CALLERS, server: PostgresServer | None = None) -> Tally:
    """Run trials on one service.

    Args:
        trials: how many requests.
        workers: how many processes answer.
        callers: how many ask for each.
        server: where the ledger is; None for a file.

    """
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        token = made(folder, "50", "ledger.sqlite" if server is None else server.new_database())
        # Buckets leave a moment between a debit and its draw.
        served = Served(folder, workers, "buckets")
        served.start()
        try:
            with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
                for number in range(trials):
                    _Trial(curator, served, token, f"key {number}", tally).run(callers, kills=number % 3 != 0)
                tally.failures += list(curator.ledger.verify().problems)
        finally:
            served.kill()
    return tally


class _Trial:
    """One request of many callers."""

    def __init__(self, curator: Curator, served: Served, token: str, key: str, tally: Tally) -> None:
        self._curator, self._served, self._token, self._key, self._tally = curator, served, token, key, tally
        self._from = 0
        self._given: list[str] = []
        self._refused: list[str] = []

    def run(self, callers: int, *, kills: bool) -> None:
        """Ask, kill, and compare with the books."""
        before = self._curator.ledger.balance("clinic", "ana")
        # The books are not read from their beginning each time.
        self._from = max((one.number for one in self._curator.ledger.entries()), default=0)
        threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(callers)]
        for thread in threads:
            thread.start()
        deaths = self._kill() if kills else 0
        for thread in threads:
            thread.join()
        after = self._curator.ledger.balance("clinic", "ana")
        kinds = [one.kind for one in self._curator.ledger.entries("clinic") if one.key == self._key]
        is_lost = "answer" not in kinds
        told = self._refused if is_lost else self._given
        tally = self._tally
        tally.answered += len(self._given)
        tally.lost += int(is_lost)
        tally.renewed += kinds.count("renew")
        tally.kills += deaths
        if len(told) != callers or len(set(self._given)) > 1:
            told_what = f"{len(self._given)} answered, {len(self._refused)} refused, {len(set(self._given))} answers"
            tally.failures.append(f"{self._key}: {told_what}; {kinds}")
        if kinds.count("reserve") != 1 or after.releases != before.releases + 1:
            tally.failures.append(f"{self._key}: debited {kinds.count('reserve')} times")
        if kinds.count("renew") > deaths or (is_lost and not deaths) or ("seal" in kinds and not is_lost):
            tally.failures.append(f"{self._key}: {deaths} holders died and the chain has {kinds}")

    def _ask(self) -> None:
        deadline = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < deadline:
            try:
                found = connect(self._served.url, self._token).session("clinic").sql(COUNT, epsilon=EACH, key=self._key)
            except (RequestSealed, ReleaseFailed) as error:
                self._refused.append(type(error).__name__)
                return
            except EngineFailure:
                # The fixed text: asking again with the same key finds out.
                continue
            except DitherError:
                time.sleep(0.05)
                continue
            self._given.append(found.to_stored())
            return

    def _kill(self) -> int:
        """Kill the holder once the debit is there; return how many were killed."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < deadline:
            if any(one.key == self._key for one in self._curator.ledger.entries("clinic", after=self._from)):
                holder = _holder(Path(self._curator.folder) / "ledger.sqlite-holds")
                if holder is None:
                    self._served.kill_one()
                else:
                    kill(holder)
                return 1
        return 0


def _holder(file: Path) -> int | None:
    """Return the process that has a lock on a file, if there is one."""
    try:
        inode = os.stat(file).st_ino
    except OSError:
        return None
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        if "->" not in fields and fields[5].rsplit(":", 1)[-1] == str(inode) and int(fields[4]) > 0:
            return int(fields[4])
    return None
