"""What a caller hands to ``fit``: one person's cell decides neither what others' cells mean nor whether it is taken."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")
pandas = pytest.importorskip("pandas", reason="frames need the extra 'frames'")

import dither.learn as learn  # noqa: E402
from dither.errors import InvalidParameter, InvalidValue  # noqa: E402

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]])
Y = [0, 1, 1]
PAIRS = [(0, 3), (0, 3)]


def classifier(**more: Any) -> Any:
    return learn.GaussianNB(**{"rho": 1, "bounds": PAIRS, "classes": [0, 1], **more})


def codes(labels: Any, **more: Any) -> list[float]:
    _, rows = classifier(**more).prepare(np.zeros((len(labels), 2)), labels)
    return [float(code) for code in rows[:, -1]]


def numbers(rows: Any) -> list[list[float]]:
    _, found = classifier().prepare(rows, np.zeros(len(rows)))
    return [list(map(float, row)) for row in found[:, :-1]]


@pytest.mark.parametrize("odd", ["x", None, 0.5, (0, 1), [0], 1j, object(), 10**400, pandas.NA, b"x", Decimal("sNaN")])
def test_one_label_of_another_type_recodes_nobody(odd: Any) -> None:
    assert codes([*Y, odd]) == [0, 1, 1, -1]
    assert codes([odd, *Y]) == [-1, 0, 1, 1]
    column = np.empty(4, dtype=object)
    column[:3], column[3] = Y, odd
    assert codes(column) == codes(pandas.Series(column)) == [0, 1, 1, -1]


def test_labels_are_equal_by_exact_value_whatever_stands_beside_them() -> None:
    wide = [2**53, 2**53 + 1]
    assert codes([*wide, 0.5], classes=wide) == [0, 1, -1]
    assert codes([*wide, 0.5], classes=[0.5, *wide]) == [1, 2, 0]
    assert codes([*wide, None], classes=wide) == [0, 1, -1]
    same = [1, 1.0, True, np.int8(1), np.float32(1), np.bool_(True), Fraction(1), Decimal(1), "1", np.str_("1"), 1 + 0j]
    assert codes(same) == [1] * len(same)
    assert codes(["1", 1, np.str_("1"), b"1", True], classes=["0", "1"]) == [1, -1, 1, -1, -1]
    assert codes([0, True, 1.0], classes=[False, True]) == [0, 1, 1]
    for column in (
        pandas.Series([*wide, None], dtype="Int64"),
        pandas.array([*wide, None], dtype="Int64"),
        pandas.Series([*wide, *wide]).astype("category").reindex([0, 1, 7]),
    ):
        assert codes(column, classes=wide) == [0, 1, -1]


def testdeclared_classes_keep_their_kind_and_their_values() -> None:
    for given, kept, kind in (
        ([1, 0], [0, 1], "i"),
        ([True, False], [False, True], "b"),
        ([1, 0.5], [0.5, 1], "f"),
        ([0, 2**53, 2**53 + 1, 0.5], [0, 0.5, 2**53, 2**53 + 1], "O"),
        (["b", "a"], ["a", "b"], "U"),
        (["a\x00", "a"], ["a", "a\x00"], "O"),
        ((np.int8(3), np.int8(-3)), [-3, 3], "i"),
    ):
        found = classifier(classes=given).declared_classes()
        assert (found.tolist(), found.dtype.kind) == (kept, kind)
    for bad in ([0, "x"], [0, 0], [True, 1], [0], "ab", [None, 1], [float("nan"), 1], [(1,), (2,)], 5, np.eye(2)):
        with pytest.raises(InvalidParameter, match="classes"):
            classifier(classes=bad).prepare(X, Y)


@pytest.mark.parametrize(
    ("cell", "meaning"),
    [
        ("x", np.nan),
        (pandas.NA, np.nan),
        (None, np.nan),
        (10**400, np.inf),
        (-(10**400), -np.inf),
        (Fraction(10**400), np.inf),
        (Decimal("1e400"), np.inf),
        (Decimal("sNaN"), np.nan),
        (2 + 1j, np.nan),
        (2 + 0j, 2.0),
        (2**53 + 1, float(2**53)),
        (Fraction(1, 3), 1 / 3),
        (Decimal("0.1"), 0.1),
        (np.float32(0.1), float(np.float32(0.1))),
        (True, 1.0),
        (" 2.5e0 ", 2.5),
        (b"2", 2.0),
        (b"\xff", np.nan),
        ((1, 2), np.nan),
        ([1], np.nan),
        (np.zeros(2), np.nan),
        (np.array(2.0), 2.0),
        ({}, np.nan),
        (datetime.date(2000, 1, 1), np.nan),
        (np.timedelta64(7, "ns"), np.nan),
        (np.datetime64("2000-01-01"), np.nan),
        (pandas.NaT, np.nan),
    ],
    ids=repr,
)
def test_one_cell_of_any_kind_is_read_by_itself(cell: Any, meaning: float) -> None:
    odd = np.empty((3, 2), dtype=object)
    odd[:2] = X[:2]
    odd[2, 0], odd[2, 1] = 2.0, cell
    for rows in ([[0.0, 1.0], [1.0, 0.0], [2.0, cell]], odd, pandas.DataFrame(odd)):
        np.testing.assert_array_equal(numbers(rows), [[0, 1], [1, 0], [2, meaning]])
    column = np.empty(3, dtype=object)
    column[:2], column[2] = [1, 0.5], cell
    _, rows = learn.Ridge(rho=1, bounds=PAIRS, target_bounds=(0, 3)).prepare(X, column)
    np.testing.assert_array_equal(rows[:, -1], [1, 0.5, meaning])


@pytest.mark.parametrize(
    ("row", "meaning"),
    [
        ([2.0], [2, np.nan]),
        ([], [np.nan] * 2),
        ([2.0, 3.0, "more"], [2, 3]),
        ((2, 3), [2, 3]),
        (np.array([2, 3]), [2, 3]),
        (None, [np.nan] * 2),
        ("23", [np.nan] * 2),
        (2.0, [np.nan] * 2),
        (np.zeros((2, 2)), [np.nan] * 2),
        ({"a": 2}, [2, np.nan]),
        ({"a": 2, "b": 3, "c": 4}, [2, 3]),
        ({}, [np.nan] * 2),
    ],
    ids=repr,
)
def test_one_row_of_any_length_is_read_by_itself(row: Any, meaning: list[float]) -> None:
    np.testing.assert_array_equal(numbers([[0, 1], row, [1, 0]]), [[0, 1], meaning, [1, 0]])
    np.testing.assert_array_equal(numbers([row, [0, 1]]), [meaning, [0, 1]])


def test_a_list_of_rows_is_as_wide_as_was_declared_and_never_as_its_rows_are() -> None:
    loose = classifier(bounds=(0, 3))
    for rows in ([[0.0, 1.0]], [], [[0.0], [1.0, 2.0]]):
        with pytest.raises(InvalidValue, match="whose width is known"):
            loose.prepare(rows, [0] * len(rows))
        assert loose.prepare(rows, [0] * len(rows), columns=2)[1].shape == (len(rows), 3)
    for bounds in (PAIRS, (0, [3, 3]), np.array(PAIRS)):
        assert classifier(bounds=bounds).prepare([[1.0, 2.0, 3.0]], [0])[1].tolist() == [[1, 2, 0]]
    counted = learn.CategoricalNB(rho=1, classes=[0, 1], categories=[3, 4])
    assert counted.prepare([[1, 2, 9]], [0])[1].tolist() == [[1, 2, 0]]
    search = learn.PrivateSearch(learn.Ridge(bounds=PAIRS, target_bounds=(0, 3)), {"alpha": [0, 1]}, rho=1)
    assert search.prepare([[1, 2, 9]], [0])[1].tolist() == [[1, 2, 0]]
    fitted = classifier(bounds=(0, 3)).fit(X, Y)
    assert len(fitted.predict([[0.0], [1.0, 2.0]])) == 2
    for bad in (0, -1, 1.5, "2", True):
        with pytest.raises(InvalidParameter, match="columns"):
            loose.prepare(X.tolist(), Y, columns=bad)


def test_columns_whose_type_a_reader_guessed_are_read_alike() -> None:
    # One person's cell in a file makes a reader call the whole column texts.
    texts = pandas.DataFrame({"a": ["0", "1.5", "2", "x"], "b": [1.0, 0.0, 3.0, 3.0]})
    np.testing.assert_array_equal(numbers(texts), [[0, 1], [1.5, 0], [2, 3], [np.nan, 3]])
    np.testing.assert_array_equal(numbers(np.array([[0, 1], [1.5, "x"]])), [[0, 1], [1.5, np.nan]])
    np.testing.assert_array_equal(numbers(np.array([[0, 1], [1.5, 1j]])), [[0, 1], [1.5, np.nan]])
    assert codes(np.array(["0", "1", "x"])) == [0, 1, -1]
    times = pandas.DataFrame({"a": pandas.to_datetime(["2000-01-01", None]), "b": [1, 2]})
    np.testing.assert_array_equal(numbers(times), [[np.nan, 1], [np.nan, 2]])
    masked = np.ma.array(X, mask=X > 2)
    np.testing.assert_array_equal(numbers(masked), [[0, 1], [1, 0], [2, np.nan]])


def test_arrow_and_polars_are_read_by_cell() -> None:
    arrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    raw = arrow.array([b"1", b"\xff", None]).view(arrow.string())  # the second one is no text
    days = arrow.array([2**62, 1, None], arrow.timestamp("s"))  # the first one is no time that Python knows
    table = arrow.table({"a": raw, "b": days})
    np.testing.assert_array_equal(numbers(table), [[1, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    assert codes(raw) == [1, -1, -1]
    assert codes(arrow.array([1, None, 0]).dictionary_encode()) == [1, -1, 0]
    frame = polars.DataFrame({"a": ["1", "x", None], "b": [1, 2**53 + 1, None]})
    np.testing.assert_array_equal(numbers(frame), [[1, 1], [np.nan, 2**53], [np.nan, np.nan]])
    assert codes(frame["a"]) == [1, -1, -1]
    assert codes(polars.Series([1, 0, None]).to_frame()) == [1, 0, -1]


def test_an_encoder_reads_each_cell_by_itself() -> None:
    encoder = learn.OneHotEncoder(categories=[["a", "b"], [0, 2**53 + 1]]).fit([["a", 0]])
    rows = [["b", 2**53 + 1], ["a"], [0.5, 2**53], None, [("a",), "0"]]
    assert encoder.transform(rows).tolist() == [[0, 1, 0, 1], [1, 0, 0, 0], [0] * 4, [0] * 4, [0, 0, 1, 0]]
    with pytest.raises(InvalidParameter, match="categories"):
        learn.OneHotEncoder(categories=[["a", "b"], [True, 1]]).fit([["a", 0]])


def test_odd_rows_are_learned_from_and_charged() -> None:
    from dither.mechanisms import Budget
    from dither.privacy import ROW

    budget = Budget(rho=1, unit=ROW)
    fitted = classifier().fit([[0, "x"], None, [10**400]], [0, "x", (1,)], budget=budget)
    assert budget.spent == fitted.privacy_.loss
    assert fitted.predict([[0.0, 1.0]]).shape == (1,)
