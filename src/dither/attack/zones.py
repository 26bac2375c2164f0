"""Zones: the ball from which a noisy centre is drawn gives the exact centre away.

The Adelaide thesis draws a centre of k-means from a ball, and publishes the ball. Its middle P lies on the segment
between two exact means in a row (the zone of the future), or its radius r and middle satisfy |P - S| + r = |S - S'| for
the exact mean S and the one before, S' (the zone of the past). Who knows all records but one tries what that one may
be, computes the means, and keeps the candidate for which P lies on the line, or for which the equation holds.

The defended release counts and adds up the records of every cluster with noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_numbers
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_RECORDS, _CANDIDATES = 12, 8
#: The public starts of two clusters in the unit square.
_STARTS = np.array([[0.3, 0.4], [0.7, 0.6]])
Points = NDArray[np.float64]


def cluster_sums(records: Points, centres: Points) -> Points:
    """Return the sum of both coordinates and the number of the records nearest to each centre, for many data sets."""
    far = ((records[..., :, None, :] - centres[..., None, :, :]) ** 2).sum(axis=-1)
    is_mine = far.argmin(axis=-1)[..., None] == np.arange(centres.shape[-2])
    numbers = np.concatenate([records, np.ones((*records.shape[:-1], 1))], axis=-1)
    return np.asarray(np.einsum("...rc,...rn->...cn", is_mine.astype(np.float64), numbers))


def next_centres(records: Points, centres: Points) -> Points:
    """Return the mean of every cluster; a cluster without records stays where it is."""
    sums = cluster_sums(records, centres)
    counts = sums[..., 2:]
    return np.where(counts > 0, sums[..., :2] / np.maximum(counts, 1), centres)


def off_the_line(middle: Points, start: Points, end: Points) -> NDArray[np.float64]:
    """Return how far a point is from the line through two others; from the one point where they are the same."""
    way, out = end - start, middle - start
    length, turned = np.linalg.norm(way, axis=-1), way[..., 0] * out[..., 1] - way[..., 1] * out[..., 0]
    away = np.linalg.norm(out, axis=-1)
    return np.where(length > 0, np.abs(turned) / np.where(length > 0, length, 1), away)


@attack("zones", source=f"{ADELAIDE}, section 7.4, algorithms 7.1 and 7.2", most=2000)
def zones(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Try what an unknown record may be until the published zone fits the exact means of k-means."""
    drawn = public_generator()
    known = drawn.uniform(size=(targets, 1, _RECORDS - 1, 2))
    options = drawn.uniform(size=(targets, _CANDIDATES, 1, 2))
    own = drawn.integers(0, _CANDIDATES, size=targets)
    everybody = np.arange(targets)
    tried = np.concatenate([np.broadcast_to(known, (targets, _CANDIDATES, _RECORDS - 1, 2)), options], axis=2)
    # Two steps of both centres, on every candidate's data.
    starts = np.broadcast_to(_STARTS, (targets, _CANDIDATES, 2, 2))
    mean = next_centres(tried, starts)
    later = next_centres(tried, mean)
    true_mean, true_later = mean[everybody, own], later[everybody, own]
    along = drawn.uniform(0.2, 0.8, size=(targets, 2, 1))
    moved = np.linalg.norm(true_mean - _STARTS, axis=2, keepdims=True)
    angle = drawn.uniform(0, 2 * np.pi, size=(targets, 2, 1))
    future = true_mean + along * (true_later - true_mean)
    past = true_mean + along * moved * np.concatenate([np.cos(angle), np.sin(angle)], axis=2)
    radius = (moved - along * moved)[..., 0]
    steps = np.linalg.norm(mean - _STARTS, axis=3)
    misfits = (
        (off_the_line(future[:, None], mean, later) + _beyond(future[:, None], mean, later)).sum(axis=2),
        np.abs(np.linalg.norm(past[:, None] - mean, axis=3) + radius[:, None] - steps).sum(axis=2),
    )
    # Every second target has a zone of the past.
    is_past = everybody % 2 == 1
    misfit = np.where(is_past[:, None], misfits[1], misfits[0])
    sums = cluster_sums(tried, starts)
    # Another record takes at most 1 from each of three numbers of one cluster and adds as much to those of another.
    private = noisy_numbers(sums[everybody, own].reshape(targets, -1), epsilon, moved=6)
    distance = np.abs(private[:, None] - sums.reshape(targets, _CANDIDATES, -1)).sum(axis=2)
    ranked = np.sort(misfit, axis=1)
    return Outcome(
        attack="zones",
        measure="share of unknown records told rightly",
        unprotected=float(np.mean(misfit.argmin(axis=1) == own)),
        protected=float(np.mean(distance.argmin(axis=1) == own)),
        chance=1 / _CANDIDATES,
        ceiling=ceiling(1 / _CANDIDATES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one record, sums and counts of both clusters together",
        words=f"One of {_CANDIDATES} candidates is the unknown record. The published zones fit the means of its data "
        f"to {np.median(ranked[:, 0]):.0e}, and those of the next candidate to {np.median(ranked[:, 1]):.0e}, in the "
        "median. Noisy sums fit all of them.",
        figures=(
            ("median misfit of the best candidate", float(np.median(ranked[:, 0]))),
            ("median misfit of the second", float(np.median(ranked[:, 1]))),
        ),
        axes=("candidate, the best first", "median misfit of the zone"),
        curves=(
            Curve(
                "zones",
                tuple(float(place + 1) for place in range(_CANDIDATES)),
                tuple(float(number) for number in np.median(ranked, axis=0)),
            ),
        ),
    )


def _beyond(middle: Points, start: Points, end: Points) -> NDArray[np.float64]:
    """Return how far a point lies before the start or behind the end of a segment, along its line."""
    way = end - start
    length = np.linalg.norm(way, axis=-1)
    place = ((middle - start) * way).sum(axis=-1) / np.where(length > 0, length, 1)
    return np.where(length > 0, np.maximum(np.maximum(-place, place - length), 0), 0.0)
