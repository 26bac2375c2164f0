"""AIM: what it learns without noise, what it spends, how it stays within its limits."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP
from dither.publish.synthetic import AdaptiveIterative, GraphicalModel
from dither.publish.synthetic.synthesizer import chosen
from dither.testing.replay import RecordingRunner

TABLE = Attributes.of({"a": 2, "b": 3, "c": 2, "d": 2})


def parity(rows: int, seed: int) -> NDArray[np.int64]:
    """Return records in which c is the parity of a and d, which no pair shows, and b follows a."""
    numbers = np.random.default_rng(seed)
    a, d = numbers.integers(0, 2, rows), numbers.integers(0, 2, rows)
    b = np.where(numbers.random(rows) < 0.8, a, 2)
    return np.stack([a, b, (a + d) % 2, d], axis=1)


def run(method: AdaptiveIterative, data: NDArray[np.int64]) -> GraphicalModel:
    return release(method, data, budget=Budget(epsilon=10**9, delta="0.5", unit=ROW)).value


@pytest.mark.statistical(false_alarm=1e-9)
def test_triples_are_found_where_only_they_tell() -> None:
    """With noise of scale below 1/100 the workload comes out as counted; wrong scores would measure other marginals."""
    data = parity(1000, 1)
    method = AdaptiveIterative(
        attributes=TABLE, workload=[["a", "c", "d"], ["a", "b"]], budget=PureDP(10**6), rounds=8, survey="1/4"
    )
    model = run(method, data)
    codes = TABLE.codes(data)
    for axes in [(0, 2, 3), (0, 1)]:
        assert model.table(axes) == pytest.approx(TABLE.count(codes, axes), abs=6)
    assert (0, 2, 3) in model.potentials


@pytest.mark.parametrize("budget", [PureDP(2), ZCDP("0.5")])
def test_the_budget_is_spent_and_never_exceeded(budget: Loss) -> None:
    """The losses of all draws that a run makes, added up: within the budget, and all but a millionth of it."""
    method = AdaptiveIterative(attributes=TABLE, workload=TABLE.every(2), budget=budget, rounds=20, survey="1/3")
    for seed in range(3):
        runner = RecordingRunner(method.plan(), system_noise())
        method.release(parity(300, seed), runner)
        spent = [event.part.loss(event.stability) for event in runner.tape.events if event.part is not None]
        amounts = [loss.pure if budget.pure is not None else loss.rho for loss in spent]
        whole = budget.pure if budget.pure is not None else budget.rho
        total = sum((amount for amount in amounts if amount is not None), Fraction(0))
        assert total <= whole
        assert total > whole * Fraction(999_999, 1_000_000)
        # Noise never rises from one measurement to the next.
        measured = [loss.rho for event, loss in zip(runner.tape.events, spent, strict=True) if _is_marginal(event)]
        assert all(later >= earlier for earlier, later in pairwise(measured[1:]))


def _is_marginal(event: object) -> bool:
    return getattr(event, "part").name in ("geometric", "discrete-gaussian")  # noqa: B009


def test_the_price_is_the_budget() -> None:
    method = AdaptiveIterative.calibrated(ApproxDP(1, "1e-9"), attributes=TABLE)
    assert Fraction(999, 1000) < method.loss(1).to_approx("1e-9").epsilon <= 1
    assert AdaptiveIterative.calibrated(PureDP(1), attributes=TABLE).loss(3).epsilon == 3
    assert 9 * (1 - Fraction(1, 2**20)) < AdaptiveIterative.calibrated(ZCDP(1), attributes=TABLE).loss(3).rho <= 9


@pytest.mark.parametrize("limit", [1, 9, 12, 30, 10**6])
def test_the_model_stays_within_its_limit(limit: int) -> None:
    method = AdaptiveIterative(
        attributes=TABLE, workload=TABLE.every(3), budget=ZCDP(50), rounds=6, survey="1/4", largest_model=limit
    )
    model = run(method, parity(400, 2))
    # Single attributes are always there.
    assert model.law.tree.cells <= max(limit, sum(model.merging.sizes))


def test_weights_count_what_candidates_have_in_common_with_the_workload() -> None:
    method = AdaptiveIterative(
        attributes=TABLE, workload=[["a", "b"], ["b", "c"]], budget=ZCDP(1), rounds=1, survey="1/2"
    )
    assert dict(zip(method.candidates.sets, method.candidates.weights, strict=True)) == {(0, 1): 1, (1, 2): 1}
    triple = AdaptiveIterative(
        attributes=TABLE, workload=[["a", "b", "c"], ["a", "d"]], budget=ZCDP(1), rounds=1, survey="1/2"
    )
    # a lies in both sets, the others in one: a pair with a counts 3, one without 2, the triple 4.
    assert dict(zip(triple.candidates.sets, triple.candidates.weights, strict=True)) == {
        (0, 1): 3,
        (0, 2): 3,
        (0, 3): 3,
        (1, 2): 2,
        (0, 1, 2): 4,
    }
    assert triple.candidates.stability == 64 * 4


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_records(rows: int) -> None:
    model = run(AdaptiveIterative.calibrated(ApproxDP(1, "1e-6"), attributes=TABLE), parity(rows, 3))
    assert model.sample(7).shape == (7, 4)


def _spent(method: AdaptiveIterative, data: NDArray[np.int64]) -> tuple[GraphicalModel, list[str], Fraction]:
    """Return the model, the kinds of all draws, and the epsilons of all draws added up."""
    runner = RecordingRunner(method.plan(), system_noise())
    model = method.release(data, runner)
    parts = [(event.part, event.stability) for event in runner.tape.events if event.part is not None]
    losses = [part.loss(stability).pure for part, stability in parts]
    return model, [part.name for part, _ in parts], sum((loss for loss in losses if loss is not None), Fraction(0))


def test_pairs_that_do_not_stand_out_are_left_to_the_single_attributes() -> None:
    """At a stop of 1024 nothing else is chosen, but with a chance below 2^-1000; what is left is not wasted."""
    method = AdaptiveIterative(
        attributes=TABLE, workload=TABLE.every(2), budget=PureDP(2), rounds=20, survey="1/3", stop=1024
    )
    model, kinds, spent = _spent(method, parity(300, 4))
    assert all(len(axes) == 1 for axes in model.potentials)
    assert [kind for kind in kinds if kind == "geometric"] == ["geometric"] * 2
    assert kinds[0] == kinds[-1] == "geometric"
    assert Fraction(97, 100) * 2 < spent <= 2


def test_pairs_that_stand_out_are_measured_all_the_same() -> None:
    """With noise of scale below 1/100 a pair of 1,000 records stands out, but with a chance far below 2^-1000."""
    data = parity(1000, 5)
    method = AdaptiveIterative(
        attributes=TABLE, workload=[["a", "b"]], budget=PureDP(10**6), rounds=2, survey="1/4", stop=1
    )
    model, _, spent = _spent(method, data)
    assert (0, 1) in model.potentials
    assert spent <= 10**6


@pytest.mark.parametrize("rows", [0, 3, 4, 10**4])
def test_a_first_count_tells_whether_pairs_are_worth_a_draw(rows: int) -> None:
    """The count is exact, but with a chance below exp(-200)."""
    sizes = Attributes.of(dict.fromkeys("abcd", 4))
    method = AdaptiveIterative(
        attributes=sizes, workload=sizes.every(2), budget=PureDP(400), rounds=8, survey="1/3", stop=0, look="1/2"
    )
    model, kinds, spent = _spent(method, np.zeros((rows, 4), dtype=np.int64))
    # 4 attributes of 4 values with noise of mean size 4 / 200 each: 0.16, against 1/80 for each attribute and record.
    is_blurred = 4 * rows / 80 < 16 * (4 / 200) / 2
    assert (kinds == ["geometric"] * 2) == is_blurred
    assert all(len(axes) == 1 for axes in model.potentials) or not is_blurred
    assert Fraction(97, 100) * 400 < spent <= 400


def test_usual_stops_follow_from_sizes_and_the_kind_of_loss() -> None:
    wide = Attributes.of({"a": 9, "b": 9})
    assert AdaptiveIterative.calibrated(PureDP(1), attributes=wide).stop == 1
    assert AdaptiveIterative.calibrated(PureDP(1), attributes=TABLE).stop is None
    assert AdaptiveIterative.calibrated(ZCDP(1), attributes=wide).stop is None
    assert AdaptiveIterative.calibrated(ZCDP(1), attributes=wide).look is None
    assert AdaptiveIterative.calibrated(PureDP(1), attributes=TABLE).look == Fraction(1, 50)


@pytest.mark.parametrize(
    ("columns", "loss", "name"),
    [
        (1, PureDP(1), "independent"),
        (2, PureDP(1), "aim"),
        (48, PureDP(1), "aim"),
        (49, PureDP(1), "mst"),
        (49, ApproxDP(1, "1e-9"), "all-pairs"),
    ],
)
def test_auto_follows_from_public_facts(columns: int, loss: Loss, name: str) -> None:
    assert chosen("auto", loss, Attributes.of({f"c{number}": 2 for number in range(columns)})) == name


def test_a_loss_next_to_nothing_still_releases_a_model() -> None:
    sizes = Attributes.of(dict.fromkeys("abcd", 20))
    made = AdaptiveIterative.calibrated(PureDP("1e-16"), attributes=sizes)
    rows = np.zeros((20, 4), dtype=np.int64)
    assert isinstance(made.release(rows, RecordingRunner(made.plan(), system_noise())), GraphicalModel)


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match="marginals"):
        AdaptiveIterative.calibrated(PureDP(1), attributes=TABLE, workload=[["nobody"]])
