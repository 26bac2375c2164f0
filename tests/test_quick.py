"""What a change can reach: the tests of its room, of the rooms above it, and those that go through all mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def quick(load_tool: Callable[[str], ModuleType]) -> Any:
    return load_tool("quick")


def test_a_change_reaches_whoever_imports_it_through_others(quick: Any) -> None:
    graph = {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"e"}, "e": set()}
    assert quick.reached({"a"}, graph) == {"a", "b", "c"}
    assert quick.reached({"e"}, graph) == {"e", "d"}


def test_imports_for_type_checkers_do_not_count_and_named_modules_do(quick: Any) -> None:
    known = {"dither": "_LATER = {'open': ('dither.b', 'open')}", "dither.a": "", "dither.b": "", "dither.c": ""}
    text = "from typing import TYPE_CHECKING\\nif TYPE_CHECKING:\\n    import dither.a\\nimport_module('dither.c')"
    assert quick.imported(text.replace("\\n", "\n"), known) == {"dither.c"}
    assert quick.imported("from dither import open", known) == {"dither", "dither.b"}


def test_a_learner_reaches_its_tests_and_the_contract_and_not_the_ledger(quick: Any) -> None:
    chosen = quick.selected(["src/dither/learn/linear/newton.py"])
    assert "tests/learn/test_linear.py" in chosen
    assert "tests/checks/test_contract.py" in chosen
    assert not [path for path in chosen if path.startswith(("tests/curator/ledger/", "tests/noise/", "tests/privacy/"))]


def test_what_stands_below_everything_reaches_everything(quick: Any) -> None:
    chosen = quick.selected(["src/dither/errors.py"])
    assert {"tests/learn/test_linear.py", "tests/curator/test_session.py", "tests/data/test_widths.py"} <= set(chosen)
    assert len(chosen) > 2 * len(quick.selected(["src/dither/learn/linear/newton.py"]))


def test_a_tool_reaches_the_tests_that_import_or_name_it(quick: Any) -> None:
    assert "tests/tools/test_mutants.py" in quick.selected(["tools/mutants/laws.py"])
    assert "tests/audit/test_whole.py" in quick.selected(["tools/mutants/laws.py"])
    assert "tests/tools/test_bench.py" in quick.selected(["tools/bench/clock.py"])
    assert quick.selected(["tools/rivals/opendp_noise.py"]) == sorted(quick.ALWAYS)


@pytest.mark.parametrize("path", ["Makefile", "pyproject.toml", "tests/collected.txt"])
def test_what_the_graph_cannot_see_asks_for_the_whole_suite(quick: Any, path: str) -> None:
    assert quick.selected([path]) is None
