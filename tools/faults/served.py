"""A service in processes of its own, on a small folder: what attacks, faults and measurements are tried on."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dither.curator.folder import Curator
from dither.curator.ledger.terms import Allowance
from dither.curator.people import People
from dither.privacy import PureDP

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


def made(folder: Path, quota: str, ledger: str = "ledger.sqlite") -> str:
    """Make a folder that can be served, and return a token of one who may ask."""
    return made_for(folder, {"ana": quota}, ledger)["ana"]


def made_for(
    folder: Path, quotas: Mapping[str, str], ledger: str = "ledger.sqlite", paced: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Make a folder that can be served, and return a token of each who may ask.

    Args:
        folder: where.
        quotas: what each may spend.
        ledger: the name of its file, or the address of its database.
        paced: what some of them may spend every seven days.

    """
    (folder / "visits.csv").write_text("ward\n" + "heart\nskin\nskin\n" * 300)
    (folder / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(folder / "home", ledger=ledger, anchors=folder / "anchors") as curator:
        curator.add(folder / "clinic.yaml", epsilon=1000)
        people = People(curator)
        for name, quota in quotas.items():
            people.add(name, "analyst")
            each = (paced or {}).get(name)
            allowance = None if each is None else Allowance.of(each, 7)
            people.grant(name, "clinic", PureDP(quota), allowance=allowance)
        return {name: people.new_token(name) for name in quotas}


class Served:
    """A service in processes of its own, which can be killed and started again at the same address.

    Args:
        folder: where its folder is.
        workers: how many processes answer.
        timing: when answers are sent.
        releasing: how many releases run at once; 0 for as many as a service has by itself.
        environment: further variables of its processes.

    """

    def __init__(
        self,
        folder: Path,
        workers: int = 1,
        timing: str = "off",
        releasing: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._folder, self._workers, self._timing, self._releasing = folder, workers, timing, releasing
        self._environment = dict(environment or {})
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
            env={**os.environ, **said, **self._environment},
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
