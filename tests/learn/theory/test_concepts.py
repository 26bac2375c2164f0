"""Classes of concepts: formulas beside obvious twins, dimensions by brute force, and what survives JSON."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.models import Model
from dither.learn.theory import (
    NEVER,
    Concepts,
    Conjunction,
    IntervalConcept,
    PrivateLearner,
    TableConcept,
    most_labellings,
    vc_dimension,
)
from dither.learn.theory.labelled import counts_of, errors_of, known_of
from dither.mechanisms import from_spec, to_spec
from dither.mechanisms.core.public import PublicArray

SMALL = [
    *(Concepts.points(size) for size in (1, 2, 5)),
    *(Concepts.thresholds(size) for size in (1, 2, 5)),
    *(Concepts.intervals(size) for size in (1, 2, 5)),
    *(Concepts.conjunctions(bits) for bits in (1, 2, 3)),
    Concepts.table([[0, 1, 1], [1, 0, 1], [1, 1, 1]]),
]


def named(concepts: Concepts) -> str:
    return f"{concepts.family}-{concepts.size}"


def obvious(concepts: Concepts) -> set[tuple[int, ...]]:
    size = concepts.size
    if concepts.family == "points":
        return {tuple(int(x == p) for x in range(size)) for p in range(size)}
    if concepts.family == "thresholds":
        return {tuple(int(x >= t) for x in range(size)) for t in range(size + 1)}
    if concepts.family == "intervals":
        return {tuple(int(a <= x < b) for x in range(size)) for a in range(size + 1) for b in range(a, size + 1)}
    if concepts.family == "table":
        return set(map(tuple, concepts.rows.values.tolist()))
    literals = [(bit, value) for bit in range(size) for value in (0, 1)]
    return {
        tuple(int(all(x >> bit & 1 == value for bit, value in chosen)) for x in range(2**size))
        for many in range(2 * size + 1)
        for chosen in combinations(literals, many)
    }


@pytest.mark.parametrize("concepts", SMALL, ids=named)
def test_a_family_is_what_its_name_says(concepts: Concepts) -> None:
    rows = [tuple(row) for row in concepts.predictions.tolist()]
    assert len(rows) == concepts.count == len(set(rows))
    assert set(rows) == obvious(concepts)
    assert concepts.vc == vc_dimension(rows)
    for number, row in enumerate(rows):
        assert concepts.concept(number).predict(range(concepts.universe)).tolist() == list(row)


def test_the_dimension_of_a_table_is_found_by_trying() -> None:
    assert vc_dimension([[0, 0, 0]]) == 0
    assert vc_dimension([[0, 1], [1, 0]]) == 1
    assert vc_dimension([[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) == 2
    every = [[number >> bit & 1 for bit in range(3)] for number in range(8)]
    assert vc_dimension(every) == 3


@pytest.mark.parametrize("family", ["points", "thresholds", "intervals"])
@pytest.mark.parametrize("points", [[0], [3, 4, 9], [0, 1, 2, 3], [7, 49]])
def test_a_class_too_large_to_be_listed_labels_points_as_a_listed_one_does(family: str, points: list[int]) -> None:
    listed, huge = getattr(Concepts, family)(50), getattr(Concepts, family)(2**60)
    given = np.array(points)
    few, many = listed.restricted(given), huge.restricted(given)
    assert {tuple(row) for row in few.predictions.tolist()} == {tuple(row) for row in many.predictions.tolist()}
    assert len(few.concepts) == len(many.concepts) <= most_labellings(listed.vc, len(points))
    for concept, row in zip(many.concepts, many.predictions.tolist(), strict=True):
        assert concept.predict(given).tolist() == row


def test_listing_what_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most"):
        PrivateLearner(concepts=Concepts.thresholds(2**40), scale=1)
    with pytest.raises(InvalidParameter, match="listed"):
        _ = Concepts.thresholds(2**40).predictions
    for bad in ([[0, 2]], [0, 1], [[0.5]], []):
        with pytest.raises(InvalidParameter, match="rows"):
            Concepts.table(bad)
    for family, size in (("circles", 3), ("points", 0), ("conjunctions", 99)):
        with pytest.raises(InvalidParameter):
            Concepts(family, size)


@pytest.mark.parametrize("concepts", SMALL, ids=named)
def test_a_class_survives_json_in_a_request(concepts: Concepts) -> None:
    learner = PrivateLearner(concepts=concepts, scale=2)
    assert from_spec(json.loads(json.dumps(to_spec(learner)))) == learner
    spec = to_spec(learner)
    spec["parameters"]["concepts"] = {"concepts": {"family": "table", "size": 2, "rows": [[0], [1, 1]]}}
    with pytest.raises(InvalidParameter):
        from_spec(spec)


@pytest.mark.parametrize(
    "concept", [NEVER, IntervalConcept(3, 2**60), Conjunction(1, 2), TableConcept(PublicArray([0, 1]))], ids=repr
)
def test_a_concept_survives_json(concept: Model) -> None:
    assert Model.from_dict(json.loads(json.dumps(concept.to_dict()))) == concept


@pytest.mark.parametrize(
    "parts",
    [
        {"model": "interval-concept", "first": "0", "last": 1},
        {"model": "interval-concept", "first": True, "last": 1},
        {"model": "conjunction", "ones": 0.5, "zeros": 0},
        {"model": "conjunction", "ones": 2**70, "zeros": 0},
        {"model": "table-concept", "values": {"array": [0, 2], "dtype": "<i8"}},
        {"model": "table-concept", "values": 3},
    ],
    ids=str,
)
def test_a_record_of_other_parts_is_no_concept(parts: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        Model.from_dict({"version": 1, **parts})


def test_errors_are_those_of_a_count_row_by_row() -> None:
    draw = np.random.default_rng()
    rows = draw.integers(-1, 6, (40, 2))
    concepts = Concepts.intervals(5)
    kept = [(x, y) for x, y in rows.tolist() if 0 <= x < 5 and y in (0, 1)]
    slow = [sum(int(row[x]) != y for x, y in kept) for row in concepts.predictions]
    assert errors_of(concepts.predictions, counts_of(known_of(rows, 5), 5)).tolist() == slow
    # Numbers beyond int64 are in no universe.
    wide = np.array([[2**64 - 1, 1], [1, 1], [1, 2**63]], dtype=np.uint64)
    assert known_of(wide, 5).tolist() == [[1, 1]]


@pytest.mark.parametrize("rows", [[[100], [0]], [[-1]], [[0.5]], [[2, 0]]], ids=str)
def test_a_class_that_is_written_out_by_hand_says_zero_or_one(rows: Any) -> None:
    # Would catch: predictions of 100, by which one row moved an error by 100 where its mechanism pays for 1.
    with pytest.raises(InvalidParameter, match="rows must be"):
        Concepts("table", len(rows[0]), PublicArray(rows))
    assert Concepts("table", 1, PublicArray([[1], [0]])) == Concepts.table([[1], [0]])
