"""Counts by class: what an engine counts is what the rows, read one by one, add up to; on every engine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregated, Column, DataSet, Kind, Scan, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.learn.bayes.categorical import CategoricalNaiveBayes
from dither.lift.class_counts import asked_of, counts_in
from dither.lift.lifted import Lifted
from dither.lift.rows import Rows
from dither.mechanisms import Geometric
from dither.mechanisms.core.class_counts import ClassCounts
from dither.privacy import ROW

COLUMNS = (
    Column("who", Kind.INTEGER),
    Column("text", Kind.TEXT),
    Column("flag", Kind.BOOLEAN),
    Column("real", Kind.REAL),
    Column("whole", Kind.INTEGER),
)
TEXTS: list[Any] = ["a", "b", "A", "a ", "", "é", None]
FLAGS: list[Any] = [True, False, None]
REALS: list[Any] = [0.0, -0.0, 1.0, 0.5, 2.0**53, float("nan"), None]
WHOLES: list[Any] = [0, 1, 2, -1, 2**53 + 1, None]
VALUES = {
    "text": (TEXTS, ("b", "a", "é", "")),
    "flag": (FLAGS, (True, False)),
    "real": (REALS, (1, 0.0, 0.5)),
    "whole": (WHOLES, (2, 2**53 + 1, 0)),
}


def tables() -> list[dict[str, Any]]:
    """Return rows with every pair of odd cells."""
    rows = []
    for one, other in itertools.permutations(VALUES, 2):
        for place, (first, second) in enumerate(itertools.product(VALUES[one][0], VALUES[other][0])):
            row = {"who": place % 7, "text": "a", "flag": True, "real": 1.0, "whole": 0}
            rows.append(row | {one: first, other: second})
    return rows


def source(label: str, *, people: bool = False, **other: Any) -> Rows:
    unit = person_unit("who") if people else ROW
    table = Table("t", COLUMNS, "t", person="who" if people else None)
    dataset = DataSet("d", (table,), unit, **({"rows": 4} if people else {}))
    names = other.pop("columns", tuple(name for name in VALUES if name != label))
    return Rows(dataset, Scan(table), names, label, **other)


def coded(label: str, *, people: bool = False) -> tuple[Rows, CategoricalNaiveBayes]:
    names = tuple(name for name in VALUES if name != label)
    labels = tuple(VALUES[name][1] for name in names)
    rows = source(label, people=people, classes=VALUES[label][1], categories=labels, as_codes=True)
    return rows, learner([len(one) for one in labels], len(VALUES[label][1]))


def learner(sizes: list[int], classes: int) -> CategoricalNaiveBayes:
    return CategoricalNaiveBayes(sizes=tuple(sizes), classes=max(classes, 2), part=Geometric(scale=3))


def cases() -> list[tuple[Rows, CategoricalNaiveBayes]]:
    found = [coded(label, people=people) for label in VALUES for people in (False, True)]
    binary = {"columns": ("flag", "real", "whole"), "classes": ("a", "b")}
    found += [(source("text", threshold=limit, **binary), learner([2, 2, 2], 2)) for limit in (0.0, 0.5)]
    found.append((source("text", **binary), learner([2, 3, 3], 3)))
    return found


@pytest.mark.parametrize("make", [ReferenceEngine, "duckdb"])
def test_an_engine_counts_what_rows_add_up_to(make: Any) -> None:
    pandas = pytest.importorskip("pandas")
    rows = tables()
    for declared, method in cases():
        if make == "duckdb":
            frame = pandas.DataFrame(rows).astype({"who": "Int64", "whole": "Int64", "flag": "boolean", "text": object})
            engine: Any = DuckDBEngine(declared.dataset, frames={"t": frame})
        else:
            engine = make(declared.dataset, {"t": rows})
        counted = declared.read_for(engine, method)
        assert isinstance(counted, ClassCounts)
        width = 1 + sum(method.sizes)
        want = method._counts(declared.read(engine), width).reshape(-1, width)
        np.testing.assert_array_equal(counted.table, want)
        assert want[:, 0].sum() > 5
        assert (want > 0).mean() > 0.3
        # What is asked before the charge is what is run, and neither of them returns a row.
        assert Lifted(source=declared, method=method).aggregations() == (asked_of(declared, method),)
        engine.close()


def test_rows_are_read_where_an_engine_could_see_a_label_otherwise() -> None:
    one = {"columns": ("whole",), "classes": ("a", "b")}
    cells = {"categories": ((0, 1),), "as_codes": True}
    plain = learner([2], 2)
    cases: list[tuple[Rows, CategoricalNaiveBayes]] = [
        # Of other kinds than their columns, or two that are one value.
        (source("text", **(one | {"classes": (0, 1)}), **cells), plain),
        (source("text", **one, **(cells | {"categories": ((0.0, 1.0),)})), plain),
        (source("whole", columns=("text",), classes=(0, 1), categories=(("a", "x\x00"),), as_codes=True), plain),
        (source("real", columns=("whole",), classes=(0, 2**53 + 1), **cells), plain),
        (source("whole", columns=("text",), classes=(0, 2**70), categories=(("a", "b"),), as_codes=True), plain),
        # Columns for categories, thresholds beyond exact doubles, more counts than are worth it, no classes.
        (source("text", **one, categories=((0, 1),)), learner([1, 1], 2)),
        (source("text", **one, threshold=2.0**60), plain),
        (source("text", **one), learner([513], 2)),
        (source("whole", columns=("flag",)), plain),
    ]
    for declared, method in cases:
        assert asked_of(declared, method) is None
        assert declared.aggregations_for(method) == (declared.asked,)
        assert isinstance(declared.read_for(ReferenceEngine(declared.dataset, {"t": []}), method), np.ndarray)


def test_nothing_that_an_engine_returns_raises() -> None:
    method = learner([2, 1], 2)
    odd: Any = [
        Aggregated(((1,), (None,), (7,), (True,), ("x",)), ((3, 1, 2, -5), (9,) * 4, (9,) * 4, (9,) * 4, (9,) * 4)),
        Aggregated(((1,), (1,), (0,)), ((2, "x", 1), (1, 1, 1, 0, 7), None)),
        Aggregated(((1,), None), ((1, 1, 1, 1), (1, 1, 1, 1))),
    ]
    found = [counts_in(answer, method).table.tolist() for answer in odd]
    assert found == [[[0] * 4, [3, 1, 2, 0]], [[0] * 4, [3, 1, 2, 0]], [[0] * 4, [0] * 4]]
