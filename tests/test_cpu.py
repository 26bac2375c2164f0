"""CPU seconds of the suite: rooms are found, slow machines are forgiven, and what is far above its budget is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def cpu(load_tool: Callable[[str], ModuleType]) -> Any:
    return load_tool("cpu")


@pytest.fixture
def budgets(cpu: Any) -> Any:
    return cpu.Budgets(0.01, 140, {"collecting": 20, "tests/a": 100, "tests/a/deep": 20})


def test_a_test_belongs_to_the_innermost_room_that_has_a_budget(budgets: Any) -> None:
    spent = {"tests/a/test_x.py::one": 1, "tests/a/deep/test_y.py::two": 2, "tests/a/deep/er/test_z.py::three": 3}
    assert budgets.by_room({**spent, "collecting": 4}) == {"tests/a": 1, "tests/a/deep": 5, "collecting": 4}


@pytest.mark.parametrize(
    ("seconds", "above", "gross"),
    [
        (99, 0, 0),
        (101, 1, 0),  # above the budget is said
        (124, 2, 0),  # the whole suite is above its budget as well
        (126, 1, 1),  # a quarter above the budget fails
        (156, 0, 2),
    ],
)
def test_only_gross_excess_fails(budgets: Any, seconds: float, above: int, gross: int) -> None:
    spent = {"tests/a/test_x.py::one": seconds, "collecting": 15, "tests/a/deep/test_y.py::two": 5}
    said, failed = budgets.complaints(spent)
    assert (len(said), len(failed)) == (above, gross)


def test_a_few_seconds_fail_no_small_room(budgets: Any) -> None:
    """A quarter of a small room is what one test may wait for a cold disk."""
    for seconds, failed in ((27, 0), (29, 1)):
        assert len(budgets.complaints({"tests/a/deep/test_y.py::two": seconds})[1]) == failed


@pytest.mark.parametrize(
    ("measured", "stretch"),
    [
        ([0.01], 1.0),
        ([0.03], 3.0),  # a machine of a third of the speed may take three times as long
        ([0.005], 0.5),  # and a faster one has less
        ([0.01, 0.05, 0.01], 1.0),  # one measurement was disturbed
        ([0.01, 0.01, 0.01, 0.02, 0.02], 2.0),  # the machine has become busy
        ([0.02, 0.02, 0.02, 0.01, 0.01], 1.0),  # and quiet again
    ],
)
def test_tests_are_forgiven_how_slow_the_machine_is_while_they_run(
    cpu: Any, measured: list[float], stretch: float
) -> None:
    # Of each two the first waits for memory.
    taken = iter([seconds for one in measured for seconds in (2 * one, one)])
    pace = cpu.Pace(0.01, lambda: next(taken))
    for _ in measured[1:]:
        pace.measure()
    assert pace.stretch == pytest.approx(stretch)


def test_a_room_without_a_budget_fails(budgets: Any) -> None:
    assert budgets.complaints({"tests/b/test_x.py::one": 0.1})[1] == [
        "tests/b has no budget of CPU seconds in cpu_budget.toml"
    ]


def test_every_folder_of_tests_has_a_budget_and_they_add_up(cpu: Any) -> None:
    stated = cpu.Budgets.read()
    folders = {f"tests/{path.relative_to(TESTS).parts[0]}" for path in TESTS.rglob("*/test_*.py")}
    assert folders <= stated.rooms.keys()
    assert {"collecting", "src", "docs", "README.md", "tests"} <= stated.rooms.keys()
    assert stated.whole == sum(stated.rooms.values())


def test_what_children_used_is_counted_once_they_ended(cpu: Any) -> None:
    import subprocess
    import sys

    before = cpu.used()
    subprocess.run([sys.executable, "-c", "sum(i * i for i in range(10**6))"], check=True)
    assert cpu.used() - before > 0.01
