"""Repeat and select: its law is that of the best of K runs, three runs are paid for, and unpaid scores are caught."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.audit.samplers import BlockNoise
from dither.errors import InvalidParameter
from dither.mechanisms import Composed, Exponential, Gaussian, Geometric, Numerics, Runner
from dither.mechanisms.repeat_and_select import Lottery, OneRun, RepeatAndSelect, _scored
from dither.noise import SystemEntropy, system_noise
from dither.privacy import ROW, ROW_REPLACED, Plan, PureDP, Unit, Use
from dither.testing import record, replay

F = Fraction
Misfits = Callable[[Iterable[Any], Mapping[Any, float]], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Trial(Composed[Any, tuple[int, str]]):
    """Counts the rows above a limit: the noisy count is the score, the limit the result."""

    name: ClassVar[str] = "test-trial"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    limit: int
    unit: Unit = ROW
    part: ClassVar[Geometric] = Geometric(scale=10)

    @property
    def distance(self) -> Unit:
        return self.unit

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> tuple[int, str]:
        return int(run(self.part, sum(row > self.limit for row in data))), f"above {self.limit}"


TRIALS = tuple(Trial(limit=limit) for limit in (0, 5, 10**6))


def largest_of_runs(scale: Fraction, value: int, stop: float, shape: int) -> dict[int, float]:
    """The law of the largest of K noisy values: P[best <= y] is the generating function of K at P[one <= y]."""
    q = math.exp(-1 / scale)

    def below(y: int) -> float:
        x = y - value
        return 1 - q ** (x + 1) / (1 + q) if x >= 0 else q**-x / (1 + q)

    def of_runs(z: float) -> float:
        if shape:
            return stop * z / (1 - (1 - stop) * z)
        return math.log(1 - (1 - stop) * z) / math.log(stop)

    return {y: of_runs(below(y)) - of_runs(below(y - 1)) for y in range(value - 40, value + 41)}


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize("shape", [0, 1])
def test_the_law_is_that_of_the_best_run(shape: int, misfits: Misfits) -> None:
    """n = 3,000, false alarm 1e-10; it would catch a single run taken for the best of several."""
    mechanism = RepeatAndSelect(candidates=(Geometric(scale=2),), stop="1/8", shape=shape)
    # Thousands of draws of a few laws: made ahead, and each handed out once.
    noise = BlockNoise(SystemEntropy())
    drawn = [Runner(Use(mechanism), noise)(mechanism, 0)[1] for _ in range(3000)]
    law = {y: p for y, p in largest_of_runs(F(2), 0, 1 / 8, shape).items() if p > 1e-3}
    assert misfits(drawn, law) == []
    single = {y: (1 - math.exp(-0.5)) / (1 + math.exp(-0.5)) * math.exp(-abs(y) / 2) for y in range(-12, 13)}
    assert misfits(drawn, single)


@pytest.mark.parametrize("shape", [0, 1])
@pytest.mark.parametrize("stop", ["1/3", "1/100"])
def test_the_price_covers_the_law_and_that_of_one_run_does_not(shape: int, stop: str) -> None:
    mechanism = RepeatAndSelect(candidates=(Geometric(scale=2),), stop=stop, shape=shape)
    laws = [largest_of_runs(F(2), value, float(F(stop)), shape) for value in (0, 1)]
    # Far out on both sides the law is a difference of nearly equal floats.
    seen = [y for y in range(-12, 13) if min(law[y] for law in laws) > 1e-9]
    worst = max(abs(math.log(laws[0][y] / laws[1][y])) for y in seen)
    claimed = mechanism.loss(1).epsilon
    assert claimed == (2 + shape) * F(1, 2)
    assert F(1, 2) < worst <= claimed


def test_the_dearest_candidate_is_paid_for() -> None:
    mixed = RepeatAndSelect(candidates=(Geometric(scale=10), Geometric(scale=2)), stop="1/10", shape=1)
    assert mixed.loss(1).epsilon == F(3, 2)
    assert mixed.loss(4).epsilon == 6
    assert OneRun(candidates=mixed.candidates).loss(1).epsilon == F(1, 2)


def test_candidates_on_data_release_the_winner_and_its_number() -> None:
    tuned = RepeatAndSelect(candidates=TRIALS, stop="1/1000", shape=1)
    rows = list(range(500))
    # Of about 1,000 runs one is the first candidate, whose score is the largest by far; false alarm below 1e-9 but
    # for few runs, which the first draw of K decides: P[K < 60] = 0.06, so all that is asked is a candidate.
    number, result = Runner(Use(tuned), system_noise())(tuned, rows)
    assert result == f"above {TRIALS[number].limit}"
    assert tuned.loss(1).epsilon == F(3, 10)


@pytest.mark.parametrize("shape", [0, 1])
def test_neighbours_are_clean(shape: int) -> None:
    tuned = RepeatAndSelect(candidates=TRIALS, stop="1/4", shape=shape)
    rows = [1, 7, 3, 10**9]
    for here, there in ((rows, rows[1:]), (rows, [*rows, 6]), ([], [1])):
        assert replay(tuned, here, there) == []
        assert replay(tuned, there, here) == []


@dataclass(frozen=True, kw_only=True)
class FreeScore(Trial):
    """Scores by the exact count."""

    def release(self, data: Any, run: Runner) -> tuple[int, str]:
        _, result = super().release(data, run)
        return sum(row > self.limit for row in data), result


def test_a_score_that_nobody_paid_for_is_caught() -> None:
    """The exact score of one candidate overtakes the other one's between neighbours."""
    tuned = RepeatAndSelect(candidates=(FreeScore(limit=0), FreeScore(limit=-5)), stop="1/50", shape=1)
    here, there = [1, 2], [1, 2, -1]
    assert any(replay(tuned, one, other) for one, other in ((here, there), (there, here)) for _ in range(20))


