"""Random convolutions: features of small images from filters that a public constant decides.

Each filter of five by five random weights is applied everywhere; what is above 0 and what is below are averaged over a
coarse grid. Weights are bits of SHA-256 in counter mode, so that equal requests have equal filters, and nothing about
the data is in them. Source: On Random Weights and Unsupervised Feature Learning (Saxe, Koh, Chen, Bhand, Suresh, Ng
2011). Correction: sums are of integers, equal beside any other images.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from dither.learn.images.constants import constant_numbers
from dither.learn.images.filters import Single, averaged, bounded, convolved, whole_filter

#: Filters, each of which makes two maps.
FILTERS: Final = 40
#: Maps that are averaged: the image, and two for each filter.
MAPS: Final = 1 + 2 * FILTERS
_SIDE: Final = 5
_SCALE: Final = 2.0**-11


def convolutions(maps: Single, cells: tuple[int, int]) -> Single:
    """Return the averages of an image and of what filters see in it: by image, map and cell.

    Args:
        maps: integers from 0 to 255, by image, row and column.
        cells: the rows and columns of the grid of averages.

    """
    found = convolved(maps, random_bank(), _SIDE)
    above, below = bounded(np.maximum(found, 0), _SCALE), bounded(np.maximum(-found, 0), _SCALE)
    return np.stack([averaged(one, cells) for one in (maps, *above, *below)], axis=1)


@lru_cache(maxsize=1)
def random_bank() -> Single:
    """Return the bank: a row of integers for each filter, about without an average."""
    drawn = constant_numbers(FILTERS * _SIDE**2, "dither.learn.images.convolutions").reshape(FILTERS, _SIDE**2) - 0.5
    drawn = drawn - drawn.mean(axis=1, keepdims=True)
    found = np.ascontiguousarray(np.array([whole_filter(one) for one in drawn], dtype=np.float32))
    found.setflags(write=False)
    return found
