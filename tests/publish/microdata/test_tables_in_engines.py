"""Microdata of rows that stay in an engine: coded as encodings say, bounded, priced, written and read again."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms import perform
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, PureDP, Unit
from dither.publish.microdata import (
    AnonymizedTable,
    ItemTable,
    LinguisticVariable,
    Taxonomy,
    Trapezoidal,
    Wishes,
    plan_anonymized,
)
from dither.publish.microdata.hierarchies import group_label, hierarchy_of, ordered_values
from dither.publish.microdata.perturbed_table import exactly
from dither.publish.microdata.report import figures_of, write_anonymized_report
from dither.publish.microdata.row_response import RowsReplaced
from dither.publish.microdata.terms import coded_cells
from dither.publish.synthetic import codings_of

ITEMS = tuple(f"item {number}" for number in range(100))
COLUMNS = (
    Column("who", Kind.INTEGER),
    Column("item", Kind.TEXT, categories=ITEMS, nullable=True),
    Column("age", Kind.REAL, lower=0, upper=100, nullable=True),
    Column("job", Kind.TEXT, categories=("cook", "clerk", "judge")),
)


def shop(unit: Unit, **limits: int) -> DataSet:
    person = "who" if unit.protects == "person" else None
    return DataSet("shop", (Table("rows", COLUMNS, "rows.csv", person),), unit, **limits)


PERSON = shop(person_unit("who"), rows=3)


def some_rows(many: int = 300) -> list[dict[str, Any]]:
    rng = np.random.default_rng()
    return [
        {
            "who": None if number % 50 == 0 else int(rng.integers(0, 60)),
            "item": (*ITEMS, None, "unheard of")[int(rng.integers(0, 102))],
            "age": None if number % 9 == 0 else float(rng.uniform(-20, 120)),
            "job": ("cook", "clerk", "judge", "king")[number % 4],
        }
        for number in range(many)
    ]


def test_a_person_is_one_set_of_items_however_many_rows_there_are() -> None:
    """100 items and a missing one need three whole numbers of 48 bits."""
    pyarrow = pytest.importorskip("pyarrow")
    rows = some_rows()
    rows += rows[:40]
    cells, codings = codings_of(PERSON, "rows", ("item",))
    source = ItemTable(PERSON, cells.relation, cells.axes[0])
    own: dict[int, set[int]] = {}
    for row in rows:
        if row["who"] is not None and row["item"] != "unheard of":
            own.setdefault(row["who"], set()).add((codings[0].labels or ()).index(row["item"]))
    meant = Counter(tuple(sorted(items)) for items in own.values())
    frame = pyarrow.Table.from_pylist(rows)
    for engine in (
        ReferenceEngine(PERSON, {"rows": rows}),
        DuckDBEngine(PERSON, frames={"rows": frame}, threads=1),
    ):
        records = source.records(engine.aggregate(source.asked))
        assert Counter(tuple(np.flatnonzero(record).tolist()) for record in records) == meant
    assert set(source.moves().values()) == {1}
    swapped = ItemTable(shop(person_unit("who", replaced=True), rows=3), cells.relation, cells.axes[0])
    assert set(swapped.moves().values()) == {2}
    with pytest.raises(InvalidParameter, match="unit is a person"):
        ItemTable(shop(ROW), cells.relation, cells.axes[0])


@pytest.mark.parametrize(
    "terms",
    [
        ["young", "middle", "old"],
        LinguisticVariable.evenly("age", 0, 100, ["a", "b"], "gaussian"),
        # Wins at both ends, with a gap in which nothing fits: the nearest centre does.
        LinguisticVariable(
            "age",
            0,
            100,
            (
                ("edge", Trapezoidal(0, 0, 5, 10)),
                ("late", Trapezoidal(60, 70, 80, 90)),
                ("end", Trapezoidal(95, 99, 99, 100)),
            ),
        ),
    ],
    ids=["evenly", "gaussian", "gaps"],
)
def test_an_engine_finds_the_term_that_fits_best(terms: Any) -> None:
    """Also at the ends of ranges, whose neighbours are told as the encoding tells them."""
    variable = terms if isinstance(terms, LinguisticVariable) else LinguisticVariable.evenly("age", 0, 100, terms)
    dataset = shop(ROW)
    cells, codings = coded_cells(dataset, "rows", ("age",), terms={"age": terms})
    points = [None, -1e300, 1e300, *np.linspace(-5, 105, 400).tolist()]
    for _ in range(2):
        rows = [{"who": 1, "item": None, "age": point, "job": "cook"} for point in points]
        answer = ReferenceEngine(dataset, {"rows": rows}).aggregate(cells.asked)
        places, counts = cells.filled(answer)
        found = Counter(dict(zip(places[:, 0].tolist(), counts.tolist(), strict=True)))
        assert found == Counter(variable.codes(points).tolist())
        # Once more, closer and closer to where terms change.
        codes = variable.codes(np.linspace(0, 100, 2001))
        changes = np.flatnonzero(np.diff(codes)) / 20
        points = [float(change + step) for change in changes for step in np.linspace(0, 0.05, 41)]
    assert codings[0].labels == (*(label for label, _ in variable.terms), None)
    assert codings[0].kind is Kind.TEXT


def test_a_table_of_a_stated_number_of_rows_moves_by_one_for_one_row() -> None:
    """Every collection of at most four of four rows, every row more, less or changed, every stated number."""
    every = [(first, second) for first in range(2) for second in range(2)]
    metric = RowsReplaced(2)

    def table(rows: tuple[Any, ...], many: int) -> Any:
        return exactly(np.array(rows, dtype=np.int64).reshape(-1, 2), many, (2, 2))

    for size in range(5):
        for rows in itertools.combinations_with_replacement(every, size):
            others = [(*rows, new) for new in every]
            others += [(*rows[:place], *rows[place + 1 :], new) for place in range(size) for new in every]
            for other, many in itertools.product(others, (1, 2, 3, 5)):
                assert metric.measure(table(rows, many), table(other, many)) <= 1  # type: ignore[operator]


def plan(dataset: DataSet, method: str, loss: Any = None, columns: Any = ("age", "job"), **wishes: Any) -> Any:
    return plan_anonymized(dataset, "rows", loss or PureDP(1), method=method, columns=columns, wishes=Wishes(**wishes))


def test_a_unit_is_charged_what_its_rows_lose() -> None:
    """The part for one row is what the whole is divided by: three rows, six where persons are replaced."""
    swapped = shop(person_unit("who", replaced=True), rows=3)
    for dataset, rows in ((shop(ROW), 1), (shop(ROW_REPLACED), 2), (PERSON, 3), (swapped, 6)):
        for method, wishes in (("diffgen", {"target": "job"}), ("priv-fuzzy", {})):
            release = plan(dataset, method, **wishes).mechanism
            assert release.loss(1).epsilon == 1
            assert release.method.loss(1).epsilon * rows == 1
            assert plan(dataset, method, ApproxDP(1, "1e-9"), **wishes).mechanism.loss(1) <= ApproxDP(1, "1e-9")
        # Rows told at random are replaced in either case.
        told = plan(dataset, "perturbed-rows", rows=10, groups=(("age", "job"),)).mechanism
        assert told.epsilon * (rows if not dataset.is_replaced else rows // 2) == 1
    assert plan(PERSON, "diffpart", columns=("item",)).mechanism.method.loss(1).epsilon == 1
    assert plan(swapped, "diffpart", columns=("item",)).mechanism.method.loss(1).epsilon * 2 == 1


@pytest.mark.parametrize(
    ("method", "wishes", "columns"),
    [
        ("diffgen", {"target": "job", "bins": {"age": 4}}, ("age", "job")),
        ("priv-fuzzy", {"terms": {"age": ["young", "old"]}}, ("age", "job")),
        ("perturbed-rows", {"rows": 20}, ("age", "job")),
        ("diffpart", {}, ("item",)),
    ],
    ids=["diffgen", "priv-fuzzy", "perturbed-rows", "diffpart"],
)
def test_what_is_released_is_written_and_read_again(method: str, wishes: Any, columns: Any, tmp_path: Any) -> None:
    planned = plan(PERSON, method, PureDP(60), columns, **wishes)
    made = planned.present(perform(planned.mechanism, ReferenceEngine(PERSON, {"rows": some_rows(60)})), "here")
    again = AnonymizedTable.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert len(again.rows()) == len(made.rows())
    assert figures_of(again)
    assert "may be published" in write_anonymized_report(tmp_path / "r.html", again).read_text()
    record = json.loads(made.to_json())
    damages: list[Any] = [
        {**record, "anonymized": 9},
        {**record, "codings": []},
        {**record, "notes": [3]},
        {**record, "released": {"rows": [[999] * len(columns)]}},
        {**record, "released": 3},
        [],
    ]
    for damaged in damages:
        with pytest.raises(InvalidParameter, match="text"):
            AnonymizedTable.from_json(json.dumps(damaged))
    with pytest.raises(InvalidParameter):
        AnonymizedTable.from_json("no")
    if method == "diffpart":
        with pytest.raises(InvalidParameter, match="model"):
            made.sample(3)
        with pytest.raises(InvalidParameter, match="not allowed"):
            made.rows(3)


def test_hierarchies_come_from_what_is_declared() -> None:
    _, codings = codings_of(shop(ROW), "rows", ("age", "job"), bins={"age": 4})
    age, job = codings
    tree = hierarchy_of(age)
    assert isinstance(tree, Taxonomy)
    # Nullable: the missing value is one more leaf.
    assert tree.size == 5
    assert group_label(age, "x", (0,)) == "[0, 25)"
    plain = codings_of(
        DataSet("d", (Table("t", (Column("age", Kind.REAL, lower=0, upper=100),), "t.csv"),), ROW), "t", bins={"age": 4}
    )[1][0]
    assert group_label(plain, "x", (1, 2, 3)) == "[25, 100]"
    jobs = Taxonomy.of({"desk": ["judge", "clerk"], "hands": ["cook"]})
    assert ordered_values(COLUMNS[3], jobs) == ["judge", "clerk", "cook"]
    assert group_label(job, "desk", (1, 2)) == "desk"
    for column, odd in (
        (COLUMNS[3], Taxonomy.flat(["judge", "clerk", "king"])),
        (COLUMNS[2], jobs),
        (COLUMNS[1], jobs),
    ):
        with pytest.raises(InvalidParameter, match=r"taxonomy|categories"):
            ordered_values(column, odd)
