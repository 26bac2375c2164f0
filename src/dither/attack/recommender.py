"""A plain recommender to be attacked, and the private counts that would take its place.

Who bought what is a table of zeros and ones. The plain recommender gives a user what their nearest neighbours bought;
the plain shop shows, beside an item, what was bought together with it. Everybody buys each item by a coin of their own,
so nothing can be learnt about anybody but from what is released about them.

The private version counts how often two items were bought by one person, each person counted with a limited number of
items, and adds noise: everything shown is computed from those counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.protection import noisy_counts
from dither.exact import Number

Histories = NDArray[np.int64]


def neighbours_of(histories: Histories, user: int, count: int) -> NDArray[np.int64]:
    """Return the users whose histories have the highest cosine with that of ``user``."""
    lengths = np.sqrt(np.maximum(histories.sum(axis=1), 1))
    nearness = (histories @ histories[user]) / lengths
    nearness[user] = -1.0
    return np.argsort(-nearness, kind="stable")[:count]


def recommended(histories: Histories, user: int, neighbours: int, count: int) -> NDArray[np.int64]:
    """Return what most of the nearest neighbours have and the user has not; items that none has are left out."""
    scores = histories[neighbours_of(histories, user, neighbours)].sum(axis=0)
    scores = np.where(histories[user] > 0, 0, scores)
    best = np.argsort(-scores, kind="stable")[:count]
    return best[scores[best] > 0]


def limited(histories: Histories, most: int, lots: NDArray[np.float64]) -> Histories:
    """Return histories of which at most ``most`` items each are kept, by lot."""
    order = np.argsort(np.where(histories > 0, lots, 2.0), axis=1, kind="stable")
    kept = np.zeros_like(histories)
    np.put_along_axis(kept, order[:, :most], 1, axis=1)
    return np.asarray(kept * histories)


def together(histories: Histories) -> NDArray[np.int64]:
    """Return how many people have both of two items; nothing is counted with itself."""
    counts = histories.T @ histories
    np.fill_diagonal(counts, 0)
    return np.asarray(counts)


def private_together(histories: Histories, epsilon: Number, most: int) -> NDArray[np.int64]:
    """Return noisy counts of pairs, for histories of at most ``most`` items, when one person is replaced."""
    upper = np.triu_indices(histories.shape[1], k=1)
    counts = np.zeros((histories.shape[1],) * 2, dtype=np.int64)
    # One person adds one to at most most (most - 1) / 2 pairs; another in their place does the same.
    counts[upper] = noisy_counts(together(histories)[upper], epsilon, moved=most * (most - 1))
    return counts + counts.T
