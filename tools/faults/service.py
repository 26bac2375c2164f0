"""``python -m tools.faults.service``: kill a service under many clients, again and again, and count what goes wrong.

Clients ask a service over HTTP, each request under a key of its own and some of them twice; the service, or one of its
workers, is killed with SIGKILL at random moments and started again on the same folder. In the end every request that
anybody was answered is asked once more. Then each key must have had one answer, whoever asked and whenever; each answer
must have a debit; the quota must not be exceeded; no request may be sealed whose holder lived; and the ledger must be
intact. ``--one-key`` has 64 callers ask for one request at the same moment while whoever holds it is killed.
``--stop`` ends the service with SIGTERM under load: whoever was answered must be answered the same afterwards.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.errors import DitherError, EngineFailure, QuotaExceeded, RequestSealed, RequestUnderWay
from dither.privacy import PureDP
from dither.service.client import connect

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
"""
COUNT: Final = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
EACH: Final = "0.001"
LONGEST_OUTAGE: Final = 60.0


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    answered: int = 0
    refused: int = 0
    lost: int = 0
    renewed: int = 0
    longest_outage: float = 0.0
    longest_stop: float = 0.0
    failures: list[str] = field(default_factory=list)


def made(folder: Path, quota: str, ledger: str = "ledger.sqlite") -> str:
    """Make a folder that can be served, and return a token of one who may ask."""
    (folder / "visits.csv").write_text("ward\n" + "heart\nskin\nskin\n" * 300)
    (folder / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(folder / "home", ledger=ledger, anchors=folder / "anchors") as curator:
        curator.add(folder / "clinic.yaml", epsilon=100)
        people = People(curator)
        people.add("ana", "analyst")
        people.grant("ana", "clinic", PureDP(quota))
        return people.new_token("ana")


class Served:
    """A service in processes of its own, which can be killed and started again at the same address.

    Args:
        folder: where its folder is.
        workers: how many processes answer.
        timing: when answers are sent.
        releasing: how many releases run at once; 0 for as many as a service has by itself.

    """

    def __init__(self, folder: Path, workers: int = 1, timing: str = "off", releasing: int = 0) -> None:
        self._folder, self._workers, self._timing, self._releasing = folder, workers, timing, releasing
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def link(self) -> str:
        """The link that works once."""
        return str(self._told["sign_in"])

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        said = {"DITHER_ANCHORS": str(self._folder / "anchors"), "DITHER_SERVICE_TIMING": self._timing}
        said |= {"DITHER_SERVICE_REQUESTS_PER_SECOND": "10000", "DITHER_SERVICE_RELEASING": str(self._releasing)}
        command = [sys.executable, "-m", "dither", "serve", "--json", "--port", str(self._port)]
        self._process = subprocess.Popen(
            [*command, "--workers", str(self._workers), "--home", str(self._folder / "home")],
            env={**os.environ, **said},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        text, depth = "", 0
        for line in self._process.stdout or ():
            text += line
            depth += line.count("{") - line.count("}")
            if depth == 0 and text.strip():
                break
        self._told = json.loads(text)
        self._port = int(self._told["address"].rsplit(":", 1)[1])

    def workers(self) -> list[int]:
        """Return the processes that answer."""
        if self._process is None or self._workers == 1:
            return [] if self._process is None else [self._process.pid]
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return [int(one) for one in children.read_text().split()]

    def kill_one(self) -> None:
        """Kill one of the workers at once; it is started again by itself."""
        found = self.workers()
        if found:
            kill(secrets.choice(found))

    def kill(self) -> None:
        """Kill all of it at once."""
        for one in self.workers():
            kill(one)
        self.end(signal.SIGKILL)

    def end(self, sign: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and return how it ended."""
        if self._process is None:
            return 0
        self._process.send_signal(sign)
        status = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
        return status

    def seconds_to_answer(self) -> float:
        """Wait until the service answers; return how long that took."""
        begun = time.monotonic()
        while time.monotonic() - begun < LONGEST_OUTAGE:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz", timeout=5):  # noqa: S310
                break
        return time.monotonic() - begun


def kill(process: int) -> None:
    """Kill a process at once, where it still lives."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def client(served: Served, token: str, keys: list[str], heard: dict[str, set[str]], tally: Tally) -> None:
    """Ask under each key until there is an answer, or it can never come."""
    for key in keys:
        for _ in range(200):
            try:
                # As it would be asked after a restart of the client as well: nothing is remembered but the key.
                found = connect(served.url, token).session("clinic").sql(COUNT, epsilon=EACH, key=key)
            except QuotaExceeded:
                tally.refused += 1
                break
            except (RequestSealed, EngineFailure):
                # It was killed after noise was drawn, or three times before: paid for, and never answered.
                tally.lost += 1
                break
            except (RequestUnderWay, DitherError):
                time.sleep(0.05)
                continue
            heard[key].add(found.to_stored())
            tally.answered += 1
            break
        else:
            tally.failures.append(f"{key} was never settled")


def run(
    kills: int, clients: int, each: int, *, workers: int = 1, server: PostgresServer | None = None, stops: bool = False
) -> Tally:
    """Run one trial.

    Args:
        kills: how often a process of the service is killed.
        clients: how many ask at once.
        each: requests of each.
        workers: how many processes answer.
        server: where the ledger is; None for a file.
        stops: whether the service is told to stop, and started again, in place of being killed.

    """
    tally, heard = Tally(), defaultdict[str, set[str]](set)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quota = str(clients * each * 0.0004)
        token = made(folder, quota, "ledger.sqlite" if server is None else server.new_database())
        served = Served(folder, workers)
        served.start()
        # Every key is asked by two clients.
        lists = [[f"{(number // 2)}-{index}" for index in range(each)] for number in range(clients)]
        threads = [
            threading.Thread(target=client, args=(served, token, keys, heard, tally), daemon=True) for keys in lists
        ]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(0.2 + secrets.randbelow(2000) / 1000)
            _disturb(served, tally, workers, stops=stops)
        for thread in threads:
            thread.join()
        again = Tally()
        client(served, token, sorted(heard), heard, again)
        served.kill()
        _compare(folder, heard, tally, again, quota)
    return tally


def _disturb(served: Served, tally: Tally, workers: int, *, stops: bool) -> None:
    begun = time.monotonic()
    if stops:
        status = served.end()
        if status:
            tally.failures.append(f"it was told to stop and ended with {status}")
        tally.longest_stop = max(tally.longest_stop, time.monotonic() - begun)
        begun = time.monotonic()
        served.start()
    elif workers > 1:
        served.kill_one()
        served.seconds_to_answer()
    else:
        served.kill()
        served.start()
    tally.longest_outage = max(tally.longest_outage, time.monotonic() - begun)
    tally.kills += 1


def _compare(folder: Path, heard: dict[str, set[str]], tally: Tally, again: Tally, quota: str) -> None:
    """Compare what was heard with the books."""
    if again.answered != len(heard):
        tally.failures.append(f"{len(heard) - again.answered} answers could not be asked for again")
    tally.failures += [f"{key} had {len(answers)} answers" for key, answers in heard.items() if len(answers) != 1]
    with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
        verification = curator.ledger.verify()
        tally.failures += list(verification.problems)
        balance = curator.ledger.balance("clinic", "ana")
        spent: Any = balance.spent
        if spent.epsilon > PureDP(quota).epsilon:
            tally.failures.append(f"{spent} of {quota} is spent")
        debits = [entry.key for entry in curator.ledger.entries("clinic") if entry.kind == "reserve"]
        tally.failures += [f"{key} was debited twice" for key in set(debits) if debits.count(key) > 1]
        tally.failures += [f"{key} was answered without a debit" for key in heard if key not in debits]


def main() -> None:
    """Kill, count, and say what was found; exit 1 if anything went wrong."""
    from tools.faults.one_key import run as run_one_key

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10, help="how often the service is killed")
    parser.add_argument("--clients", type=int, default=16, help="how many ask at once")
    parser.add_argument("--each", type=int, default=30, help="requests of each")
    parser.add_argument("--workers", type=int, default=1, help="how many processes answer; one of them is killed")
    parser.add_argument("--stop", action="store_true", help="tell the service to stop, in place of killing it")
    parser.add_argument("--one-key", type=int, default=0, help="so often 64 callers ask for one request")
    parser.add_argument("--postgres", action="store_true", help="with the ledger in a PostgreSQL server of its own")
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        server = None
        if asked.postgres:
            from dither.testing.postgres import temporary_postgres

            server = stack.enter_context(temporary_postgres())
        if asked.one_key:
            tally = run_one_key(asked.one_key, asked.workers, server=server)
        else:
            tally = run(asked.kills, asked.clients, asked.each, workers=asked.workers, server=server, stops=asked.stop)
    what = "stops" if asked.stop else "kills"
    print(
        f"{tally.kills} {what}, {asked.workers} workers, {'PostgreSQL' if asked.postgres else 'SQLite'}: "
        f"{tally.answered} answers, {tally.refused} refused for the quota, {tally.lost} paid for and lost with their "
        f"process, {tally.renewed} begun again, longest outage {tally.longest_outage:.1f} s, longest stop "
        f"{tally.longest_stop:.1f} s, {len(tally.failures)} failures"
    )
    for failure in tally.failures:
        print(f"  {failure}")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
