"""Many groups: columns from the engine to the ledger are what rows would be."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.curator.folder import Curator
from dither.data import Aggregated, Kind
from dither.data.columns import ColumnRows, KeyColumns, as_columns
from dither.errors import InvalidParameter
from dither.privacy import ApproxDP, PureDP
from dither.publish.queries import QueryResult
from dither.publish.queries.groups import from_texts, laid_out, persons_by_text, positions
from dither.publish.queries.product_groups import ProductGroups, ProductPlaces, as_integers, product_of
from dither.publish.queries.result import MANY_ROWS, ResultColumn
from dither.publish.queries.stored_columns import read_column, write_column

KINDS = (Kind.BOOLEAN, Kind.INTEGER, Kind.REAL, Kind.TEXT)
SMALL: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(-3, 6) | st.sampled_from([-(2**63), 2**63 - 1]),
    Kind.REAL: st.sampled_from([0.0, 1.0, -2.5, float("inf")]),
    Kind.TEXT: st.sampled_from(["", "a", "b", "null", "1", "\x00"]),
}


def _column(cells: list[Any], kind: Kind) -> Any:
    """Return cells as an engine's array, NULL masked."""
    if kind is Kind.TEXT:
        return cells
    types: dict[Kind, Any] = {Kind.BOOLEAN: np.bool_, Kind.INTEGER: np.int64, Kind.REAL: np.float64}
    data = np.array([0 if cell is None else cell for cell in cells], dtype=types[kind])
    return np.ma.MaskedArray(data, mask=[cell is None for cell in cells]) if None in cells else data


@st.composite
def _answers(draw: st.DrawFn) -> tuple[tuple[Kind, ...], list[list[Any]], list[tuple[Any, ...]], list[tuple[int, int]]]:
    kinds = tuple(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3)))
    fit = {Kind.REAL: float("inf"), Kind.TEXT: "\x00"}
    lists = [
        [
            value
            for value in draw(st.lists(st.none() | SMALL[kind], min_size=1, max_size=5, unique=True))
            if value != fit.get(kind)
        ]
        or [None]
        for kind in kinds
    ]
    rows = draw(st.lists(st.tuples(*(st.none() | SMALL[kind] for kind in kinds)), max_size=8))
    numbers = st.integers(-(2**63), 2**63 - 1)
    return kinds, lists, rows, [draw(st.tuples(numbers, numbers)) for _ in rows]


@given(_answers())
def test_columns_are_laid_out_as_rows_are(
    given_: tuple[tuple[Kind, ...], list[list[Any]], list[tuple[Any, ...]], list[tuple[int, int]]],
) -> None:
    """Against the reading of rows one by one, for public groups and for groups in a dictionary."""
    kinds, lists, rows, numbers = given_
    groups = product_of(lists, kinds)
    assert groups is not None
    table = positions(list(groups), kinds)
    places = ProductPlaces(groups)
    assert [places[group] for group in groups] == list(range(len(groups))) == list(table.values())
    plain = Aggregated(tuple(rows), tuple(numbers))
    keys = KeyColumns(
        [_column([row[place] for row in rows], kind) for place, kind in enumerate(kinds)], len(rows), kinds
    )
    measures = ColumnRows([np.array([pair[place] for pair in numbers], dtype=np.int64) for place in (0, 1)], len(rows))
    columns = Aggregated(keys, measures)
    wanted = laid_out(plain, table, kinds, 2).tolist()
    assert laid_out(columns, places, kinds, 2).tolist() == wanted
    assert laid_out(columns, table, kinds, 2).tolist() == wanted
    assert laid_out(plain, places, kinds, 2).tolist() == wanted
    counted = persons_by_text(columns, kinds)
    assert counted == persons_by_text(plain, kinds)
    assert isinstance(counted, Counter)


def test_an_answer_of_other_kinds_counts_for_nobody() -> None:
    groups = product_of([[0, 1]], (Kind.INTEGER,))
    assert groups is not None
    odd = Aggregated(KeyColumns([np.array([True, False])], 2, (Kind.BOOLEAN,)), ColumnRows([np.array([5, 7])], 2))
    assert laid_out(odd, ProductPlaces(groups), (Kind.INTEGER,), 1).tolist() == [[0], [0]]


def test_texts_come_back_sorted_as_values() -> None:
    texts = ['["10"]', '["9"]', "[null]", '["-3"]']
    assert from_texts(texts, (Kind.INTEGER,)) == ((None,), (-3,), (9,), (10,))
    assert from_texts(texts[:2], (Kind.TEXT,)) == (("10",), ("9",))
    assert from_texts(
        ['["2020-02-01", "b"]', '["2020-01-01", "b"]', '["2020-01-01", "a"]'], (Kind.DATE, Kind.TEXT)
    ) == (
        (datetime.date(2020, 1, 1), "a"),
        (datetime.date(2020, 1, 1), "b"),
        (datetime.date(2020, 2, 1), "b"),
    )
    assert from_texts([], (Kind.TEXT,)) == ()


@pytest.mark.parametrize(
    ("lists", "kind"),
    [([[1, 1]], Kind.INTEGER), ([[True, 1]], Kind.INTEGER), ([["a"]], Kind.INTEGER), ([[0.0, -0.0]], Kind.REAL)],
)
def test_values_that_are_equal_or_of_another_kind_are_no_product(lists: list[list[Any]], kind: Kind) -> None:
    assert product_of(lists, (kind,)) is None
    with pytest.raises(InvalidParameter):
        positions([(value,) for value in lists[0]], (kind,))


