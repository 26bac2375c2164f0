"""The next candidates: sets all of whose subsets were kept. A function of released sets."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations, groupby

from dither.learn.itemsets.universe import Itemset


def joined(kept: Collection[Itemset], most: int | None = None) -> list[Itemset]:
    """Return the sets one item longer than the kept ones, all of one size, of which every subset was kept.

    Args:
        kept: sets of one size.
        most: the largest number returned; the first in lexicographic order.

    >>> joined([(0, 1), (0, 2), (1, 2), (1, 3)])
    [(0, 1, 2)]

    """
    known, found = set(kept), list[Itemset]()
    for _, group in groupby(sorted(known), key=lambda itemset: itemset[:-1]):
        for one, other in combinations(list(group), 2):
            longer = (*one, other[-1])
            if all(part in known for part in combinations(longer, len(one))):
                found.append(longer)
                if most is not None and len(found) == most:
                    return found
    return found
