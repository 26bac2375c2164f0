"""Queries over tables that belong to people through references: groups that would be people, and where to look.

Joins along a reference are decided in ``dither.data.owners``; here is what a query says about them.
"""

from __future__ import annotations

from collections.abc import Sequence

from dither.data import DataSet, Name, Relation
from dither.data.owners import identifiers
from dither.errors import Unanswerable
from dither.publish.queries.query import Key


def refuse_group_a_person(dataset: DataSet, relation: Relation, keys: Sequence[Key]) -> None:
    """Refuse groups that are told apart by a whole key or reference: each would be about one person."""
    named = {key.value.name: key.name for key in keys if isinstance(key.value, Name)}
    for one in identifiers(dataset, relation) if relation.has_persons else ():
        if set(one.columns) <= set(named):
            shown = " and ".join(named[name] for name in one.columns)
            raise Unanswerable(
                f"a group for every value of {shown}, which says whose a row is through {one.table}, would be a row "
                "about every person",
                f"group by {shown} in a subquery and aggregate its rows, or group by something that people share",
            )


def references(dataset: DataSet) -> str:
    """Return the declared references as an example of what private tables may be joined on; empty without any."""
    found = [f"{table.name}.{table.owner}" for table in dataset.tables if table.owner is not None]
    return f", or on a whole declared reference ({', '.join(found[:3])})" if found else ""
