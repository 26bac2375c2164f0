"""Randomness without a privacy role: for drawing records from released models.

Fast and not exact, seeded by the operating system. Whatever is drawn here is post-processing, so no guarantee rests on
it; noise for private values comes from ``dither.noise`` alone, which a mechanism reaches through its runner.
"""

from __future__ import annotations

import numpy as np

Generator = np.random.Generator


def public_generator() -> Generator:
    """Return a new generator for post-processing; no two calls give the same numbers."""
    return np.random.default_rng()
