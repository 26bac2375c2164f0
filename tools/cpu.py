"""What the tests cost: CPU seconds by room, held to the budgets of ``tests/cpu_budget.toml``.

A run of the whole suite adds up what each test used, over all workers and the processes that the tests started and
waited for. Nothing is timed by the clock. CPU seconds still differ between machines, and on a busy one from minute to
minute, so each worker measures a fixed piece of work every few seconds, and what tests use until the next time is
divided by how much longer, or shorter, it took than on the machine of the file. A room above its budget is named; one
that uses over ``GROSS`` times as much, and over ``LEAST_EXCESS`` seconds more, fails the run, and so does the whole
suite. ``DITHER_CPU=1`` prints all rooms and the dearest tests, after any run.
"""

from __future__ import annotations

import os
import resource
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

BUDGETS = Path(__file__).resolve().parents[1] / "tests" / "cpu_budget.toml"
#: How far above its budget a room must be to fail the run.
GROSS = 1.25
#: By how many CPU seconds besides: a single test that waits for a cold disk is that much of a small room.
LEAST_EXCESS = 8.0
#: CPU seconds of tests between two measurements of the fixed piece of work, which takes a hundredth of a second.
BETWEEN = 2.0
COLLECTING = "collecting"
DEAREST = 40


def used() -> float:
    """Return the CPU seconds of this process, and of those it started and waited for."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def piece_of_work() -> float:
    """Return the CPU seconds of a fixed piece of work like that of the suite: Fractions, dictionaries, objects."""
    begun = time.process_time()
    total, seen = Fraction(0), {}
    for number in range(1, 4000):
        total += Fraction(number % 7, number % 13 + 1)
        seen[number % 101] = (str(number), total.numerator % 97)
    return time.process_time() - begun


class Pace:
    """How much longer the fixed piece of work takes here and now than on the machine of the file.

    Args:
        stated: its CPU seconds there.
        work: does the piece of work, and returns its CPU seconds.

    """

    def __init__(self, stated: float, work: Callable[[], float] = piece_of_work) -> None:
        self._stated, self._work = stated, work
        self.taken: list[float] = []
        self.measure()

    def measure(self) -> None:
        """Do the piece of work twice; the first time it may wait for memory that a test has left cold."""
        self.taken.append(min(self._work(), self._work()))

    @property
    def stretch(self) -> float:
        """The middle one of the last three measurements: one may be disturbed."""
        last = sorted(self.taken[-3:])
        return last[(len(last) - 1) // 2] / self._stated


@dataclass(frozen=True)
class Budgets:
    """CPU seconds for each room, the whole, and the reference work on the machine where they were measured."""

    reference: float
    whole: float
    rooms: Mapping[str, float]

    @classmethod
    def read(cls, path: Path = BUDGETS) -> Budgets:
        """Return what the file states."""
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls(stated["reference"], stated["whole"], stated["rooms"])

    def room_of(self, test: str) -> str:
        """Return the room of a test: the longest one that its path begins with."""
        parts = test.partition("::")[0].split("/")
        for length in range(len(parts), 0, -1):
            if (room := "/".join(parts[:length])) in self.rooms:
                return room
        return "/".join(parts[:2])

    def by_room(self, tests: Mapping[str, float]) -> dict[str, float]:
        """Return the CPU seconds of each room."""
        spent: Counter[str] = Counter()
        for test, seconds in tests.items():
            spent[self.room_of(test)] += seconds  # type: ignore[assignment]
        return dict(spent)

    def complaints(self, tests: Mapping[str, float]) -> tuple[list[str], list[str]]:
        """Return what exceeds its budget, and what exceeds it so far that the run fails."""
        above, gross = [], []
        rooms = self.by_room(tests)
        for room, seconds in sorted({**rooms, "the whole suite": sum(rooms.values())}.items()):
            allowed = self.whole if room == "the whole suite" else self.rooms.get(room, 0)
            said = f"{room} used {seconds:.0f} CPU seconds at the speed of {BUDGETS.name}, and may use {allowed:.0f}"
            if not allowed:
                gross.append(f"{room} has no budget of CPU seconds in {BUDGETS.name}")
            elif seconds > max(GROSS * allowed, allowed + LEAST_EXCESS):
                gross.append(said)
            elif seconds > allowed:
                above.append(said)
        return above, gross


class Meter:
    """Where tests run: writes on every report what was used since the last one, at the speed of the file's machine."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.pace = Pace(Budgets.read().reference)
        self.last = self.measured = used()
        self.collecting = 0.0

    def pytest_collection_finish(self) -> None:
        """Begin to measure tests; what was used before went into collecting."""
        self.collecting = self._since_last()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Hand over what went into collecting, and how long the piece of work took, on average."""
        said = (self.collecting, sum(self.pace.taken) / len(self.pace.taken))
        self.config.stash[_COLLECTED] = said
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["cpu"] = said

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Write down what a phase of a test used."""
        report = yield
        report.cpu = self._since_last()
        return report

    def _since_last(self) -> float:
        """Return the CPU seconds since the last call; now and then measure the speed, which belongs to no test."""
        now = used()
        seconds, self.last = (now - self.last) / self.pace.stretch, now
        if now - self.measured > BETWEEN:
            self.pace.measure()
            self.last = self.measured = used()
        return seconds


