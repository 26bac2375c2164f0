"""Bases: groups of items such that frequent sets lie within one of them. Made from released items and pairs alone.

Maximal cliques of the graph of frequent pairs, items in no pair put together, and groups merged as long as that makes
the estimates of items and pairs better on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from dither.learn.itemsets.universe import Itemset

#: Items without a frequent pair are put together in groups of this size.
_TOGETHER = 3
#: Cliques that are looked for; a graph of few pairs has far fewer.
_MOST_CLIQUES = 4096


def maximal_cliques(items: Sequence[int], pairs: Sequence[Itemset]) -> Iterator[frozenset[int]]:
    """Return the maximal sets of items of which every two form a pair.

    >>> sorted(map(sorted, maximal_cliques([0, 1, 2, 3, 4], [(0, 1), (1, 2), (0, 2), (2, 3)])))
    [[0, 1, 2], [2, 3], [4]]
    """
    near: dict[int, set[int]] = {item: set() for item in items}
    for one, other in pairs:
        near[one].add(other)
        near[other].add(one)
    waiting: list[tuple[frozenset[int], set[int], set[int]]] = [(frozenset(), set(items), set())]
    while waiting:
        clique, left, done = waiting.pop()
        if not left and not done:
            yield clique
            continue
        pivot = max(sorted(left | done), key=lambda item: len(near[item] & left))
        for item in sorted(left - near[pivot]):
            waiting.append((clique | {item}, left & near[item], done & near[item]))
            left = left - {item}
            done = done | {item}


def bases_of(items: Sequence[int], pairs: Sequence[Itemset], widest: int, *, power: int) -> list[Itemset]:
    """Return groups of at most ``widest`` items that together hold all items and as many of the pairs as possible.

    Args:
        items: all items.
        pairs: pairs of them.
        widest: the largest number of items of a group.
        power: the power of the number of groups with which the variance of a noisy count grows.

    """
    groups: list[frozenset[int]] = []
    alone: list[int] = []
    for number, clique in enumerate(maximal_cliques(items, pairs)):
        if number == _MOST_CLIQUES:
            break
        ordered = sorted(clique)
        if len(ordered) == 1:
            alone += ordered
        else:
            groups += _covered(ordered, widest)
    step = min(_TOGETHER, widest)
    missing = sorted(set(items) - set().union(*groups) - set(alone)) + sorted(alone)
    groups += [frozenset(missing[at : at + step]) for at in range(0, len(missing), step)]
    groups = sorted(set(groups), key=sorted)
    return [tuple(sorted(group)) for group in _merged(groups, [*((item,) for item in items), *pairs], widest, power)]


def _covered(clique: list[int], widest: int) -> list[frozenset[int]]:
    """Return groups of at most ``widest`` items in which any two items share a group, unless ``widest`` is 1."""
    if len(clique) <= widest:
        return [frozenset(clique)]
    half = max(widest // 2, 1)
    blocks = [frozenset(clique[at : at + half]) for at in range(0, len(clique), half)]
    return blocks if widest == 1 else [one | other for one, other in combinations(blocks, 2)]


def _merged(groups: list[frozenset[int]], wanted: Sequence[Itemset], widest: int, power: int) -> list[frozenset[int]]:
    """Merge the two groups that help most, one merge at a time, until no merge helps."""
    sets = [frozenset(itemset) for itemset in wanted]
    worth = [_worth(group, sets) for group in groups]
    total = np.sum(worth, axis=0)
    while len(groups) > 1:
        now = _variance(total, len(groups), power)
        best: tuple[float, int, int] | None = None
        for i in range(len(groups)):
            for j in range(i):
                union = groups[i] | groups[j]
                if len(union) > widest:
                    continue
                after = total - worth[i] - worth[j] + _worth(union, sets)
                found = _variance(after, len(groups) - 1, power)
                if found < now and (best is None or found < best[0]):
                    best = (found, i, j)
        if best is None:
            return groups
        _, i, j = best
        union = groups[i] | groups[j]
        keep = [number for number in range(len(groups)) if number not in (i, j)]
        groups = [*(groups[number] for number in keep), union]
        worth = [*(worth[number] for number in keep), _worth(union, sets)]
        total = np.sum(worth, axis=0)
    return groups


def _worth(group: frozenset[int], sets: Sequence[frozenset[int]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the inverse of the number of counts that are added up in the group's estimate of each set."""
    size = len(group)
    return np.array([2.0 ** (len(itemset) - size) if itemset <= group else 0.0 for itemset in sets])


def _variance(worth: np.ndarray[tuple[int], np.dtype[np.float64]], groups: int, power: int) -> float:
    """Return the mean variance of the estimates, up to a factor: a transaction lies in one pattern of each group."""
    return float((1 / np.maximum(worth, 1e-12)).mean()) * float(groups) ** power
