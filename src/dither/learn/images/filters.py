"""Convolutions of small images in integers, and averages over a coarse grid: exact in 32-bit floats in any order.

Weights of a filter have absolute sums below 2^14 and what they are applied to lies below 2^10, so that every partial
sum is an integer below 2^24. So a library may multiply in any order and group images as it likes: an image gets the
same numbers beside any others.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]

#: The sum of the absolute weights of a filter.
WEIGHT: Final = 2**14 - 1
#: The largest number that a filter or an average is applied to.
TOP: Final = 2**10 - 1
#: The largest feature: averages keep three bits more than what they average.
LARGEST: Final = 2**13 - 1
#: Pixels that go through at once: a matter of memory alone.
_PIXELS_AT_ONCE: Final = 2**15


def whole_filter(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a filter of integers whose absolute sum is at most ``WEIGHT``."""
    found: NDArray[np.float64] = np.trunc(weights / np.abs(weights).sum() * WEIGHT)
    return found


def convolved(maps: Single, bank: Single, side: int) -> Single:
    """Return what each filter of a bank sees around each place of each map; beyond the edges a map is 0.

    Args:
        maps: integers from 0 to ``TOP``, by map, row and column.
        bank: a row for each filter.
        side: the number of rows and columns of a filter, odd.

    """
    count, height, width = maps.shape
    reach = side // 2
    padded = np.pad(maps, ((0, 0), (reach, reach), (reach, reach)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
    around = np.ascontiguousarray(windows.transpose(3, 4, 0, 1, 2)).reshape(side * side, -1)
    found: Single = (bank @ around).reshape(len(bank), count, height, width)
    return found


def bounded(numbers: Single, scale: float) -> Single:
    """Return numbers times a power of two, cut off to integers of at most ``TOP``."""
    found: Single = np.minimum(np.floor(numbers * np.float32(scale)), np.float32(TOP))
    return found


def halved(maps: Single) -> Single:
    """Return the average of each two by two places, cut off; a missing row or column is 0."""
    height, width = maps.shape[-2:]
    if height % 2 or width % 2:
        maps = np.pad(maps, [(0, 0)] * (maps.ndim - 2) + [(0, height % 2), (0, width % 2)])
    total = maps[..., ::2, ::2] + maps[..., 1::2, ::2] + maps[..., ::2, 1::2] + maps[..., 1::2, 1::2]
    found: Single = np.floor(total * np.float32(0.25))
    return found


def enlarged(maps: Single, times: int) -> Single:
    """Return maps with ``times`` the rows and columns, filled in between along lines."""
    if times == 1:
        return maps
    down, across = (_between(length, times) for length in maps.shape[1:])
    # At most 2^10 * 2^4 * 2^4: exact.
    found: Single = np.floor(np.matmul(np.matmul(down, maps), across.T) * np.float32(2.0**-8))
    return found


def averaged(maps: Single, cells: tuple[int, int]) -> Single:
    """Return averages of maps around the middles of a coarse grid, as integers of at most ``LARGEST``.

    Args:
        maps: integers from 0 to ``TOP``, by map, row and column.
        cells: the rows and columns of the grid.

    """
    count, height, width = maps.shape
    found: Single = np.floor((maps.reshape(count, -1) @ _windows(height, width, *cells)) * np.float32(2.0**-10))
    return found


def batches(count: int, pixels: int) -> list[slice]:
    """Return slices of few enough images."""
    step = max(1, _PIXELS_AT_ONCE // pixels)
    return [slice(start, start + step) for start in range(0, count, step)]


@lru_cache(maxsize=32)
def _between(length: int, times: int) -> Single:
    """Return sixteenths of the neighbours' shares in each place of an enlarged line."""
    places = (np.arange(length * times) + 0.5) / times - 0.5
    first = np.clip(np.floor(places), 0, length - 1).astype(np.int64)
    second = np.minimum(first + 1, length - 1)
    share = np.rint(np.clip(places - first, 0, 1) * 16)
    found = np.zeros((length * times, length), dtype=np.float32)
    np.add.at(found, (np.arange(length * times), first), 16 - share)
    np.add.at(found, (np.arange(length * times), second), share)
    return found


@lru_cache(maxsize=32)
def _windows(height: int, width: int, rows: int, columns: int) -> Single:
    """Return the weight of each place in each cell's average: integers whose sum is at most 2^13."""
    down, across = _window(height, rows), _window(width, columns)
    found: Single = np.floor(np.kron(down, across) * 2.0**13).astype(np.float32)
    return found


def _window(length: int, cells: int) -> NDArray[np.float64]:
    step = length / cells
    middles = (np.arange(cells) + 0.5) * step - 0.5
    raised = np.exp(-((np.arange(length)[:, None] - middles) ** 2) / (2 * (0.4 * step) ** 2))
    found: NDArray[np.float64] = raised / raised.sum(axis=0) * (1 - 2.0**-20)
    return found


def grid_of(height: int, width: int, maps: int, most: int) -> tuple[int, int]:
    """Return the rows and columns of the coarse grid: a cell for four by four places, or fewer for many maps.

    Args:
        height: of the image.
        width: of the image.
        maps: that are averaged.
        most: the largest number of features.

    """
    rows, columns = math.ceil(height / 4), math.ceil(width / 4)
    while rows * columns * maps > most and rows * columns > 1:
        rows, columns = (rows - 1, columns) if rows >= columns else (rows, columns - 1)
    return rows, columns
