"""The square-root counter: its loss, its error against other counters, its conversation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import SquareRootCounter
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.prefix_sums import PrefixCounter
from dither.noise import system_noise
from dither.privacy import ZCDP, ApproxDP, GaussianDP


def answers(counter: SquareRootCounter, values: list[Any]) -> list[int]:
    noise = system_noise()
    state = counter.begin(noise)
    replies = [counter.reply(state, value, noise) for value in values]
    assert [over for _, over in replies] == [place == counter.steps - 1 for place in range(len(values))]
    return [answer for answer, _ in replies]


@pytest.mark.parametrize("steps", [1, 2, 7, 64])
def test_the_loss_is_that_of_the_shorter_sums(steps: int) -> None:
    """What the noise is added to moves by the root of the matrix of running sums, whose columns are computed here."""
    root = np.array(
        [[math.comb(2 * (t - k), t - k) / 4 ** (t - k) if t >= k else 0.0 for k in range(steps)] for t in range(steps)]
    )
    assert root @ root == pytest.approx(np.tril(np.ones((steps, steps))))
    longest = np.linalg.norm(root, axis=0).max()
    counter = SquareRootCounter(sigma=3, steps=steps)
    assert float(counter.length) == pytest.approx(longest)
    assert counter.length >= Fraction(longest) * (1 - Fraction(1, 2**40))
    assert float(counter.loss(2).rho) == pytest.approx((2 * longest / 3) ** 2 / 2)
    covariance = 9 * root @ root.T
    for tick in {0, steps // 2, steps - 1}:
        assert counter.standard_error(tick) == pytest.approx(math.sqrt(covariance[tick, tick] + 1 / 12))


@pytest.mark.parametrize("within", [ZCDP("1/2"), ApproxDP(1, "1e-6")])
def test_calibration_stays_within_the_loss(within: Any) -> None:
    counter = SquareRootCounter.calibrated(within, sensitivity=3, steps=1000)
    assert within.covers(counter.loss(3))
    assert not within.covers(counter.loss("3.01"))


def test_a_loss_that_no_rho_keeps_is_refused() -> None:
    with pytest.raises(NoGuarantee, match="ZCDP"):
        SquareRootCounter.calibrated(GaussianDP(1), sensitivity=1, steps=9)


def test_it_errs_far_less_than_a_tree() -> None:
    """At rho 1/2 over 65,536 ticks: the closed form is 4.596; a binary tree has 17 levels, and up to 17 nodes a sum."""
    counter = SquareRootCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16)
    assert counter.standard_error(2**16 - 1) <= 4.62
    node = DiscreteGaussian(sigma=math.isqrt(17 * 10**6) / Fraction(1000))
    assert PrefixCounter(steps=2**16, node=node).loss(1).rho == pytest.approx(0.5, rel=1e-3)
    worst = math.sqrt(float(node.sigma) ** 2 * 16)
    assert counter.standard_error(2**16 - 1) < 0.29 * worst


def test_sums_are_those_of_the_values() -> None:
    """With noise below one half nearly always, sums are exact; odd values have a stated meaning."""
    counter = SquareRootCounter(sigma="1/100", steps=6)
    assert answers(counter, [3, -1, 0, 5, 0, 2]) == [3, 2, 2, 7, 7, 9]
    limit = 2**60 // 6
    assert answers(counter, [10**30, 0, -(10**30), 0, 1, 1])[:3] == [limit, limit, 0]


def test_intervals_grow_with_the_stream_and_hold_for_one_tick() -> None:
    counter = SquareRootCounter(sigma=10, steps=50)
    widths = [counter.interval_at(tick, 0, "0.95").high for tick in range(50)]
    assert all(first <= second for first, second in pairwise(widths))
    assert widths[0] == math.floor(10 * 1.95996 + 0.5)
    assert counter.error("0.95").value > widths[-1]


@pytest.mark.parametrize(
    ("words", "parameter"),
    [
        ({"sigma": 0, "steps": 3}, "sigma"),
        ({"sigma": 2**21, "steps": 3}, "sigma"),
        ({"sigma": 1, "steps": 0}, "steps"),
        ({"sigma": 1, "steps": 2**23}, "steps"),
    ],
)
def test_refusals(words: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        SquareRootCounter(**words)
    assert caught.value.parameter == parameter
    for tick in (-1, 5):
        with pytest.raises(InvalidParameter, match="tick"):
            SquareRootCounter(sigma=1, steps=5).interval_at(tick, 0, "0.9")
