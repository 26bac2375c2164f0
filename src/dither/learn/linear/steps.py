"""Noisy descent: the steps that follow from noisy gradients of linear scores, independent of how they were drawn.

Momentum, a stride that suits the noise, and the average of the later half of the weights. All of it is made of draws
and of public numbers, so none of it costs anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from dither.learn.centred import LENGTH
from dither.learn.linear.gradients import LARGEST_WEIGHT, PULL, WEIGHT_STEPS, curvature
from dither.learn.rows import Floats

#: The length of a step in units of the inverse curvature.
_STRIDE: Final = 2.5
#: How much of the last step is lost before the next one, where noise is as long as this share of a full gradient.
_FRICTION: Final = 0.25
_QUIET: Final = 0.4
#: Where noise is longer than this, steps are shorter, so that weights stay where every gradient tells the same.
_LOUD: Final = 0.15


def descend(
    draw: Callable[[Floats], Floats], *, shape: tuple[int, int], loss_name: str, steps: int, rows: float, spread: float
) -> Floats:
    """Return the average of the later half of the weights.

    Args:
        draw: gives the noisy gradient, in whole steps, at weights in whole steps.
        shape: of the weights: scores and columns.
        loss_name: which loss is minimised.
        steps: the number of steps.
        rows: the approximate number of records in a gradient.
        spread: the standard deviation of the noise in an entry of a gradient.

    """
    weights, motion, total = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    # The noise of a gradient in units of the longest that there can be: what steps are worth.
    noise = spread * math.sqrt(weights.size) / (LENGTH * PULL * rows)
    reach = min(1.0, _LOUD / noise)
    kept_motion = 1 - _FRICTION * min(max(math.sqrt(noise / _QUIET), 0.25), 1.0)
    stride = reach * _STRIDE / curvature(loss_name, shape[0]) / (LENGTH * PULL * rows)
    kept = steps - steps // 2
    for number in range(steps):
        motion = kept_motion * motion - stride * draw(np.rint(weights * WEIGHT_STEPS))
        weights = np.clip(weights + motion, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        if number >= steps - kept:
            total += weights
    return total / kept
