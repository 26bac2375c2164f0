"""Many people who ask a service at once, until they are told to end, and what the books say of it afterwards.

Every request has a key of its own that two clients ask under. A client asks again until there is an answer, or it can
never come, whatever becomes of the service meanwhile. In the end all that anybody was answered is asked once more. Then
each key must have had one answer, whoever asked and whenever; each answer must have one debit; no quota may be
exceeded; nothing may be sealed that nobody disturbed; and the ledger must be intact.
"""

from __future__ import annotations

import hashlib
import itertools
import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from dither.curator.folder import Curator
from dither.errors import DitherError, QuotaExceeded, ReleaseFailed, RequestSealed
from dither.privacy import PureDP
from dither.service.transport import Transport
from tools.faults.served import COUNT, EACH, Served

BODY: Final = {"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": EACH}}}
#: How long a client goes on asking for one answer.
_LONGEST_SECONDS: Final = 180.0
#: Entries carry whole seconds or less: a disturbance may seem to be that much earlier or later.
_SLACK_SECONDS: Final = 2.0
_AGAIN_AT_ONCE: Final = 8


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    answered: int = 0
    refused: int = 0
    lost: int = 0
    renewed: int = 0
    retried: int = 0
    longest_outage: float = 0.0
    longest_stop: float = 0.0
    #: From when to when the service was disturbed so that something may be lost, in seconds since 1970.
    moments: list[tuple[float, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Load:
    """Clients of a service.

    Args:
        served: the service.
        tokens: of the people, by name.
        clients: how many ask at once; two ask for each request.
        tally: where all is counted.

    """

    def __init__(self, served: Served, tokens: Mapping[str, str], clients: int, tally: Tally) -> None:
        self._served, self._tokens, self._tally = served, tokens, tally
        self._over, self._guard = threading.Event(), threading.Lock()
        #: Digests of what was answered, by person and key.
        self.heard: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._threads = [
            threading.Thread(target=self._client, args=(number,), daemon=True) for number in range(clients)
        ]

    def start(self) -> None:
        """Begin to ask."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Begin nothing more, wait for what was begun, and ask for all answers once more."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        waiting: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        for one in sorted(self.heard):
            waiting.put(one)

        def again() -> None:
            transports = {name: Transport(self._served.url, token) for name, token in self._tokens.items()}
            while True:
                try:
                    name, key = waiting.get_nowait()
                except queue.Empty:
                    return
                if not self._settle(transports[name], name, key, is_again=True):
                    self._tally.failures.append(f"{key} could not be asked for again")

        threads = [threading.Thread(target=again) for _ in range(_AGAIN_AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int) -> None:
        pair = number // 2
        name = sorted(self._tokens)[pair % len(self._tokens)]
        transport = Transport(self._served.url, self._tokens[name])
        for index in itertools.count():
            if self._over.is_set():
                return
            self._settle(transport, name, f"{pair}-{index}")

    def _settle(self, transport: Transport, name: str, key: str, *, is_again: bool = False) -> bool:
        """Ask under a key until there is an answer, or it can never come; return whether there is one."""
        tally, deadline = self._tally, time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < deadline:
            try:
                reply = transport.post("v1", "datasets", "clinic", "releases", body=BODY, key=key)
            except QuotaExceeded:
                with self._guard:
                    tally.refused += 1
                # Whoever has spent all comes again now and then, and leaves the service to others.
                self._over.wait(1.0)
                return False
            except (RequestSealed, ReleaseFailed):
                # It was killed after noise was drawn, or three times before: paid for, and never answered.
                with self._guard:
                    tally.lost += 1
                return False
            except DitherError:
                with self._guard:
                    tally.retried += 1
                time.sleep(0.05)
                continue
            with self._guard:
                self.heard[name, key].add(hashlib.sha256(reply.content).hexdigest())
                tally.answered += 0 if is_again else 1
            return True
        tally.failures.append(f"{key} was never settled")
        return False

    def compare(self, folder: Path, quotas: Mapping[str, str]) -> None:
        """Compare what was heard with the books.

        Args:
            folder: of the service, which has ended.
            quotas: what each person may have spent.

        """
        failures = self._tally.failures
        failures += [f"{key} had {len(answers)} answers" for key, answers in self.heard.items() if len(answers) != 1]
        with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
            failures += list(curator.ledger.verify().problems)
            for name, quota in quotas.items():
                spent: Any = curator.ledger.balance("clinic", name).spent
                if spent.epsilon > PureDP(quota).epsilon:
                    failures.append(f"{spent} of {quota} is spent by {name}")
            entries = list(curator.ledger.entries("clinic"))
        debits = Counter((entry.analyst, entry.key) for entry in entries if entry.kind == "reserve")
        failures += [f"{key} was debited {count} times" for key, count in debits.items() if count > 1]
        failures += [f"{key} was answered without a debit" for key in self.heard if key not in debits]
        self._tally.renewed += sum(entry.kind == "renew" for entry in entries)
        begun = {
            (one.analyst, one.key): _moment(one.time) for one in entries if one.kind in ("reserve", "renew", "draw")
        }
        for entry in entries:
            if entry.kind == "seal":
                first, last = begun[entry.analyst, entry.key] - _SLACK_SECONDS, _moment(entry.time) + _SLACK_SECONDS
                if not any(first <= end and start <= last for start, end in self._tally.moments):
                    failures.append(f"{entry.key} was sealed, and nothing had disturbed it")


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
