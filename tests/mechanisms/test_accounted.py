"""Accounted plans: epsilon against laws that are integrated here, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import IncompatibleDistance, InvalidParameter, PlanViolation
from dither.mechanisms import DiscreteGaussian, Gaussian, Geometric
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.core.runner import Runner
from dither.noise import system_noise
from dither.privacy import (
    NODE,
    ROW,
    ROW_REPLACED,
    ApproxDP,
    InOrder,
    Parallel,
    Relation,
    Repeat,
    Sampled,
    SampledExactly,
    Use,
    person,
)
from dither.privacy.plans import _SEEN_BY_A_SIBLING

DELTA = Fraction(1, 10**4)
ONE = Use(Gaussian(sigma=2))


def mixture(chances: dict[float, float], x: np.ndarray) -> np.ndarray:
    """The density of Gaussian noise of deviation 2 around centres of these chances."""
    return sum(q * np.exp(-((x - centre) ** 2) / 8) / math.sqrt(8 * math.pi) for centre, q in chances.items())


def true_epsilon(first: dict[float, float], second: dict[float, float]) -> float:
    """The least epsilon at DELTA between two such laws, either way, by sums over a fine grid."""
    x = np.arange(-24, 24, 4e-3)
    laws = mixture(first, x), mixture(second, x)

    def delta(epsilon: float) -> float:
        return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) * 4e-3 for p, q in (laws, laws[::-1]))

    low, high = 0.0, 50.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= DELTA else (middle, high)
    return high


def found(plan: Any, rows: int, unit: Any = ROW) -> float:
    loss = Accounted(plan, unit, DELTA).loss(rows)
    assert isinstance(loss, ApproxDP)
    assert loss.delta == DELTA
    return float(loss.epsilon)


@pytest.mark.parametrize("rate", ["1/10", "1/2", "1"])
def test_one_sampled_draw_costs_what_its_law_says(rate: str) -> None:
    chance = float(Fraction(rate))
    truth = true_epsilon({0.0: 1.0}, {0.0: 1 - chance, 1.0: chance})
    assert truth * 0.9999 <= found(Sampled(ONE, rate), 1) <= truth * 1.001


@pytest.mark.parametrize("rate", ["1/10", "1/2"])
def test_replaced_and_several_rows_cost_no_less_than_their_laws(rate: str) -> None:
    q = float(Fraction(rate))
    # A replaced row moves the value to either side of that without it by half the stability, or to one side by all.
    sides = true_epsilon({0.0: 1 - q, 0.5: q}, {0.0: 1 - q, -0.5: q})
    whole = true_epsilon({0.0: 1 - q, 1.0: q}, {0.0: 1.0})
    assert 0.9999 * max(sides, whole) <= found(Sampled(ONE, rate), 1, ROW_REPLACED) <= 1.1 * max(sides, whole)
    both = true_epsilon({0.0: 1.0}, {0.0: (1 - q) ** 2, 1.0: 2 * q * (1 - q), 2.0: q**2})
    apart = true_epsilon({0.0: 1 - q, 1.0: q}, {0.0: 1 - q, -1.0: q})
    assert 0.9999 * max(both, apart) <= found(Sampled(ONE, rate), 2) <= 4 * max(both, apart)


def test_draws_together_cost_less_than_one_by_one_and_more_than_each() -> None:
    rounds = Repeat(Sampled(ONE, "1/4"), 30)
    together = found(InOrder.of(ONE, rounds), 1)
    assert found(ONE, 1) < together
    assert found(rounds, 1) < together < found(ONE, 1) + found(rounds, 1)
    # Thirty Gaussian draws on all rows are one of the root of thirty times the stability.
    root = true_epsilon({0.0: 1.0}, {math.sqrt(30): 1.0})
    assert found(Repeat(ONE, 30), 1) == pytest.approx(root, rel=1e-3)


def test_a_sample_never_costs_more_than_all_rows_and_rows_never_less() -> None:
    losses = [found(Repeat(Sampled(ONE, rate), 20), 1) for rate in ("1/20", "1/2", "1")]
    assert losses == sorted(losses)
    for unit in (ROW, ROW_REPLACED):
        plan = Accounted(Repeat(Sampled(ONE, "1/5"), 20), unit, DELTA)
        assert plan.loss(0).is_zero
        prices = [plan.loss(rows).pure for rows in (1, 2, 100, 10**6)]
        assert prices == sorted(prices)


def refused(name: str) -> tuple[Callable[[], Any], type[Exception]]:
    plans: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
        "another noise": (lambda: Accounted(Use(Geometric(scale=2)), ROW, DELTA), InvalidParameter),
        "two draws of a sample": (lambda: Accounted(Sampled(Repeat(ONE, 2), "1/2"), ROW, DELTA), InvalidParameter),
        "no delta": (lambda: Accounted(ONE, ROW, 0), InvalidParameter),
        "nothing": (lambda: Accounted(InOrder(()), ROW, DELTA), InvalidParameter),
        "nodes": (lambda: Accounted(ONE, NODE, DELTA), InvalidParameter),
        "noise below a step": (lambda: Accounted(Use(DiscreteGaussian(sigma="1/2")), ROW, DELTA), InvalidParameter),
        "a fixed size of unknown data": (
            lambda: Accounted(SampledExactly(ONE, 2, 9), ROW, DELTA),
            IncompatibleDistance,
        ),
        "half a row": (lambda: Accounted(ONE, ROW, DELTA).loss("1/2"), InvalidParameter),
        "another unit": (lambda: Accounted(ONE, ROW, DELTA).check(ROW_REPLACED), IncompatibleDistance),
    }
    return plans[name]


@pytest.mark.parametrize(
    "name",
    [
        "another noise",
        "two draws of a sample",
        "no delta",
        "nothing",
        "nodes",
        "noise below a step",
        "a fixed size of unknown data",
        "half a row",
        "another unit",
    ],
)
def test_what_the_rule_does_not_cover_is_refused(name: str) -> None:
    deed, error = refused(name)
    with pytest.raises(error):
        deed()


def test_the_runner_walks_it_like_the_plan_within() -> None:
    run = Runner(Accounted(InOrder.of(ONE, Repeat(Sampled(ONE, "1/2"), 2)), ROW, DELTA), system_noise())
    assert not run.is_finished
    with pytest.raises(PlanViolation):
        run.sampled(np.arange(4), "1/2")
    run(ONE.part, 0)
    for _ in range(2):
        rows, inner = run.sampled(np.arange(4), "1/2")
        inner(ONE.part, float(len(rows)))
    assert run.is_finished
    with pytest.raises(PlanViolation):
        run.sampled(np.arange(4), "1/2")


def discrete(centre: int, sigma: float, reach: int = 60) -> np.ndarray:
    """The law of an integer with discrete Gaussian noise."""
    weights = np.exp(-((np.arange(-reach, reach + 1) - centre) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def discrete_epsilon(first: np.ndarray, second: np.ndarray) -> float:
    """The least epsilon at DELTA between two listed laws, either way."""
    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        worst = max(np.maximum(p - math.exp(middle) * q, 0).sum() for p, q in ((first, second), (second, first)))
        low, high = (low, middle) if worst <= DELTA else (middle, high)
    return high


@pytest.mark.parametrize("sigma", [1, 3, 12])
@pytest.mark.parametrize("rounds", [1, 2])
def test_discrete_draws_on_samples_never_cost_less_than_their_law(sigma: int, rounds: int) -> None:
    moved, q = max(1, sigma // 2), 0.25
    without = discrete(0, sigma)
    held = (1 - q) * without + q * discrete(moved, sigma)
    first, second = (
        (held, without) if rounds == 1 else (np.outer(held, held).ravel(), np.outer(without, without).ravel())
    )
    truth = discrete_epsilon(first, second)
    part = DiscreteGaussian(sigma=sigma, shape=(1,))
    priced = found(Repeat(Sampled(Use(part, moved), "1/4"), rounds), 1)
    assert truth <= priced
    # What is set aside from delta is nothing for wide noise; coarse noise falls back on its rho.
    wide = DiscreteGaussian(sigma=2**32 * sigma, shape=(1,))
    assert found(Repeat(Sampled(Use(wide, 2**32 * moved), "1/4"), rounds), 1) == pytest.approx(truth, rel=0.25)


def test_what_is_set_aside_grows_with_entries_and_draws_and_lowers_no_epsilon() -> None:
    def plan(entries: int, times: int) -> Accounted:
        part = DiscreteGaussian(sigma=2**20, shape=(entries,))
        return Accounted(Repeat(Sampled(Use(part, 2**19), "1/10"), times), ROW, DELTA)

    assert plan(200, 7).apart == 1400 * plan(1, 1).apart > 0
    rounded = Accounted(Repeat(Sampled(Use(Gaussian(sigma=2**20), 2**19), "1/10"), 7), ROW, DELTA)
    assert rounded.apart == 0
    epsilons = [one.loss(1).pure for one in (rounded, plan(200, 7), plan(10**8, 7))]
    assert epsilons == sorted(epsilons)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_samples_of_a_fixed_size_cost_no_less_than_their_law(rows: int) -> None:
    kept, of = 2, 6
    ways = [math.comb(rows, held) * math.comb(of - rows, kept - held) for held in range(min(rows, kept) + 1)]
    chances = [count / math.comb(of, kept) for count in ways]
    # Worst where all others have what the replaced rows have in the second table.
    truth = true_epsilon({float(held): chance for held, chance in enumerate(chances)}, {0.0: 1.0})
    assert (
        truth * 0.9999
        <= found(SampledExactly(ONE, kept, of), rows, ROW_REPLACED)
        <= (1.05 if rows == 1 else 2.5) * truth
    )


def test_people_cost_what_rows_cost() -> None:
    for unit, like in ((person("id", Relation.ADD_REMOVE), ROW), (person("id", Relation.REPLACE), ROW_REPLACED)):
        assert found(Repeat(Sampled(ONE, "1/4"), 5), 1, unit) == found(Repeat(Sampled(ONE, "1/4"), 5), 1, like)


def test_a_sample_of_fixed_size_is_not_of_one_disjoint_part() -> None:
    """The size of such a part is private."""
    sibling = replace(ROW_REPLACED, detail=_SEEN_BY_A_SIBLING)
    plan = Parallel(Accounted(SampledExactly(ONE, 1, 10), sibling, DELTA), touched=2, siblings=3)
    with pytest.raises(IncompatibleDistance, match="units of all of the data"):
        plan.check(ROW_REPLACED)
    Parallel(Accounted(ONE, sibling, DELTA), touched=2, siblings=3).check(ROW_REPLACED)
