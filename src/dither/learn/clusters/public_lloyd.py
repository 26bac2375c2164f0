"""Lloyd's k-means without privacy: for points that are public, such as made-up or released ones.

It is what private methods are compared with. Nothing here draws noise, so that nothing of it may be published about
private points: neither the centres nor the labels, the cost or the number of steps.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.exact import whole
from dither.learn.clusters.points import MOST_CLUSTERS, spread_starts
from dither.learn.rows import Floats
from dither.learn.trees.bins import public_numbers

_RULE: Final = "rows of finite numbers, one row or more"


@dataclass(frozen=True)
class PublicClusters:
    """What Lloyd's algorithm found, without privacy.

    Args:
        centres: one a row.
        labels: the nearest centre of each point, the first of several.
        costs: the sum of squared distances from the nearest centres, before the first step and after each.
        has_converged: whether a step more would change nothing.

    """

    centres: Floats
    labels: NDArray[np.int64]
    costs: tuple[float, ...]
    has_converged: bool


def public_lloyd(
    points: ArrayLike, clusters: int, *, start: ArrayLike | None = None, public_seed: str = "", most_steps: int = 300
) -> PublicClusters:
    """Return k-means of public points by Lloyd's algorithm: nearest centres, means, until nothing changes.

    Not private: for points that may be published as they are.

    Args:
        points: public points, one a row.
        clusters: the number of centres.
        start: the centres to start from; by default points far from one another, chosen by ``public_seed``.
        public_seed: a text that decides the start.
        most_steps: when to stop, should it still change.

    >>> found = public_lloyd([[0.0], [1.0], [10.0], [12.0]], 2)
    >>> sorted(found.centres[:, 0].tolist()), found.costs[-1], found.has_converged
    ([0.5, 11.0], 2.5, True)

    """
    given = _numbers("points", points)
    count, steps = whole("clusters", clusters, least=1, most=MOST_CLUSTERS), whole("most_steps", most_steps, least=0)
    if start is None:
        numbers = public_numbers(f"lloyd:{public_seed}", count).reshape(1, -1) / 2.0**32
        centres = next(spread_starts(given, np.ones(len(given)), count, numbers))
    else:
        centres = _numbers("start", start)
        if centres.shape != (count, given.shape[1]):
            raise InvalidParameter("start", f"{centres.shape}", f"{count} rows of {given.shape[1]} numbers")
    labels, cost = _nearest(given, centres)
    costs = [cost]
    for _ in range(steps):
        moved = np.array([given[labels == j].mean(axis=0) if (labels == j).any() else centres[j] for j in range(count)])
        if np.array_equal(moved, centres):
            return PublicClusters(centres, labels, tuple(costs), has_converged=True)
        centres = moved
        labels, cost = _nearest(given, centres)
        costs.append(cost)
    return PublicClusters(centres, labels, tuple(costs), has_converged=False)


def _numbers(name: str, rows: ArrayLike) -> Floats:
    found = None
    with suppress(TypeError, ValueError):
        found = np.asarray(rows, dtype=np.float64)
    if found is None or found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InvalidParameter(name, type(rows).__name__, _RULE)
    return found


def _nearest(points: Floats, centres: Floats) -> tuple[NDArray[np.int64], float]:
    """Return the nearest centre of each point, and the sum of squared distances from them."""
    squared = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
    return squared.argmin(axis=1).astype(np.int64), float(squared.min(axis=1).sum())
