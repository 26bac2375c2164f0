"""The requirements on every estimator at its door: where a caller passes rows, before they become an array.

The same rows in any container (lists, arrays, sparse matrices, frames of pandas, Polars and Arrow) reach the mechanism
as the same numbers. One row more, or one cell changed, whatever it holds, is taken without a word and moves no other
row by a bit; a mechanism that is then replayed on both tells them apart by its draws alone. Deterministic.
"""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

import datetime
import importlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.checks.violation import ContractViolation, require
from dither.mechanisms import Composed
from dither.testing.replay import replay

Records = NDArray[Any]
Reader = Callable[[Any, Any], Records]

#: Cells that no column of numbers expects.
ODD_CELLS: tuple[Any, ...] = (
    "x",
    None,
    10**400,
    -(10**400),
    1j,
    0.5,
    2**53 + 1,
    (1, 2),
    [1],
    {"a": 1},
    b"x",
    "1",
    True,
    float("nan"),
    Decimal("sNaN"),
    datetime.date(1, 1, 1),
    np.datetime64("NaT"),
    np.timedelta64(1, "ns"),
    np.zeros((2, 2)),
)
#: What may stand for a row in a list of them.
ODD_ROWS: tuple[Any, ...] = ((), [1.0], [1.0] * 9, ["x", "y"], None, "row", 7, {}, np.zeros((2, 2)), [[1.0], [2.0]])


def check_estimator(estimator: Any, X: Any, y: Any = None) -> None:
    """Run all checks at the door of an estimator; raise ContractViolation at the first failure.

    Args:
        estimator: one of ``dither.learn`` or your own, with everything declared; it is copied, not fitted.
        X: at least two rows of floats, as an array.
        y: a label or target for each row, as an array; labels among the declared classes.

    >>> import numpy as np
    >>> from dither.learn import LogisticRegression
    >>> check_estimator(LogisticRegression(epsilon=1, bounds=(0, 3), classes=[0, 1]), np.eye(2), np.array([0, 1]))

    """
    read = _reader(estimator, X.shape[1])
    expected = read(X, y)
    require(len(expected) == len(X), "the numbers of rows before and after the check differ")
    for name, rows, labels in containers(X, y):
        found = _read(read, rows, labels, name)
        require(_same(found, expected), f"rows given as {name} are other numbers than as an array")
    for name, rows, labels, changed in odd_rows(X, y):
        found = _read(read, rows, labels, name)
        kept = np.delete(found, changed, axis=0)
        others = expected if len(found) > len(expected) else np.delete(expected, changed, axis=0)
        require(_same(kept, others), f"{name} changes what other rows are")
        require(found.dtype == expected.dtype and found.shape[1:] == expected.shape[1:], f"{name} changes the array")
    _replayed(estimator, X, y)


def containers(X: Any, y: Any) -> Iterator[tuple[str, Any, Any]]:
    """Return the same rows and labels in every container, with a name for each."""
    labels = np.zeros(len(X)) if y is None else y
    cells = [[float(cell) for cell in row] for row in X]
    objects, names = np.array(X, dtype=object), [f"c{place}" for place in range(X.shape[1])]
    texts: Any = np.array(labels, dtype=object)
    yield "lists", cells, labels.tolist()
    yield "tuples", tuple(map(tuple, cells)), tuple(labels.tolist())
    yield "a list of arrays", list(X), list(labels)
    yield "objects", objects, texts
    yield "columns of objects", np.asfortranarray(objects), texts[:, None][:, 0]
    if (sparse := _library("scipy.sparse")) is not None:
        yield "a sparse matrix", sparse.csr_matrix(X), labels.tolist()
    pandas, polars, arrow = map(_library, ("pandas", "polars", "pyarrow"))
    if pandas is not None:
        frame = pandas.DataFrame(X, columns=names)
        yield "a pandas frame", frame, pandas.Series(labels)
        yield "a pandas frame of objects", frame.astype(object), pandas.Series(texts)
        yield "a pandas frame that has NULL", frame.astype("Float64"), pandas.Series(labels).convert_dtypes()
        yield "a pandas frame of categories", frame.astype("category"), pandas.Series(labels).astype("category")
    if polars is not None:
        yield "a Polars frame", polars.DataFrame(X, schema=names), polars.Series(labels.tolist())
        yield (
            "a Polars frame of objects",
            polars.DataFrame([polars.Series(name, list(X[:, at]), polars.Object) for at, name in enumerate(names)]),
            polars.Series("y", labels.tolist(), polars.Object),
        )
    if arrow is not None:
        table = arrow.table({name: X[:, place] for place, name in enumerate(names)})
        yield "an Arrow table", table, arrow.array(labels.tolist())
        yield "an Arrow batch", table.to_batches()[0], arrow.chunked_array([labels.tolist()])


