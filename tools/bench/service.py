"""``python -m tools.bench service``: releases, repeats and quotes over HTTP, beside sessions in this process.

Everything is measured in turns on one machine, with clients of this process, so that ratios count and seconds do not:
the clients and the service share its cores. Each of the connections belongs to one of twenty people.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from rich.table import Table

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.privacy import PureDP
from tools.faults.served import COUNT, EACH, SCHEMA, Served

PEOPLE: Final = 20
#: What the issue of the service asks for, as ratios within one run.
GOALS: Final = {
    "releases at 200 / at 8": 0.9,
    "releases at 200 / in process": 0.8,
    "least of a person / mean": 0.25,
    "repeats / bare route": 0.15,
}
_BARE: Final = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def bare(request): return JSONResponse({"status": "alive"})
uvicorn.run(Starlette(routes=[Route("/", bare)]), port=int(sys.argv[1]), access_log=False, log_level="error")
"""


@dataclass(frozen=True)
class Rate:
    """What connections were answered in some seconds.

    Args:
        per_second: answers.
        times: seconds of each.
        least: the share of the person who got least, of the mean.
        cpu: milliseconds of processor time of whoever answers, for each answer: what a busy machine changes least.

    """

    per_second: float
    times: np.ndarray
    least: float
    cpu: float

    def quantile(self, share: float) -> float:
        """Return within how many milliseconds a share of the answers came."""
        return 1000 * float(np.quantile(self.times, share))


