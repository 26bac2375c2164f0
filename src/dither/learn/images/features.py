"""Features of images, and of columns that are features already: integers that follow from one record alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.images import convolutions, scattering
from dither.learn.images.filters import Single, batches, enlarged, grid_of
from dither.learn.rows import Box, Floats

#: Features of an image at most: the public change of coordinates needs their squares.
MOST_FEATURES: Final = 2**12
#: Sides of an image at most.
MOST_SIDE: Final = 2**9
#: Images with a shorter side are enlarged before wavelets see them.
_SHORT: Final = 24
_MOST_TIMES: Final = 4
#: The number of grey levels of a pixel, less one.
_LEVELS: Final = 255


@dataclass(frozen=True)
class Extractor:
    """How images become maps that are averaged.

    Args:
        maps: the number of maps for each colour.
        averages: the averages of images by map and cell.

    """

    maps: int
    averages: Callable[[Single, tuple[int, int]], Single]


#: What can be done to an image; "columns" are numbers that a caller's own extractor made.
EXTRACTORS: Final = {
    "scattering": Extractor(scattering.MAPS, scattering.scattered),
    "convolutions": Extractor(convolutions.MAPS, convolutions.convolutions),
}
COLUMNS: Final = "columns"


@dataclass(frozen=True)
class ImageSize:
    """The declared size of every image.

    Args:
        height: rows of pixels.
        width: pixels in a row.
        channels: numbers of a pixel.

    """

    height: int
    width: int
    channels: int

    @property
    def pixels(self) -> int:
        """The number of numbers of an image."""
        return self.height * self.width * self.channels

    @property
    def times(self) -> int:
        """How many times longer and wider an image is made."""
        return min(_MOST_TIMES, max(1, _SHORT // min(self.height, self.width)))


def feature_count(extractor: str, size: ImageSize) -> int:
    """Return the number of features of an image, or refuse a size that has too many.

    >>> feature_count("scattering", ImageSize(28, 28, 1)), feature_count("convolutions", ImageSize(8, 8, 1))
    (3969, 2916)
    """
    if extractor == COLUMNS:
        if size.pixels > MOST_FEATURES:
            raise InvalidParameter("width", size.width, f"at most {MOST_FEATURES} columns")
        return size.pixels
    maps = EXTRACTORS[extractor].maps * size.channels
    if maps > MOST_FEATURES:
        raise InvalidParameter("channels", size.channels, f"at most {MOST_FEATURES // EXTRACTORS[extractor].maps}")
    rows, columns = _grid(extractor, size)
    return rows * columns * maps


def features_of(extractor: str, size: ImageSize, box: Box, values: Floats) -> Floats:
    """Return the features of records, each from its own numbers alone: integers below 2^13.

    Args:
        extractor: a name of ``EXTRACTORS``, or "columns".
        size: of every image.
        box: the bounds of pixels or columns.
        values: a row for each record: pixels by row, place in the row, and colour.

    """
    if extractor == COLUMNS:
        return box.steps(values)
    found = np.empty((len(values), feature_count(extractor, size)))
    averages, cells = EXTRACTORS[extractor].averages, _grid(extractor, size)
    for block in batches(len(values), size.pixels * size.times**2):
        seen = levels(box, values[block]).reshape(-1, size.height, size.width, size.channels)
        maps = np.ascontiguousarray(seen.transpose(0, 3, 1, 2)).reshape(-1, size.height, size.width)
        found[block] = averages(enlarged(maps, size.times), cells).reshape(len(found[block]), -1)
    return found


def levels(box: Box, values: Floats) -> Single:
    """Return pixels as integers from 0, the lower bound, to 255, the upper one; NaN is 0."""
    low, high = box.lower.values, box.upper.values
    with np.errstate(all="ignore"):
        known = np.where(np.isnan(values), low, np.clip(values, low, high))
        shares = (known - low) / (high - low)
    found: Single = np.rint(np.clip(shares, 0.0, 1.0) * _LEVELS).astype(np.float32)
    return found


def _grid(extractor: str, size: ImageSize) -> tuple[int, int]:
    maps = EXTRACTORS[extractor].maps * size.channels
    return grid_of(size.height * size.times, size.width * size.times, maps, MOST_FEATURES)
