"""DiffGen: the book's example, sensitivities by brute force, and tables that never outgrow their limit."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes
from dither.mechanisms import from_spec, to_spec
from dither.mechanisms.core.purse import Purse
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP
from dither.publish.microdata import DiffGen, GeneralisedTable, OrderedCells, Taxonomy
from dither.publish.microdata.cuts import BIT, Gain, majority
from dither.publish.microdata.diffgen import Steps
from dither.publish.synthetic.models import Model

JOBS = Taxonomy.of({"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}, root="Any job")
PEOPLE = Attributes.of({"job": 4, "age": 2, "class": 2})
BOOK = [
    ("Engineer", 34, "Y"),
    ("Lawyer", 50, "N"),
    ("Engineer", 38, "N"),
    ("Lawyer", 33, "Y"),
    ("Dancer", 20, "Y"),
    ("Writer", 37, "N"),
    ("Writer", 32, "Y"),
    ("Dancer", 25, "N"),
]
LEAVES = [JOBS.label(leaf) for leaf in JOBS.leaves]
ROWS = np.array([[LEAVES.index(job), int(age >= 40), int(label == "N")] for job, age, label in BOOK])


def diffgen(**parameters: Any) -> DiffGen:
    """The book's taxonomies; a budget so large that noise is 0 but for probability e^-100."""
    given: dict[str, Any] = {
        "attributes": PEOPLE,
        "trees": (JOBS, OrderedCells((18, 40, 65))),
        "class_attribute": "class",
        "specialisations": 2,
        "budget": PureDP(2000),
    }
    return DiffGen(**(given | parameters))


def released(method: DiffGen, rows: Any = ROWS) -> GeneralisedTable:
    return release(method, rows, budget=Budget(epsilon=10**6, unit=ROW)).value


def test_the_books_partition_step_by_step() -> None:
    """Figure 5.2: 4Y4N, then by job 2Y2N and 2Y2N, then by age; Y is class 0, N class 1."""
    steps = Steps(diffgen(), PEOPLE.codes(ROWS))
    assert steps.counts().tolist() == [[[4, 4]]]
    steps.take(0)
    assert [label for label, _ in steps.groups()[0]] == ["Professional", "Artist"]
    assert steps.counts().tolist() == [[[2, 2]], [[2, 2]]]
    steps.take(3)
    assert [label for label, _ in steps.groups()[1]] == ["[18, 40)", "[40, 65)"]
    assert steps.counts().tolist() == [[[2, 1], [0, 1]], [[2, 2], [0, 0]]]


def test_the_books_scores() -> None:
    """Dividing jobs leaves 2 + 2 records of the largest class, dividing ages 4 + 1."""
    steps = Steps(diffgen(), PEOPLE.codes(ROWS))
    assert steps.allowed() == {0, 3}
    scores = steps.scores({0, 3})
    assert (scores[0], scores[3]) == (4, 5)
    assert scores[1] == scores[2] == -(2**60)


@pytest.mark.statistical(n=1, false_alarm=1e-40, catches="a wrong step, or counts of other groups")
def test_the_books_table_without_noise() -> None:
    """Ages are chosen first (5 against 4) and jobs next; e^-250 and e^-1000 bound the chances of anything else."""
    table = released(diffgen())
    assert {row[:3]: row[3] for row in table.rows()} == {
        ("Professional", "[18, 40)", "0"): 2,
        ("Professional", "[18, 40)", "1"): 1,
        ("Professional", "[40, 65)", "0"): 0,
        ("Professional", "[40, 65)", "1"): 1,
        ("Artist", "[18, 40)", "0"): 2,
        ("Artist", "[18, 40)", "1"): 2,
        ("Artist", "[40, 65)", "0"): 0,
        ("Artist", "[40, 65)", "1"): 0,
    }
    assert len(table.generalised_records()) == table.total == 8


def tables(groups: int, classes: int, most: int) -> list[np.ndarray]:
    cells = itertools.product(range(most + 1), repeat=groups * classes)
    return [np.array(cell).reshape(groups, classes) for cell in cells]


def changes(score: Any, most: int) -> list[int]:
    """How far a score moves when any one record comes to any table of two groups and two classes."""
    found = []
    for table in tables(2, 2, most):
        for place in itertools.product(range(2), repeat=2):
            more = table.copy()
            more[place] += 1
            found.append(score(more) - score(table))
    return found


def test_the_largest_class_moves_one_way_by_one() -> None:
    assert {*changes(majority, 3)} == {0, 1}


@pytest.mark.parametrize("records", [1, 4, 100])
def test_a_gain_never_moves_farther_than_its_sensitivity(records: int) -> None:
    """For every table, also of many more records than the increments were computed for; reached where it can be."""
    gain = Gain(records)
    farthest = max(map(abs, changes(gain, 4)))
    assert farthest <= gain.sensitivity
    if records <= 4:
        # A first record of a new class in an empty group, beside as many of another class in the other group.
        assert farthest == gain.sensitivity


def entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def test_gain_is_information_gain_times_records() -> None:
    gain = Gain(1000)
    for table in (np.array([[30, 5], [2, 60]]), np.array([[9, 0, 1], [3, 3, 3], [0, 0, 8]])):
        apart = sum(group.sum() * entropy(group) for group in table)
        expected = table.sum() * entropy(table.sum(axis=0)) - apart
        assert gain(table) / BIT == pytest.approx(expected, abs=table.sum() / BIT)


