"""Linear queries: column norms against the search over all small histograms, and closed forms."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.privacy import DIFFERENT, L1, L2, LARGEST, ONE_WAY, Metric, Relation
from dither.privacy.sensitivity import (
    Universe,
    all_ranges,
    entry_sensitivities,
    global_sensitivity,
    linear_sensitivity,
)
from tests.rationals import rationals

RELATIONS = [Relation.ADD_REMOVE, Relation.REPLACE]
HAAR = [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]

entries = st.one_of(st.integers(-9, 9), rationals(-3, 3, 7), st.integers(-(2**70), 2**70))
matrices = st.integers(1, 4).flatmap(
    lambda cells: st.lists(st.lists(entries, min_size=cells, max_size=cells), min_size=1, max_size=4)
)


def searched(weights: Any, metric: Metric, relation: Relation) -> Fraction:
    """Visit every histogram of at most two rows: the change does not depend on the rows that stay."""
    cells = len(weights[0])
    sizes = range(3) if relation is Relation.ADD_REMOVE else range(1, 3)
    universe = Universe(range(cells), sizes, relation=relation)
    return global_sensitivity(lambda rows: [sum(each[row] for row in rows) for each in weights], universe, metric)


@given(matrices, st.sampled_from([L1, L2, LARGEST]), st.sampled_from(RELATIONS))
@settings(max_examples=150, deadline=None)
def test_column_norms_are_what_the_search_finds(weights: Any, metric: Metric, relation: Relation) -> None:
    assert linear_sensitivity(weights, metric, relation=relation) == searched(weights, metric, relation)


@given(matrices, st.sampled_from(RELATIONS))
@settings(max_examples=80, deadline=None)
def test_entries_are_queries_of_their_own(weights: Any, relation: Relation) -> None:
    alone = tuple(linear_sensitivity([row], L1, relation=relation) for row in weights)
    assert entry_sensitivities(weights, relation=relation) == alone
    assert max(alone) == linear_sensitivity(weights, LARGEST, relation=relation)


@pytest.mark.parametrize("cells", [*range(1, 25), 63, 64])
def test_all_ranges_have_a_closed_form(cells: int) -> None:
    """Cell i is in i (N - i + 1) ranges; cells m apart are told apart by m (N + 1 - m) of them."""
    weights = all_ranges(cells)
    closed = math.ceil(cells / 2) * (cells // 2 + 1)
    assert weights.shape == (cells * (cells + 1) // 2, cells)
    assert linear_sensitivity(weights, L1, relation=Relation.ADD_REMOVE) == closed
    # A range that holds one of two cells moves by one: what is replaced moves no more than what is added.
    assert linear_sensitivity(weights, L1, relation=Relation.REPLACE) == (closed if cells > 1 else 0)
    euclidean = linear_sensitivity(weights, L2, relation=Relation.ADD_REMOVE)
    assert 0 <= euclidean**2 - closed < Fraction(1, 10**20)
    assert set(entry_sensitivities(weights, relation=Relation.ADD_REMOVE)) == {Fraction(1)}
    assert {tuple(row) for row in weights.tolist()} == {
        tuple(int(first <= cell <= last) for cell in range(cells))
        for first in range(cells)
        for last in range(first, cells)
    }


def test_ten_ranges_and_their_wavelet_basis() -> None:
    """The worked example of the literature on four cells: 6 for all ranges together, 3 for the Haar basis."""
    assert linear_sensitivity(all_ranges(4), L1, relation=Relation.ADD_REMOVE) == 6
    assert linear_sensitivity(HAAR, L1, relation=Relation.ADD_REMOVE) == 3
    # What the literature does not say: a replaced row moves the wavelet basis by 4.
    assert linear_sensitivity(HAAR, L1, relation=Relation.REPLACE) == 4


def test_histogram() -> None:
    identity = np.eye(5, dtype=int)
    assert linear_sensitivity(identity, L1, relation=Relation.ADD_REMOVE) == 1
    assert linear_sensitivity(identity, L1, relation=Relation.REPLACE) == 2
    assert linear_sensitivity(identity, LARGEST, relation=Relation.REPLACE) == 1
    root = linear_sensitivity(identity, L2, relation=Relation.REPLACE)
    assert 0 < root**2 - 2 < Fraction(1, 10**25)


def test_numbers_are_exact() -> None:
    row = [0.1, "1/3", Decimal("0.25"), Fraction(-1, 7), np.float32(0.5), np.int8(-1)]
    assert linear_sensitivity([row], L1, relation=Relation.REPLACE) == Fraction(3, 2)
    assert linear_sensitivity([row[:2], row[2:4]], L1, relation=Relation.ADD_REMOVE) == Fraction(1, 3) + Fraction(1, 7)
    assert linear_sensitivity([[2**80, 1], [1, 2**80]], L1, relation=Relation.REPLACE) == 2 * (2**80 - 1)
    assert linear_sensitivity([[3 * 2**70], [4 * 2**70]], L2, relation=Relation.ADD_REMOVE) == 5 * 2**70
    assert linear_sensitivity(np.array([[0.5, 0.25]]), L1, relation=Relation.REPLACE) == Fraction(1, 4)


def test_one_cell_cannot_be_replaced_by_another() -> None:
    assert linear_sensitivity([[7], [-7]], L1, relation=Relation.REPLACE) == 0
    assert linear_sensitivity([[7, 7]], L1, relation=Relation.REPLACE) == 0


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: linear_sensitivity([], L1, relation=Relation.REPLACE), "weights"),
        (lambda: linear_sensitivity([[]], L1, relation=Relation.REPLACE), "weights"),
        (lambda: linear_sensitivity([[1, 2], [1]], L1, relation=Relation.REPLACE), "weights"),
        (lambda: linear_sensitivity(np.ones(3), L1, relation=Relation.REPLACE), "weights"),
        (lambda: linear_sensitivity(7, L1, relation=Relation.REPLACE), "weights"),  # type: ignore[arg-type]
        (lambda: linear_sensitivity("12", L1, relation=Relation.REPLACE), "weights"),
        (lambda: linear_sensitivity(np.ones((2, 2, 2)), L1, relation=Relation.REPLACE), "weights[0][0]"),
        (lambda: linear_sensitivity([[1, math.nan]], L1, relation=Relation.REPLACE), "weights[0][1]"),
        (lambda: linear_sensitivity([[True]], L1, relation=Relation.REPLACE), "weights[0][0]"),
        (lambda: linear_sensitivity([["x"]], L1, relation=Relation.ADD_REMOVE), "weights[0][0]"),
        (lambda: linear_sensitivity([[1]], ONE_WAY, relation=Relation.REPLACE), "metric"),
        (lambda: linear_sensitivity([[1]], DIFFERENT, relation=Relation.REPLACE), "metric"),
        (lambda: linear_sensitivity([[1]], L1, relation=Relation.METRIC), "relation"),
        (lambda: linear_sensitivity([[1]], L1, relation="replaced"), "relation"),  # type: ignore[arg-type]
        (lambda: entry_sensitivities([[1]], relation=Relation.METRIC), "relation"),
        (lambda: linear_sensitivity([range(3000)] * 960, L1, relation=Relation.REPLACE), "weights"),
        (lambda: all_ranges(0), "cells"),
        (lambda: all_ranges(321), "cells"),
    ],
)
def test_refusals_name_the_parameter(call: Any, parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.parameter == parameter
