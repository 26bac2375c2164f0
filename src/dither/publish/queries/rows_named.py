"""Which rows a request is about: a table by its name, or those of its rows that a condition leaves."""

from __future__ import annotations

from dither.data import Relation
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.publish.queries.sql import parse_sql


def named(table: str) -> str:
    """Return the name of a table; rows that a caller made are not a name, whatever they say of themselves."""
    if not isinstance(table, str):
        raise InvalidParameter("table", table, "the name of a table of the data set")
    return table


def rows_of(dataset: DataSet, table: str, where: str | None) -> str | Relation:
    """Return a table by its name, or those of its rows that a condition in SQL leaves."""
    if where is None:
        return named(table)
    name = dataset.table(named(table)).name
    # Read by our own parser into a closed tree; this text reaches no engine.
    query = parse_sql(f"SELECT COUNT(*) FROM {name} WHERE {where}", dataset)  # noqa: S608
    if query.keys or query.limit is not None or query.having is not None or len(query.outputs) != 1:
        raise InvalidParameter("where", where, "a condition alone")
    return query.relation
