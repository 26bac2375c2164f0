"""MST: the tree against brute force, what is known in closed form without noise, prices, limits, odd data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from dither import Budget, release
from dither.lift.attributes import Attributes
from dither.mechanisms import Geometric
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP
from dither.publish.synthetic import GraphicalModel, MaximumSpanningTree

NAMES = Attributes.of({"a": 3, "b": 3, "c": 2, "d": 4, "e": 2})


def branching(rows: int, seed: int) -> NDArray[np.int64]:
    """Return records of a tree: b and c hang on a, d on b, and e on nothing."""
    numbers = np.random.default_rng(seed)
    a = numbers.integers(0, 3, rows)
    b = np.where(numbers.random(rows) < 0.8, a, numbers.integers(0, 3, rows))
    c = np.where(numbers.random(rows) < 0.7, a % 2, numbers.integers(0, 2, rows))
    d = np.where(numbers.random(rows) < 0.9, b, numbers.integers(0, 4, rows))
    return np.stack([a, b, c, d, numbers.integers(0, 2, rows)], axis=1)


def run(method: MaximumSpanningTree, data: NDArray[np.int64]) -> GraphicalModel:
    budget = Budget(epsilon=10**9, delta="0.5", unit=ROW)
    return release(method, data, budget=budget).value


def chosen_pairs(model: GraphicalModel) -> set[tuple[int, ...]]:
    return {axes for axes in model.potentials if len(axes) == 2}


@pytest.mark.statistical(false_alarm=1e-9)
def test_with_all_the_budget_in_the_world_the_tree_is_the_best_one() -> None:
    """Against all spanning trees, by the sum of L1 distances; noise of scale below 1/10^4 is 0 but for e^-1000."""
    data = branching(2000, 3)
    codes, count = NAMES.codes(data), NAMES.count
    singles = [count(codes, (axis,)) / 2000 for axis in range(5)]
    far = {}
    for i, j in itertools.combinations(range(5), 2):
        far[i, j] = np.abs(count(codes, (i, j)) - 2000 * np.outer(singles[i], singles[j])).sum()
    trees = [edges for edges in itertools.combinations(far, 4) if _spans(edges)]
    best = max(trees, key=lambda edges: sum(far[edge] for edge in edges))
    model = run(MaximumSpanningTree.calibrated(PureDP(10**6), attributes=NAMES), data)
    assert chosen_pairs(model) == set(best)
    for edge in best:
        assert model.table(edge) == pytest.approx(count(codes, edge), abs=1.0)
    assert model.total == pytest.approx(2000, abs=0.5)
    # What the tree says of a pair outside it: c and d depend on each other through a and b alone.
    a_b, a_c, b_d = model.table((0, 1)), model.table((0, 2)), model.table((1, 3))
    chain = np.einsum("ab,ac,bd->cd", a_b, a_c / singles[0][:, None] / 2000, b_d / b_d.sum(axis=1, keepdims=True))
    assert model.table((2, 3)) == pytest.approx(chain, abs=1.0)


def _spans(edges: tuple[tuple[int, int], ...]) -> bool:
    parts = list(range(5))
    for i, j in edges:
        parts = [parts[i] if part == parts[j] else part for part in parts]
    return len(set(parts)) == 1


@pytest.mark.parametrize("target", [PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-9")])
def test_the_price_is_within_the_target_and_used_up(target: Loss) -> None:
    method = MaximumSpanningTree.calibrated(target, attributes=NAMES)
    price = method.loss(1)
    if isinstance(target, ApproxDP):
        assert price.to_approx("1e-9").epsilon <= 1
        assert price.to_approx("1e-9").epsilon > 0.999
    else:
        assert price <= target
        assert price.rho > target.rho * 999 / 1000 or price.pure == 1


def test_a_small_limit_gives_a_forest_and_never_fails() -> None:
    data = branching(200, 4)
    for limit, most in [(1, 0), (6, 1), (13, 2), (10**6, 4)]:
        method = MaximumSpanningTree(
            attributes=NAMES, single=Geometric(scale="0.01"), choice=1, pair=Geometric(scale=1), largest_model=limit
        )
        model = run(method, data)
        pairs = chosen_pairs(model)
        assert len(pairs) <= most
        assert sum(model.merging.sizes[i] * model.merging.sizes[j] for i, j in pairs) <= limit


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_records(rows: int) -> None:
    model = run(MaximumSpanningTree.calibrated(ApproxDP(1, "1e-6"), attributes=NAMES), branching(rows, 5))
    assert model.total >= 0
    assert model.sample(10).shape == (10, 5)


def test_one_attribute_and_constant_columns() -> None:
    alone = Attributes.of({"a": 3})
    model = run(MaximumSpanningTree.calibrated(PureDP(100), attributes=alone), np.full((50, 1), 2))
    assert model.table((0,)).argmax() == 2
    constant = Attributes.of({"a": 1, "b": 1, "c": 2})
    model = run(MaximumSpanningTree.calibrated(PureDP(100), attributes=constant), np.zeros((50, 3), dtype=int))
    assert model.sample(5).shape == (5, 3)


def test_many_attributes() -> None:
    table = Attributes(tuple(f"x{number}" for number in range(24)), (2,) * 24)
    rows = np.random.default_rng(6).integers(0, 2, size=(300, 1)) * np.ones((1, 24), dtype=np.int64)
    model = run(MaximumSpanningTree.calibrated(ZCDP(1000), attributes=table), rows)
    assert len(chosen_pairs(model)) == 23
    drawn = model.sample(300)
    assert (drawn == drawn[:, :1]).mean() > 0.9


def test_pairs_too_large_to_be_counted_are_no_candidates() -> None:
    table = Attributes.of({"key": 10**5, "other": 10**5, "a": 2, "b": 2})
    rows = np.random.default_rng(7).integers(0, 2, size=(100, 1)) * np.array([[99_999, 5, 1, 1]])
    method = MaximumSpanningTree(
        attributes=table, single=Geometric(scale="0.01"), choice=1, pair=Geometric(scale=1), largest_model=10**5
    )
    model = run(method, rows)
    assert (0, 1) not in model.potentials
    assert len(chosen_pairs(model)) == 3
