"""Scattering in integers: features of small images that no data chose.

An image goes through a bank of wavelets, the lengths of what comes out go through the bank again at half the size, and
averages over a coarse grid of places are the features. Nothing is learned, so that a private head needs little noise.
Source: Invariant Scattering Convolution Networks (Bruna, Mallat 2013). Corrections: there wavelets are applied in
floats, by Fourier transforms of many images together; here every sum is one of integers, equal beside any other images.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from dither.learn.images.filters import Single, averaged, bounded, convolved, halved, whole_filter

#: Directions of the wavelets.
ANGLES: Final = 8
#: Maps that are averaged: the image, two sizes of lengths, and lengths of lengths.
MAPS: Final = 1 + 2 * ANGLES + ANGLES**2
_SIDE: Final = 9
_SCALE: Final = 2.0**-11


def scattered(maps: Single, cells: tuple[int, int]) -> Single:
    """Return the averages of an image and of its wavelets' lengths: by image, map and cell.

    Args:
        maps: integers from 0 to 255, by image, row and column.
        cells: the rows and columns of the grid of averages.

    """
    count = len(maps)
    fine = lengths(maps)
    small = halved(maps)
    coarse = lengths(small)
    again = lengths(halved(fine).reshape(-1, *small.shape[1:]))
    seen = [maps, *fine, *coarse, *again.reshape(ANGLES**2, count, *small.shape[1:])]
    return np.stack([averaged(one, cells) for one in seen], axis=1)


def lengths(maps: Single) -> Single:
    """Return the length of each wavelet's complex answer at each place: integers, by direction, map, row, column."""
    found = convolved(maps, wavelets(), _SIDE).reshape(ANGLES, 2, *maps.shape)
    # Number by number: each product, sum and root is rounded by itself.
    return bounded(np.sqrt(found[:, 0] * found[:, 0] + found[:, 1] * found[:, 1]), _SCALE)


@lru_cache(maxsize=1)
def wavelets() -> Single:
    """Return the bank: a row of integers for the real and for the imaginary part of each direction."""
    reach = _SIDE // 2
    down, across = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    rows = []
    for number in range(ANGLES):
        angle = math.pi * number / ANGLES
        along = across * math.cos(angle) + down * math.sin(angle)
        beside = -across * math.sin(angle) + down * math.cos(angle)
        envelope = np.exp(-(along**2 + (beside / 2) ** 2) / (2 * 0.8**2))
        for wave in (np.cos(0.75 * math.pi * along), np.sin(0.75 * math.pi * along)):
            # Without an average, so that an even light is not seen.
            rows.append(whole_filter(envelope * (wave - (envelope * wave).sum() / envelope.sum())).ravel())
    found = np.ascontiguousarray(np.array(rows, dtype=np.float32))
    found.setflags(write=False)
    return found
