"""Bins that follow the mass: from noisy counts of a fine grid, on several levels, to a fixed number of ranges.

A cell that stands out of the noise has a bin of its own. The others are divided where the mass is, as far as blocks of
cells show it, and a part of the bins goes by width, so that no range that looks empty is left whole.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Floats = NDArray[np.float64]

#: Cells of a block, and blocks of a larger one.
FAN_OUT: Final = 64
#: The part of the bins that single cells may take, two for each: one for the cell, one for what follows it.
_OF_SINGLES: Final = 0.5
#: The part of the other bins that goes by width rather than by mass.
_BY_WIDTH: Final = 0.25


def level_sizes(cells: int) -> tuple[int, ...]:
    """Return the number of cells, of blocks of 64 cells, of blocks of 64 blocks, and so on while there are several.

    >>> level_sizes(100_000)
    (100000, 1563, 25)

    """
    sizes = [cells]
    while (above := -(-sizes[-1] // FAN_OUT)) > 1:
        sizes.append(above)
    return tuple(sizes)


def bin_starts(levels: Sequence[Floats], thresholds: Sequence[float], bins: int) -> NDArray[np.int64]:
    """Return where each of exactly ``bins`` ranges of cells begins; the first at 0, the last with the last cell.

    Args:
        levels: noisy counts of the cells, and of the blocks of each level.
        thresholds: for each level, what noise alone seldom exceeds.
        bins: how many ranges; at least 2, and no more than there are cells.

    >>> counts = np.zeros(100)
    >>> counts[42] = 50.0
    >>> bin_starts([counts, np.array([50.0, 0.0])], [10.0, 10.0], 6).tolist()
    [0, 34, 42, 43, 67, 99]

    """
    fine = levels[0]
    cells = fine.size
    if tuple(level.size for level in levels) != level_sizes(cells) or len(thresholds) != len(levels):
        raise InvalidParameter("levels", [level.size for level in levels], f"of sizes {level_sizes(cells)}")
    if not 2 <= bins <= cells:
        raise InvalidParameter("bins", bins, f"2 to {cells}, the number of cells")
    room = bins - 2
    singles = np.flatnonzero(fine[:-1] > thresholds[0])
    most = math.floor(_OF_SINGLES * room / 2)
    singles = np.sort(singles[np.argsort(-fine[singles], kind="stable")[:most]])
    cuts = {0, cells - 1, *singles.tolist(), *(singles + 1).tolist()}
    masses = _masses(levels, thresholds)
    masses[singles] = 0.0
    masses[-1] = 0.0
    whole = masses.sum()
    even = np.full(cells, 1 / cells)
    rest = even if whole <= 0 else (1 - _BY_WIDTH) * masses / whole + _BY_WIDTH * even
    left = bins - len(cuts)
    if left > 0:
        wanted = np.arange(1, left + 1) / (left + 1)
        cuts.update(np.minimum(np.searchsorted(np.cumsum(rest), wanted) + 1, cells - 1).tolist())
    return _filled(cuts, cells, bins)


def _masses(levels: Sequence[Floats], thresholds: Sequence[float]) -> Floats:
    """Return an estimate of every cell: its own count where it stands out, else its part of what its block has left."""
    held = np.maximum(levels[-1], 0.0)
    for counts, threshold in zip(reversed(levels[:-1]), list(reversed(thresholds))[1:], strict=True):
        block = np.arange(counts.size) // FAN_OUT
        stands_out = counts > threshold
        own = np.where(stands_out, counts, 0.0)
        left = np.maximum(held - np.bincount(block, own, minlength=held.size), 0.0)
        others = np.bincount(block, ~stands_out, minlength=held.size)
        held = np.where(stands_out, counts, (left / np.maximum(others, 1))[block])
    return np.asarray(held, dtype=np.float64)


def _filled(cuts: set[int], cells: int, bins: int) -> NDArray[np.int64]:
    """Return the cuts, and further ones that halve the widest ranges, until there are enough."""
    starts = sorted(cuts)
    ranges = [(low - high, low) for low, high in zip(starts, [*starts[1:], cells], strict=True)]
    heapq.heapify(ranges)
    while len(ranges) < bins:
        width, low = heapq.heappop(ranges)
        half = -width // 2
        heapq.heappush(ranges, (-half, low))
        heapq.heappush(ranges, (width + half, low + half))
    return np.array(sorted(low for _, low in ranges), dtype=np.int64)
