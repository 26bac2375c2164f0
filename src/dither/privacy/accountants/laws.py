"""The distribution of the privacy loss of a basic pair of outputs, as four tails.

For a pair ``P``, ``Q`` the loss of an outcome is ``L = ln(P / Q)``. A law tells how much of ``P`` and of ``Q`` lies at
or below, and above, any loss; each tail is computed from its own side, so that small ones keep their digits. The error
of the floats is bounded: the outcomes counted, the same for ``P`` and ``Q``, are those at or below a level within
``blur`` of the one asked for, and their probability is known to a relative ``relative``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import NoGuarantee
from dither.exact import to_float

Floats: TypeAlias = NDArray[np.float64]

#: The unit roundoff of a float.
UNIT = 2.0**-53
#: Losses are followed until so little probability lies beyond them; the rest counts as infinite, or is moved up.
TAIL = 2.0**-100
#: The normal tail at this many deviations is below TAIL.
_DEVIATIONS = 11.6
#: What the relative errors of all tails stay below, with room for arguments that are rounded; measured are 2^-44 or so.
_RELATIVE = 2.0**-40
_MOST_ATOMS = 1 << 20


class Tails(NamedTuple):
    """Probabilities of a loss at or below, and above, each of some levels, under both distributions of the pair."""

    p_below: Floats
    p_above: Floats
    q_below: Floats
    q_above: Floats


class Law(ABC):
    """The distribution of the loss of one pair."""

    relative = _RELATIVE
    #: The probability under Q of what is impossible under P.
    hidden = 0.0
    #: Whether two levels with the same tails have nothing at all between them.
    has_steps = False

    @property
    @abstractmethod
    def reach(self) -> tuple[float, float]:
        """Losses outside which both P and Q have at most TAIL of finite loss."""

    @abstractmethod
    def tails(self, losses: Floats) -> Tails:
        """Return the four tails at these losses, which may be infinite: nothing lies at or below minus infinity."""

    def blur(self) -> float:
        """Return how far the losses at which the tails are evaluated may lie from the requested ones."""
        low, high = self.reach
        return 16 * UNIT * (abs(low) + abs(high))


@dataclass(frozen=True)
class NormalLaw(Law):
    """Two unit normals ``mu`` apart: L is normal with deviation mu and mean mu^2 / 2 under P, -mu^2 / 2 under Q."""

    mu: float

    @property
    def reach(self) -> tuple[float, float]:
        """Where both normal distributions have all but TAIL."""
        far = self.mu * (self.mu / 2 + _DEVIATIONS)
        return -far, far

    def tails(self, losses: Floats) -> Tails:
        """Return normal tails."""
        from scipy.special import ndtr

        def both(at: Floats) -> tuple[Floats, Floats]:
            # The smaller tail; the other is at least one half, so that no digit is lost in the difference.
            small = ndtr(-np.abs(at))
            large = 1 - small
            return np.where(at < 0, small, large), np.where(at < 0, large, small)

        middle = losses / self.mu
        return Tails(*both(middle - self.mu / 2), *both(middle + self.mu / 2))


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """Two Laplace distributions of scale one, ``shift`` apart: L is -shift or shift outside, and linear between."""

    shift: float

    @property
    def reach(self) -> tuple[float, float]:
        """All possible losses."""
        return -self.shift, self.shift

    def tails(self, losses: Floats) -> Tails:
        """Return exponential tails between the two ends, where the loss jumps."""
        below, above = losses < -self.shift, losses >= self.shift
        inside = np.clip(losses, -self.shift, self.shift)
        p_below = np.where(above, 1.0, np.where(below, 0.0, np.exp((inside - self.shift) / 2) / 2))
        q_above = np.where(below, 1.0, np.where(above, 0.0, np.exp(-(inside + self.shift) / 2) / 2))
        return Tails(p_below, 1 - p_below, 1 - q_above, q_above)


@dataclass(frozen=True)
class GeometricLaw(Law):
    """Two discrete Laplace distributions, ``steps`` apart, that fall by e^-rate a step: L is rate * (2 j - steps)."""

    rate: float
    steps: int
    has_steps = True

    @property
    def reach(self) -> tuple[float, float]:
        """All possible losses."""
        return -self.rate * self.steps, self.rate * self.steps

    def tails(self, losses: Floats) -> Tails:
        """Return geometric tails: the outcomes 0 to ``steps`` are distinguished, those beyond are not."""
        position = np.floor((np.clip(losses / self.rate, -2.0 * self.steps, 2.0 * self.steps) + self.steps) / 2)
        last = np.clip(position, -1, self.steps)
        share = 1 / (1 + math.exp(-self.rate))
        p_below = np.where(last < 0, 0.0, np.where(last >= self.steps, 1.0, share * self._power(self.steps - last)))
        q_above = np.where(last < 0, 1.0, np.where(last >= self.steps, 0.0, share * self._power(last + 1)))
        return Tails(p_below, 1 - p_below, 1 - q_above, q_above)

    def _power(self, steps: Floats) -> Floats:
        return np.exp(-self.rate * steps)


class AtomLaw(Law):
    """Finitely many outcomes; ``leak`` of P is impossible under Q, and ``hidden`` of Q impossible under P."""

    has_steps = True

    def __init__(self, losses: Floats, p: Floats, q: Floats, *, leak: float, hidden: float) -> None:
        order = np.argsort(losses, kind="stable")
        self._losses, p, q = losses[order], p[order], q[order]
        self._p_below, self._p_above = _sums(p, lowest=0.0, highest=leak)
        self._q_below, self._q_above = _sums(q, lowest=hidden, highest=0.0)
        self.hidden = hidden
        self.relative = 4 * UNIT * (len(losses) + 64)

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and the largest loss."""
        return float(self._losses[0]), float(self._losses[-1])

    def tails(self, losses: Floats) -> Tails:
        """Return sums of atoms."""
        index = np.searchsorted(self._losses, losses, side="right")
        # What only Q can give has a loss of minus infinity: above it for the purpose of dividing Q into cells.
        bottom = np.isneginf(losses)
        q_below = np.where(bottom, 0.0, self._q_below[index])
        q_above = np.where(bottom, self._q_above[0] + self._q_below[0], self._q_above[index])
        return Tails(self._p_below[index], self._p_above[index], q_below, q_above)