def test_integers_are_integers_alone() -> None:
    assert as_integers((1, 2)) is not None
    for odd in ((1, True), (1, None), (1.0,), (2**63,), ()):
        assert as_integers(odd) is None
    assert tuple(ProductGroups([])) == ((),)


COLUMNS: list[Any] = [
    np.arange(5),
    np.array([2**40, -1]),
    np.array([1.5, np.inf]),
    np.array([True, False]),
    [1, None],
    [1, 2**70],
    ["a", "\u00e9"],
    [datetime.date(2020, 1, 1), None],
    [("a", 1), ("b", 2)],
    [float("inf"), 1.0],
    None,
    [],
]


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_a_stored_column_is_read_as_it_was(column: Any) -> None:
    length = 2 if column is None else len(column)
    back = read_column(json.loads(json.dumps(write_column(column), allow_nan=False)), "real", length)
    kept, read = ColumnRows([column], length), ColumnRows([back], length)
    assert kept == read
    assert [type(cell) for (cell,) in kept] == [type(cell) for (cell,) in read]


@pytest.mark.parametrize(
    "written", [{"<i8": "AAAA"}, {"<u8": "AAAAAAAAAAA="}, {"<i8": "??"}, {}, {"a": "b", "c": "d"}, [1], "shown", 5]
)
def test_a_column_that_is_none_is_refused(written: Any) -> None:
    with pytest.raises((InvalidParameter, ValueError, AttributeError, TypeError)):
        read_column(written, "integer", 2)


def _result(rows: int, *, has_raw: bool = True) -> QueryResult:
    number = np.arange(rows)
    shown, raw = ColumnRows([number, number * 3], rows), ColumnRows([number, number * 3 - 5], rows)
    low, high = ColumnRows([None, number], rows), ColumnRows([None, number + 0.5], rows)
    columns = (ResultColumn("k", "integer", True), ResultColumn("c", "integer", False, "rows"))
    return QueryResult(
        columns, shown, low, high, Fraction(19, 20), False, PureDP(1), "rows", raw=raw if has_raw else shown
    )


@pytest.mark.parametrize("has_raw", [False, True])
@pytest.mark.parametrize("rows", [0, 1, MANY_ROWS - 1, MANY_ROWS, MANY_ROWS + 1])
def test_results_are_stored_as_rows_or_columns_and_read_alike(rows: int, has_raw: bool) -> None:
    result = _result(rows, has_raw=has_raw)
    stored = result.to_stored()
    assert json.loads(stored)["result"] == (2 if rows >= MANY_ROWS else 1)
    for text in (stored, result.to_json()):
        again = QueryResult.from_json(text)
        assert again == result
        assert again.to_json() == result.to_json()
        assert again.to_stored() == stored
    assert json.loads(result.to_json())["result"] == 1
    assert result.column("c", raw=True)[:1] == ((-5 if has_raw else 0,) * min(rows, 1))


def test_a_result_of_tuples_is_stored_as_the_same_columns() -> None:
    result = _result(MANY_ROWS)
    parts: dict[str, Any] = {name: tuple(getattr(result, name)) for name in ("rows", "low", "high", "raw")}
    plain = QueryResult(
        result.columns, confidence=result.confidence, is_simultaneous=False, loss=result.loss, unit="rows", **parts
    )
    assert plain.to_stored() == result.to_stored()
    assert as_columns(plain.rows) == result.rows


def test_what_does_not_fit_is_cut_whatever_its_form() -> None:
    result = _result(5 * MANY_ROWS)
    whole = len(result.to_stored())
    for most in (whole, whole - 1, whole // 2, len(_result(MANY_ROWS).to_stored()), 4000, 1000):
        shown, text = result.stored_within(most)
        assert len(text) <= most
        assert shown.rows == tuple(result.rows)[: len(shown.rows)]
        assert QueryResult.from_json(text) == shown
        assert (shown is result) == (most >= whole)
        assert bool(shown.notes) == (most < whole)


@pytest.mark.parametrize("keys", ["declared", "discovered"])
def test_a_session_returns_what_the_ledger_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    """Of 1,500 groups: the answer is not read by whoever wrote it, and a retry reads an equal one."""
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    rows = "".join(f"{row % 1500},{row % 7}\n" for row in range(6000))
    (tmp_path / "t.csv").write_text("k,v\n" + rows, encoding="utf-8")
    kind = "{kind: integer, bounds: [0, 1499]}" if keys == "declared" else "integer"
    schema = f"dataset: many\nunit: row\ntables:\n  t:\n    source: t.csv\n    columns:\n      k: {kind}\n"
    (tmp_path / "s.yaml").write_text(schema + "      v: {kind: integer, bounds: [0, 6]}\n", encoding="utf-8")
    curator = Curator.create(tmp_path / "home")
    curator.add(tmp_path / "s.yaml", budget=ApproxDP(10**6, "1e-3"))
    how: dict[str, Any] = {"epsilon": 1000} | ({} if keys == "declared" else {"delta": 1e-6})
    text = "SELECT k, COUNT(*) AS c, SUM(v) AS s, AVG(v) AS a FROM t GROUP BY k ORDER BY c DESC, k"
    with curator.session("many") as session:
        with monkeypatch.context() as patched:
            patched.setattr(QueryResult, "from_json", staticmethod(lambda text: pytest.fail("it was read again")))
            first = session.sql(text, **how, key="mine")
        again = session.sql(text, **how, key="mine")
    assert first == again
    assert first.receipt == again.receipt
    assert [row[0] for row in first.rows] == list(range(1500))
    assert all(row[1] == 4 for row in first.rows)
    assert first.column("s") == tuple(sum(row % 7 for row in range(6000) if row % 1500 == key) for key in range(1500))
    curator.close()
