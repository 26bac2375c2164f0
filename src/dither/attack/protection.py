"""The defended side of the demonstrations: what dither would release instead, and its loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number
from dither.mechanisms import Geometric, Laplace, RandomisedResponse, perform
from dither.privacy import PureDP


def noisy_counts(counts: NDArray[np.int64], epsilon: Number, moved: Number) -> NDArray[np.int64]:
    """Return counts with geometric noise.

    Args:
        counts: the true ones.
        epsilon: the loss of all of them together for one protected unit.
        moved: the largest distance that one unit moves them, in L1.

    """
    mechanism = Geometric.calibrated(PureDP(epsilon), sensitivity=moved, shape=counts.shape)
    return np.asarray(perform(mechanism, counts, stability=moved))


def noisy_numbers(values: NDArray[np.float64], epsilon: Number, moved: Number) -> NDArray[np.float64]:
    """Return real numbers with Laplace noise, on a public grid; the arguments are those of ``noisy_counts``."""
    mechanism = Laplace.calibrated(PureDP(epsilon), sensitivity=moved, shape=values.shape)
    return np.asarray(perform(mechanism, values, stability=moved), dtype=np.float64)


def random_answers(answers: NDArray[np.int64], epsilon: Number, categories: int) -> NDArray[np.int64]:
    """Return every answer through its own randomised response, each of which loses ``epsilon``."""
    mechanism = RandomisedResponse(epsilon=epsilon, categories=categories)
    return np.array([perform(mechanism, answer, stability=1) for answer in answers.tolist()], dtype=np.int64)
