"""A loss distribution rounded to a grid so that no composition of it is understated: connect the dots.

The outcomes whose loss lies between two neighbouring grid points are replaced by two outcomes, one at each point, that
keep the probability of the cell under ``P`` *and* under ``Q``. That is the largest law, for every composition, with the
same loss curve at the grid points (``docs/theory/accountants.md``, theorem 4). What floats may have got wrong is made
good towards more loss: probability is added, or moved up to the next grid point, or the whole law is said to lie up to
``slack`` higher.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from dither.errors import NoGuarantee
from dither.privacy.accountants.laws import UNIT, Floats, Law, Tails

#: A loss above this counts as infinite.
LARGEST_LOSS = 300
MOST_CELLS = 1 << 22


class TooFine(NoGuarantee):
    """A grid with too many points to work with."""


class View(Enum):
    """How a basic pair (P, Q) is seen when it is run on a secret sample that holds one unit with probability q."""

    WHOLE = "P against Q"
    REMOVED = "(1 - q) Q + q P against Q"
    ADDED = "Q against (1 - q) Q + q P"
    REPLACED = "the former above loss 0, and its mirror image below"


@dataclass(frozen=True, eq=False)
class Cells:
    """A distribution of losses on the grid of step 2^-exponent, at least as large as the one it represents.

    ``mass[i]`` is at the loss ``(first + i) * step``, ``infinity`` is the mass of infinite loss, and all losses may in
    truth be larger by up to ``slack``.
    """

    exponent: int
    first: int
    mass: Floats
    infinity: float
    slack: float

    @property
    def step(self) -> float:
        """The distance between grid points: a power of two, so that every grid point is a float."""
        return 2.0**-self.exponent

    @cached_property
    def losses(self) -> Floats:
        """The losses of the cells, exactly."""
        return (self.first + np.arange(len(self.mass), dtype=np.float64)) * self.step

    @cached_property
    def atoms(self) -> tuple[Floats, Floats]:
        """The losses and masses of non-empty cells."""
        filled = self.mass > 0
        return self.losses[filled], self.mass[filled]


def cells_of(law: Law, exponent: int, view: View, rate: float) -> Cells:
    """Return the cells of a pair seen through a sample that holds one unit with probability ``rate``."""
    with np.errstate(all="ignore"):
        if view is View.REPLACED:
            return _mirrored(law, exponent, rate)
        low, high = reach(law, view, rate)
        first = int(np.floor(low * 2.0**exponent))
        part = _Part(law, exponent, view, rate, first, max(first + 1, int(np.ceil(high * 2.0**exponent))))
        mass = part.mass()
        # Below the reach there is next to nothing, and it is moved up.
        mass[0] += part.below * (1 + law.relative)
        return Cells(exponent, first, mass, min(1.0, part.above * (1 + law.relative)), part.blur)


def deviation(law: Law, view: View, rate: float) -> float:
    """Return roughly the root mean square loss, which only decides how fine a grid is needed."""
    with np.errstate(all="ignore"):
        base = np.linspace(*law.reach, 4097)
        tails = law.tails(base)
        p, q = np.diff(tails.p_below), np.diff(tails.q_below)
        middle = (base[1:] + base[:-1]) / 2
        if view is View.WHOLE:
            mass, loss = p, middle
        else:
            # Written so that no loss overflows, however large.
            loss = np.logaddexp(np.log1p(-rate), np.log(rate) + middle)
            mass = q if view is View.ADDED else (1 - rate) * q + rate * p
        edge = abs(float(loss[-1])) * np.sqrt(float(max(0.0, 1 - np.sum(mass))))
        found = float(np.sqrt(np.sum(np.where(mass > 0, mass * np.square(loss), 0.0))) + edge)
    return min(max(found, 1e-9), float(LARGEST_LOSS))


def reach(law: Law, view: View, rate: float) -> tuple[float, float]:
    """Return the smallest and largest loss that is tracked."""
    low, high = law.reach
    if view is not View.WHOLE:
        with np.errstate(all="ignore"):
            ends = np.log1p(rate * np.expm1(np.array([-np.inf if law.hidden else low, high])))
        low, high = float(ends[0]), float(ends[1])
    if view is View.ADDED:
        low, high = -high, -low
    elif view is View.REPLACED:
        low = -high
    return max(low, -float(LARGEST_LOSS)), min(high, float(LARGEST_LOSS))


class _Part:
    """The cells between two grid points of one view, with bounds on the float errors."""

    def __init__(self, law: Law, exponent: int, view: View, rate: float, first: int, last: int) -> None:
        if last - first > MOST_CELLS:
            raise TooFine(f"a grid of step 2^-{exponent} would need {last - first} cells: choose a larger step")
        self.step = 2.0**-exponent
        self.points = np.arange(first, last + 1, dtype=np.float64) * self.step
        far = max(abs(float(self.points[0])), abs(float(self.points[-1])))
        self.blur = law.blur() + 32 * UNIT * (far + (0.0 if view is View.WHOLE else rate / (1 - rate)))
        tails = law.tails(self._levels(view, rate))
        if view is View.ADDED:
            # The loss of the view falls as that of the basic pair rises.
            tails = Tails(tails.p_above, tails.p_below, tails.q_above, tails.q_below)
        p, p_error = _differences(tails.p_below, tails.p_above, law)
        q, q_error = _differences(tails.q_below, tails.q_above, law)
        if view is View.WHOLE:
            self._first, self._second = (p, p_error), (q, q_error)
        else:
            mixed = (1 - rate) * q + rate * p, (1 - rate) * q_error + rate * p_error
            self._first, self._second = (mixed, (q, q_error)) if view is View.REMOVED else ((q, q_error), mixed)
        self.below, self.above = _outside(tails, view, rate)

    def _levels(self, view: View, rate: float) -> Floats:
        """Return the losses of the basic pair at which the view's loss passes its grid points."""
        if view is View.WHOLE:
            return self.points
        # The loss of the view is ln(1 - q + q e^L), or minus that, and never below ln(1 - q).
        ratio = np.expm1(self.points if view is View.REMOVED else -self.points) / rate
        return np.where(ratio <= -1, -np.inf, np.log1p(np.maximum(ratio, -1.0)))

    def mass(self) -> Floats:
        """Return the mass at every grid point: each cell's probability split between its two ends."""
        (p, p_error), (q, q_error) = self._first, self._second
        growth = np.exp(self.points[:-1])
        p_high = p + p_error + 8 * UNIT * p
        # At the upper end: (p - q e^low) / (1 - e^-step), plus all errors, and plus the blur of the two ends.
        excess = p - growth * q + p_error + growth * q_error + (16 * UNIT + 2 * self.blur) * (p_high + growth * q)
        upper = np.clip(excess / -np.expm1(-self.step) * (1 + 8 * UNIT), 0.0, p_high)
        mass = np.zeros(len(self.points))
        mass[:-1] = p_high - upper
        mass[1:] += upper
        return mass * (1 + 8 * UNIT)


