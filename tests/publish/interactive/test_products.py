"""Questions in product form: the same answers as from a table, sensitivities by enumeration, corrections, refusals."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.examples import clinic
from dither.errors import DitherError, InvalidParameter
from dither.lift.attributes import Attributes, Axes
from dither.lift.cells import cells_of
from dither.mechanisms.core.kept import converse_with_key
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ZCDP, PureDP
from dither.publish.interactive import LiftedConversation, ModelFirst, ProductFirst, products
from dither.publish.interactive.first_model import FirstModel
from dither.publish.interactive.planning import plan_conversation
from dither.publish.interactive.products import LocalModel, Product, WeightedRecords, product_of
from dither.verbs.answers import read_query

PEOPLE = Attributes.of({"a": 2, "b": 3, "c": 2})
PAIRS: tuple[Axes, ...] = ((0, 1), (0, 2), (1, 2))
#: Noise that is never seen.
NONE = Geometric(scale="1/1000")
SPARSE = GapSparse(threshold=3, threshold_scale="1/1000", query_scale="1/1000", positives=1)
FIRST = np.array([True, False])


def every_product(attributes: Attributes = PEOPLE) -> list[Product]:
    sides = [[np.array(bits) for bits in itertools.product((False, True), repeat=size)] for size in attributes.sizes]
    return [Product(dict(enumerate(one))) for one in itertools.product(*sides)]


def mask(question: Product) -> Any:
    return np.broadcast_to(question.cells((0, 1, 2)), PEOPLE.sizes).copy()


def noisy_model() -> FirstModel:
    generator = np.random.default_rng()
    noisy = {axes: generator.integers(0, 60, PEOPLE.shape_of(axes)).astype(float) for axes in PAIRS}
    return FirstModel(PEOPLE, noisy, {axes: 1.0 + place for place, axes in enumerate(PAIRS)})


def test_every_product_is_answered_as_the_same_cells_of_a_table() -> None:
    """All 128 products, by least squares and by the fitted table; the twin is the model of the whole table."""
    first = noisy_model()
    local = LocalModel(PEOPLE, first)
    for question in every_product():
        known, twin = local.estimate(question), first.estimate(mask(question))
        assert (known is None) is (twin is None)
        if known is not None and twin is not None:
            assert known == pytest.approx(twin)
        if len(question.axes) == 3:
            assert local.answer(question) == pytest.approx(float(first.table[mask(question)].sum()), abs=1e-3)


def test_grouped_values_have_the_marginals_that_were_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that are independent: the product of shares, whichever values are one."""
    shares = [np.array([0.25, 0.75]), np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.1])]
    noisy = {axes: 1000 * np.multiply.outer(shares[axes[0]], shares[axes[1]]) for axes in PAIRS}
    local = LocalModel(PEOPLE, FirstModel(PEOPLE, noisy, dict.fromkeys(PAIRS, 1.0)))
    truth = 1000 * np.multiply.outer(np.multiply.outer(shares[0], shares[1]), shares[2])
    whole = {question.key: local.answer(question) for question in every_product()}
    monkeypatch.setattr(products, "_MOST_LOCAL", 0)
    for question in every_product():
        assert local.answer(question) == pytest.approx(float(truth[mask(question)].sum()), abs=1e-3)
        assert local.answer(question) == pytest.approx(whole[question.key], abs=1e-3)


