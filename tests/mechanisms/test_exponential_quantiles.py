"""Quantiles by the exponential mechanism: scores by definition, one node a row, ranks where they should be."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import Exponential
from dither.mechanisms.exponential_quantiles import (
    PLACES,
    ExponentialQuantiles,
    Recursion,
    Rows,
    rank_line,
    schedule,
    scout_line,
)
from dither.mechanisms.line_choice import SUM_OF_LARGEST, Line, LineChoices
from dither.noise import Noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, PureDP
from dither.testing.branching import branch_outcomes

F = Fraction
HALF = F(1, 2)
shares = st.sampled_from([F(0), F(1, 4), F(1, 3), HALF, F(9, 10), F(1)])
counts = st.lists(st.integers(0, 6), min_size=1, max_size=6)


def rows_of(given_counts: Any) -> Rows:
    return Rows.of(enumerate(given_counts), len(given_counts))


def edges_of(given_counts: Any, places: int) -> list[int]:
    """Return the number of rows below every candidate, by definition: rows of a cell are shared out by their number."""
    found, below = [], 0
    for count in given_counts:
        found += [below + place * count // places for place in range(places)]
        below += count
    return [*found, below]


def scores_of(given_counts: Any, target: Fraction, places: int) -> list[Fraction]:
    """Return how far the target lies from the ranks of every candidate."""
    edges = edges_of(given_counts, places)
    return [-max(F(0), low - target, target - high) for low, high in itertools.pairwise(edges)]


@given(counts, shares, st.sampled_from([1, 2, 5, 8]))
def test_scores_are_those_of_the_definition(given_counts: list[int], share: Fraction, places: int) -> None:
    parts = 2 * share.denominator
    line = rank_line(rows_of(given_counts), share, parts, places)
    found = line.at(np.arange(len(given_counts) * places)).tolist()
    assert [F(score, parts) for score in found] == scores_of(given_counts, share * sum(given_counts), places)


@given(counts, shares, st.integers(1, 9), st.booleans())
def test_scouts_aim_beside_the_quantile_and_may_leave_the_range(
    given_counts: list[int], share: Fraction, offset: int, is_upper: bool
) -> None:
    parts, total = 2 * share.denominator, sum(given_counts)
    line = scout_line(rows_of(given_counts), share, parts, len(given_counts), offset=offset, is_upper=is_upper)
    found = [F(score, parts) for score in line.at(np.arange(len(given_counts) + 1)).tolist()]
    target = share * total + (share == 0) + (offset if is_upper else -offset)
    beyond = -max(F(0), total - target, target - total - offset) if is_upper else -max(F(0), -offset - target, target)
    inside = scores_of(given_counts, target, 1)
    assert found == ([*inside, beyond] if is_upper else [beyond, *inside])


@pytest.mark.parametrize("places", [1, 2, 3])
@pytest.mark.parametrize("share", [F(0), F(1, 3), HALF, F(1)])
def test_a_row_moves_no_score_farther_than_declared_and_attains_it(share: Fraction, places: int) -> None:
    """All tables of three cells with up to three rows each, and every row that may come."""
    parts, worst = 2 * share.denominator, F(0)
    declared = max(share, 1 - share)
    for table in itertools.product(range(4), repeat=3):
        for cell in range(3):
            more = list(table)
            more[cell] += 1
            for inset in (0, 2) if share in (0, 1) else (0,):
                lines = [(rank_line(rows_of(part), share, parts, places, inset=inset),) for part in (table, more)]
                worst = max(worst, (SUM_OF_LARGEST.measure(*lines) or F(0)) / parts)
            for is_upper in (False, True):
                lines = [
                    (scout_line(rows_of(part), share, parts, 3, offset=2, is_upper=is_upper),) for part in (table, more)
                ]
                worst = max(worst, (SUM_OF_LARGEST.measure(*lines) or F(0)) / parts)
    assert worst == declared


def test_a_row_goes_to_one_side_alone() -> None:
    """All tables of three cells with up to four rows each: after a split one side has the further row, in its cell."""
    for table in itertools.product(range(5), repeat=3):
        for cell, candidate in itertools.product(range(3), range(9)):
            more = list(table)
            more[cell] += 1
            moved = []
            for here, there in zip(rows_of(table).split(candidate, 3), rows_of(more).split(candidate, 3), strict=True):
                change = np.zeros(3, dtype=np.int64)
                np.add.at(change, there.cells, there.counts)
                np.subtract.at(change, here.cells, here.counts)
                moved.append(change.tolist())
            one = [int(place == cell) for place in range(3)]
            assert sorted(moved) == sorted([one, [0, 0, 0]])


@given(st.lists(shares, min_size=1, max_size=6, unique=True).map(sorted), counts, st.integers(0, 5), st.data())
def test_along_every_path_one_line_of_a_level_moves(
    wanted: list[Fraction], given_counts: list[int], cell: int, data: st.DataObject
) -> None:
    made = Recursion(wanted, len(given_counts))
    more = list(given_counts)
    more[cell % len(more)] += 1
    sides = [[rows_of(part)] for part in (given_counts, more)]
    for level, nodes in enumerate(made.levels):
        lines = [made.lines(level, F(2), side) for side in sides]
        assert (SUM_OF_LARGEST.measure(*lines) or 0) <= made.stability(level, 1)
        assert sum(bool(SUM_OF_LARGEST.measure((one,), (other,))) for one, other in zip(*lines, strict=True)) <= 1
        chosen = np.array([data.draw(st.integers(0, made.candidates - 1)) for _ in nodes])
        sides = [made.split(level, side, chosen) for side in sides]


def test_all_shares_are_chosen_and_extremes_come_last() -> None:
    for many in range(1, 20):
        wanted = [F(k, many + 1) for k in range(many + 2)]
        levels = schedule(wanted)
        assert sorted(node.place for level in levels for node in level) == list(range(many + 2))
        assert not any(node.is_extreme and (node.has_left or node.has_right) for level in levels for node in level)
        assert len(levels) <= many.bit_length() + 1


def test_exactly_chosen_quantiles_have_their_ranks() -> None:
    """With the best candidate at every level all quantiles are exact, ties included."""
    table = [0, 600, 0, 3, 100, 0, 297]
    wanted = [F(k, 20) for k in range(1, 20)]
    made, found = Recursion(wanted, len(table)), []
    side = [rows_of(table)]
    for level in range(len(made.levels)):
        lines = made.lines(level, F(1), side)
        chosen = np.array([int(line.at(np.arange(made.candidates)).argmax()) for line in lines])
        found.append(chosen)
        side = made.split(level, side, chosen)
    ordered = np.repeat(np.arange(len(table)), table)
    for share, cell in zip(wanted, made.values(found).tolist(), strict=True):
        rank = share * 1000
        # Rows of one value are divided into 256 places, so that a rank beside a split may be off by 1/256 of them.
        slack = len(made.levels) * (1 + F(600, PLACES))
        assert ordered[int(max(0, rank - slack))] <= cell <= ordered[int(min(999, rank + slack))]


def test_the_law_is_that_of_the_exponential_mechanism_over_all_cells() -> None:
    line = Line([0, 2, 3], [-1, 2, 0])
    dense = line.at(np.arange(5))
    assert dense.tolist() == [-1, -1, 2, 0, 0]
    m = LineChoices(shape=(1,), candidates=5, scale=2)
    found = branch_outcomes(lambda noise: int(m.draw((line,), noise)[0]), runs=4000)
    plain = branch_outcomes(partial(Exponential(candidates=5, scale=2).draw, dense), runs=4000)
    assert found.undecided + plain.undecided < F(1, 50)
    twin = branch_outcomes(partial(Exponential(candidates=5, scale=1).draw, dense), runs=4000)

    def differ(other: Any) -> bool:
        return any(
            abs(found.mass.get(place, 0) - other.mass.get(place, 0)) > found.undecided + other.undecided
            for place in range(5)
        )

    assert not differ(plain)
    assert differ(twin)


def test_lines_are_read_whatever_their_steps() -> None:
    assert Line([], []).at(np.arange(2)).tolist() == [0, 0]
    assert Line([3, 1, 1, -5], [7, 5, 6, 4]).at(np.arange(5)).tolist() == [4, 6, 6, 7, 7]
    assert [part.tolist() for part in Line([0, 4, 9], [1, 2, 3]).below(6)] == [[1, 2], [4, 2]]
    for wrong in ((), (Line([], []),) * 3, [0, 1], "ab"):
        with pytest.raises(InvalidValue):
            LineChoices(shape=(2,), candidates=3, scale=1).domain.admit(wrong)


@pytest.mark.parametrize("loss", [PureDP(1), PureDP("0.01"), ZCDP("1/8")])
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
def test_calibrated_stays_within_and_uses_the_loss(loss: Any, unit: Any) -> None:
    grid: dict[str, Any] = {"unit": unit, "lower": 0, "step": 1, "cells": 100}
    for wanted in (("1/2",), (0, "1/4", "1/2", "3/4", 1)):
        found = ExponentialQuantiles.calibrated(loss, shares=wanted, **grid)
        assert found.loss(1) <= loss
        sharper = ExponentialQuantiles(shares=wanted, scale=found.scale * F(99, 100), **grid)
        assert not sharper.loss(1) <= loss


@pytest.mark.statistical(n=3000, false_alarm=1e-9, catches="ranks that are off by more than the stated bound")
def test_ranks_are_within_the_bound(noise: Noise) -> None:
    """3,000 medians of 300 rows on 10^6 cells; at 95 % more than 290 outside has probability 1e-9 or less."""
    rows = Rows.of(((7 * place * place + place, 1) for place in range(300)), 10**6)
    m = ExponentialQuantiles(unit=ROW, shares=("1/2",), lower=0, step=1, cells=10**6, scale=2)
    line = m.recursion.lines(0, m.scale, [rows])
    drawn = m.choice(0).draw_many(tuple(line), 3000, noise)[:, 0]
    below = np.searchsorted(rows.cells, drawn, side="left")
    off = np.maximum(0, np.maximum(below - 150, 150 - np.searchsorted(rows.cells, drawn, side="right")))
    assert int((off > m.error("0.95").value).sum()) <= 290
    # The twin: a bound that forgets the number of cells.
    assert int((off > 2 * float(np.log(1 / 0.95))).sum()) > 290


def test_what_cannot_be_asked_is_refused() -> None:
    grid: dict[str, Any] = {"unit": ROW, "lower": 0, "step": 1, "cells": 100, "scale": 1}
    for wrong in ((), ("1/2", "1/4"), ("1/2", "1/2"), (F(1, 2**16 + 1),), (2,), ("1/65535", "1/65533")):
        with pytest.raises(InvalidParameter, match="shares"):
            ExponentialQuantiles(shares=wrong, **grid)
