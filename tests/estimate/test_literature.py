"""What a doctoral thesis printed about the accuracy of Laplace noise: its tables where they are right, and where not.

Liu, "Privacy preserving data mining for numerical matrices, social networks, and big data" (Kentucky 2015), chapters 7
and 10. Noise has the scale 1 / epsilon; epsilon = 1 here, since only epsilon times a distance matters.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dither.estimate.accuracy import (
    LaplaceLaw,
    LaplaceSumLaw,
    difference,
    failure_probability,
    order_probability,
    small_values,
    total,
)

NOISE = LaplaceLaw(scale=1)


def printed_bound(count: int, share: float) -> float:
    """Return theorem 7.2.1: P[sum >= x] <= share for x = 6 ln(1/share) or sqrt(6 n ln(1/share))."""
    log = math.log(1 / share)
    return 6 * log if count < 6 * log else math.sqrt(6 * count * log)


@pytest.mark.parametrize(
    ("c", "epsilon", "within", "beyond"),
    [
        (1, "0.1", "9.5", "60.7"),
        (1, "0.2", "18.1", "36.8"),
        (1, "0.5", "39.3", "8.2"),
        (1, "1", "63.2", "0.7"),
        (5, "0.1", "39.3", "8.2"),
        (5, "0.2", "63.2", "0.7"),
        (5, "0.5", "91.8", "<0.1"),
        (5, "1", "99.3", "<0.1"),
        (10, "0.1", "63.2", "0.7"),
        (10, "0.2", "86.5", "<0.1"),
        (10, "0.5", "99.3", "<0.1"),
        (10, "1", ">99.9", "<0.1"),
    ],
)
def test_table_10_1_is_right(c: int, epsilon: str, within: str, beyond: str) -> None:
    found = small_values(LaplaceLaw(scale=1 / Fraction(epsilon)), c)
    rate = c * float(Fraction(epsilon))
    assert found.within == pytest.approx(1 - math.exp(-rate), rel=1e-12)
    assert found.beyond == pytest.approx(math.exp(-5 * rate), rel=1e-12)
    assert found.within > 0.999 if within[0] == ">" else f"{100 * found.within:.1f}" == within
    assert found.beyond < 0.001 if beyond[0] == "<" else f"{100 * found.beyond:.1f}" == beyond


@pytest.mark.parametrize(
    ("share", "tails"),
    [(0.2, {1: "0.024", 14: "0.011", 200: "0.0087"}), (0.1, {1: "0.014", 14: "0.0041", 200: "0.0028"})],
)
def test_the_bound_of_theorem_7_2_1_holds_and_is_loose(share: float, tails: dict[int, str]) -> None:
    """Figures 7.4 and 7.5: P[|sum| >= sqrt(6 n ln(2 / share))] is far below the share for every n, small n included."""
    for count in (*range(1, 31), 100, 200, 1000):
        law = total(NOISE, count)
        assert law.beyond(printed_bound(count, share / 2)) < share
        assert law.tail(printed_bound(count, share)) < share
        assert law.beyond(math.sqrt(6 * count * math.log(2 / share))) < share
    for count, expected in tails.items():
        found = total(NOISE, count).beyond(math.sqrt(6 * count * math.log(2 / share)))
        assert f"{found:.2g}" == expected


def test_theorem_7_2_2_is_wrong() -> None:
    """It drops the number of summands from the bound, so that with enough of them the bound fails half the time."""
    for count, expected in ((50, 0.17), (200, 0.31), (1000, 0.41)):
        exceeded = total(NOISE, count).tail(6 * math.log(1 / 0.2))
        assert exceeded == pytest.approx(expected, abs=0.01)
    assert total(NOISE, 50).tail(6 * math.log(1 / 0.2)) < 0.2 < total(NOISE, 200).tail(6 * math.log(1 / 0.2))
    assert total(NOISE, 10**6).tail(6 * math.log(1 / 0.01)) > 0.49


@pytest.mark.parametrize("gap", [1, 5, 20, 60])
@pytest.mark.parametrize("count", [2, 6, 30])
def test_theorem_7_2_4_holds_and_is_loose(gap: int, count: int) -> None:
    """The order of two sums: at least 1 - e^(-gap/6) or 1 - e^(-gap^2/(6 n)); the exact law says more."""
    first = LaplaceSumLaw(scale=1, count=count // 2)
    exact = order_probability(difference(first, first), gap)
    printed = 1 - math.exp(-gap / 6) if count < gap else 1 - math.exp(-(gap**2) / (6 * count))
    assert exact > printed


def test_theorem_7_1_1_is_wrong_for_far_guesses() -> None:
    """It promises |guess - truth| <= sigma with 1 - e^-||c| - sigma|, which grows with the offset c of the guess."""
    sigma, c = 1, 10
    printed = 1 - math.exp(-abs(c - sigma))
    exact = 1 - failure_probability(NOISE, sigma, offset=c)
    assert printed > 0.999
    assert exact == pytest.approx(math.exp(-c) * math.sinh(sigma), rel=1e-9)
    # For guesses within sigma it holds.
    for near in (Fraction(0), Fraction(1, 2), Fraction(1)):
        assert 1 - failure_probability(NOISE, 1, offset=near) >= 1 - math.exp(-abs(float(near) - 1)) - 1e-12


def test_theorem_7_2_5_says_nothing() -> None:
    """Its bound is at most 0 whatever is asked; the probability is F(c + sigma) - F(c - sigma)."""
    law, c, sigma = total(NOISE, 4), 2, 3
    printed = 1 - max(1, 2 * math.exp(-(sigma + c) / 6))
    exact = law.cdf(c + sigma) - law.cdf(c - sigma)
    assert printed <= 0
    assert 1 - failure_probability(law, sigma, offset=c) == pytest.approx(exact, rel=1e-12)
    assert exact > 0.6


@pytest.mark.parametrize(("c", "truth"), [(0, 0.5), (5, 1 - math.exp(-5) / 2)])
def test_the_factor_of_theorem_7_3_1_is_wrong(c: int, truth: float) -> None:
    """P[d_i <= M] for a noisy value c below M is 1 - e^-c / 2; printed are 0 at c = 0 and 0.57 at c = 5."""
    printed = 1 - math.exp(-c / 6) if c > 1 else 1 - math.exp(-(c**2) / 6)
    assert NOISE.cdf(c) == pytest.approx(truth)
    assert printed == pytest.approx({0: 0.0, 5: 0.565}[c], abs=0.001)
