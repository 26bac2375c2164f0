"""Exact supports against brute force over all subsets, on many small collections."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dither.learn.itemsets import Itemsets, Miner, Transactions
from dither.learn.itemsets.bases import bases_of, maximal_cliques
from dither.learn.itemsets.best_first import successors
from dither.learn.itemsets.candidates import joined
from dither.learn.itemsets.patterns import superset_sums, supports_of
from dither.learn.itemsets.universe import Itemset, Universe

ITEMS = 7


def baskets(seed: int, count: int = 90) -> list[list[int]]:
    numbers = np.random.default_rng(seed)
    shares = numbers.random(ITEMS)
    return [np.flatnonzero(numbers.random(ITEMS) < shares).tolist() for _ in range(count)]


def support(itemset: Itemset, rows: list[list[int]]) -> int:
    return sum(set(itemset) <= set(row) for row in rows)


def every(longest: int) -> list[Itemset]:
    return [itemset for size in range(1, longest + 1) for itemset in combinations(range(ITEMS), size)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("longest", [1, 2, 4])
def test_the_best_sets_are_those_of_brute_force(seed: int, longest: int) -> None:
    rows = baskets(seed)
    miner = Miner(Transactions.of(ITEMS, rows))
    truth = sorted((support(itemset, rows) for itemset in every(longest)), reverse=True)
    for count in (1, 3, 10, 500):
        found = miner.top(count, longest)
        assert [amount for _, amount in found] == [amount for amount in truth[:count] if amount > 0]
        assert all(support(itemset, rows) == amount for itemset, amount in found)
        assert len({itemset for itemset, _ in found}) == len(found)
    assert all(amount > 20 for _, amount in miner.top(500, longest, least=20))
    assert len(miner.top(500, longest, least=20)) == sum(amount > 20 for amount in truth)


@pytest.mark.parametrize("seed", range(3))
def test_supports_pairs_patterns_and_lists(seed: int) -> None:
    rows = baskets(seed, count=70)
    miner, universe = Miner(Transactions.of(ITEMS, rows)), Universe(ITEMS, 3)
    truth = [support(itemset, rows) for itemset in universe.listed()]
    assert miner.supports(universe.listed()).tolist() == truth
    assert miner.every(universe).tolist() == truth
    assert miner.every(Universe(ITEMS, 2)).tolist() == truth[: Universe(ITEMS, 2).size]
    some = np.array([5, 0, 3])
    table = miner.pair_counts(some)
    assert [table[0, 1], table[0, 2], table[1, 2]] == [support(pair, rows) for pair in ((0, 5), (3, 5), (0, 3))]
    patterns = miner.patterns((5, 0, 3))
    for mask in range(8):
        wanted = {item for place, item in enumerate((5, 0, 3)) if mask >> place & 1}
        assert patterns[mask] == sum(set(row) & {5, 0, 3} == wanted for row in rows)


def test_nothing_is_found_in_nothing() -> None:
    for rows in ([], [[]], [[], []]):
        miner = Miner(Transactions.of(3, rows))
        assert miner.top(5, 3) == []
        assert miner.supports([(0,), (0, 2)]).tolist() == [0, 0]
        assert miner.every(Universe(3, 3)).tolist() == [0] * 7
        assert miner.patterns((0, 1)).tolist() == [len(rows), 0, 0, 0]


def test_patterns_add_up_to_supports() -> None:
    rows = baskets(5)
    miner = Miner(Transactions.of(ITEMS, rows))
    assert superset_sums(miner.patterns((1, 4)).astype(float)).tolist() == [
        len(rows),
        *(support(itemset, rows) for itemset in ((1,), (4,), (1, 4))),
    ]
    groups = [(0, 1, 2), (2, 3)]
    found = supports_of(groups, [miner.patterns(group).astype(float) for group in groups], longest=2)
    assert set(found) == {*combinations((0, 1, 2), 2), (2, 3), *((item,) for item in range(4))}
    assert all(value == support(itemset, rows) for itemset, (value, _) in found.items())
    # The item 2 is the sum of 4 counts in one group and of 2 in the other: 1 / (1/4 + 1/2).
    assert found[(2,)][1] == pytest.approx(4 / 3)


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_the_sets_all_of_whose_parts_were_kept(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    kept = [pair for pair in combinations(range(ITEMS), 2) if numbers.random() < 0.6]
    truth = [triple for triple in combinations(range(ITEMS), 3) if set(combinations(triple, 2)) <= set(kept)]
    assert joined(kept) == truth
    assert joined(kept, 2) == truth[:2]
    singles = [(item,) for item in range(ITEMS)]
    grown = [
        longer
        for number, pair in enumerate(kept)
        for longer in successors(pair, dict.fromkeys([*singles, *kept[: number + 1]]))
    ]
    assert sorted(grown) == truth


def test_cliques_and_bases() -> None:
    numbers = np.random.default_rng(2)
    pairs = [pair for pair in combinations(range(8), 2) if numbers.random() < 0.5]
    cliques = {
        frozenset(group)
        for size in range(1, 9)
        for group in combinations(range(8), size)
        if set(combinations(group, 2)) <= set(pairs)
    }
    truth = {clique for clique in cliques if not any(clique < other for other in cliques)}
    assert set(maximal_cliques(range(8), pairs)) == truth
    for power in (1, 2):
        bases = bases_of(range(8), pairs, 5, power=power)
        assert all(any(set(pair) <= set(base) for base in bases) for pair in pairs)
        assert set().union(*bases) == set(range(8))
        assert all(len(base) <= 5 for base in bases)
        narrow = bases_of(range(8), list(combinations(range(8), 2)), 3, power=power)
        assert max(map(len, narrow)) <= 3
        assert all(any(set(pair) <= set(base) for base in narrow) for pair in combinations(range(8), 2))
        assert all(len(base) == 1 for base in bases_of(range(8), pairs, 1, power=power))


def test_no_set_has_more_support_than_its_parts() -> None:
    found = Itemsets(((0, 1), (0,), (1,), (0, 1, 2)), (9.0, 7.0, 5.0, 6.0)).consistent()
    assert dict(zip(found.sets, found.supports, strict=True)) == {(0,): 7.0, (1,): 5.0, (0, 1): 5.0, (0, 1, 2): 5.0}
    assert found.sets[0] == (0,)
