"""Models as tables and records: marginals against the joint law, records against the model, files against damage."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import NoisyMarginal
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords
from dither.publish.synthetic import GraphicalModel, Model
from dither.publish.synthetic.measuring import STEPS, Seen, closure
from dither.publish.synthetic.merging import Merging

TABLE = Attributes.of({"a": 3, "b": 4, "c": 2, "d": 5})


def chain(total: float = 1000.0) -> GraphicalModel:
    numbers = np.random.default_rng(8)
    potentials = {
        (0, 1): numbers.normal(size=(3, 4)),
        (1, 2): numbers.normal(size=(4, 2)),
        (3,): numbers.normal(size=5),
    }
    return GraphicalModel(TABLE, total, potentials)


def merged() -> GraphicalModel:
    places = (np.array([0, 1, 1]), np.arange(4), np.arange(2), np.array([2, 0, 2, 1, 2]))
    shares = (np.array([1.0, 0.25, 0.75]), np.ones(4), np.ones(2), np.array([0.5, 1.0, 0.5, 1.0, 0.0]))
    numbers = np.random.default_rng(9)
    potentials = {(0, 1): numbers.normal(size=(2, 4)), (1, 3): numbers.normal(size=(4, 3))}
    return GraphicalModel(TABLE, 500.0, potentials, Merging(places, shares))


@pytest.mark.parametrize("make", [chain, merged])
def test_all_tables_are_sums_of_the_largest(make: Any) -> None:
    model = make()
    whole = model.table((0, 1, 2, 3))
    assert whole.shape == TABLE.sizes
    assert whole.sum() == pytest.approx(model.total)
    for size in range(4):
        for axes in itertools.combinations(range(4), size):
            away = tuple(axis for axis in range(4) if axis not in axes)
            assert model.table(axes) == pytest.approx(whole.sum(axis=away))


def test_members_share_what_their_merged_value_has() -> None:
    model = merged()
    pairs = model.table((0, 1))
    assert pairs[1] * 3 == pytest.approx(pairs[2])
    assert model.table((3,))[4] == 0
    assert model.marginal(["d"])[0] == pytest.approx(model.marginal(["d"])[2])


@pytest.mark.parametrize("rows", [0, 1, 7, 1000, 4321])
@pytest.mark.parametrize("make", [chain, merged])
def test_records_keep_the_marginals_of_cliques(make: Any, rows: int) -> None:
    """Down a chain each group is rounded down or up; independent draws would be off by about the root of the count.

    A cell of the first clique is off by less than 2: its own rounding, and that of its group. Of the next, whose groups
    are sums of 4 such cells at most, by less than 1 + 8.
    """
    most = 9
    model = make(float(rows)) if make is chain else make()
    drawn = model.sample(rows)
    assert drawn.shape == (rows, 4)
    assert drawn.dtype == np.int64
    codes = TABLE.codes(drawn)
    scale = rows / model.total if model.total else 1.0
    for clique in model.law.tree.cliques:
        exact = model.merged_table(clique) * scale
        counts = TABLE.count(codes, clique)
        assert np.abs(model.merging.merged(counts, clique) - exact).max() <= most
    # Members of merged values are spread over one clique of theirs, with one rounding more.
    for axis in model.merging.merged_axes:
        clique = next(clique for clique in model.law.tree.cliques if axis in clique)
        away = tuple(
            number for number, other in enumerate(clique) if other in model.merging.merged_axes and other != axis
        )
        exact = (model.table(clique) * scale).sum(axis=away)
        assert np.abs(TABLE.count(codes, clique).sum(axis=away) - exact).max() <= 2 * most


@settings(max_examples=30)
@given(st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_one_clique_is_rounded_down_or_up(rows: int, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    table = Attributes.of({"a": 3, "b": 4})
    model = GraphicalModel(table, rows, {(0, 1): numbers.normal(size=(3, 4)) * 2})
    counts = table.count(table.codes(model.draw(rows, numbers)), (0,))
    assert np.abs(counts - model.table((0,)) * rows / model.total).max() < 1 + 1e-9
    assert counts.sum() == rows


@pytest.mark.statistical(false_alarm=2e-9)
def test_small_groups_are_not_rounded_to_their_mode() -> None:
    """Of 4,000 groups of one record each, a share of 0.3 has the less likely value.

    n = 4,000; systematic starts make the count nearly exact, and were they independent, Hoeffding's bound for a
    deviation of 205 would be 2 e^(-2 * 205^2 / 4000) = 1.5e-9. Rounding every group to its mode would give 0.
    """
    table = Attributes.of({"a": 4000, "b": 2})
    model = GraphicalModel(table, 4000, {(0, 1): np.tile(np.log([0.7, 0.3]), (4000, 1))})
    assert abs(int(model.sample(4000)[:, 1].sum()) - 1200) <= 205


@pytest.mark.statistical(false_alarm=1e-14)
def test_attributes_outside_a_clique_are_shuffled() -> None:
    """Two independent attributes of equal halves, n = 10,000: sorted groups would make one a copy of the other."""
    table = Attributes.of({"a": 2, "b": 2})
    model = GraphicalModel(table, 10_000, {})
    counts = table.count(table.codes(model.sample(10_000)), (0, 1))
    # The count of a cell is hypergeometric: 2,500 with standard deviation 25.
    assert np.abs(counts - 2500).max() < 25 * 8


@pytest.mark.parametrize("make", [chain, merged])
def test_a_model_survives_json(make: Any) -> None:
    model = make()
    again = Model.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert isinstance(again, GraphicalModel)
    assert np.array_equal(again.table((0, 3)), model.table((0, 3)))
    assert model != chain(17.0)
    assert "500" in repr(merged())
    assert merged().cliques


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("potentials", None),
        ("potentials", [[[0], [0.0, 1.0]]]),
        ("potentials", [[[0], [0.0, 1.0, "2"]]]),
        ("potentials", [[[0], [0.0, 1.0, float("nan")]]]),
        ("potentials", [[[1, 0], [0.0] * 12]]),
        ("potentials", [[[4], [0.0]]]),
        ("potentials", [[[True], [0.0] * 4]]),
        ("potentials", [[[0], [0.0] * 3], [[0], [0.0] * 3]]),
        ("potentials", [["a", [0.0] * 3]]),
        ("merging", None),
        ("merging", [{"attribute": 0}]),
        ("merging", [{"attribute": 9, "places": [0], "shares": [1.0]}]),
        ("merging", [{"attribute": 0, "places": [0, 2, 2], "shares": [1.0, 0.5, 0.5]}]),
        ("merging", [{"attribute": 0, "places": [0, 1, 1], "shares": [1.0, 0.5, 0.6]}]),
        ("merging", [{"attribute": 0, "places": [0, 1, 1], "shares": [1.0, 2.0, -1.0]}]),
        ("merging", [{"attribute": 0, "places": [0.5, 1, 1], "shares": [1.0, 0.5, 0.5]}]),
        ("total", -1),
        ("version", 2),
    ],
)
def test_a_damaged_record_is_refused(key: str, value: Any) -> None:
    record = chain().to_dict()
    record[key] = value
    with pytest.raises(InvalidParameter):
        Model.from_dict(record)


def test_a_model_that_nobody_could_hold_is_not_read() -> None:
    wide = Attributes(tuple(f"x{number}" for number in range(40)), (8,) * 40)
    pairs = [[[i, j], [0.0] * 64] for i, j in itertools.combinations(range(40), 2)]
    record = {"model": "graphical", "version": 1, "total": 1.0, "potentials": pairs, "merging": []}
    with pytest.raises(InvalidParameter, match="cells"):
        Model.from_dict({**record, "attributes": [[name, 8] for name in wide.names]})


def test_rare_values_are_merged_and_shares_come_from_their_counts() -> None:
    table = Attributes.of({"a": 5, "b": 2})
    noisy = {
        (0,): NoisyMarginal((0,), np.array([100.0, 2.0, 50.0, -3.0, 6.0]), 4.0),
        (1,): NoisyMarginal((1,), np.array([150.0, 5.0]), 4.0),
    }
    merging = Merging.of(table, noisy)
    # Below three standard deviations, that is 6: two values of a. A single rare value of b stays.
    assert merging.sizes == (4, 2)
    assert merging.places[0].tolist() == [0, 3, 1, 3, 2]
    assert merging.merged_axes == (0,)
    assert merging.merged(np.arange(10).reshape(5, 2), (0, 1)).tolist() == [[0, 1], [4, 5], [8, 9], [8, 10]]
    small = merging.merged_noisy(noisy[0,])
    assert small.values.tolist() == [100, 50, 6, -1]
    assert np.ravel(small.variance).tolist() == [4, 4, 4, 8]
    # Their sum is below 0, so nothing tells them apart.
    assert merging.shares[0].tolist() == [1, 0.5, 1, 0.5, 1]
    nothing = {(axis,): NoisyMarginal((axis,), np.full(size, -1.0), 9.0) for axis, size in enumerate(table.sizes)}
    assert Merging.of(table, nothing).sizes == (1, 1)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=6),
    st.tuples(st.integers(0, 2), st.integers(0, 3)),
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
)
def test_a_record_moves_a_score_by_its_declared_steps(
    rows: list[tuple[int, int]], more: tuple[int, int], seed: int, weight: int
) -> None:
    """Over all one-record neighbours of a table, with any public table beside it, with and without merged values."""
    table = Attributes.of({"a": 3, "b": 4})
    numbers = np.random.default_rng(seed)
    codes = np.array(rows, dtype=np.int64).reshape(-1, 2)
    here, there = (Seen(CodedRecords(table, data)) for data in (codes, np.vstack([codes, more])))
    merging = Merging((np.array([0, 1, 1]), np.arange(4)), (np.array([1.0, 0.5, 0.5]), np.ones(4)))
    for is_merged in (False, True):
        if is_merged:
            here.merge(merging)
            there.merge(merging)
        expected = numbers.gamma(0.5, 3.0, size=here.merging.shape_of((0, 1)))
        apart = here.distance((0, 1), expected, weight) - there.distance((0, 1), expected, weight)
        assert abs(apart) <= STEPS * weight
        truth = weight * float(np.abs(here.count((0, 1)) - expected).sum())
        # Rounding the public table to steps moves a score by at most half a step a cell.
        assert abs(here.distance((0, 1), expected, weight) / STEPS - truth) <= weight * expected.size / (2 * STEPS)


def test_closure_holds_every_part_once() -> None:
    assert closure([(0, 1, 2)]) == ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


def test_draws_differ_and_cost_nothing() -> None:
    model = chain()
    assert not np.array_equal(model.draw(500, public_generator()), model.draw(500, public_generator()))
