"""Arrivals: the rows of a stream, as the integers that a query measures of them, tick by tick.

Nothing here draws, and nothing here is released. A row becomes its moment, whose it is, the group it belongs to, and
one integer for each measure, all computed by the engine from that row alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from dither.data import (
    Aggregated,
    Aggregation,
    Call,
    Case,
    Cast,
    CountOf,
    CountRows,
    Expression,
    Filter,
    Kind,
    Literal,
    Name,
    Project,
    Relation,
    Scan,
    Sum,
    Table,
)
from dither.data.expressions import kind_of
from dither.data.owners import table_of
from dither.data.relations import JoinPublic, Keep, person_columns
from dither.data.returned import Group, canonical, first_number, saturated
from dither.data.schema import FRAMES
from dither.data.ticks import Ticks
from dither.errors import InvalidParameter
from dither.publish.queries.groups import kept, key_kinds, positions, public_groups
from dither.publish.queries.measures import Measured
from dither.publish.queries.query import Query
from dither.publish.queries.statistics import Statistic, statistic_of

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_KEPT: Final = "unchanged, because a stream needs it of each row"
_ROW_WISE: Final = (Filter, Project, Keep, JoinPublic)


@dataclass(frozen=True)
class Batch:
    """Rows that have arrived: private. Equal ones stand once, with how often they came.

    Args:
        moments: microseconds since 1970.
        people: whose each row is, as a text; None where every row is a unit of its own.
        groups: the place of each row's group.
        numbers: a column for each measure.
        counts: how often each row came.

    """

    moments: NDArray[np.int64]
    people: tuple[Any, ...] | None
    groups: NDArray[np.int64]
    numbers: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.moments)

    def only(self, where: NDArray[Any]) -> Batch:
        """Return some of the rows: those of a mask, or of some places, in their order."""
        places = np.flatnonzero(where) if where.dtype == bool else where
        people = None if self.people is None else tuple(self.people[place] for place in places.tolist())
        return Batch(self.moments[places], people, self.groups[places], self.numbers[places], self.counts[places])


@dataclass(frozen=True)
class Arrivals:
    """What a query measures of the rows of a stream.

    Args:
        query: groups that are public, and aggregates made of sums and counts, over one table that is a stream.

    """

    query: Query

    def __post_init__(self) -> None:
        """Refuse what cannot be asked of a stream."""
        query = self.query
        if query.is_discovered:
            rule = "public: declare the categories or bounds of what is grouped by; a stream publishes all, every tick"
            raise InvalidParameter("groups", ", ".join(key.name for key in query.keys if key.values is None), rule)
        for aggregate, statistic in zip(query.aggregates, self._statistics, strict=True):
            if statistic is None or any(one.distinct is not None for one in statistic.measured):
                rule = "made of counts and sums: COUNT, SUM, AVG, VARIANCE and the like"
                raise InvalidParameter(aggregate.name, aggregate.function, rule)
        if query.relation.columns.get(self.ticks.time, Kind.DATE) not in (Kind.DATE, Kind.TIMESTAMP):
            rule = "a date or a timestamp still: it says when a row happened"
            raise InvalidParameter("columns of the subquery", self.ticks.time, rule)
        if self.table.owner is not None:
            raise InvalidParameter("table", self.table.name, "one with its own privacy id, to be a stream")
        if self.ticks.time not in query.relation.columns:
            raise InvalidParameter("columns of the subquery", self.ticks.time, _KEPT)
        if self.table.identifying and not person_columns(query.relation):
            # Another column of that name would part one person's rows, or mix those of several people.
            raise InvalidParameter("columns of the subquery", self.table.person, _KEPT)

    @cached_property
    def table(self) -> Table:
        """The table whose rows arrive."""
        relation: Relation = self.query.relation
        while isinstance(relation, _ROW_WISE):
            if isinstance(relation, JoinPublic) and relation.most is not None:
                raise InvalidParameter("join", "several public rows", "on the key of the public table, in a stream")
            relation = relation.relation
        if not isinstance(relation, Scan) or relation.table.stream is None:
            rule = "the rows of one table for which the schema declares a stream, without joins of private tables"
            table = table_of(relation)
            if table is not None:
                rule = f"{rule}: {table.name} has no 'stream' there"
            raise InvalidParameter("query", "several tables" if table is None else table.name, rule)
        return relation.table

    @property
    def is_fed(self) -> bool:
        """Whether a caller feeds the rows, and they are not read from a table."""
        return self.table.source == FRAMES

    @property
    def ticks(self) -> Ticks:
        """How rows arrive."""
        # As ``table`` has checked.
        return cast("Ticks", self.table.stream)

    @cached_property
    def _statistics(self) -> tuple[Statistic | None, ...]:
        columns, has_persons = self.query.relation.columns, self.query.dataset.protects_persons
        return tuple(statistic_of(one, columns, has_persons=has_persons) for one in self.query.aggregates)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """How each aggregate is made of what is measured."""
        return tuple(one for one in self._statistics if one is not None)

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """All that is measured, each once."""
        return tuple(dict.fromkeys(one for statistic in self.statistics for one in statistic.measured))

    @cached_property
    def groups(self) -> Sequence[Group]:
        """All groups, in their declared order."""
        return public_groups(self.query) or ((),)

    @cached_property
    def read_columns(self) -> tuple[Expression, ...]:
        """What is read of each row: its moment, whose it is, its group, its numbers."""
        # Whatever it is called by now: it is the privacy id of the table in every row.
        person = (Name(min(person_columns(self.query.relation))),) if self.table.identifying else ()
        numbers = tuple(_number_of(one, self.query.relation.columns) for one in self.measured)
        return (self._moment, *person, *(key.value for key in self.query.keys), *numbers)

    @property
    def _moment(self) -> Expression:
        """When a row happened: a date is its beginning."""
        time = Name(self.ticks.time)
        is_date = self.query.relation.columns[time.name] is Kind.DATE
        return Cast(time, Kind.TIMESTAMP) if is_date else time

    def asked(self, first: int, end: int) -> Aggregation:
        """Return the engine's aggregation for ticks from ``first`` to before ``end``."""
        time = self._moment
        begin = Call("at_least", (time, Literal(self.ticks.begin(first), Kind.TIMESTAMP)))
        before = Call("less", (time, Literal(self.ticks.begin(end), Kind.TIMESTAMP)))
        rows = Filter(kept(self.query, self.groups if self.query.keys else None), Call("and", (begin, before)))
        return Aggregation(rows, self.read_columns, (CountRows(),))

    def whole(self) -> Aggregation:
        """Return the engine's aggregation for all rows of what was fed."""
        return Aggregation(
            kept(self.query, self.groups if self.query.keys else None), self.read_columns, (CountRows(),)
        )

    @cached_property
    def _places(self) -> Mapping[Group, int]:
        return positions(self.groups, key_kinds(self.query)) if self.query.keys else {(): 0}

    def batch(self, answer: Aggregated) -> Batch:
        """Return what an engine read. Never raises because of what an engine returns; odd rows do not exist."""
        kinds = tuple(kind_of(one, self.query.relation.columns) for one in self.read_columns)
        has_person = bool(self.table.identifying)
        start, end = 1 + has_person, 1 + has_person + len(self.query.keys)
        moments: list[int] = []
        people: list[str] = []
        groups: list[int] = []
        numbers: list[list[int]] = []
        counts: list[int] = []
        for key, measures in zip(answer.keys, answer.measures, strict=False):
            row = canonical(key, kinds)
            if row is None or row[0] is None or (has_person and row[1] is None):
                continue
            place, count = self._places.get(row[start:end]), first_number(measures)
            if place is None or count < 1:
                continue
            moments.append((cast("datetime.datetime", row[0]) - _EPOCH) // _MICROSECOND)
            people.append(str(row[1]) if has_person else "")
            groups.append(place)
            numbers.append([saturated(number) for number in row[end:]])
            counts.append(count)
        table = np.array(numbers, dtype=np.int64).reshape(-1, len(self.measured))
        for column, one in enumerate(self.measured):
            # An engine computes within these ends; what it returns is not trusted with a sensitivity.
            np.clip(table[:, column], min(one.least, 0), max(one.most, 0), out=table[:, column])
        return Batch(
            np.array(moments, dtype=np.int64),
            tuple(people) if has_person else None,
            np.array(groups, dtype=np.int64),
            table,
            np.array(counts, dtype=np.int64),
        )

    @property
    def empty(self) -> Batch:
        """No rows."""
        return self.batch(Aggregated((), ()))

    def values(self, noisy: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Return each aggregate in every group, from a column of noisy integers for each measure."""
        places = {one: column for column, one in enumerate(self.measured)}
        return [one.values([noisy[:, places[part]] for part in one.measured]) for one in self.statistics]

    def enclosed(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return where each aggregate lies in every group, if each measure lies between ``low`` and ``high``."""
        places = {one: column for column, one in enumerate(self.measured)}
        return [
            one.enclosed(
                [low[:, places[part]] for part in one.measured], [high[:, places[part]] for part in one.measured]
            )
            for one in self.statistics
        ]


def _number_of(measured: Measured, columns: Mapping[str, Kind]) -> Expression:
    """Return the integer that one row adds to a measure."""
    one, none = Literal(1, Kind.INTEGER), Literal(0, Kind.INTEGER)
    measure = measured.measure
    if isinstance(measure, CountOf):
        is_counted: Expression = Call("not", (Call("is_null", (measure.value,)),))
        if kind_of(measure.value, columns) is Kind.BOOLEAN:
            is_counted = measure.value
        return Case(((is_counted, one),), none)
    return Call("coalesce", (measure.value, none)) if isinstance(measure, Sum) else one


def joined(batches: Sequence[Batch]) -> Batch:
    """Return all rows of some batches, of which there is at least one."""
    people = None if batches[0].people is None else tuple(one for batch in batches for one in batch.people or ())
    return Batch(
        np.concatenate([batch.moments for batch in batches]),
        people,
        np.concatenate([batch.groups for batch in batches]),
        np.concatenate([batch.numbers for batch in batches]),
        np.concatenate([batch.counts for batch in batches]),
    )
