"""The ladder: its law, its distance and its price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.mechanisms import Ladder
from dither.mechanisms.ladder import best_share, reached
from dither.noise import Noise, ladders, system_noise
from dither.privacy import ZCDP, PureDP

widths_of = st.lists(st.integers(0, 6), min_size=4, max_size=4)


def ends_of(widths: list[int], share: Fraction, rungs: int) -> list[int]:
    """Return how far each rung reaches: all widths before its own, and the integers below a share of that."""
    found = []
    for rung in range(rungs):
        each = [widths[min(place, len(widths) - 1)] for place in range(rung + 1)]
        found.append(sum(each[:-1]) + math.ceil(share * each[-1]) - 1)
    return found


def rungs_of(value: int, ends: list[int], far: int) -> dict[int, int]:
    """Return the rung of every integer near 0: the first that reaches it."""
    return {k: next(rung for rung, end in enumerate(ends) if abs(k - value) <= end) for k in range(-far, far + 1)}


def law(value: int, widths: list[int], scale: float, *, far: int = 400) -> dict[int, float]:
    """Return the law place by place: the weight of an integer falls with its rung."""
    share = Fraction(1 / (1 + math.exp(1 / (2 * scale))))
    weights = {k: math.exp(-rung / scale) for k, rung in rungs_of(value, ends_of(widths, share, far + 1), far).items()}
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def test_put_together_from_its_steps_the_law_is_that_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every outcome of the three draws, with its exact weight: the law follows, place by place."""
    widths, scale, longest = [2, 3, 4, 6], 2.0, 80
    ends = np.array(ends_of(widths, Fraction(1 / (1 + math.exp(1 / 4))), 5))
    places = [2 * int(ends[0]) + 1, *(2 * np.diff(ends)).tolist()]
    grown = np.diff(places, prepend=0)
    assert (grown >= 0).all()
    found: dict[int, float] = {}
    total = sum(step * math.exp(-rung / scale) for rung, step in enumerate(grown))
    stay = 1 - math.exp(-1 / scale)
    for start, more in itertools.product(np.flatnonzero(grown).tolist(), range(longest)):
        wide = places[min(start + more, 4)]
        chance = grown[start] * math.exp(-start / scale) / total * stay * math.exp(-more / scale) / wide
        for place in range(wide):
            monkeypatch.setattr(ladders, "select_block", lambda *_, start=start: np.array([start]))
            monkeypatch.setattr(ladders, "geometric", lambda *_, more=more: np.array([more]))
            monkeypatch.setattr(ladders, "uniform_ranks", lambda _, limits, place=place: np.full_like(limits, place))
            step = int(ladders.ladder(None, ends, Fraction(1, 2), 1)[0])  # type: ignore[arg-type]
            found[step] = found.get(step, 0.0) + chance
    wanted = law(0, widths, scale)
    for step in range(-60, 61):
        assert found[step] == pytest.approx(wanted[step], rel=1e-9)


def largest_ratio(first: tuple[int, list[int]], second: tuple[int, list[int]], ends: Any, factor: Fraction) -> Fraction:
    """Return the largest ratio of two laws at one integer, as a rational: rungs lose weight by ``factor``.

    From the last width on all rungs are alike, so that the weights beyond are a geometric series.
    """
    rungs, far, weights, totals = 12, 12, [], []
    for value, widths in (first, second):
        reach = ends(widths, rungs)
        near = {k: factor**rung for k, rung in rungs_of(value, reach, far).items()}
        places = [2 * reach[0] + 1, *(2 * (end - before) for before, end in itertools.pairwise(reach))]
        beyond = places[-1] * factor**rungs / (1 - factor)
        totals.append(sum(many * factor**rung for rung, many in enumerate(places)) + beyond)
        weights.append(near)
    return max(weights[0][k] / totals[0] * totals[1] / weights[1][k] for k in weights[0])