_COLLECTED = pytest.StashKey[tuple[float, float]]()


class Bill:
    """Where reports arrive: adds up, prints, and fails a run of the whole suite that is far above a budget."""

    def __init__(self, config: pytest.Config, *, is_whole: bool) -> None:
        self.config = config
        self.is_whole = is_whole
        self.tests: Counter[str] = Counter()
        self.references: list[float] = []
        self.above: list[str] = []
        self.gross: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a phase of a test used."""
        self.tests[report.nodeid] += getattr(report, "cpu", 0)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a worker used to collect."""
        self._collected(*getattr(node, "workeroutput", {}).get("cpu", (0, 0)))

    def _collected(self, seconds: float, measured: float) -> None:
        self.tests[COLLECTING] += seconds  # type: ignore[assignment]
        self.references.append(measured)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Compare with the budgets."""
        yield
        if _COLLECTED in self.config.stash:
            self._collected(*self.config.stash[_COLLECTED])
        if self.is_whole and self.references:
            self.above, self.gross = Budgets.read().complaints(self.tests)
            if self.gross and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is above its budget, and everything if asked for."""
        if os.environ.get("DITHER_CPU") and self.references:
            budgets = Budgets.read()
            took = sum(self.references) / len(self.references)
            terminalreporter.section(f"CPU seconds where the reference takes {budgets.reference}; here {took:.4f}")
            rooms = budgets.by_room(self.tests)
            for room, seconds in sorted(rooms.items(), key=lambda each: -each[1]):
                terminalreporter.write_line(f"{seconds:8.1f} of {budgets.rooms.get(room, 0):5.0f}  {room}")
            terminalreporter.write_line(f"{sum(rooms.values()):8.1f} of {budgets.whole:5.0f}  all together")
            for test, seconds in self.tests.most_common(DEAREST):
                terminalreporter.write_line(f"{seconds:8.2f}  {test}")
        for line in self.above:
            terminalreporter.write_line(line, yellow=True)
        for line in self.gross:
            terminalreporter.write_line(line, red=True)


def plug_in(config: pytest.Config, *, is_whole: bool) -> None:
    """Measure where tests run, and add up where reports arrive; hold a run of the whole suite to the budgets."""
    is_worker = hasattr(config, "workerinput")
    has_workers = bool(getattr(config.option, "numprocesses", None)) or bool(getattr(config.option, "tx", None))
    if is_worker or not has_workers:
        config.pluginmanager.register(Meter(config), "cpu-meter")
    if not is_worker:
        config.pluginmanager.register(Bill(config, is_whole=is_whole), "cpu-bill")
