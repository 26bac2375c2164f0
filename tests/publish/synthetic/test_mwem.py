"""MWEM and full tables: updates against their definition, what a large budget recovers, limits, damaged records."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.estimate.multiplicative_weights import learned, learned_from_all
from dither.estimate.public_randomness import public_generator
from dither.lift.attributes import Attributes
from dither.lift.records import CodedRecords
from dither.mechanisms import perform
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.synthetic.cell_queries import MOST_COUNT, CellQueries
from dither.publish.synthetic.full_table import FullTable
from dither.publish.synthetic.measuring import Seen
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.mwem import Mwem

TABLE = Attributes.of({"a": 2, "b": 3, "c": 2})
ROWS = np.repeat(np.array(list(product(range(2), range(3), range(2)))), [9, 1, 0, 4, 7, 7, 2, 30, 5, 1, 0, 12], axis=0)


def test_an_update_multiplies_each_cell_as_the_definition_says() -> None:
    table = public_generator().random(TABLE.sizes)
    total = float(table.sum())
    answers = np.array([[3.0, np.nan], [0.5, -1.0]])
    moved = np.zeros(table.shape)
    for a, b, c in np.ndindex(*table.shape):
        answer = answers[a, c]
        off = 0.0 if math.isnan(answer) else answer - sum(table[a, other, c] for other in range(3))
        moved[a, b, c] = table[a, b, c] * math.exp(off / (2 * total))
    moved *= total / moved.sum()
    assert np.allclose(learned(table, (0, 2), answers, total), moved)
    twice = learned(learned(table, (0, 2), answers, total), (0, 2), answers, total)
    assert np.allclose(learned_from_all(table, [((0, 2), answers)], total, passes=2), twice)


def test_queries_count_cells_and_their_negations_the_rest() -> None:
    queries = CellQueries(TABLE, [(0,), (1, 2)])
    seen = Seen(CodedRecords(TABLE, ROWS))
    counts = queries.counts(seen)
    slow = [sum(row[0] == a for row in ROWS) for a in range(2)]
    slow += [sum((row[1], row[2]) == cell for row in ROWS) for cell in product(range(3), range(2))]
    assert counts.tolist() == slow
    assert queries.others(counts).tolist() == [len(ROWS) - count for count in slow]
    assert queries.of_records(ROWS).sum(axis=0).tolist() == slow
    whole = np.zeros(TABLE.sizes)
    np.add.at(whole, tuple(ROWS.T), 1)
    assert queries.answers(whole).tolist() == slow
    assert [queries.place(number) for number in (0, 1, 2, 7)] == [(0, 0), (0, 1), (1, 0), (1, 5)]


def test_a_record_moves_one_query_of_each_marginal_and_all_the_same_way() -> None:
    queries = CellQueries(TABLE, [(0,), (0, 1), (1, 2)])
    before = queries.counts(Seen(CodedRecords(TABLE, ROWS)))
    for row in product(range(2), range(3), range(2)):
        after = queries.counts(Seen(CodedRecords(TABLE, np.vstack([ROWS, row]))))
        assert sorted((after - before).tolist())[-3:] == [1, 1, 1]
        assert (after - before).sum() == 3
        negations = queries.others(after) - queries.others(before)
        assert np.array_equal(negations, 1 - (after - before))


def test_with_no_noise_all_answers_come_out() -> None:
    for budget in (PureDP(10**7), ZCDP(10**7)):
        method = Mwem(attributes=TABLE, workload=TABLE.every(2), budget=budget, rounds=9, passes=300)
        model = perform(method, ROWS, stability=1)
        codes = TABLE.codes(ROWS)
        assert model.total == len(ROWS)
        for axes in ((0, 1), (0, 2), (1, 2)):
            assert np.abs(model.table(axes) - TABLE.count(codes, axes)).max() < 0.5


def test_loss_limits_and_names() -> None:
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        assert Mwem.calibrated(target, attributes=TABLE).loss(1) <= target
    assert Mwem.calibrated(PureDP(1), attributes=TABLE, workload=[["c", "a"]]).workload == (("a", "c"),)
    with pytest.raises(InvalidParameter, match="attributes"):
        Mwem.calibrated(PureDP(1), attributes=Attributes.of({"a": 2**11, "b": 2**10}))
    with pytest.raises(InvalidParameter, match="attributes"):
        Mwem.calibrated(PureDP(1), attributes=Attributes.of({f"c{i}": 1 for i in range(40)}))
    with pytest.raises(InvalidParameter, match="known attributes"):
        Mwem.calibrated(PureDP(1), attributes=TABLE, workload=[["z"]])


def test_odd_data() -> None:
    class Countless:
        attributes = TABLE

        def count(self, axes: tuple[int, ...]) -> np.ndarray:
            return np.full(TABLE.shape_of(axes), 2**63 - 1)

    method = Mwem.calibrated(PureDP(1), attributes=TABLE, rounds=2)
    for data in (ROWS[:0], ROWS[:1], Countless()):
        model = perform(method, data, stability=1)
        assert np.isfinite(model.law).all()
    assert CellQueries(TABLE, [(0, 1)]).counts(Seen(Countless())).sum() <= MOST_COUNT


def test_full_tables_draw_round_and_survive_json() -> None:
    model = FullTable(TABLE, 77.0, public_generator().random(TABLE.sizes))
    drawn = model.draw(500, public_generator())
    counted = TABLE.count(TABLE.codes(drawn), (0, 1, 2))
    assert (np.abs(counted - 500 * model.law) < 1 + 1e-9).all()
    record = json.loads(json.dumps(model.to_dict()))
    assert Model.from_dict(record) == model
    for law in (None, [1.0], [0.5] * 12, [float("nan")] * 12, [2.0, -1.0, *([0.0] * 10)], ["1"] * 12):
        with pytest.raises(InvalidParameter, match="law"):
            Model.from_dict({**record, "law": law})
    assert FullTable(TABLE, 1.0, np.zeros(TABLE.sizes)).table((0,)).tolist() == pytest.approx([0.5, 0.5])
    with pytest.raises(InvalidParameter, match="weights"):
        FullTable(TABLE, 1.0, np.full(TABLE.sizes, -1.0))
