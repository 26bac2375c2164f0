"""Estimators after a public change of columns: what they promise, what is saved, and what must be declared."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.privacy import ROW, ZCDP

pytest.importorskip("sklearn")

from dither.learn.linear.mapped_estimators import (
    CompressedLogisticRegression,
    KernelLogisticRegression,
    KernelSVC,
)

EVERY: list[tuple[Any, dict[str, Any]]] = [
    (KernelSVC, {"n_components": 6, "gamma": 1}),
    (KernelLogisticRegression, {"n_components": 6, "gamma": 1}),
    (KernelSVC, {"n_components": 6, "gamma": 1, "kernel": "laplacian", "solver": "output", "C": "1/10"}),
    (CompressedLogisticRegression, {"n_components": 1}),
]


def made(kind: Any, options: dict[str, Any], **more: Any) -> Any:
    return kind(**{"rho": 1000, "bounds": (-10, 10), "classes": [0, 1], **options, **more})


def rows(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % 2
    return np.column_stack([6.0 * labels, np.ones(count)]), labels


@pytest.mark.parametrize(("kind", "options"), EVERY, ids=lambda given: getattr(given, "__name__", ""))
def test_fitting_says_what_it_promises_and_is_saved(kind: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """All rows were told right by each of them in each of 40 runs."""
    values, labels = rows()
    fitted = made(kind, options).fit(values, labels)
    assert fitted.privacy_.loss <= fitted.privacy_.stated == ZCDP(1000)
    assert fitted.privacy_.unit == str(ROW)
    assert fitted.score(values, labels) > 0.9
    decided = fitted.decision_function(values)
    assert (fitted.predict(values) == (decided > 0)).all()
    if hasattr(fitted, "predict_proba"):
        chances = fitted.predict_proba(values)
        assert chances.sum(axis=1) == pytest.approx(np.ones(400))
        assert fitted.predict_log_proba(values) == pytest.approx(np.log(chances))
    path = fitted.save(tmp_path / "model.json")
    for again in (kind.load(path), copy.deepcopy(fitted)):
        assert (again.decision_function(values) == decided).all()
        assert again.privacy_ == fitted.privacy_


@pytest.mark.parametrize(("kind", "options"), EVERY, ids=lambda given: getattr(given, "__name__", ""))
def test_requests_are_the_same_every_time_and_what_is_public_is_declared(kind: Any, options: dict[str, Any]) -> None:
    assert made(kind, options).mechanism(3) == made(kind, options).mechanism(3)
    for missing in ("bounds", "classes"):
        with pytest.raises(InvalidParameter, match=missing):
            made(kind, options, **{missing: None}).fit(*rows())
