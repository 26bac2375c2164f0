"""Centred records: the form that learners from columns of numbers give to rows after the survey.

A record is moved to the surveyed centre, shortened to a radius around it, and given a constant part, so that the whole
of it has a length of at most 2^14 steps. Radius and centre are public: they follow from the survey.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dither.learn.models import LinearModel
from dither.learn.noise_parts import AnyNoise
from dither.learn.rows import STEPS, Box, Floats, into_ball
from dither.learn.survey import survey
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.runner import Runner

#: The length of the longest record, in whole steps, its constant part included.
LENGTH: Final = 2**14
#: The constant part of a record, 0.287 of its length, and what is left for the columns.
CONSTANT: Final = 4706
REST: Final = math.isqrt(LENGTH**2 - CONSTANT**2)


@dataclass(frozen=True)
class Centred:
    """Private integer records, one a row, with their public facts.

    Args:
        records: the columns and the constant part; private.
        rows: their approximate number.
        shift: the centre, in steps.
        radius: where records are cut off, in steps.

    """

    records: Floats
    rows: float
    shift: Floats
    radius: int

    def model(self, box: Box, weights: Floats, *, offset: float = 0.0, scale: float = 1.0) -> LinearModel:
        """Return the model of released weights, which apply to records of length 1; one row for each score.

        Args:
            box: the bounds of the columns.
            weights: of the columns and the constant part.
            offset: is added to every score.
            scale: multiplies every score first.

        """
        return LinearModel(
            box.lower,
            box.upper,
            PublicArray(self.shift / STEPS),
            self.radius / STEPS,
            PublicArray(scale * weights[:, :-1] * (REST / LENGTH)),
            PublicArray(scale * weights[:, -1] * (CONSTANT / LENGTH) + offset),
        )


def centred(run: Runner, noise: AnyNoise, steps: Floats, *, touched: int, near: float) -> Centred:
    """Survey records on the grid, and return them centred.

    Args:
        run: makes the one draw.
        noise: of the survey.
        steps: private records on the grid.
        touched: the number of rows that one unit touches.
        near: records farther from the centre than this many spreads are shortened.

    """
    seen = survey(run, noise, steps, touched)
    radius = max(1, round(near * seen.spread))
    constant = np.full((len(steps), 1), float(CONSTANT))
    return Centred(np.hstack([into_ball(steps - seen.shift, radius, REST), constant]), seen.rows, seen.shift, radius)