@pytest.mark.parametrize("most", [0, 2**16])
def test_what_was_told_is_known_and_old_answers_are_dropped_where_there_is_no_room(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_MOST_LOCAL", most)
    local = LocalModel(PEOPLE, noisy_model())
    asked = product_of(PEOPLE, {"a": FIRST, "b": np.array([True, True, False]), "c": FIRST})
    other = product_of(PEOPLE, {"a": ~FIRST, "b": np.array([False, True, True]), "c": FIRST})
    local.answer(asked)
    local.learn(asked, 7.0)
    assert local.answer(asked) == pytest.approx(7.0)
    local.learn(other, 5.0)
    assert local.answer(other) == pytest.approx(5.0, abs=0.1)
    assert local.answer(asked) == pytest.approx(7.0, abs=0.1)
    monkeypatch.setattr(products, "_MOST_COARSE", 1)
    assert local.answer(asked) >= 0


def test_a_row_moves_every_marginal_and_every_product_by_one_at_most() -> None:
    """Exhaustive: all rows of the domain, added to several sets of rows; all products and marginals."""
    rows = [list(row) for row in itertools.product(*(range(size) for size in PEOPLE.sizes))]
    sets = [axes for size in range(4) for axes in itertools.combinations(range(3), size)]
    for here in ([], rows[:5], rows[::2] * 3):
        few = np.array(here, dtype=np.int64).reshape(-1, 3)
        before = WeightedRecords.of_codes(PEOPLE, few)
        for question in every_product():
            inside = [row for row in here if all(side[row[axis]] for axis, side in question.sides.items())]
            assert before.within(question) == len(inside)
        for row in rows:
            after = WeightedRecords.of_codes(PEOPLE, np.vstack([few, [row]]))
            assert all(np.abs(after.count(axes) - before.count(axes)).sum() == 1 for axes in sets)
            moved = [after.within(question) - before.within(question) for question in every_product()]
            assert set(moved) == {0, 1}


def test_cells_with_counts_are_rows_told_in_another_way() -> None:
    places, counts = np.array([[0, 2, 1], [1, 0, 0]]), np.array([3, 2**40])
    records = WeightedRecords(PEOPLE, places, counts)
    assert records.within(Product({0: FIRST})) == 3
    assert records.count((0,)).tolist() == [3, 2**32]
    assert int(records.count(())) == 3 + 2**32
    same = WeightedRecords(PEOPLE, places[:1], counts[:1])
    twin = WeightedRecords.of_codes(PEOPLE, np.array([[0, 9, 1]] * 3))
    assert (same.count((0, 1, 2)) == twin.count((0, 1, 2))).all()


def test_a_gross_error_is_measured_once_and_then_nothing_is_compared() -> None:
    """Two values of three columns that are alike in pairs and not in threes: no model of pairs can know."""
    bits = Attributes.of({"a": 2, "b": 2, "c": 2})
    rows = np.array([[a, b, (a + b) % 2] for a, b in itertools.product((0, 1), repeat=2)] * 50)
    names = (("a", "b"), ("a", "c"), ("b", "c"))
    method = ProductFirst(attributes=bits, marginals=names, noises=(NONE,) * 3, sparse=SPARSE)
    talk: Any = converse_with_key(method, rows, key=os.urandom(32))
    assert talk.ask({}).value == 200
    assert talk.ask({"a": FIRST, "b": FIRST}).value == 50
    answer = talk.ask({"a": FIRST, "b": FIRST, "c": FIRST})
    assert (answer.value, answer.source, answer.ground) == (50, "measured", "gap")
    assert talk.ask({"c": FIRST, "b": FIRST, "a": FIRST}) is answer
    assert (talk.is_compared, talk.corrections) == (False, 1)
    after = talk.ask({"a": FIRST, "b": FIRST, "c": ~FIRST})
    # It has learned that this much is elsewhere.
    assert after.ground == "nothing"
    assert after.value < 25
    assert method.interval(after, "0.95") is None


def test_wide_domains_are_calibrated_and_answered_without_a_table() -> None:
    wide = Attributes.of({f"column {number}": 50 for number in range(12)})
    for within in (PureDP(1), ZCDP(1)):
        method = ProductFirst.calibrated(within, attributes=wide)
        assert method.loss(1) <= within
        assert method.loss(1).to_dict() != ProductFirst.calibrated(PureDP(2), attributes=wide).loss(1).to_dict()
    rows = np.arange(1200).reshape(100, 12) % 50
    talk: Any = converse_with_key(ProductFirst.calibrated(PureDP(10**6), attributes=wide), rows, key=os.urandom(32))
    low = np.arange(50) < 25
    for many in (1, 2, 3, 4):
        question = {f"column {number}": low for number in range(many)}
        answer = talk.ask(question)
        assert answer.value == int(low[rows[:, :many]].all(axis=1).sum())


def test_what_is_no_product_and_what_is_too_large_is_refused() -> None:
    many = Attributes.of({f"c{number}": 2 for number in range(14)})
    for question in (7, {"x": FIRST}, {"a": [True, False]}, {"b": FIRST}, {"a": np.array([1, 0])}):
        with pytest.raises(InvalidParameter):
            product_of(PEOPLE, question)
    with pytest.raises(InvalidParameter, match="at most 12"):
        product_of(many, dict.fromkeys(many.names, FIRST))
    for attributes in ({f"c{n}": 2 for n in range(33)}, {"a": 2**10, "b": 2**11}):
        with pytest.raises(InvalidParameter, match="at most"):
            ProductFirst.calibrated(PureDP(1), attributes=Attributes.of(attributes))
    with pytest.raises(InvalidParameter, match="one or two columns"):
        ProductFirst.calibrated(PureDP(1), attributes=PEOPLE, marginals=[("a", "b", "c")])
    method = ProductFirst.calibrated(PureDP(1), attributes=PEOPLE)
    for data in ([[0, 0, 0]], WeightedRecords.of_codes(many, np.zeros((1, 14), dtype=int))):
        with pytest.raises(DitherError):
            converse_with_key(method, data, key=os.urandom(32))
    assert ProductFirst.calibrated(PureDP(1), attributes=Attributes.of({"a": 3})).marginals == (("a",),)


COLUMNS = (
    Column("site", Kind.TEXT, categories=("north", "south")),
    Column("age", Kind.INTEGER, lower=0, upper=11),
    Column("smokes", Kind.BOOLEAN, nullable=True),
    Column("height", Kind.REAL, lower=0, upper=4),
)
DATA = DataSet("people", (Table("people", COLUMNS, "people.csv"),), ROW)
PLAN = plan_conversation(DATA, "people", ("site", "age", "smokes", "height"), PureDP(1), bins={"height": 4})
COUNT = "SELECT COUNT(*) FROM people WHERE "
CONJUNCTIONS = (
    "site = 'north'",
    "age > 5 AND NOT smokes",
    "NOT (age > 5 OR smokes)",
    "NOT (NOT (smokes AND site <> 'south'))",
    "age BETWEEN 3 AND 7 AND age % 2 = 0 AND height < 2",
    "(age = 1 OR age > 9) AND smokes IS NULL",
    "age >= 0 AND height >= 1",
)


@pytest.mark.parametrize("condition", CONJUNCTIONS)
def test_a_conjunction_is_the_product_of_its_columns(condition: str) -> None:
    query = read_query(DATA, COUNT + condition)
    product = PLAN.questions.product(query)
    found = np.broadcast_to(product.cells((0, 1, 2, 3)), PLAN.questions.sizes)
    assert (found == PLAN.questions.cells(query)).all()


@pytest.mark.parametrize("condition", ["age > 5 OR smokes", "NOT (age > 5 AND smokes)", "age > 3 + height"])
def test_a_condition_on_several_columns_is_refused_in_product_form(condition: str) -> None:
    query = read_query(DATA, COUNT + condition)
    with pytest.raises(InvalidParameter, match="with AND between them"):
        PLAN.questions.product(query)


def test_all_rows_are_a_product_without_conditions() -> None:
    assert PLAN.questions.product(read_query(DATA, "SELECT COUNT(*) FROM people")).axes == ()


def test_the_form_follows_from_the_number_of_cells() -> None:
    source = cells_of(clinic(ROW), "visits", ("site", "age"), {"age": 4})
    small = LiftedConversation.calibrated(PureDP(1), source=source)
    assert not small.is_product
    assert type(small.method) is ModelFirst
    columns = tuple(Column(f"c{number}", Kind.INTEGER, lower=0, upper=9) for number in range(7))
    wide = DataSet("wide", (Table("wide", columns, "wide.csv"),), ROW)
    plan = plan_conversation(wide, "wide", [column.name for column in columns], PureDP(1))
    assert plan.mechanism.is_product
    assert plan.mechanism.loss(1) <= PureDP(1)
    fine = (Column("x", Kind.INTEGER, lower=0, upper=9999), Column("y", Kind.INTEGER, lower=0, upper=9999))
    with pytest.raises(InvalidParameter, match="wider bins"):
        plan_conversation(
            DataSet("wide", (Table("wide", fine, "wide.csv"),), ROW),
            "wide",
            ("x", "y"),
            PureDP(1),
            bins={"x": 2000, "y": 2000},
        )
    other = ProductFirst.calibrated(PureDP(1), attributes=PEOPLE)
    with pytest.raises(InvalidParameter):
        LiftedConversation(source=source, method=other)
