"""``python -m tools.faults.service``: disturb a service under many clients, again and again, and count what goes wrong.

By default a worker, or the whole service where it is one process, is killed with SIGKILL at random moments. ``--how``
has others: ``stop`` ends the service with SIGTERM and starts it again; ``disk`` fills the disk of its folder and makes
room again; ``restart`` stops its PostgreSQL server, cleanly or as a crash does, and starts it again; ``clock`` puts the
clock of its processes forward and back. What must hold after each is in ``tools/faults/load.py``. ``--one-key`` has 64
callers ask for one request at the same moment while whoever holds it is killed. Each ends by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.faults.load import Load, Tally
from tools.faults.served import Served, made_for

if TYPE_CHECKING:
    from dither.testing.postgres import PostgresServer

HOW: Final = ("kill", "stop", "disk", "restart", "clock")
#: What is asked of the service: to answer somebody within so many seconds of a kill.
LONGEST_OUTAGE: Final = 5.0
_LONGEST_SILENCE: Final = 60.0
_PEOPLE: Final = 20
_LARGE, _SMALL, _PACED = "40", "0.02", "0.01"
_DISK_MEGABYTES: Final = 64
_FULL_SECONDS: Final = 1.0
#: Loaded by every process of the service before anything else: its clock is off by the seconds in a file.
_FAKE_CLOCK: Final = """
import datetime, time
true, real = time.time, datetime.datetime
def shifted():
    with open({file!r}) as file:
        return true() + float(file.read() or 0)
class Kind(type):
    def __instancecheck__(cls, one):
        return isinstance(one, real)
class Shifted(real, metaclass=Kind):
    @classmethod
    def now(cls, tz=None):
        return real.fromtimestamp(shifted(), tz)
time.time, datetime.datetime = shifted, Shifted
"""
_DAY: Final = 86_400
_JUMPS: Final = (3600, -3600, -2 * _DAY, 8 * _DAY, 20 * _DAY, -3650 * _DAY, 0)


class CannotBeTried(Exception):
    """A disturbance for which this machine lacks something; the text says what."""


def quotas(people: int = _PEOPLE) -> dict[str, str]:
    """Return what each person may spend: every fourth has spent all of it after twenty releases."""
    return {f"person {number:02}": _SMALL if number % 4 == 0 else _LARGE for number in range(people)}


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    """Give a folder on a disk of its own, of a few megabytes."""
    with tempfile.TemporaryDirectory() as name:
        command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MEGABYTES}m", "tmpfs", name]
        mounted = subprocess.run(command, capture_output=True, text=True)
        if mounted.returncode:
            raise CannotBeTried(f"no disk can be mounted here: {mounted.stderr.strip()}")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)


@contextlib.contextmanager
def _usual_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def fake_clock(folder: Path, file: Path) -> dict[str, str]:
    """Return the variables with which processes of Python read their clock's distance from the true one in a file."""
    file.write_text("0")
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_FAKE_CLOCK.format(file=str(file)))
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}


