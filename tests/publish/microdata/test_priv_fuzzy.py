"""The three ways out of PrivFuzzy: sensitivities by brute force, exact laws, and what each of them costs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords

from dither import Budget, converse, release
from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import BudgetExceeded, InvalidParameter
from dither.exact import sqrt_up
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP
from dither.publish.microdata import KeptTable, MomentGrouping, PerturbedRows, PrivFuzzy, Question, RowResponse
from dither.publish.microdata.grouping import correlations_of, grouped
from dither.publish.microdata.moments import GRID, measured_moments, numbers_on_grid
from dither.testing.replay import record

TABLE = Attributes.of({"a": 2, "b": 3, "c": 1, "d": 5})


def ample(unit: Any = ROW) -> Budget:
    return Budget(epsilon=10**9, unit=unit)


def linked_rows(count: int) -> np.ndarray:
    """Attributes 0 and 2 are the same, 1 and 3 nearly so, the two pairs independent: a full design, no chance in it."""
    rows = [(x, y, x, min(y + (k == 0), 3)) for x in range(3) for y in range(4) for k in range(4)]
    return np.tile(np.array(rows), (count, 1))


LINKED = Attributes.of({"p": 3, "q": 4, "r": 3, "s": 4})


# Moments.


def test_moments_are_sums_over_records() -> None:
    numbers = np.random.default_rng(11)
    rows = np.stack([numbers.integers(0, size, 40) for size in TABLE.sizes], axis=1)
    values = np.stack([numbers_on_grid(size)[rows[:, axis]] for axis, size in enumerate(TABLE.sizes)], axis=1)
    products = values.T @ values
    expected = [GRID**2 * 40, *(GRID * values.sum(axis=0)).tolist(), *products[np.triu_indices(4)].tolist()]
    assert measured_moments(CodedRecords(TABLE, rows)).tolist() == expected


def test_how_far_one_record_moves_moments() -> None:
    """By brute force over all records, and the bound is reached."""
    none = measured_moments(CodedRecords(TABLE, np.zeros((0, 4), dtype=np.int64)))
    farthest_1, farthest_2 = 0, 0
    for row in itertools.product(*map(range, TABLE.sizes)):
        moved = measured_moments(CodedRecords(TABLE, np.array([row]))) - none
        farthest_1 = max(farthest_1, int(np.abs(moved).sum()))
        farthest_2 = max(farthest_2, int((moved * moved).sum()))
    pure = MomentGrouping(attributes=TABLE, node=Geometric(scale=1))
    gaussian = MomentGrouping(attributes=TABLE, node=DiscreteGaussian(sigma=1))
    assert pure.moments == 10
    assert pure.stability == farthest_1
    assert farthest_2 == GRID**4 * 10
    assert gaussian.stability == GRID**2 * sqrt_up(Fraction(10))


def test_grid_ends_are_reached_and_numbers_increase() -> None:
    for size in (2, 3, 7, 33, 100):
        numbers = numbers_on_grid(size)
        assert (numbers[0], numbers[-1]) == (-GRID, GRID)
        assert (np.diff(numbers) >= 0).all()
        assert (numbers == -numbers[::-1]).all() or size > 2 * GRID or size % 2 == 0


def test_prices_of_moments() -> None:
    assert MomentGrouping.calibrated(PureDP("1/3"), attributes=TABLE).loss(1) == PureDP("1/3")
    assert MomentGrouping.calibrated(PureDP("1/3"), attributes=TABLE).loss(3).epsilon == 1
    assert MomentGrouping.calibrated(ZCDP("0.2"), attributes=TABLE).loss(1) <= ZCDP("0.2")
    assert MomentGrouping.calibrated(ApproxDP(1, "1e-6"), attributes=TABLE).loss(1).to_approx("1e-6").epsilon <= 1


@pytest.mark.statistical(n=1, false_alarm=1e-40, catches="moments that are read in another order than measured")
@pytest.mark.parametrize("rule", ["correlation", "components"])
def test_attributes_that_belong_together_are_found(rule: str) -> None:
    """Noise of standard deviation 256 / 1000 at most on moments of 4800 records, all times 256."""
    method = MomentGrouping(attributes=LINKED, node=Geometric(scale="1/1000"), rule=rule)
    found = release(method, linked_rows(100), budget=ample()).value
    assert found.groups == (("p", "r"), ("q", "s"))
    assert found.correlations.values[0, 2] == pytest.approx(1, abs=0.01)
    assert found.correlations.values[0, 1] == pytest.approx(0, abs=0.01)


def test_groups_stay_within_their_cells() -> None:
    covariances = np.full((4, 4), 0.5) + np.eye(4) * 0.1
    for rule, most in itertools.product(("correlation", "components", "variance"), (1, 9, 12, 144)):
        groups = grouped(LINKED, covariances, rule, most, 0.1)
        assert sorted(name for group in groups for name in group) == ["p", "q", "r", "s"]
        for group in groups:
            assert len(group) == 1 or LINKED.cells_of(LINKED.axes(group)) <= most
    assert grouped(LINKED, np.diag([0.9, 0.1, 0.8, 0.2]), "variance", 144, 0.1) == (("p", "r"), ("q", "s"))
    assert correlations_of(np.diag([1.0, 0.0, -1.0])).tolist() == np.eye(3).tolist()


# Histograms of merged attributes.


@pytest.mark.statistical(n=1, false_alarm=1e-40, catches="histograms put back on the wrong attributes")
def test_histograms_of_groups_are_kept_and_groups_are_independent() -> None:
    rows = linked_rows(1)
    codes = LINKED.codes(rows)
    method = PrivFuzzy(attributes=LINKED, budget=PureDP(10**6))
    model = release(method, rows, budget=ample()).value
    for axes in ((0, 2), (1, 3)):
        assert model.table(axes) == pytest.approx(LINKED.count(codes, axes), abs=1e-6)
    assert model.table((0, 1)) == pytest.approx(np.full((3, 4), 4.0), abs=1e-6)
    drawn = model.sample()
    assert LINKED.count(LINKED.codes(drawn), (1, 3)).tolist() == LINKED.count(codes, (1, 3)).tolist()


def test_prices_and_who_pays_for_groups() -> None:
    public = PrivFuzzy.calibrated(PureDP(1), attributes=LINKED, groups=[("p", "r")])
    assert public.loss(1) == PureDP(1)
    _, tape, _ = record(public, linked_rows(1))
    (histograms,) = tape.events
    # Three groups, one of them merged: a record is in a cell of each.
    assert histograms.stability == 3
    assert histograms.part == Geometric(scale=3, shape=(9 + 4 + 4,))
    private = PrivFuzzy.calibrated(PureDP(1), attributes=LINKED, share="1/4")
    _, tape, _ = record(private, linked_rows(1))
    moments, histograms = tape.events
    assert moments.part is not None
    assert moments.part.loss(moments.stability).epsilon == Fraction(1, 4)
    assert histograms.part is not None
    assert histograms.part.loss(histograms.stability).epsilon == Fraction(3, 4)
    assert PrivFuzzy.calibrated(ZCDP("0.1"), attributes=LINKED).loss(1) <= ZCDP("0.1")


def test_no_records_still_give_a_model() -> None:
    for target in (PureDP(1), ZCDP("0.1")):
        model = release(
            PrivFuzzy.calibrated(target, attributes=LINKED),
            linked_rows(0),
            budget=Budget(epsilon=2, delta="1e-3", unit=ROW),
        ).value
        assert model.sample(5).shape == (5, 4)


# Rows told at random.


def test_the_exact_law_of_two_rows() -> None:
    """All outcomes of two rows, followed coin by coin: one row replaced keeps the promised ratio, in whatever order."""
    part = RowResponse(rows=2, sizes=(2,), epsilon=1)
    for here, there in (([0, 1], [1, 1]), ([0, 0], [0, 1]), ([1, 0], [1, 1])):
        draws = [partial(part.draw, np.array(rows).reshape(2, 1)) for rows in (here, there)]
        check_law_by_branching(*draws, part.loss(1))
    draws = [partial(part.draw, np.array(rows).reshape(2, 1)) for rows in ([0, 0], [0, 1])]
    with pytest.raises(ContractViolation):
        check_law_by_branching(*draws, PureDP("0.99"))


def test_rows_that_change_places_are_no_other_rows() -> None:
    part = RowResponse(rows=3, sizes=(4, 4), epsilon=1)
    rows = np.array([[0, 1], [2, 3], [1, 1]])
    assert part.distance.measure(rows.ravel(), rows[::-1].ravel()) == 0
    assert part.distance.measure(rows, np.array([[2, 3], [0, 1], [3, 3]])) == 1
    assert part.distance.measure(rows, rows[:2]) is None
    drawn = part.draw(rows, _noise())
    assert drawn.tolist() == sorted(drawn.tolist())


def _noise() -> Any:
    from dither.noise import system_noise

    return system_noise()


@pytest.mark.statistical(n=5000, false_alarm=1e-9, catches="a chance of the truth that is not that of the estimate")
def test_frequencies_are_right_on_average() -> None:
    """5000 rows, 0.3 of them of code 5 in a group of six codes.

    The share of code 5 among n = 5000 reports is off by more than 0.047 with probability 2 e^(-10000 * 0.047^2), less
    than 6e-10; the estimate divides that by truth - other, which is 0.4 here.
    """
    attributes = Attributes.of({"a": 2, "b": 3})
    rows = np.repeat(np.array([[1, 2], [0, 0]]), [1500, 3500], axis=0)
    method = PerturbedRows.calibrated(PureDP("1.6"), attributes=attributes, groups=[("a", "b")], rows=5000)
    out = release(method, rows, budget=ample(ROW_REPLACED)).value
    truth = method.part.truth(6)
    assert truth == pytest.approx(math.exp(1.6) / (math.exp(1.6) + 5))
    reach = 5000 * 0.047 / (truth - (1 - truth) / 5)
    estimate = method.frequencies(out, 0)
    assert abs(estimate[5] - 1500) <= reach
    assert estimate.sum() == pytest.approx(5000)


def test_each_merged_attribute_is_paid_for() -> None:
    separate = PerturbedRows(attributes=LINKED, rows=3, epsilon=1)
    merged = PerturbedRows(attributes=LINKED, groups=(("p", "q", "r", "s"),), rows=3, epsilon=1)
    assert separate.loss(1).epsilon == 4
    assert merged.loss(2).epsilon == 2
    # An attribute of one value tells nothing.
    assert PerturbedRows(attributes=TABLE, rows=3, epsilon=1).loss(1).epsilon == 3
    # Merging everything makes the truth rare: that is the other price.
    assert merged.part.truth(144) < separate.part.truth(3) / 10


def test_the_number_of_rows_is_public_and_held_to() -> None:
    method = PerturbedRows(attributes=LINKED, rows=3, epsilon=1)
    with pytest.raises(InvalidParameter):
        release(method, linked_rows(1), budget=ample(ROW_REPLACED))
    with pytest.raises(InvalidParameter):
        PerturbedRows(attributes=LINKED, groups=None, rows=3, epsilon=1)


# A table that is kept.


@pytest.mark.statistical(n=4, false_alarm=1e-40, catches="a condition read off the wrong place of a merged code")
def test_questions_are_answered_from_the_merged_table() -> None:
    rows = linked_rows(2)
    kept = KeptTable(attributes=LINKED, groups=(("p", "q"), ("r", "s")), budget=PureDP(10**4))
    talk = converse(kept, rows, budget=ample())
    for name, axis in zip(LINKED.names, range(4), strict=True):
        assert talk.query(name, [0, 2], 200) == int(np.isin(rows[:, axis], [0, 2]).sum())
    both = Question((("q", (1,)), ("r", (0, 1))), Fraction(200))
    assert talk.ask(both) == int(((rows[:, 1] == 1) & (rows[:, 2] <= 1)).sum())
    assert talk.query("p", [], 200) == 0


def test_every_answer_is_charged_and_asking_again_is_no_way_round() -> None:
    talk = converse(KeptTable(attributes=LINKED, budget=PureDP(1)), linked_rows(1), budget=Budget(epsilon=1, unit=ROW))
    for _ in range(4):
        talk.query("p", [0], "1/4")
    with pytest.raises(BudgetExceeded):
        talk.query("p", [0], "1/1000000")
    talk = converse(KeptTable(attributes=LINKED, budget=PureDP(1)), linked_rows(1), budget=Budget(epsilon=1, unit=ROW))
    for wrong in (("nobody", [0], 1), ("p", [3], 1), ("p", [0], 0)):
        with pytest.raises(InvalidParameter):
            talk.query(*wrong)
    with pytest.raises(InvalidParameter):
        Question((("p", 0),), Fraction(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        talk.ask("p")  # type: ignore[arg-type]
    assert talk.left == PureDP(1)
    talk.query("p", [0], 1)
    assert talk.left <= PureDP(0)
