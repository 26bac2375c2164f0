"""The missing record: the centre of a cluster, and all its members but one, are that one.

An attacker holds every record but the target's. If the true centres of any iteration of k-means leak, the cluster whose
centre is not the mean of its known members has the target in it, and the target is n S - (n - 1) S', where S is the
leaked centre, S' the mean of the known members, and n their number with the target.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_numbers
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_KNOWN, _CLUSTERS, _NEAR = 60, 3, 0.05


def cluster_sums(points: NDArray[np.float64], starts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each cluster the sums of the coordinates of its points, and their number, nearest start first."""
    nearest = np.argmin(((points[:, None, :] - starts) ** 2).sum(axis=2), axis=1)
    sums = np.zeros((len(starts), points.shape[1] + 1))
    np.add.at(sums, nearest, np.hstack([points, np.ones((len(points), 1))]))
    return sums


@attack("centroids", source=f"{ADELAIDE}, section 7.1", most=2000)
def centroids(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Compute the one unknown record from leaked cluster centres and all other records."""
    drawn = public_generator()
    missing = drawn.uniform(size=(targets, 2))
    found = np.empty((2, targets, 2))
    for number, own in enumerate(missing):
        known, starts = drawn.uniform(size=(_KNOWN, 2)), drawn.uniform(size=(_CLUSTERS, 2))
        mine = cluster_sums(known, starts)
        true = cluster_sums(np.vstack([known, own]), starts)
        # Another place for one person may move two clusters: a count by 1 and two sums by at most 1 in each.
        private = noisy_numbers(true, epsilon, moved=6)
        for side, released in enumerate((true, private)):
            found[side, number] = _solved(released, mine)
    far = np.sqrt(((found - missing) ** 2).sum(axis=2))
    shares = np.mean(far <= _NEAR, axis=1)
    area = math.pi * _NEAR**2
    within = np.linspace(0.01, 0.5, 25)
    return Outcome(
        attack="centroids",
        measure=f"share of records found to within {_NEAR:g} of the side of the square",
        unprotected=float(shares[0]),
        protected=float(shares[1]),
        chance=area,
        ceiling=ceiling(area, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's place",
        words=f"One unknown record among {_KNOWN + 1}: exact centres give it to within {far[0].max():.1g}, noisy sums "
        f"and counts to within {np.median(far[1]):.2f} in the median, which is a guess.",
        axes=("distance from the true record", "share of records found that near"),
        curves=tuple(
            Curve(name, tuple(within.tolist()), tuple(float(np.mean(side <= reach)) for reach in within))
            for name, side in (("exact centres", far[0]), ("noisy sums and counts", far[1]))
        ),
    )


def _solved(released: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the missing record, from sums that may be noisy and the sums of all others."""
    # In terms of sums, n S - (n - 1) S' is a difference; the cluster is the one whose sums moved most.
    moved = released - known
    home = int(np.argmax(np.abs(moved).sum(axis=1)))
    return np.clip(moved[home, :2], 0.0, 1.0)
