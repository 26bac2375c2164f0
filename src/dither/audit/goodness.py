"""The self-test of noise: do draws follow their law? Kolmogorov and Smirnov's distance, for any law.

The largest distance between the share of draws up to x and the probability of that, over all x, exceeds t with
probability at most 2 e^(-2 n t^2), for continuous and for discrete laws alike (Dvoretzky, Kiefer and Wolfowitz, with
Massart's constant, 1990). So the test never relies on a table for continuous laws, and a law that is off by D > t
anywhere is missed with probability at most 2 e^(-2 n (D - t)^2): that is its power, and it is stated beside the result.

The test runs inside the walls: it sees the noise, and whoever sees the noise and the answer knows the data. What a pass
cannot show: that the noise is independent of the data or of other noise, or drawn anew each time (the same good numbers
pass every time); that far tails are right (an event rarer than the critical distance has no weight); that the scale is
the one that a promise needs. And noise that fails is never to be drawn again until it passes: that would change its
law. Passing is no proof of privacy; failing is proof of a defect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.mechanisms import Gaussian, Laplace
from dither.noise import system_noise

Floats = NDArray[np.float64]

#: With this probability at most a defect of the size stated is missed.
MISS = 1e-6
_STEPS = 40


@dataclass(frozen=True)
class Fit:
    """How far draws are from a law.

    Guarantee: independent draws of the law have ``distance`` above ``critical`` with probability at most
    ``false_alarm``; draws of a law that is ``seen`` away from it or more have it with probability 1 - 1e-6 at least.
    """

    distance: float
    critical: float
    seen: float
    draws: int
    false_alarm: float

    @property
    def is_refuted(self) -> bool:
        """Whether the draws refute the law."""
        return self.distance > self.critical


@dataclass(frozen=True)
class Law:
    """A law to draw from, and the probability of a draw up to x when its scale is multiplied by a factor.

    Args:
        name: its name.
        draw: returns a number of independent draws.
        up_to: of points and a factor of the scale.
        step: the distance between the values of a discrete law; 0 for a continuous one.

    """

    name: str
    draw: Callable[[int], NDArray[Any]]
    up_to: Callable[[Floats, float], Floats]
    step: float = 1.0


def critical_distance(draws: int, chance: float) -> float:
    """Return the distance that is exceeded with probability at most ``chance``."""
    return math.sqrt(math.log(2 / chance) / (2 * draws))


def noise_test(
    draws: ArrayLike, up_to: Callable[[Floats], Floats], *, step: float = 0.0, false_alarm: float = 1e-6
) -> Fit:
    """Return whether draws follow a law.

    Args:
        draws: independent draws.
        up_to: the probability of a draw up to each of some points.
        step: the distance between the values of a discrete law; 0 for a continuous one.
        false_alarm: the probability of refuting draws that do follow the law.

    >>> coins = system_noise().bernoulli(Fraction(1, 2), 10_000)
    >>> fair = lambda x: np.where(x < 0, 0.0, np.where(x < 1, 0.5, 1.0))
    >>> noise_test(coins, fair, step=1).is_refuted, noise_test(coins | coins[::-1], fair, step=1).is_refuted
    (False, True)

    """
    column = np.asarray(draws, dtype=np.float64).ravel()
    if column.size == 0 or np.isnan(column).any():
        raise InvalidParameter("draws", f"{column.size} draws", "at least one draw, and numbers all")
    if not 0 < false_alarm < 1:
        raise InvalidParameter("false_alarm", false_alarm, "a probability above 0 and below 1")
    values, counts = np.unique(column, return_counts=True)
    shares = np.cumsum(counts) / column.size
    above = float(np.max(shares - up_to(values)))
    # Just before a value met, the law may be ahead of the draws by all that lies between it and the value before.
    below = float(np.max(up_to(values - step) - np.concatenate([[0.0], shares[:-1]])))
    critical = critical_distance(column.size, false_alarm)
    seen = critical + critical_distance(column.size, MISS)
    return Fit(max(above, below, 0.0), critical, seen, column.size, false_alarm)


def smallest_scale_error(law: Law, seen: float) -> float:
    """Return by which share the scale must be too small for the laws to lie ``seen`` apart; infinite if it never is."""
    points = np.unique(law.draw(4096).astype(np.float64))
    truth = law.up_to(points, 1.0)

    def apart(share: float) -> float:
        return float(np.max(np.abs(law.up_to(points, 1 - share) - truth)))

    low, high = 0.0, 0.9
    if apart(high) < seen:
        return math.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if apart(middle) >= seen else (middle, high)
    return high


def noise_laws() -> tuple[Law, ...]:
    """Return the laws of the basic samplers, at small, ordinary and large scales."""
    noise = system_noise()
    laws = []
    for scale in (Fraction(1, 2), Fraction(3), Fraction(1000)):
        laws += [
            Law(f"discrete Laplace, scale {scale}", partial(noise.discrete_laplace, scale), _laplace(scale)),
            Law(f"geometric, scale {scale}", partial(noise.geometric, scale), _geometric(scale)),
            Law(f"discrete Gaussian, sigma {scale}", partial(noise.discrete_gaussian, scale), _gauss(scale)),
        ]
    laws.append(Law("uniform below 1000", partial(noise.uniform_below, 1000), _uniform(1000)))
    laplace, gaussian = Laplace(scale=3), Gaussian(sigma=3)
    laws.append(_rounded("Laplace on its grid, scale 3", laplace, _smooth_laplace(3.0)))
    laws.append(_rounded("Gaussian on its grid, sigma 3", gaussian, _smooth_gauss(3.0)))
    return tuple(laws)


def self_test(draws: int = 1_000_000, *, false_alarm: float = 1e-6) -> dict[str, tuple[Fit, float]]:
    """Return, for every law of the noise room, how well draws fit it, and the smallest error of scale that is seen.

    Guarantee: sound samplers fail any of the tests with probability at most ``false_alarm``.
    """
    laws, found = noise_laws(), {}
    for law in laws:
        fit = noise_test(law.draw(draws), partial(_itself, law), step=law.step, false_alarm=false_alarm / len(laws))
        found[law.name] = fit, smallest_scale_error(law, fit.seen)
    return found


def _itself(law: Law, x: Floats) -> Floats:
    return law.up_to(x, 1.0)


def _laplace(scale: Fraction) -> Callable[[Floats, float], Floats]:
    def up_to(x: Floats, factor: float) -> Floats:
        rate = 1 / (float(scale) * factor)
        whole = np.floor(x)
        below = np.exp(-rate * np.maximum(-whole, 0)) / (1 + math.exp(-rate))
        above = 1 - np.exp(-rate * (np.maximum(whole, 0) + 1)) / (1 + math.exp(-rate))
        return np.asarray(np.where(whole < 0, below, above))

    return up_to


def _geometric(scale: Fraction) -> Callable[[Floats, float], Floats]:
    def up_to(x: Floats, factor: float) -> Floats:
        return np.asarray(-np.expm1(-(np.maximum(np.floor(x), -1) + 1) / (float(scale) * factor)))

    return up_to


def _gauss(sigma: Fraction) -> Callable[[Floats, float], Floats]:
    def up_to(x: Floats, factor: float) -> Floats:
        spread = float(sigma) * factor
        reach = math.ceil(12 * spread) + 2
        support = np.arange(-reach, reach + 1)
        law = np.exp(-(support**2) / (2 * spread**2))
        total = np.concatenate([[0.0], np.cumsum(law) / law.sum()])
        return np.asarray(total[np.clip(np.floor(x) + reach + 1, 0, total.size - 1).astype(int)])

    return up_to


def _uniform(limit: int) -> Callable[[Floats, float], Floats]:
    return lambda x, factor: np.clip((np.floor(x) + 1) / (limit * factor), 0, 1)


def _smooth_laplace(scale: float) -> Callable[[Floats, float], Floats]:
    def up_to(x: Floats, factor: float) -> Floats:
        tail = np.exp(-np.abs(x) / (scale * factor)) / 2
        return np.asarray(np.where(x < 0, tail, 1 - tail))

    return up_to


def _smooth_gauss(sigma: float) -> Callable[[Floats, float], Floats]:
    def up_to(x: Floats, factor: float) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(x / (sigma * factor)))

    return up_to


def _rounded(name: str, mechanism: Any, smooth: Callable[[Floats, float], Floats]) -> Law:
    """Return the law of a mechanism that rounds smooth noise around 0 to a grid."""
    step, noise = float(mechanism.grid), system_noise()
    return Law(
        name,
        lambda count: np.asarray(mechanism.draw_many(0.0, count, noise)).ravel(),
        lambda x, factor: smooth(np.round(x / step) * step + step / 2, factor),
        step,
    )
