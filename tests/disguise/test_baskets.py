"""Baskets of labels are k^m-anonymous by the definition, and labels are whole subtrees of the hierarchy."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from dither.disguise import Hierarchy
from dither.disguise.baskets import Apriori
from dither.errors import InvalidParameter

ITEMS = [f"{first}{second}" for first in "abc" for second in "123"]
TREE = Hierarchy.masks(ITEMS)


def drawn(count: int) -> list[set[str]]:
    numbers = np.random.default_rng()
    return [set(numbers.choice(ITEMS, int(numbers.integers(0, 5))).tolist()) for _ in range(count)]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_few_known_items_are_in_k_baskets_or_in_none(m: int) -> None:
    for _ in range(4):
        baskets = [*drawn(24), *({"a1"} for _ in range(3))]
        made = Apriori(3, m, TREE).apply(baskets)
        labels = sorted(set().union(*made.baskets))
        for size in range(1, m + 1):
            for some in itertools.combinations(labels, size):
                assert sum(set(some) <= basket for basket in made.baskets) not in (1, 2)
        for before, after in zip(baskets, made.baskets, strict=True):
            assert {made.labels[item] for item in before} == after
        for item, label in made.labels.items():
            lines = {other: [TREE.label(other, level) for level in range(3)] for other in made.labels}
            assert label in lines[item]
            assert all(made.labels[other] == label for other in lines if label in lines[other])
        assert 0 <= made.penalty <= 1
        assert json.loads(made.to_json())["smallest"] >= 3


def test_frequent_items_stay() -> None:
    made = Apriori(2, 2).apply([{"x", "y"}, {"x", "y"}, {"x"}])
    assert made.labels == {"x": "x", "y": "y"}
    assert made.penalty == 0


def test_what_cannot_be_made_is_refused() -> None:
    for call, match in (
        (lambda: Apriori(0), "k"),
        (lambda: Apriori(2, 0), "m"),
        (lambda: Apriori(3).apply([{"x"}, set(), {"x"}]), "baskets with items, 2"),
        (lambda: Apriori(1).apply([]), "one or more"),
        (lambda: Apriori(1, 1, TREE).apply([{"zz"}]), "has a line for"),
    ):
        with pytest.raises(InvalidParameter, match=match):
            call()
