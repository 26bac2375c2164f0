"""Partition selection: a query that asks which values occur, and measures nothing.

All of its loss decides which groups are shown: those whose noisy number of people reaches a threshold. Declared values
are treated like any others, so that one that nobody has is not shown: which values are possible is in the schema, and
costs nothing to read there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dither.data.expressions import Value
from dither.errors import Unanswerable
from dither.publish.queries.query import Key


def selected(keys: Sequence[Key], key_values: Sequence[Sequence[Value]] | None) -> tuple[Key, ...]:
    """Return the keys of a query without aggregates: none of their values is known to occur.

    >>> from dither.data import Name
    >>> [key.values for key in selected([Key("ward", Name("ward"), ("a", "b"))], None)]
    [None]
    """
    if not keys:
        raise Unanswerable(
            "nothing is measured, and rows are never shown",
            "ask for COUNT(*), SUM, AVG, MEDIAN or another aggregate, with GROUP BY for groups",
        )
    if key_values is not None:
        raise Unanswerable(
            "the query only returns its own list of groups",
            "add COUNT(*) or another aggregate, or remove the list to discover which groups occur",
        )
    return tuple(replace(key, values=None) for key in keys)
