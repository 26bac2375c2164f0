"""Rotated and blurred rows: angles, one known record and a few known records undo additive perturbation.

The publisher releases A R + E: rows turned by a secret rotation R, with a little Gaussian noise E. Angles between rows
survive, which says who resembles whom; one known record then gives its neighbours; about as many known records as
there are columns give the rotation (orthogonal Procrustes) and with it everybody.

Corrections to the source, as its own figures ask for: squares of singular values add, not the values; the noise is
estimated from the smallest singular value and its norm bounded by its size times (sqrt n + sqrt m); of the ranks that
pass the test the largest is taken; a small angle means proportional rows, so a copied record is rescaled.

The defended rows carry Laplace noise for a whole row replaced: what a row costs when it is published one by one, with
no curator, which is why rows should not be published that way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.attack.matrices import Matrix, angles, denoised, noise_level, rotation_between, usable_rank
from dither.attack.outcome import Curve, Outcome, plainly
from dither.attack.protection import noisy_numbers
from dither.attack.registry import KENTUCKY, attack
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import Number

_BLUR, _CLOSE, _RADIANS = 0.01, 0.1, 0.05
#: Three numbers of a person, and the averages of any two of them: columns that depend on each other, as real ones do.
_LOADINGS = np.array([[1, 0, 0, 0.5, 0.5, 0], [0, 1, 0, 0.5, 0, 0.5], [0, 0, 1, 0, 0.5, 0.5]])
_COLUMNS = _LOADINGS.shape[1]


@dataclass(frozen=True)
class _Rows:
    """True rows, all numbers between 0 and 1; the careless release of them; the defended one."""

    true: Matrix
    careless: Matrix
    private: Matrix


def _rows(count: int, epsilon: Number, drawn: Generator) -> _Rows:
    true = drawn.uniform(size=(count, len(_LOADINGS))) @ _LOADINGS
    rotation, _ = np.linalg.qr(drawn.normal(size=(_COLUMNS, _COLUMNS)))
    careless = true @ rotation + drawn.normal(scale=_BLUR, size=true.shape)
    # Replacing a row moves each of its numbers by 1 at most.
    return _Rows(true, careless, noisy_numbers(true, epsilon, moved=_COLUMNS))


def _close(guesses: Matrix, truth: Matrix) -> NDArray[np.bool_]:
    far = np.linalg.norm(guesses - truth, axis=1)
    return np.asarray(far <= _CLOSE * np.linalg.norm(truth, axis=1))


def _loss(epsilon: Number) -> str:
    return f"{plainly(epsilon)} for one whole row replaced"


@attack("angles", source=f"{KENTUCKY}, section 2.2", most=5000)
def angle_preservation(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Read off rotated and blurred rows how alike two people are: rotations keep angles, and so does a little noise."""
    drawn = public_generator()
    rows = _rows(2 * targets, epsilon, drawn)
    # Disjoint pairs, so that they say nothing about each other.
    truth = angles(rows.true[:targets], rows.true[targets:])
    views = [denoised(rows.careless), denoised(rows.private)]
    released = [angles(one[:targets], one[targets:]) for one in views]
    shares = [float(np.mean(np.abs(one - truth) <= _RADIANS)) for one in released]
    # Without the release: the same guess for all pairs, the best there is.
    centre = _best_centre(truth)
    level = noise_level(rows.careless)
    rank = usable_rank(rows.careless, level)
    return Outcome(
        attack="angles",
        measure=f"share of pairs whose angle is known to within {_RADIANS:g} radians",
        unprotected=shares[0],
        protected=shares[1],
        chance=float(np.mean(np.abs(truth - centre) <= _RADIANS)),
        ceiling=None,
        n=targets,
        loss=_loss(epsilon),
        words=(
            f"A secret rotation and noise of standard deviation {_BLUR:g} leave {shares[0]:.0%} of the angles as they "
            "were. The size of that noise, and how many directions of the rows exceed it, are read from the release "
            f"itself: {level:.2g} and {rank}."
        ),
        figures=(("noise level read off the release", level), ("rank above the noise", float(rank or 0))),
        axes=("true angle", "angle in the release"),
        curves=tuple(
            Curve(name, tuple(truth[:200].tolist()), tuple(one[:200].tolist()), joined=False)
            for name, one in zip(("rotated and blurred", "defended rows"), released, strict=True)
        ),
    )


