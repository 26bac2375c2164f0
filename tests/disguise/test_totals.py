"""Tables of totals: rules by hand, and intervals by trying every table of whole numbers that fits."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from dither.disguise import WARNING
from dither.disguise.totals import (
    Dominance,
    PPercent,
    Threshold,
    Totals,
    TotalsRule,
    attacker_intervals,
    rounded,
    suppress,
)
from dither.disguise.totals.suppression import multiples
from dither.errors import InvalidParameter


def table_of(cells: list[list[list[float]]]) -> Totals:
    """The table with these contributions to its cells."""
    rows = [
        (f"r{row}", f"c{column}", amount)
        for row, line in enumerate(cells)
        for column, pieces in enumerate(line)
        for amount in pieces
    ]
    names = dict(zip(("row", "column", "sum"), map(list, zip(*rows, strict=True)), strict=True))
    return Totals.of(names, ("row", "column"), "sum")


def fitting(shown: np.ndarray[Any, Any], empty: np.ndarray[Any, Any], top: int) -> np.ndarray[Any, Any]:
    """All tables of whole numbers in two rows, with margins, that agree with what is shown."""

    def agrees(cells: np.ndarray[Any, Any], known: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(np.all(np.isnan(known) | (known == cells), axis=-1))

    def lines(row: int) -> np.ndarray[Any, Any]:
        choices = [
            [0] if empty[row, column] else range(top + 1) if np.isnan(shown[row, column]) else [int(shown[row, column])]
            for column in range(shown.shape[1] - 1)
        ]
        cells = np.array(list(itertools.product(*choices)), dtype=float)
        whole = np.column_stack([cells, cells.sum(axis=1)])
        # No row has more than the table.
        return np.asarray(whole[agrees(whole, shown[row]) & (whole[:, -1] <= top)])

    found, others = [], lines(1)
    for line in lines(0):
        whole = np.stack([np.broadcast_to(line, others.shape), others, line + others], axis=1)
        found.append(whole[agrees(whole[:, 2], shown[2])])
    return np.concatenate(found)


#: Margins that are not sums.
ODD = np.array([[1.0, 2.0], [1.0, 2.0]])
RULES: list[tuple[TotalsRule, ...]] = [
    (Threshold(2, around=0.5),),
    (Dominance(1, 80),),
    (PPercent(20),),
    (Threshold(3), Dominance(2, 90)),
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_intervals_are_those_of_all_tables_that_fit_and_wide_enough(rules: tuple[TotalsRule, ...]) -> None:
    numbers = np.random.default_rng()
    cells = [
        [numbers.integers(1, 3, int(numbers.integers(0, 3))).astype(float).tolist() for _ in range(3)] for _ in range(2)
    ]
    cells[0][0], cells[1][1] = [4.0], [1.0, 1.0, 1.0]
    totals = table_of(cells)
    made = suppress(totals, rules)
    # Shown cells break no rule, and cells that are left out are marked as one of both.
    for place in np.ndindex(*totals.values.shape):
        needs = [need for rule in rules if (need := rule.need(totals.pieces[place[0]][place[1]])) is not None]
        assert bool(needs) == bool(made.primary[place])
        assert np.isnan(made.shown[place]) == (made.primary[place] or made.secondary[place])
        if needs:
            value = float(totals.values[place])
            assert made.high[place] >= value + max(needs) - 1e-5
            assert made.low[place] <= max(value - max(needs), 0.0) + 1e-5
    if np.isfinite(made.high).all():
        every = fitting(made.shown, totals.empty, int(totals.values.max()))
        assert np.allclose(every.min(axis=0), made.low, atol=1e-5)
        assert np.allclose(every.max(axis=0), made.high, atol=1e-5)
    else:
        assert np.isnan(made.shown[-1, -1])
    said = json.loads(made.to_json())
    assert said["warning"] == WARNING
    assert (said["shown"][0][0] is None) == np.isnan(made.shown[0, 0])


def test_one_forbidden_cell_takes_a_rectangle_with_it() -> None:
    """Of a table without margins that a rule forbids: the cheapest rectangle, by hand."""
    cells = [[[9.0], [5.0] * 4, [9.0] * 4], [[7.0] * 4, [6.0] * 4, [9.0] * 4], [[9.0] * 4, [9.0] * 4, [9.0] * 4]]
    totals = table_of(cells)
    made = suppress(totals, (Threshold(2, around=0.2),))
    assert [tuple(map(int, place)) for place in zip(*np.nonzero(made.primary), strict=True)] == [(0, 0)]
    assert sorted(tuple(map(int, place)) for place in zip(*np.nonzero(made.secondary), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    # A swap around the rectangle goes as far as its smaller corner on each side.
    assert (made.low[0, 0], made.high[0, 0]) == (pytest.approx(0), pytest.approx(9 + 20))


def test_no_secondary_cell_can_be_shown_again() -> None:
    numbers = np.random.default_rng()
    cells = [[numbers.integers(1, 20, 4).astype(float).tolist() for _ in range(4)] for _ in range(4)]
    cells[0][0], cells[2][3] = [8.0], [5.0]
    totals = table_of(cells)
    made = suppress(totals, (Threshold(2, around=0.5),))
    for place in zip(*np.nonzero(made.secondary), strict=True):
        hidden = np.isnan(made.shown)
        hidden[place] = False
        low, high = attacker_intervals(
            np.where(hidden, 0, totals.values), np.where(hidden, np.inf, totals.values), made.primary
        )
        values = totals.values[made.primary]
        is_narrow = (high[made.primary] < values * 1.5 - 1e-4) | (low[made.primary] > values * 0.5 + 1e-4)
        assert is_narrow.any()


def test_contributions_of_one_giver_are_one() -> None:
    sold = {"a": list("xxy"), "b": list("uuu"), "sum": [1, 2, 4], "who": ["p", "p", "q"]}
    totals = Totals.of(sold, ("a", "b"), "sum", giver="who")
    assert [piece.tolist() for piece in totals.pieces[0]] == [[3.0], [3.0]]
    assert totals.pieces[2][1].tolist() == [4.0, 3.0]
    assert totals.rows == ("x", "y")


def test_a_forbidden_cell_of_nothing_is_not_known_to_be_nothing() -> None:
    totals = table_of([[[0.0], [5.0] * 3], [[5.0] * 3, [5.0] * 3]])
    made = suppress(totals, (Threshold(2),))
    assert made.high[0, 0] > 1


@pytest.mark.parametrize("nearest", [False, True])
def test_rounded_cells_are_multiples_and_lie_in_their_intervals(nearest: bool) -> None:
    totals = table_of([[[3.0], [8.0, 2.0]], [[1.0], [7.0]]])
    made = rounded(totals, 5, nearest=nearest)
    assert np.all(made.shown % 5 == 0)
    assert np.all(np.abs(made.shown - totals.values) < (2.5001 if nearest else 5))
    assert np.all(made.low <= totals.values + 1e-6)
    assert np.all(totals.values <= made.high + 1e-6)
    # Margins narrow what each cell alone would leave open; nothing is wider.
    reach = 2.5 if nearest else 5
    assert np.all(made.high <= made.shown + reach + 1e-6)


def test_random_rounding_is_right_on_average() -> None:
    """A total of 3 becomes 0 or 5: of 10,000 cells rounded, the average is within 7 deviations of 3."""
    cells = multiples(np.full(10_000, 3.0), 5)
    assert set(cells.tolist()) <= {0.0, 5.0}
    assert abs(cells.mean() - 3) < 7 * np.sqrt(6 / 10_000)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Threshold(0), "count"),
        (lambda: Threshold(2, 0), "around"),
        (lambda: Dominance(0), "n"),
        (lambda: Dominance(1, 100), "k"),
        (lambda: PPercent(0), "p"),
        (lambda: suppress(table_of([[[1.0]]]), ()), "rules"),
        (lambda: suppress(table_of([[[0.0]]]), (Threshold(2),)), "totals"),
        (lambda: rounded(table_of([[[1.0]]]), 0), "base"),
        (lambda: table_of([[[-1.0]]]), "at least 0"),
        (lambda: Totals.of({"a": [1], "b": [2]}, ("a", "a"), "b"), "two different"),
        (lambda: Totals.of({"a": [], "b": [], "c": []}, ("a", "b"), "c"), "rows long"),
        (lambda: attacker_intervals(ODD, ODD, ODD > 0), "consistent"),
    ],
)
def test_what_cannot_be_done_is_refused(make: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        make()
