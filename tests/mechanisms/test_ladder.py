"""The ladder: its law, its distance and its price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.mechanisms import Ladder
from dither.noise import Noise, ladders, system_noise
from dither.privacy import ZCDP, PureDP

widths_of = st.lists(st.integers(0, 6), min_size=4, max_size=4)


def steps_of(widths: list[int]) -> list[int]:
    """Return the places of each rung on one side: rung t ends at half of width t after all widths before it."""
    ends = [(width + 1) // 2 + sum(widths[:rung]) for rung, width in enumerate([*widths, widths[-1]])]
    return [end - before for before, end in itertools.pairwise([0, *ends])]


def law(value: int, widths: list[int], scale: float, *, reach: int = 200) -> dict[int, float]:
    """Return the law place by place: the mean of two ladders, of which the centre belongs to one side each."""
    sides: list[float] = []
    for rung in range(reach):
        sides += [math.exp(-rung / scale)] * widths[min(rung, len(widths) - 1)]
    total = 2 * sum(sides)
    # A ladder counts the places from the centre on, and from the one before it downwards; or the mirror image of it.
    found: dict[int, float] = {}
    for place, weight in enumerate(sides):
        for noise in (place, -place - 1, -place, place + 1):
            found[value + noise] = found.get(value + noise, 0.0) + weight / total / 2
    return found


def test_put_together_from_its_steps_the_law_is_that_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every outcome of the five draws, with its exact weight: the law follows, place by place."""
    widths, scale, longest = [1, 1, 4, 6], 2.0, 80
    grown = np.diff(widths, prepend=0)
    found: dict[int, float] = {}
    total = sum(step * math.exp(-rung / scale) for rung, step in enumerate(grown))
    stay = 1 - math.exp(-1 / scale)
    for start, more in itertools.product(np.flatnonzero(grown).tolist(), range(longest)):
        wide = widths[min(start + more, 3)]
        chance = grown[start] * math.exp(-start / scale) / total * stay * math.exp(-more / scale) / wide / 4
        for sign, shift, place in itertools.product(range(2), range(2), range(wide)):
            coins = iter((sign, shift))
            monkeypatch.setattr(ladders, "select_block", lambda *_, start=start: np.array([start]))
            monkeypatch.setattr(ladders, "geometric", lambda *_, more=more: np.array([more]))
            monkeypatch.setattr(ladders, "uniform_below", lambda *_, coins=coins: np.array([next(coins)]))
            monkeypatch.setattr(ladders, "uniform_ranks", lambda _, limits, place=place: np.full_like(limits, place))
            step = int(ladders.ladder(None, np.array(widths), Fraction(1, 2), 1)[0])  # type: ignore[arg-type]
            found[step] = found.get(step, 0.0) + chance
    wanted = law(0, widths, scale)
    for step in range(-60, 61):
        assert found[step] == pytest.approx(wanted[step], rel=1e-9)


class Unweighted(Ladder):
    """A ladder that draws the rung as if all were equally wide: another mechanism."""

    def draw_many(self, value: Any, count: int, noise: Noise) -> Any:
        given = np.array(value)
        given[1:] = self.most
        return super().draw_many(given, count, noise)


@pytest.mark.statistical(n=40_000, false_alarm=1e-10, catches="rungs that are drawn without their widths")
def test_draws_of_many_have_the_law(misfits: Callable[..., list[Any]], noise: Noise) -> None:
    wanted, given = law(0, steps_of([1, 3, 9]), 1.0), np.array([0, 1, 3, 9])
    options: dict[str, Any] = {"rungs": 3, "most": 9, "scale": 1}
    assert not misfits(Ladder(**options).draw_many(given, 40_000, noise).tolist(), wanted)
    assert misfits(Unweighted(**options).draw_many(given, 40_000, noise).tolist(), wanted)


@given(widths_of, widths_of, st.integers(-9, 9), st.integers(-9, 9))
def test_the_distance_is_how_far_any_score_moves(widths: list[int], others: list[int], value: int, other: int) -> None:
    """Scores are minus the rung, for both halves of the law: no integer changes its rung by more than the distance."""
    ladder = Ladder(rungs=4, most=6, scale=1)
    apart = ladder.distance.measure([value, *widths], [other, *others])
    scores = [_rungs(value, widths), _rungs(other, others)]
    moved = max(abs(scores[0][k] - scores[1][k]) for k in scores[0].keys() & scores[1].keys())
    assert apart is not None
    assert moved <= apart
    assert (apart == 0) == (scores[0] == scores[1])


def _rungs(value: int, widths: list[int]) -> dict[int, int]:
    """Return the rung of every integer around a value, place by place."""
    ordered = np.maximum.accumulate(np.maximum(widths, 1)).tolist()
    ordered[-1] = 6
    found, place = {}, 0
    steps = steps_of(ordered)
    for rung in range(16):
        for _ in range(steps[min(rung, 4)]):
            found[value + place], found[value - place - 1] = rung, rung
            place += 1
    return {k: rung for k, rung in found.items() if abs(k) <= 40}


def test_wide_and_odd_widths_are_the_nearest_that_are_allowed() -> None:
    ladder = Ladder(rungs=3, most=5, scale=1)
    assert ladder.distance.measure([1, -7, 0, 2**60], [1, 1, 1, 5]) == 0
    assert ladder.distance.measure([1, 4, 2, 5], [1, 4, 4, 0]) == 0
    assert ladder.distance.measure([1, 2], [1, 2]) is None


@given(st.fractions(min_value=Fraction(1, 100), max_value=100))
def test_calibration_spends_all_of_an_epsilon(epsilon: Fraction) -> None:
    made = Ladder.calibrated(PureDP(epsilon), rungs=10, most=3)
    assert Fraction(999, 1000) * epsilon <= (made.loss(1).pure or 0) <= epsilon
    assert Ladder.calibrated(ZCDP(epsilon), rungs=10, most=3).loss(1) <= ZCDP(epsilon)


def test_places_beyond_64_bits_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="most must be below"):
        Ladder(rungs=2**20, most=2**40, scale=1)
    drawn = Ladder(rungs=2, most=2**58, scale=2**20).draw_many(np.array([2**60, 1, 1]), 20, system_noise())
    assert (np.abs(drawn) <= 2**62).all()
