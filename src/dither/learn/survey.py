"""The survey: one noisy vector from which a learner estimates the number of records, their centre and their spread.

What follows from it is public: the centre that records are moved to, a radius in which most of them lie, and their
number. Centred records need less room, so that the noise of everything after it is smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import round_up, sqrt_up
from dither.learn.noise_parts import AnyNoise, noisy, spread_of
from dither.learn.rows import STEPS, Floats, ball_radius, exact_sums, into_ball, squared_lengths
from dither.mechanisms.core.runner import Runner

#: Fewer records than these are never assumed, so that nothing is divided by next to nothing.
_FEWEST = 16.0
#: A spread of noise beyond this is as good as any: the square of a larger one might overflow.
_FARTHEST = 1e100
# The spread of centred records, as a share of the ball's, is never assumed to be below this.
_LEAST_SPREAD = 0.15


@dataclass(frozen=True)
class Survey:
    """The estimates of a survey, in steps of the grid.

    Args:
        rows: the approximate number of records.
        shift: where their centre is; integers.
        spread: their approximate distance from it.

    """

    rows: float
    shift: Floats
    spread: float


def survey_stability(columns: int) -> Fraction:
    """Return how far one record moves the survey in L2: three parts of at most the ball's radius each."""
    return round_up(sqrt_up(Fraction(3)) * ball_radius(columns), bits=40)


def survey_entries(columns: int) -> int:
    """Return the number of entries that a survey of ``columns`` columns draws."""
    return columns + 2


def survey(run: Runner, noise: AnyNoise, steps: Floats, touched: int) -> Survey:
    """Return the survey of records on the grid.

    A record adds its own numbers, shortened to the radius of the ball, to the sums; the radius to the count; and its
    squared length divided by the radius to the spread.
    """
    columns = steps.shape[1]
    radius = ball_radius(columns)
    short = into_ball(steps, radius, radius)
    lengths = np.floor(squared_lengths(short) / radius)
    given = exact_sums(np.column_stack([short, np.full(len(short), float(radius)), lengths]))
    seen = noisy(run, noise, given, touched * survey_stability(columns))
    rows = max(float(seen[columns]) / radius, _FEWEST)
    mean, energy = np.clip(seen[:columns] / rows, -radius, radius), float(seen[columns + 1]) * radius / rows
    # The mean is shrunk towards zero by the share of noise in its length (James and Stein 1961).
    length = float(mean @ mean)
    noise_length = columns * min(spread_of(noise, columns + 2) / rows, _FARTHEST) ** 2
    mean = mean * max(0.0, 1 - noise_length / length) if length > 0 else mean
    shift = np.clip(np.rint(mean), -STEPS, STEPS)
    spread = math.sqrt(min(max(energy - float(shift @ shift), (_LEAST_SPREAD * radius) ** 2), float(radius) ** 2))
    return Survey(rows, shift, spread)
