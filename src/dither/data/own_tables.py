"""Every table that a relation reads is one of the data set's own, exactly as it is declared there.

What bounds a sensitivity stands in the schema: which column is the privacy id, which tables are public, between which
bounds values lie. A relation carries the tables that it reads, and anybody can make one. So a record that holds a data
set and a relation compares them, and every engine compares a request with the data set that it has opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from dither.data.base_relations import is_of_kind
from dither.data.public_rows import PublicScan
from dither.data.relations import (
    Bounded,
    Filter,
    JoinPersons,
    JoinPublic,
    Keep,
    PerPerson,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
)
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter

#: The closed tree: what stands directly below a relation of each class.
_BELOW: Final[dict[type[Relation], tuple[str, ...]]] = {
    Scan: (),
    PublicScan: (),
    **dict.fromkeys((JoinPersons, UnionAll), ("left", "right")),
    **dict.fromkeys((Filter, Project, JoinPublic, PerPerson, Window, Keep, Bounded), ("relation",)),
}
#: What a table declares, without where its rows are.
_DECLARED: Final = tuple(field.name for field in fields(Table) if field.name != "source")


def parts_of(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and all its parts; refuse objects outside the closed tree."""
    stack = [relation]
    while stack:
        part = stack.pop()
        below = ("relation",) if is_of_kind(part) else _BELOW.get(type(part))
        if below is None:
            raise InvalidParameter("relation", type(part).__name__, "one of the closed tree")
        yield part
        stack += [getattr(part, name) for name in below]


def check_tables(relation: Relation, dataset: DataSet, *, anywhere: bool = False) -> None:
    """Refuse a relation that reads a table outside the data set, or one that differs from its declaration.

    Args:
        relation: the private rows of a request.
        dataset: the data set of the request.
        anywhere: whether only what is declared of a table is compared, and not where its rows are: an engine takes
            these from its own data set, which may name a copy.

    >>> from dataclasses import replace
    >>> from dither.data import Column, Kind
    >>> from dither.data.schema import person_unit
    >>> visits = Table("visits", (Column("id", Kind.TEXT), Column("no", Kind.TEXT)), "visits.csv", person="id")
    >>> clinic = DataSet("clinic", (visits,), person_unit("id"), rows=1)
    >>> check_tables(Scan(visits), clinic)
    >>> check_tables(Scan(replace(visits, person="no")), clinic)
    Traceback (most recent call last):
    ...
    dither.errors.InvalidParameter: table must be a table of clinic as it is declared there, got 'visits'

    """
    for part in parts_of(relation):
        read = (part.table,) if isinstance(part, Scan | PublicScan | JoinPublic) else ()
        owners = part.owners or () if isinstance(part, Scan) else ()
        for table in (*read, *owners):
            if not is_own(table, dataset, anywhere):
                raise InvalidParameter("table", table.name, f"a table of {dataset.name} as it is declared there")


def is_own(table: Table, dataset: DataSet, anywhere: bool = False) -> bool:
    """Return whether a table is one of the data set's own, as it is declared there."""
    for own in dataset.tables:
        if table is own:
            return True
        # A foreign class could claim to equal anything.
        if type(table) is Table and table.name == own.name:
            return _declared(table) == _declared(own) if anywhere else table == own
    return False


def _declared(table: Table) -> tuple[object, ...]:
    # Nor under which names: in a copy the columns have those that are declared.
    return tuple(getattr(table.as_copied, name) for name in _DECLARED)
