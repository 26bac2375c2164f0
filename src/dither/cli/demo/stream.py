"""``dither demo --stream``: a year of hourly numbers for one price, by a process that is killed half-way."""

from __future__ import annotations

import contextlib
import csv
import datetime
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.cli.demo.anew import remove_earlier
from dither.cli.demo.clinic import WARDS
from dither.curator.folder import Curator
from dither.publish.queries import QueryResult
from dither.testing import SeededEntropy

START: Final = datetime.datetime(2025, 1, 1)
HOURS: Final = 8760
SQL: Final = "SELECT ward, COUNT(*) AS visits FROM arrivals GROUP BY ward"
EPSILON: Final = 1
_VISITS: Final = 40_000
_PATIENTS: Final = 15_000
_MOST_TICKS: Final = 6
_PAUSE_SECONDS: Final = 0.002
SCHEMA: Final = f"""\
dataset: arrivals
unit: person
contribution: {{rows: {_MOST_TICKS}}}
tables:
  arrivals:
    source: arrivals.csv
    privacy id: patient
    stream:
      time: at
      tick: 1 hour
      start: {START.isoformat()}
      horizon: {HOURS}
      rows per tick: 1
      ticks per person: {_MOST_TICKS}
      ticks between: 24
    columns:
      patient: integer
      at: timestamp
      ward: {{kind: text, categories: [{", ".join(WARDS)}]}}
"""


@dataclass(frozen=True)
class Streamed:
    """What the demonstration did.

    Args:
        folder: where its files are.
        words: what the stream is.
        killed_after: how many ticks were released when the process was killed; None where it was done sooner.
        same: whether all that was released before is the same after the restart.
        last: the last tick.
        truth: how many visits each ward had, all counted.
        spent: what was paid, in words.

    """

    folder: Path
    words: str
    killed_after: int | None
    same: bool
    last: QueryResult
    truth: dict[str, int]
    spent: str


def write(folder: Path) -> dict[str, int]:
    """Write arrivals.csv and arrivals.yaml into a folder; return how many visits each ward has."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "arrivals.yaml").write_text(SCHEMA, encoding="utf-8")
    words = SeededEntropy(seed=20250101).words
    minutes = np.sort(words(2 * _VISITS).reshape(2, -1).astype(np.int64).T @ np.array([65536, 1]) % (HOURS * 60))
    patients = words(_VISITS).astype(np.int64) % _PATIENTS
    # Few wards are as busy as others: of two draws the smaller one.
    wards = np.minimum(words(_VISITS) % len(WARDS), words(_VISITS) % len(WARDS))
    with (folder / "arrivals.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("patient", "at", "ward"))
        for patient, minute, ward in zip(patients.tolist(), minutes.tolist(), wards.tolist(), strict=True):
            writer.writerow((patient, (START + datetime.timedelta(minutes=minute)).isoformat(sep=" "), WARDS[ward]))
    return {name: int((wards == place).sum()) for place, name in enumerate(WARDS)}


def take(folder: Path) -> Streamed:
    """Publish a year of hourly numbers: open the stream, kill whoever releases it half-way, and go on."""
    remove_earlier(folder, "arrivals.yaml")
    truth = write(folder)
    home = folder / "home"
    with contextlib.closing(Curator.create(home)) as curator:
        curator.add(folder / "arrivals.yaml", epsilon=2 * EPSILON)
        with contextlib.closing(curator.session("arrivals")) as session:
            with contextlib.closing(session.stream("hourly", SQL, epsilon=EPSILON)) as opened:
                words = opened.mechanism.words
            killed_after, before = _killed(session, home)
            with contextlib.closing(session.stream("hourly")) as again:
                again.release()
                last = again.answers(HOURS - 1)
                same = again.answers(0, killed_after or 0).rows == before
            return Streamed(folder, words, killed_after, same, last, truth, str(session.balance()))


def _killed(session: Any, home: Path) -> tuple[int | None, tuple[Any, ...]]:
    """Release in another process, and kill it half-way; return how far it had come, and what it had released."""
    command = [sys.executable, "-m", "dither", "stream", "release", "arrivals", "hourly", "--home", str(home), "--json"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    with contextlib.closing(session.stream("hourly", only_read=True)) as reader:
        while child.poll() is None and reader.released < HOURS // 2:
            time.sleep(_PAUSE_SECONDS)
        if child.poll() is not None:
            return None, ()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        return reader.released, reader.answers(0, reader.released).rows
