"""Reports of one place: what they promise holds over the ground, and their post-processing is what it says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.data.places import Box, CellGrid
from dither.errors import BudgetExceeded, HandleMisuse, IncompatibleDistance, InvalidParameter
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.release import Budget, converse, release
from dither.mechanisms.planar_noise import PlanarNoise
from dither.noise import system_noise
from dither.privacy import ROW, PureDP, place, trace
from dither.publish.places.report import (
    ChosenPlace,
    Event,
    KLocations,
    LikelyPlaces,
    PredictiveReports,
    ReplacedVisit,
    ReportedPlaces,
    adversary,
    best_remap,
    event_loss,
    nearest_allowed,
    optimal_report,
    planar_figures,
    smoothed_prior,
)
from dither.publish.places.report.calculator import planar_channel
from dither.publish.places.report.likely import difference_hull
from dither.publish.places.report.metres import UNITS, unit_of, units_per_metre, whole_distances
from dither.publish.places.report.optimal import (
    BETWEEN_CELLS,
    TOTAL,
    OptimalReport,
    expected_distance,
    ground_distances,
    spanner,
)
from dither.publish.places.report.visits import cluster_weights

_PARIS = Box.of("48.80", "2.25", "48.92", "2.42")
_PLANE = Box.of(0, 0, 2000, 3000, plane=True)


def test_places_never_meet_rows_in_one_budget() -> None:
    method = ReportedPlaces(box=_PARIS, epsilon="0.01")
    with pytest.raises(IncompatibleDistance):
        release(method, np.array([[48.85, 2.3]]), budget=Budget(epsilon=1, unit=ROW))
    assert method.distance.is_relaxed
    assert "place" in str(method.distance)


def test_the_price_of_a_metre_is_paid_over_the_ground() -> None:
    method = ReportedPlaces(box=_PARIS, epsilon="0.01", reports=3)
    assert method.loss(100) == PureDP(1)
    # A metre of the plane is at least ``least`` metres of ground, so the noise is wider than 1 / epsilon.
    assert method.noise.scale == 100 / _PARIS.projection.least > 100


def test_the_mean_error_is_that_of_the_law() -> None:
    """n = 40,000; the length has mean 2 and variance 2 in scales: 8 standard errors are 0.06 (false alarm 1e-14).

    Catches a scale that is wrong by 3 %; the twin with one wrong by 5 % is rejected.
    """
    count = 40_000
    noise = PlanarNoise(scale=100, places=count)
    lengths = np.hypot(*np.asarray(noise.draw(np.zeros((count, 2)), system_noise())).T) / 100
    tolerance = 8 * math.sqrt(2 / count)
    assert abs(lengths.mean() - 2) < tolerance
    assert abs(1.05 * lengths.mean() - 2) > tolerance * 0.2
    assert planar_figures("0.01", 1).mean == 200


def test_figures_agree_with_the_density_added_up() -> None:
    step = 0.001
    radii = np.arange(step / 2, 40, step)
    density = radii * np.exp(-radii)
    figures = planar_figures(1, 2)
    assert abs(figures.within - density[radii < 2].sum() * step) < 1e-5
    assert abs(density[radii < figures.median].sum() * step - 0.5) < 1e-3
    assert abs((radii * density).sum() * step - figures.mean) < 1e-4


@pytest.mark.parametrize("box", [_PLANE, _PARIS, Box.of("79.5", "20", "79.6", "20.5")])
def test_whole_distances_move_no_faster_than_places(box: Box) -> None:
    south, west, north, east = box.edges
    rng = np.random.default_rng()
    for _ in range(200):
        here = np.array([rng.integers(south, north), rng.integers(west, east)])
        there = box.clamp(here + rng.integers(-3, 4, size=2))
        other = np.array([rng.integers(south, north), rng.integers(west, east)])
        first, second, third = (box.projection.metres(one) for one in (here, there, other))
        moved = abs(int(whole_distances(first, third, box)) - int(whole_distances(second, third, box)))
        plane = float(np.hypot(*(first - second)))
        assert moved <= float(units_per_metre(box) * box.projection.least) * plane + 1e-6
    assert unit_of(box) * UNITS == min(box.projection.north, box.projection.east)


def test_cells_and_tables_of_cells_are_released() -> None:
    grid = CellGrid(_PLANE, 3, 2)
    allowed = np.array([False, True, False, False, False, True])
    table = nearest_allowed(grid, allowed)
    slow = [min((1, 5), key=lambda kept: (math.dist(*grid.centres()[[cell, kept]]), kept)) for cell in range(6)]
    assert [math.dist(*grid.centres()[[a, b]]) for a, b in enumerate(table)] == [
        math.dist(*grid.centres()[[a, b]]) for a, b in enumerate(slow)
    ]
    method = ReportedPlaces(box=_PLANE, epsilon=1, cells=grid, becomes=table, reports=50)
    places = np.tile([[1000.0, 1500.0]], (50, 1))
    budget = Budget(epsilon=1, unit=place("great circle"))
    assert set(np.unique(release(method, places, budget=budget).value)) <= {1, 5}
    assert method.error("0.9") is None
    assert ReportedPlaces(box=_PLANE, epsilon=1, cells=grid).error("0.9") is not None


@pytest.mark.parametrize("mask", [np.zeros(6, dtype=bool), np.ones(5, dtype=bool), np.ones(6)])
def test_an_allowed_set_without_cells_is_refused(mask: np.ndarray) -> None:
    with pytest.raises(InvalidParameter, match="allowed"):
        nearest_allowed(CellGrid(_PLANE, 3, 2), mask)


def test_the_remap_finds_the_best_cell() -> None:
    """Against trying every cell: the sum of weights times distances is within 3 % of the least."""
    grid = CellGrid(Box.of(0, 0, 900, 1100, plane=True), 11, 9)
    counts = np.zeros(grid.cells)
    counts[[12, 13, 60, 61, 62, 95]] = [5, 9, 3, 30, 2, 8]
    epsilon = 0.01
    prior = smoothed_prior(grid, counts, epsilon=epsilon)
    assert abs(prior.sum() - 1) < 1e-12
    assert prior.min() > 0
    table = best_remap(grid, prior, epsilon=epsilon)
    middles = grid.centres()
    apart = np.hypot(*(middles[:, None] - middles[None]).transpose(2, 0, 1))
    for cell in range(grid.cells):
        weights = prior * np.exp(-epsilon * apart[cell])
        costs = weights @ apart
        assert costs[table[cell]] <= 1.03 * costs.min()


def test_a_uniform_prior_moves_nothing_inside() -> None:
    grid = CellGrid(Box.of(0, 0, 9000, 9000, plane=True), 45, 45)
    table = best_remap(grid, np.ones(grid.cells), epsilon="0.02")
    middle = 22 * 45 + 22
    assert table[middle] == middle


@pytest.mark.parametrize("prior", [np.zeros(6), -np.ones(6), np.ones(5), np.full(6, np.nan)])
def test_odd_priors_are_refused(prior: np.ndarray) -> None:
    grid = CellGrid(_PLANE, 3, 2)
    for call in (best_remap, smoothed_prior):
        with pytest.raises(InvalidParameter, match="prior"):
            call(grid, prior, epsilon=1)  # type: ignore[operator]
    with pytest.raises(InvalidParameter, match="prior"):
        optimal_report(grid, prior, epsilon="0.01")


def test_the_optimal_report_keeps_its_loss_and_beats_the_others() -> None:
    grid = CellGrid(Box.of(0, 0, 800, 800, plane=True), 4, 4)
    prior = np.arange(16.0) ** 2 + 1
    report = optimal_report(grid, prior, epsilon="0.005")
    apart = ground_distances(grid)
    rows = report.weights.values
    assert (rows.sum(axis=1) == TOTAL).all()
    # The loss by exact fractions, pair by pair: never above what is said, and what is said not above what was asked.
    worst = max(
        math.log(Fraction(int(rows[a, z]), int(rows[b, z]))) / apart[a, b]
        for a, b in itertools.permutations(range(16), 2)
        for z in range(16)
    )
    assert worst <= float(report.epsilon_per_metre) <= 0.005
    assert float(report.epsilon_per_metre) <= worst * (1 + 1e-6)
    weights = prior / prior.sum()
    planar = float((weights[:, None] * planar_channel(grid.centres(), "0.005") * apart).sum())
    assert expected_distance(report, prior) < 0.9 * planar


def test_draws_of_the_optimal_report_follow_its_table() -> None:
    grid = CellGrid(Box.of(0, 0, 1, 2, plane=True), 2, 1)
    report = OptimalReport(cells=grid, weights=[[TOTAL - 1, 1], [TOTAL // 2, TOTAL // 2]])

    class Given:
        def __init__(self, numbers: list[int]) -> None:
            self.numbers = numbers

        def uniform_below(self, limit: int, count: int) -> list[int]:
            assert limit == TOTAL
            return self.numbers

    edges = [0, TOTAL // 2 - 1, TOTAL // 2, TOTAL - 2, TOTAL - 1]
    assert report.response.draw_many(0, 5, Given(edges)).tolist() == [0, 0, 0, 0, 1]  # type: ignore[arg-type]
    assert report.response.draw_many(1, 5, Given(edges)).tolist() == [0, 0, 1, 1, 1]  # type: ignore[arg-type]


def test_ways_over_the_spanner_are_short() -> None:
    apart = ground_distances(CellGrid(Box.of(0, 0, 500, 500, plane=True), 5, 5))
    ways = np.full(apart.shape, np.inf)
    np.fill_diagonal(ways, 0)
    for a, b in spanner(apart, 1.1):
        ways[a, b] = ways[b, a] = apart[a, b]
    for through in range(25):
        ways = np.minimum(ways, ways[:, through, None] + ways[None, through])
    assert (ways <= 1.1 * apart + 1e-9).all()


def test_the_adversary_learns_what_bayes_says() -> None:
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    learned = adversary(channel, [1, 3], [[0, 10], [10, 0]])
    assert (learned.before, learned.right_before) == (2.5, 0.75)
    # Joint chances: report 0 has 3/16 and 3/16, report 1 has 1/16 and 9/16.
    assert learned.after == 10 * (3 / 16 + 1 / 16)
    assert learned.right_after == 12 / 16


def test_predictive_reports_stay_within_their_price_and_number() -> None:
    method = PredictiveReports(box=_PLANE, epsilon=1, steps=6, fresh=2, reach=100)
    talk = converse(method, None, budget=Budget(epsilon=1, unit=trace("great circle")))
    told = [
        talk.feed(where) for where in ((500, 500), (501, 500), (1500, 2500), (100, 100), (500, 500), (float("nan"), 1))
    ]
    assert talk.fresh <= 2
    assert len(set(told)) <= 2
    with pytest.raises(HandleMisuse, match="ended"):
        talk.feed((1, 1))


def test_a_place_that_stands_still_needs_one_report() -> None:
    """At an epsilon of 100 per metre noise and test are off by metres: the reach of 100 m decides."""
    method = PredictiveReports(box=_PLANE, epsilon=100, steps=400, fresh=3, reach=100)
    talk = converse(method, None, budget=Budget(epsilon=100, unit=trace("great circle")))
    still = {talk.feed((500, 500)) for _ in range(200)}
    moved = {talk.feed((1500, 2500)) for _ in range(200)}
    assert (len(still), len(moved), talk.fresh) == (1, 1, 2)
    assert math.dist(next(iter(moved)), (1500, 2500)) < 50


@pytest.mark.parametrize("value", [None, "x", (1, 2, 3), (True, 1), 5, ("1", 2)])
def test_what_is_not_a_place_at_all_is_refused_by_its_type(value: object) -> None:
    method = PredictiveReports(box=_PLANE, epsilon=1, steps=3, fresh=2, reach=1)
    talk = converse(method, None, budget=Budget(epsilon=1, unit=trace("great circle")))
    with pytest.raises(InvalidParameter, match="latitude and longitude"):
        talk.feed(value)


def test_the_likely_set_is_the_smallest() -> None:
    grid = CellGrid(_PLANE, 3, 2)
    prior = [8, 1, 1, 4, 4, 2]
    for delta in ("0", "0.05", "0.3", "0.45", "0.7"):
        kept = LikelyPlaces(cells=grid, prior=prior, delta=delta, epsilon=1).likely
        enough = [
            size
            for size in range(1, 7)
            for chosen in itertools.combinations(range(6), size)
            if sum(prior[cell] for cell in chosen) >= 20 * (1 - Fraction(delta))
        ]
        assert len(kept) == enough[0]


def test_the_hull_of_differences_holds_them_all() -> None:
    points = np.array([[0, 0], [5, 1], [2, 4], [1, 1]])
    corners = difference_hull(points)
    noise = LikelyPlaces(cells=CellGrid(_PLANE, 8, 8), prior=np.eye(64)[0], delta="0.5", epsilon=1).noise
    assert noise.scale == 1
    gauge = type(noise)(vertices=PublicArray(corners), scale=1).distance
    for a, b in itertools.permutations(points.tolist(), 2):
        apart = gauge.measure(np.array(a), np.array(b))
        assert apart is not None
        assert apart <= 1


def test_k_cells_of_a_square_lose_epsilon() -> None:
    method = KLocations(box=_PLANE, epsilon=2, across=4, side=50)
    assert method.loss(2 * 3 * 50) == PureDP(2)


def test_visits_lose_the_same_whatever_the_map() -> None:
    places = [[100, 100], [110, 100], [900, 900]]
    visit = ReplacedVisit.for_epsilon(_PLANE, places, [0, 0, 1], epsilon=2)
    assert visit.loss(1).epsilon == 2
    with pytest.raises(InvalidParameter, match="clusters"):
        ReplacedVisit.for_epsilon(_PLANE, places, [0, 0, 0], epsilon=2)
    with pytest.raises(InvalidParameter, match="inside the box"):
        ReplacedVisit.for_epsilon(_PLANE, [[100, 100], [110, 9000]], [0, 1], epsilon=2)
    with pytest.raises(InvalidParameter, match="inside the box"):
        ChosenPlace(box=_PLANE, epsilon=1, places=[[5000, 5000]])


def test_weights_of_clusters_are_unbiased() -> None:
    """Over all tellings of three visits, by enumeration."""
    truth, epsilon, clusters = [0, 0, 2], 1.0, 3
    p = math.exp(epsilon) / (math.exp(epsilon) + 2)
    mean = np.zeros(3)
    for told in itertools.product(range(3), repeat=3):
        chance = math.prod(p if a == b else (1 - p) / 2 for a, b in zip(told, truth, strict=True))
        mean += chance * cluster_weights(told, clusters, epsilon)
    assert np.allclose(mean, [2, 0, 1])


def test_events_agree_with_adding_up_all_traces() -> None:
    start = np.array([0.5, 0.3, 0.2])
    moves = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    seen = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]])
    for always in (False, True):
        event = Event(((0, (0, 1)), (2, (2,))), always=always)
        chances = {(happened, known): 0.0 for happened in (True, False) for known in (True, False)}
        for walk in itertools.product(range(3), repeat=3):
            path = start[walk[0]] * moves[walk[0], walk[1]] * moves[walk[1], walk[2]]
            told = math.prod(seen[time, cell] for time, cell in enumerate(walk))
            inside = (walk[0] in (0, 1), walk[2] == 2)
            happened = all(inside) if always else any(inside)
            chances[happened, False] += path
            chances[happened, True] += path * told
        odds = [math.log(chances[True, known] / chances[False, known]) for known in (False, True)]
        assert abs(event_loss(start, moves, seen, event) - abs(odds[1] - odds[0])) < 1e-12


def test_events_that_cannot_be_hidden_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="certain or impossible"):
        event_loss([1, 0], np.eye(2), [[0.5, 0.5]], Event(((0, (0,)),)))


def test_budgets_of_places_run_out() -> None:
    budget = Budget(epsilon="0.015", unit=place("great circle"))
    method = ReportedPlaces(box=_PARIS, epsilon="0.01")
    release(method, np.array([[48.85, 2.3]]), budget=budget)
    with pytest.raises(BudgetExceeded):
        release(method, np.array([[48.85, 2.3]]), budget=budget)


@pytest.mark.parametrize("metres", [1e9, 3e11, 1e14, 1e19])
def test_distances_to_reports_far_away_move_no_faster_than_the_place(metres: float) -> None:
    # Noise may be wider than a double tells steps apart at, and than 64 bits hold in units: the promise must not care.
    rng = np.random.default_rng()
    plane = Box.of(0, 0, 1000, 1000, plane=True)
    for far in np.round(rng.normal(size=(400, 2)) * metres / 2**10) * 2**10:
        steps = rng.integers(0, 2**20, 2)
        here, there = plane.projection.metres(np.stack([steps, steps + rng.integers(-1, 2, 2)]))
        moved = abs(int(whole_distances(here, far, plane)) - int(whole_distances(there, far, plane)))
        assert moved <= units_per_metre(plane) * Fraction(math.hypot(*(here - there)))


def test_a_number_of_any_size_is_fed() -> None:
    day = PredictiveReports(box=_PLANE, epsilon=1, steps=3, fresh=2, reach=1)
    phone = converse(day, None, budget=Budget(epsilon=1, unit=trace("great circle")))
    for value in ((10**400, -(10**400)), (np.float16(3), np.int64(-5)), (math.inf, math.nan)):
        assert all(map(math.isfinite, phone.feed(value)))


def test_an_optimal_report_between_cells_very_far_apart_is_made() -> None:
    grid = CellGrid(Box.of(0, 0, 1, 100_000, plane=True), 3, 1)
    assert optimal_report(grid, [1, 2, 3], epsilon=5).epsilon_per_metre <= 5


def test_a_report_between_cells_shares_no_budget_with_reports_of_places() -> None:
    # Places a metre apart on two sides of a border lose what the middles of their cells lose, here 500 metres' worth.
    report = optimal_report(CellGrid(Box.of(0, 0, 1000, 1000, plane=True), 2, 1), [1, 1], epsilon="0.01")
    assert report.distance.is_relaxed
    with pytest.raises(IncompatibleDistance):
        release(report, 0, budget=Budget(epsilon=1, unit=place("great circle")))
    assert release(report, 0, budget=Budget(epsilon=1, unit=BETWEEN_CELLS)).value in (0, 1)
