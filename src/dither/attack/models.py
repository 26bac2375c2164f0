"""Models: averages, weights and cluster centres reveal which records they were made from, and what these hold."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_numbers
from dither.attack.registry import ADELAIDE, KAR, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

Points = NDArray[np.float64]
_ATTRIBUTES, _ROUNDS = 5000, 20


def cluster_sums(records: Points, centres: Points) -> Points:
    """Return the sum of both coordinates and the number of the records nearest to each centre, for many data sets."""
    far = ((records[..., :, None, :] - centres[..., None, :, :]) ** 2).sum(axis=-1)
    is_mine = far.argmin(axis=-1)[..., None] == np.arange(centres.shape[-2])
    numbers = np.concatenate([records, np.ones((*records.shape[:-1], 1))], axis=-1)
    return np.asarray(np.einsum("...rc,...rn->...cn", is_mine.astype(np.float64), numbers))


def upper_group(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which scores belong to the upper one of two groups: two-means on a line, from its middle on."""
    edge = float(scores.min() + scores.max()) / 2
    for _ in range(_ROUNDS):
        is_upper = scores > edge
        if is_upper.all() or not is_upper.any():
            break
        edge = float(scores[is_upper].mean() + scores[~is_upper].mean()) / 2
    return np.asarray(scores > edge)


