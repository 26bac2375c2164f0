"""``OPTION (GROUPS = DISCOVERED)`` after a query: groups of a public domain are shown if enough people are in them.

Of a large public domain most groups are empty, and the largest of many noisy numbers are then mostly noise. A threshold
on the number of people costs a delta, and leaves those groups out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from dither.errors import Unanswerable
from dither.publish.queries.query import Query

_HIDDEN: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_OPTION: Final = re.compile(r"\bOPTION\s*\(\s*GROUPS\s*=\s*DISCOVERED\s*\)[\s;]*\Z", re.IGNORECASE)


def without_option(text: str) -> tuple[str, bool]:
    """Return a query without the option at its end, and whether it was there; quotes and comments say nothing.

    >>> without_option("SELECT age, COUNT(*) FROM visits GROUP BY age OPTION (GROUPS = DISCOVERED)")
    ('SELECT age, COUNT(*) FROM visits GROUP BY age', True)
    """
    seen = _HIDDEN.sub(lambda hidden: (" " if hidden.group()[0] in "-/" else "?") * len(hidden.group()), text)
    found = _OPTION.search(seen)
    return (text, False) if found is None else (text[: found.start()].rstrip(), True)


def discovered(query: Query) -> Query:
    """Return the query with groups that are discovered, whether or not their values are public."""
    if not query.keys:
        raise Unanswerable("OPTION (GROUPS = DISCOVERED) of a query without groups", "remove it, or add GROUP BY")
    return replace(query, keys=tuple(replace(key, values=None) for key in query.keys), key_values=None)
