"""Every estimator takes rows in every container alike, and one odd row changes no other; each cure has its twin."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

import dither.learn as learn
from dither.checks import ContractViolation, check_estimator
from dither.learn.base import PrivateClassifier
from dither.testing.estimators import DECLARED, declared_estimator

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [0.0, 2.0]])
Y = np.array([0, 1, 1, 0])
_CLASSES: dict[str, Any] = {"classes": [0, 1], "bounds": (0, 3)}


def test_every_estimator_is_checked() -> None:
    assert set(DECLARED) == set(learn.ESTIMATORS)


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_the_door_of_every_estimator(name: str) -> None:
    estimator = declared_estimator(name)
    takes_labels = isinstance(estimator, PrivateClassifier | learn.PrivateSearch) or hasattr(estimator, "target_bounds")
    check_estimator(estimator, X, Y if takes_labels else None)


class CommonType(learn.GaussianNB):  # type: ignore[misc]
    """Labels through one common type."""

    def _labels(self, y: Any) -> Any:
        codes = {label: code for code, label in enumerate(self.declared_classes().tolist())}
        return np.array([codes.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.float64)


class RefusesTexts(learn.GaussianNB):  # type: ignore[misc]
    """One text refuses everybody."""

    def _values(self, X: Any, *, reset: bool, columns: int | None = None) -> Any:
        np.asarray(X).astype(np.float64)
        return super()._values(X, reset=reset, columns=columns)


class FirstRowDecides(learn.GaussianNB):  # type: ignore[misc]
    """The first row says how many columns there are."""

    def _values(self, X: Any, *, reset: bool, columns: int | None = None) -> Any:
        return super()._values(X, reset=reset, columns=len(X[0]) if isinstance(X, list) else None)


class CentredByRows(learn.GaussianNB):  # type: ignore[misc]
    """Numbers are moved by the mean of all rows."""

    def _values(self, X: Any, *, reset: bool, columns: int | None = None) -> Any:
        values = super()._values(X, reset=reset, columns=columns)
        return values - np.nan_to_num(values, posinf=0, neginf=0).mean(axis=0)


@pytest.mark.parametrize("broken", [CommonType, RefusesTexts, FirstRowDecides, CentredByRows])
def test_a_door_that_looks_at_other_rows_is_found(broken: Any) -> None:
    with pytest.raises(ContractViolation):
        check_estimator(broken(rho=1, **_CLASSES), X, Y)