def all_neighbours() -> Iterator[tuple[list[int], list[int], int]]:
    """Yield all pairs of ladders of three rungs up to 3 wide that neighbouring data may have, and their distance."""
    ladders = [[*each, 3] for each in itertools.combinations_with_replacement((1, 2, 3), 2)]
    for here, there in itertools.product(ladders, repeat=2):
        if all(a <= b for a, b in itertools.chain(zip(here, there[1:]), zip(there, here[1:]))):  # noqa: B905
            for apart in range(min(here[0], there[0]) + 1):
                yield here, there, apart


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(2, 5), Fraction(1, 3), Fraction(1, 10)])
def test_no_two_neighbouring_ladders_lose_more_than_stated(share: Fraction) -> None:
    """Every pair, every integer, in exact rationals: with factor e^(-epsilon / 2) the ratio is at most e^epsilon."""
    factor, worst = Fraction(1, 2), Fraction(1)
    for here, there, apart in all_neighbours():
        ratio = largest_ratio((0, here), (apart, there), lambda widths, rungs: ends_of(widths, share, rungs), factor)
        worst = max(worst, ratio)
    assert worst <= 1 / factor**2
    assert worst > 1 / factor  # the pairs are not all alike


def test_a_local_sensitivity_repeated_on_all_rungs_loses_more() -> None:
    """The twin: widths that differ threefold on all rungs are no ladder, and the same search finds it out."""
    narrow, wide = (0, [2, 2, 2]), (2, [6, 6, 6])
    ratio = largest_ratio(narrow, wide, lambda widths, rungs: ends_of(widths, Fraction(1, 3), rungs), Fraction(1, 2))
    assert max(ratio, 1 / ratio) > 4


@pytest.mark.parametrize(("epsilon", "width"), [*itertools.product((0.2, 1.0, 3.0, 8.0, 20.0), (1, 2, 7, 40))])
def test_the_share_is_the_best_one_for_equal_widths(epsilon: float, width: int) -> None:
    away = np.abs(np.arange(-9000, 9001))

    def error(beyond: int) -> float:
        weights = np.exp(-epsilon / 2 * np.maximum(-((beyond - away) // width), 0))
        return math.fsum(away * weights) / math.fsum(weights)

    scale = Fraction(2) / Fraction(str(epsilon))
    chosen = int(reached(np.array([width]), best_share(scale))[0])
    least = min(error(beyond) for beyond in range(width))
    assert error(chosen) == pytest.approx(least, rel=1e-9)


@given(st.lists(st.integers(1, 2**59), min_size=1, max_size=4), st.integers(1, 2**39))
def test_what_a_rung_reaches_grows_with_its_width_and_no_faster(widths: list[int], share: int) -> None:
    given = np.sort(np.array(widths, dtype=np.int64))
    found = reached(given, share)
    assert found.tolist() == [math.ceil(Fraction(share * width, 2**40)) - 1 for width in given.tolist()]
    assert (np.diff(found) >= 0).all()
    assert (np.diff(given - found) >= 0).all()
    assert (2 * found + 1 <= 2 * given).all()


@pytest.mark.statistical(n=20, false_alarm=1e-9, catches="an error that no budget removes: a coin, or half a width")
def test_a_large_budget_leaves_no_error(noise: Noise) -> None:
    """Off with probability 2 e^-25 a draw. A ladder with a coin would read 0, 1 or 2."""
    made = Ladder.calibrated(PureDP(50), rungs=3, most=1)
    assert made.draw_many(np.array([1, 1, 1, 1]), 20, noise).tolist() == [1] * 20
    wide = law(1, [100, 100], 2 / 50)
    assert wide[1] > 1 - 1e-8


class Unweighted(Ladder):
    """A ladder that draws the rung as if all were equally wide: another mechanism."""

    def draw_many(self, value: Any, count: int, noise: Noise) -> Any:
        given = np.array(value)
        given[1:] = self.most
        return super().draw_many(given, count, noise)


@pytest.mark.statistical(n=40_000, false_alarm=1e-10, catches="rungs that are drawn without their widths")
def test_draws_of_many_have_the_law(misfits: Callable[..., list[Any]], noise: Noise) -> None:
    wanted, given = law(0, [1, 3, 9], 1.0), np.array([0, 1, 3, 9])
    options: dict[str, Any] = {"rungs": 3, "most": 9, "scale": 1}
    assert not misfits(Ladder(**options).draw_many(given, 40_000, noise).tolist(), wanted)
    assert misfits(Unweighted(**options).draw_many(given, 40_000, noise).tolist(), wanted)


@given(widths_of, widths_of, st.integers(-9, 9), st.integers(-9, 9))
def test_the_distance_is_how_far_any_score_moves(widths: list[int], others: list[int], value: int, other: int) -> None:
    """Scores are minus the rung: no integer changes its rung by more than the distance."""
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
    return rungs_of(value, ends_of(ordered, Fraction(1 / (1 + math.exp(1 / 2))), 20), 40)


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
