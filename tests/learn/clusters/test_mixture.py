"""Gaussian mixtures: shares and sums beside slow twins, what one point moves, densities beside closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, PureDP
from dither.errors import InvalidParameter
from dither.learn.clusters import MixtureModel, NoisyMixture
from dither.learn.clusters.mixture import step_sums
from dither.learn.clusters.moment_tree import COUNTED
from dither.learn.clusters.points import LENGTH
from dither.learn.clusters.shares import WHOLE_SHARE, Components, shares_of
from dither.learn.models import Model
from dither.mechanisms.core.public import PublicArray

PUBLIC = {"lower": [-1.0, 0.0], "upper": [1.0, 3.0], "clusters": 3}


def components_of(count: int, columns: int) -> Components:
    draw = np.random.default_rng()
    turned = draw.normal(0, 300, (count, columns, columns))
    covariances = turned @ turned.transpose(0, 2, 1) + 10_000 * np.eye(columns)
    return Components(draw.uniform(-2000, 2000, (count, columns)), covariances, draw.dirichlet(np.ones(count)))


def whole_points(count: int, columns: int) -> np.ndarray:
    return np.rint(np.clip(np.random.default_rng().normal(0, 2000, (count, columns)), -4096, 4096))


def test_shares_are_those_of_bayes_up_to_their_step() -> None:
    components, points = components_of(4, 3), whole_points(300, 3)
    shares = shares_of(points, components)
    assert (shares == np.floor(shares)).all()
    assert (shares.sum(axis=1) <= WHOLE_SHARE).all()
    logs = np.empty((300, 4))
    for place in range(4):
        apart = points - np.rint(components.centres[place])
        square = np.einsum("ni,ij,nj->n", apart, np.linalg.inv(components.covariances[place]), apart)
        logs[:, place] = -square / 2 - np.linalg.slogdet(components.covariances[place])[1] / 2
    logs += np.log(components.weights)
    exact = np.exp(logs - logs.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    # Points 60 spreads from every component are cut off, and rounding is felt far out: the near ones are compared.
    near = logs.max(axis=1) > np.median(logs.max(axis=1))
    # In 40 runs the worst was off by 0.019 in the mean with a deviation of 0.0055, and all by 0.001 and 0.0003.
    assert np.abs(shares / WHOLE_SHARE - exact)[near].max() < 0.2
    assert np.abs(shares / WHOLE_SHARE - exact)[near].mean() < 0.01


def test_a_share_is_the_points_own_wherever_it_stands() -> None:
    components, points = components_of(5, 6), whole_points(1001, 6)
    shares = shares_of(points, components)
    for start in (1, 2, 3, 500):
        assert (shares_of(points[start:].copy(), components) == shares[start:]).all()
    assert (shares_of(points[::-1].copy(), components) == shares[::-1]).all()


@pytest.mark.parametrize("is_full", [True, False])
def test_step_sums_match_a_slow_twin(is_full: bool) -> None:
    components, points = components_of(3, 2), whole_points(60, 2)
    shares, radii = shares_of(points, components), components.radii
    expected = np.zeros((3, 6 if is_full else 5), dtype=object)
    for row, own in zip(points.astype(int).tolist(), shares.astype(int).tolist(), strict=True):
        for place, share in enumerate(own):
            apart = [a - round(float(b)) for a, b in zip(row, np.rint(components.centres[place]), strict=True)]
            longer = max(math.sqrt(sum(entry**2 for entry in apart)), float(radii[place]))
            short = [math.trunc(entry * (LENGTH / longer)) for entry in apart]
            first, second = (math.trunc(entry / 128) for entry in short)
            squares = [first**2, first * second, second**2] if is_full else [first**2, second**2]
            expected[place] += share * np.array([COUNTED, *short, *squares], dtype=object)
    assert step_sums(points, components, is_full=is_full).tolist() == expected.tolist()


@pytest.mark.parametrize("pure", [True, False])
def test_one_point_moves_each_step_by_its_stability_at_most(silent, pure: bool) -> None:
    target = PureDP(1) if pure else ApproxDP(1, "1e-6")
    learner = NoisyMixture.calibrated(target, **PUBLIC, steps=2)
    assert learner.loss(1) <= target
    draw = np.random.default_rng()
    rows, first = np.column_stack([draw.uniform(-1, 1, 100), draw.uniform(0, 3, 100)]), silent()
    learner.release(rows, first)
    answers = [value * 10**6 for _, value, _ in first.seen]
    first = silent(answers)
    learner.release(rows, first)
    farthest = 0.0
    for gone in range(0, 100, 10):
        run = silent(answers)
        learner.release(np.delete(rows, gone, axis=0), run)
        for (_, here, stability), (_, there, _) in zip(first.seen[-2:], run.seen[-2:], strict=True):
            change = [int(entry) for entry in (here - there).ravel()]
            moved = Fraction(sum(map(abs, change))) if pure else Fraction(sum(entry**2 for entry in change))
            assert moved <= (stability if pure else stability**2)
            farthest = max(farthest, float(moved / (stability if pure else stability**2)))
    assert farthest > 0.02  # the count of a point that is shared by all three components moves it by 0.036


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize(("shape", "target"), [("diag", PureDP("0.7")), ("full", ApproxDP(1, "1e-6"))])
def test_losses_stay_within_their_target(target, shape: str, unit) -> None:
    assert NoisyMixture.calibrated(target, **PUBLIC, shape=shape, unit=unit).loss(1) <= target


@pytest.mark.parametrize("shape", ["full", "diag", "spherical"])
def test_without_noise_components_are_found(silent, shape: str) -> None:
    draw = np.random.default_rng()
    spreads = np.array([[0.05, 0.02], [0.02, 0.05], [0.04, 0.04]])
    centres, own = np.array([[-0.6, 0.0], [0.6, 0.5], [0.2, -0.7]]), np.repeat([0, 1, 2], [3000, 2000, 1000])
    rows = centres[own] + draw.normal(0, 1, (6000, 2)) * spreads[own]
    learner = NoisyMixture.calibrated(
        ApproxDP(1000, "1e-6"), lower=[-1, -1], upper=[1, 1], clusters=3, shape=shape, steps=8
    )
    found = learner.release(rows, silent())
    order = [int(np.abs(found.means - centre).max(axis=1).argmin()) for centre in centres]
    assert sorted(order) == [0, 1, 2]
    # In 40 runs the worst mean was off by 0.0018 with a deviation of 0.0008, the worst spread by 4 % with one of 1 %.
    assert np.abs(found.means[order] - centres).max() < 0.03
    assert np.abs(found.weights.values[order] - [0.5, 1 / 3, 1 / 6]).max() < 0.03
    seen = np.sqrt(np.diagonal(found.shapes[order], axis1=1, axis2=2))
    if shape != "spherical":
        assert np.abs(np.log(seen / spreads)).max() < 0.4
    else:
        assert seen[:, 0] == pytest.approx(seen[:, 1])
    again = Model.from_dict(found.to_dict())
    assert again == found


def test_densities_are_those_of_gaussians() -> None:
    pair = np.array([[[0.04, 0.01], [0.01, 0.09]], [[0.01, 0.0], [0.0, 0.01]]])
    given = {"lower": PublicArray([0.0, 0.0]), "upper": PublicArray([4.0, 2.0]), "weights": PublicArray([0.3, 0.7])}
    found = MixtureModel(**given, centres=PublicArray([[0.0, 0.0], [0.5, 0.5]]), covariances=PublicArray(pair))
    rows = np.array([[2.0, 1.0], [3.0, 1.5], [1.0, 0.2]])
    scales = np.array([2.0, 1.0])
    for row, log in zip(rows, found.densities(rows), strict=True):
        total = 0.0
        for weight, centre, covariance in zip((0.3, 0.7), ((2.0, 1.0), (3.0, 1.5)), pair, strict=True):
            own = covariance * np.outer(scales, scales)
            apart = row - np.array(centre)
            size = 2 * math.pi * math.sqrt(float(np.linalg.det(own)))
            total += weight * math.exp(-float(apart @ np.linalg.inv(own) @ apart) / 2) / size
        assert math.exp(log) == pytest.approx(total, rel=1e-9)
    assert found.probabilities(rows).sum(axis=1) == pytest.approx([1, 1, 1])
    assert found.labels(rows).tolist() == found.probabilities(rows).argmax(axis=1).tolist()


def test_declarations_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="shape"):
        NoisyMixture.calibrated(PureDP(1), **PUBLIC, shape="full")
    with pytest.raises(InvalidParameter, match="shape"):
        NoisyMixture.calibrated(PureDP(1), **PUBLIC, shape="round")
    with pytest.raises(InvalidParameter, match="steps"):
        NoisyMixture.calibrated(PureDP(1), **PUBLIC, steps=0)
    whole = NoisyMixture.calibrated(PureDP(1), **PUBLIC)
    with pytest.raises(InvalidParameter, match="parts"):
        NoisyMixture(**PUBLIC, levels=whole.levels, parts=whole.parts, shape="full")
