"""Sample-and-aggregate: a row is in one block, in any order; any statistic has an answer; positions are caught."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.mechanisms import DiscreteGaussian, Exponential, Geometric, Laplace, PermuteAndFlip, Runner
from dither.mechanisms import sample_and_aggregate as module
from dither.mechanisms.sample_and_aggregate import SampleAndAggregate, block_statistic, divided, plain
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, PureDP, Unit, Use
from dither.testing import record, replay

ROWS = st.lists(st.sampled_from([0, 1, 2, "a", (1, 2.5), float("nan"), None]), max_size=12)
STILL = Geometric(scale=Fraction(1, 2**40))
PUBLIC: dict[str, Any] = {"blocks": 3, "lower": 0, "upper": 4, "otherwise": 2, "grid": "1/2", "unit": ROW}


@pytest.fixture(autouse=True)
def own_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_statistics", dict(module._statistics))


def blocks_of(rows: Any, blocks: int = 4) -> list[Counter[str]]:
    return [Counter(map(repr, block)) for block in divided(rows, blocks, "key")]


# The division.


@given(ROWS, st.sampled_from([0, 1, "a", "b", (1, 2.5), 7.5]), st.randoms())
def test_one_row_more_is_one_row_more_in_one_block(rows: list[Any], row: Any, shuffled: Any) -> None:
    more = [*rows, row]
    shuffled.shuffle(more)
    here, there = blocks_of(rows), blocks_of(more)
    changes = [(after - before, before - after) for before, after in zip(here, there, strict=True) if before != after]
    assert changes == [(Counter([repr(plain(row))]), Counter())]


@given(ROWS, st.randoms())
def test_order_plays_no_part(rows: list[Any], shuffled: Any) -> None:
    other = list(rows)
    shuffled.shuffle(other)
    assert repr(divided(rows, 4, "key")) == repr(divided(other, 4, "key"))


@given(ROWS, st.data())
def test_a_replaced_row_touches_two_blocks(rows: list[Any], data: Any) -> None:
    if rows:
        other = [*rows[1:], data.draw(st.sampled_from([5, "b"]))]
        touched = sum(here != there for here, there in zip(blocks_of(rows), blocks_of(other), strict=True))
        assert touched <= 2


def test_equal_rows_are_spread_and_equal_numbers_are_equal_rows() -> None:
    sizes = [len(block) for block in divided([1] * 4000, 4, "")]
    assert min(sizes) > 800
    written = [1, 1.0, True, np.int64(1), np.float32(1), Fraction(1)]
    assert {repr(plain(one)) for one in written} == {"1"}
    assert repr(divided(np.array([1.0, 2.0]), 2, "")) == repr(divided([2, 1], 2, ""))
    assert divided([1, 2, 3], 2, "a") != divided([1, 2, 3], 2, "b")


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "row",
    [10**5000, -(10**5000), Fraction(1, 3**9000), Fraction(10**5000, 3), math.inf, 1j, object(), {}, "\ud800", b"\xff"],
    ids=lambda row: type(row).__name__,
)
def test_any_row_has_a_place(row: Any) -> None:
    assert sum(map(len, divided([row, row, (row, 1)], 3, "\ud800"))) == 3


def test_a_row_nested_without_end_has_a_place() -> None:
    assert plain(deep()) is None


# The statistic.


def hostile_statistics() -> Iterator[tuple[str, Any]]:
    def fails(rows: list[Any]) -> Any:
        return 1 / 0 if 1 in rows else 3

    def warns(rows: list[Any]) -> Any:
        return np.log(np.array([0.0])).item() if 1 in rows else np.float64(1e308) * 10

    yield "fails", fails
    yield "warns", warns
    for name, value in (("nan", math.nan), ("none", None), ("complex", 1j), ("text", "x"), ("huge", 10**400)):
        yield name, lambda rows, value=value: value if 1 in rows else 3
    yield "recursion", lambda rows: rows.append(rows) or deep() == deep()


@pytest.mark.parametrize(
    ("name", "function"), list(hostile_statistics()), ids=[name for name, _ in hostile_statistics()]
)
def test_whatever_a_statistic_does_has_a_meaning(name: str, function: Any) -> None:
    block_statistic(f"test-{name}")(function)
    mechanism = SampleAndAggregate(statistic=f"test-{name}", part=Geometric(scale=50), **PUBLIC)
    for here, there in (([], [1]), ([1, 2], [2]), ([1, 1], [1])):
        assert replay(mechanism, here, there) == []


def test_answers_are_clamped_and_what_is_no_number_is_the_declared_value() -> None:
    answers = iter([1e300, -1e300, math.nan])
    block_statistic("test-answers")(lambda rows: next(answers))
    mechanism = SampleAndAggregate(statistic="test-answers", part=STILL, **PUBLIC)
    assert Runner(Use(mechanism), system_noise())(mechanism, [1]) == pytest.approx((4 + 0 + 2) / 3)


def test_without_noise_the_mean_is_the_mean_of_the_answers() -> None:
    rows = np.linspace(0, 4, 50)
    mechanism = SampleAndAggregate(statistic="mean", part=STILL, **(PUBLIC | {"grid": "1/1024"}))
    answers = [float(np.mean(block)) for block in divided(rows, 3, "")]
    out = Runner(Use(mechanism), system_noise())(mechanism, rows)
    assert out == pytest.approx(np.mean(answers), abs=1 / 1024)
    assert out <= np.mean(answers)


@given(st.lists(st.integers(0, 8), max_size=9))
def test_depths_are_those_of_a_slow_count(answers: list[int]) -> None:
    found = module._depths(np.array(answers, dtype=np.int64), 9)
    slow = [-max(sum(a < c for a in answers), sum(a > c for a in answers)) for c in range(9)]
    assert found.tolist() == slow


# The promise, by brute force.

PARTS = {
    "mean": Geometric(scale=9),
    "gaussian": DiscreteGaussian(sigma=9),
    "median": Exponential(candidates=9, scale=4),
    "flip": PermuteAndFlip(candidates=9, scale=4),
}


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_all_neighbours_in_a_small_universe(part: Any, unit: Unit) -> None:
    mechanism = SampleAndAggregate(statistic="median", part=part, **(PUBLIC | {"unit": unit}))
    universe, farthest = [0.0, 4.0, math.nan], Fraction(0)
    for size in range(4):
        for rows in itertools.combinations_with_replacement(universe, size):
            rest = rows[1:] if unit is ROW_REPLACED else rows
            for row in universe if unit is ROW or rows else ():
                value, other = (record(mechanism, data)[1].events[0].value for data in (rows, (*rest, row)))
                apart = part.distance.measure(value, other)
                assert apart is not None
                farthest = max(farthest, apart)
    assert 0 < farthest <= mechanism.stability
    assert mechanism.loss(1) == part.loss(mechanism.stability)


@dataclass(frozen=True, kw_only=True)
class ByPosition(SampleAndAggregate):
    """Divides by position modulo the number of blocks."""

    def release(self, data: Any, run: Runner) -> float:
        answers = [self._answer(list(data[start :: self.blocks])) for start in range(self.blocks)]
        return run(self.part, sum(answers), stability=self.stability)  # type: ignore[no-any-return]


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
def test_a_division_by_position_is_caught(unit: Unit) -> None:
    """A row that leaves moves all behind it; and a replaced row need not keep the place of the old one."""
    block_statistic("test-agree")(lambda rows: 4 * (len(set(rows)) == 1))
    mechanism = ByPosition(statistic="test-agree", part=Geometric(scale=9), **(PUBLIC | {"unit": unit}))
    rows = [0, 1, 2] * 4
    other = [*rows[:6], *rows[7:]] if unit is ROW else [*rows[:6], *rows[7:], 0]
    assert "moved too far" in replay(mechanism, rows, other)[0].rule
    in_place = [*rows[:6], 9, *rows[7:]]
    assert unit is ROW or replay(mechanism, rows, in_place) == []
    sound = SampleAndAggregate(statistic="test-agree", part=Geometric(scale=9), **(PUBLIC | {"unit": unit}))
    assert replay(sound, rows, other) == []


@dataclass(frozen=True, kw_only=True)
class Unclamped(SampleAndAggregate):
    """Adds up what the statistic says."""

    def release(self, data: Any, run: Runner) -> float:
        answers = [int(sum(block)) for block in divided(data, self.blocks, self.public_seed)]
        return run(self.part, sum(answers), stability=self.stability)  # type: ignore[no-any-return]


def test_answers_that_are_not_clamped_are_caught() -> None:
    mechanism = Unclamped(statistic="mean", part=Geometric(scale=9), **PUBLIC)
    assert "moved too far" in replay(mechanism, [1, 2], [1, 2, 900])[0].rule


def test_a_replaced_row_costs_two_blocks() -> None:
    one, two = (
        SampleAndAggregate(statistic="mean", part=Geometric(scale=16), **(PUBLIC | {"unit": unit}))
        for unit in (ROW, ROW_REPLACED)
    )
    assert (one.loss(1), two.loss(1)) == (PureDP("1/2"), PureDP(1))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"otherwise": 5}, "otherwise"),
        ({"upper": 0}, "grid"),
        ({"grid": "1e-20"}, "grid"),
        ({"part": Laplace(scale=1)}, "part"),
        ({"part": Geometric(scale=1, shape=3)}, "part"),
        ({"part": Exponential(candidates=8, scale=1)}, "part"),
        ({"part": Exponential(candidates=9, scale=1, one_way=True)}, "part"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        SampleAndAggregate(**({"statistic": "mean", "part": STILL} | PUBLIC | changes))


def test_a_name_stands_for_one_function() -> None:
    with pytest.raises(InvalidParameter, match="name must be new"):
        block_statistic("mean")(lambda rows: 0)
    with pytest.raises(InvalidParameter, match="name must be a lower-case name"):
        block_statistic("A Mean")
