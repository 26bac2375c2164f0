"""Records from pairs: errors that are kept up to date, moves that help, wanted pairs that are reached."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.estimate.record_fitting import MOST_VALUES, Rounds, WantedPairs, _Fit, fit_records, shared_out

SIZES = (3, 4, 2, 5)


def records_like(rows: int) -> Any:
    """Return dependent records, a row for each attribute."""
    generator = public_generator()
    first = generator.integers(3, size=rows)
    second = (first + (generator.random(rows) < 0.2)) % 4
    third = (generator.random(rows) < 0.1 + 0.8 * (first == 1)).astype(np.int64)
    fourth = np.where(generator.random(rows) < 0.7, second + third, generator.integers(5, size=rows)) % 5
    return np.stack([first, second, third, fourth])


def counted(records: Any, axes: tuple[int, ...]) -> Any:
    """Return a marginal, record by record."""
    table = np.zeros([SIZES[axis] for axis in axes])
    for record in records.T:
        table[tuple(record[axis] for axis in axes)] += 1
    return table


def wanted_of(records: Any) -> WantedPairs:
    """Return the laws of records."""
    pairs = {axes: counted(records, axes) for axes in combinations(range(4), 2)}
    return WantedPairs([counted(records, (axis,)) for axis in range(4)], pairs)


def objective(records: Any, target: Any, power: float) -> float:
    """Return the weighted squared error of all cells, each unordered pair twice as in the fit's table."""
    total, rows, wanted = 0.0, records.shape[1], target.shape[1]
    for axes in [(axis,) for axis in range(4)] + list(combinations(range(4), 2)):
        goal = counted(target, axes) / wanted * rows
        total += float(((counted(records, axes) - goal) ** 2 / (goal + 1) ** power).sum())
    return total


def test_errors_are_kept_up_to_date() -> None:
    """After many moves the errors are those of the records as they stand."""
    target, start = records_like(400), records_like(300)[:, ::-1]
    wanted = wanted_of(target)
    fit = _Fit(start, wanted, 0.5)
    for _ in range(3):
        fit.round(7, 0.5, public_generator())
    moved = fit.places.T - wanted.starts[:-1, None]
    fresh = _Fit(moved, wanted, 0.5)
    np.testing.assert_allclose(fit._errors, fresh._errors, atol=1e-3)
    np.testing.assert_allclose(fit._entering, fresh._entering, atol=1e-3)
    tables = np.split(fresh._errors, np.cumsum([size * fresh._values for size in wanted.sizes])[:-1])
    square = np.concatenate([table.reshape(fresh._values, -1) for table in tables], axis=1)
    np.testing.assert_allclose(square, square.T, atol=1e-3)
    for first, second in combinations(range(4), 2):
        block = square[wanted.part(first), wanted.part(second)]
        goal = counted(target, (first, second)) / 400 * 300
        np.testing.assert_allclose(block, counted(moved, (first, second)) - goal, atol=1e-3)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_one_record_at_a_time_never_makes_it_worse(power: float) -> None:
    """With a block for each record every move is judged exactly, so the objective falls or stays."""
    target = records_like(200)
    wanted, records = wanted_of(target), records_like(40)
    before = objective(records, target, power)
    for _ in range(3):
        records = fit_records(records, wanted, public_generator(), rounds=(Rounds(1, 40, 1.0),), power=power)
        after = objective(records, target, power)
        assert after <= before + 1e-3
        before = after


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_a_record_goes_where_the_objective_is_least(power: float) -> None:
    """One record in one attribute at a time: no value would have been better, by counting all values out."""
    target = records_like(60)
    wanted, records = wanted_of(target), records_like(25)
    for number in range(12):
        axis = number % 4
        fit = _Fit(records, wanted, power)
        block = fit.places[number : number + 1].copy()
        fit._move(block, np.array([0]), axis)
        outcomes = []
        for value in range(SIZES[axis]):
            records[axis, number] = value
            outcomes.append(objective(records, target, power))
        records[axis, number] = block[0, axis] - wanted.starts[axis]
        assert objective(records, target, power) <= min(outcomes) + 1e-3


def test_many_rows_of_a_table_are_added_up_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = _Fit(records_like(50), wanted_of(records_like(50)), 0.5)
    table = public_generator().random((fit._values, 3)).astype(np.float32)
    few = fit._summed(table, fit.places)
    monkeypatch.setattr("dither.estimate.record_fitting._FEW_CELLS", 0)
    np.testing.assert_allclose(fit._summed(table, fit.places), few, rtol=1e-5)
    np.testing.assert_allclose(few, [table[row].sum(axis=0) for row in fit.places], rtol=1e-5)


def test_the_best_move_is_made() -> None:
    """One record that is wrong in one attribute is put right, in the first round."""
    target = np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 0, 0], [4, 4, 1, 1, 0, 0]])
    wrong = target.copy()
    wrong[1, 0] = 3
    fitted = fit_records(wrong, wanted_of(target), public_generator(), rounds=(Rounds(1, 6, 1.0),))
    assert sorted(map(tuple, fitted.T.tolist())) == sorted(map(tuple, target.T.tolist()))


def test_wanted_pairs_are_reached_from_independent_records() -> None:
    """All six pairs of dependent records are met at the same time; independent ones are far off."""
    target = records_like(4000)
    wanted = wanted_of(target)
    start = wanted.independent(4000, public_generator())
    fitted = fit_records(start, wanted, public_generator())
    off = {
        name: max(
            float(np.abs(counted(these, axes) - counted(target, axes)).sum()) / 8000
            for axes in combinations(range(4), 2)
        )
        for name, these in (("before", start), ("after", fitted))
    }
    assert off["before"] > 0.25
    assert off["after"] < 0.03


def test_pairs_that_are_not_named_are_not_fitted() -> None:
    """With single attributes alone independent records stay where they are."""
    wanted = WantedPairs([counted(records_like(50), (axis,)) for axis in range(4)], {})
    start = wanted.independent(50, public_generator())
    fitted = fit_records(start, wanted, public_generator())
    for axis in range(4):
        assert np.abs(counted(fitted, (axis,)) - counted(start, (axis,))).max() <= 1


@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_sharing_out_rounds_down_or_up(rows: int) -> None:
    """Every value comes as often as its share, rounded down or up; without any mass all alike."""
    for law in ([0.1, 0.0, 0.55, 0.35], [1.0], [0.0, 0.0]):
        given = np.array(law)
        shares = given / given.sum() if given.sum() else np.full(given.size, 1 / given.size)
        counts = np.bincount(shared_out(given, rows, public_generator()), minlength=given.size)
        assert counts.sum() == rows
        assert (np.abs(counts - shares * rows) < 1 + 1e-9).all()


def test_too_many_values_are_refused() -> None:
    """The square table of all values has a limit."""
    with pytest.raises(InvalidParameter, match="values together"):
        WantedPairs([np.ones(MOST_VALUES), np.ones(1)], {})
