"""Membership: whether somebody was in the data, told from averages alone, or from a model.

From averages (Homer et al. 2008): many averages of a small pool lean, each a little, towards those who are in it. From
a model: a model that fits its training records better than others says which those were.

Every candidate is in the pool by the toss of a coin of their own, so a guess without a release is right half the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_numbers
from dither.attack.registry import attack
from dither.attack.sources import KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_ATTRIBUTES, _ROUNDS = 5000, 20


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
    """Tell from the averages of many attributes who is in the pool that was averaged."""
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
        measure="share of candidates rightly told to be in or out",
        unprotected=curves[0].y[-1],
        protected=curves[1].y[-1],
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's being in the pool, all averages together",
        words=f"Averages of {_ATTRIBUTES} attributes over a pool of {int(is_in.sum())} give away "
        f"{curves[0].y[-1]:.0%} of the memberships of {targets} candidates. Noise that pays for all averages together "
        f"leaves {curves[1].y[-1]:.0%}.",
        axes=("averages that were used", "share told rightly"),
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
        measure="share of candidates rightly told to be in or out",
        unprotected=shares[0],
        protected=shares[1],
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one record's being in the training data",
        words=f"A linear model of {features} weights, fitted to {int(is_in.sum())} of {targets} records whose labels "
        f"are tosses of a coin, is right where it was trained and wrong elsewhere.",
    )
