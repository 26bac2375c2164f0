"""Public disjoint parts of private rows, each queried separately and priced in parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dither.data import Bounded, DataSet, Expression, Filter, Limits, Literal, OneOf, Relation
from dither.data.expressions import Value, kind_of
from dither.data.relations import rows_per_person
from dither.errors import InvalidParameter
from dither.publish.queries.partitioned import Part, Partitioned, number_of_part
from dither.publish.queries.terms import fitted

if TYPE_CHECKING:
    from dither.publish.queries.adaptive_parts import OpenPartition
    from dither.publish.queries.builder import Groups, Rows
    from dither.publish.queries.query import Query


class Partition:
    """Rows split into public disjoint parts: ``each`` sets the query of every part."""

    def __init__(
        self, source: Rows, by: Expression, parts: Mapping[str, tuple[Value, ...]], groups: int | None
    ) -> None:
        self._source, self._by, self._parts, self._groups = source, by, dict(parts), groups

    def each(self, ask: Callable[[Rows], Groups]) -> PartitionedGroups:
        """Set the same query for every part."""
        return PartitionedGroups(self, dict.fromkeys(self._parts, ask))

    def ask(self, **asks: Callable[[Rows], Groups]) -> PartitionedGroups:
        """Set a different query for every part, by its label."""
        if set(asks) != set(self._parts):
            raise InvalidParameter("parts", sorted(asks), f"set for all of {', '.join(self._parts)}")
        return PartitionedGroups(self, dict(asks))

    def rows(self, dataset: DataSet) -> tuple[Relation, Expression]:
        """Return the rows of all parts, bounded to as many parts a person as count, and what decides.

        The bound stands below the condition of a part. A limit that is applied in each part leaves a person in all of
        them; ``rows`` of a person in all lie in as many parts at most.
        """
        below = self._source.relation(dataset)
        by = fitted(self._by, below.columns)
        kind = kind_of(by, below.columns)
        values = tuple(Literal(value, kind) for part in self._parts.values() for value in part)
        source: Relation = Filter(below, OneOf(by, values))
        if not dataset.protects_persons:
            return source, by
        groups = self._groups if self._groups is not None else dataset.groups
        most = len(self._parts) if groups is None else min(groups, len(self._parts))
        if self._groups is None and dataset.rows is not None and dataset.rows < most:
            known = rows_per_person(source)
            if known is None or known > dataset.rows:
                source = Bounded(source, (), Limits(rows=dataset.rows), tuple(below.columns))
        elif most < len(self._parts):
            part_of = number_of_part(by, list(self._parts.values()), kind)
            source = Bounded(source, (part_of,), Limits(groups=most), tuple(below.columns))
        return source, by

    def open(self, dataset: DataSet) -> OpenPartition:
        """Return the parts, to be asked one after the other."""
        from dither.publish.queries.adaptive_parts import OpenPartition

        source, by = self.rows(dataset)
        return OpenPartition(dataset, source, by, tuple(self._parts.items()))


def query_of_part(partition: OpenPartition, label: str, ask: Callable[[Rows], Groups]) -> Query:
    """Return what a question asks of the rows of one part.

    Args:
        partition: the parts.
        label: which part.
        ask: makes the query of its rows.

    """
    from dither.publish.queries.builder import Rows

    return ask(Rows.of(partition.rows(label))).build(partition.dataset)


class PartitionedGroups:
    """The queries of the parts; ``build`` makes the record that is priced by parallel composition."""

    def __init__(self, partition: Partition, asks: Mapping[str, Callable[[Rows], Groups]]) -> None:
        self._partition, self._asks = partition, asks

    def build(self, dataset: DataSet) -> Partitioned:
        """Return the queries of all parts."""
        split = self._partition
        source, by = split.rows(dataset)
        kind, parts = kind_of(by, source.columns), []
        for label, ask in self._asks.items():
            mine = Filter(source, OneOf(by, tuple(Literal(value, kind) for value in split._parts[label])))
            query = ask(split._source.of(mine)).build(dataset)
            parts.append(Part(label, split._parts[label], query))
        return Partitioned(dataset, source, by, tuple(parts))
