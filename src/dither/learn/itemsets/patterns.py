"""From noisy counts of patterns to noisy supports: post-processing.

A group of m items has 2^m patterns, of which each transaction has one. The support of a set of the group's items is the
sum of the counts of all patterns that contain it, so its noise is that of 2^(m - size) counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dither.learn.itemsets.universe import Itemset


def superset_sums(patterns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each pattern, the sum over all patterns that contain it.

    >>> superset_sums(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [10.0, 6.0, 7.0, 4.0]
    """
    sums = np.array(patterns, dtype=np.float64)
    step = 1
    while step < sums.size:
        halves = sums.reshape(-1, 2, step)
        halves[:, 0] += halves[:, 1]
        step *= 2
    return sums


def supports_of(
    groups: Sequence[Itemset], tables: Iterable[NDArray[np.float64]], longest: int
) -> dict[Itemset, tuple[float, float]]:
    """Return an estimate of the support of every set within a group, and the number of counts in its noise.

    A set that lies in several groups has several estimates, which are averaged by the inverse of their variances.
    """
    weights: defaultdict[Itemset, float] = defaultdict(float)
    totals: defaultdict[Itemset, float] = defaultdict(float)
    for group, table in zip(groups, tables, strict=True):
        sums = superset_sums(table)
        masks = np.arange(1, sums.size)
        sizes = np.bitwise_count(masks)
        for mask in masks[sizes <= longest].tolist():
            itemset = tuple(sorted(item for place, item in enumerate(group) if mask >> place & 1))
            weight = 2.0 ** (len(itemset) - len(group))
            weights[itemset] += weight
            totals[itemset] += weight * float(sums[mask])
    return {itemset: (totals[itemset] / weight, 1 / weight) for itemset, weight in weights.items()}
