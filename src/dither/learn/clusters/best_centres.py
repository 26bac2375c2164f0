"""Centres of weighted public points, found with care: good starts, then centres moved to where they are missed most.

Plain k-means ends in a poor optimum where there are many clusters. Here each centre of a start is the best of a few
draws (greedy k-means++), and of the best start the centre that is needed least is put where one is needed most, as long
as that helps. All points and weights are released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.clusters.points import squared_distances, weighted_clusters
from dither.learn.rows import Floats
from dither.learn.trees.bins import public_numbers

_STARTS: Final = 4
#: Distances that are computed at once, and starts and moves in all.
_MOST_DISTANCES: Final = 2**21
_MOST_MOVES: Final = 2**27
#: Only these are tried as new places, those that cost most; and this number of centres as those to take away.
_NEW_PLACES: Final = 2**9
_TAKEN_AWAY: Final = 3


def best_centres(places: Floats, weights: Floats, clusters: int, *, public_seed: str) -> Floats:
    """Return centres of small weighted squared distance.

    Args:
        places: public points, at least as many as clusters.
        weights: the weight of each; not negative.
        clusters: the number of centres.
        public_seed: a public text that decides the starts.

    """
    tried = min(2 + int(math.log(clusters)), max(_MOST_DISTANCES // len(places), 1))
    numbers = (
        public_numbers(f"starts:{public_seed}", _STARTS * clusters * tried).reshape(_STARTS, clusters, -1) / 2.0**32
    )
    centres, _ = weighted_clusters(places, weights, clusters, _greedy_starts(places, weights, numbers))
    if clusters == 1 or len(places) <= clusters:
        return centres
    cost = _cost(places, weights, centres)
    for _ in range(min(2 * clusters, _MOST_MOVES // (len(places) * (clusters + _NEW_PLACES)))):
        for start in _with_one_elsewhere(places, weights, centres):
            moved, _ = weighted_clusters(places, weights, clusters, iter([start]))
            reached = _cost(places, weights, moved)
            if reached < cost * (1 - 1e-6):
                centres, cost = moved, reached
                break
        else:
            return centres
    return centres


def _greedy_starts(places: Floats, weights: Floats, numbers: NDArray[np.float64]) -> Iterator[Floats]:
    """Yield starts: each centre is that of a few draws, by weight and squared distance, which lowers the cost most."""
    for start in numbers:
        chosen: list[int] = []
        squared = np.ones(len(places))
        for row in start:
            mass = np.cumsum(weights * squared)
            if mass[-1] <= 0:
                mass = np.cumsum(np.ones(len(places)))
            drawn = np.minimum(np.searchsorted(mass, row * mass[-1], side="right"), len(places) - 1)
            apart = squared_distances(places[drawn], places)
            after = np.minimum(squared, apart) if chosen else apart
            best = int((after @ weights).argmin())
            chosen.append(int(drawn[best]))
            squared = after[best]
        yield places[chosen]


def _with_one_elsewhere(places: Floats, weights: Floats, centres: Floats) -> Iterator[Floats]:
    """Yield the centres with one of those that are needed least put at the place where one is needed most."""
    squared = squared_distances(places, centres)
    first, second = np.partition(squared, 1, axis=1)[:, :2].T
    needed = np.bincount(squared.argmin(axis=1), weights=weights * (second - first), minlength=len(centres))
    new = np.argsort(-weights * first, kind="stable")[:_NEW_PLACES]
    saved = np.maximum(first - squared_distances(places[new], places), 0.0) @ weights
    for taken in np.argsort(needed, kind="stable")[:_TAKEN_AWAY]:
        elsewhere = centres.copy()
        elsewhere[taken] = places[new[int(saved.argmax())]]
        yield elsewhere


def _cost(places: Floats, weights: Floats, centres: Floats) -> float:
    return float((weights * squared_distances(places, centres).min(axis=1)).sum())
