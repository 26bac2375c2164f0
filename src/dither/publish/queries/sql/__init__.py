"""SQL to queries: sqlglot parses a text, which is translated, node by node, into our own closed tree.

``words`` reads what other dialects write before the parser, ``parse`` the text, ``scope`` resolves names,
``expressions``, ``functions``, ``dates`` and ``further`` translate scalars, ``aggregates`` reads aggregate functions,
``rows`` and ``persons`` say which private rows count, ``grouping``, ``per_group`` and ``select`` make the query,
``privacy_clause`` checks what it says of itself, ``unknown`` refuses the rest. Only SQL that an engine's emitter prints
from the closed tree ever reaches an engine.
"""

from dither.publish.queries.sql.parse import Statement, parse_statement
from dither.publish.queries.sql.privacy_clause import agreed_loss
from dither.publish.queries.sql.request import parse_request
from dither.publish.queries.sql.select import parse_sql

__all__ = ["Statement", "agreed_loss", "parse_request", "parse_sql", "parse_statement"]
