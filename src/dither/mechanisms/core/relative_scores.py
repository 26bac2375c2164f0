"""Scores of candidates whose values move by different amounts, all of them the same way: relative to each other.

For choosing among values of which each moves by at most its own sensitivity, and none falls where another rises. Two
values then draw apart by the larger sensitivity at most, where values that move either way draw apart by the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.values import LARGEST_VALUE

#: Steps of a relative score to one; a score moves by at most half of them.
RELATIVE_STEPS: Final = 2**20


def relative_scores(values: Sequence[int], sensitivities: Sequence[int], penalty: int) -> NDArray[np.int64]:
    """Return scores that move by at most half of ``RELATIVE_STEPS`` where each value moves by its sensitivity, one way.

    Candidate i has the least lead over any j, each divided by twice the larger of both sensitivities, rounded down.

    Args:
        values: private, larger is better.
        sensitivities: how far each moves; public.
        penalty: how many of its sensitivities a candidate is set back.

    >>> (relative_scores([100, 104, 90], [1, 2, 20], 1) / RELATIVE_STEPS).round(2).tolist()
    [-0.75, 0.0, -0.8]

    """
    behind = [int(value) - penalty * unit for value, unit in zip(values, sensitivities, strict=True)]
    scores = [
        min(
            RELATIVE_STEPS * (own - other) // (2 * max(unit, others))
            for other, others in zip(behind, sensitivities, strict=True)
        )
        for own, unit in zip(behind, sensitivities, strict=True)
    ]
    return np.array([max(score, -LARGEST_VALUE) for score in scores], dtype=np.int64)
