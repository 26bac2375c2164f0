"""PrivBayes: its score on all small tables, its candidates against a slow twin, and what a large budget recovers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords
from dither.mechanisms import perform
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.synthetic import network
from dither.publish.synthetic.bits import BinaryModel, BitRecords, Bits
from dither.publish.synthetic.measuring import STEPS
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.network import Conditional, NetworkModel, conditional_of
from dither.publish.synthetic.privbayes import SCORE_STABILITY, PrivBayes, half_distance

#: So much that noise is 0 but for a chance below e^-1000.
PLENTY = PureDP(10**7)


def half_l1(table: tuple[tuple[int, ...], ...]) -> Fraction:
    """Half the L1 distance to independence in records, by its definition."""
    total = sum(map(sum, table))
    if not total:
        return Fraction(0)
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    cells = product(range(len(rows)), range(len(columns)))
    return sum((abs(table[i][j] - Fraction(rows[i] * columns[j], total)) for i, j in cells), Fraction(0)) / 2


def tables(shape: tuple[int, int], most: int) -> list[np.ndarray]:
    """All tables of this shape with at most so many records."""
    cells = shape[0] * shape[1]
    found = [
        np.array(counts).reshape(shape) for counts in product(range(most + 1), repeat=cells) if sum(counts) <= most
    ]
    assert len(found) == math.comb(cells + most, most)
    return found


@pytest.mark.parametrize(("shape", "most"), [((2, 2), 7), ((2, 3), 4), ((3, 3), 2)])
def test_a_record_moves_the_score_by_less_than_two_records(shape: tuple[int, int], most: int) -> None:
    largest, largest_steps = Fraction(0), 0
    for table in tables(shape, most):
        before, steps = half_l1(tuple(map(tuple, table.tolist()))), half_distance(table, STEPS)
        assert steps == math.floor(STEPS * before)
        for place in np.ndindex(*shape):
            more = table.copy()
            more[place] += 1
            after = half_l1(tuple(map(tuple, more.tolist())))
            largest = max(largest, abs(after - before))
            largest_steps = max(largest_steps, abs(half_distance(more, STEPS) - steps))
    # The worst case: all records in one cell, and one more in another row and column.
    assert largest == 2 * Fraction(most, most + 1)
    assert largest < 2
    assert largest_steps <= SCORE_STABILITY


def test_mutual_information_in_counts_has_no_such_bound() -> None:
    def information(table: np.ndarray) -> float:
        total = table.sum()
        expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / total
        held = table > 0
        return float((table[held] * np.log2(table[held] / expected[held])).sum())

    moved = [
        information(np.array([[n, 0], [0, 1]])) - information(np.array([[n, 0], [0, 0]])) for n in (10, 1000, 10**6)
    ]
    assert moved[0] > 4
    assert moved[2] > moved[1] > moved[0]


def test_large_counts_are_exact() -> None:
    table = np.array([[2**45, 3], [5, 2**44 + 1]])
    assert half_distance(table, STEPS) == math.floor(STEPS * half_l1(tuple(map(tuple, table.tolist()))))
    assert half_distance(np.zeros((2, 3), dtype=np.int64), STEPS) == 0


def test_candidates_are_the_largest_sets_that_fit() -> None:
    table = Attributes.of({"a": 2, "b": 3, "c": 4, "d": 5, "e": 2})
    method = PrivBayes.calibrated(PureDP(1), attributes=table, parents=2)
    for known, limit in (([0, 1, 2], 24), ([0, 2, 3], 30), ([0, 1, 2, 4], 1), ([0], 10)):
        wanted = set()
        for axis in set(range(5)) - set(known):
            fits = [
                set(parents)
                for size in range(3)
                for parents in combinations(known, size)
                if not parents or math.prod(table.sizes[i] for i in (*parents, axis)) <= limit
            ]
            wanted |= {(axis, tuple(sorted(one))) for one in fits if not any(one < other for other in fits)}
        found = method.candidates(known, limit)
        assert set(found) == wanted
        assert len(found) == len(wanted)


def test_many_attributes_have_fewer_parents_not_more_candidates() -> None:
    method = PrivBayes.calibrated(PureDP(1), attributes=Attributes.of({f"c{i}": 2 for i in range(100)}))
    found = method.candidates(list(range(50)), 2**16)
    assert len(found) == 50 * 50
    assert {len(parents) for _, parents in found} == {1}


@pytest.mark.parametrize("encoding", ["general", "binary"])
def test_with_no_noise_the_records_come_back(encoding: str) -> None:
    table = Attributes.of({"a": 2, "b": 5, "c": 3})
    every = np.array(list(product(range(2), range(5), range(3))))
    # So many of each that every attribute depends on both others.
    rows = np.repeat(every, [1 + (7 * i * i) % 11 for i in range(len(every))], axis=0)
    method = PrivBayes(attributes=table, budget=PLENTY, encoding=encoding, parents=8)
    model = perform(method, rows, stability=1)
    truth = table.count(table.codes(rows), (0, 1, 2))
    assert np.allclose(model.table((0, 1, 2)), truth, atol=1e-6)
    drawn = model.sample()
    # Every attribute that is drawn adds less than a record of rounding.
    assert np.abs(table.count(table.codes(drawn), (0, 1, 2)) - truth).max() < len(method.modelled.names)
    assert Model.from_dict(json.loads(json.dumps(model.to_dict()))) == model


@pytest.mark.parametrize("budget", [PureDP(1), ZCDP("1/4")])
@pytest.mark.parametrize("encoding", ["general", "binary"])
def test_odd_tables(encoding: str, budget: PureDP | ZCDP) -> None:
    alone, flat = Attributes.of({"a": 3}), Attributes.of({"a": 1, "b": 1, "c": 7})
    for table in (alone, flat):
        method = PrivBayes(attributes=table, budget=budget, encoding=encoding)
        for rows in (0, 1, 5):
            model = perform(method, np.zeros((rows, len(table.names)), dtype=np.int64), stability=1)
            assert (model.sample(4) < np.array(table.sizes)).all()
            assert math.isclose(float(model.table(()).sum()), model.total, rel_tol=1e-9, abs_tol=1e-9)


def test_the_loss_is_within_the_target() -> None:
    people = Attributes.of({"a": 2, "b": 3, "c": 4})
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        assert PrivBayes.calibrated(target, attributes=people).loss(1) <= target
    with pytest.raises(InvalidParameter, match="encoding"):
        PrivBayes(attributes=people, budget=PureDP(1), encoding="ternary")


def test_bits_are_counted_as_recoded_records_are() -> None:
    table = Attributes.of({"a": 5, "b": 2, "c": 1, "d": 7})
    rows = np.array([[4, 1, 0, 6], [2, 0, 0, 3], [3, 1, 0, 5], [0, 0, 0, 0], [4, 1, 0, 6]])
    bits = Bits(table)
    coded = np.array(
        [
            [int(bit) for value, width in zip(row, (3, 1, 1, 3), strict=True) for bit in f"{value:0{width}b}"]
            for row in rows
        ]
    )
    seen, plain = BitRecords(bits, CodedRecords(table, rows)), CodedRecords(bits.attributes, coded)
    for axes in ((), (0,), (1, 2), (0, 3, 4), (2, 5, 7), tuple(range(8))):
        assert np.array_equal(seen.count(axes), plain.count(axes))
    assert np.array_equal(bits.codes(coded), rows)


def test_numbers_without_a_value_lose_their_leading_bit() -> None:
    table = Attributes.of({"a": 5})
    law = [
        Conditional(0, (), np.array([0.0, 1.0])),
        *(Conditional(i, tuple(range(i)), np.full((2,) * (i + 1), 0.5)) for i in (1, 2)),
    ]
    model = BinaryModel(table, NetworkModel(Bits(table).attributes, 8.0, law))
    # 4, 5, 6, 7 are read as 4, 1, 2, 3.
    assert model.table((0,)).round(9).tolist() == [0, 2, 2, 2, 2]
    assert np.bincount(model.sample(8)[:, 0], minlength=5).tolist() == [0, 2, 2, 2, 2]


def random_network() -> NetworkModel:
    generator = public_generator()
    table = Attributes.of({"a": 2, "b": 3, "c": 2, "d": 4})
    parts = []
    for axis, parents in ((2, ()), (0, (2,)), (3, (0, 2)), (1, (0, 3))):
        weights = generator.random(table.shape_of((*parents, axis))) + 0.1
        parts.append(Conditional(axis, parents, weights / weights.sum(axis=-1, keepdims=True)))
    return NetworkModel(table, 1000.0, parts)


def test_marginals_are_sums_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_network()
    whole = np.zeros(model.attributes.sizes)
    for cell in np.ndindex(*whole.shape):
        whole[cell] = 1000 * math.prod(
            each.law[tuple(cell[i] for i in (*each.parents, each.axis))] for each in model.conditionals
        )
    for axes in ((), (1,), (0, 1), (2, 3), (0, 1, 2), (0, 1, 2, 3)):
        away = tuple(axis for axis in range(4) if axis not in axes)
        assert np.allclose(model.table(axes), whole.sum(axis=away))
    monkeypatch.setattr(network, "EXACT_CELLS", 1)
    again = NetworkModel(model.attributes, 1000.0, model.conditionals)
    # From 2^18 drawn records: rounding leaves less than a record in each group of equal parents.
    assert np.allclose(again.table((0, 2)), whole.sum(axis=(1, 3)), atol=0.1)


def test_drawing_rounds_every_conditional_law_down_or_up() -> None:
    model = random_network()
    drawn = model.draw(997, public_generator()).T
    for each in model.conditionals:
        shape = model.attributes.shape_of((*each.parents, each.axis))
        joint = np.zeros(shape)
        np.add.at(joint, tuple(drawn[axis] for axis in (*each.parents, each.axis)), 1)
        assert (np.abs(joint - each.law * joint.sum(axis=-1, keepdims=True)) < 1 + 1e-9).all()


def test_damaged_networks_are_refused() -> None:
    record = json.loads(json.dumps(random_network().to_dict()))
    assert Model.from_dict(record) == Model.from_dict(record)
    bad = [None, [], [[0, [], [1.0]]], record["conditionals"][1:], [*record["conditionals"][:-1], [1, [9], [1.0]]]]
    for conditionals in bad:
        with pytest.raises(InvalidParameter, match="conditionals"):
            Model.from_dict({**record, "conditionals": conditionals})
    numbers = [float("nan"), *record["conditionals"][0][2][1:]]
    with pytest.raises(InvalidParameter, match="conditionals"):
        Model.from_dict({**record, "conditionals": [[2, [], numbers], *record["conditionals"][1:]]})


def test_conditionals_without_mass() -> None:
    # All that is above 0 lies in the first row, so the second has the law of all records.
    assert conditional_of(1, (0,), (0, 1), np.array([[7.0, 3.0], [-1.0, -1.0]])).law[1].tolist() == [0.75, 0.25]
    assert conditional_of(1, (0,), (0, 1), np.array([[6.0, 3.0], [-9.0, -9.0]])).law.tolist() == [[0.5, 0.5]] * 2
    assert conditional_of(0, (), (0, 1), np.array([[6.0, 3.0], [0.0, 0.0]])).law.tolist() == [1.0, 0.0]
