"""Keys nobody knows: delta is that of the law, intervals hold given that a key appeared, leads less one are stable."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial, reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter, InvalidValue, NoGuarantee
from dither.mechanisms import Runner
from dither.mechanisms.propose_test_release import discrete_laplace_tail
from dither.mechanisms.stability_selection import KeyCounts, StabilitySelection, ThresholdedCounts, Touches, persons_of
from dither.mechanisms.stable_mode import StableLabel, StableMode
from dither.noise import system_noise
from dither.privacy import EVENT, ROW, ROW_REPLACED, ApproxDP, Plan, PureDP, Unit, Use
from dither.testing import record, replay

F = Fraction


# The law of published counts, by summing it.


def mass(scale: Fraction, x: int) -> float:
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(x)


@cache
def key_law(part: ThresholdedCounts, count: int, width: int) -> Mapping[Any, float]:
    """What is published about one key: None, or a count; the mass above ``width`` is one outcome."""
    if count == 0:
        return {None: 1.0}
    top = part.threshold + width
    shown = {y: mass(part.scale, y - count) for y in range(part.threshold, top)}
    above = math.fsum(mass(part.scale, y - count) for y in range(top, top + 200))
    return {None: 1 - math.fsum(shown.values()) - above, "above": above} | shown


def excess(part: ThresholdedCounts, here: Any, there: Any, epsilon: Fraction) -> float:
    """The exact excess of one law over e^epsilon times the other; values are cut off, which hides next to nothing."""
    laws = [[key_law(part, count, 6) for count in counts] for counts in (here, there)]
    # Keys are independent: the law of all of them is an array with an axis for each, over what is possible here.
    p, q = (
        reduce(np.multiply.outer, [[law.get(y, 0.0) for y in one] for law, one in zip(side, laws[0], strict=True)], 1.0)
        for side in laws
    )
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("max_keys", [1, 2, 3])
def test_delta_is_exact_for_new_keys(max_keys: int) -> None:
    part = ThresholdedCounts(max_keys=max_keys, scale=2, threshold=4)
    claim = part.loss(1)
    found = excess(part, [1] * max_keys, [0] * max_keys, claim.epsilon)
    assert found == pytest.approx(float(claim.delta), rel=1e-12)
    if max_keys > 1:
        # The planted mistakes: one key only, or a threshold compared with strictly less.
        assert found > float(ThresholdedCounts(max_keys=1, scale=2, threshold=4).loss(1).delta)
    assert found > float(ThresholdedCounts(max_keys=max_keys, scale=2, threshold=5).loss(1).delta)


@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize(("scale", "threshold"), [(1, 3), (4, 5)])
def test_no_histograms_that_far_apart_exceed_the_claim(units: int, scale: int, threshold: int) -> None:
    """All histograms of three keys with counts up to 2, keys that vanish and keys that appear together included."""
    part = ThresholdedCounts(max_keys=2, scale=scale, threshold=threshold)
    claim, metric, worst = part.loss(units), Touches(2), 0.0
    for here, there in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
        if metric.measure(zip("abc", here, strict=True), zip("abc", there, strict=True)) <= units:
            worst = max(worst, excess(part, here, there, claim.epsilon))
    assert worst <= float(claim.delta) * (1 + 1e-9)
    assert worst > 0.5 * float(claim.delta)


@pytest.mark.parametrize("value_scale", [None, 2])
def test_the_code_draws_that_law(value_scale: int | None) -> None:
    """Coin by coin: the claim holds on neighbours, and a claim of half of it is refuted."""
    part = ThresholdedCounts(max_keys=1, scale=1, threshold=2, value_scale=value_scale)

    def draw(counts: Counter[str], noise: Any) -> Any:
        return tuple(part.draw(counts, noise).items())

    one, two, other = Counter(a=2), Counter(a=3), Counter(a=2, b=1)
    for here, there in ((one, two), (one, other)):
        check_law_by_branching(partial(draw, here), partial(draw, there), part.loss(1), runs=600)
    half = ApproxDP(part.loss(1).epsilon / 2, "1e-3")
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(draw, one), partial(draw, two), half, runs=600)
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(draw, one), partial(draw, other), half, runs=600)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_the_metric_counts_the_fewest_units(changes: list[int], most: int) -> None:
    """The twin schedules greedily: every unit takes the ``most`` largest changes that are left."""
    here = {str(key): 5 for key in range(len(changes))}
    there = {key: 5 + change for key, change in zip(here, changes, strict=True)}
    left, units = [abs(change) for change in changes], 0
    while any(left):
        units += 1
        for place in sorted(range(len(left)), key=lambda index: -left[index])[:most]:
            left[place] -= left[place] > 0
    assert Touches(most).measure(here, there) == units


def test_large_groups_are_priced_from_above_and_quickly() -> None:
    part = ThresholdedCounts(max_keys=2, scale=100, threshold=2000)
    deltas = [part.loss(units).delta for units in (255, 256, 257, 300, 512, 513, 2000)]
    assert deltas == sorted(deltas)
    one_by_one = max(
        1 - (1 - discrete_laplace_tail(F(100), 2000 - count)) ** -(-600 // count) for count in range(1, 301)
    )
    assert one_by_one <= part.loss(300).delta <= 4 * one_by_one


# From rows to counts.

ROWS: list[Any] = [("a", "b"), "a", ["a", "c", "d", "e"], {"b"}, (), ("a", "a"), np.array(["b", "c"])]


@pytest.mark.parametrize("epsilon", [5000, 9000, 12_000, 20_000])
def test_a_delta_of_many_digits_is_rounded_up_and_no_further(epsilon: int) -> None:
    """From an epsilon of some 9,000 on it had more digits than a loss takes, and calibration failed."""
    scale = Fraction(3, epsilon)
    for threshold in (2, 3):
        found = ThresholdedCounts(max_keys=3, scale=scale, threshold=threshold).loss(1).delta
        union = 3 * discrete_laplace_tail(scale, threshold - 1)
        exact = min(1 - (1 - union / 3) ** 3, union)
        assert exact <= found <= exact * (1 + Fraction(1, 10**9)) + Fraction(1, 2**4096)
        assert found.denominator.bit_length() <= 8192
    with pytest.raises(NoGuarantee):  # one that is nearly 1 says nothing
        ThresholdedCounts(max_keys=3, scale=scale, threshold=1).loss(3)
    made = StabilitySelection.calibrated(ApproxDP(epsilon, "1e-6"), unit=ROW, max_keys=3, fresh=True)
    assert made.threshold == 2
    assert made.loss(1) <= ApproxDP(epsilon, "1e-6")


def test_persons_are_counted_once_a_key_and_for_few_keys() -> None:
    assert persons_of(ROWS, None) == Counter(a=4, b=3, c=2, d=1, e=1)
    assert persons_of(ROWS, 2).total() == 2 + 1 + 2 + 1 + 0 + 1 + 2
    assert persons_of([7, None, 1.5, (1, "a", None), b"b", {"a": 1}, object()], 2) == Counter(a=1)


@given(st.lists(st.sets(st.sampled_from("abcdef")).map(tuple), max_size=8), st.randoms(), st.integers(1, 3))
def test_neither_the_order_of_rows_nor_that_of_keys_matters(rows: list[Any], shuffled: Any, most: int) -> None:
    other = [tuple(shuffled.sample(row, len(row))) for row in rows]
    shuffled.shuffle(other)
    assert persons_of(rows, most) == persons_of(other, most)
    counts, mechanism = persons_of(rows, most), StabilitySelection(unit=ROW, max_keys=most, scale=1, threshold=1)
    assert KeyCounts().admit(counts) == tuple(sorted(counts.items()))
    out = Runner(Use(mechanism), system_noise())(mechanism, rows)
    assert list(out) == sorted(out)


def test_what_is_no_count_is_not_there() -> None:
    odd: Any = Counter({"a": 3, "b": 0, "c": -2, 7: 5, "d": 1.5, "e": True, "f": 2**80})
    assert KeyCounts().admit(odd) == (("a", 3), ("f", 2**60))
    for wrong in ({}, None, "a", [("a", 1)]):
        with pytest.raises(InvalidValue):
            KeyCounts().admit(wrong)


@dataclass(frozen=True, kw_only=True)
class Unbounded(StabilitySelection):
    """Lets every person count for all keys."""

    def release(self, data: Any, run: Runner) -> Any:
        return run(self.part, persons_of(data, None), stability=self.unit.touched)


@dataclass(frozen=True, kw_only=True)
class ByRank(StabilitySelection):
    """Lets persons count for their commonest keys, which depends on everybody."""

    def release(self, data: Any, run: Runner) -> Any:
        common = persons_of(data, None)
        kept = [sorted(row, key=lambda key: (-common[key], key))[: self.max_keys] for row in data]
        return run(self.part, persons_of(kept, None), stability=self.unit.touched)


@dataclass(frozen=True, kw_only=True)
class ShowsAll(StabilitySelection):
    """Names the keys that stayed hidden."""

    def release(self, data: Any, run: Runner) -> Any:
        counts = persons_of(data, self.max_keys)
        return run(self.part, counts, stability=self.unit.touched), sorted(counts)


@dataclass(frozen=True, kw_only=True)
class ReplacedForOne(StabilitySelection):
    """Charges a replaced person as one who only comes."""

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> Any:
        return run(self.part, persons_of(data, self.max_keys))


@pytest.mark.parametrize(
    ("kind", "unit", "here", "there", "rule"),
    [
        (Unbounded, ROW, [("a",)], [("a",), ("x", "y", "z")], "moved too far"),
        (ByRank, ROW, [("a", "b", "c")] * 5, [*[("a", "b", "c")] * 5, ("b", "c")], "moved too far"),
        (ShowsAll, ROW, [("a",)], [("a",), ("b",)], "outside its draws"),
        (ReplacedForOne, ROW_REPLACED, [("a", "b")], [("c", "d")], "moved too far"),
    ],
    ids=("Unbounded", "ByRank", "ShowsAll", "ReplacedForOne"),
)
def test_planted_mistakes_are_caught(kind: Any, unit: Unit, here: Any, there: Any, rule: str) -> None:
    public: dict[str, Any] = {"unit": unit, "max_keys": 2, "scale": 2, "threshold": 5}
    assert rule in replay(kind(**public), here, there)[0].rule
    assert replay(StabilitySelection(**public), here, there) == []


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
def test_all_neighbours_in_a_small_universe(unit: Unit) -> None:
    """Every collection of up to three persons, each with up to three of three keys."""
    persons = [row for size in range(4) for row in itertools.combinations("abc", size)]
    mechanism = StabilitySelection(unit=unit, max_keys=2, scale=2, threshold=5)
    farthest = F(0)
    for rows in itertools.chain.from_iterable(itertools.combinations_with_replacement(persons, n) for n in range(3)):
        rest = rows[1:] if unit is ROW_REPLACED else rows
        for person in persons if rows or unit is ROW else ():
            here, there = persons_of(rows, 2), persons_of((*rest, person), 2)
            apart = mechanism.part.distance.measure(here, there)
            farthest = max(farthest, apart)
    assert farthest == unit.touched


# Prices.


def test_prices_grow_with_units_and_fresh_noise() -> None:
    one = StabilitySelection(unit=ROW, max_keys=3, scale=6, threshold=50)
    assert one.loss(1).epsilon == F(1, 2)
    assert StabilitySelection(unit=ROW, max_keys=3, scale=6, threshold=50, value_scale=12).loss(1).epsilon == F(3, 4)
    assert StabilitySelection(unit=ROW_REPLACED, max_keys=3, scale=6, threshold=50).loss(1) == one.loss(2)
    assert one.loss(0) == PureDP(0)
    with pytest.raises(NoGuarantee, match="delta would be 1"):
        StabilitySelection(unit=ROW, max_keys=3, scale=6, threshold=50).loss(10**5)


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("max_keys", [1, 7])
def test_calibration_finds_the_least_threshold(unit: Unit, fresh: bool, max_keys: int) -> None:
    target = ApproxDP(1, "1e-6")
    found = StabilitySelection.calibrated(target, unit=unit, max_keys=max_keys, fresh=fresh)
    assert found.loss(1) <= target
    public: dict[str, Any] = {
        "scale": found.scale,
        "value_scale": found.value_scale,
        "max_keys": max_keys,
        "unit": unit,
    }
    lower = StabilitySelection(threshold=found.threshold - 1, **public)
    assert not lower.loss(1) <= target


# Intervals, given that the key appeared.


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_intervals_cover_given_that_the_key_appeared(confidence: str) -> None:
    """Summed exactly for every true count up to far beyond the threshold; the naive interval covers next to never."""
    mechanism = StabilitySelection(unit=ROW, max_keys=1, scale=3, threshold=20)
    naive_reach = naive_reach_of(mechanism, confidence)
    least, naive_least = 1.0, 1.0
    shown = {y: mechanism.interval({"k": y}, confidence) for y in range(20, 260)}
    for count in range(1, 90):
        chances = {y: mass(mechanism.scale, y - count) for y in shown}
        total = math.fsum(chances.values())
        covered = math.fsum(p for y, p in chances.items() if shown[y].low["k"] <= count <= shown[y].high["k"])
        naive = math.fsum(p for y, p in chances.items() if abs(y - count) <= naive_reach)
        least, naive_least = min(least, covered / total), min(naive_least, naive / total)
    assert least >= float(confidence)
    assert naive_least < float(confidence) / 2


def naive_reach_of(mechanism: StabilitySelection, confidence: str) -> int:
    """The reach of the noise as if nothing had been selected."""
    failure, reach = 1 - float(confidence), 0
    while 2 * math.fsum(mass(mechanism.scale, x) for x in range(reach + 1, reach + 300)) > failure:
        reach += 1
    return reach


@pytest.mark.parametrize("confidence", ["0.5", "0.99"])
def test_fresh_counts_are_covered_whatever_was_selected(confidence: str) -> None:
    mechanism = StabilitySelection(unit=ROW, max_keys=1, scale=3, threshold=20, value_scale=5)
    for count in (1, 4, 30):
        covered = 0.0
        for value in range(count - 300, count + 301):
            interval = mechanism.interval({"k": value}, confidence)
            covered += mass(F(5), value - count) * (interval.low["k"] <= count <= interval.high["k"])
        assert covered >= float(confidence)


def test_a_selected_count_is_too_large_on_average_and_a_fresh_one_is_not() -> None:
    """A key of 10 persons at a threshold of 20: published, it says at least 20."""
    part = ThresholdedCounts(max_keys=1, scale=3, threshold=20)
    law = {y: p for y, p in key_law(part, 10, 300).items() if y is not None}
    mean = math.fsum(y * p for y, p in law.items() if y != "above") / math.fsum(law.values())
    assert mean > 20


def test_several_keys_share_the_failure() -> None:
    mechanism = StabilitySelection(unit=ROW, max_keys=1, scale=3, threshold=20)
    one, many = mechanism.interval({"a": 500}, "0.9"), mechanism.interval(dict.fromkeys("abcdefgh", 500), "0.9")
    assert many.high["a"] - many.low["a"] > one.high["a"] - one.low["a"]
    assert mechanism.interval({}, "0.9").low == {}


# The mode.


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
def test_the_mode_is_clean_on_all_neighbours(unit: Unit) -> None:
    persons: list[Any] = ["a", "b", ("a", "b"), ("c",), ()]
    mode = StableMode(unit=unit, scale=1, threshold=2)
    for rows in itertools.chain.from_iterable(itertools.combinations_with_replacement(persons, n) for n in range(4)):
        rest = rows[1:] if unit is ROW_REPLACED else rows
        for person in persons if rows or unit is ROW else ():
            assert replay(mode, list(rows), [*rest, person]) == []


@dataclass(frozen=True, kw_only=True)
class WholeLead(StableMode):
    """Forgets that a lead of 1 can become a tie."""

    def release(self, data: Any, run: Runner) -> Any:
        persons = persons_of(data, None)
        leader = min(persons, key=lambda key: (-persons[key], key), default="")
        lead = persons[leader] - max((count for key, count in persons.items() if key != leader), default=0)
        return run(self.part, (lead, leader), stability=self.unit.touched)


def test_a_lead_that_can_become_a_tie_is_caught() -> None:
    mode = WholeLead(unit=ROW, scale=1, threshold=2)
    assert "moved too far" in replay(mode, ["a", "b", "b"], ["a", "a", "b", "b"])[0].rule
    assert replay(StableMode(unit=ROW, scale=1, threshold=2), ["a", "b", "b"], ["a", "a", "b", "b"]) == []


def test_the_distance_of_the_mode_is_never_more_than_the_true_one() -> None:
    """Breadth first over histograms of three keys: fewer changes than the distance never change the mode."""
    mode = StableMode(unit=ROW, scale=1, threshold=2)

    def seen(counts: tuple[int, ...]) -> tuple[int, str]:
        rows = [key for key, count in zip("abc", counts, strict=True) for _ in range(count)]
        value: tuple[int, str] = record(mode, rows)[1].events[0].value
        return value

    world = {counts: seen(counts) for counts in itertools.product(range(5), repeat=3)}
    for here, (distance, leader) in world.items():
        for there, (_, other) in world.items():
            if other != leader:
                changes = [b - a for a, b in zip(here, there, strict=True)]
                # A person who comes or goes moves any of the counts, all the same way.
                assert max(0, *changes) + max(0, *(-change for change in changes)) > distance


def test_labels_have_the_delta_of_their_test() -> None:
    part = StableLabel(scale=1, threshold=2)
    claim = part.loss(1)
    check_law_by_branching(partial(part.draw, (0, "a")), partial(part.draw, (0, "b")), claim)
    check_law_by_branching(partial(part.draw, (1, "a")), partial(part.draw, (2, "a")), claim)
    smaller = ApproxDP(claim.epsilon, claim.delta * F(99, 100))
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(part.draw, (0, "a")), partial(part.draw, (0, "b")), smaller)
    for wrong in (None, ("a", 1), (1, "a", 2), (True, "a"), [1, "a"]):
        with pytest.raises(InvalidValue):
            part.draw(wrong, system_noise())


@pytest.mark.statistical(n=1, false_alarm=1e-9, catches="a test of the distance that is ignored")
def test_a_clear_winner_is_released_and_a_narrow_one_is_not() -> None:
    """One draw each; false alarm below 1e-9."""
    mode = StableMode(unit=ROW, scale=1, threshold=25)
    assert Runner(Use(mode), system_noise())(mode, ["x"] * 100 + ["y"] * 40) == "x"
    assert Runner(Use(mode), system_noise())(mode, ["x"] * 100 + ["y"] * 99) is None
    assert Runner(Use(mode), system_noise())(mode, []) is None


@pytest.mark.parametrize("kind", [StabilitySelection, StableMode])
def test_only_rows_are_units(kind: Any) -> None:
    public: dict[str, Any] = {"max_keys": 2} if kind is StabilitySelection else {}
    with pytest.raises(InvalidParameter, match="unit must be ROW"):
        kind(unit=EVENT, scale=1, threshold=5, **public)
