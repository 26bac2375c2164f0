"""Means of many items from noisy counts and sums, each pulled towards what items of its attributes have.

Post-processing: all that is read here was released or is public. An item with many ratings keeps its own mean; one with
few takes that of its attributes, and one without attributes that of all items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The variance of a value about the mean of its item, in squares of half the range of values.
WITHIN = 0.25
#: How far means of items may be spread about those of their attributes: the likeliest of these is taken.
_SPREADS = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
#: The precision of the effect of an attribute, and that of the mean of all items.
_EFFECT, _MIDDLE = 20.0, 1.0


def pulled_means(counts: Floats, sums: Floats, *, deviation: float, attributes: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each item and its variance, in values between -1 and 1.

    Args:
        counts: noisy numbers of ratings.
        sums: noisy sums of values.
        deviation: the standard deviation of the noise of a sum.
        attributes: a row of public numbers for each item; zeros where nothing is known.

    >>> known = {"deviation": 3.0, "attributes": np.zeros((2, 1))}
    >>> means, _ = pulled_means(np.array([100.0, 0.0]), np.array([50.0, 2.0]), **known)
    >>> bool(means[0] > 0.4), bool(0.1 < means[1] < means[0])
    (True, True)

    """
    often = np.maximum(counts, 0.0)
    noise = deviation**2 + WITHIN * often + 1e-12
    design = np.hstack([np.ones((len(often), 1)), attributes])
    precision = np.full(design.shape[1], _EFFECT)
    precision[0] = _MIDDLE
    found: list[tuple[float, float, Floats]] = []
    for spread in _SPREADS:
        total = noise + often**2 * spread
        weights = often**2 / total
        effects = np.linalg.solve((design.T * weights) @ design + np.diag(precision), design.T @ (often * sums / total))
        prior = np.clip(design @ effects, -1.0, 1.0)
        fit = -0.5 * float(np.sum(np.log(total) + (sums - often * prior) ** 2 / total))
        fit -= 0.5 * float(precision @ effects**2)
        found.append((fit, spread, prior))
    _, spread, prior = max(found, key=lambda one: one[0])
    variance = 1 / (often**2 / noise + 1 / spread)
    means = np.clip(variance * (often * sums / noise + prior / spread), -1.0, 1.0)
    return means, variance