def _mirrored(law: Law, exponent: int, rate: float) -> Cells:
    """Return the symmetric distribution whose curve above loss 0 is that of the view REMOVED."""
    last = max(1, int(np.ceil(reach(law, View.REPLACED, rate)[1] * 2.0**exponent)))
    above, below = (
        _Part(law, exponent, View.REMOVED, rate, 0, last),
        _Part(law, exponent, View.ADDED, rate, -last, 0),
    )
    # What is at or above loss 0, less what is above it, is at 0.
    middle = law.tails(np.zeros(1))
    at_least = float(middle.q_below[0])
    more = (1 - rate) * float(middle.q_above[0]) + rate * float(middle.p_above[0])
    upper = above.mass()
    mass = np.concatenate([below.mass(), upper[1:]])
    mass[last] += float(upper[0]) + max(0.0, at_least - more) + 4 * law.relative
    mass[0] += below.below * (1 + law.relative)
    return Cells(exponent, -last, mass, min(1.0, above.above * (1 + law.relative)), above.blur)


def _differences(below: Floats, above: Floats, law: Law) -> tuple[Floats, Floats]:
    """Return the probability between neighbouring levels and a bound on its error, from the smaller of two tails."""
    # Up to the median what lies below is the smaller one; either would be sound.
    low = int(np.searchsorted(below[1:], 0.5, side="right"))
    found = np.concatenate([below[1 : low + 1] - below[:low], above[low:-1] - above[low + 1 :]])
    error = np.concatenate([below[1 : low + 1] + below[:low], above[low:-1] + above[low + 1 :]])
    error *= law.relative + 2 * UNIT
    if law.has_steps:
        error *= found != 0.0
    return np.maximum(found, 0.0, out=found), error


def _outside(tails: Tails, view: View, rate: float) -> tuple[float, float]:
    """Return the probability at or below the first grid point, and above the last, under the view's first law."""
    p_below, q_below = float(tails.p_below[0]), float(tails.q_below[0])
    p_above, q_above = float(tails.p_above[-1]), float(tails.q_above[-1])
    if view is View.WHOLE:
        return p_below, p_above
    if view is View.ADDED:
        return q_below, q_above
    return (1 - rate) * q_below + rate * p_below, (1 - rate) * q_above + rate * p_above
