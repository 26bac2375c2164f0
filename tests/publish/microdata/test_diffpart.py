"""DiffPart: the book's transactions, a slow twin, disjoint groups, and the budget along every path."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.mechanisms.filtered_counts import FilteredCounts, chance_of_passing
from dither.privacy import ROW, ZCDP, PureDP
from dither.publish.microdata import DiffPart, ItemSets, Taxonomy
from dither.testing.replay import record

#: Table 5.6 of the book: which of four items each of eight transactions has.
BOOK = np.array(
    [[1, 1, 1, 1], [0, 1, 0, 1], [0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 1]]
)
PAIRS = Taxonomy.of({"I12": ["I1", "I2"], "I34": ["I3", "I4"]})
UNEVEN = Taxonomy.of({"x": {"y": ["a", "b"], "c": []}, "z": ["d", "e", "f"], "g": []})


def released(method: DiffPart, rows: Any) -> ItemSets:
    return release(method, rows, budget=Budget(epsilon=10**6, unit=ROW)).value


def twin(rows: np.ndarray) -> Counter[tuple[int, ...]]:
    """How often each set occurs, by looking at every transaction."""
    sets = (tuple(np.flatnonzero(row > 0).tolist()) for row in rows)
    return Counter(items for items in sets if items)


@pytest.mark.statistical(n=1, false_alarm=1e-40, catches="a set that is lost, or counted in two groups")
@pytest.mark.parametrize("width", [1, 9, 2**12])
def test_the_books_transactions_without_noise(width: int) -> None:
    """Noise of scale 1/300 at most on fewer than 100 groups."""
    found = released(DiffPart(taxonomy=PAIRS, budget=PureDP(2000), width=width), BOOK)
    assert Counter(dict(zip(found.sets, found.counts, strict=True))) == twin(BOOK)
    assert found.support(["I2"]) == 7
    assert found.support(["I3", "I4"]) == 3
    assert sorted(found.records().tolist()) == sorted(BOOK.tolist())


@pytest.mark.statistical(n=30, false_alarm=1e-40, catches="wrong places of children in a group's number")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2**7 - 1), max_size=12), st.sampled_from([1, 7, 50, 2**12]))
def test_without_noise_it_is_its_slow_twin(numbers: list[int], width: int) -> None:
    rows = np.array([[number >> item & 1 for item in range(7)] for number in numbers], dtype=np.int64).reshape(-1, 7)
    found = released(DiffPart(taxonomy=UNEVEN, budget=PureDP(2000), width=width), rows)
    assert Counter(dict(zip(found.sets, found.counts, strict=True))) == twin(rows)


@pytest.mark.parametrize("width", [1, 7, 2**12])
def test_a_transaction_is_in_one_group_of_every_step_at_most(width: int) -> None:
    """Every draw on one transaction alone counts it once at most, and the draws together cost the budget at most."""
    for number in range(0, 2**7, 5):
        row = np.array([[number >> item & 1 for item in range(7)]])
        method = DiffPart(taxonomy=UNEVEN, budget=PureDP(3), width=width)
        _, tape, _ = record(method, row)
        spent = Fraction(0)
        for event in tape.events:
            assert event.part is not None
            assert event.stability == 1
            spent += event.part.loss(1).epsilon
            counts = event.value.values() if isinstance(event.part, FilteredCounts) else event.value
            assert sum(counts) <= 1
        assert spent <= 3
        assert sum(isinstance(event.part, FilteredCounts) for event in tape.events) <= method.worst_steps((0,))


def test_expected_and_worst_steps_hold_on_every_path() -> None:
    """Along every path of subsets of children: worst steps fall with each step, and are never fewer than expected."""
    for width in (1, 7, 21, 10**4):
        method = DiffPart(taxonomy=UNEVEN, budget=PureDP(1), width=width)
        seen: set[tuple[int, ...]] = set()
        waiting: list[tuple[int, ...]] = [(0,)]
        while waiting:
            cut = waiting.pop()
            if cut in seen or not method.height(cut):
                continue
            seen.add(cut)
            assert 1 <= method.expected_steps(cut) <= method.worst_steps(cut)
            due = method.due(cut)
            rest = [node for node in cut if node not in due]
            for choice in itertools.product(*(subsets(UNEVEN.children(node)) for node in due)):
                after = tuple(sorted([*rest, *(child for chosen in choice for child in chosen)]))
                if method.height(after):
                    assert method.worst_steps(after) < method.worst_steps(cut)
                waiting.append(after)
    assert DiffPart(taxonomy=UNEVEN, budget=PureDP(1)).worst_steps((0,)) == 3


def subsets(children: tuple[int, ...]) -> list[tuple[int, ...]]:
    sizes = range(1, len(children) + 1)
    return [chosen for size in sizes for chosen in itertools.combinations(children, size)]


def test_thresholds_are_the_least_that_keep_empty_groups_rare() -> None:
    method = DiffPart(taxonomy=PAIRS, budget=PureDP(1), false_groups="1/2")
    for cells, scale in ((3, Fraction(2)), (10**6, Fraction(7, 2))):
        threshold = method.threshold(cells, scale)
        assert cells * chance_of_passing(scale, threshold, sampled=False)[1] <= Fraction(1, 2)
        if threshold > 1:
            assert cells * chance_of_passing(scale, threshold - 1, sampled=False)[0] > Fraction(1, 2)


@pytest.mark.statistical(n=300, false_alarm=1e-9, catches="empty groups that are never, or too often, released")
def test_empty_groups_pass_as_noise_has_it() -> None:
    """On no transactions at all the three groups of the first step pass with a known chance each.

    With p = q^t / (1 + q) and n = 300 runs of three cells Hoeffding bounds the mean of 900 coins: off by more than
    0.11 with probability 2 e^(-2 * 900 * 0.11^2) < 7e-10.
    """
    method = DiffPart(taxonomy=Taxonomy.flat(["a", "b"]), budget=PureDP(2))
    none, passed = np.zeros((0, 2), dtype=np.int64), 0
    for _ in range(300):
        _, tape, _ = record(method, none)
        passed += len(tape.events[0].out)
    part = tape.events[0].part
    assert isinstance(part, FilteredCounts)
    low, high = chance_of_passing(part.scale, part.threshold, sampled=False)
    assert float(low) - 0.11 <= passed / 900 <= float(high) + 0.11


def test_prices() -> None:
    assert DiffPart.calibrated(PureDP("1/2"), taxonomy=PAIRS).loss(1) == PureDP("1/2")
    assert DiffPart.calibrated(PureDP("1/2"), taxonomy=PAIRS).loss(4).epsilon == 2
    assert DiffPart.calibrated(ZCDP("0.1"), taxonomy=PAIRS).loss(1) <= ZCDP("0.1")


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"taxonomy": Taxonomy(("alone",), (-1,))}, "taxonomy"),
        ({"taxonomy": Taxonomy.flat([str(number) for number in range(17)])}, "taxonomy"),
        ({"budget": PureDP(Fraction(1, 2**30))}, "budget"),
        ({"budget": PureDP(1, rho="1e-20")}, "budget"),
    ],
    ids=["alone", "wide", "little", "little by its rho"],
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        DiffPart(**({"taxonomy": PAIRS, "budget": PureDP(1)} | parameters))
    assert refusal.value.parameter == named


def test_data_of_another_width_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        released(DiffPart(taxonomy=PAIRS, budget=PureDP(1)), np.zeros((3, 5), dtype=np.int64))
    with pytest.raises(InvalidParameter):
        ItemSets(("a",), ((0,),), (1,)).support(["b"])
