"""Rehearse a query's answer before anything is charged: can it be shown, and how long may it get.

What is shown is made of released numbers, after the charge and after the draw. So it is tried in advance, on one group
that holds nothing, and the length of the whole is bounded from query and schema: the groups are public, and so is how
long each cell may be. Where groups are discovered their number is not known; as many rows are shown as fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from dither.data import Kind, Name
from dither.data.columns import ColumnRows
from dither.data.expressions import Expression
from dither.data.lengths import extent
from dither.data.returned import Group
from dither.errors import DitherError, InvalidParameter
from dither.exact import Number
from dither.lift.stored import check_length
from dither.mechanisms import PublicArray
from dither.publish.queries.answer import Answer, Answered
from dither.publish.queries.present import present
from dither.publish.queries.product_groups import ProductGroups
from dither.publish.queries.query import Aggregate
from dither.publish.queries.result import MANY_ROWS, QueryResult
from dither.publish.queries.stored_columns import LONGEST_IN_ARRAY, to_plain

#: The longest number, truth or moment in JSON: a real has 24 characters, a moment 40.
_LONGEST_CELL: Final = 40
#: What JSON makes of one character at most: two escapes of six.
_ESCAPED: Final = 12
#: What is noted where an answer was cut is shorter.
_LONGEST_NOTE: Final = 128


class Rehearsed(NamedTuple):
    """How long an answer may get.

    Args:
        length: bytes of JSON: of the longest answer, or where groups are discovered of one with a single row.
        is_cut: whether groups are discovered, so that as many rows are shown as fit.

    """

    length: int
    is_cut: bool


def rehearse(answer: Answer, *, confidence: Number = Fraction(19, 20), parameter: str = "query") -> Rehearsed:
    """Return how long an answer may get; reject one that could not be shown, or is too long to store, for any draw.

    Args:
        answer: the mechanism.
        confidence: of the intervals.
        parameter: what the caller calls the query.

    """
    reason = None
    try:
        shown = present(answer, nothing(answer), confidence=confidence)
        text = shown.to_json()
    except DitherError:
        raise
    except Exception as error:
        reason = type(error).__name__
    if reason is not None:
        raise InvalidParameter(parameter, f"outputs that end in {reason}", "one whose outputs can be computed")
    if answer.design.groups is None:
        return Rehearsed(len(text) + _LONGEST_NOTE, is_cut=True)
    return Rehearsed(_check_length(answer, shown, len(text), parameter), is_cut=False)


def _check_length(answer: Answer, shown: QueryResult, head: int, parameter: str) -> int:
    """Return the greatest length of an answer, with every cell at its longest; reject one that is too long."""
    query, groups = answer.query, answer.design.groups or ()
    rows = len(groups) if query.limit is None else min(len(groups), query.limit)
    widths = _key_widths(query.keys, groups)
    # In every row a value as shown and as drawn, and two ends that are numbers or null; brackets and commas.
    row = sum(
        4 * LONGEST_IN_ARRAY
        if rows >= MANY_ROWS and _is_array(expression, column.kind, answer, groups)
        else 4 * (2 + _LONGEST_CELL) + 2 * _cell(expression, column.kind, answer, widths)
        for column, (_, expression) in zip(shown.columns, query.outputs, strict=True)
    )
    check_length(parameter, rows, row, head)
    return head + rows * row


def nothing(answer: Answer) -> Answered:
    """Return what would be released for one group without rows and without noise."""
    design = answer.design
    group: Group = tuple(None for _ in answer.query.keys) if design.groups is None else design.groups[0]
    return Answered(
        (group,),
        tuple(PublicArray(np.zeros(1, dtype=np.int64)) for _ in design.measured),
        tuple(tuple(map(PublicArray, search.empty())) for search in design.searches),
        tuple(PublicArray(np.arange(pick.aggregate.many or 1)[None, :]) for pick in design.picks),
    )


def _is_array(expression: Expression, kind: str, answer: Answer, groups: Sequence[Group]) -> bool:
    """Whether an output of many rows is stored as an array: a number by itself, or a key without NULL."""
    if not isinstance(expression, Name) or kind not in (Kind.INTEGER.value, Kind.REAL.value):
        return False
    for place, key in enumerate(answer.query.keys):
        if key.name == expression.name:
            return isinstance(groups, ColumnRows) and isinstance(groups.columns[place], np.ndarray)
    return expression.name in answer.design.statistics


def _key_widths(keys: Sequence[Any], groups: Sequence[Group]) -> dict[str, tuple[int, int]]:
    """Return the longest value of every key, in characters and as JSON."""
    found = {}
    for place, key in enumerate(keys):
        column = groups.columns[place] if isinstance(groups, ColumnRows) else None
        if isinstance(column, np.ndarray) and column.dtype == np.int64:
            # Of integers the least or the largest is the longest.
            found[key.name] = 0, max(len(str(column.min())), len(str(column.max())))
            continue
        values = set(groups.lists[place]) if isinstance(groups, ProductGroups) else {group[place] for group in groups}
        letters = max((len(value) for value in values if isinstance(value, str)), default=0)
        found[key.name] = letters, max(len(json.dumps(to_plain(value))) for value in values)
    return found


def _cell(expression: Expression, kind: str, answer: Answer, keys: Mapping[str, tuple[int, int]]) -> int:
    """Return the greatest length of an output's cell as JSON."""
    picked: dict[str, Aggregate] = {name: pick.aggregate for name, pick in answer.design.picked.items()}
    if isinstance(expression, Name) and expression.name in keys:
        return keys[expression.name][1]
    if isinstance(expression, Name) and expression.name in picked:
        chosen = picked[expression.name]
        return 2 + (chosen.many or 1) * (2 + max(len(json.dumps(to_plain(value))) for value in chosen.values or ()))
    if kind != Kind.TEXT.value:
        return _LONGEST_CELL
    lengths = {name: letters for name, (letters, _) in keys.items()}
    for name, chosen in picked.items():
        lengths[name] = max((len(value) for value in chosen.values or () if isinstance(value, str)), default=0)
    return 2 + _ESCAPED * extent(expression, answer.query.released, lengths).longest
