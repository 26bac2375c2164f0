"""Mutants of the doors, of estimators and of releases: killed by replay from where a caller begins."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from dither.audit.mutants.record import Mutant, mutated
from dither.checks.violation import require
from dither.mechanisms import Geometric, release
from dither.mechanisms.release import Budget
from dither.privacy import ROW
from dither.testing.doors import replay_call

_BASE = "dither.learn.base:PrivateEstimator"
_X = np.array([[0.1, 0.9], [0.4, 0.2], [0.8, 0.7], [0.3, 0.3], [0.6, 0.1]])
_Y = np.array([0, 1, 1, 0, 1])


def _fitted(rows: Any) -> Any:
    """Return an estimator as ``fit`` leaves it."""
    learn: Any = importlib.import_module("dither.learn")
    estimator = learn.LogisticRegression(epsilon=1, delta="1e-6", bounds=(0, 1), classes=[0, 1])
    return estimator.fit(rows[:, :-1], rows[:, -1].astype(int))


def _estimators() -> None:
    """Check that with frozen draws an estimator is the same for neighbours, with all that hangs on it."""
    rows = np.column_stack([_X, _Y])
    for neighbour in (rows[1:], np.vstack([rows, [[1.0, 1.0, 0]]]), np.vstack([rows, [[9.0, -9.0, 1]]])):
        for found in replay_call(_fitted, rows, neighbour):
            require(False, str(found))


def _counted(rows: Any) -> Any:
    return release(Geometric(scale=1), len(rows), budget=Budget(epsilon=1, unit=ROW), stability=1)


def _releases() -> None:
    """Check that with frozen draws a release is the same for neighbours, with all that hangs on it."""
    for found in replay_call(_counted, list(range(9)), list(range(8))):
        require(False, str(found))


def _with_rows_seen(before: Any, self: Any, X: Any, y: Any, **named: Any) -> Any:  # noqa: N803 - as scikit-learn has it
    fitted = before(self, X, y, **named)
    fitted.n_samples_seen_ = len(X)
    return fitted


def _with_means(before: Any, self: Any, X: Any, y: Any, **named: Any) -> Any:  # noqa: N803
    fitted = before(self, X, y, **named)
    fitted._centre = np.asarray(X).mean(axis=0)
    return fitted


def _warns_beyond_bounds(before: Any, self: Any, X: Any, y: Any) -> Any:  # noqa: N803
    if np.asarray(X).max() > 1:
        warnings.warn("values beyond the bounds are clipped", stacklevel=2)
    return before(self, X, y)


def _refuses_few(before: Any, self: Any, X: Any, y: Any) -> Any:  # noqa: N803
    if len(X) < 5:
        raise ValueError(f"{len(X)} rows are too few to learn from")
    return before(self, X, y)


def _truth_on_the_release(before: Any, mechanism: Any, data: Any, **named: Any) -> Any:
    out = before(mechanism, data, **named)
    object.__setattr__(out, "_exact", data)
    return out


ENTRANCES = (
    Mutant(
        78,
        "an estimator says how many rows it saw",
        "scikit-learn's n_samples_seen_",
        "the number of rows is private",
        "replay",
        lambda: mutated(f"{_BASE}.fit", _with_rows_seen),
        _estimators,
    ),
    Mutant(
        79,
        "an estimator keeps the means of its columns",
        "",
        "a hidden attribute is exact",
        "replay",
        lambda: mutated(f"{_BASE}.fit", _with_means),
        _estimators,
    ),
    Mutant(
        80,
        "a warning about values beyond the bounds",
        "",
        "fit warns because of one row",
        "replay",
        lambda: mutated(f"{_BASE}.prepare", _warns_beyond_bounds),
        _estimators,
    ),
    Mutant(
        81,
        "few rows are refused",
        "scikit-learn's check of the number of samples",
        "one row decides whether fit is refused",
        "replay",
        lambda: mutated(f"{_BASE}.prepare", _refuses_few),
        _estimators,
    ),
    Mutant(
        82,
        "the exact value beside the released one",
        "",
        "a release carries what it hides",
        "replay",
        lambda: mutated("dither.audit.mutants.entrances:release", _truth_on_the_release),
        _releases,
    ),
)
