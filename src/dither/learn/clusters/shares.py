"""The shares with which a point belongs to the components of a mixture: integers, computed from integers.

A point's share must not depend on other points. Floats are not good for that, since an
exponential or a sum of products may be rounded in one way here and in another there. So a component is whitened by a
matrix of integers, its distance from a point is an integer below 2^53, which floats hold exactly in any order
of additions, and what stands for e^-x is a public table of integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from dither.learn.rows import STEPS, Floats

#: All shares of a point add up to this at most.
WHOLE_SHARE: Final = 2**7
#: Whitened points are integer multiples of 1/64 of a spread, of at most 64 spreads a direction.
_PER_SPREAD: Final = 2**6
_FARTHEST: Final = 2**12
#: Matrices are rounded to integer multiples of 2^-18.
_FINE: Final = 2**18
#: Components are never taken to be narrower than this, in steps.
_NARROWEST: Final = 8.0
#: The table of e^-x has 2^12 places of 1/256 each.
_PLACES: Final = 2**12
_PER_PLACE: Final = 2**5
_TABLE: Final = np.floor(2.0**20 * np.exp(-np.arange(_PLACES) / 256))
_TABLE[-1] = 0.0


@dataclass(frozen=True)
class Components:
    """Public components of a mixture, in steps.

    Args:
        centres: one a row, of at most STEPS a number.
        covariances: a matrix for each.
        weights: the probability of each.

    """

    centres: Floats
    covariances: Floats
    weights: Floats

    @cached_property
    def radii(self) -> Floats:
        """The radius, in whole steps, within which all but a few of the points of each component lie."""
        columns = self.centres.shape[1]
        spread = np.sqrt(np.maximum(np.trace(self.covariances, axis1=1, axis2=2), 1.0))
        found: Floats = np.rint(np.clip((1 + 3 / math.sqrt(2 * columns)) * spread, STEPS / 64, 4 * STEPS * columns))
        return found

    @cached_property
    def _whitening(self) -> tuple[Floats, Floats]:
        """The integer whitening matrices, and the constant of each component, in units of 2^-13."""
        values, vectors = np.linalg.eigh(self.covariances)
        spreads = np.sqrt(np.maximum(values, _NARROWEST**2))
        matrices = np.rint(vectors / spreads[:, None, :] * _FINE)
        start = np.log(np.maximum(self.weights, 1e-12)) - np.log(spreads).sum(axis=1)
        return matrices, np.rint(np.maximum(start - start.max(), -64.0) * (2 * _PER_SPREAD**2))


def shares_of(points: Floats, components: Components) -> Floats:
    """Return the shares of each point in each component: integers that add up to at most ``WHOLE_SHARE``.

    Args:
        points: integers of at most STEPS, one point a row, of at most 2^8 columns.
        components: public.

    """
    matrices, starts = components._whitening
    scores = np.empty((len(points), len(starts)))
    for place, (centre, matrix, start) in enumerate(zip(np.rint(components.centres), matrices, starts, strict=True)):
        # At most 2^13 a number, 2^15 an entry and 2^8 columns: every partial sum is exact.
        white = np.trunc(((points - centre) @ matrix) * (_PER_SPREAD / _FINE))
        white = np.clip(white, -_FARTHEST, _FARTHEST)
        scores[:, place] = start - np.add.reduce(white * white, axis=1)
    behind = np.floor((scores.max(axis=1, keepdims=True, initial=-(2.0**50)) - scores) / _PER_PLACE)
    heights = _TABLE[np.minimum(behind, _PLACES - 1).astype(np.int64)]
    # Integers below 2^27 divided by integers: one rounding, the same wherever a point stands.
    found: Floats = np.floor(WHOLE_SHARE * heights / np.maximum(heights.sum(axis=1, keepdims=True), 1.0))
    return found
