"""Features learned from a few draws: a direction in which two inputs differ, and a classifier's score.

Both are fixed functions of the outcome before they are used, learned on draws that choose events and test none. The
direction is Fisher's discriminant. The classifier is a logistic regression on entries, their sizes, squares and
products: a threshold on its score is nearly the likeliest event of its probability on one side (the idea of Bichsel,
Steffen, Bogunovic and Vechev, "DP-Sniper: black-box discovery of differential privacy violations using classifiers",
2021). A bad fit costs power and never truth.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.audit.features import Column, Feature

Floats = NDArray[np.float64]

_MOST_FOR_COVARIANCE = 64
_MOST_ENTRIES = 5
_MOST_SIZE = 8.0
_FARTHEST = 1e300
_RIDGE = 1e-2
_STEPS = 8
_ROWS_AT_A_TIME = 1 << 15


class _Scaled(NamedTuple):
    """Entries minus their median, divided by their spread, with extremes cut off and NaN at 0."""

    entries: NDArray[np.intp]
    centre: Floats
    spread: Floats

    def of(self, rows: NDArray[Any]) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = (rows[:, self.entries].astype(np.float64) - self.centre) / self.spread
        return np.clip(np.nan_to_num(scaled, posinf=_MOST_SIZE, neginf=-_MOST_SIZE), -_MOST_SIZE, _MOST_SIZE)


def learned(here: NDArray[Any], there: NDArray[Any]) -> list[Feature]:
    """Return features that tell the rows of one side from those of the other, learned from both."""
    if here.dtype.kind not in "biuf" or len(here) < 2:
        return []
    found, count = [], here.shape[1]
    if count > 1:
        scaled = _scaled(here, there, np.arange(count))
        weights = _direction(scaled.of(here), scaled.of(there))
        if weights is not None:
            found.append(Feature("x along a learned direction", partial(_along, scaled, weights), has_atoms=False))
    if count > 1 or here.dtype.kind == "f":
        scaled = _scaled(here, there, _telling(here, there))
        weights = _fitted(_expanded(scaled.of(here)), _expanded(scaled.of(there)))
        if weights is not None:
            found.append(Feature("score of a learned classifier", partial(_score, scaled, weights), has_atoms=False))
    return found


def _along(scaled: _Scaled, weights: Floats, rows: NDArray[Any]) -> Column:
    return np.asarray(scaled.of(rows) @ weights)


def _score(scaled: _Scaled, weights: Floats, rows: NDArray[Any]) -> Column:
    score = np.empty(len(rows))
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        block = slice(start, start + _ROWS_AT_A_TIME)
        score[block] = _expanded(scaled.of(rows[block])) @ weights
    return score


def _scaled(here: NDArray[Any], there: NDArray[Any], entries: NDArray[np.intp]) -> _Scaled:
    pooled = np.concatenate([here, there])[:, entries].astype(np.float64)
    pooled[~np.isfinite(pooled)] = 0.0
    # Far below the largest doubles, so that no sum of two overflows.
    pooled = np.clip(pooled, -_FARTHEST, _FARTHEST)
    centre = np.median(pooled, axis=0)
    spread = np.median(np.abs(pooled - centre), axis=0) * 1.5
    widest = np.abs(pooled - centre).max(axis=0)
    return _Scaled(entries, centre, np.where(spread > 0, spread, np.where(widest > 0, widest, 1.0)))


def _telling(here: NDArray[Any], there: NDArray[Any]) -> NDArray[np.intp]:
    """Return the entries whose means differ most."""
    scaled = _scaled(here, there, np.arange(here.shape[1]))
    apart = np.abs(scaled.of(here).mean(axis=0) - scaled.of(there).mean(axis=0))
    return np.sort(np.argsort(-apart, kind="stable")[:_MOST_ENTRIES])


def _direction(here: Floats, there: Floats) -> Floats | None:
    """Return Fisher's discriminant, without covariances where there are too many entries for the draws."""
    apart = there.mean(axis=0) - here.mean(axis=0)
    within = np.concatenate([here - here.mean(axis=0), there - there.mean(axis=0)])
    if apart.size <= min(_MOST_FOR_COVARIANCE, len(here) // 4):
        matrix = within.T @ within / len(within) + _RIDGE * np.eye(apart.size)
        weights = np.linalg.solve(matrix, apart)
    else:
        weights = apart / (within.var(axis=0) + _RIDGE)
    return weights if np.any(weights) else None


def _expanded(scaled: Floats) -> Floats:
    """Return a constant, the entries, their absolute values, squares and products."""
    products = [scaled[:, one] * scaled[:, other] for one, other in combinations(range(scaled.shape[1]), 2)]
    columns = [np.ones(len(scaled)), *scaled.T, *np.abs(scaled).T, *(scaled**2 / _MOST_SIZE).T]
    return np.column_stack([*columns, *(product / _MOST_SIZE for product in products)])


def _fitted(here: Floats, there: Floats) -> Floats | None:
    """Return the weights of a logistic regression for the side, by Newton's method with a ridge."""
    inputs = np.concatenate([here, there])
    side = np.concatenate([np.zeros(len(here)), np.ones(len(there))])
    weights = np.zeros(inputs.shape[1])
    ridge = _RIDGE * len(inputs) * np.eye(weights.size) / 10
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        curve = chance * (1 - chance)
        gradient = inputs.T @ (side - chance) - ridge @ weights
        weights = weights + np.linalg.solve(inputs.T @ (inputs * curve[:, None]) + ridge, gradient)
    return weights if np.any(weights[1:]) else None
