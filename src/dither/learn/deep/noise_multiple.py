"""The least noise of sampled steps whose loss is within an epsilon and a delta."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final, cast

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import round_up, sqrt_up
from dither.learn.noise_search import least_multiple
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ApproxDP, InOrder, Loss, Repeat, Sampled, Unit, Use
from dither.privacy.calibration import check_loss
from dither.privacy.conversions import zcdp_rho
from dither.privacy.losses import states_rho

#: The noise of a count of all examples, as a multiple of that of a step: it costs next to nothing.
COUNT: Final = 20
#: What discrete noise may cost more than rounded noise: more than what a grid of 2^20 steps and more sets aside.
SPARE: Final = Fraction(1000, 1001)


def checked(within: Loss) -> ApproxDP:
    """Return the loss that sampled steps may have; a pure epsilon and a rho are refused."""
    check_loss(within)
    if not isinstance(within, ApproxDP) or not within.delta or states_rho(within):
        raise InvalidParameter("within", within, "an epsilon at a delta: samples do not lessen a rho")
    if not within.epsilon:
        raise NoGuarantee(f"no noise reaches {within}")
    return within


def unsampled_multiple(epsilon: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Return the noise of a step that is enough without samples, by the sum of rhos."""
    return round_up(sqrt_up(steps / (2 * zcdp_rho(epsilon, delta))), bits=16)


@lru_cache(maxsize=64)
def noise_multiple(
    epsilon: Fraction, delta: Fraction, rate: Fraction, steps: int, unit: Unit, *, counted: bool = False
) -> Fraction:
    """Return the noise of a step, as a multiple of the largest change of its sum by one unit.

    Args:
        epsilon: the epsilon not to exceed.
        delta: the delta at which it is stated.
        rate: the probability that an example is in the sample of a step.
        steps: the number of steps.
        unit: what is protected.
        counted: whether all examples are counted first, with ``COUNT`` times the noise.

    """
    target = epsilon * SPARE

    def excess(times: Fraction) -> float:
        rounds = Repeat(Sampled(Use(Gaussian(sigma=times)), rate), steps)
        plan = InOrder.of(Use(Gaussian(sigma=COUNT * times)), rounds) if counted else rounds
        lost = cast(ApproxDP, Accounted(plan, unit, delta).loss(1))
        return math.log(float(lost.epsilon / target)) if lost.epsilon else -math.inf

    # Without samples this much noise would do, and samples tell less.
    high = unsampled_multiple(target, delta, steps)
    return least_multiple(excess, high * rate / 4, high)
