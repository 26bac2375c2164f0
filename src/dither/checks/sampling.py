"""The laws of a runner's own draws: secret samples of rows, and the number of runs of a selection.

A replay replaces them by its own samples, so they are checked where they are drawn: every set of rows of a
small table has exactly its probability, for any rows at any place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation, require
from dither.mechanisms import Geometric, RandomisedResponse, Runner
from dither.noise import Noise, system_noise
from dither.privacy import Best, Plan, Repeat, Repeats, Sampled, SampledExactly, Use
from dither.testing.branching import branch_outcomes
from dither.testing.entropy import SeededEntropy
from dither.testing.enumeration import Enumeration

_ROWS = 4
_RUNS = 400
_COUNTED = 6
#: With more rows than this a sample of fixed size is drawn in another way.
_MANY = 36
#: Rows of a long table, and samples by which they are told apart: more where a coin is lopsided.
_LONG, _TURNS, _MANY_TURNS, _SEED = 300, 64, 200, 7
#: Samples of a longer table, and the probability that sound ones are refused.
_SAMPLES, _FALSE_ALARM = 1000, 1e-9
#: Rounding of the chances of coins, which the branches make on the safe side.
_TINY = Fraction(1, 2**40)


def check_poisson_sample(rate: Fraction, rows: int = _ROWS) -> None:
    """Check that every set of rows is a Poisson sample with exactly its probability."""
    data = list(range(rows))
    plan = Sampled(Use(Geometric(scale=1)), rate)
    found = branch_outcomes(lambda noise: tuple(Runner(plan, noise).sampled(data, rate)[0]), runs=_RUNS)
    for subset in _subsets(data):
        _compare(found, subset, rate ** len(subset) * (1 - rate) ** (rows - len(subset)), "a Poisson sample")


def check_sampled_price(rate: Fraction) -> None:
    """Check that revealing whether a Poisson sample is empty loses at most what its plan says, for one to three rows.

    Of all that can be asked of a sample this loses most: one row of several in it changes the answer for good.
    """
    answer = RandomisedResponse(epsilon=1)
    plan = Sampled(Use(answer), rate)

    def is_empty(rows: int, source: Noise) -> int:
        sample, run = Runner(plan, source).sampled(list(range(rows)), rate)
        return run(answer, int(not sample))

    for apart in (1, 2, 3):
        check_law_by_branching(partial(is_empty, 0), partial(is_empty, apart), plan.loss(apart), runs=_RUNS)


def check_fixed_sample(kept: int, of: int) -> None:
    """Check that all sets of ``kept`` of ``of`` rows are equally likely."""
    data = list(range(of))
    plan = SampledExactly(Use(Geometric(scale=1)), kept, of)
    found = branch_outcomes(lambda noise: tuple(Runner(plan, noise).sampled_exactly(data, kept, of)[0]), runs=_RUNS)
    for subset in _subsets(data):
        expected = Fraction(1, math.comb(of, kept)) if len(subset) == kept else Fraction(0)
        _compare(found, subset, expected, "a sample of fixed size")


def check_number_of_runs(repeats: Repeats) -> None:
    """Check that a selection makes each number of runs as often as its law says."""
    plan = Best(Use(Geometric(scale=1)), repeats)
    found = branch_outcomes(lambda noise: Runner(plan, noise)._count_runs(repeats), runs=_RUNS)
    for runs in range(1, _COUNTED):
        geometric = float(repeats.stop) * float(1 - repeats.stop) ** (runs - 1)
        logarithmic = float(1 - repeats.stop) ** runs / runs / math.log(1 / float(repeats.stop))
        expected = Fraction(geometric if repeats.shape else logarithmic)
        low, high = expected * (1 - Fraction(1, 10**9)), expected * (1 + Fraction(1, 10**9))
        require(
            found.brackets(runs, low, high), f"{runs} runs come with another probability than {float(expected):.4g}"
        )


def check_many_rows(samples: int, false_alarm: float) -> None:
    """Check by sampling that rows at every place of a longer table, and pairs of them, are drawn at the right rate.

    For sound samplers the check fails with probability at most ``false_alarm`` (Hoeffding's inequality over all tests).
    """
    rate, kept = Fraction(1, 3), _MANY // 3
    for name, draw, both in (
        ("a Poisson sample", partial(_poisson, rate), rate**2),
        ("a sample of fixed size", partial(_fixed, kept), Fraction(kept * (kept - 1), _MANY * (_MANY - 1))),
    ):
        noise = system_noise()
        masks = np.array([draw(noise) for _ in range(samples)])
        tests = 2 * 2 * _MANY
        reach = math.sqrt(math.log(2 * tests / false_alarm) / (2 * samples))
        apart = np.abs(masks.mean(axis=0) - float(rate)).max()
        require(float(apart) <= reach, f"{name} takes a row {apart:.3f} too often or too seldom")
        together = (masks & np.roll(masks, 1, axis=1)).mean(axis=0)
        apart = np.abs(together - float(both)).max()
        require(float(apart) <= reach, f"{name} takes two rows together {apart:.3f} too often or too seldom")


def check_own_coins(rate: Fraction) -> None:
    """Check that each of 300 rows has its own coin in samples of both kinds, and each sample its own coins.

    Without a sample: two rows that are in and out together in all of many samples share their coin.
    """
    # Rows that are hardly ever in a sample, or always, are in and out together by chance.
    fair = min(max(rate, Fraction(1, 10)), Fraction(9, 10))
    noise = Noise(SeededEntropy(_SEED))
    for name, draw, turns in (
        ("a Poisson sample", partial(_poisson, fair), _MANY_TURNS),
        ("a sample of fixed size", partial(_fixed, _LONG // 2), _TURNS),
    ):
        masks = np.array([draw(noise, _LONG) for _ in range(turns)])
        fates = len({column.tobytes() for column in masks.T})
        require(fates == _LONG, f"in {name} {_LONG} rows have {fates} coins among them")
        require(len({mask.tobytes() for mask in masks}) == turns, f"{name} comes twice")


def check_samples_in_turn(rate: Fraction) -> None:
    """Check that one runner takes a new sample each time that it is asked for one."""
    count, rows = Geometric(scale=1), np.arange(_LONG)
    fair = min(max(rate, Fraction(1, 10)), Fraction(9, 10))
    runner = Runner(Repeat(Sampled(Use(count), fair), _TURNS), Noise(SeededEntropy(_SEED)))
    found = set()
    for _ in range(_TURNS):
        kept, run = runner.sampled(rows, fair)
        run(count, 0)
        found.add(kept.tobytes())
    require(len(found) == _TURNS, "a runner takes the same sample twice")


def sampling_checks(plan: Plan) -> Iterator[Callable[[], None]]:
    """Return the checks of the draws that a runner would make on its own in a plan."""
    for part in parts_of(plan):
        if isinstance(part, Sampled):
            yield partial(check_poisson_sample, part.rate)
            yield partial(check_sampled_price, part.rate)
            yield partial(check_own_coins, part.rate)
            yield partial(check_samples_in_turn, part.rate)
        elif isinstance(part, SampledExactly):
            of = min(int(part.of), _ROWS)
            yield partial(check_fixed_sample, max(1, round(int(part.kept) * of / int(part.of))), of)
            yield partial(check_own_coins, Fraction(int(part.kept), int(part.of)))
            # Where it is drawn in another way: no enumeration reaches there.
            yield partial(check_many_rows, _SAMPLES, _FALSE_ALARM)
        elif isinstance(part, Best):
            yield partial(check_number_of_runs, part.repeats)


def parts_of(plan: Any) -> Iterator[Any]:
    """Return a plan and all plans within it, also those of composed parts."""
    yield plan
    for inner in (*getattr(plan, "plans", ()), *filter(None, [getattr(plan, "plan", None)])):
        if isinstance(inner, Plan):
            yield from parts_of(inner)
    fixed = getattr(getattr(plan, "part", None), "fixed_plan", None)
    if isinstance(fixed, Plan):
        yield from parts_of(fixed)


def _poisson(rate: Fraction, noise: Noise, rows: int = _MANY) -> np.ndarray[Any, Any]:
    data = np.arange(rows)
    kept, _ = Runner(Sampled(Use(Geometric(scale=1)), rate), noise).sampled(data, rate)
    return np.isin(data, kept)


def _fixed(kept: int, noise: Noise, rows: int = _MANY) -> np.ndarray[Any, Any]:
    data = np.arange(rows)
    plan = SampledExactly(Use(Geometric(scale=1)), kept, rows)
    sample, _ = Runner(plan, noise).sampled_exactly(data, kept, rows)
    return np.isin(data, sample)


def _subsets(rows: list[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(rows) + 1):
        yield from combinations(rows, size)


def _compare(found: Enumeration, subset: tuple[int, ...], expected: Fraction, name: str) -> None:
    if not found.brackets(subset, max(expected - _TINY, Fraction(0)), expected + _TINY):
        mass = float(found.mass.get(subset, Fraction(0)))
        raise ContractViolation(
            f"{name} is the rows {subset} with probability {mass:.4g}, and not {float(expected):.4g}"
        )
