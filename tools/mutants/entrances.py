"""Mutants of the doors, of estimators, releases, queries and rows: killed from where a caller begins."""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dither.audit.queries import compare
from dither.checks.violation import require
from dither.data import Aggregation, Column, CountRows, DataSet, JoinPublic, Kind, Literal, Name, Relation, Scan, Table
from dither.data.examples import some_visits, visit
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.mechanisms import Geometric, release
from dither.mechanisms.core.release import Budget
from dither.privacy import ROW, PureDP
from dither.publish.queries.answer import plan_query
from dither.publish.queries.examples import clinic_query
from dither.testing.doors import replay_call
from tools.mutants.record import Mutant, both, mutated

_BASE = "dither.learn.base:PrivateEstimator"
_X = np.array([[0.1, 0.9], [0.4, 0.2], [0.8, 0.7], [0.3, 0.3], [0.6, 0.1]])
_Y = np.array([0, 1, 1, 0, 1])


def _fitted(rows: Any) -> Any:
    """Return an estimator as ``fit`` leaves it."""
    learn: Any = importlib.import_module("dither.learn")
    estimator = learn.LogisticRegression(epsilon=1, delta="1e-6", bounds=(0, 1), classes=[0, 1])
    return estimator.fit(rows[:, :-1], rows[:, -1].astype(int))


def _estimators() -> None:
    """Check that with frozen draws an estimator is the same for neighbours, with all that hangs on it."""
    rows = np.column_stack([_X, _Y])
    for neighbour in (rows[1:], np.vstack([rows, [[1.0, 1.0, 0]]]), np.vstack([rows, [[9.0, -9.0, 1]]])):
        for found in replay_call(_fitted, rows, neighbour):
            require(False, str(found))


def _counted(rows: Any) -> Any:
    return release(Geometric(scale=1), len(rows), budget=Budget(epsilon=1, unit=ROW), stability=1)


def _releases() -> None:
    """Check that with frozen draws a release is the same for neighbours, with all that hangs on it."""
    for found in replay_call(_counted, list(range(9)), list(range(8))):
        require(False, str(found))


def _forged(dataset: DataSet) -> Iterator[Relation]:
    """Yield relations that make claims about a data set which its schema does not make."""
    visits = dataset.tables[0]
    yield Scan(replace(visits, person="cost"))
    public = replace(visits, person=None, is_public=True, key=("person",))
    yield JoinPublic(Scan(visits), public, (Literal(9, Kind.INTEGER),), False, "other_")


def _tables() -> None:
    """Check that a query with its own tables is refused, or moves no farther than is charged."""
    query = clinic_query("count", unit=person_unit("person"), groups="none")
    rows = some_visits()
    # One person with many visits, each under its own number.
    more = [*rows, *(visit(9, "north", cost=number) for number in range(11))]
    for relation in _forged(query.dataset):
        engines = [ReferenceEngine(query.dataset, {"visits": given}) for given in (rows, more)]
        try:
            found = compare(plan_query(replace(query, relation=relation), PureDP(1)), *engines)
        except InvalidParameter:
            continue
        for one in found:
            require(not one.is_exceeded, f"{one.what} moved by {one.moved}, {one.allowed} declared")


class _Loud(int):
    """A number that fails where it is compared or converted."""

    def _fail(self, *given: Any) -> Any:
        raise ValueError

    __int__ = __float__ = __le__ = __ge__ = __lt__ = __gt__ = _fail


def _cells() -> None:
    """Check that an added row adds one row, for any cell, and that nothing raises."""
    base: dict[Kind, list[Any]] = {Kind.TEXT: ["1", "x"], Kind.INTEGER: [2**53 + 1, 2], Kind.BOOLEAN: [True, False]}
    for kind, cells in base.items():
        table = Table("t", (Column("c", kind),), "t")
        asked = Aggregation(Scan(table), (Name("c"),), (CountRows(),))
        for more in ("x", 2.5, 7, True, None, _Loud(5), "\ud800", float("nan"), (1, 2), 1j):
            counts = []
            for given in (cells, [*cells, more]):
                rows = [{"c": value} for value in given]
                try:
                    found = ReferenceEngine(DataSet("d", (table,), ROW), {"t": rows}).aggregate(asked)
                except Exception as failure:
                    require(False, f"a cell of type {type(more).__name__} raises {type(failure).__name__}")
                    return
                counts.append(Counter(dict(zip(found.keys, (one for (one,) in found.measures), strict=True))))
            moved = sum(((counts[1] - counts[0]) + (counts[0] - counts[1])).values())
            require(moved == 1, f"a cell of type {type(more).__name__} changes how {moved - 1} others are read")


