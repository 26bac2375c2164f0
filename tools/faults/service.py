"""``python -m tools.faults.service``: kill a service under many clients, again and again, and count what goes wrong.

Clients ask a service over HTTP, each request under a key of its own and some of them twice; the service is killed with
SIGKILL at random moments and started again on the same folder. In the end every request that anybody was answered is
asked once more. Then each key must have had one answer, whoever asked and whenever; each answer must have a debit; the
quota must not be exceeded; no request may be sealed whose holder lived; and the ledger must be intact.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.errors import DitherError, EngineFailure, QuotaExceeded, RequestSealed, RequestUnderWay
from dither.privacy import PureDP
from dither.service.client import connect

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


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    answered: int = 0
    refused: int = 0
    lost: int = 0
    longest_outage: float = 0.0
    failures: list[str] = field(default_factory=list)


def made(folder: Path, quota: str) -> str:
    """Make a folder that can be served, and return a token of one who may ask."""
    (folder / "visits.csv").write_text("ward\n" + "heart\nskin\nskin\n" * 300)
    (folder / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        curator.add(folder / "clinic.yaml", epsilon=100)
        people = People(curator)
        people.add("ana", "analyst")
        people.grant("ana", "clinic", PureDP(quota))
        return people.new_token("ana")


class Served:
    """A service in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        environment = {**os.environ, "DITHER_ANCHORS": str(self._folder / "anchors"), "DITHER_SERVICE_TIMING": "off"}
        command = [sys.executable, "-m", "dither", "serve", "--json", "--port", str(self._port)]
        self._process = subprocess.Popen(
            [*command, "--home", str(self._folder / "home")],
            env=environment,
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
        self._port = int(json.loads(text)["address"].rsplit(":", 1)[1])

    def kill(self) -> None:
        """Kill it at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


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


def run(kills: int, clients: int, each: int) -> Tally:
    """Run one trial.

    Args:
        kills: how often the service is killed.
        clients: how many ask at once.
        each: requests of each.

    """
    tally, heard = Tally(), defaultdict[str, set[str]](set)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quota = str(clients * each * 0.0004)
        token = made(folder, quota)
        served = Served(folder)
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
            served.kill()
            begun = time.monotonic()
            served.start()
            tally.longest_outage = max(tally.longest_outage, time.monotonic() - begun)
            tally.kills += 1
        for thread in threads:
            thread.join()
        again = Tally()
        client(served, token, sorted(heard), heard, again)
        served.kill()
        _compare(folder, heard, tally, again, quota)
    return tally


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10, help="how often the service is killed")
    parser.add_argument("--clients", type=int, default=16, help="how many ask at once")
    parser.add_argument("--each", type=int, default=30, help="requests of each")
    asked = parser.parse_args()
    tally = run(asked.kills, asked.clients, asked.each)
    print(
        f"{tally.kills} kills under {asked.clients} clients: {tally.answered} answers, {tally.refused} refused for the "
        f"quota, {tally.lost} paid for and lost with their process, longest start {tally.longest_outage:.1f} s, "
        f"{len(tally.failures)} failures"
    )
    for failure in tally.failures:
        print(f"  {failure}")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
