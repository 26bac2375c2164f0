"""From a target loss to a noise scale that never exceeds the target."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, positive, round_up, sqrt_up
from dither.privacy.conversions import zcdp_rho
from dither.privacy.losses import ApproxDP, Loss, PureDP, states_rho
from dither.privacy.plans import Part

P = TypeVar("P", bound=Part)

_SMALLEST, _LARGEST = Fraction(1, 2**40), Fraction(2**120)
_PRECISION = Fraction(1, 2**20)


def laplace_scale(within: Loss, sensitivity: Number) -> Fraction:
    """Return the least Laplace scale whose loss at that sensitivity is within ``within``: sensitivity / epsilon.

    >>> laplace_scale(PureDP("1/2"), 1)
    Fraction(2, 1)
    """
    distance = positive("sensitivity", sensitivity)
    check_loss(within)
    if within.pure and PureDP(within.pure) <= within:
        return distance / within.pure
    # The rho decides: the largest epsilon whose generic rho fits.
    epsilon = _largest_epsilon(within.rho)
    if epsilon == 0 or not PureDP(epsilon) <= within:
        raise NoGuarantee(f"no Laplace noise reaches {within!r}")
    return round_up(distance / epsilon, bits=64)


def plain_approx(within: Loss) -> ApproxDP:
    """Return the largest (epsilon, delta) within ``within`` whose rho is just what follows from epsilon.

    >>> plain_approx(ApproxDP(1, "1e-6", rho="1/50")).epsilon < 1
    True
    """
    if not isinstance(within, ApproxDP) or not (within.epsilon and within.delta):
        raise InvalidParameter("within", within, "ApproxDP with an epsilon and a delta above 0")
    if not states_rho(within):
        return within
    return ApproxDP(1 / laplace_scale(PureDP(within.epsilon, rho=within.rho), 1), within.delta)


def gaussian_sigma(within: Loss, sensitivity: Number) -> Fraction:
    """Return a Gaussian sigma whose loss at that sensitivity is within ``within``.

    From zCDP the least one: sensitivity / sqrt(2 rho), rounded up. From (epsilon, delta) through the largest rho that
    converts, which is a little more than the least.

    >>> from dither.privacy.losses import ZCDP
    >>> gaussian_sigma(ZCDP("1/2"), 3)
    Fraction(3, 1)
    """
    distance = positive("sensitivity", sensitivity)
    check_loss(within)
    if isinstance(within, PureDP) or (isinstance(within, ApproxDP) and (within.delta == 0 or states_rho(within))):
        raise NoGuarantee(f"no Gaussian noise reaches {within}: it needs a rho or a delta alone")
    rho = zcdp_rho(within.epsilon, within.delta) if isinstance(within, ApproxDP) else within.rho
    if rho == 0:
        raise NoGuarantee(f"no Gaussian noise reaches {within}")
    return round_up(sqrt_up(distance * distance / (2 * rho)), bits=64)


def calibrate(build: Callable[[Fraction], P], within: Loss, *, d_in: Number = 1) -> P:
    """Return ``build(scale)`` with the least scale, to one part in a million, whose loss at ``d_in`` is within target.

    For mechanisms whose loss falls as their scale rises; the direct formulae are better where there is one.

    >>> from dither.mechanisms import Geometric
    >>> calibrate(lambda scale: Geometric(scale=scale), PureDP(1), d_in=5).loss(5) <= PureDP(1)
    True
    """
    check_loss(within)
    # From 1 downwards or upwards: most scales are near, and every step builds a mechanism.
    high = Fraction(1)
    if build(high).loss(d_in) <= within:
        while high > _SMALLEST and build(high / 2).loss(d_in) <= within:
            high /= 2
    else:
        while not build(high).loss(d_in) <= within:
            high *= 2
            if high > _LARGEST:
                raise NoGuarantee(f"no scale up to 2^120 reaches {within}")
    low = high / 2
    while high - low > low * _PRECISION:
        middle = round_up((low + high) / 2, bits=64)
        low, high = (low, middle) if build(middle).loss(d_in) <= within else (middle, high)
    return build(high)


def check_loss(within: Loss) -> None:
    """Raise InvalidParameter unless ``within`` is a loss."""
    if not isinstance(within, Loss):
        raise InvalidParameter("within", within, "a loss, such as PureDP(1)")


def _largest_epsilon(rho: Fraction) -> Fraction:
    # With x / (1 + x) <= tanh x: at rho + sqrt(2 rho) the generic rho is no longer below.
    low, high = Fraction(0), rho + sqrt_up(2 * rho)
    for _ in range(60):
        middle = round_up((low + high) / 2, bits=64)
        low, high = (middle, high) if PureDP(middle).rho <= rho else (low, middle)
    return low
