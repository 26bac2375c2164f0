"""What a node is called in SQL, and which known word a misspelt one was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlglot import exp

_CALLED: Final = re.compile(r"[A-Za-z_]\w*(?=\s*\()")
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Arithmetic of dates, by the names that dialects have for it.
ADDING: Final = (
    *("date_add", "dateadd", "timestampadd", "timestamp_add", "datetime_add"),
    *("date_sub", "datesub", "timestamp_sub", "datetime_sub"),
)
TRUNCATING: Final = ("date_trunc", "datetrunc", "timestamp_trunc", "datetime_trunc")
SUBTRACTING: Final = ("date_diff", "datediff", "timestampdiff", "timestamp_diff", "datetime_diff")
#: Functions whose arguments the reader would rearrange, or drop, by the rules of one dialect.
KEPT: Final = frozenset(("decode", "div", *ADDING, *TRUNCATING, *SUBTRACTING))
#: Operators and clauses, whose nodes have names of the reader's own.
_WORDS: Final = MappingProxyType(
    {
        "bitwiseand": "&",
        "bitwiseor": "|",
        "bitwisexor": "XOR",
        "bitwisenot": "~",
        "bitwiseleftshift": "<<",
        "bitwiserightshift": ">>",
        "tuple": "a list in brackets",
        "array": "a list",
        "bracket": "a subscript",
        "struct": "a record",
        "map": "a map",
        "dot": "a name of several parts",
        "jsonextract": "->",
        "jsonextractscalar": "->>",
        "lambda": "->",
        "kwarg": "=>",
        "attimezone": "AT TIME ZONE",
        "regexplike": "a regular expression",
        "regexpilike": "a regular expression",
        "explode": "UNNEST",
        "in": "IN",
        "groupconcat": "STRING_AGG",
        "approxdistinct": "APPROX_COUNT_DISTINCT",
        "select": "SELECT",
        "subquery": "a subquery",
        "table": "a table",
        "tablesample": "TABLESAMPLE",
        "join": "JOIN",
        "group": "GROUP BY",
        "order": "ORDER BY",
        "ordered": "ORDER BY",
        "distinct": "DISTINCT",
        "window": "OVER (...)",
        "pivot": "PIVOT",
        "lateral": "LATERAL",
        "cte": "WITH",
        "values": "VALUES",
        "limit": "LIMIT",
        "fetch": "FETCH FIRST",
        "star": "*",
        "rand": "RANDOM",
        "cast": "CAST",
        "trycast": "TRY_CAST",
        "if": "IF",
        "case": "CASE",
        "column": "a column",
        "identifier": "a name",
        "aliases": "a list of names after an expression",
        "setitem": "SET",
        "var": "a word",
    }
)


#: Parts of clauses, which the reader calls by names of its own.
_CLAUSES: Final = MappingProxyType(
    {
        "method": "NATURAL, ASOF or another method of joining",
        "spec": "a frame of rows within a window (ROWS or RANGE)",
        "locks": "FOR UPDATE",
        "sample": "a sample of rows (TABLESAMPLE)",
        "pivots": "PIVOT",
        "laterals": "LATERAL",
        "match": "MATCH_RECOGNIZE",
        "windows": "WINDOW with a name",
        "operation_modifiers": "a word after SELECT",
        "hint": "a hint to an engine",
        "sort": "SORT BY",
        "cluster": "CLUSTER BY",
        "distribute": "DISTRIBUTE BY",
        "connect": "CONNECT BY",
        "except": "EXCEPT after a star",
        "replace": "REPLACE after a star",
        "rename": "RENAME after a star",
        "kind": "a word after SELECT",
        "direction": "this form of FETCH",
        "limit_options": "PERCENT or WITH TIES",
        "using": "USING",
        "on": "ON after DISTINCT",
        "global": "GLOBAL",
        "joins": "JOIN",
        "when": "a moment of the past (FOR SYSTEM_TIME)",
        "version": "a moment of the past (FOR SYSTEM_TIME)",
        "catalog": "a name of three parts",
        "alias": "an alias",
        "this": "this form",
        "expression": "this form",
        "expressions": "a list",
        "totals": "WITH TOTALS",
        "qualify": "QUALIFY",
        "offset": "OFFSET",
        "prewhere": "PREWHERE",
        "into": "INTO",
        "percent": "PERCENT",
        "rows": "ROWS",
        "with_ties": "WITH TIES",
        "ordinality": "WITH ORDINALITY",
        "only": "ONLY",
        "partition": "PARTITION",
        "changes": "CHANGES",
        "rows_from": "ROWS FROM",
        "hints": "a hint to an engine",
        "search": "SEARCH",
        "materialized": "MATERIALIZED",
    }
)


def clause_of(name: str) -> str:
    """Return what a part of a clause is called in SQL.

    >>> clause_of("locks"), clause_of("from_")
    ('FOR UPDATE', 'FROM')
    """
    plain = name.strip("_").lower()
    return _CLAUSES.get(plain) or plain.replace("_", " ").upper()


def called_in(text: str, node: exp.Expression) -> str | None:
    """Return the function that the analyst wrote for a node, None where it is no call."""
    if node.key == "anonymous":
        return str(node.name).lstrip("~").upper()[:60]
    start = node.meta.get("start")
    called = _CALLED.match(text, int(start)) if isinstance(start, int) else None
    return None if called is None else called.group().upper()[:60]


def word_of(text: str, node: exp.Expression) -> str:
    """Return what the analyst wrote for a function, or SQL's word for anything else; never a name of the reader's."""
    called = called_in(text, node)
    if called is not None:
        return called
    if node.key in _WORDS:
        return _WORDS[node.key]
    name = node.sql_name() if hasattr(node, "sql_name") else ""
    return str(name or _CAPITAL.sub(" ", type(node).__name__)).upper()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like another, if one is; never the same one again.

    >>> nearest("LOWERR", ["LOWER", "UPPER", "FLOOR"]), nearest("FROBNICATE", ["LOWER"])
    ('LOWER', None)
    """
    others = [other for other in known if other.upper() != word.upper()]
    found = difflib.get_close_matches(word.upper(), others, n=1, cutoff=0.76)
    return found[0] if found else None
