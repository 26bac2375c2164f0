"""The identity of a table's rows on a PostgreSQL server: the same for every host, user, spelling or view."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from psycopg import Connection

#: A table with all that it reads: the tables below a view, and the partitions below a table.
_RELATIONS: Final = """
WITH RECURSIVE reads(relation) AS (
  SELECT to_regclass(%s)::oid
  UNION
  SELECT below.relation FROM reads CROSS JOIN LATERAL (
    SELECT d.refobjid AS relation FROM pg_rewrite w JOIN pg_depend d
      ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
      WHERE w.ev_class = reads.relation
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = reads.relation
  ) AS below
)
SELECT d.oid::bigint, c.oid::bigint FROM reads JOIN pg_class c ON c.oid = reads.relation
  JOIN pg_database d ON d.datname = current_database()
  WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') ORDER BY c.oid
"""


def places_of(connection: Connection[Any], relation: str) -> tuple[str, ...]:
    """Return server, database and number of a relation and of all relations that it reads.

    Args:
        connection: to the database.
        relation: its full quoted name.

    """
    found = connection.execute(_RELATIONS, (relation,)).fetchall()
    return tuple(
        f"postgresql {server} {database} {number}" for server in _servers(connection) for database, number in found
    )


def _servers(connection: Connection[Any]) -> list[str]:
    """Return the address that was reached and, if this role may read it, the identifier of the cluster."""
    info = connection.info
    names = [f"{info.hostaddr or info.host}:{info.port}"]
    with contextlib.suppress(Exception):
        told = connection.execute("SELECT system_identifier::text FROM pg_control_system()").fetchone()
        names += [] if told is None else [str(told[0])]
    return names
