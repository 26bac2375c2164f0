"""How good released itemsets are: F1, false negatives, relative error of supports.

They compare with the true sets, which are private: for experiments on public data, never for a release.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from dither.learn.itemsets.common import Itemsets
from dither.learn.itemsets.universe import Itemset


def _as_sets(itemsets: Iterable[Iterable[int]]) -> set[Itemset]:
    return {tuple(sorted(itemset)) for itemset in itemsets}


def precision(found: Collection[Iterable[int]], true: Collection[Iterable[int]]) -> float:
    """Return the share of the found sets that is right; 1 where nothing was found."""
    here, there = _as_sets(found), _as_sets(true)
    return len(here & there) / len(here) if here else 1.0


def recall(found: Collection[Iterable[int]], true: Collection[Iterable[int]]) -> float:
    """Return the share of the true sets that was found; 1 where there are none."""
    here, there = _as_sets(found), _as_sets(true)
    return len(here & there) / len(there) if there else 1.0


def f1_score(found: Collection[Iterable[int]], true: Collection[Iterable[int]]) -> float:
    """Return the harmonic mean of precision and recall.

    >>> f1_score([(1,), (2, 3)], [(3, 2), (4,), (5,)])
    0.4
    """
    here, there = _as_sets(found), _as_sets(true)
    return 2 * len(here & there) / (len(here) + len(there)) if here or there else 1.0


def false_negative_rate(found: Collection[Iterable[int]], true: Collection[Iterable[int]]) -> float:
    """Return the share of the true sets that is missing; with equally many found, also the share of wrong ones.

    >>> false_negative_rate([(1,), (2,)], [(2,), (3,)])
    0.5
    """
    return 1 - recall(found, true)


def relative_support_error(found: Itemsets, supports: Mapping[Itemset, int], *, least: float = 1.0) -> float:
    """Return the median of |noisy - true| / max(true, least) over the sets found; NaN where nothing was found.

    Args:
        found: the released sets.
        supports: the true support of each of them.
        least: the sanity bound: the smallest divisor.

    """
    errors = [
        abs(noisy - supports[itemset]) / max(supports[itemset], least)
        for itemset, noisy in zip(found.sets, found.supports, strict=True)
    ]
    return float(np.median(errors)) if errors else float("nan")