class Trial:
    """One service, its clients and what disturbs it.

    Args:
        folder: where its folder is made.
        how: one of ``HOW``.
        workers: how many processes answer.
        clients: how many ask at once.
        server: where the ledger is; None for a file.

    """

    def __init__(
        self, folder: Path, how: str, *, workers: int = 1, clients: int = 16, server: PostgresServer | None = None
    ) -> None:
        self.tally = Tally()
        self._folder, self._how, self._workers, self._server = folder, how, workers, server
        self._quotas, self._offset = quotas(min(_PEOPLE, max(2, clients // 2))), folder / "offset"
        paced = {name: _PACED for name, quota in self._quotas.items() if quota == _SMALL} if how == "clock" else {}
        ledger = "ledger.sqlite" if server is None else server.new_database()
        tokens = made_for(folder, self._quotas, ledger, paced)
        environment = fake_clock(folder / "clock", self._offset) if how == "clock" else {}
        self._served = Served(folder, workers, environment=environment)
        self._load = Load(self._served, tokens, clients, self.tally)
        self._disturb: Callable[[], None] = getattr(self, f"_{how}")

    def run(self, count: int, seconds: float) -> Tally:
        """Disturb the service so often, or for so long; then compare with the books."""
        self._served.start()
        until = time.monotonic() + seconds
        try:
            self._load.start()
            while self.tally.kills < count and time.monotonic() < until:
                time.sleep(0.2 + secrets.randbelow(2000) / 1000)
                begun = time.time()
                self._disturb()
                if self._how != "clock":
                    self.tally.moments.append((begun, time.time()))
                self.tally.kills += 1
                if self.tally.kills % 10 == 0:
                    print(f"  {self.tally.kills} times, {self.tally.answered} answers", flush=True)
            self._load.end()
        finally:
            self._served.kill()
        self._load.compare(self._folder, self._quotas)
        if self._how == "kill" and self.tally.longest_outage > LONGEST_OUTAGE:
            self.tally.failures.append(f"it answered nobody for {self.tally.longest_outage:.1f} s")
        return self.tally

    def _kill(self) -> None:
        begun = time.monotonic()
        if self._workers > 1:
            self._served.kill_one()
        else:
            self._served.kill()
            self._served.start()
        self._wait_for_answer(begun)

    def _stop(self) -> None:
        begun = time.monotonic()
        status = self._served.end()
        if status:
            self.tally.failures.append(f"it was told to stop and ended with {status}")
        self.tally.longest_stop = max(self.tally.longest_stop, time.monotonic() - begun)
        begun = time.monotonic()
        self._served.start()
        self._wait_for_answer(begun)

    def _disk(self) -> None:
        ballast = self._folder / "ballast"
        try:
            with open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(2**16))
        except OSError as full:
            if full.errno != errno.ENOSPC:
                raise
        time.sleep(_FULL_SECONDS)
        begun = time.monotonic()
        ballast.unlink()
        self._wait_for_answer(begun)

    def _restart(self) -> None:
        if self._server is None:
            raise CannotBeTried("a database is restarted where there is one: --postgres")
        begun = time.monotonic()
        self._server.stop(abruptly=secrets.randbelow(2) == 0)
        self._server.start()
        self._wait_for_answer(begun)

    def _clock(self) -> None:
        draft = self._offset.with_suffix(".draft")
        draft.write_text(str(_JUMPS[self.tally.kills % len(_JUMPS)]))
        draft.replace(self._offset)
        self._wait_for_answer(time.monotonic())

    def _wait_for_answer(self, begun: float) -> None:
        """Wait until somebody is answered again, whoever it is: each alone waits for those before them in line."""
        before = self.tally.answered
        while self.tally.answered == before:
            if time.monotonic() - begun > _LONGEST_SILENCE:
                self.tally.failures.append(f"it answered nobody for {_LONGEST_SILENCE:.0f} s")
                break
            time.sleep(0.01)
        self.tally.longest_outage = max(self.tally.longest_outage, time.monotonic() - begun)


def main() -> None:
    """Disturb, count, and say what was found; exit 1 if anything went wrong."""
    from tools.faults.one_key import run as run_one_key

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--how", choices=HOW, default="kill", help="what disturbs the service")
    parser.add_argument("--kills", type=int, default=10, help="how often")
    parser.add_argument("--clients", type=int, default=16, help="how many ask at once")
    parser.add_argument("--workers", type=int, default=1, help="how many processes answer; one of them is killed")
    parser.add_argument("--minutes", type=float, default=15, help="after which nothing more is disturbed")
    parser.add_argument("--one-key", type=int, default=0, help="so often 64 callers ask for one request")
    parser.add_argument("--postgres", action="store_true", help="with the ledger in a PostgreSQL server of its own")
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        server = None
        if asked.postgres or asked.how == "restart":
            from dither.testing.postgres import temporary_postgres

            server = stack.enter_context(temporary_postgres())
        try:
            if asked.one_key:
                tally = run_one_key(asked.one_key, asked.workers, server=server)
            else:
                folder = stack.enter_context(small_disk() if asked.how == "disk" else _usual_disk())
                trial = Trial(folder, asked.how, workers=asked.workers, clients=asked.clients, server=server)
                tally = trial.run(asked.kills, 60 * asked.minutes)
        except CannotBeTried as why:
            print(f"skipped: {why}")
            return
    print(
        f"{asked.how} {tally.kills} times, {asked.workers} workers, {'PostgreSQL' if server else 'SQLite'}, "
        f"{asked.clients} clients: {tally.answered} answers, {tally.refused} refused for a quota, {tally.lost} times "
        f"told of a request that was paid for and lost, {tally.renewed} begun again, {tally.retried} asked again, "
        f"longest outage {tally.longest_outage:.1f} s, longest stop {tally.longest_stop:.1f} s, load "
        f"{os.getloadavg()[0]:.1f}, {len(tally.failures)} failures"
    )
    for failure in tally.failures[:50]:
        print(f"  {failure}")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
