"""Flows: the total is kept, regions add up, and counts are fitted as Bayes' rule says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.count_prior import fitted_counts
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.mechanisms.core.release import perform
from dither.privacy import ZCDP, PureDP
from dither.publish.places import FlowTable, RegionCentres


def some_flows(zones: int = 30) -> np.ndarray:
    ends = np.random.default_rng().dirichlet(np.full(zones, 0.3), 2)
    return np.random.default_rng().poisson(4000 * np.outer(ends[0], ends[1]))


VALUES = list(range(9))


def chance(off: float, noise: object) -> float:
    return math.exp(-abs(off) / 2) if isinstance(noise, Geometric) else math.exp(-(off**2) / 8)


def posterior(seen: float, weights: list[float], noise: object) -> list[float]:
    joint = [chance(seen - value, noise) * weight for value, weight in zip(VALUES, weights, strict=True)]
    return [part / sum(joint) for part in joint]


@pytest.mark.parametrize("noise", [Geometric(scale=2), DiscreteGaussian(sigma=2)])
def test_counts_are_those_of_bayes_rule(noise: Geometric | DiscreteGaussian) -> None:
    """The prior is found by the same steps, one number after the other."""
    noisy = np.array([0.0, 3.0, -1.0, 0.0, 7.0, 1.0, 0.0, 3.0])
    weights = [1 / len(VALUES)] * len(VALUES)
    for _ in range(200):
        every = [posterior(seen, weights, noise) for seen in noisy]
        weights = [sum(part[place] for part in every) / len(noisy) for place in range(len(VALUES))]
    medians, means = fitted_counts(noisy, np.zeros(8, dtype=np.int64), noise)
    for place, seen in enumerate(noisy):
        found = posterior(seen, weights, noise)
        assert means[place] == pytest.approx(sum(p * v for p, v in zip(found, VALUES, strict=True)), abs=1e-6)
        assert medians[place] == next(value for value in VALUES if sum(found[: value + 1]) >= 0.5)


def test_the_total_and_the_regions_are_kept() -> None:
    true = some_flows()
    regions = ((0,) * 10 + (1,) * 20, (0,) * 15 + (1,) * 15)
    for loss in (PureDP(1), ZCDP("0.5"), PureDP("0.01")):
        method = FlowTable.calibrated(loss, shape=(30, 30), blocks=regions)
        assert method.loss(1) <= loss
        shown = perform(method, true, stability=1)
        assert (shown >= 0).all()
        assert shown.sum() == pytest.approx(round(float(shown.sum())), abs=1e-6), "the released total is a whole number"


def test_with_hardly_any_noise_the_flows_come_back() -> None:
    true = some_flows()
    shown = perform(FlowTable.calibrated(PureDP(10**4), shape=(30, 30)), true, stability=1)
    assert shown == pytest.approx(true, abs=0.6)
    blocks = ((0,) * 10 + (1,) * 20,) * 2
    shown = perform(FlowTable.calibrated(PureDP(10**4), shape=(30, 30), blocks=blocks), true, stability=1)
    assert shown[:10, 10:].sum() == pytest.approx(true[:10, 10:].sum(), abs=1e-6)


def test_no_trips_at_all_are_no_error() -> None:
    for shape in ((1, 1), (3, 2)):
        shown = perform(FlowTable.calibrated(PureDP(1), shape=shape), np.zeros(shape, dtype=np.int64), stability=1)
        assert (shown >= 0).all()


def test_blocks_that_are_no_numbering_are_refused() -> None:
    one = Geometric(scale=1)
    with pytest.raises(InvalidParameter, match="set together with blocks"):
        FlowTable(shape=(2, 2), cell=one, total=one, region=one)
    with pytest.raises(InvalidParameter, match="two axes"):
        FlowTable(shape=(2, 2, 2), cell=one, total=one)


def test_a_crowd_is_found_at_its_cell() -> None:
    """Noise is 0 but for a chance far below 1e-9."""
    crowd = np.zeros((16, 16), dtype=np.int64)
    crowd[3, 4], crowd[12, 12] = 5000, 3000
    parts = perform(RegionCentres.calibrated(PureDP(10**5), side=16), crowd, stability=1)
    assert parts[:, 3] @ parts[:, 3] == 256, "parts cover the plane"
    best = parts[np.argsort(-parts[:, 2])][:2]
    assert best[:, 2].tolist() == [5000, 3000]
    assert best[:, :2] == pytest.approx(np.array([[3, 4], [12, 12]]), abs=0.02)
