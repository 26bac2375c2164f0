"""The piecewise report of a number: an output near it, more often than one farther away.

For the mean of one number at epsilon above about 1.3. Cost: one coin and two uniform numbers; the report is the number
of an output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Whole
from dither.local.clients.half import Half
from dither.local.clients.numbers import MOST_OUTPUTS, PiecewiseHalf
from dither.local.numbers.means import Tally
from dither.local.numbers.window import WindowRandomiser, inside_of
from dither.local.weights import epsilon_within
from dither.mechanisms.core.registry import Example, register
from dither.privacy import Loss, PureDP


def _examples() -> Iterator[Example]:
    yield Example(PiecewiseNumber(places=3, stride=1, width=2, inside=5, bits=3), 0)
    yield Example(PiecewiseNumber.calibrated(PureDP(2), places=5, stride=2), 4)


@register(
    examples=_examples,
    source="Collecting and Analyzing Multidimensional Data with Local Differential Privacy (Wang et al. 2019), "
    "Algorithm 2",
    tasks={"local": "For the mean of one number at epsilon above about 1.3."},
    made_for={"places": 5},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class PiecewiseNumber(WindowRandomiser):
    """Report an output in the number's window with probability ``inside / 2^bits``, else one outside of it.

    Guarantee: any two numbers lose the logarithm of ``inside (outputs - width) / ((2^bits - inside) width)``, rounded
        up.

    Args:
        places: how many numbers there are.
        stride: how far the window moves from a number to the next.
        width: of a window, in outputs.
        inside: the weight of the window.
        bits: the weights of inside and outside add up to 2 to this power.

    >>> law = PiecewiseNumber.calibrated(PureDP(2), places=101)
    >>> print(law.loss(1))
    epsilon = 2
    >>> law.window.outputs, law.width
    (1368, 368)

    """

    name: ClassVar[str] = "piecewise-number"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = PiecewiseHalf

    @classmethod
    def calibrated(cls, within: Loss, *, places: int, stride: int = 0, bits: int = 32) -> Self:
        """Return the report with the window of the least variance on a fine grid, and a loss within a target.

        Args:
            within: the target.
            places: how many numbers there are.
            stride: how far the window moves from a number to the next; 0 for about a thousand outputs.
            bits: of the sum of all weights.

        """
        step = stride or max(1, 1000 // (places - 1))
        width = piecewise_width(within, places, step)
        return cls(
            places=places, stride=step, width=width, inside=inside_of(within, places, step, width, bits), bits=bits
        )

    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return how many reports there are, the sum of outputs, and that of their squares."""
        return np.array([len(reports), int(reports.sum()), int((reports * reports).sum())])


def piecewise_width(within: Loss, places: int, stride: int) -> int:
    """Return the width of the window that is best for a mean: e^(-epsilon / 2) of all that it moves."""
    moves = stride * (Whole(least=2, most=MOST_OUTPUTS).convert("places", places) - 1)
    return max(stride, round(moves * math.exp(-float(epsilon_within(within)) / 2)))
