"""How far one unit moves the input is stated, or follows from unit and distance; it is never assumed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, Budget, Geometric, converse, release
from dither.errors import InvalidParameter
from dither.mechanisms import (
    AboveThreshold,
    Composed,
    Interactive,
    InteractivePrimitive,
    Mechanism,
    Primitive,
    perform,
    registered,
)
from dither.privacy import DIFFERENT, EDGE, LABEL, RECORDS, PureDP, Relation, Unit, person
from dither.publish.histograms import IdentityHistogram
from dither.publish.marginals import Attributes
from dither.publish.synthetic import IndependentMarginals

PERSON = person("person", Relation.ADD_REMOVE)


def through_the_door(mechanism: Mechanism[Any, Any], data: Any, budget: Budget) -> None:
    if isinstance(mechanism, Primitive | Composed):
        release(mechanism, data, budget=budget)
    elif isinstance(mechanism, InteractivePrimitive):
        converse(mechanism, budget=budget)
    elif isinstance(mechanism, Interactive):
        converse(mechanism, data.data, budget=budget)


def histogram() -> IdentityHistogram:
    return IdentityHistogram.calibrated(PureDP(1), shape=(3,))


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED, PERSON])
def test_a_histogram_is_not_released_at_a_guessed_stability(unit: Unit) -> None:
    """A replaced row moves two cells, and a person any number: 1 would understate both."""
    budget = Budget(epsilon=10, unit=unit)
    with pytest.raises(InvalidParameter, match="stability is required: a bound on the change") as refusal:
        release(histogram(), np.array([3, 0, 2]), budget=budget)
    assert str(unit) in str(refusal.value)
    assert budget.spent.is_zero


def test_a_stated_stability_is_charged() -> None:
    budget = Budget(epsilon=10, unit=ROW_REPLACED)
    released = release(histogram(), np.array([3, 0, 2]), budget=budget, stability=2)
    assert released.loss.pure == 2
    assert budget.spent.pure == 2


def test_records_know_how_far_a_row_moves_them() -> None:
    method = IndependentMarginals.calibrated(PureDP(1), attributes=Attributes(("a",), (3,)))
    rows = np.array([[0], [1], [2]])
    assert release(method, rows, budget=Budget(epsilon=9, unit=ROW)).loss.pure == 1
    assert release(method, rows, budget=Budget(epsilon=9, unit=ROW_REPLACED)).loss.pure == 2
    with pytest.raises(InvalidParameter, match="stability"):
        release(method, rows, budget=Budget(epsilon=9, unit=PERSON))


@pytest.mark.parametrize("stability", ["1/1000", "3/2"])
def test_part_of_a_unit_cannot_change(stability: str) -> None:
    """A mechanism that counts rows itself would be charged a thousandth of what it loses."""
    sample = next(iter(registered()["poisson-sample"].examples()))
    budget = Budget(epsilon=100, delta="0.1", unit=ROW)
    with pytest.raises(InvalidParameter, match="an integer number of rows added or removed"):
        release(sample.mechanism, sample.data, budget=budget, stability=stability)
    assert budget.spent.is_zero


def test_what_follows_from_a_unit_and_a_distance() -> None:
    assert [RECORDS.moved_by(unit) for unit in (ROW, EDGE, ROW_REPLACED, LABEL, PERSON)] == [1, 1, 2, 2, None]
    assert all(DIFFERENT.moved_by(unit) == 1 for unit in (ROW, ROW_REPLACED, PERSON))
    assert ROW.moved_by(ROW) == 1
    assert ROW.moved_by(ROW_REPLACED) is None


def test_doors_of_their_own_and_conversations_state_it_too() -> None:
    part = AboveThreshold.calibrated(PureDP(1), threshold=10, sensitivity=1)
    budget = Budget(epsilon=9, unit=ROW)
    for call in (lambda: perform(Geometric(scale=1), 5), lambda: converse(part, budget=budget)):
        with pytest.raises(InvalidParameter, match="stability is required"):
            call()
    assert budget.spent.is_zero


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED, PERSON], ids=str)
def test_no_mechanism_assumes_how_far_a_unit_moves_its_input(unit: Unit) -> None:
    """Without a stated stability a release is refused, or charged for what follows from unit and distance."""
    for name, entry in registered().items():
        example = next(iter(entry.examples()))
        mechanism: Mechanism[Any, Any] = example.mechanism
        if isinstance(mechanism.distance, Unit):
            continue
        budget = Budget(epsilon=10**6, delta="0.9", unit=unit)
        derived = mechanism.distance.moved_by(unit)
        if derived is not None:
            continue
        with pytest.raises(InvalidParameter, match="stability"):
            through_the_door(mechanism, example.data, budget)
        assert budget.spent.is_zero, name
