"""Windows of outputs that move with a number: the law of piecewise reports and of square waves, in blocks.

Every output is in a window or outside of it, at one of two probabilities. So the expectation of an output is a line in
the number, exactly, and its variance a parabola.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Whole
from dither.local.clients.numbers import MOST_OUTPUTS, Window
from dither.local.numbers.means import Floats, Means, NumberRandomiser, Tally, level_of, normal_means
from dither.local.weights import largest_weight
from dither.noise import Noise
from dither.privacy import Loss


@dataclass(frozen=True, kw_only=True)
class WindowRandomiser(NumberRandomiser):
    """A report in a window of outputs that moves with the number, or anywhere outside of it."""

    places: Whole = Whole(least=2, most=MOST_OUTPUTS)
    stride: Whole = Whole(least=1, most=MOST_OUTPUTS)
    width: Whole = Whole(least=1, most=MOST_OUTPUTS)
    inside: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse windows and weights that the client half refuses."""
        _ = self.half

    @property
    def window(self) -> Window:
        """The client half."""
        return cast(Window, self.half)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one output for each number."""
        return draw_window(self.window, cells, noise)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports are numbers of outputs."""
        return reports < self.window.outputs

    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the mean number; the variance is that of the outputs as they came."""
        return window_mean(self.window, tally, level_of(confidence))

    def variances(self, cells: NDArray[np.int64]) -> Floats:
        """Return the variances of an output, in cells."""
        _, slope = window_line(self.window)
        return window_variances(self.window, cells) / float(slope) ** 2


def inside_of(within: Loss, places: int, stride: int, width: int, bits: int) -> int:
    """Return the largest weight of a window whose loss is within a target."""
    others = stride * (places - 1)
    return largest_weight(lambda weight: Fraction(weight * others, (2**bits - weight) * width), within, bits)


def draw_window(window: Window, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
    """Return one output for each number."""
    is_inside = noise.uniform_below(2**window.bits, len(cells)) < window.inside
    within = noise.uniform_below(window.width, len(cells))
    beyond = noise.uniform_below(window.outputs - window.width, len(cells))
    start = window.stride * cells
    return np.asarray(np.where(is_inside, start + within, beyond + window.width * (beyond >= start)), dtype=np.int64)


def window_line(window: Window) -> tuple[Fraction, Fraction]:
    """Return the expectation of an output at cell 0, and how much it grows from a cell to the next."""
    inside, others = Fraction(window.inside, 2**window.bits), window.outputs - window.width
    everything, own = Fraction(window.outputs * (window.outputs - 1), 2), Fraction(window.width * (window.width - 1), 2)
    outside = (1 - inside) / others
    base = inside * own / window.width + outside * (everything - own)
    return base, window.stride * (inside - outside * window.width)


def window_variances(window: Window, cells: NDArray[np.int64]) -> Floats:
    """Return the exact variance of an output for each cell."""
    inside, others = window.inside / 2.0**window.bits, window.outputs - window.width
    start, width, last = (window.stride * cells).astype(np.float64), float(window.width), float(window.outputs - 1)
    middle = last / 2
    # Squares around the middle of all outputs: those of the window, and of all.
    offset = start + (width - 1) / 2 - middle
    own = width * offset**2 + width * (width**2 - 1) / 12
    everything = (last + 1) * ((last + 1) ** 2 - 1) / 12
    square = inside * own / width + (1 - inside) * (everything - own) / others
    mean = inside * offset - (1 - inside) * width * offset / others
    return np.asarray(square - mean**2)


def window_mean(window: Window, tally: Tally, level: Fraction) -> Means:
    """Return the mean cell of outputs, from their number, sum and sum of squares."""
    count, total, squares = (int(part) for part in tally)
    base, slope = window_line(window)
    several = max(count, 1)
    mean = float((Fraction(total, several) - base) / slope)
    variance = float((Fraction(squares, several) - Fraction(total, several) ** 2) / slope**2)
    least = float(window_variances(window, middle_and_ends(window.places)).min()) / float(slope) ** 2
    return normal_means(count, mean, variance * several / max(several - 1, 1), least, window.places, level)


def middle_and_ends(places: int) -> NDArray[np.int64]:
    """Return the cells among which a parabola around the middle is smallest."""
    return np.array([0, (places - 1) // 2, places // 2, places - 1])
