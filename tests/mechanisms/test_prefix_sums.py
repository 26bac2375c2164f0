"""Prefix sums: trees are counted leaf by leaf, sums compared with obvious ones; one level too few is caught."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dither.audit.samplers import BlockNoise
from dither.checks.law import coverage_is_refuted
from dither.errors import HandleMisuse, InvalidParameter, InvalidValue
from dither.mechanisms import Composed, DiscreteGaussian, Geometric, Numerics, Runner
from dither.mechanisms.prefix_sums import PrefixCounter, PrefixSums
from dither.noise import SystemEntropy, system_noise
from dither.privacy import EVENT, ZCDP, ApproxDP, Plan, PureDP, Unit, Use
from dither.testing import record, replay
from dither.testing.looks import covers

#: Noise so narrow that it is 0 but for a probability of e^-(2^39).
STILL = Geometric(scale=Fraction(1, 2**40))
TREES = [(steps, base) for steps in (*range(1, 18), 27, 28, 64, 65) for base in (2, 3, 5)]


def nodes_of(steps: int, base: int) -> list[list[range]]:
    """The slow obvious tree: all whole nodes, level by level, each as the leaves below it."""
    levels, width = [], 1
    while width <= steps:
        levels.append([range(start, start + width) for start in range(0, steps - width + 1, width)])
        width *= base
    return levels


@pytest.mark.parametrize(("steps", "base"), TREES)
def test_the_number_of_levels_is_that_of_the_busiest_leaf(steps: int, base: int) -> None:
    """By counting, not by a logarithm: T = 8 has 4 levels, T = 16 has 5."""
    levels = nodes_of(steps, base)
    busiest = Counter(leaf for level in levels for node in level for leaf in node).most_common(1)[0][1]
    tree = PrefixSums(steps=steps, base=base, node=Geometric(scale=3))
    assert (tree.levels, tree.sizes) == (busiest, tuple(map(len, levels)))
    assert tree.loss(1) == PureDP(Fraction(busiest, 3))
    assert tree.loss(2).pure == Fraction(2 * busiest, 3)
    gaussian = PrefixSums(steps=steps, base=base, node=DiscreteGaussian(sigma=3))
    assert float(gaussian.loss(1).rho) == pytest.approx(busiest / 18, rel=1e-12)
    assert gaussian.loss(1).rho >= Fraction(busiest, 18)
    counter = PrefixCounter(steps=steps, base=base, node=DiscreteGaussian(sigma=3), largest=2)
    assert counter.loss(1) == ZCDP(Fraction(4 * busiest, 18))
    assert counter.loss(3).rho == 9 * Fraction(4 * busiest, 18)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40), st.integers(2, 6), st.booleans())
def test_without_noise_the_sums_are_the_sums(values: list[int], base: int, consistent: bool) -> None:
    tree = PrefixSums(steps=len(values), base=base, node=STILL, consistent=consistent)
    out = Runner(Use(tree), system_noise())(tree, np.array(values))
    expected = np.cumsum(values)
    assert np.allclose(out, expected, rtol=0, atol=1e-2) if consistent else out.tolist() == expected.tolist()


@pytest.mark.parametrize(("steps", "base"), TREES)
def test_every_prefix_is_made_of_the_fewest_nodes(steps: int, base: int) -> None:
    tree = PrefixSums(steps=steps, base=base, node=Geometric(scale=5))
    out, tape, _ = record(tree, np.arange(steps))
    ranges = [node for level in nodes_of(steps, base) for node in level]
    noisy = dict(zip(ranges, tape.events[0].out.tolist(), strict=True))
    assert dict(zip(ranges, tape.events[0].value.tolist(), strict=True)) == {node: sum(node) for node in ranges}
    for end in range(1, steps + 1):
        total, start, terms = 0, 0, 0
        while start < end:
            longest = max((node for node in ranges if node.start == start and node.stop <= end), key=len)
            total, start, terms = total + noisy[longest], longest.stop, terms + 1
        assert out[end - 1] == total
        assert terms <= tree.most_terms


@pytest.mark.parametrize(("steps", "base"), TREES)
def test_consistency_is_least_squares(steps: int, base: int) -> None:
    """The twin solves the normal equations of all nodes at once."""
    tree = PrefixSums(steps=steps, base=base, node=Geometric(scale=5), consistent=True)
    out, tape, _ = record(tree, np.arange(steps))
    ranges = [node for level in nodes_of(steps, base) for node in level]
    design = np.array([[leaf in node for leaf in range(steps)] for node in ranges], dtype=float)
    fitted = np.linalg.lstsq(design, tape.events[0].out.astype(float), rcond=None)[0]
    assert np.allclose(out, np.cumsum(fitted), atol=1e-8)


@pytest.mark.parametrize("part", [Geometric(scale=5), DiscreteGaussian(sigma=5)], ids=("geometric", "gaussian"))
@pytest.mark.parametrize(("steps", "base"), [(1, 2), (8, 2), (9, 3), (13, 3)])
def test_neighbours_are_clean(part: Any, steps: int, base: int) -> None:
    still, tree = np.zeros(steps, dtype=np.int64), PrefixSums(steps=steps, base=base, node=part)
    for place in range(steps):
        moved = still.copy()
        moved[place] = 1
        assert replay(tree, still, moved) == []
        assert replay(tree, moved + 7, still + 7) == []


@dataclass(frozen=True, kw_only=True)
class OneLevelTooFew(PrefixSums):
    """As printed: log_2(T) levels for T a power of 2."""

    @property
    def stability(self) -> Fraction:
        few = Fraction(int(math.log2(self.steps)))
        return few if isinstance(self.node, Geometric) else Fraction(math.sqrt(few)).limit_denominator(1000)


@pytest.mark.parametrize("part", [Geometric(scale=5), DiscreteGaussian(sigma=5)], ids=("geometric", "gaussian"))
def test_one_level_too_few_is_caught(part: Any) -> None:
    still, moved = np.zeros(8, dtype=np.int64), np.eye(8, dtype=np.int64)[0]
    found = replay(OneLevelTooFew(steps=8, node=part), still, moved)
    assert [violation.rule for violation in found] == ["a value moved too far"]


@pytest.mark.parametrize("value", [2**62, -(2**62), 2**63 - 1])
def test_enormous_values_saturate(value: int) -> None:
    for consistent in (False, True):
        tree = PrefixSums(steps=9, node=Geometric(scale=2**30), consistent=consistent)
        out = Runner(Use(tree), system_noise())(tree, np.full(9, value))
        assert np.isfinite(out.astype(float)).all()
        assert (np.sign(out) == np.sign(value)).all()


@pytest.mark.parametrize("wrong", [np.zeros(3, dtype=int), [0.5] * 4, None, "0000", np.zeros((4, 1), dtype=int)])
def test_a_vector_of_another_kind_is_refused(wrong: Any) -> None:
    tree = PrefixSums(steps=4, node=STILL)
    with pytest.raises(InvalidValue):
        Runner(Use(tree), system_noise())(tree, wrong)


@pytest.mark.parametrize("target", [PureDP("1/2"), ZCDP("1/100"), ApproxDP(1, "1e-6")])
def test_calibration_uses_its_budget(target: Any) -> None:
    tree = PrefixSums.calibrated(target, steps=100, sensitivity=3, base=4)
    assert tree.loss(3) <= target
    assert not tree.loss("3.001") <= target


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize(
    "tree",
    [
        PrefixSums(steps=7, node=Geometric(scale=2)),
        PrefixSums(steps=9, base=3, node=DiscreteGaussian(sigma=3)),
        PrefixSums(steps=12, node=DiscreteGaussian(sigma="1/2"), consistent=True),
    ],
    ids=("geometric", "gaussian", "consistent"),
)
def test_intervals_cover_all_prefixes_at_once(tree: PrefixSums) -> None:
    """n = 2,000, false alarm 1e-10 each; it would catch a coverage of 0.8 for a stated 0.9."""
    data = np.arange(tree.steps)
    truth = np.cumsum(data)
    # Thousands of draws of one law: made ahead, and each handed out once.
    noise = BlockNoise(SystemEntropy())

    def trials() -> Iterator[bool]:
        while True:
            interval = tree.interval(Runner(Use(tree), noise)(tree, data), "0.9")
            assert interval is not None
            yield bool(((interval.low <= truth) & (truth <= interval.high)).all())

    assert covers(trials(), 0.9, most=2000, false_alarm=1e-10)
    assert coverage_is_refuted(1600, 2000, 0.9, 1e-10)


def test_the_reach_of_a_sum_is_less_than_the_sum_of_reaches() -> None:
    many = PrefixSums(steps=2**16 - 1, node=Geometric(scale=10)).error("0.95")
    one = Geometric(scale=10, shape=2**16).error("0.95")
    assert many is not None
    assert many.value < 16 * one.value / 2


# The counter on a stream.


@dataclass(frozen=True, kw_only=True)
class FeedAll(Composed[Any, list[int]]):
    """Feeds a whole stream: what the grey box can replay."""

    name: ClassVar[str] = "test-feed-all"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    counter: PrefixCounter
    factor: int = 1

    @property
    def distance(self) -> Unit:
        return EVENT

    def plan(self) -> Plan:
        return Use(self.counter)

    def release(self, data: Any, run: Runner) -> list[int]:
        stream = run.converse(self.counter, None)
        return [stream.feed(self.factor * value) for value in data]


def opened(counter: PrefixCounter) -> Any:
    return Runner(Use(counter), system_noise()).converse(counter, None)


@given(st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=40), st.integers(2, 6))
def test_without_noise_the_counter_counts(values: list[int], base: int) -> None:
    stream = opened(PrefixCounter(steps=len(values), base=base, node=STILL))
    assert [stream.feed(value) for value in values] == list(itertools.accumulate(values))


@pytest.mark.parametrize(("steps", "base"), [(1, 2), (8, 2), (13, 3), (17, 2)])
def test_the_counter_draws_every_node_once_and_adds_the_fewest(steps: int, base: int) -> None:
    """The same twin as for the static tree, node by node in the order in which they are complete."""
    values = list(range(steps))
    out, tape, _ = record(FeedAll(counter=PrefixCounter(steps=steps, base=base, node=Geometric(scale=4))), values)
    ranges = [node for level in nodes_of(steps, base) for node in level]
    order = sorted(ranges, key=lambda node: (node.stop, len(node)))
    draws = [event for event in tape.events if event.kind == "draw"]
    assert [event.value for event in draws] == [sum(values[leaf] for leaf in node) for node in order]
    noisy = dict(zip(order, (event.out for event in draws), strict=True))
    for end in range(1, steps + 1):
        total, start = 0, 0
        while start < end:
            longest = max((node for node in ranges if node.start == start and node.stop <= end), key=len)
            total, start = total + noisy[longest], longest.stop
        assert out[end - 1] == total


@pytest.mark.parametrize("part", [Geometric(scale=5), DiscreteGaussian(sigma=5)], ids=("geometric", "gaussian"))
def test_streams_that_differ_in_one_event_are_clean(part: Any) -> None:
    feed = FeedAll(counter=PrefixCounter(steps=11, node=part))
    for place in range(11):
        here, there = [3] * 11, [3] * 11
        there[place] += 1
        assert replay(feed, here, there) == []
        assert replay(feed, there, here) == []
    assert feed.loss(1) == feed.counter.loss(1)


def test_an_event_that_moves_its_step_too_far_is_caught() -> None:
    here, there = [3] * 8, [3, 3, 4, 3, 3, 3, 3, 3]
    counter = PrefixCounter(steps=8, node=Geometric(scale=5))
    assert "moved too far" in replay(FeedAll(counter=counter, factor=2), here, there)[0].rule
    allowed = PrefixCounter(steps=8, node=Geometric(scale=5), largest=2)
    assert replay(FeedAll(counter=allowed, factor=2), here, there) == []


def test_a_person_with_two_events_touches_more_nodes() -> None:
    """Event level: two events at once are not covered by the promise about one."""
    here, there = [0] * 8, [1, 0, 0, 0, 0, 0, 0, 1]
    feed = FeedAll(counter=PrefixCounter(steps=8, node=Geometric(scale=5)))
    assert any("siblings" in violation.rule for violation in replay(feed, here, there))
    assert replay(feed, here, there, d_in=2) == []


def test_a_stream_ends_and_steps_are_numbered() -> None:
    stream = opened(PrefixCounter(steps=2, node=Geometric(scale=3)))
    first = stream.feed(5, step=0)
    assert stream.feed(99, step=0) == first
    with pytest.raises(HandleMisuse, match="step must be at most 1"):
        stream.feed(1, step=2)
    with pytest.raises(InvalidValue):
        stream.feed("5")
    assert stream.fed == 1
    stream.feed(2**70)
    with pytest.raises(HandleMisuse, match="ended after 2 steps"):
        stream.feed(0)
    assert stream.feed(0, step=0) == first
    with pytest.raises(HandleMisuse):
        copy.deepcopy(stream)


def test_a_step_that_failed_half_way_is_not_counted_twice() -> None:
    stream = opened(PrefixCounter(steps=4, node=STILL))
    assert stream.feed(3) == 3
    with pytest.raises(InvalidValue):
        stream.feed("a value that is refused before the step is begun")
    with ThreadPoolExecutor(1) as elsewhere, pytest.raises(HandleMisuse, match="thread"):
        elsewhere.submit(stream.feed, 5, step=1).result()
    for step in (None, 1):
        with pytest.raises(HandleMisuse, match="half-way"):
            stream.feed(5, step=step)
    assert stream.feed(5, step=0) == 3


def test_a_long_stream_opens_with_few_runners() -> None:
    counter = PrefixCounter(steps=2**24, node=DiscreteGaussian(sigma=5))
    assert sum(blocks for blocks, _ in counter.shares()) < 20_000
    assert all(blocks * width >= size for (blocks, width), size in zip(counter.shares(), counter.sizes, strict=True))
    assert counter.loss(1).rho == Fraction(25, 50)


def test_errors_of_counter_and_tree_agree() -> None:
    tree, counter = (kind(steps=50, node=Geometric(scale=3)) for kind in (PrefixSums, PrefixCounter))
    bound = tree.error("0.9")
    assert bound is not None
    assert counter.error("0.9").value == bound.value
    out: NDArray[Any] = np.array([10, 20])
    assert (counter.interval(out, "0.9").high - out == bound.value).all()


def test_a_large_epsilon_is_refused_only_where_the_noise_of_all_nodes_is_too_narrow() -> None:
    """2^42 over 127 steps, each in 7 nodes that move by 3 at a time: noise of a scale of 21 / 2^42 can be drawn."""
    tree = PrefixSums.calibrated(PureDP(2**42), steps=127, sensitivity=3)
    assert tree.loss(3) == PureDP(2**42)
    rule = "within must be an epsilon of at most 2.40 times the distance that numbers move: .* where numbers move by 7"
    with pytest.raises(InvalidParameter, match=rule):
        PrefixSums.calibrated(PureDP(2**43), steps=127, sensitivity=1)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        PrefixSums.calibrated(PureDP(2**43), steps=127, sensitivity=0)
