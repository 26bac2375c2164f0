"""Records that a mechanism holds refuse hostile content, or the mechanism keeps its promise with it; with twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from dither.data.examples import some_visits

from dither.checks import ContractViolation, check_records
from dither.checks.records import records_in
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.learn.theory.concepts import Concepts
from dither.learn.theory.queries import Property
from dither.mechanisms import Composed, Example, Geometric, Numerics, PublicArray, find, registered
from dither.privacy import ROW, Plan, PureDP, Unit, Use
from dither.publish.queries.answer import Answer, plan_query
from dither.publish.queries.examples import clinic_query

ALL = sorted(registered())


@pytest.mark.parametrize("room", sorted({find(name).mechanism.__module__.rpartition(".")[0] for name in ALL}))
def test_every_record_that_a_mechanism_holds(room: str) -> None:
    seen: set[Any] = set()
    for name in ALL:
        if find(name).mechanism.__module__.rpartition(".")[0] == room:
            for example in find(name).examples():
                check_records(example, seen)
    assert seen


def strategies() -> Iterator[Any]:
    """Return a strategy of every kind over four cells that no example holds."""
    from dither.publish.workloads.matrices import Identity, Sparse, Total
    from dither.publish.workloads.p_identity import PIdentity
    from dither.publish.workloads.products import Kron, Union, Weighted
    from dither.publish.workloads.ranges import Ranges
    from dither.publish.workloads.trees import Hierarchy, NominalTree

    places = PublicArray(np.arange(4))
    yield Kron((Identity(2), Hierarchy(2)))
    yield Union((Identity(4), Total(4)))
    yield Weighted(Identity(4), Fraction(2))
    yield Hierarchy(4, 2, (1, 2, 3))
    yield NominalTree((2, 2))
    yield Sparse((4, 4), places, places, PublicArray(np.array([1, 2, 3, 4])))
    yield PIdentity(PublicArray(np.array([1, 2, 3, 4])), PublicArray(np.array([[1, 0, 1, 0]])))
    yield Union((Identity(4), Ranges(4, PublicArray(np.array([0])), PublicArray(np.array([1])))))


@pytest.mark.parametrize("matrix", list(strategies()), ids=lambda matrix: type(matrix).__name__)
def test_every_record_of_a_strategy(matrix: Any) -> None:
    from dither.publish.workloads.matrices import Identity
    from dither.publish.workloads.products import Kron
    from dither.publish.workloads.workload import Strategy, Workload

    example = next(iter(find("matrix-mechanism").examples()))
    asked = Workload(Kron((Identity(2), Identity(2))) if isinstance(matrix, Kron) else Identity(4))
    held: Any = replace(example.mechanism, workload=asked, strategy=Strategy(matrix))  # type: ignore[type-var]
    tables = tuple(
        (here.reshape(asked.domain), there.reshape(asked.domain), d) for here, there, d in example.neighbours
    )
    check_records(Example(held, example.data.reshape(asked.domain), tables))


@dataclass(frozen=True)
class Loose:
    """Weights of which only a factory checks the content."""

    weights: PublicArray

    def __post_init__(self) -> None:
        if not isinstance(self.weights, PublicArray) or self.weights.values.shape != (2,):
            raise InvalidParameter("weights", self.weights, "two numbers")


@dataclass(frozen=True, kw_only=True)
class LooselyWeighed(Composed[Any, int]):
    """Adds up rows by weights that are said to be zeros and ones."""

    name: ClassVar[str] = "loosely-weighed"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    weighed: Loose
    part: Geometric = Geometric(scale=1)

    def __post_init__(self) -> None:
        if not isinstance(self.weighed, Loose) or not isinstance(self.part, Geometric) or self.part.shape:
            raise InvalidParameter("weighed", self.weighed, "weights, and noise for one number")

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Any) -> Any:
        return run(self.part, int(self.weighed.weights.values[np.clip(data, 0, 1)].sum()))


@dataclass(frozen=True)
class Checked(Loose):
    """The same, checking itself."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isin(self.weights.values, (0, 1)).all():
            raise InvalidParameter("weights", self.weights, "two zeros or ones")


def test_a_record_that_only_its_factory_checks_is_found() -> None:
    rows = np.array([0, 1, 1])
    kept, slipped = (
        Example(LooselyWeighed(weighed=kind(PublicArray([0, 1]))), rows, ((rows, rows[1:], 1), (rows, rows[:2], 1)))
        for kind in (Checked, Loose)
    )
    with pytest.raises(ContractViolation, match="moved too far"):
        check_records(slipped)
    check_records(kept)


def test_tables_that_a_query_made_up_are_found_where_nothing_compares_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a relation says of its tables is tried; the other records are tried with every room above."""
    query = clinic_query("count", unit=person_unit("person"), groups="none")
    engine = ReferenceEngine(query.dataset, {"visits": some_visits()})
    example = Example(plan_query(query, PureDP(1)), engine, ())
    seen: Any = {
        (Answer, type(record), field.name, None)
        for _, record in records_in(example.mechanism)
        for field in fields(record)
    }
    check_records(example, set(seen))
    monkeypatch.setattr("dither.data.joins.check_tables", lambda *_, **__: None)
    with pytest.raises(ContractViolation, match="not the data set's own"):
        check_records(example, set(seen))


WEIGHTS = [
    np.array([[0, 2**50], [1, 0]]),
    np.array([[0, -1], [1, 0]]),
    np.array([[0, 0.5], [1, 0]]),
    np.array([[0.0, 1.0], [1.0, 0.0]]),
    np.array([0, 1]),
    np.array([[[0, 1]]]),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_an_analyst_weighs_no_row_more_than_once(weights: Any) -> None:
    for made in (lambda: Property(PublicArray(weights)), lambda: Property.of(weights)):
        with pytest.raises(InvalidParameter, match="holds"):
            made()
    with pytest.raises(InvalidParameter, match="rows"):
        Concepts("table", weights.shape[-1], PublicArray(weights))
    with pytest.raises(InvalidParameter):
        Concepts.table(weights)
    for content in (weights, weights.tolist(), None, 1):
        with pytest.raises(InvalidParameter, match="holds"):
            Property(content)


def test_properties_of_true_and_false_are_taken() -> None:
    table = np.array([[True, False], [False, True]])
    assert Property.of(table) == Property.of(table.astype(int)) == Property(PublicArray(table.astype(np.int64)))
    assert Concepts.table(table).predictions.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InvalidParameter, match="holds"):
        Property(PublicArray(table))


def test_an_item_counts_once_in_a_transaction_however_it_is_made() -> None:
    from dither.learn.itemsets import Transactions

    honest = Transactions.of(4, [[0, 1], [], [3]])
    repeated = Transactions(4, np.array([1, 0, 1, 1, 3, 9, -1]), np.array([0, 4, 4, 7]))
    assert (repeated.values.tolist(), repeated.offsets.tolist()) == (honest.values.tolist(), honest.offsets.tolist())
    for values, offsets in (([0], [0, 2]), ([0], [1, 1]), ([0, 1], [0, 2, 1, 2]), ([0], [])):
        with pytest.raises(InvalidParameter, match="offsets"):
            Transactions(4, np.array(values), np.array(offsets, dtype=np.int64))
    with pytest.raises(InvalidParameter, match="values"):
        Transactions(4, np.array([0.5]), np.array([0, 1]))