def test_the_printed_gain_moves_as_far_as_it_reaches() -> None:
    """The printed score is not multiplied by the records: two of them move it from its least value to its largest."""
    assert entropy(np.array([1, 0])) == 0.0
    together = np.array([1, 1])
    assert entropy(together) - 0.5 * entropy(np.array([1, 0])) - 0.5 * entropy(np.array([0, 1])) == 1.0


def test_a_choice_costs_its_share_exactly() -> None:
    one_way = diffgen().chooser(Purse.within(PureDP("1/4")))
    assert one_way.loss(1) <= PureDP("1/4")
    assert one_way.loss(1).epsilon == PureDP("1/4").epsilon
    method = diffgen(score="gain", records=50)
    both_ways = method.chooser(Purse.within(PureDP("1/4")))
    assert both_ways.loss(method.stability).epsilon == PureDP("1/4").epsilon
    for chooser, moved in ((diffgen(), 1), (method, method.stability)):
        assert chooser.chooser(Purse.within(ZCDP("1/8"))).loss(moved) <= ZCDP("1/8")


def test_prices() -> None:
    common: dict[str, Any] = {"attributes": PEOPLE, "trees": diffgen().trees, "class_attribute": "class"}
    assert DiffGen.calibrated(PureDP("1/2"), **common).loss(1) == PureDP("1/2")
    assert DiffGen.calibrated(PureDP("1/2"), **common).loss(3).epsilon == PureDP("3/2").epsilon
    assert DiffGen.calibrated(ZCDP("0.1"), **common).loss(1) <= ZCDP("0.1")
    assert DiffGen.calibrated(ApproxDP(1, "1e-6"), **common).loss(1).to_approx("1e-6").epsilon <= 1


@pytest.mark.statistical(n=1, false_alarm=1e-40, catches="steps beyond the leaves, or an unspent budget")
def test_all_steps_lead_to_the_records_themselves() -> None:
    """More steps than there are: the table is that of all cells, and noise is that of all that was left."""
    table = released(diffgen(specialisations=50))
    assert (table.counts == PEOPLE.count(PEOPLE.codes(ROWS), (0, 1, 2))).all()
    sampled = table.sample(8)
    assert sorted(sampled.tolist()) == sorted(ROWS.tolist())


@pytest.mark.parametrize("largest", [2, 4, 7, 8])
def test_a_table_stays_within_its_size(largest: int) -> None:
    table = released(diffgen(specialisations=9, largest_table=largest, budget=PureDP(1)))
    assert table.counts.size <= largest


def test_models_survive_json_and_damage_is_refused() -> None:
    table = released(diffgen(budget=PureDP(1)))
    record = json.loads(json.dumps(table.to_dict()))
    assert Model.from_dict(record) == table
    for damage in ({"counts": [1]}, {"groups": []}, {"groups": [[["a", [0]]]] * 3}, {"total": 10**9}):
        with pytest.raises(InvalidParameter):
            Model.from_dict(record | damage)


def test_marginals_of_a_table_are_even_within_groups() -> None:
    table = GeneralisedTable(
        PEOPLE, [[("all", (0, 1, 2, 3))], [("x", (0,)), ("y", (1,))], [("c", (0, 1))]], [[[6], [2]]]
    )
    assert table.table((0, 1)).tolist() == [[1.5, 0.5]] * 4
    assert table.table(()) == pytest.approx(8)
    drawn = table.sample(8000)
    counts = Attributes.count(PEOPLE, PEOPLE.codes(drawn), (1,))
    assert counts.tolist() == [6000, 2000]


def test_intervals_hold_the_counts() -> None:
    method = diffgen()
    interval = method.interval(released(method), "0.99")
    assert math.prod(interval.low.shape) == 8
    assert (interval.low <= interval.high).all()


def test_mechanisms_survive_json() -> None:
    method = diffgen(score="gain")
    assert from_spec(json.loads(json.dumps(to_spec(method)))) == method


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"class_attribute": "nobody"}, "class_attribute"),
        ({"trees": (JOBS,)}, "trees"),
        ({"trees": (JOBS, OrderedCells((1, 2)))}, "trees"),
        ({"largest_table": 1}, "largest_table"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        diffgen(**parameters)
    assert refusal.value.parameter == named


def test_taxonomies() -> None:
    tree = Taxonomy.balanced([str(number) for number in range(10)], fan_out=3)
    assert tree.size == 10
    assert tree.fan_out == 3
    assert [tree.label(leaf) for leaf in tree.leaves] == [str(number) for number in range(10)]
    for node in tree.inner:
        below = sorted(value for child in tree.children(node) for value in tree.values(child))
        assert below == list(tree.values(node))
    assert Taxonomy.flat(["a", "b"]).inner == (0,)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Taxonomy(("a",), (0,)),
        lambda: Taxonomy(("a", "b"), (-1, 1)),
        lambda: Taxonomy(("a", "b", "b"), (-1, 0, 0)),
        lambda: Taxonomy(("a", ""), (-1, 0)),
        lambda: Taxonomy.of(3),  # type: ignore[arg-type]
        lambda: OrderedCells((1, 1)),
        lambda: OrderedCells((1,)),
    ],
    ids=range(7),
)
def test_broken_trees_are_refused(build: Any) -> None:
    with pytest.raises(InvalidParameter):
        build()
