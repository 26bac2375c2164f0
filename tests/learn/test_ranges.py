"""Ranges, grids and sums at the ends of what floats and 64 bits hold: refused, or cut off, and never wrapped round."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.moments import MomentRegression
from dither.learn.linear.perturbed_minimum import PerturbedMinimum
from dither.learn.selection.disjoint import DisjointTuning
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.learn.streams.incremental import IncrementalRegression
from dither.mechanisms import GammaNorm
from dither.mechanisms.core.release import Budget, converse
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.privacy import EVENT, ZCDP

BOX: dict[str, Any] = {"lower": [0], "upper": [1]}


def learner() -> Any:
    return GradientDescent.calibrated(ZCDP(1), **BOX, classes=2, steps=1)


@pytest.mark.parametrize("upper", ["1e-400", "1e400", 0])
def test_a_range_of_targets_that_floats_do_not_hold_is_refused_before_rows_are_seen(upper: Any) -> None:
    public = {"target_lower": 0, "target_upper": upper}
    with pytest.raises(InvalidParameter, match="target_upper"):
        IncrementalRegression.calibrated(ZCDP(1), **BOX, **public, batches=2)
    with pytest.raises(InvalidParameter, match="target_upper"):
        MomentRegression.calibrated(ZCDP(1), **BOX, **public)
    with pytest.raises(InvalidParameter, match="target_upper"):
        FrankWolfe.calibrated(ZCDP(1), **BOX, **public, loss_name="squared")
    with pytest.raises(InvalidParameter, match="target_upper"):
        DisjointTuning.calibrated(ZCDP(1), candidates=(learner(), learner()), classes=0, **public)


def test_errors_of_held_out_rows_are_whole_numbers_of_the_stated_size() -> None:
    """One row moves a sum of errors by at most its largest error, also where score and target lie on one end."""
    tuning = DisjointTuning.calibrated(
        ZCDP(1), candidates=(learner(), learner()), classes=0, target_lower=0, target_upper="1e-280"
    )

    class Constant:
        @staticmethod
        def scores(values: Any) -> Any:
            return np.full((len(values), 1), 5e-281)

    for target in (0.0, 5e-281, 1e-280, np.nan, np.inf):
        assert 0 <= tuning.errors(Constant(), np.array([[0.5, target]])) <= tuning.largest_error


def test_sums_over_many_batches_do_not_wrap() -> None:
    """After any number of extreme batches one row more moves a sum by no more than one row does."""
    stream = IncrementalRegression.calibrated(ZCDP(1), **BOX, target_lower=0, target_upper=1, batches=8)
    fed: Any = converse(stream, None, budget=Budget(rho=1, unit=EVENT))
    for level in fed._levels:
        level.open_sum = np.full_like(level.open_sum, LARGEST_VALUE - 1)
    fed.feed(np.ones((3, 2)))
    assert all(np.abs(level.open_sum).max() <= LARGEST_VALUE for level in fed._levels)


def test_noise_on_a_grid_whose_sums_floats_do_not_hold_is_refused() -> None:
    noise = GammaNorm(scale=4, grid=Fraction(1, 2**16))
    made = PerturbedMinimum(width=2, loss_name="logistic", penalty=10, part=noise, finish=noise)
    with pytest.raises(InvalidParameter, match="power of 2"):
        replace(made, part=replace(noise, grid=noise.grid * Fraction(3, 4)))
