"""Methods that mine itemsets: the truth with a budget without end, prices, replay on neighbours, odd settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.learn.itemsets import (
    BestFirstItemsets,
    BinaryEstimation,
    Itemsets,
    Miner,
    PatternSampling,
    PrivateTree,
    PrivBasis,
    Transactions,
    TruncatedApriori,
    TruncatedFrequency,
)
from dither.learn.itemsets.common import ItemsetMethod
from dither.learn.itemsets.fp_tree import forest
from dither.learn.itemsets.truncated_apriori import hashed_order, truncated
from dither.learn.itemsets.universe import Itemset
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import replay

ITEMS, CHOSEN, LONGEST = 8, 12, 3
METHODS: dict[str, Callable[..., ItemsetMethod]] = {
    "best first": BestFirstItemsets.calibrated,
    "basis": PrivBasis.calibrated,
    "bases": lambda target, **given: PrivBasis.calibrated(target, widest=3, **given),
    "binary": lambda target, **given: BinaryEstimation.calibrated(target, threshold=40, **given),
    "apriori": lambda target, **given: TruncatedApriori.calibrated(target, limit=8, **given),
    "apriori, paid limit": lambda target, **given: TruncatedApriori.calibrated(target, tallest=8, **given),
    "truncated frequency": TruncatedFrequency.calibrated,
    "tree": PrivateTree.calibrated,
    "trees": lambda target, **given: PrivateTree.calibrated(target, deepest=2, **given),
    "tree, sparse vector": lambda target, **given: PrivateTree.calibrated(target, threshold=40, **given),
    "sampling": PatternSampling.calibrated,
}


def baskets(seed: int, count: int) -> list[list[int]]:
    """Return baskets whose best sets differ clearly in support."""
    numbers = np.random.default_rng(seed)
    shares = np.array([0.9, 0.75, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05])
    return [np.flatnonzero(numbers.random(ITEMS) < shares).tolist() for _ in range(count)]


def supports(rows: list[list[int]], longest: int = LONGEST) -> dict[Itemset, int]:
    """Return the support of every set, by brute force."""
    every = [itemset for size in range(1, longest + 1) for itemset in combinations(range(ITEMS), size)]
    return {itemset: sum(set(itemset) <= set(row) for row in rows) for itemset in every}


def run(method: ItemsetMethod, data: Any) -> Itemsets:
    return release(method, data, budget=Budget(epsilon=10**9, delta="0.5", unit=ROW)).value


@pytest.mark.parametrize("target", [PureDP(10**5), ZCDP(10**5)], ids=["pure", "rho"])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.statistical(false_alarm=1e-9, catches="a wrong count, a wrong candidate, a set left out")
def test_with_all_the_budget_in_the_world_the_best_sets_are_found(name: str, target: Loss) -> None:
    """A choice has scale below 1/100 and noise one below 1/20, so all is exact but for far less than e^-30."""
    rows = baskets(3, 300)
    truth = supports(rows)
    found = run(METHODS[name](target, items=ITEMS, chosen=CHOSEN, longest=LONGEST), rows)
    by_rank = sorted(truth.values(), reverse=True)
    known = dict(zip(found.sets, found.supports, strict=True))
    if name == "binary":
        # Up to so many sets of each size, all those above the threshold.
        sizes = [[s for s in truth if len(s) == size and truth[s] >= 40] for size in range(1, LONGEST + 1)]
        wanted = [s for sets in sizes for s in sorted(sets, key=lambda s: -truth[s])[:CHOSEN]]
        assert sorted(truth[s] for s in found.sets) == sorted(truth[s] for s in wanted)
    elif name == "tree, sparse vector":
        # The first positives in the order of the questions: items above the threshold, then their pairs.
        assert len(found) == CHOSEN
        assert min(truth[s] for s in found.sets) >= 40
        assert {s for s in truth if len(s) == 1 and truth[s] >= 40} <= set(found.sets)
    elif name == "apriori, paid limit":
        # Some transactions are cut: no support is above the truth.
        assert len(found) == CHOSEN
        assert all(known[s] <= truth[s] for s in known)
        assert (0,) in known
        return
    elif name == "bases":
        # Bases of three items hold every chosen item and pair, but not every triple.
        best = [s for s in truth if truth[s] >= by_rank[CHOSEN - 1]]
        assert len(found) == CHOSEN
        assert {s for s in best if len(s) < 3} <= set(found.sets)
    else:
        assert [truth[s] for s in found.sets] == by_rank[:CHOSEN]
    assert known == {s: truth[s] for s in known}
    assert list(found.supports) == sorted(found.supports, reverse=True)


@pytest.mark.parametrize("name", METHODS)
def test_the_price_is_within_the_target(name: str) -> None:
    for target in (PureDP(1), ZCDP("0.1"), ApproxDP(1, "1e-9")):
        price = METHODS[name](target, items=50, chosen=20, longest=2).loss(1)
        if isinstance(target, ApproxDP):
            assert 0.95 < price.to_approx("1e-9").epsilon <= 1
        else:
            assert price <= target
            assert price.pure == 1 or price.rho > target.rho * 99 / 100


@pytest.mark.parametrize("name", METHODS)
def test_neighbours_take_the_same_path(name: str) -> None:
    """On frozen draws a transaction more or less, short or of all items, moves no value farther than was declared."""
    rows = baskets(11, 40)
    for target in (PureDP(3), ZCDP("0.5")):
        method = METHODS[name](target, items=ITEMS, chosen=5, longest=LONGEST)
        for neighbour in ([*rows, list(range(ITEMS))], rows[1:], [*rows, []], [*rows, [7]]):
            assert replay(method, rows, neighbour) == []
        assert replay(method, [], [list(range(ITEMS))]) == []


@pytest.mark.parametrize("name", METHODS)
def test_more_sets_than_there_are(name: str) -> None:
    method = METHODS[name](PureDP(1), items=2, chosen=50, longest=9)
    found = run(method, [[0, 1], [1]])
    assert set(found.sets) <= {(0,), (1,), (0, 1)}
    assert len(set(found.sets)) == len(found)
    if name in ("best first", "truncated frequency", "tree", "sampling"):
        assert len(found) == len(run(method, Transactions.of(2, []))) == 3


def test_a_set_is_chosen_after_its_parts() -> None:
    rows = baskets(1, 50)
    for _ in range(20):
        found = set(run(BestFirstItemsets(items=ITEMS, chosen=15, longest=3, budget=PureDP("0.01")), rows).sets)
        assert len(found) == 15
        assert all(part in found for s in found if len(s) > 1 for part in combinations(s, len(s) - 1))


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_truncation_bounds_what_one_transaction_moves(limit: int) -> None:
    """Cut to l items a transaction is in at most C(l, i) sets of i, and cutting depends on no other transaction."""
    rows = [*baskets(5, 30), list(range(ITEMS))]
    for size in (1, 2, 3):
        every = list(combinations(range(ITEMS), size))
        for gone in range(len(rows)):
            changes = []
            for given in (rows, [*rows[:gone], *rows[gone + 1 :]]):
                data = Transactions.of(ITEMS, given)
                short = truncated(data, limit, hashed_order(data))
                assert short.lengths.max() <= limit
                assert (short.lengths == np.minimum(data.lengths, limit)).all()
                changes.append(Miner(short).supports(every))
            assert np.abs(changes[0] - changes[1]).sum() <= math.comb(limit, size)


def test_truncation_keeps_what_comes_first_in_the_order() -> None:
    data = Transactions.of(6, [[0, 3, 5], [1, 2], [4]])
    order = np.array([5, 4, 3, 2, 1, 0])[data.values]
    assert truncated(data, 1, order).values.tolist() == [5, 2, 4]
    assert truncated(data, 2, order).values.tolist() == [3, 5, 1, 2, 4]


def test_hashed_truncation_prefers_no_item() -> None:
    """Of 2000 different transactions of 20 items each, cut to half, every item survives in about half of its own."""
    numbers = np.random.default_rng(0)
    data = Transactions.of(60, [numbers.choice(60, 20, replace=False).tolist() for _ in range(2000)])
    kept = np.bincount(truncated(data, 10, hashed_order(data)).values, minlength=60)
    shares = kept / np.bincount(data.values, minlength=60)
    assert 0.4 < shares.min() < shares.max() < 0.6


def test_the_sparse_vector_takes_the_epsilon_of_a_target() -> None:
    given: dict[str, Any] = {"items": 9, "chosen": 3}
    assert PrivateTree.calibrated(ApproxDP(1, "1e-9"), threshold=5, **given).loss(1) <= PureDP(1)
    assert PrivateTree.calibrated(ApproxDP(1, "1e-9"), **given).loss(1).pure is None
    stated = ZCDP("0.02")
    assert PrivateTree.calibrated(stated, threshold=5, **given).loss(1) <= stated


def test_items_that_hang_together_make_a_tree() -> None:
    assert forest([(0, 1), (2,), (1, 3), (4, 5)], 3) == ([(0, 1, 3), (2,), (4, 5)], [])
    assert forest([(0, 1), (2,), (1, 3), (4, 5)], 2) == ([(2,), (4, 5)], [(0, 1), (1, 3)])
    assert forest([], 3) == ([], [])


def test_parameters_that_do_not_fit_each_other_are_refused_by_name() -> None:
    good: dict[str, Any] = {"items": 5, "chosen": 2, "budget": PureDP(1)}
    with pytest.raises(InvalidParameter, match="counting"):
        BestFirstItemsets(**good, counting=1)
    with pytest.raises(InvalidParameter, match="longest"):
        PatternSampling(**(good | {"items": 10_000}), longest=2)
    with pytest.raises(InvalidParameter, match="items"):
        TruncatedApriori(**(good | {"items": 2**21}))
    with pytest.raises(InvalidParameter, match="longest"):
        TruncatedFrequency(**(good | {"items": 2**24}), longest=32)