def made(folder: Path) -> list[str]:
    """Make a folder that can be served, and return tokens of people who may ask."""
    (folder / "visits.csv").write_text("ward\n" + "heart\nskin\nskin\n" * 400)
    (folder / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        curator.add(folder / "clinic.yaml", epsilon=100_000)
        people = People(curator)
        tokens = []
        for number in range(PEOPLE):
            people.add(f"person {number}", "analyst")
            people.grant(f"person {number}", "clinic", PureDP(1000))
            tokens.append(people.new_token(f"person {number}"))
        return tokens


def used(process: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked(ask: Callable[[int, int], Any], clients: int, seconds: float, process: int) -> Rate:
    """Let clients ask as fast as they are answered.

    Args:
        ask: asks once, for a client, the so many-th time.
        clients: how many at once.
        seconds: for how long.
        process: that answers.

    """
    times: list[float] = []
    by_person: Counter[int] = Counter(dict.fromkeys(range(min(PEOPLE, clients)), 0))
    until = time.monotonic() + seconds

    def run(client: int) -> None:
        turn = 0
        while time.monotonic() < until:
            begun = time.perf_counter()
            ask(client, turn)
            times.append(time.perf_counter() - begun)
            by_person[client % PEOPLE] += 1
            turn += 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    begun, before = time.monotonic(), used(process)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.monotonic() - begun
    least = min(by_person.values()) / (sum(by_person.values()) / len(by_person))
    return Rate(len(times) / taken, np.array(times), least, 1000 * (used(process) - before) / len(times))


class Clients:
    """Connections to a service, one for each client, kept open."""

    def __init__(self, url: str, tokens: list[str]) -> None:
        self._place, self._tokens = urlsplit(url).netloc, tokens
        self._open: dict[int, http.client.HTTPConnection] = {}
        self._runs = 0

    def new_run(self) -> None:
        """Let keys that come be new ones, and connections too: the service closes those that were idle."""
        self._runs += 1
        self.close()

    def release(self, client: int, turn: int) -> None:
        """Ask for a new release."""
        key = f"{self._runs} {client} {turn}"
        self._post(client, "releases", {"text": COUNT, "epsilon": {"number": EACH}}, {"Idempotency-Key": key})

    def repeat(self, client: int, _turn: int) -> None:
        """Ask for what was answered before."""
        self._post(client, "releases", {"text": COUNT, "epsilon": {"number": EACH}}, {})

    def quote(self, client: int, _turn: int) -> None:
        """Ask what a release would cost."""
        self._post(client, "quotes", {"text": COUNT, "epsilon": {"number": EACH}}, {})

    def bare(self, client: int, _turn: int) -> None:
        """Ask a route that does nothing."""
        self._send(client, "GET", "/", None, {})

    def _post(self, client: int, route: str, words: Any, headers: dict[str, str]) -> None:
        body = json.dumps({"verb": "sql", "words": words}).encode()
        headers = {"Authorization": f"Bearer {self._tokens[client % PEOPLE]}", **headers}
        self._send(client, "POST", f"/v1/datasets/clinic/{route}", body, headers)

    def _send(self, client: int, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> None:
        connection = self._open.setdefault(client, http.client.HTTPConnection(self._place, timeout=120))
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        told = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{reply.status}: {told[:300]!r}")

    def close(self) -> None:
        """Let go of all connections."""
        while self._open:
            self._open.popitem()[1].close()


def measure(seconds: float = 5.0, rounds: int = 2, workers: int = 1) -> Table:
    """Return a table of rates, times and ratios.

    Args:
        seconds: of each turn.
        rounds: how many turns.
        workers: how many processes answer.

    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = made(folder)
        served = Served(folder, workers)
        served.start()
        clients = Clients(served.url, tokens)
        found: dict[str, list[Rate]] = {}
        try:
            with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
                sessions = [curator.session("clinic", analyst=f"person {number}") for number in range(8)]
                here, there = os.getpid(), served.workers()[0]
                asked(lambda one, turn: sessions[one].sql(COUNT, epsilon=EACH, key=f"warm {one} {turn}"), 8, 1, here)
                asked(clients.release, 8, 2, there)
                for turn in range(rounds):
                    _round(found, sessions, clients, seconds, turn, there)
                clients.new_run()
                asked(clients.repeat, 8, 1, there)
                before = _written(curator)
                found.setdefault("repeats, 8", []).append(asked(clients.repeat, 8, seconds, there))
                writes = _written(curator) - before
                found.setdefault("bare route, 8", []).append(_bare(seconds))
        finally:
            clients.close()
            served.kill()
    return _table(found, writes)


def _round(
    found: dict[str, list[Rate]], sessions: list[Any], clients: Clients, seconds: float, turn: int, served: int
) -> None:
    def here(one: int, number: int) -> None:
        sessions[one].sql(COUNT, epsilon=EACH, key=f"here {turn} {one} {number}")

    def alone(one: int, number: int) -> None:
        sessions[one].sql(COUNT, epsilon=EACH, key=f"alone {turn} {one} {number}")

    measured: tuple[tuple[str, Callable[[int, int], Any], int], ...] = (
        ("in process, 8", here, 8),
        ("over HTTP, 8", clients.release, 8),
        ("over HTTP, 200", clients.release, 200),
        ("in process, 1", alone, 1),
        ("over HTTP, 1", clients.release, 1),
        ("quote in process, 1", lambda one, _: sessions[one].quote(COUNT, epsilon=EACH), 1),
        ("quote over HTTP, 1", clients.quote, 1),
    )
    for label, ask, count in measured:
        clients.new_run()
        answering = served if "HTTP" in label else os.getpid()
        found.setdefault(label, []).append(asked(ask, count, seconds, answering))


def _written(curator: Curator) -> int:
    """Return how far the chain has come: what grows is what the disk was waited for."""
    return max((entry.number for entry in curator.ledger.entries()), default=0)


def _bare(seconds: float) -> Rate:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-c", _BARE, str(port)])
    clients = Clients(f"http://127.0.0.1:{port}", [""])
    try:
        for _ in range(600):
            try:
                clients.bare(0, 0)
                break
            except OSError:
                clients.close()
                time.sleep(0.05)
        return asked(clients.bare, 8, seconds, process.pid)
    finally:
        clients.close()
        process.kill()
        process.wait()


def _table(found: dict[str, list[Rate]], writes: int) -> Table:
    shown = Table(title=f"a service, load {os.getloadavg()[0]:.1f}", title_justify="left")
    for title in ("asked", "n", "a second", "p50, ms", "p95, ms", "p99, ms", "least / mean", "CPU of one, ms"):
        shown.add_column(title, justify="left" if title == "asked" else "right")
    rates = {}
    for label, runs in found.items():
        whole = Rate(
            float(np.mean([one.per_second for one in runs])),
            np.concatenate([one.times for one in runs]),
            min(one.least for one in runs),
            float(np.mean([one.cpu for one in runs])),
        )
        rates[label] = whole
        quantiles = [f"{whole.quantile(share):.1f}" for share in (0.5, 0.95, 0.99)]
        figures = (f"{whole.least:.2f}", f"{whole.cpu:.2f}")
        shown.add_row(label, str(len(whole.times)), f"{whole.per_second:.1f}", *quantiles, *figures)
    many, few = rates["over HTTP, 200"], rates["over HTTP, 8"]
    ratios = {
        "releases at 200 / at 8": many.per_second / few.per_second,
        "releases at 200 / in process": many.per_second / rates["in process, 8"].per_second,
        "least of a person / mean": many.least,
        "repeats / bare route": rates["repeats, 8"].per_second / rates["bare route, 8"].per_second,
    }
    shown.add_section()
    for label, ratio in ratios.items():
        shown.add_row(label, "", f"{ratio:.2f}", "", "", "", f"goal {GOALS[label]}")
    bound = 3 * 200 / many.per_second
    shown.add_row("p99 at 200, s", "", f"{many.quantile(0.99) / 1000:.1f}", "", "", "", f"goal {bound:.1f}")
    allowed = 1.15 * rates["in process, 1"].quantile(0.95) + 5
    shown.add_row(
        "p95 of one, ms", "", f"{rates['over HTTP, 1'].quantile(0.95):.1f}", "", "", "", f"goal {allowed:.1f}"
    )
    allowed = rates["quote in process, 1"].quantile(0.5) + 5
    shown.add_row(
        "a quote, ms", "", f"{rates['quote over HTTP, 1'].quantile(0.5):.1f}", "", "", "", f"goal {allowed:.1f}"
    )
    shown.add_row("entries written by repeats", "", str(writes), "", "", "", "goal 0")
    return shown
