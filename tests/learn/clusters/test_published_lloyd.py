"""The literature's Lloyds: SU's formulae beside a search for the best, printed zones, and Lloyd without privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ApproxDP, Budget, PureDP, release
from dither.errors import InvalidParameter
from dither.learn.clusters import SuClusters, public_lloyd
from dither.learn.clusters.su import count_share, sphere_packed, step_epsilon
from dither.learn.clusters.zones import drawn_in_zone

PUBLIC = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 3.0, 10.0], "clusters": 3}


def squared_error(share: float, columns: int, clusters: int, records: int) -> float:
    """The squared error of a step of epsilon 1, all clusters together, where counts get ``share`` times a column's.

    A sum of numbers within 1 has Laplace noise of scale 1 / s, a count 1 / c, with d s + c = 1; a centre's coordinate
    is 2 * 0.225 on average, and moves by the noise of the sum, and by itself times that of the count, over the count.
    """
    each = 1 / (columns + share)
    size = records / clusters
    noise = 2 / each**2 + (2 * 0.225) ** 2 * 2 / (share * each) ** 2
    return clusters * columns * noise / size**2


@pytest.mark.parametrize(("columns", "clusters", "records"), [(1, 2, 100), (2, 15, 5000), (30, 3, 569)])
def test_shares_and_steps_of_su_make_the_squared_error_least(columns: int, clusters: int, records: int) -> None:
    shares = np.geomspace(0.01, 100, 20_001)
    errors = [squared_error(float(share), columns, clusters, records) for share in shares]
    assert count_share(columns) == pytest.approx(float(shares[int(np.argmin(errors))]), rel=1e-3)
    # At the least epsilon of a step the error is 0.004; it falls with the square of epsilon.
    assert min(errors) / step_epsilon(clusters, columns, records) ** 2 == pytest.approx(0.004, rel=1e-6)


def test_the_number_of_steps_is_within_two_and_seven() -> None:
    for epsilon, records, steps in (("1/100", 100, 2), (1, 10**6, 7), (1, 1200, 2), (1, 3700, 4)):
        learner = SuClusters.calibrated(PureDP(epsilon), **PUBLIC, records=records)
        assert len(learner.parts) == steps
        assert Fraction(epsilon) * Fraction(99, 100) < learner.loss(1).epsilon <= Fraction(epsilon)
    for target, unit in product((PureDP("0.7"), ApproxDP(1, "1e-6")), (ROW, ROW_REPLACED)):
        assert SuClusters.calibrated(target, **PUBLIC, unit=unit).loss(1) <= target


def test_one_point_moves_a_step_by_its_stability_at_most(silent) -> None:
    draw = np.random.default_rng()
    learner = SuClusters.calibrated(PureDP(1), **PUBLIC)
    rows = np.vstack([draw.uniform(-2, 12, (30, 3)), [[9, 9, 99]], [[np.nan] * 3]])
    first = silent()
    learner.release(rows, first)
    answers, most = [value for _, value, _ in first.seen], 0
    for gone in range(len(rows)):
        run = silent(answers)
        learner.release(np.delete(rows, gone, axis=0), run)
        for (_, here, stability), (_, there, _) in zip(first.seen, run.seen, strict=True):
            moved = int(np.abs(here - there).sum())
            assert moved <= stability
            most = max(most, moved)
    assert most == stability  # a corner moves it as far as said


def test_packed_spheres_are_apart_from_each_other_and_from_the_bounds() -> None:
    for clusters, columns in ((1, 1), (2, 1), (7, 2), (20, 5)):
        found = sphere_packed(clusters, columns, "k")
        assert found.shape == (clusters, columns)
        gaps = np.linalg.norm(found[:, None] - found, axis=2) + 9 * np.eye(clusters)
        radius = min(float(gaps.min()) / 2, 1 - float(np.abs(found).max()))
        # A quarter of what spheres in a grid would have is always found.
        assert radius > 0.25 / math.ceil(clusters ** (1 / columns))
        assert (found == sphere_packed(clusters, columns, "k")).all()


def test_su_finds_clear_clusters_and_refuses_what_is_too_large() -> None:
    draw = np.random.default_rng()
    rows = np.repeat([[-0.5, 0.5], [0.5, -0.5]], 3000, axis=0) + draw.normal(0, 0.02, (6000, 2))
    learner = SuClusters.calibrated(PureDP(20), lower=[-1, -1], upper=[1, 1], clusters=2)
    model = release(learner, rows, budget=Budget(epsilon=20, unit=ROW)).value
    found = model.places[np.argsort(model.places[:, 0])]
    assert np.abs(found - [[-0.5, 0.5], [0.5, -0.5]]).max() < 0.1
    with pytest.raises(InvalidParameter, match="clusters"):
        SuClusters.calibrated(PureDP(1), lower=[0] * 100, upper=[1] * 100, clusters=100)
    with pytest.raises(InvalidParameter, match="records"):
        SuClusters.calibrated(PureDP(1), **PUBLIC, records=0)


@pytest.mark.parametrize("offset", [0.51, 0.7, 0.99])
def test_points_of_a_zone_lie_in_the_printed_ball_and_follow_the_printed_score(offset: float) -> None:
    """4000 public points, so that nothing is random; the means are those of a fine sum over the zone."""
    drawn = np.array([drawn_in_zone(offset, 2, f"{number}") for number in range(4000)])
    across = drawn[:, 0] * np.sin(drawn[:, 1])
    along = drawn[:, 0] * np.cos(drawn[:, 1])
    assert (np.hypot(along - offset, across) <= 1 - offset + 1e-12).all()
    far, angle = np.meshgrid(np.linspace(2 * offset - 1, 1, 801), np.linspace(-math.pi / 2, math.pi / 2, 4001))
    inside = np.hypot(far * np.cos(angle) - offset, far * np.sin(angle)) <= 1 - offset
    weight = inside * np.exp(((1 - far) + (1 - 2 * np.abs(angle) / math.pi)) / 4)
    for seen, truth in ((drawn[:, 0], far), (np.abs(drawn[:, 1]), np.abs(angle))):
        mean = float((weight * truth).sum() / weight.sum())
        spread = math.sqrt(float((weight * truth**2).sum() / weight.sum()) - mean**2)
        assert abs(float(seen.mean()) - mean) < 6 * spread / math.sqrt(4000) + 0.002 * (1 - offset)
    assert all(drawn_in_zone(offset, 1, f"{number}")[1] == 0 for number in range(20))


def test_public_lloyd_ends_where_every_centre_is_the_mean_of_its_points() -> None:
    draw = np.random.default_rng()
    points = draw.integers(0, 9, (60, 2)).astype(float)
    found = public_lloyd(points, 4)
    assert found.has_converged
    assert list(found.costs) == sorted(found.costs, reverse=True)
    for point, label in zip(points, found.labels, strict=True):
        gaps = [math.dist(point, centre) for centre in found.centres]
        assert gaps[label] == min(gaps)
    for place, centre in enumerate(found.centres):
        assert centre == pytest.approx(points[found.labels == place].mean(axis=0))
    assert found.costs[-1] == pytest.approx(
        sum(math.dist(p, found.centres[j]) ** 2 for p, j in zip(points, found.labels, strict=True))
    )
    stopped = public_lloyd(points, 4, start=points[:4], most_steps=0)
    assert (stopped.centres == points[:4]).all()
    assert not stopped.has_converged
    for name, value in (("points", [[math.nan]]), ("points", [1, 2]), ("clusters", 0), ("start", [[1.0, 2.0]])):
        with pytest.raises(InvalidParameter, match=name):
            public_lloyd(**{"points": points, "clusters": 2, name: value})
