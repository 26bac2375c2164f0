"""What the tests cost: CPU seconds by room, held to the budgets of ``tests/cpu_budget.toml``.

A run of the whole suite adds up what each test used, over all workers and the processes that the tests started and
waited for. Nothing is timed by the clock. CPU seconds still grow on a slower or busier machine, so each worker measures
a fixed piece of work before its first test and after its last one, and budgets are stretched by how much longer it took
than on the machine of the file. A room above its stretched budget is named; only one that uses over ``GROSS`` times
as much fails the run. ``DITHER_CPU=1`` prints all rooms and the dearest tests, after any run.
"""

from __future__ import annotations

import os
import resource
import time
import tomllib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

BUDGETS = Path(__file__).resolve().parents[1] / "tests" / "cpu_budget.toml"
#: How far above its stretched budget a room must be to fail the run: no noise of a machine reaches it.
GROSS = 3.0
COLLECTING = "collecting"
DEAREST = 40


def used() -> float:
    """Return the CPU seconds of this process, and of those it started and waited for."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def reference() -> float:
    """Return the CPU seconds of a fixed piece of work like that of the suite: Fractions, dictionaries, objects."""
    found = []
    for _ in range(5):
        begun = time.process_time()
        total, seen = Fraction(0), {}
        for number in range(1, 4000):
            total += Fraction(number % 7, number % 13 + 1)
            seen[number % 101] = (str(number), total.numerator % 97)
        found.append(time.process_time() - begun)
    return sorted(found)[2]


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

    def complaints(self, tests: Mapping[str, float], measured: float) -> tuple[list[str], list[str]]:
        """Return what exceeds its budget, and what exceeds it so far that the run fails."""
        stretch = max(1.0, measured / self.reference)
        above, gross = [], []
        rooms = self.by_room(tests)
        for room, seconds in sorted({**rooms, "the whole suite": sum(rooms.values())}.items()):
            allowed = stretch * (self.whole if room == "the whole suite" else self.rooms.get(room, 0))
            said = f"{room} used {seconds:.0f} CPU seconds, and may use {allowed:.0f} at the speed of this machine"
            if not allowed:
                gross.append(f"{room} has no budget of CPU seconds in {BUDGETS.name}")
            elif seconds > GROSS * allowed:
                gross.append(said)
            elif seconds > allowed:
                above.append(said)
        return above, gross


class Meter:
    """Where tests run: writes on every report what was used since the last one."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.reference = reference()
        self.last = used()
        self.collecting = 0.0

    def pytest_collection_finish(self) -> None:
        """Begin to measure tests; what was used before went into collecting."""
        now = used()
        self.collecting, self.last = now - self.last, now

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Hand over what went into collecting, and how slow the machine was."""
        said = (self.collecting, max(self.reference, reference()))
        self.config.stash[_COLLECTED] = said
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["cpu"] = said

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Write down what a phase of a test used."""
        report = yield
        now = used()
        report.cpu, self.last = now - self.last, now
        return report


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
            self.above, self.gross = Budgets.read().complaints(self.tests, max(self.references))
            if self.gross and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is above its budget, and everything if asked for."""
        if os.environ.get("DITHER_CPU") and self.references:
            budgets = Budgets.read()
            terminalreporter.section(f"CPU seconds, reference {max(self.references):.4f}")
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
