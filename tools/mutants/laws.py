"""Mutants of the noise and of what it is charged: killed by following every coin of a small instance.

The exact law of a draw, as far as its likeliest branches decide it, is compared with the promise on two neighbours; a
ratio that is too large is certain.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.checks.contract import check_total
from dither.checks.law import check_law_by_branching, conversed
from dither.checks.violation import require
from dither.exact import Number, non_negative
from dither.mechanisms import AboveThreshold, Geometric, Laplace, PermuteAndFlip, RandomisedResponse, find
from dither.mechanisms.core.mechanism import InteractivePrimitive, Primitive
from dither.noise import Noise, system_noise
from dither.privacy import Loss, PureDP
from tools.mutants.record import Mutant, mutated

_NOISE = "dither.noise.source:Noise"
_ABOVE = "dither.mechanisms.above_threshold:AboveThreshold"


def _check_draws(mechanism: Primitive[Any, Any], here: Any, there: Any) -> None:
    check_law_by_branching(partial(mechanism.draw, here), partial(mechanism.draw, there), mechanism.loss(1))


def _check_talk(mechanism: InteractivePrimitive[Any, Any], here: list[int], there: list[int], runs: int) -> None:
    check_law_by_branching(
        partial(conversed, mechanism, here), partial(conversed, mechanism, there), mechanism.loss(1), runs=runs
    )


def _counts() -> None:
    """Check that noise on a count keeps the promise of its scale."""
    for scale in ("1", "1/3"):
        _check_draws(Geometric(scale=scale), 0, 1)


def _scaled(before: Any, self: Noise, scale: Number, size: int) -> NDArray[Any]:
    drawn: NDArray[Any] = before(self, Fraction(95, 100) * non_negative("scale", scale), size)
    return drawn


def _clipped(before: Any, self: Noise, scale: Number, size: int) -> NDArray[Any]:
    reach = math.ceil(4 * non_negative("scale", scale))
    clipped: NDArray[Any] = np.clip(before(self, scale, size), -reach, reach)
    return clipped


def _loss_of_wider_noise(before: Any, self: Geometric, d_in: Number = 1) -> Loss:
    return PureDP(non_negative("d_in", d_in) / (self.scale * Fraction(105, 100)))


def _loss_that_falls_with_noise(before: Any, self: Geometric, d_in: Number = 1) -> Loss:
    return PureDP(non_negative("d_in", d_in) * self.scale)


def _responses() -> None:
    """Check that every category is reported by people who do not have it."""
    _check_draws(RandomisedResponse(epsilon=1), 0, 1)


def _never_flipped(before: Any, self: RandomisedResponse, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
    drawn: NDArray[np.int64] = before(self, value, count, noise)
    return drawn if self.domain.admit(value) else np.zeros_like(drawn)


def _choices() -> None:
    """Check that permute-and-flip loses no more rho than it says."""
    _check_draws(PermuteAndFlip(candidates=2, scale=1), np.array([0, 0]), np.array([1, -1]))


def _loss_of_exponential(before: Any, self: PermuteAndFlip, d_in: Number = 1) -> Loss:
    epsilon = self.epsilon_of_one(d_in)
    return PureDP(epsilon, rho=epsilon**2 / 8)


def _same_side() -> None:
    """Check that many values just below the threshold cost no more than one."""
    _check_talk(AboveThreshold(threshold=0, threshold_scale=20, query_scale="1/2"), [0] * 3, [1] * 3, 500)


def _begun_without_noise(before: Any, self: AboveThreshold, noise: Noise) -> Any:
    return before(self, _Silence())


class _Silence:
    """Noise that is always 0."""

    def discrete_laplace(self, scale: Number, size: int) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64)


def _first_positive() -> None:
    """Check that what the first positive tells costs no more than is charged."""
    _check_talk(AboveThreshold(threshold=0, threshold_scale="2/3", query_scale="1/3"), [0] * 3, [1] * 3, 1000)


def _value_told(before: Any, self: AboveThreshold, state: Any, value: int, noise: Noise) -> tuple[Any, bool]:
    noisy = int(self.domain.admit(value)[0]) + int(noise.discrete_laplace(self.query_scale, 1)[0])
    is_above = noisy >= state.noisy_threshold
    state.left -= is_above
    return noisy if is_above else None, state.left == 0


def _two_positives() -> None:
    """Check that every positive is charged."""
    sparse = AboveThreshold(threshold=1, threshold_scale="1/4", query_scale="1/3", positives=2)
    _check_talk(sparse, [0, 1] * 2, [1, 0] * 2, 800)


def _loss_of_one_positive(before: Any, self: AboveThreshold, d_in: Number = 1) -> Loss:
    change = non_negative("d_in", d_in)
    return PureDP(change / self.threshold_scale + (1 if self.one_way else 2) * change / self.query_scale)


def _hostile_scores() -> None:
    """Check that no scores make a choice raise."""
    check_total(next(iter(find("exponential").examples())))


def _by_normalised_floats(before: Any, self: Noise, scores: Any, rate: Number, size: int) -> NDArray[np.int64]:
    with np.errstate(all="ignore"):
        weights = np.exp(float(non_negative("rate", rate)) * np.asarray(scores, dtype=np.float64))
        running = np.cumsum(weights / weights.sum())
    if not np.isfinite(running[-1]):
        raise FloatingPointError("probabilities contain NaN")
    uniform = self.uniform_below(2**53, size) * 2.0**-53
    return np.searchsorted(running, uniform.astype(np.float64), side="right").astype(np.int64)


def _on_grid() -> None:
    """Check that every number that Laplace noise releases lies on the declared grid; no float is added to a value."""
    for mechanism in (Laplace(scale=1), Laplace(scale=1, grid="1/1024")):
        for out in np.asarray(mechanism.draw_many(0.1, 64, system_noise())).ravel().tolist():
            steps = Fraction(out) / Fraction(mechanism.grid or 1)
            require(steps.denominator == 1, f"a number off the grid {mechanism.grid}")


def _float_laplace(before: Any, self: Laplace, value: Any, count: int, noise: Noise) -> NDArray[np.float64]:
    uniform = (noise.uniform_below(2**53, count).astype(np.float64) + 0.5) * 2.0**-53 - 0.5
    drawn = -float(self.scale) * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    return np.asarray(float(value) + drawn).reshape(count, *self.draw_shape)


LAWS = (
    Mutant(
        1,
        "scale times 0.95",
        "",
        "noise is narrower than its scale says",
        "exact law",
        lambda: mutated(f"{_NOISE}.discrete_laplace", _scaled),
        _counts,
    ),
    Mutant(
        2,
        "scale times 1.05 in the loss only",
        "",
        "noise is charged as if it were wider",
        "exact law",
        lambda: mutated("dither.mechanisms.geometric:Geometric.loss", _loss_of_wider_noise),
        _counts,
    ),
    Mutant(
        4,
        "one bit of randomised response never flipped",
        "opendp/opendp#2708",
        "one answer is always true",
        "exact law",
        lambda: mutated("dither.mechanisms.randomised_response:RandomisedResponse.draw_many", _never_flipped),
        _responses,
    ),
    Mutant(
        5,
        "noisy maximum charged as the exponential mechanism",
        "opendp/opendp#2911",
        "rho is too small for permute-and-flip",
        "exact law",
        lambda: mutated("dither.mechanisms.permute_and_flip:PermuteAndFlip.loss", _loss_of_exponential),
        _choices,
    ),
    Mutant(
        6,
        "above-threshold without threshold noise",
        "Lyu, Su and Li 2017",
        "every negative answer costs",
        "exact law",
        lambda: mutated(f"{_ABOVE}.begin", _begun_without_noise),
        _same_side,
    ),
    Mutant(
        7,
        "above-threshold that prints the value",
        "Lyu, Su and Li 2017",
        "the value pins the threshold down",
        "exact law",
        lambda: mutated(f"{_ABOVE}.reply", _value_told),
        _first_positive,
    ),
    Mutant(
        8,
        "above-threshold whose noise ignores the number of answers",
        "Lyu, Su and Li 2017",
        "all positives are charged as one",
        "exact law",
        lambda: mutated(f"{_ABOVE}.loss", _loss_of_one_positive),
        _two_positives,
    ),
    Mutant(
        13,
        "underflow raises",
        "IBM/differential-privacy-library#107, opendp/smartnoise-sdk#572",
        "an exception tells scores apart",
        "contract",
        lambda: mutated(f"{_NOISE}.select", _by_normalised_floats),
        _hostile_scores,
    ),
    Mutant(
        16,
        "floating-point noise",
        "Mironov 2012",
        "low bits tell the value",
        "contract",
        lambda: mutated("dither.mechanisms.laplace:Laplace.draw_many", _float_laplace),
        _on_grid,
    ),
    Mutant(
        17,
        "noise clipped at four scales",
        "",
        "some outcomes are possible on one side only",
        "exact law",
        lambda: mutated(f"{_NOISE}.discrete_laplace", _clipped),
        _counts,
    ),
    Mutant(
        22,
        "less noise, less charge",
        "OpenMined/PySyft#6914",
        "the price falls as the noise does",
        "exact law",
        lambda: mutated("dither.mechanisms.geometric:Geometric.loss", _loss_that_falls_with_noise),
        _counts,
    ),
)
