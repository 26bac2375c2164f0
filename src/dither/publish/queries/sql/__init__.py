"""SQL to queries: sqlglot parses a text, which is translated, node by node, into our own closed tree.

``parse`` reads the text, ``scope`` resolves names, ``expressions`` and ``functions`` translate scalars, ``aggregates``
reads aggregate functions, ``rows`` and ``persons`` say which private rows count, ``grouping`` and ``select`` make the
query. Only SQL that an engine's emitter prints from the closed tree ever reaches an engine.
"""

from dither.publish.queries.sql.parse import Statement, parse_statement
from dither.publish.queries.sql.request import parse_request
from dither.publish.queries.sql.select import parse_sql

__all__ = ["Statement", "parse_request", "parse_sql", "parse_statement"]