def _nothing(*given: Any, **named: Any) -> None:
    """Check nothing."""


def _one_type_for_all(before: Any, table: Any, reading: Any) -> Any:
    """Read the columns of a list of rows as arrays, which have one type each."""
    rows = reading.tables[table.name]
    arrays = {name: np.array([row[name] for row in rows]).tolist() for name in table.kinds}
    typed = [{name: cells[place] for name, cells in arrays.items()} for place in range(len(rows))]
    return before(table, type(reading)({table.name: typed}))


def _compared_first(before: Any, value: Any, kind: Any) -> Any:
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else before(value, kind)


def _with_rows_seen(before: Any, self: Any, X: Any, y: Any, **named: Any) -> Any:  # noqa: N803 - as scikit-learn has it
    fitted = before(self, X, y, **named)
    fitted.n_samples_seen_ = len(X)
    return fitted


def _with_means(before: Any, self: Any, X: Any, y: Any, **named: Any) -> Any:  # noqa: N803
    fitted = before(self, X, y, **named)
    fitted._centre = np.asarray(X).mean(axis=0)
    return fitted


def _warns_beyond_bounds(before: Any, self: Any, X: Any, y: Any) -> Any:  # noqa: N803
    if np.asarray(X).max() > 1:
        warnings.warn("values beyond the bounds are clipped", stacklevel=2)
    return before(self, X, y)


def _refuses_few(before: Any, self: Any, X: Any, y: Any) -> Any:  # noqa: N803
    if len(X) < 5:
        raise ValueError(f"{len(X)} rows are too few to learn from")
    return before(self, X, y)


def _truth_on_the_release(before: Any, mechanism: Any, data: Any, **named: Any) -> Any:
    out = before(mechanism, data, **named)
    object.__setattr__(out, "_exact", data)
    return out


ENTRANCES = (
    Mutant(
        78,
        "an estimator says how many rows it saw",
        "scikit-learn's n_samples_seen_",
        "the number of rows is private",
        "replay",
        lambda: mutated(f"{_BASE}.fit", _with_rows_seen),
        _estimators,
    ),
    Mutant(
        79,
        "an estimator keeps the means of its columns",
        "",
        "a hidden attribute is exact",
        "replay",
        lambda: mutated(f"{_BASE}.fit", _with_means),
        _estimators,
    ),
    Mutant(
        80,
        "a warning about values beyond the bounds",
        "",
        "fit warns because of one row",
        "replay",
        lambda: mutated(f"{_BASE}.prepare", _warns_beyond_bounds),
        _estimators,
    ),
    Mutant(
        81,
        "few rows are refused",
        "scikit-learn's check of the number of samples",
        "one row decides whether fit is refused",
        "replay",
        lambda: mutated(f"{_BASE}.prepare", _refuses_few),
        _estimators,
    ),
    Mutant(
        82,
        "the exact value beside the released one",
        "",
        "a release carries what it hides",
        "replay",
        lambda: mutated("tools.mutants.entrances:release", _truth_on_the_release),
        _releases,
    ),
    Mutant(
        83,
        "a query brings separate tables",
        "",
        "who a row is about, and what is public, is the analyst's word",
        "sensitivity",
        lambda: both(
            mutated("dither.data.joins:check_tables", _nothing),
            mutated("dither.data.engines.protocol:check_tables", _nothing),
        ),
        _tables,
    ),
    Mutant(
        84,
        "one type for all cells of a column",
        "pandas' categories and numpy's common types",
        "one cell changes how all others are read",
        "contract",
        lambda: mutated("dither.data.reference:_typed", _one_type_for_all),
        _cells,
    ),
    Mutant(
        85,
        "a cell of a separate class is compared as it is",
        "",
        "one cell makes a query fail",
        "contract",
        lambda: mutated("dither.data.reference:cell", _compared_first),
        _cells,
    ),
)
