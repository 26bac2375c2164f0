"""Transactions: read one by one whatever they contain, and universes of sets numbered without gaps."""

from __future__ import annotations

import itertools
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, InvalidValue
from dither.learn.itemsets import Transactions
from dither.learn.itemsets.transactions import MOST_ITEMS
from dither.learn.itemsets.universe import Universe

ROWS: list[Any] = [[3, 1, 1], (0,), set(), frozenset({2, 3}), [7, -1, 2]]
ODD: dict[str, Any] = {
    "float": [1.0, 2],
    "text": "12",
    "texts": ["1"],
    "none": None,
    "number": 2,
    "huge": [2**70, 1],
    "huge beside small": [2**63, -1, 0],
    "bools": [True, False],
    "nested": [[1], [2, 3]],
    "dictionary": {1: 2},
    "unsigned": np.array([1, 2], dtype=np.uint64),
    "duration": [np.timedelta64(1, "s"), 2],
    "zero dimensions": [np.array(2), 1],
    "array of no dimension": np.array(3),
    "table": np.ones((2, 2), dtype=np.int64),
    "object": object(),
}


def plain(data: Transactions) -> list[list[int]]:
    return [piece.tolist() for piece in np.split(data.values, data.offsets[1:-1])]


def test_items_are_sorted_distinct_and_of_the_universe() -> None:
    assert plain(Transactions.of(4, ROWS)) == [[1, 3], [0], [], [2, 3], [2]]
    assert Transactions.of(4, ROWS).lengths.tolist() == [2, 1, 0, 2, 1]
    assert len(Transactions.of(4, [])) == 0


@pytest.mark.parametrize("name", ODD)
def test_no_content_of_one_transaction_changes_another(name: str) -> None:
    """Otherwise one odd transaction more would move supports by more than 1."""
    alone, beside = plain(Transactions.of(4, ROWS)), plain(Transactions.of(4, [*ROWS, ODD[name]]))
    assert beside[:-1] == alone
    assert plain(Transactions.of(4, [ODD[name]])) == beside[-1:]


def test_what_is_a_whole_number_in_any_dress_is_an_item() -> None:
    read = {name: plain(Transactions.of(4, [ODD[name]]))[0] for name in ODD}
    assert read["number"] == [2]
    assert read["float"] == [2]
    assert read["bools"] == [0, 1]
    assert read["unsigned"] == [1, 2]
    assert read["huge"] == [1]
    assert read["duration"] == [2]
    assert read["text"] == read["none"] == read["object"] == []


@pytest.mark.parametrize("data", [None, 3, "rows", {0: [1]}, np.ones((2, 2))], ids=lambda data: type(data).__name__)
def test_other_collections_are_refused_by_type(data: Any) -> None:
    with pytest.raises(InvalidValue):
        Transactions.of(4, data)


def test_universes_must_agree() -> None:
    with pytest.raises(InvalidParameter, match="items"):
        Transactions.of(5, Transactions.of(4, ROWS))
    with pytest.raises(InvalidParameter, match="items"):
        Transactions.of(MOST_ITEMS + 1, ROWS)


def test_items_by_name() -> None:
    rows: list[Any] = [["milk", "tea", "milk"], [], ["fish", 7, None, []], {"jam"}, "tea", None, 3]
    assert plain(Transactions.named(["tea", "milk", "jam"], rows)) == [[0, 1], [], [], [2], [0], [], []]
    with pytest.raises(InvalidParameter, match="names"):
        Transactions.named(["tea", "tea"], rows)


def test_items_are_renumbered_by_their_place() -> None:
    assert plain(Transactions.of(4, ROWS).restricted(np.array([3, 1]))) == [[0, 1], [], [], [0], []]


@pytest.mark.parametrize(("items", "longest"), [(1, 1), (5, 2), (6, 3), (4, 9)])
def test_every_set_has_one_number(items: int, longest: int) -> None:
    universe = Universe(items, longest)
    every = [itemset for size in range(1, min(longest, items) + 1) for itemset in combinations(range(items), size)]
    assert sorted(map(universe.rank, every)) == list(range(len(every))) == list(range(universe.size))
    assert [universe.itemset(rank) for rank in range(universe.size)] == universe.listed()
    assert all(universe.itemset(universe.rank(itemset)) == itemset for itemset in every)


def test_numbers_of_sets_beyond_any_list() -> None:
    universe = Universe(10**6, 8)
    last = tuple(range(10**6 - 8, 10**6))
    assert universe.rank(last) == universe.size - 1
    assert universe.itemset(universe.size - 1) == last
    with pytest.raises(InvalidParameter, match="longest"):
        Universe(2**24, 32).check()


def test_arrays_made_by_hand_are_read_like_lists() -> None:
    # Would catch: an item that stands three times in one transaction and is counted three times, at the price of once.
    def by_hand(values: list[int], offsets: list[int]) -> Transactions:
        return Transactions(4, np.array(values, dtype=np.int64), np.array(offsets, dtype=np.int64))

    for values, offsets in (([2, 2, 2], [0, 3]), ([3, 1, -5, 9, 1, 0], [0, 0, 4, 6]), ([], [0]), ([0, 1], [0, 2, 2])):
        read = Transactions.of(4, by_hand(values, offsets))
        told = Transactions.of(4, [values[start:end] for start, end in itertools.pairwise(offsets)])
        assert (read.values.tolist(), read.offsets.tolist()) == (told.values.tolist(), told.offsets.tolist())
    tidy = Transactions.of(4, [[2, 0], [1]])
    assert Transactions.of(4, tidy) is tidy
    for values, offsets in (([0, 1], [0, 3]), ([0, 1], [1, 2]), ([0, 1], [0, 2, 1, 2]), ([0], [])):
        with pytest.raises(InvalidValue, match="offsets that divide"):
            Transactions.of(4, by_hand(values, offsets))
