"""Gamma-norm, max-norm, K-norm and planar Laplace: their figures, their bodies, and the version that was printed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dither.audit.pairs import pairs_of
from dither.errors import IncompatibleDistance, InvalidParameter
from dither.mechanisms import Budget, PublicArray, find, release
from dither.mechanisms.core.vector_noise import gamma_reach, spherical_reach
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.k_norm import Gauge, KNorm, facets
from dither.mechanisms.max_norm import MaxNorm
from dither.mechanisms.planar_laplace import PlanarLaplace
from dither.noise import Noise, SystemEntropy
from dither.privacy import L1, L2, LARGEST, ROW, PureDP, place

F = Fraction
HEXAGON = PublicArray(np.array([[2, 0], [1, 2], [-1, 2]]))
SKEW = PublicArray(np.array([[3, 1, 0], [0, 2, 1], [1, 0, 2], [2, 2, 2]]))
SQUARE = PublicArray(np.array([[1, 1], [1, -1]]))
#: All fractions above 0 and up to 100 with denominators up to 100: as ``st.fractions``, but drawn faster.
rationals = st.builds(
    lambda whole, part, of: whole + F(1 + part % of, of), st.integers(0, 99), st.integers(0, 99), st.integers(1, 100)
)
noise = Noise(SystemEntropy())


@given(scale=rationals, d_in=rationals)
def test_all_lose_distance_over_scale(scale: Fraction, d_in: Fraction) -> None:
    for mechanism, distance in (
        (GammaNorm(scale=scale, shape=3), L2),
        (MaxNorm(scale=scale, shape=3), LARGEST),
        (KNorm(vertices=HEXAGON, scale=scale), Gauge(HEXAGON)),
        (PlanarLaplace(scale=scale), place("euclidean")),
    ):
        assert mechanism.loss(d_in) == PureDP(d_in / scale)
        assert mechanism.distance == distance


def test_calibration_is_sensitivity_over_epsilon() -> None:
    target = PureDP("1/4")
    assert GammaNorm.calibrated(target, sensitivity=3, shape=(5,)).scale == 12
    assert MaxNorm.calibrated(target, sensitivity=3, shape=(5,)).scale == 12
    assert KNorm.calibrated(target, vertices=HEXAGON, sensitivity=3).scale == 12
    assert PlanarLaplace.calibrated(target, radius=3).scale == 12


def test_a_place_is_never_charged_as_a_row() -> None:
    mechanism = PlanarLaplace(scale=2)
    assert mechanism.distance.is_relaxed
    with pytest.raises(IncompatibleDistance):
        release(mechanism, np.array([0.0, 0.0]), budget=Budget(epsilon=1, unit=ROW))


@pytest.mark.parametrize("name", ["gamma-norm", "max-norm", "k-norm", "planar-laplace"])
def test_pairs_of_the_audit_are_neighbours(name: str) -> None:
    """Whatever the auditor makes of the domain must lie within the distance that it claims."""
    for example in find(name).examples():
        for pair in pairs_of(example):
            if name == "planar-laplace":
                apart = L2.measure(pair.value, pair.neighbour)
            else:
                apart = example.mechanism.distance.measure(pair.value, pair.neighbour)
            assert apart is not None
            assert apart <= pair.d_in * F(1000001, 1000000), pair.label


# The polytopes.


def gauge_by_linear_programming(vertices: Any, change: Any) -> float:
    """Return the least sum of |c| with c V = change: the norm by its definition as a convex hull."""
    rows = np.vstack([vertices, -vertices])
    found = linprog(np.ones(len(rows)), A_eq=rows.T, b_eq=change, bounds=(0, None))
    assert found.success
    return float(found.fun)


@given(change=st.lists(st.integers(-50, 50), min_size=3, max_size=3))
@pytest.mark.parametrize("vertices", [HEXAGON, SKEW, SQUARE], ids=["hexagon", "skew", "square"])
def test_gauge_is_the_norm_of_the_hull(vertices: PublicArray, change: list[int]) -> None:
    wanted = change[: vertices.values.shape[1]]
    apart = Gauge(vertices).measure(np.zeros(len(wanted), dtype=np.int64), np.array(wanted))
    assert float(apart) == pytest.approx(gauge_by_linear_programming(vertices.values, wanted), abs=1e-7)


@given(
    here=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
    there=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2),
)
def test_known_norms_are_found_again(here: list[float], there: list[float]) -> None:
    cross = PublicArray(np.eye(2, dtype=np.int64))
    assert Gauge(cross).measure(here, there) == L1.measure(here, there)
    assert Gauge(SQUARE).measure(here, there) == LARGEST.measure(here, there)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_facets_of_the_cross_polytope_are_the_orthants(dimension: int) -> None:
    found = facets(PublicArray(np.eye(dimension, dtype=np.int64)))
    assert len(found.weights) == 2**dimension
    assert set(found.weights) == {1}
    signs = {tuple(1 - 2 * bit for bit in bits) for bits in np.ndindex(*[2] * dimension)}
    assert {tuple(map(int, normal)) for normal in found.normals} == signs


@pytest.mark.parametrize("vertices", [HEXAGON, SKEW], ids=["hexagon", "skew"])
def test_cones_fill_space_once(vertices: PublicArray) -> None:
    """Every direction lies in exactly one cone, but for their boundaries; n = 500 directions, no chance of a tie."""
    found = facets(vertices)
    for direction in np.random.default_rng().normal(size=(500, vertices.values.shape[1])):
        inside = [bool((direction @ np.linalg.inv(corners) > 0).all()) for corners in found.corners]
        assert sum(inside) == 1


def test_weights_are_volumes() -> None:
    found = facets(SKEW)
    for corners, weight in zip(found.corners, found.weights, strict=True):
        assert weight == pytest.approx(abs(np.linalg.det(corners)))


@pytest.mark.parametrize(
    ("vertices", "reason"),
    [
        (PublicArray([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]]), "without a facet of more corners"),
        (PublicArray([[1, 1], [2, 2]]), "span the whole space"),
        (PublicArray([[0, 0]]), "span the whole space"),
        (PublicArray([[1.0, 0.0], [0.0, 1.0]]), "integer rows"),
        (PublicArray([1, 2]), "integer rows"),
        (PublicArray([[2**21, 0], [0, 1]]), "integer rows"),
        (PublicArray(np.arange(60).reshape(-1, 4) ** 2), "so few"),
        ([[1, 0], [0, 1]], "a PublicArray"),
    ],
)
def test_bodies_that_are_none_are_refused(vertices: Any, reason: str) -> None:
    with pytest.raises(InvalidParameter, match=reason):
        KNorm(vertices=vertices, scale=1)


def test_points_inside_the_body_change_nothing() -> None:
    more = PublicArray(np.array([[2, 0], [1, 2], [-1, 2], [1, 0], [0, 1]]))
    assert facets(more).weights == facets(HEXAGON).weights


# How far the noise reaches.


@pytest.mark.parametrize("entries", [1, 2, 3, 30])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_reaches_are_far_enough_and_no_farther_than_need_be(entries: int, failure: float) -> None:
    from scipy.stats import gamma

    exact = gamma(entries).isf(failure)
    assert exact < gamma_reach(entries, F(1), failure) < exact * 1.0001
    one = spherical_reach(entries, F(1), failure)
    assert one <= gamma_reach(entries, F(1), failure)
    if entries == 1:
        assert one > math.log(1 / failure)


@pytest.mark.statistical(n=20_000, false_alarm=1e-9, catches="a reach that is too short by a tenth")
def test_intervals_of_k_norm_and_places_cover() -> None:
    """20,000 draws; at 0.9 fewer than 17,700 covered have a probability below 1e-9 (ten standard deviations)."""
    truth = np.array([3.25, -7.5])
    for mechanism in (KNorm(vertices=HEXAGON, scale=5), PlanarLaplace(scale=5), PlanarLaplace(scale=5, grid=20)):
        drawn = mechanism.draw_many(truth, 20_000, noise)
        interval = mechanism.interval(drawn, "0.9")
        inside = ((interval.low <= truth) & (truth <= interval.high)).all(axis=1)
        assert inside.sum() > 17_700
    places = PlanarLaplace(scale=5, grid="1/8")
    drawn = places.draw_many(truth, 20_000, noise)
    away = np.sqrt(((drawn - truth) ** 2).sum(axis=1))
    reach = places.error("0.9").value
    assert (away <= reach).sum() > 17_700
    assert (away <= 0.9 * reach).sum() < 17_700


# What was printed.


@pytest.mark.statistical(n=10_000, false_alarm=1e-9, catches="one-sided noise")
def test_noise_is_not_one_sided_as_gamma_entries_would_be() -> None:
    """Entries that are Gamma variables never lie below the truth: one draw below it tells the data apart.

    Of 10,000 draws at least 2,120 lie in each quadrant; fewer than 1,700 in one of them have a probability
    below 1e-9.
    """
    drawn = GammaNorm(scale=4, grid=1, shape=2).draw_many(np.array([0, 0]), 10_000, noise)
    quadrants = np.bincount((drawn[:, 0] > 0) * 2 + (drawn[:, 1] > 0), minlength=4)
    assert quadrants.min() > 1_700
    printed = np.random.default_rng().gamma(2, 4, size=(10_000, 2))
    assert np.bincount((printed[:, 0] > 0) * 2 + (printed[:, 1] > 0), minlength=4).min() == 0


@pytest.mark.parametrize(
    "mechanism",
    [
        GammaNorm(scale=3, shape=2),
        MaxNorm(scale=3, shape=2),
        KNorm(vertices=HEXAGON, scale=3),
        PlanarLaplace(scale=3),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_released_numbers_lie_on_the_grid(mechanism: Any) -> None:
    drawn = mechanism.draw_many(np.array([0.1, 1e5 / 3]), 500, noise)
    assert drawn.shape == (500, 2)
    assert (np.mod(drawn / float(mechanism.grid), 1) == 0).all()


def test_far_values_and_far_grids_saturate() -> None:
    for value in (np.array([1e308, -1e308]), np.array([float("nan"), float("inf")])):
        for mechanism in (GammaNorm(scale=1, shape=2), GammaNorm(scale=1, grid=F(1, 2**56), shape=2)):
            drawn = mechanism.draw_many(value, 3, noise)
            assert np.isfinite(drawn).all()
