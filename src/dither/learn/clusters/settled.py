"""Centres of a private coreset: plain k-means or k-median on weighted released points, at no further loss.

Where there are fewer leaves than clusters, places beside the widest leaves are added, so that there is something to
choose from.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.clusters.lloyd import packed
from dither.learn.clusters.moment_tree import Leaves
from dither.learn.clusters.points import spread_starts, squared_distances, weighted_clusters
from dither.learn.rows import Floats
from dither.learn.trees.bins import public_numbers

OBJECTIVES: Final = ("means", "medians")
_STARTS: Final = 20
_MOST_DISTANCES: Final = 2**21
_ROUNDS: Final = 30


def settle(leaves: Leaves, clusters: int, *, objective: str, public_seed: str) -> tuple[Floats, Floats, Floats]:
    """Return the centres of a coreset, the approximate number of points of each, and their mean squared distance.

    For medians that distance is from the point's own leaf: a centre is to be moved by the points near to it, and not by
    a lump of its cluster elsewhere.
    """
    leaves = _enough(leaves, clusters, public_seed)
    places, weights = leaves.places, leaves.weights
    # As many places as clusters can be settled in one way only, and very many take long.
    most = _MOST_DISTANCES // (len(places) * clusters)
    starts = min(_STARTS, max(most, 1)) if len(places) > clusters else 1
    numbers = public_numbers(f"starts:{public_seed}", starts * clusters).reshape(starts, -1) / 2.0**32
    centres, _ = weighted_clusters(places, weights, clusters, spread_starts(places, weights, clusters, numbers))
    if objective == "medians":
        centres = weighted_medians(places, weights, centres, leaves.spreads)
    squared = squared_distances(places, centres)
    owner = squared.argmin(axis=1)
    held: Floats = np.bincount(owner, weights=weights, minlength=clusters).astype(np.float64)
    between = squared[np.arange(len(places)), owner] if objective == "means" else 0.0
    apart = weights * (between + leaves.spreads)
    spreads = np.bincount(owner, weights=apart, minlength=clusters) / np.maximum(held, 1e-300)
    usual = float(apart.sum() / max(float(weights.sum()), 1e-300))
    return centres, held, np.where(held > 0, spreads, usual)


def weighted_medians(places: Floats, weights: Floats, centres: Floats, spreads: Floats | float = 0.0) -> Floats:
    """Return centres that minimise the weighted sum of distances of public points: Weiszfeld's steps.

    Args:
        places: public points, in steps.
        weights: the weight of each.
        centres: where to start.
        spreads: the mean squared distance from it of what each of them stands for: its distance from a centre is then
            taken to be the root of the mean square, so that a median is not drawn to the nearest of few places.

    """
    for _ in range(_ROUNDS):
        squared = squared_distances(places, centres)
        owner: NDArray[np.int64] = squared.argmin(axis=1)
        apart = np.sqrt(squared[np.arange(len(places)), owner] + spreads)
        pull = weights / np.maximum(apart, 1.0)  # one step is next to nothing
        mass = np.bincount(owner, weights=pull, minlength=len(centres))
        sums = np.stack([np.bincount(owner, weights=pull * column, minlength=len(centres)) for column in places.T], 1)
        centres = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centres)
    return centres


def _enough(leaves: Leaves, clusters: int, public_seed: str) -> Leaves:
    """Return at least as many places as there are clusters; added places have almost no weight."""
    weights = leaves.weights
    if not weights.sum() > 0:
        weights = np.ones(len(weights))
    missing = clusters - int((weights > 0).sum())
    if missing <= 0:
        return Leaves(leaves.places, weights, leaves.spreads)
    widest = np.argsort(-weights * leaves.spreads, kind="stable")
    beside = widest[np.arange(missing) % max(int((weights > 0).sum()), 1)]
    aside = packed(missing + 1, leaves.places.shape[1], f"beside:{public_seed}")[1:]
    return Leaves(
        np.vstack([leaves.places, leaves.places[beside] + aside * np.sqrt(leaves.spreads[beside])[:, None]]),
        np.append(weights, np.full(missing, 1e-6 * float(weights.sum()))),
        np.append(leaves.spreads, leaves.spreads[beside]),
    )