@pytest.mark.statistical(false_alarm=1e-10)
def test_the_lottery_is_fair_and_sees_nothing(misfits: Misfits) -> None:
    """n = 6,000, false alarm 1e-10."""
    lottery = Lottery(tickets=3)
    drawn = lottery.draw_many(0, 6000, system_noise()).tolist()
    assert misfits(drawn, dict.fromkeys(range(3), 1 / 3)) == []
    assert misfits([0, *drawn[:3000], *[1] * 3000], dict.fromkeys(range(3), 1 / 3))
    assert (lottery.loss(5), lottery.loss(0)) == (PureDP(0), PureDP(0))
    numbers = Counter(record(OneRun(candidates=TRIALS), [1])[1].events[0].out for _ in range(200))
    assert set(numbers) == {0, 1, 2}


@pytest.mark.parametrize(
    ("released", "scored"),
    [
        (5, (5, 5)),
        ((2.5, "x"), (2.5, "x")),
        ((F(1, 3), None), (F(1, 3), None)),
        (("x", 1), (-math.inf, 1)),
        ("x", (-math.inf, "x")),
        (None, (-math.inf, None)),
    ],
)
def test_scores(released: Any, scored: Any) -> None:
    assert _scored(released) == scored


def test_an_array_is_no_score() -> None:
    score, result = _scored(np.array([1, 2]))
    assert score == -math.inf
    assert result.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"candidates": (Gaussian(sigma=1),)}, "candidates"),
        ({"candidates": (Geometric(scale=1), Exponential(candidates=2, scale=1))}, "candidates"),
        ({"candidates": (Trial(limit=1), Trial(limit=1, unit=ROW_REPLACED))}, "candidates"),
        ({"stop": 1}, "stop"),
        ({"stop": 0}, "stop"),
        ({"shape": 2}, "shape"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        RepeatAndSelect(**({"candidates": TRIALS, "stop": "1/4", "shape": 1} | changes))


def test_the_best_of_a_fixed_number_of_runs_costs_all_of_them() -> None:
    """Why the number is random: the best of k runs has an epsilon that grows with k, far beyond three runs."""

    def best_of(value: int, runs: int) -> dict[int, float]:
        q = math.exp(-0.5)
        below = {
            y: 1 - q ** (y - value + 1) / (1 + q) if y >= value else q ** (value - y) / (1 + q) for y in range(-9, 9)
        }
        return {y: below[y] ** runs - below[y - 1] ** runs for y in range(-8, 9)}

    ratios = {
        runs: max(abs(math.log(here / there)) for here, there in itertools.islice(pairs, 17))
        for runs, pairs in ((k, zip(best_of(0, k).values(), best_of(1, k).values(), strict=True)) for k in (1, 10))
    }
    assert ratios[1] == pytest.approx(0.5)
    assert ratios[10] > 3 * 0.5
