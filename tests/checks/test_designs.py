"""Designs of parameters: every class keeps its contract on a small part of its own, and faults of one corner die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import dither.learn.linear.descent as descent
import dither.publish.queries.partitioned as partitioned
import dither.publish.streams.asked as asked
import dither.publish.streams.ticked as ticked
from dither.checks import ContractViolation
from dither.checks.contract import CLASS_CHECKS, MECHANISM_CHECKS
from dither.checks.designs import FEW_PAIRS, FIXED, UNFITTED, check_samples, check_thousands, design, run_design
from dither.errors import InvalidParameter
from dither.exact import Field
from dither.mechanisms import Composed, Example, Geometric, Interactive, Numerics, find, register, registered
from dither.mechanisms.core import registry
from dither.mechanisms.window_publisher import WindowPublisher
from dither.privacy import ROW, Plan, Unit, Use
from dither.testing.kinds import kinds
from dither.testing.spaces import fields_of, spaces_of
from dither.testing.thousands import MANY, SMALL, thousands

ALL = sorted(registered())
#: Instances of each class: the ones that cover most pairs of values. An audit tries all.
PART = 2


@pytest.mark.parametrize("name", ALL)
def test_a_small_part_of_every_design(name: str) -> None:
    check_samples(name)
    found = run_design(name, most=PART, most_pairs=FEW_PAIRS, is_full=False)
    assert not found.violations
    assert name in UNFITTED or not found.unfitted


def test_reasons_are_about_fields_that_there_are() -> None:
    for name, field in FIXED:
        assert field in {key for key, _ in fields_of(find(name).mechanism)}
    assert UNFITTED.keys() <= set(ALL)
    assert all((*FIXED.values(), *UNFITTED.values(), *SMALL.values()))


# Learners, histograms, tables, baskets, queries, samples of a public number of rows, labels, records, batches.
@pytest.mark.parametrize(
    "name",
    [
        *("gradient-descent", "noisy-moments", "chosen-tree", "identity-histogram", "mst", "priv-basis", "query"),
        *("fixed-size-sample", "label-response", "random-projection", "incremental-regression", "lifted"),
    ],
)
def test_ten_thousand_rows(name: str) -> None:
    assert check_thousands(name)


def test_every_class_that_takes_arrays_has_ten_thousand_rows() -> None:
    for name in ALL:
        examples = list(find(name).examples())
        if issubclass(find(name).mechanism, Composed) and isinstance(examples[0].data, np.ndarray):
            made = [thousands(example) for example in examples[:1]]
            assert (made[0] is None) == (name in SMALL), name
            for _, (here, there, apart) in filter(None, made):
                rows = here.sum() if here.dtype.kind in "iu" and here.shape == examples[0].data.shape else len(here)
                assert rows >= MANY
                assert apart
                assert here.tolist() != there.tolist()


Plant = Callable[[pytest.MonkeyPatch], None]


def one_group_of_a_person(patch: pytest.MonkeyPatch) -> None:
    """Price a person in a stream by what one group of several moves."""
    before = asked.moved_by_unit

    def moved(measured: Any, ticks: Any, *, cells: int, **others: Any) -> Any:
        found = before(measured, ticks, cells=cells, **others)
        return replace(found, most=found.most // min(ticks.rows or 1, cells))

    patch.setattr(asked, "moved_by_unit", moved)
    patch.setattr(ticked, "moved_by_unit", moved)


def at_most_two_parts(patch: pytest.MonkeyPatch) -> None:
    """Price a person in many parts as in two."""
    before = partitioned.touched_parts
    patch.setattr(partitioned, "touched_parts", lambda *given: min(2, before(*given)))


def a_flipped_label_moves_a_hinge_once(patch: pytest.MonkeyPatch) -> None:
    """Price a replaced row as an added one, for the hinge alone."""

    def stability(self: Any) -> int:
        touched: int = 1 if self.loss_name == "hinge" else self.unit.touched
        return touched * descent.LENGTH * descent.PULL

    patch.setattr(descent.GradientDescent, "stability", property(stability))


def a_window_forgets_a_tick(patch: pytest.MonkeyPatch) -> None:
    """Forget what the earliest tick of a window has taken, in windows of more than two ticks."""
    before = WindowPublisher.reply

    def reply(self: Any, state: Any, value: Any, noise: Any) -> Any:
        out = before(self, state, value, noise)
        if self.window > 2 and len(state.spent) >= self.window - 1:
            state.spent.popleft()
        return out

    patch.setattr(WindowPublisher, "reply", reply)


PLANTS: list[tuple[str, Plant, str]] = [
    ("ticked-answer", one_group_of_a_person, "moved too far"),
    ("partitioned-query", at_most_two_parts, "too many siblings"),
    ("gradient-descent", a_flipped_label_moves_a_hinge_once, "moved too far"),
    ("window-publisher", a_window_forgets_a_tick, "a window of"),
]


@pytest.mark.parametrize(("name", "plant", "rule"), PLANTS, ids=[plant.__name__ for _, plant, _ in PLANTS])
def test_a_fault_of_one_corner_dies_by_the_design_and_not_by_examples(
    name: str, plant: Plant, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    # Made anew: what an instance has computed of itself, it keeps.
    made = list(find(name).examples.__wrapped__())  # type: ignore[attr-defined]
    for check in (*MECHANISM_CHECKS, *CLASS_CHECKS):
        check(made[0])
    for check in MECHANISM_CHECKS:
        check(made[-1])
    found = run_design(name, most=16, most_pairs=8, is_full=False)
    assert found.violations
    assert all(rule in violation for violation in found.violations)


def test_designs_reach_the_corners() -> None:
    touched = {one.example.mechanism.partitioned.touched for one in _designed("partitioned-query")}
    assert max(touched) > 2
    hinges = [one.example for one in _designed("gradient-descent") if one.values["loss_name"] == "hinge"]
    flipped = [kind for one in hinges for kind, (*_, apart) in kinds(one.mechanism, one.data) if apart == 1]
    assert "a label flipped" in flipped
    windows = {(one.example.mechanism.window, one.example.mechanism.scheme) for one in _designed("window-publisher")}
    assert {scheme for width, scheme in windows if width > 2} == {"absorption", "distribution", "uniform", "sample"}


def _designed(name: str) -> Iterator[Any]:
    return (one for one in design(spaces_of(name)[0]) if one.example is not None)


class Silent(Field[int, int]):
    """A field of one value that yields what it is told to, and nothing by default."""

    told: ClassVar[tuple[int, ...]] = ()

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return what was told."""
        yield from self.told

    def convert(self, name: str, value: int) -> int:
        if value != 3:
            raise InvalidParameter(name, value, "3")
        return value