@attack(
    "membership-aggregates",
    source=f"Resolving individuals contributing trace amounts of DNA (Homer et al. 2008); {KAR}, section 3.5",
    most=1000,
)
def membership_in_aggregates(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Tell from the averages of many attributes who is in the averaged pool.

    Membership: whether somebody was in the data, told from averages alone, or from a model.

    From averages (Homer et al. 2008): many averages of a small pool lean, each a little, towards those who are in it.
    From a model: a model that fits its training records better than others says which those were.

    Every candidate is in the pool by the toss of their own coin, so a guess without a release is right half the
    time.
    """
    drawn = public_generator()
    known = drawn.uniform(0.2, 0.8, size=_ATTRIBUTES)
    candidates = (drawn.uniform(size=(targets, _ATTRIBUTES)) < known).astype(np.float64)
    is_in = drawn.integers(0, 2, size=targets).astype(bool)
    sums = candidates[is_in].sum(axis=0)
    # One person more or less moves every sum by 1 at most.
    private = noisy_numbers(sums, epsilon, moved=_ATTRIBUTES)

    def scores(released: NDArray[np.float64], first: int = _ATTRIBUTES) -> NDArray[np.float64]:
        # How many are in the pool is read off the sums themselves.
        pool = released[:first] @ known[:first] / (known[:first] @ known[:first])
        leaning = released[:first] - pool * known[:first]
        return np.asarray((candidates[:, :first] - known[:first]) @ leaning)

    counts = [30, 100, 300, 1000, _ATTRIBUTES]
    curves = tuple(
        Curve(
            name,
            tuple(map(float, counts)),
            tuple(float(np.mean(upper_group(scores(released, first)) == is_in)) for first in counts),
        )
        for name, released in (("exact averages", sums), ("noisy averages", private))
    )
    return Outcome(
        attack="membership-aggregates",
        measure="share of candidates correctly classified as in or out",
        unprotected=curves[0].y[-1],
        protected=curves[1].y[-1],
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's being in the pool, all averages together",
        words=f"Averages of {_ATTRIBUTES} attributes over a pool of {int(is_in.sum())} give away "
        f"{curves[0].y[-1]:.0%} of the memberships of {targets} candidates. Noise that pays for all averages together "
        f"leaves {curves[1].y[-1]:.0%}.",
        axes=("averages that were used", "share classified correctly"),
        curves=curves,
    )


@attack(
    "membership-model",
    source="Membership Inference Attacks Against Machine Learning Models (Shokri et al. 2017); Privacy Risk in Machine "
    f"Learning (Yeom et al. 2018); {KAR}, section 3.5",
    most=400,
)
def membership_in_a_model(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Tell from a linear model which records it was fitted to: those that it fits best."""
    drawn = public_generator()
    features = (targets * 7) // 10
    records = drawn.choice((-1.0, 1.0), size=(targets, features))
    labels = drawn.choice((-1.0, 1.0), size=targets)
    is_in = drawn.integers(0, 2, size=targets).astype(bool)
    # The plain model: least squares, with about as many features as records, which learns them by heart.
    plain, *_ = np.linalg.lstsq(records[is_in], labels[is_in], rcond=None)
    # The private one: sums of products with noise, one record moving each of them by 1 at most, and a ridge.
    upper = np.triu_indices(features)
    products = (records[is_in].T @ records[is_in])[upper]
    moments = np.concatenate([products, records[is_in].T @ labels[is_in]])
    private = noisy_numbers(moments, epsilon, moved=len(moments))
    square = np.zeros((features, features))
    square[upper] = private[: len(products)]
    square = square + square.T - np.diag(square.diagonal())
    values, vectors = np.linalg.eigh(square)
    ridge = np.maximum(values, 0.0) + targets
    weights = vectors @ ((vectors.T @ private[len(products) :]) / ridge)
    # How many digits of the label the model gets right, up to rounding.
    digits = [-np.log(np.abs(labels - records @ model) + 1e-12) for model in (plain, weights)]
    shares = [float(np.mean(upper_group(scores) == is_in)) for scores in digits]
    return Outcome(
        attack="membership-model",
        measure="share of candidates correctly classified as in or out",
        unprotected=shares[0],
        protected=shares[1],
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one record's being in the training data",
        words=(
            f"A linear model of {features} weights, fitted to {int(is_in.sum())} of {targets} records whose labels "
            "are tosses of a coin, is right on its training records and wrong on others."
        ),
    )


_KNOWN, _CLUSTERS, _NEAR = 60, 3, 0.05


@attack("centroids", source=f"{ADELAIDE}, section 7.1", most=2000)
def centroids(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Compute the one unknown record from leaked cluster centres and all other records.

    The missing record: the centre of a cluster, and all its members but one, are that one.

    An attacker holds every record but the target's. If the true centres of any iteration of k-means leak, the cluster
    whose centre is not the mean of its known members has the target in it, and the target is n S - (n - 1) S', where S
    is the leaked centre, S' the mean of the known members, and n their number with the target.
    """
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


_RECORDS, _CANDIDATES = 12, 8
#: The public starts of two clusters in the unit square.
_STARTS = np.array([[0.3, 0.4], [0.7, 0.6]])


def next_centres(records: Points, centres: Points) -> Points:
    """Return the mean of every cluster; a cluster without records stays where it is."""
    sums = cluster_sums(records, centres)
    counts = sums[..., 2:]
    return np.where(counts > 0, sums[..., :2] / np.maximum(counts, 1), centres)


def off_the_line(middle: Points, start: Points, end: Points) -> NDArray[np.float64]:
    """Return the distance of a point from the line through two others, or from their one point if they are equal."""
    way, out = end - start, middle - start
    length, turned = np.linalg.norm(way, axis=-1), way[..., 0] * out[..., 1] - way[..., 1] * out[..., 0]
    away = np.linalg.norm(out, axis=-1)
    return np.where(length > 0, np.abs(turned) / np.where(length > 0, length, 1), away)


@attack("zones", source=f"{ADELAIDE}, section 7.4, algorithms 7.1 and 7.2", most=2000)
def zones(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Try what an unknown record may be until the published zone fits the exact means of k-means.

    Zones: the ball from which a noisy centre is drawn gives the exact centre away.

    The Adelaide thesis draws a centre of k-means from a ball, and publishes the ball. Its middle P lies on the segment
    between two exact means in a row (the zone of the future), or its radius r and middle satisfy |P - S| + r = |S - S'|
    for the exact mean S and the one before, S' (the zone of the past). Who knows all records but one tries what that
    one may be, computes the means, and keeps the candidate for which P lies on the line, or for which the equation
    holds.

    The defended release counts and adds up the records of every cluster with noise.
    """
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
        measure="share of unknown records inferred correctly",
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
