"""What is there as literature is checked like all others, and chosen, listed in short and audited at length never."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dither.audit.accounts import Account
from dither.audit.blackbox import FEWEST_SAMPLES
from dither.audit.everything import Extent, tasks_of
from dither.audit.unshown import holes
from dither.checks import checks
from dither.lift.attributes import Attributes
from dither.mechanisms import find, registered
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.choose import choose
from dither.publish.methods import METHODS, build_method
from dither.publish.synthetic import METHODS as SYNTHETIC
from dither.publish.synthetic.synthesizer import chosen

LITERATURE = {name for name, entry in registered().items() if entry.is_reference}
LOSSES: tuple[Loss, ...] = (PureDP("1/10"), PureDP(5), ApproxDP("1/10", "1e-6"), ApproxDP(5, "1e-6"))


def test_some_are_literature_and_most_are_not() -> None:
    assert {"small-database", "boosting", "priv-gene", "pac-learner"} <= LITERATURE
    assert not LITERATURE & {"laplace", "mst", "gradient-descent", "identity-histogram", "lifted"}
    theory = {name for name, entry in registered().items() if ".learn.theory." in entry.mechanism.__module__}
    assert len(theory) == 9
    assert theory <= LITERATURE


@pytest.mark.parametrize("name", sorted(LITERATURE))
def test_literature_is_under_contract(name: str) -> None:
    assert list(find(name).examples())
    assert next(iter(checks(name)), None) is not None


def test_no_histogram_is_chosen_from_literature() -> None:
    for method in METHODS.values():
        shape = (16,) * (method.dimensions or 1)
        assert build_method(method.name, PureDP(1), shape).name not in LITERATURE
    for loss, asked in product(LOSSES[:1], ("cells", "ranges")):
        found = choose(asked, (16,), loss=loss, data_dependent=True, rows=100)
        assert not LITERATURE & {one.method for one in found.candidates}


def test_no_synthetic_table_is_chosen_from_literature() -> None:
    assert LITERATURE & set(SYNTHETIC)  # they can be asked for
    for loss, width in product(LOSSES, (1, 2, 5)):
        attributes = Attributes(tuple(f"a{place}" for place in range(width)), (3,) * width)
        assert chosen("auto", loss, attributes) not in LITERATURE


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC", "LinearRegression", "Ridge", "Lasso", "KMeans"])
def test_no_model_is_chosen_from_literature(name: str) -> None:
    pytest.importorskip("sklearn")
    learn = pytest.importorskip("dither.learn")
    for loss, columns, classes in product(LOSSES[::2], (2, 30), (2, 3)):
        bounds = np.column_stack([np.zeros(columns), np.ones(columns)])
        words: dict[str, Any] = {"epsilon": loss.epsilon, "bounds": bounds}
        words |= {"delta": loss.delta} if isinstance(loss, ApproxDP) else {}
        if name in ("LogisticRegression", "LinearSVC"):
            words["classes"] = list(range(classes))
        elif name == "KMeans":
            words["n_clusters"] = classes
        else:
            words["target_bounds"] = (0, 1)
        assert getattr(learn, name)(**words).mechanism(columns).name not in LITERATURE


def test_a_long_audit_tries_literature_less_and_a_named_one_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: registered()[name] for name in ("point-learner", "row-response", "identity-histogram")}
    monkeypatch.setattr("dither.audit.everything.registered", lambda: few)
    extent = Extent(samples=5 * FEWEST_SAMPLES, replays=1000)
    whole = [task for task in tasks_of([], extent) if task.kind == "mechanism"]
    named = tasks_of(list(few), extent)
    assert [(task.name, task.number) for task in whole] == [(task.name, task.number) for task in named]
    for less, full in zip(whole, named, strict=True):
        part = 5 if find(less.name).is_reference else 1
        assert less.size == full.size // part
        assert 0 <= less.replays - full.replays / part < 1
        assert (less.seconds is None) is (full.seconds is None)
        assert less.false_alarm == full.false_alarm


def test_literature_that_shows_little_is_no_hole() -> None:
    def silent(name: str) -> Account:
        return Account(name, 0, name, "", "", 0.0, 0, 0, 0, "", "", "", "", "", 0, 0.0, False, (), kind="composed")

    assert holes([silent("point-learner"), silent("identity-histogram")]) == ["identity-histogram"]


def test_pages_and_the_table_carry_the_mark(load_tool: Callable[[str], ModuleType]) -> None:
    tool = load_tool("catalogue")
    above, _, below = tool.PAGE.read_text(encoding="utf-8").partition("## Reference")
    for name in LITERATURE:
        assert f"[{name}]({name}.md)" in below
        assert f"[{name}]({name}.md)" not in above
    for path in tool.PAGE.parent.glob("*.md"):
        assert (tool.MARK in path.read_text(encoding="utf-8")) is (path.stem in LITERATURE)


def test_a_page_is_marked_once_and_unmarked(load_tool: Callable[[str], ModuleType]) -> None:
    tool = load_tool("catalogue")
    page = "# Name\n\nRests on: nothing beside the theory\n\nText.\n"
    marked = tool.marked(page, is_reference=True)
    assert marked.count(tool.MARK) == 1
    assert tool.marked(marked, is_reference=True) == marked
    assert tool.marked(marked, is_reference=False) == page