def odd_rows(X: Any, y: Any) -> Iterator[tuple[str, Any, Any, int]]:
    """Return rows of which one is odd: a name, the rows, their labels, and which row it is.

    It comes first or last, or takes the place of another row.
    """
    labels = [0] * len(X) if y is None else y.tolist()
    plain = [[float(cell) for cell in row] for row in X]
    pandas = _library("pandas")
    cells = [*ODD_CELLS, *((pandas.NA, pandas.NaT) if pandas is not None else ())]
    for turn, odd in enumerate(cells):
        kind = f"a cell of type {type(odd).__name__}"
        row = [odd, *plain[0][1:]] if turn % 2 else [*plain[0][:-1], odd]
        more, longer = [*plain, row], [*labels, labels[0]]
        yield f"{kind} in a list", more, longer, len(plain)
        yield f"{kind} in place of another", [row, *plain[1:]], labels, 0
        yield f"{kind} in an array", _objects(more, X.shape[1]), _column(longer), len(plain)
        yield f"{kind} in an array of one column fewer axes", _column(more), _column(longer), len(plain)
        if pandas is not None:
            yield f"{kind} in a pandas frame", pandas.DataFrame(_objects(more, X.shape[1])), longer, len(plain)
        if y is not None:
            yield f"{kind} as a label", [plain[0], *plain], [odd, *labels], 0
            yield f"{kind} as a label in an array", [*plain, plain[0]], _column([*labels, odd]), len(plain)
            if pandas is not None:
                series = pandas.Series(_column([*labels, odd]), dtype=object)
                yield f"{kind} as a label in a column", [*plain, plain[0]], series, len(plain)
    for odd in ODD_ROWS:
        kind = f"a row of type {type(odd).__name__}"
        yield f"{kind} at the end", [*plain, odd], [*labels, labels[0]], len(plain)
        yield f"{kind} at the beginning", [odd, *plain], [labels[0], *labels], 0
    yield from _nulls(X, labels)


def _nulls(X: Any, labels: list[Any]) -> Iterator[tuple[str, Any, Any, int]]:
    """Return frames of typed columns, in which one row has NULL alone, its label too."""
    pandas, polars, arrow = map(_library, ("pandas", "polars", "pyarrow"))
    columns = {f"c{place}": [*map(float, X[:, place]), None] for place in range(X.shape[1])}
    if pandas is not None:
        nullable = {name: pandas.array(cells, dtype="Float64") for name, cells in columns.items()}
        yield "NULL in pandas", pandas.DataFrame(nullable), pandas.Series([*labels, None]).convert_dtypes(), len(X)
    if polars is not None:
        yield "NULL in Polars", polars.DataFrame(columns), polars.Series([*labels, None]), len(X)
    if arrow is not None:
        yield "NULL in Arrow", arrow.table(columns), arrow.array([*labels, None]), len(X)


def _replayed(estimator: Any, X: Any, y: Any) -> None:
    """Check that releases from rows with and without an odd one differ by their draws alone."""
    plain, labels = X.tolist(), [0] * len(X) if y is None else y.tolist()
    if not hasattr(estimator, "mechanism"):
        return
    fresh = _copy(estimator)
    mechanism = fresh.mechanism(X.shape[1])
    if not isinstance(mechanism, Composed):
        return
    here = fresh.private_rows(plain, labels, columns=X.shape[1])
    for row, label in ((["x", None], labels[0]), ([10**400], "x"), (plain[0], (0, 1))):
        moved = ([*plain[1:], row], [*labels[1:], label]) if "replaced" in str(mechanism.distance) else None
        rows, more = moved if moved is not None else ([*plain, row], [*labels, label])
        there = fresh.private_rows(rows, more, columns=X.shape[1])
        for violation in replay(mechanism, here, there, d_in=1):
            raise ContractViolation(f"an odd row: {violation}")


def _reader(estimator: Any, columns: int) -> Reader:
    """Return the function that reads rows for the mechanism; a transformer without one shows them itself."""

    def records(X: Any, y: Any) -> Records:
        found: Records = _copy(estimator).private_rows(X, y, columns=columns)
        return found

    def transformed(X: Any, _: Any) -> Records:
        fitted = _copy(estimator).fit(X, columns=columns)
        found: Records = fitted.transform(X)
        return found

    return records if hasattr(estimator, "private_rows") else transformed


def _read(read: Reader, X: Any, y: Any, name: str) -> Records:
    try:
        return read(X, y)
    except Exception as failure:
        raise ContractViolation(f"{name} is refused: {failure!r}") from failure


def _copy(estimator: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator)


def _same(one: Records, other: Records) -> bool:
    """Whether two arrays of floats are equal to the last bit; all NaN are equal."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one.view(np.int64) == other.view(np.int64)) | (np.isnan(one) & np.isnan(other))).all())


def _objects(rows: list[Any], width: int) -> NDArray[Any]:
    """Return an array of these cells, of any kind."""
    found = np.empty((len(rows), width), dtype=object)
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):
            found[place, column] = cell
    return found


def _column(cells: list[Any]) -> NDArray[Any]:
    """Return an array of these cells with one axis, of any kind."""
    found = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        found[place] = cell
    return found


def _library(name: str) -> Any:
    """Return a library where it is installed, else None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
