"""Totals of grouping sets agree, err no more than what was measured, and are possible counts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dither.checks.law import coverage_is_refuted
from dither.data.reference import ReferenceEngine
from dither.mechanisms import Runner
from dither.noise import system_noise
from dither.privacy import ApproxDP, PureDP, Use
from dither.publish.queries import QueryResult, plan_report, present_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.reports.totals import Places, least_squares, possible
from dither.publish.queries.sql import parse_request
from tests.publish.queries.exact import LOOSE, answer_of_duckdb, tables

ENGINE = ReferenceEngine(LOOSE, {name: list(rows) for name, rows in tables().items()})


def matrix(keys: Places, sizes: list[int]) -> NDArray[np.float64]:
    """Return the matrix that sums the cells of all keys to those of some."""
    found = np.ones((1, 1))
    for key, size in enumerate(sizes):
        found = np.kron(found, np.eye(size) if key in keys else np.ones((1, size)))
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[Places], list[float], int]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    every = [part for many in range(len(sizes) + 1) for part in itertools.combinations(range(len(sizes)), many)]
    sets = draw(st.lists(st.sampled_from(every), min_size=1, max_size=5, unique=True))
    variances = [draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in sets]
    return sizes, sets, variances, draw(st.integers(0, 2**32 - 1))


def stacked(tables_: dict[Places, Any], sets: list[Places]) -> NDArray[np.float64]:
    return np.concatenate([np.ravel(tables_[keys]) for keys in sets])


@settings(max_examples=80, deadline=None)
@given(cases())
def test_the_fit_is_that_of_weighted_least_squares_over_all_cells(case: Any) -> None:
    """The slow twin: one dense system over the cells of all keys."""
    sizes, sets, variances, seed = case
    source = np.random.default_rng(seed)
    shapes = {keys: [sizes[key] for key in keys] for keys in sets}
    measured = {keys: source.normal(size=shapes[keys]) * 10 for keys in sets}
    weights = dict(zip(sets, variances, strict=True))
    rows = np.vstack([matrix(keys, sizes) / math.sqrt(weights[keys]) for keys in sets])
    wanted = np.concatenate([np.ravel(measured[keys]) / math.sqrt(weights[keys]) for keys in sets])
    cells = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    fitted = least_squares(measured, weights, sizes)
    for keys in sets:
        assert np.allclose(np.ravel(fitted[keys]), matrix(keys, sizes) @ cells, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_no_number_has_more_variance_than_its_own_measurement(case: Any) -> None:
    """The fit is linear: its matrix, column by column, gives the variance of every number exactly."""
    sizes, sets, variances, _ = case
    weights = dict(zip(sets, variances, strict=True))
    many = [math.prod(sizes[key] for key in keys) for keys in sets]
    noise = np.concatenate([np.full(size, weights[keys]) for keys, size in zip(sets, many, strict=True)])
    columns = []
    for place in range(sum(many)):
        unit = np.split(np.eye(sum(many))[place], np.cumsum(many)[:-1])
        given_ = {keys: part.reshape([sizes[key] for key in keys]) for keys, part in zip(sets, unit, strict=True)}
        columns.append(stacked(least_squares(given_, weights, sizes), sets))
    fit = np.array(columns).T
    assert np.allclose(fit @ fit, fit, atol=1e-8)  # what agrees already stays
    assert ((fit**2) @ noise <= noise * (1 + 1e-9)).all()


#: Each pair of three keys: no order of these sets shares out one after the other.
PAIRS = ([3, 2, 4], [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, 1.0], 7)


@settings(max_examples=80, deadline=None)
@example(PAIRS, True)
@example(PAIRS, False)
@example(([3, 2, 4], [(), (0, 1), (1, 2), (2,), (0, 2)], [1.0, 3.0, 0.5, 1.0, 1.0], 8), True)
@given(cases(), st.booleans())
def test_shown_totals_are_possible_and_add_up(case: Any, integers: bool) -> None:
    sizes, sets, variances, seed = case
    source = np.random.default_rng(seed)
    measured = {keys: source.normal(size=[sizes[key] for key in keys]) * 10 for keys in sets}
    fitted = least_squares(measured, dict(zip(sets, variances, strict=True)), sizes)
    found = possible(fitted, sizes, integers=integers)
    assert found is not None
    for one, other in itertools.permutations(sets, 2):
        if set(one) <= set(other):
            axes = tuple(axis for axis, key in enumerate(other) if key not in one)
            assert np.allclose(found[other].sum(axis=axes), found[one])
    for keys in sets:
        assert (found[keys] >= 0).all()
        assert not integers or found[keys].dtype == np.int64
        assert np.allclose(found[keys].sum(), max(0.0, float(fitted[keys].sum())), atol=0.5 + 1e-6)


@settings(max_examples=80, deadline=None)
@given(cases())
def test_totals_that_are_possible_already_stay_as_they_are(case: Any) -> None:
    """Tables of one population, most of whose cells are empty. Would catch: margins of cells that nobody measured."""
    sizes, sets, _, seed = case
    if {(0, 1), (0, 2), (1, 2)} <= set(sets) and (0, 1, 2) not in sets:
        sets = [keys for keys in sets if keys != (1, 2)]  # these three alone have no order
    cells = np.random.default_rng(seed).poisson(0.3, size=math.prod(sizes)).astype(float)
    known = {keys: (matrix(keys, sizes) @ cells).reshape([sizes[key] for key in keys]) for keys in sets}
    found = possible(known, sizes, integers=True)
    assert found is not None
    for keys in sets:
        assert np.array_equal(found[keys], known[keys]), (keys, found[keys], known[keys])


@pytest.mark.parametrize("integers", [True, False])
def test_all_pairs_of_three_keys_of_one_population_stay_near(integers: bool) -> None:
    """Cells that nobody measured are made up, and add up to all three sets where each cell has people enough."""
    sizes, sets, _, seed = PAIRS
    cells = np.random.default_rng(seed).integers(40, 60, size=math.prod(sizes)).astype(float)
    known = {keys: (matrix(keys, sizes) @ cells).reshape([sizes[key] for key in keys]) for keys in sets}
    found = possible(known, sizes, integers=integers)
    assert found is not None
    for keys in sets:
        assert np.allclose(found[keys], known[keys], atol=math.prod(sizes) if integers else 1e-6)


def test_too_many_cells_of_sets_without_an_order_stay_as_they_are() -> None:
    """A thousand values of each of three keys are a thousand million cells."""
    tables_ = {keys: np.ones((1000, 1000)) for keys in ((0, 1), (1, 2), (0, 2))}
    assert possible(tables_, [1000] * 3, integers=True) is None


def test_numbers_that_are_too_large_stay_as_they_are() -> None:
    assert possible({(): np.array(1e300)}, [], integers=True) is None


ROLLUP = (
    "SELECT region, smoker, COUNT(*) AS n, SUM(change) AS c FROM visits WHERE region <> 'west' AND smoker IS NOT NULL "
    "GROUP BY {}(region, smoker)"
)


def shown(how: str, epsilon: Any) -> QueryResult:
    report = parse_request(ROLLUP.format(how), LOOSE)
    assert isinstance(report, Report)
    planned = plan_report(report, PureDP(epsilon))
    return present_report(planned, Runner(Use(planned), system_noise())(planned, ENGINE), confidence="0.8")


@pytest.mark.parametrize("how", ["ROLLUP", "CUBE"])
def test_released_totals_agree_and_keep_the_loss(how: str) -> None:
    for epsilon in ("0.05", "1"):
        result = shown(how, epsilon)
        assert result.loss <= PureDP(epsilon)
        numbers = {row[:2]: row[2:] for row in result.rows}
        drawn = {row[:2]: row[2:] for row in result.raw}
        for place, table in ((0, numbers), (0, drawn), (1, numbers), (1, drawn)):
            parts: Any = {key: values[place] for key, values in table.items()}
            for region in ("north", "south", "east"):
                assert parts[region, None] == pytest.approx(parts[region, True] + parts[region, False], abs=1e-6)
            assert parts[None, None] == pytest.approx(sum(parts[region, None] for region in ("north", "south", "east")))
        assert all(isinstance(row[0], int) and row[0] >= 0 for row in numbers.values())
        for row, low, high in zip(result.rows, result.low, result.high, strict=True):
            assert all(a <= value <= b for value, a, b in zip(row[2:], low[2:], high[2:], strict=True))  # type: ignore[operator]
        assert not result.is_simultaneous
        assert any("totals" in note for note in result.notes)


@pytest.mark.statistical(
    n=150, false_alarm=20e-10, miss=1e-9, catches="intervals that are moved to the fitted value and no longer cover"
)
def test_intervals_of_fitted_totals_cover_as_the_measured_ones_do() -> None:
    """n = 150 releases; each interval holds by itself. The twin reads releases of epsilon 0.05 as if of epsilon 0.5."""
    truth = {row[:2]: row[2:] for row in answer_of_duckdb(ROLLUP.format("ROLLUP"))}
    report = parse_request(ROLLUP.format("ROLLUP"), LOOSE)
    assert isinstance(report, Report)
    planned, loud = plan_report(report, PureDP("1/2")), plan_report(report, PureDP("1/20"))
    for drawn, is_refuted in ((planned, False), (loud, True)):
        hits = np.zeros((10, 2), dtype=int)
        for _ in range(150):
            out = Runner(Use(drawn), system_noise())(drawn, ENGINE)
            result = present_report(planned, out, confidence="0.8")
            for group, (row, low, high) in enumerate(zip(result.rows, result.low, result.high, strict=True)):
                ends: Any = list(zip(low[2:], truth[row[:2]], high[2:], strict=True))
                hits[group] += [least <= true <= most for least, true, most in ends]
        assert any(coverage_is_refuted(int(one), 150, 0.8, 1e-10) for one in hits.ravel()) == is_refuted


def test_the_total_of_discovered_groups_is_measured_and_has_the_rows_of_all_groups() -> None:
    """Groups of one person each are never shown; the total has their rows, and what is added up says what it lacks."""
    rows = [
        {**row, "note": "common" if place % 2 else f"of {row['id']} alone"}
        for place, row in enumerate(tables()["visits"])
    ]
    engine = ReferenceEngine(LOOSE, {**tables(), "visits": rows})
    results = {}
    texts = (
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY ROLLUP (note)",
        "SELECT note, smoker, COUNT(*) AS n FROM visits GROUP BY CUBE (note, smoker)",
    )
    for how in texts:
        report = parse_request(how, LOOSE)
        assert isinstance(report, Report)
        planned = plan_report(report, ApproxDP(10**6, "1e-9"))
        assert planned.loss(1) <= ApproxDP(10**6, "1e-9")
        results[how] = present_report(planned, Runner(Use(planned), system_noise())(planned, engine))
    rolled, cube = results.values()
    assert rolled.rows[0][0] == "common"
    assert rolled.rows[-1] == (None, len(rows))
    assert sum(row[1] for row in rolled.rows[:-1]) < len(rows)
    assert "not shown" not in rolled.columns[-1].bias
    # By note alone groups are added up over both values of smoker, as far as these are shown.
    assert "groups that are not shown are not in it" in cube.columns[-1].bias
    assert (None, None, len(rows)) in cube.rows


def test_a_rollup_of_discovered_groups_is_summed_up_from_the_finest() -> None:
    text = "SELECT note, smoker, COUNT(*) AS n FROM visits GROUP BY ROLLUP (note, smoker)"
    report = parse_request(text, LOOSE)
    assert isinstance(report, Report)
    assert len(report.queries) == 2  # the finest grouping and the total
    apart = parse_request(text.replace("COUNT(*)", "AVG(age)"), LOOSE)
    assert isinstance(apart, Report)
    assert len(apart.queries) == 3


def test_rows_outside_the_public_values_count_in_no_grouping() -> None:
    """Otherwise the totals of what is measured would not be those of the groups."""
    odd = [{**row, "region": "north" if place % 3 else "elsewhere"} for place, row in enumerate(tables()["visits"])]
    engine = ReferenceEngine(LOOSE, {**tables(), "visits": odd})
    report = parse_request(
        "SELECT region, GROUPING(region) AS g, COUNT(*) AS n FROM visits GROUP BY CUBE (region)", LOOSE
    )
    assert isinstance(report, Report)
    planned = plan_report(report, PureDP(10**12))
    result = present_report(planned, Runner(Use(planned), system_noise())(planned, engine))
    assert result.rows[-1] == (None, 1, sum(row["region"] == "north" for row in odd))
