"""Square waves: a whole distribution of numbers, from reports near the number, by expectation maximisation.

For histograms, quantiles and variances of one number with many values that lie close to each other. Cost: one coin and
two uniform numbers; the estimate takes time in proportion to values and outputs for each of up to 10,000 steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Flag, Number
from dither.local.clients.half import Half
from dither.local.clients.numbers import WaveHalf, Window
from dither.local.numbers.means import Floats, Means, Tally, level_of
from dither.local.numbers.window import WindowRandomiser, inside_of, window_mean
from dither.local.weights import epsilon_within
from dither.mechanisms.core.registry import Example, register
from dither.privacy import Loss, PureDP

_MOST_STEPS = 10_000


def _examples() -> Iterator[Example]:
    yield Example(SquareWave(places=3, stride=1, width=3, inside=3, bits=2), 0)
    yield Example(SquareWave.calibrated(PureDP(1), places=6), 4)


@register(
    examples=_examples,
    source="Estimating Numerical Distributions under Local Differential Privacy (Li et al. 2020)",
    tasks={"local": "For the whole distribution of one number."},
    made_for={"places": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class SquareWave(WindowRandomiser):
    """Report an output near the number with probability ``inside / 2^bits``, else one farther away.

    Guarantee: any two numbers lose the logarithm of ``inside (outputs - width) / ((2^bits - inside) width)``, rounded
        up.

    Args:
        places: how many numbers there are.
        stride: how far the window moves from a number to the next; 1 for square waves.
        width: of a window, in outputs; odd, so that the number is in its middle.
        inside: the weight of the window.
        bits: the weights of inside and outside add up to 2 to this power.

    >>> law = SquareWave.calibrated(PureDP(1), places=100)
    >>> print(law.loss(1))
    epsilon = 1
    >>> law.width, law.window.outputs
    (51, 150)

    """

    name: ClassVar[str] = "square-wave"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = WaveHalf

    @classmethod
    def calibrated(cls, within: Loss, *, places: int, bits: int = 32) -> Self:
        """Return the wave with the width of the source, and a loss within a target."""
        width = wave_width(float(epsilon_within(within)), places)
        return cls(places=places, stride=1, width=width, inside=inside_of(within, places, 1, width, bits), bits=bits)

    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return how often each output was reported."""
        return np.bincount(reports, minlength=self.window.outputs).astype(np.int64)

    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the mean number, without bias: from the average output, not from the fitted distribution."""
        at = np.arange(len(tally))
        sums = [int(tally.sum()), int(tally @ at), int(tally @ (at * at))]
        return window_mean(self.window, np.array(sums), level_of(confidence))

    def distribution(self, tally: Tally, *, smooth: bool = True) -> Floats:
        """Return the share of each number: the most likely one, smoothed at every step unless that is declined.

        Without reports all shares are equal. No interval is known for a fitted distribution.

        Args:
            tally: how often each output was reported.
            smooth: whether each share is averaged with its neighbours, by 1, 2 and 1.

        """
        return fitted(self.window, tally, smooth=Flag().convert("smooth", smooth))


def wave_width(epsilon: float, places: int) -> int:
    """Return the odd width of a window that says the most about a number.

    >>> wave_width(1.0, 100)
    51
    """
    if type(places) is not int or places < 2:
        raise InvalidParameter("places", places, "an integer of at least 2")
    growth = math.exp(epsilon)
    reach = (epsilon * growth - growth + 1) / (2 * growth * (growth - 1 - epsilon))
    return 2 * math.floor(reach * places) + 1


def fitted(window: Window, tally: Tally, *, smooth: bool) -> Floats:
    """Return the shares of all numbers under which outputs are likeliest, by expectation maximisation."""
    places, outputs, width = window.places, window.outputs, window.width
    shares = np.full(places, 1 / places)
    count = int(tally.sum())
    if not count:
        return shares
    inside = window.inside / 2.0**window.bits / width
    outside = (1 - window.inside / 2.0**window.bits) / (outputs - width)
    starts = window.stride * np.arange(places)
    seen = tally / count
    patience = 1e-3 if smooth else 1e-3 * inside / outside
    last = -np.inf
    for _ in range(_MOST_STEPS):
        # How likely each output is: everything at the outer level, and the step up where windows cover it.
        moved = np.zeros(outputs + 1)
        np.add.at(moved, starts, shares)
        np.subtract.at(moved, starts + width, shares)
        likely = outside + (inside - outside) * np.maximum(np.cumsum(moved[:-1]), 0)
        fit = float(count * (seen @ np.log(likely)))
        if fit - last < patience:
            break
        last = fit
        ratio = seen / likely
        total = np.concatenate([[0.0], np.cumsum(ratio)])
        shares = shares * (outside * total[-1] + (inside - outside) * (total[starts + width] - total[starts]))
        if smooth:
            padded = np.concatenate([shares[:1], shares, shares[-1:]])
            shares = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        shares /= shares.sum()
    return np.asarray(shares)


def quantiles(shares: Floats, levels: Floats) -> NDArray[np.int64]:
    """Return the first number at which the shares add up to each level.

    >>> quantiles(np.array([0.25, 0.5, 0.25]), np.array([0.1, 0.5, 0.9])).tolist()
    [0, 1, 2]
    """
    totals = np.cumsum(shares)
    found = np.searchsorted(totals, levels * totals[-1] * (1 - 1e-12))
    return np.asarray(np.minimum(found, len(shares) - 1), dtype=np.int64)


def variance_of(shares: Floats) -> float:
    """Return the variance of a number with these shares, in cells squared.

    >>> variance_of(np.array([0.5, 0.0, 0.5]))
    1.0
    """
    at = np.arange(len(shares))
    mean = shares @ at
    return float(shares @ (at - mean) ** 2)
