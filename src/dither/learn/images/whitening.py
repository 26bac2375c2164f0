"""A public change of coordinates: directions in which public records vary, each as loud as the others.

It is made of public records alone, by default of drawn shapes, and rounded to integers. After it a private head needs
far fewer steps, and shortening a record takes as much from each direction. Source: Differentially Private Learning
Needs Better Features (Tramer, Boneh 2021), section 3, where a public set trains the features themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from dither.learn.images.features import COLUMNS, ImageSize, feature_count, features_of
from dither.learn.images.filters import Single
from dither.learn.images.shapes import public_shapes
from dither.learn.rows import STEPS, Box, Floats
from dither.mechanisms.core.public import PublicArray

#: Drawn shapes, where no public records are given.
SHAPES: Final = 6000
#: Coordinates have this many parts of a whole step before they are cut off.
_PARTS: Final = 2**16
#: The largest entry: sums of 2^16 products with features below 2^14 then stay below 2^53.
_MOST: Final = 2**22
#: The standard deviation of a loud direction of the public records, in steps.
_LOUD: Final = STEPS // 4
#: Directions much quieter than the average one are not made loud: they would be noise.
_QUIET: Final = 1 / 64
#: Records that are changed together: a matter of memory alone.
_AT_ONCE: Final = 2**12


@dataclass(frozen=True)
class PublicMap:
    """A change of coordinates in integers.

    Args:
        centre: what is taken off each feature.
        matrix: a row for each coordinate.

    """

    centre: Floats
    matrix: Floats

    def steps(self, features: Floats) -> Floats:
        """Return the coordinates of records: integers between -STEPS and STEPS, exact in any order and company."""
        found = np.empty((len(features), len(self.matrix)))
        for start in range(0, len(features), _AT_ONCE):
            block = slice(start, start + _AT_ONCE)
            cut = np.floor(((features[block] - self.centre) @ self.matrix.T) * (1 / _PARTS))
            found[block] = np.clip(cut, -STEPS, STEPS)
        return found


@lru_cache(maxsize=4)
def public_map(extractor: str, size: ImageSize, box: Box, components: int, public: PublicArray | None) -> PublicMap:
    """Return the change of coordinates that public records suggest; 0 components only scale the features.

    Args:
        extractor: how features are made.
        size: of images.
        box: the bounds of pixels or columns.
        components: the number of coordinates.
        public: public records; drawn shapes where None.

    """
    count = feature_count(extractor, size)
    if not components:
        # Features reach 2^13 and columns 2^12: both fill the steps.
        return PublicMap(np.zeros(count), np.eye(count) * (_PARTS if extractor == COLUMNS else _PARTS // 2))
    seen = features_of(extractor, size, box, drawn(size, box) if public is None else public.values)
    centre = np.rint(seen.mean(axis=0))
    around = (seen - centre).astype(np.float32)
    values, vectors = _loudest(around, components)
    floor = _QUIET * float(np.mean(np.einsum("ij,ij->j", around, around))) / len(around) + 1
    scales = _LOUD * _PARTS / np.sqrt(values + floor)
    matrix = np.clip(np.rint(vectors * scales).T, -_MOST, _MOST)
    return PublicMap(centre, np.ascontiguousarray(matrix))


def drawn(size: ImageSize, box: Box) -> Floats:
    """Return drawn shapes within the bounds of pixels, alike in each colour."""
    shapes = public_shapes(SHAPES, size.height, size.width)
    shares = np.repeat(shapes.reshape(len(shapes), -1), size.channels, axis=1) / 255
    found: Floats = box.lower.values + shares * (box.upper.values - box.lower.values)
    return found


def _loudest(around: Single, components: int) -> tuple[Floats, Floats]:
    """Return the variances in the loudest directions of centred records, and these directions, the loudest first."""
    from scipy.linalg import eigh

    # The smaller of the two squares: both have the same eigenvalues but for zeros.
    is_wide = len(around) < around.shape[1]
    square = (around @ around.T if is_wide else around.T @ around) / np.float32(len(around))
    first = len(square) - components
    values, vectors = eigh(square, subset_by_index=[first, len(square) - 1])
    values, vectors = np.maximum(values[::-1].astype(np.float64), 0), vectors[:, ::-1].astype(np.float64)
    if is_wide:
        vectors = around.T.astype(np.float64) @ vectors / np.sqrt(np.maximum(values * len(around), 1))
    return values, vectors