def _best_centre(values: NDArray[np.float64]) -> float:
    centres = np.linspace(float(values.min()), float(values.max()), 200)
    return float(centres[np.argmax([np.sum(np.abs(values - centre) <= _RADIANS) for centre in centres])])


@attack("one-record", source=f"{KENTUCKY}, section 2.2", most=2000)
def one_known_record(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Know one record; each row at a small angle to it in the release is nearly that record, rescaled."""
    drawn = public_generator()
    rows = _rows(targets, epsilon, drawn)
    shares = []
    for released in map(denoised, (rows.careless, rows.private)):
        directions = released / np.linalg.norm(released, axis=1, keepdims=True)
        cosines = directions @ directions.T
        np.fill_diagonal(cosines, -np.inf)
        # Each record is known in its turn, and its nearest is told.
        nearest = cosines.argmax(axis=1)
        sizes = np.linalg.norm(released, axis=1)
        guesses = rows.true * (sizes[nearest] / sizes)[:, None]
        shares.append(float(np.mean(_close(guesses, rows.true[nearest]))))
    other = rows.true[drawn.permutation(targets)]
    mean = np.broadcast_to(rows.true.mean(axis=0), rows.true.shape)
    chance = max(float(np.mean(_close(one, rows.true))) for one in (other, mean))
    return Outcome(
        attack="one-record",
        measure=f"share of nearest rows inferred to within {_CLOSE:.0%}",
        unprotected=shares[0],
        protected=shares[1],
        chance=chance,
        ceiling=None,
        n=targets,
        loss=_loss(epsilon),
        words=(
            f"Each of {targets} people in turn is the one record that is known; the row at the smallest angle to it "
            f"is inferred correctly, all {_COLUMNS} numbers of it, in {shares[0]:.0%} of the cases."
        ),
    )


@attack("known-set", source=f"{KENTUCKY}, section 2.2, with orthogonal Procrustes in place of its equations", most=5000)
def known_set(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Know twice as many records as there are columns, find the rotation by Procrustes, and rotate all rows back."""
    drawn = public_generator()
    known = 2 * _COLUMNS
    rows = _rows(targets + known, epsilon, drawn)
    truth = rows.true[known:]
    shares, errors = [], []
    for released in map(denoised, (rows.careless, rows.private)):
        back = rotation_between(rows.true[:known], released[:known])
        guesses = np.clip(released[known:] @ back.T, 0.0, 1.0)
        errors.append(np.linalg.norm(guesses - truth, axis=1) / np.linalg.norm(truth, axis=1))
        shares.append(float(np.mean(errors[-1] <= _CLOSE)))
    mean = np.broadcast_to(rows.true[:known].mean(axis=0), truth.shape)
    within = np.linspace(0.0, 1.0, 26)
    return Outcome(
        attack="known-set",
        measure=f"share of rows inferred to within {_CLOSE:.0%}",
        unprotected=shares[0],
        protected=shares[1],
        chance=float(np.mean(_close(mean, truth))),
        ceiling=None,
        n=targets,
        loss=_loss(epsilon),
        words=f"{known} known records of {targets + known} give the rotation; all others are turned back with a median "
        f"error of {np.median(errors[0]):.1%}.",
        figures=(("median relative error", float(np.median(errors[0]))),),
        axes=("relative error", "share of rows inferred that well"),
        curves=tuple(
            Curve(name, tuple(within.tolist()), tuple(float(np.mean(error <= reach)) for reach in within))
            for name, error in zip(("rotated and blurred", "defended rows"), errors, strict=True)
        ),
    )
