"""Graphical models against the full joint table: inference by brute force, fits by other solvers and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import (
    Calibrated,
    NoisyMarginal,
    estimated_total,
    fit_graphical_model,
)
from dither.estimate.junction_tree import junction_tree

Floats = NDArray[np.float64]
WIDTH = 5
SETS = [axes for size in (1, 2, 3) for axes in itertools.combinations(range(WIDTH), size)]


def summed(joint: Floats, axes: tuple[int, ...]) -> Floats:
    return np.asarray(joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in axes)))


def joint_of(sizes: tuple[int, ...], potentials: dict[tuple[int, ...], Floats]) -> Floats:
    """Return the law by writing all of it out."""
    logs = np.zeros(sizes)
    for axes, table in potentials.items():
        logs = logs + table.reshape(tuple(size if axis in axes else 1 for axis, size in enumerate(sizes)))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


@settings(max_examples=60)
@given(
    st.tuples(*[st.integers(1, 4)] * WIDTH),
    st.lists(st.sampled_from(SETS), max_size=7, unique=True),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 30.0, 1000.0]),
)
def test_inference_is_that_of_the_whole_table(
    sizes: tuple[int, ...], sets: list[tuple[int, ...]], seed: int, size: float
) -> None:
    """Every marginal, within a clique and across, also with potentials whose exponentials would overflow."""
    numbers = np.random.default_rng(seed)
    potentials = {axes: numbers.normal(size=[sizes[a] for a in axes]) * size for axes in sets}
    law, joint = Calibrated(junction_tree(sizes, sets), potentials), joint_of(sizes, potentials)
    for count in range(WIDTH + 1):
        for axes in itertools.combinations(range(WIDTH), count):
            assert law.marginal(axes) == pytest.approx(summed(joint, axes), abs=1e-9)
    for axis in range(WIDTH):
        tables = law.pairs_with(axis)
        assert tables.keys() == set(range(WIDTH)) - {axis}
        for other, table in tables.items():
            exact = summed(joint, tuple(sorted((axis, other))))
            assert table == pytest.approx(exact if axis < other else exact.T, abs=1e-9)


def matrix_of(sizes: tuple[int, ...], axes: tuple[int, ...]) -> Floats:
    """Return the matrix that sums a flat joint table to a flat marginal."""
    places = np.arange(math.prod(sizes)).reshape(sizes)
    rows = [summed((places == cell).astype(float), axes).ravel() for cell in range(places.size)]
    return np.array(rows).T


@pytest.mark.parametrize("trial", range(4))
def test_the_fit_is_the_least_squares_fit_of_all_laws(trial: int) -> None:
    """With hardly any entropy the loss is that of non-negative least squares over all cells of the joint table."""
    from scipy.optimize import nnls

    numbers = np.random.default_rng(trial)
    sizes, total = (2, 3, 2, 2), 500.0
    truth = numbers.dirichlet(np.full(24, 0.3)).reshape(sizes) * total
    sets = [((0,), (0, 1), (1, 2), (2, 3)), ((0, 1), (1, 2), (0, 2)), ((0, 1, 2), (3,)), ((1, 3), (0, 3), (0, 1))][
        trial
    ]
    measured = []
    for axes in sets:
        variance = float(numbers.choice([4.0, 25.0]))
        exact = summed(truth, axes)
        measured.append(NoisyMarginal(axes, exact + numbers.normal(size=exact.shape) * math.sqrt(variance), variance))

    def loss(joint: Floats) -> float:
        return sum(float(((summed(joint, m.axes) - m.values) ** 2 / m.variance).sum()) for m in measured)

    heavy = 1e4
    matrix = np.vstack([matrix_of(sizes, m.axes) / np.sqrt(np.ravel(m.variance))[:, None] for m in measured])
    target = np.concatenate([m.values.ravel() / np.sqrt(np.ravel(m.variance)) for m in measured])
    cells, _ = nnls(np.vstack([matrix, np.full((1, 24), heavy)]), np.append(target, heavy * total))
    best = loss(cells.reshape(sizes))
    fit = fit_graphical_model(sizes, measured, total=total, tight=1e-2, loose=1e-2, steps=4000, precision=1e-5)
    found = loss(joint_of(sizes, fit.potentials) * total)
    assert best <= found + 1e-6
    assert found <= best * 1.01 + 0.1


def test_the_fit_is_the_minimum_of_its_stated_objective() -> None:
    """No law nearby is better: against steps in random directions that keep the total."""
    numbers = np.random.default_rng()
    sizes, total, weights = (2, 3, 2), 300.0, (0.5, 0.25)
    sets = [(0,), (0, 1), (1, 2), (0, 2)]
    measured = [NoisyMarginal(axes, numbers.normal(60, 30, size=[sizes[a] for a in axes]), 16.0) for axes in sets]
    fit = fit_graphical_model(
        sizes, measured, total=total, tight=weights[0], loose=weights[1], steps=3000, precision=1e-6
    )

    def objective(joint: Floats) -> float:
        loss = -total * float(-(joint * np.log(joint)).sum())
        for one in measured:
            # A shift of all cells of a measurement alike makes no difference between laws of one total.
            gap = total * summed(joint, one.axes) - one.values
            gap = gap - gap.mean()
            loss += float((gap**2).sum()) / (2 * weights[len(one.axes) > 1] * 4.0)
        return loss

    joint = joint_of(sizes, fit.potentials)
    here = objective(joint)
    for _ in range(200):
        tilted = joint * np.exp(numbers.normal(size=sizes) * 10 ** numbers.uniform(-4, 0))
        assert objective(tilted / tilted.sum()) >= here - 1e-3


def test_a_tree_that_is_measured_exactly_has_a_closed_form() -> None:
    """The law of a chain is the product of its pairs over what they share."""
    numbers = np.random.default_rng(5)
    sizes, total = (3, 4, 2), 10_000.0
    joint = numbers.dirichlet(np.ones(24)).reshape(sizes)
    pairs = {axes: summed(joint, axes) for axes in [(0, 1), (1, 2)]}
    chain = pairs[0, 1][:, :, None] * pairs[1, 2][None] / summed(joint, (1,))[None, :, None]
    measured = [NoisyMarginal(axes, table * total, 1e-4) for axes, table in pairs.items()]
    law = fit_graphical_model(sizes, measured, loose=1e-2, steps=3000, precision=1e-6).calibrated()
    assert law.marginal((0, 1, 2)) == pytest.approx(chain, abs=1e-6)
    # What was never measured is independent and uniform.
    wider = fit_graphical_model((*sizes, 5), measured, loose=1e-2, steps=3000, precision=1e-6).calibrated()
    assert wider.marginal((0, 3)) == pytest.approx(np.outer(summed(joint, (0,)), np.full(5, 0.2)), abs=1e-6)


def test_a_start_changes_nothing_but_the_time() -> None:
    numbers = np.random.default_rng(1)
    sizes = (3, 3, 3)
    measured = [NoisyMarginal(axes, numbers.normal(50, 20, size=(3, 3)), 9.0) for axes in [(0, 1), (1, 2), (0, 2)]]
    cold = fit_graphical_model(sizes, measured, steps=2000, precision=1e-6)
    first = fit_graphical_model(sizes, measured[:2], steps=2000, precision=1e-6)
    warm = fit_graphical_model(sizes, measured, start=first.potentials, steps=2000, precision=1e-6)
    for axes in [(0, 1), (0, 2), (0, 1, 2)]:
        here, there = cold.calibrated().marginal(axes), warm.calibrated().marginal(axes)
        assert here == pytest.approx(there, abs=1e-6)


def test_the_same_measurements_give_the_same_bits() -> None:
    measured = [NoisyMarginal((0, 1), np.arange(6.0).reshape(2, 3), 1.0), NoisyMarginal((1,), np.ones(3), 2.0)]
    one, other = (fit_graphical_model((2, 3), measured) for _ in range(2))
    assert all(np.array_equal(one.potentials[axes], other.potentials[axes]) for axes in one.potentials)


def test_totals_are_weighed_by_their_variance() -> None:
    """Of k cells of variance v the total has variance k v: the precise one of few cells counts most."""
    measured = [NoisyMarginal((0,), np.full(4, 25.0), 2.0), NoisyMarginal((), np.array(90.0), 8.0 / 3)]
    assert estimated_total(measured) == pytest.approx((100 / 8 + 90 * 3 / 8) / (1 / 8 + 3 / 8))
    assert estimated_total([]) == 0
    uneven = NoisyMarginal((0,), np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    assert estimated_total([uneven, NoisyMarginal((), np.array(7.0), 4.0)]) == pytest.approx(5.0)


@pytest.mark.parametrize("values", [np.zeros(3), np.full(3, -5.0), np.full(3, 1e15), np.array([-1e9, 1e9, 0.0])])
def test_no_measurement_is_too_odd(values: Floats) -> None:
    fit = fit_graphical_model((3, 2), [NoisyMarginal((0,), values, 1.0)])
    law = fit.calibrated().marginal((0, 1))
    assert fit.total >= 0
    assert np.isfinite(law).all()
    assert law.sum() == pytest.approx(1)


def test_repeated_measurements_count_as_their_mean() -> None:
    numbers = np.random.default_rng(2)
    tables = numbers.normal(40, 10, size=(2, 3, 2))
    twice = [NoisyMarginal((0, 1), tables[0], 4.0), NoisyMarginal((0, 1), tables[1], 12.0)]
    once = NoisyMarginal((0, 1), (3 * tables[0] + tables[1]) / 4, 3.0)
    here = fit_graphical_model((3, 2), twice, total=240.0, steps=2000, precision=1e-6).calibrated().marginal((0, 1))
    there = fit_graphical_model((3, 2), [once], total=240.0, steps=2000, precision=1e-6).calibrated().marginal((0, 1))
    assert here == pytest.approx(there, abs=1e-9)


def test_bad_measurements_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="axes"):
        NoisyMarginal((1, 0), np.zeros((2, 2)), 1.0)
    with pytest.raises(InvalidParameter, match="finite"):
        NoisyMarginal((0,), np.array([np.nan, 1.0]), 1.0)
    with pytest.raises(InvalidParameter, match="variance"):
        NoisyMarginal((0,), np.zeros(2), 0.0)
    with pytest.raises(InvalidParameter, match="measured"):
        fit_graphical_model((2, 2), [NoisyMarginal((0,), np.zeros(3), 1.0)])
    with pytest.raises(InvalidParameter, match="cells"):
        fit_graphical_model((10**5, 10**5), [_Huge()], total=1.0)
    with pytest.raises(InvalidParameter, match="one clique"):
        Calibrated(junction_tree((2, 2), [(0,)]), {(0, 1): np.zeros((2, 2))})


class _Huge(NoisyMarginal):
    """Claims to be a table that nobody could hold."""

    def __init__(self) -> None:
        object.__setattr__(self, "axes", (0, 1))
        object.__setattr__(self, "values", np.broadcast_to(0.0, (10**5, 10**5)))
        object.__setattr__(self, "variance", np.broadcast_to(1.0, (1, 1)))