@dataclass(frozen=True, kw_only=True)
class Counted(Composed[Any, int]):
    """Counts rows; wrongly where they count twice.

    Guarantee: none.
    """

    name: ClassVar[str] = "counted-for-a-test"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    times: Silent = Silent()
    part: Geometric = Geometric(scale=1)

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Any) -> Any:
        return run(self.part, len(data))


def test_a_declared_field_without_samples_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    rows = np.array([1, 2, 3])
    register(examples=lambda: [Example(Counted(times=3), rows)], source="a test")(Counted)
    with pytest.raises(ContractViolation, match="yields no samples"):
        check_samples("counted-for-a-test")
    monkeypatch.setattr(Silent, "told", (4,))
    with pytest.raises(ContractViolation, match="yields what it refuses"):
        check_samples("counted-for-a-test")


def test_most_classes_are_tried_on_every_kind_of_neighbour() -> None:
    planned = [name for name in ALL if issubclass(find(name).mechanism, Composed | Interactive)]
    met = {
        kind
        for name in planned
        for example in list(find(name).examples())[:1]
        for kind, _ in kinds(example.mechanism, example.data)
    }
    assert met >= {
        *("a label flipped", "an entry changed", "a row twice", "a row removed", "a unit in a cell"),
        *("an edge between known nodes", "an edge removed", "a node removed", "a node that knows everybody"),
        *("a basket of everything", "a basket of nothing", "a basket twice", "an event at a tick"),
    }
