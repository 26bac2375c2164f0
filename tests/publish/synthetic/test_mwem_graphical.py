"""MWEM with a graphical model: what it learns without noise, what it spends, its limits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, Loss, PureDP
from dither.publish.synthetic import GraphicalModel, GraphicalMwem
from dither.testing.replay import RecordingRunner

TABLE = Attributes.of({"a": 2, "b": 3, "c": 2, "d": 2})


def rows_of(count: int, seed: int) -> NDArray[np.int64]:
    numbers = np.random.default_rng(seed)
    a = (numbers.random(count) < 0.3).astype(np.int64)
    return np.stack([a, a + numbers.integers(0, 2, count), 1 - a, numbers.integers(0, 2, count)], axis=1)


def run(method: GraphicalMwem, data: NDArray[np.int64]) -> GraphicalModel:
    return release(method, data, budget=Budget(epsilon=10**9, unit=ROW)).value


@pytest.mark.statistical(false_alarm=1e-9)
def test_enough_rounds_without_noise_learn_the_whole_workload() -> None:
    """Noise of scale below 1/1000: after as many rounds as marginals every one of them is as counted."""
    data = rows_of(500, 1)
    model = run(GraphicalMwem(attributes=TABLE, workload=TABLE.every(2), budget=PureDP(10**6), rounds=6), data)
    codes = TABLE.codes(data)
    for names in TABLE.every(2):
        axes = TABLE.axes(names)
        assert model.table(axes) == pytest.approx(TABLE.count(codes, axes), abs=4)


@pytest.mark.statistical(false_alarm=1e-9)
def test_the_first_choice_is_the_worst_answered_marginal() -> None:
    """Against the uniform table, by brute force; two marginals that are worst alike are both right."""
    data = rows_of(500, 2)
    codes = TABLE.codes(data)
    far = {}
    for names in TABLE.every(2):
        axes = TABLE.axes(names)
        far[axes] = np.abs(TABLE.count(codes, axes) - 500 / TABLE.cells_of(axes)).sum()
    model = run(GraphicalMwem(attributes=TABLE, workload=TABLE.every(2), budget=PureDP(10**6), rounds=1), data)
    (chosen,) = model.potentials
    assert far[chosen] >= max(far.values()) - 1


@pytest.mark.parametrize("budget", [PureDP(2), ZCDP("0.5")])
def test_the_budget_is_shared_equally(budget: Loss) -> None:
    method = GraphicalMwem(attributes=TABLE, workload=TABLE.every(2), budget=budget, rounds=3)
    runner = RecordingRunner(method.plan(), system_noise())
    method.release(rows_of(100, 3), runner)
    spent = [event.part.loss(event.stability) for event in runner.tape.events if event.part is not None]
    whole = budget.rho if budget.pure is None else budget.pure
    amounts = [loss.rho if budget.pure is None else loss.pure for loss in spent]
    assert len(amounts) == 7
    for amount in amounts:
        assert amount is not None
        assert Fraction(999_999, 1_000_000) * whole / 7 < amount <= whole / 7


@pytest.mark.parametrize(("limit", "measured"), [(8, 0), (9, 0), (10**4, 3)])
def test_the_limit_shrinks_the_model(limit: int, measured: int) -> None:
    method = GraphicalMwem(attributes=TABLE, workload=TABLE.every(3), budget=ZCDP(5), rounds=3, largest_model=limit)
    model = run_in_rho(method, rows_of(100, 4))
    assert len(model.potentials) <= measured
    assert model.sample(5).shape == (5, 4)


def run_in_rho(method: GraphicalMwem, data: NDArray[np.int64]) -> GraphicalModel:
    return release(method, data, budget=Budget(rho=100, unit=ROW)).value


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match="rounds"):
        GraphicalMwem.calibrated(PureDP(1), attributes=TABLE, rounds=0)
