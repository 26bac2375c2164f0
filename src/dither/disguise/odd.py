"""Columns that may not be what they seem: holes, texts among numbers, dates, and identifiers that nobody spoke of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from dither.data.hints import role_of
from dither.disguise.reading import hints
from dither.disguise.roles import Roles
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter

#: Rows with a value of their own, as a share: a column with more of them may name people.
_NEARLY_ALL: Final = 0.5
#: How formulae begin.
_COMPUTED: Final = ("=", "+", "-", "@")
_WORDS: Final = {"identifier": "names people", "quasi": "others may know of people"}


def odd_columns(table: Table, roles: Roles) -> list[str]:
    """Return sentences about columns that may not be what they seem."""
    said = [f"Missing values of {name} count as a separate value." for name in roles.quasi if _has_holes(table[name])]
    return [*said, *hints(table, roles.quasi), *identifiers_left(table, roles), *_formulae(table, roles)]


def identifiers_left(table: Table, roles: Roles) -> list[str]:
    """Return a sentence for each column without a role that may name people: by its values, or by what it is called."""
    said = []
    alone = left_in(table, roles)
    for name in _without_role(table, roles):
        share = _own_values(table[name])
        if name in alone:
            said.append(f"Every row has another value of {name}, which stays: does it name people?")
        elif share > _NEARLY_ALL and not _is_measured(table[name]):
            said.append(f"{share:.1%} of the rows have their own value of {name}, which stays: does it name people?")
        elif (role := role_of(name)) in _WORDS:
            said.append(f"{name} is called like a column that {_WORDS[role]}, and stays as it is.")
    return said


def left_in(table: Table, roles: Roles) -> list[str]:
    """Return columns without a role that have another value in every row, and are no measurements."""
    return [
        name
        for name in _without_role(table, roles)
        if len(table) > 1
        and np.count_nonzero(np.bincount(table[name].codes)) == len(table)
        and not _is_measured(table[name])
    ]


def refuse_left_in(table: Table, roles: Roles) -> None:
    """Refuse a table with a column that may name people and that has no role; columns that are missing come first."""
    for name in (*roles.quasi, *roles.sensitive, *roles.identifiers, *roles.others):
        table[name]
    if silent := [name for name in left_in(table, roles) if name not in roles.others]:
        rule = f"a list with {', '.join(silent)}, where every row has another value; or list it under others"
        raise InvalidParameter("identifiers", ",".join(roles.identifiers) or None, rule)


def _without_role(table: Table, roles: Roles) -> Iterator[str]:
    named = {*roles.quasi, *roles.sensitive, *roles.identifiers}
    return (name for name in table.names if name not in named)


def _own_values(column: Column) -> float:
    """Return the share of rows that are there and have a value that no other row has."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    is_there = np.array([value is not None for value in column.values], dtype=np.bool_)
    present = int(counts[is_there].sum())
    return int(np.count_nonzero(counts[is_there] == 1)) / present if present > 1 else 0.0


def _formulae(table: Table, roles: Roles) -> list[str]:
    """Return a sentence for each column with a text that a spreadsheet would compute."""
    said = []
    for name in table.names:
        if name not in roles.identifiers:
            texts = [value for value in table[name].values if isinstance(value, str) and value[:1] in _COMPUTED]
            first = next((text for text in texts if Column.of([text]).numbers() is None), None)
            if first is not None:
                said.append(f"{name} has {first!r}, which a spreadsheet may take for a formula; it stays as it is.")
    return said


def _has_holes(column: Column) -> bool:
    return None in column.values and column.values.index(None) in column.codes


def _is_measured(column: Column) -> bool:
    """Return whether a column has numbers with digits behind a point, which name nobody."""
    return any(
        (isinstance(value, float) and bool(value % 1)) or (isinstance(value, str) and _has_point(value))
        for value in column.values
    )


def _has_point(text: str) -> bool:
    return "." in text and Column.of([text]).numbers() is not None
