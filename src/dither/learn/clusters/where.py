"""Where points lie: one noisy vector that gives their approximate number, centre and spread.

What follows from it is public. Points moved to their centre need less room, so that the noise of all that comes after
is smaller. The ball into which points are shortened for it holds all but the corners of the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dither.exact import round_up, sqrt_up
from dither.learn.noise_parts import AnyNoise, noisy, spread_of
from dither.learn.rows import STEPS, Floats, exact_sums, into_ball, squared_lengths
from dither.mechanisms.core.runner import Runner

#: The radius of the ball, as a share of the distance of a corner from the middle.
_BALL: Final = 0.7
#: Fewer points than these are never assumed, so that nothing is divided by next to nothing.
_FEWEST: Final = 16.0
#: A spread of noise beyond this is as good as any: the square of a larger one might overflow.
_FARTHEST: Final = 1e100
#: The spread is never assumed to be below this share of the ball.
_LEAST_SPREAD: Final = 0.15


@dataclass(frozen=True)
class Where:
    """The noisy number, centre and spread of points, in steps.

    Args:
        rows: the approximate number of points.
        shift: where their centre is; integers.
        spread: their approximate distance from it.

    """

    rows: float
    shift: Floats
    spread: float


def ball_radius(columns: int) -> int:
    """Return the radius of the ball, in steps."""
    return math.ceil(_BALL * STEPS * math.sqrt(columns))


def where_stability(columns: int) -> Fraction:
    """Return how far one point moves the vector in L2: two parts of at most the radius, one of a quarter of it."""
    return round_up(sqrt_up(Fraction(33, 16)) * ball_radius(columns), bits=40)


def where_entries(columns: int) -> int:
    """Return the number of entries that are drawn."""
    return columns + 2


def where(run: Runner, noise: AnyNoise, steps: Floats, touched: int) -> Where:
    """Return the noisy number, centre and spread of points on the grid.

    A point adds its own numbers, shortened to the radius, to the sums; the radius to the count; and a quarter of its
    squared length divided by the radius to the spread.
    """
    columns = steps.shape[1]
    radius = ball_radius(columns)
    short = into_ball(steps, radius, radius)
    lengths = np.floor(squared_lengths(short) / (4 * radius))
    given = exact_sums(np.column_stack([short, np.full(len(short), float(radius)), lengths]))
    seen = noisy(run, noise, given, touched * where_stability(columns))
    rows = max(float(seen[columns]) / radius, _FEWEST)
    mean, energy = np.clip(seen[:columns] / rows, -radius, radius), float(seen[columns + 1]) * 4 * radius / rows
    # Columns are shrunk towards their common value by the share of noise in their differences (James and Stein).
    common = float(mean.mean())
    apart = mean - common
    length = float(apart @ apart)
    noise_length = (columns - 1) * min(spread_of(noise, columns + 2) / rows, _FARTHEST) ** 2
    mean = common + apart * max(0.0, 1 - noise_length / length) if length > 0 else mean
    shift = np.clip(np.rint(mean), -STEPS, STEPS)
    least = (_LEAST_SPREAD * radius) ** 2
    return Where(rows, shift, math.sqrt(min(max(energy - float(shift @ shift), least), float(radius) ** 2)))
