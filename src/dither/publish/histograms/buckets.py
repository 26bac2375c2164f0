"""Intervals for cells of which only buckets were measured, without knowing how even a bucket is.

Let a method release, for every cell of a bucket B, the value v = (T + Z) / |B|, where T is the bucket's true count and
|Z| <= r for all buckets at once, but for a small probability. Counts are not negative, so a cell of B holds between 0
and T rows, and T <= |B| v + r.

Which cells make up a bucket need not be released: all cells of a bucket show the same number. So B lies within the set
of the g cells that show v (within the run of them, where buckets are runs), |B| v is at most the larger of v and g v,
and a cell holds at most that and r. A cell that shares its number with no other is a bucket by itself: it holds v - r
to v + r. Nothing here rests on the data but through the release.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Interval
from dither.mechanisms.core.purse import CountNoise
from dither.publish.histograms.common import Floats, combination_reach, variance_of

Sizes = NDArray[np.int64]


def interval_of_buckets(
    out: Any, confidence: Number, node: CountNoise, *, draws: int, are_runs: bool = False, sizes: Sizes | None = None
) -> Interval:
    """Return intervals of all cells at once, with one draw of ``node`` per bucket; counts are not negative.

    Args:
        out: what was released.
        confidence: at which all intervals hold at once.
        node: the noise of a bucket's count.
        draws: how many buckets there are at most.
        are_runs: whether buckets are runs of cells.
        sizes: how many cells the bucket of each cell has, where that is public.

    """
    wanted = probability("confidence", confidence, open_below=True)
    reach = float(node.reach(share_of_failure(wanted, draws)))
    return _interval(out, wanted, lambda _: reach, are_runs=are_runs, sizes=sizes)


def interval_of_merged(out: Any, confidence: Number, node: CountNoise, *, cells: int, most_draws: int) -> Interval:
    """Return intervals of all cells at once, where a bucket is a run whose noise is the sum of some consecutive draws.

    Of these there are at most as many as cells of the run, and at most ``most_draws``. Every run of draws has its share
    of the probability, so that which of them were added up may depend on the draws.
    """
    wanted = probability("confidence", confidence, open_below=True)
    failure = share_of_failure(wanted, cells * (cells + 1) // 2)

    def reach(size: int) -> float:
        return combination_reach((node,), min(size, most_draws) * variance_of(node), failure)

    return _interval(out, wanted, reach, are_runs=True, sizes=None)


def interval_within(
    out: Any, wanted: Fraction, reach: Callable[[int], float], *, sizes: Sizes | None = None
) -> Interval:
    """Return intervals of all cells at once, where a bucket of at most g cells has an error of at most ``reach(g)``."""
    return _interval(out, wanted, reach, are_runs=False, sizes=sizes)


def _interval(
    out: Any, wanted: Fraction, reach: Callable[[int], float], *, are_runs: bool, sizes: Sizes | None
) -> Interval:
    shown: Floats = np.asarray(out, dtype=np.float64)
    alike = (cells_alike(shown.ravel(), are_runs=are_runs) if sizes is None else sizes).reshape(shown.shape)
    each, places = np.unique(alike, return_inverse=True)
    around = np.array([reach(int(size)) for size in each])[places].reshape(shown.shape)
    low = np.where(alike == 1, shown - around, 0.0)
    high = np.maximum(shown * alike, shown) + around
    return Interval(np.maximum(low, 0.0), np.maximum(high, 0.0), wanted)


def cells_alike(shown: Floats, *, are_runs: bool) -> Sizes:
    """Return, for every cell, how many cells show the same number: all of them, or only those in its run.

    >>> cells_alike(np.array([1.0, 1.0, 2.0, 1.0]), are_runs=True).tolist()
    [2, 2, 1, 1]
    >>> cells_alike(np.array([1.0, 1.0, 2.0, 1.0]), are_runs=False).tolist()
    [3, 3, 1, 3]
    """
    if are_runs:
        starts = np.flatnonzero(np.diff(shown, prepend=np.nan) != 0)
        lengths = np.diff(starts, append=shown.size)
        return np.repeat(lengths, lengths)
    _, places, counts = np.unique(shown, return_inverse=True, return_counts=True)
    return np.asarray(counts[places.ravel()], dtype=np.int64)
