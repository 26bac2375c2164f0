"""Remapping: send each reported cell to the best guess under a public prior, or to the nearest allowed cell.

Post-processing of a report, so it costs nothing, **if the prior is public**: a census, a map, an old release. A prior
from the very people who report is private data and must be released first. A raw prior makes reports worse where the
next person goes elsewhere; so it is smoothed at the width of the noise and mixed with the uniform one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.places import CellGrid
from dither.errors import InvalidParameter
from dither.exact import Number, positive, probability

#: Widths of the smoothing in multiples of 1 / epsilon, all with the same weight; and the share of the uniform prior.
WIDTHS: Final = (0.25, 0.5, 1.0)
UNIFORM: Final = 0.15
#: Farther than this many times 1 / epsilon a place is too unlikely to matter.
_FAR: Final = 9.0
_ROUNDS: Final = 12


def nearest_allowed(cells: CellGrid, allowed: Any) -> NDArray[np.int64]:
    """Return for each cell the nearest allowed one, of equally near ones the first.

    Args:
        cells: the grid.
        allowed: for each cell whether it may be reported; public.

    """
    mask = np.asarray(allowed)
    if mask.dtype != np.bool_ or mask.shape != (cells.cells,) or not mask.any():
        raise InvalidParameter("allowed", "another array", f"true or false for each of {cells.cells} cells, once true")
    from scipy.spatial import cKDTree

    middles = cells.centres()
    kept = np.flatnonzero(mask)
    return np.asarray(kept[cKDTree(middles[kept]).query(middles)[1]], dtype=np.int64)


def smoothed_prior(cells: CellGrid, counts: Any, *, epsilon: Number, uniform: Number = UNIFORM) -> NDArray[np.float64]:
    """Return a prior from public counts by cell, smoothed at the width of the noise and mixed with the uniform one.

    Args:
        cells: the grid.
        counts: a public number for each cell.
        epsilon: the loss for each metre of the reports that will be remapped.
        uniform: the share of the uniform prior.

    """
    from scipy.ndimage import gaussian_filter

    weights = _checked(cells, counts).reshape(cells.rows, cells.columns)
    wide, high = (float(side) for side in cells.sides)
    reach = 1 / float(positive("epsilon", epsilon))
    share = float(probability("uniform", uniform))
    smooth = np.mean(
        [gaussian_filter(weights, (width * reach / high, width * reach / wide), mode="nearest") for width in WIDTHS],
        axis=0,
    )
    return np.asarray((1 - share) * (smooth / smooth.sum()).ravel() + share / cells.cells)


def best_remap(cells: CellGrid, prior: Any, *, epsilon: Number) -> NDArray[np.int64]:
    """Return for each reported cell the cell with the least expected distance from the true place.

    Under the prior and planar Laplace noise, a true place x has the weight prior(x) e^(-epsilon d(x, z)) after a report
    of z; the point with the least expected distance is the geometric median of these weights, found by Weiszfeld's
    iteration.

    Args:
        cells: the grid.
        prior: how likely each cell is; public.
        epsilon: the loss for each metre of the reports.

    """
    weights = _checked(cells, prior)
    rate = float(positive("epsilon", epsilon))
    wide, high = (float(side) for side in cells.sides)
    reach = _FAR / rate
    across, up = int(min(reach / wide, cells.columns)), int(min(reach / high, cells.rows))
    table = weights.reshape(cells.rows, cells.columns)
    padded = np.pad(table / table.sum(), ((up, up), (across, across)))
    moves = [
        (row, column, column * wide, row * high)
        for row in range(-up, up + 1)
        for column in range(-across, across + 1)
        if np.hypot(column * wide, row * high) <= reach
    ]
    shape = table.shape
    # A little weight on the report itself, so that nothing is divided by zero where the prior is empty.
    east, north = np.zeros(shape), np.zeros(shape)
    for turn in range(_ROUNDS + 1):
        total, to_east, to_north = (np.full(shape, 1e-300), np.zeros(shape), np.zeros(shape))
        for row, column, x, y in moves:
            there = padded[up + row : up + row + shape[0], across + column : across + column + shape[1]]
            weight = there * np.exp(-rate * np.hypot(x, y))
            if turn:
                weight = weight / np.sqrt((east - x) ** 2 + (north - y) ** 2 + 1e-3 * wide * high)
            total += weight
            to_east += weight * x
            to_north += weight * y
        east, north = to_east / total, to_north / total
    middles = cells.centres().reshape(*shape, 2)
    found = cells.cell_of_metres(middles + np.stack([east, north], axis=-1))
    return found.ravel()


def _checked(cells: CellGrid, weights: Any) -> NDArray[np.float64]:
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (cells.cells,) or not np.isfinite(given).all() or given.min() < 0 or not given.sum() > 0:
        raise InvalidParameter(
            "prior", "another array", f"a number of at least 0 for each of {cells.cells} cells, not all 0"
        )
    return given