def _sums(mass: Floats, *, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """Return the sums at or below, and above, the first n atoms, for every n."""
    below = np.concatenate([[lowest], lowest + np.cumsum(mass)])
    above = np.concatenate([highest + np.cumsum(mass[::-1])[::-1], [highest]])
    return below, above


def response_law(epsilon: float, options: int, leak: float) -> AtomLaw:
    """Return the loss distribution of randomised response that reveals the truth with probability ``leak``."""
    lie = (1 - leak) / (math.exp(epsilon) + options - 1)
    truth = (1 - leak) / (1 + (options - 1) * math.exp(-epsilon))
    other = (options - 2) * lie
    losses, p, q = np.array([-epsilon, 0.0, epsilon]), np.array([lie, other, truth]), np.array([truth, other, lie])
    return AtomLaw(losses, p, q, leak=leak, hidden=leak)


def discrete_gaussian_law(sigma: Fraction, shift: int) -> AtomLaw:
    """Return the loss distribution of two discrete Gaussians on the integers, ``shift`` apart."""
    width = math.ceil(sigma * 12) + shift
    if 2 * width > _MOST_ATOMS:
        raise NoGuarantee("a discrete Gaussian of so large a sigma is not followed atom by atom: use its rho")
    rate = float(1 / (2 * sigma * sigma))
    points = np.arange(-width, width + shift + 1, dtype=np.float64)
    near, far = rate * points**2, rate * (points - shift) ** 2
    total = float(np.sum(np.exp(-near)))
    # Beyond twelve deviations there is less than half of TAIL on either side; it counts as given away.
    law = AtomLaw(
        rate * shift * (2 * points - shift), np.exp(-far) / total, np.exp(-near) / total, leak=TAIL, hidden=0.0
    )
    law.relative += 16 * UNIT * float(np.max(near))
    return law


def float_up(x: Fraction) -> float:
    """Return the nearest float at or above."""
    return to_float(x, "up")
