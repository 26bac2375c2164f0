"""Rows, cells and labels of a caller's own classes, and containers whose content a library would refuse."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="estimators need the extra 'ml'")

from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import dither.learn as learn
from dither.errors import InvalidValue
from dither.learn.itemsets import Transactions

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]])
PAIRS = [(0, 3), (0, 3)]
ASKED = (
    "bytes",
    "complex",
    "eq",
    "float",
    "ge",
    "getitem",
    "gt",
    "hash",
    "index",
    "int",
    "iter",
    "le",
    "len",
    "lt",
    "str",
)


def refuse(*_: Any) -> NoReturn:
    raise ValueError("a secret")


def leave(*_: Any) -> NoReturn:
    raise SystemExit("a secret")


def hostile(base: type, content: Any) -> Any:
    """Return an object of a class that extends ``base`` and raises whatever it is asked."""
    owned = {f"__{name}__": refuse for name in ASKED if hasattr(base, f"__{name}__")}
    return type(f"Own{base.__name__}", (base,), owned)(content)


def codes(labels: Any, **more: Any) -> list[float]:
    made = learn.GaussianNB(**{"rho": 1, "bounds": PAIRS, "classes": [0, 1], **more})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        return [float(code) for code in made.prepare(np.zeros((3, 2)), labels)[1][:, -1]]


def numbers(rows: Any) -> list[list[float]]:
    made = learn.GaussianNB(rho=1, bounds=PAIRS, classes=[0, 1])
    return [list(map(float, row)) for row in made.prepare(rows, np.zeros(len(rows)))[1][:, :-1]]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1, 7 + 42j]),
        np.ma.array([0, 1, 1], mask=[False, False, True]),
        np.ma.array([0, 1, "x"], mask=[False, False, True], dtype=object),
        np.array(["0", "1", "x"]),
        np.array([0, 1, None], dtype=object),
        np.array([0.0, 1.0, np.inf]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_a_column_of_labels_means_the_same_with_one_axis_and_with_two(labels: Any) -> None:
    assert codes(labels) == codes(labels.reshape(-1, 1)) == [0, 1, -1]
    target = learn.Ridge(rho=1, bounds=PAIRS, target_bounds=(0, 3))
    with pytest.warns(DataConversionWarning, match="column-vector y was passed") as told:
        two = target.prepare(X, labels.reshape(-1, 1))[1]
    np.testing.assert_array_equal(two, target.prepare(X, labels)[1])
    assert not any("42" in str(one.message) for one in told)


def test_sparse_labels_with_an_imaginary_part_are_no_classes() -> None:
    assert codes(sparse.csr_matrix(np.array([[0], [1], [7 + 42j]]))) == [0, 1, -1]


@pytest.mark.parametrize(
    ("cell", "meaning"),
    [
        (hostile(int, 2), 2.0),
        (hostile(float, 2.5), 2.5),
        (hostile(str, "2"), 2.0),
        (hostile(bytes, b"2"), 2.0),
        (hostile(complex, 2), 2.0),
        (hostile(list, [2]), np.nan),
    ],
    ids=lambda cell: type(cell).__name__,
)
def test_a_cell_that_raises_is_what_its_class_extends(cell: Any, meaning: float) -> None:
    np.testing.assert_array_equal(numbers([[0, 1], [1, cell]]), [[0, 1], [1, meaning]])
    if isinstance(cell, list):
        return
    assert codes([0, cell, 0], classes=[0, 2.5, 2]) == [0, 2 if meaning == 2.5 else 1, 0]
    texts = codes(["0", cell, "0"], classes=["0", "2"])
    assert texts == [0, 1 if isinstance(cell, str) else -1, 0]


def test_a_foreign_number_that_leaves_is_missing() -> None:
    class Own:
        __float__ = __hash__ = leave

    Real.register(Own)
    np.testing.assert_array_equal(numbers([[0, 1], [1, Own()]]), [[0, 1], [1, np.nan]])
    assert codes([0, Own(), 1]) == [0, -1, 1]


@pytest.mark.parametrize(
    ("row", "meaning"),
    [
        (range(1, 10**12), [1, 2]),
        (range(10**30), [0, 1]),
        (np.broadcast_to(2, (10**12,)), [2, 2]),
        (hostile(list, [1, 2, 3]), [1, 2]),
        (hostile(tuple, [1, 2, 3]), [1, 2]),
        (np.ma.array([1, 2, 3], mask=[True, False, False]), [np.nan, 2]),
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_row_is_cut_before_it_is_read_and_never_asked_itself(row: Any, meaning: list[float]) -> None:
    np.testing.assert_array_equal(numbers([[0, 1], row, [1, 0]]), [[0, 1], meaning, [1, 0]])


def test_what_only_says_that_it_is_a_row_is_none() -> None:
    class Claims:
        __class__ = list  # type: ignore[assignment]

    class Refuses:
        __class__ = property(refuse)

    for row in (Claims(), Refuses()):
        np.testing.assert_array_equal(numbers([[0, 1], row]), [[0, 1], [np.nan] * 2])
        assert items([[1], row]) == [[1], []]


def test_bad_text_is_missing_in_frames_of_every_library(capfd: pytest.CaptureFixture[str]) -> None:
    arrow, polars, pandas = map(pytest.importorskip, ("pyarrow", "polars", "pandas"))
    raw = arrow.array([b"1", b"\xff", None]).view(arrow.string())
    series = polars.Series(raw)
    owned = pandas.Series(pandas.arrays.ArrowStringArray(arrow.chunked_array([raw.cast(arrow.large_string())])))
    assert owned.dtype.storage == "pyarrow"
    for column in (series, series.cast(polars.Categorical), owned):
        assert codes(column) == [1, -1, -1]
        frame = column.to_frame("a")
        made = learn.GaussianNB(rho=1, bounds={"a": (0, 3)}, classes=[0, 1])
        np.testing.assert_array_equal(made.prepare(frame, [0, 0, 0])[1][:, 0], [1, np.nan, np.nan])
        made = learn.GaussianNB(rho=1, categories={"a": ["0", "1"]}, classes=[0, 1])
        np.testing.assert_array_equal(made.prepare(frame, [0, 0, 0])[1][:, 1], [1, 0, 0])
    assert capfd.readouterr() == ("", "")  # a panic would leave a trace


def items(rows: Any, universe: int = 5) -> list[list[int]]:
    made = Transactions.of(universe, rows)
    return [made.values[a:b].tolist() for a, b in zip(made.offsets, made.offsets[1:], strict=False)]


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset], ids=lambda kind: kind.__name__)
def test_a_transaction_that_raises_is_what_its_class_extends(kind: type) -> None:
    assert items([[1], hostile(kind, [2])]) == [[1], [2]]
    named = Transactions.named(["a", "b"], [["a"], hostile(kind, ["b"])])
    assert named.values.tolist() == [0, 1]


def test_an_entry_that_raises_is_what_its_class_extends() -> None:
    assert items([[1], [hostile(int, 2)], hostile(int, 3)]) == [[1], [2], [3]]
    named = Transactions.named(["a", "b"], [["a"], [hostile(str, "b")], hostile(str, "b")])
    assert named.values.tolist() == [0, 1, 1]


def test_ranges_and_repeated_views_take_no_more_than_the_universe() -> None:
    assert items([[1], range(10**30), range(10**30, -(10**30), -1)]) == [[1], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    assert items([np.broadcast_to(3, (10**12,)), np.ma.array([1, 2], mask=[False, True])]) == [[3], [1]]
    assert items([np.array([1, 2], dtype="m8[ns]"), np.array([1, 2], dtype="M8[ns]")]) == [[], []]
    assert Transactions.named(["a"], [range(10**12), ["a"]]).offsets.tolist() == [0, 0, 1]


@pytest.mark.parametrize("universe", [1, 4, 7])
def test_a_range_is_read_as_its_numbers_one_by_one_are(universe: int) -> None:
    ends = range(-8, 12, 3)
    ranges = [range(a, b, step) for a in ends for b in ends for step in (-5, -2, -1, 1, 2, 5)]
    assert items([*ranges, None], universe) == items([*map(list, ranges), None], universe)


def test_a_sequence_that_raises_is_refused_in_our_words() -> None:
    class Own(Sequence[Any]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, place: Any) -> Any:
            refuse()

    for rows, labels in ((Own(), [0]), ([[0, 1]], Own())):
        made = learn.GaussianNB(rho=1, bounds=PAIRS, classes=[0, 1])
        with pytest.raises(ValueError, match=r"^[Xy] must be") as raised:
            made.prepare(rows, labels)
        assert "secret" not in repr((raised.value, raised.value.__context__))


class Quits:
    """Ends the program when it is asked what its class is, as ``isinstance`` asks."""

    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        leave()


def test_what_a_thing_says_its_class_is_is_never_asked() -> None:
    assert codes([0, 1, Quits()]) == [0, 1, -1]
    assert numbers([[1.0, 2.0], [1.0, Quits()]])[0] == [1.0, 2.0]
    assert np.isnan(numbers([[1.0, 2.0], Quits()])[1]).all()
    assert len(Transactions.of(2, [[0, 1], Quits(), [0, Quits()]])) == 3


@pytest.mark.parametrize("base", [list, tuple])
def test_a_container_of_an_own_class_is_read_by_the_methods_of_the_one_that_it_extends(base: type) -> None:
    """Also where it is refused: its own methods were called before."""
    asked: list[str] = []

    def noted(name: str) -> Any:
        def method(*_: Any) -> NoReturn:
            asked.append(name)
            raise ValueError("a secret")

        return method

    owned: dict[str, Any] = {f"__{name}__": noted(name) for name in (*ASKED, "contains", "bool", "reversed", "array")}
    mine = type("Own", (base,), owned | {"__class__": property(noted("class")), "toarray": property(noted("toarray"))})
    rows, labels = mine([[0.5, 2.0], [1.0, 9.0], [2.0, 3.0]]), mine([0, 1, 1])
    made = learn.GaussianNB(rho=1, bounds=PAIRS, classes=[0, 1])
    read = made.prepare(rows, labels)[1]
    np.testing.assert_array_equal(read, [[0.5, 2, 0], [1, 9, 1], [2, 3, 1]])
    assert made.fit(rows, labels).predict(rows).shape == (3,)
    refused = learn.GaussianNB(rho=1, bounds=(0, 3), classes=[0, 1])
    for given, y in ((rows, labels), (np.zeros((2, 2)), labels), (labels, rows)):
        with pytest.raises(InvalidValue) as told:
            refused.fit(given, y)
        assert "secret" not in str(told.value)
    assert not asked
