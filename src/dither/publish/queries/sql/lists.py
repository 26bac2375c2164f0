"""Lists in FROM: ``UNNEST([1, 2, 3])``, ``UNNEST(STRING_SPLIT(note, ',')[1:3])``, ``(VALUES (1, 'a'), (2, 'b'))``.

A list has a number of elements that the text of the query says. So each row of a person becomes at most that many rows
of the same person: the union of the rows with the first element, the rows with the second, and so on. Every element is
an expression of the row, and a part of a text exists where there are as many separators before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dither.data import Expression, Kind, Literal, Name, Relation, Scan, UnionAll
from dither.data.joins import MOST_READ
from dither.data.own_tables import parts_of
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import filtered, free_name, projected
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.numbers import whole_number
from dither.publish.queries.sql.scope import Scope, Source
from dither.publish.queries.sql.sources import parts_of_condition
from dither.publish.queries.sql.unions import converted, wider

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.parse import Parsed
    from dither.publish.queries.sql.rows import Rows

#: The most elements, as a union has sides.
MOST_ELEMENTS: Final = MOST_READ
_LISTS: Final = "write UNNEST([1, 2, 3]), or UNNEST(STRING_SPLIT(x, ',')[1:5]) for the first five parts of a string"


@dataclass(frozen=True)
class List:
    """A list in FROM: its name, those of its columns, and for each element a condition and a value of each column."""

    node: exp.Expression
    alias: str
    columns: tuple[str, ...]
    elements: tuple[tuple[exp.Expression | None, tuple[exp.Expression, ...]], ...]


def without_lists(
    rows: Rows, first: exp.Expression, joins: Sequence[exp.Expression]
) -> tuple[exp.Expression, list[exp.Expression], list[tuple[List, list[exp.Expression]]]]:
    """Return FROM without its lists; and these, each with the parts of its condition."""
    kept = list(joins)
    found: list[tuple[List, list[exp.Expression]]] = []
    if is_list(first) and kept and not any(kept[0].args.get(part) for part in ("on", "using", "side", "method")):
        found.append((_read(rows.parsed, first), []))
        first = kept.pop(0).this
    for join in [join for join in kept if is_list(join.this)]:
        rows.only(join, "this", "kind", "on", "side", "method")
        kind, side, method = (str(join.args.get(part) or "").upper() for part in ("kind", "side", "method"))
        if side or method or kind not in ("", "CROSS", "INNER"):
            what = " ".join(word for word in (method, side, kind) if word)
            rows.parsed.refuse(join, f"{what} JOIN of a list", "write CROSS JOIN, or JOIN ... ON")
        on = join.args.get("on")
        found.append((_read(rows.parsed, join.this), [] if on is None else parts_of_condition(on)))
        kept = [other for other in kept if other is not join]
    return first, kept, found


def with_list(rows: Rows, scope: Scope, one: List) -> Scope:
    """Return the rows of a scope, once with each element of a list."""
    if any(source.alias.lower() == one.alias.lower() for source in scope.sources):
        rule = "different from the others in FROM"
        raise InvalidParameter(f"alias at {rows.parsed.place(one.node)}", one.alias, rule)
    if not scope.relation.has_persons and len(one.elements) > 1:
        rows.parsed.refuse(
            one.node,
            "a row would become several, and each row is its own unit",
            "ask a query for each element, or declare the privacy id of the table",
        )
    # Before the union is made: several lists would make one of as many sides as the product of their elements.
    read = sum(isinstance(part, Scan) for part in parts_of(scope.relation)) * len(one.elements)
    if read > MOST_READ:
        rows.parsed.refuse(
            one.node,
            f"a list whose elements read {read} times a table, more than {MOST_READ} private tables in all",
            "split the query, or declare a public table with a row for each element and join it",
        )
    scalars = rows.scalars(scope)
    inner: list[str] = []
    for name in one.columns:
        inner.append(free_name(f"{one.alias}_{name}", [*scope.relation.columns, *inner]))
    values = [[scalars.value(value) for value in part] for _, part in one.elements]
    values = [
        list(row) for row in zip(*(_alike(rows, one, column) for column in zip(*values, strict=True)), strict=True)
    ]
    made: list[Relation] = []
    for (condition, _), part in zip(one.elements, values, strict=True):
        below = scope.relation
        if condition is not None:
            below = filtered(below, scalars.condition(condition))
        outputs: list[tuple[str, Expression]] = [(name, Name(name)) for name in scope.relation.columns]
        made.append(projected(below, [*outputs, *zip(inner, (value.expression for value in part), strict=True)]))
    source = Source(one.alias, tuple(zip(one.columns, inner, strict=True)))
    return replace(scope, relation=_together(made), sources=(*scope.sources, source))


def list_as_select(parsed: Parsed, node: exp.Expression) -> tuple[str, exp.Expression]:
    """Return the name of a list beside released or public rows, and a query of its rows: constants that are united."""
    from sqlglot import exp

    one = _read(parsed, node)
    sides: list[Any] = []
    for condition, values in one.elements:
        if condition is not None:
            parsed.refuse(node, "parts of a string beside released or public rows", "write the list out")
        items = [exp.alias_(value.copy(), name) for name, value in zip(one.columns, values, strict=True)]
        sides.append(exp.Select(expressions=items))
    while len(sides) > 1:
        pairs = [sides[place : place + 2] for place in range(0, len(sides), 2)]
        sides = [
            exp.Union(this=pair[0], expression=pair[-1], distinct=False) if len(pair) == 2 else pair[0]
            for pair in pairs
        ]
    parsed.made += sides  # what is known of a tree is known by its identity
    return one.alias, sides[0]


def is_list(node: exp.Expression) -> bool:
    """Return whether what stands in FROM is a list."""
    return node.key in ("unnest", "values") or (node.key == "lateral" and node.this.key == "unnest")


def _read(parsed: Parsed, node: exp.Expression) -> List:
    """Return a list that stands in FROM."""
    given = node.args.get("alias")
    unnest = node.this if node.key == "lateral" else node
    if unnest.args.get("offset"):
        parsed.refuse(
            node, "WITH OFFSET of a list", "write what is meant as a second column: (VALUES (0, 'a'), (1, 'b'))"
        )
    alias = given.name if given is not None and given.name else "unnest"
    columns = [] if given is None else [column.name for column in given.args.get("columns") or ()]
    if node.key == "values":
        rows_given = [list(part.expressions) for part in node.expressions]
        width = len(rows_given[0])
        if any(len(part) != width for part in rows_given):
            parsed.refuse(node, "VALUES with rows of different length", "write the same number of values in each row")
        elements: list[tuple[Any, Any]] = [(None, tuple(part)) for part in rows_given]
    else:
        if len(unnest.expressions) != 1:
            parsed.refuse(node, "UNNEST of several lists", "write one of them, or VALUES with several columns")
        elements = [(condition, (value,)) for condition, value in _elements(parsed, unnest.expressions[0])]
        width = 1
    names = [*columns, *(f"col{place}" for place in range(len(columns), width))] if node.key == "values" else columns
    if node.key != "values" and not names:
        names = [alias]  # a list of one column is called as its column
    if len(names) != width:
        raise InvalidParameter("list of columns", f"{len(names)} names", f"{width}, one for each column of the list")
    if not 1 <= len(elements) <= MOST_ELEMENTS:
        parsed.refuse(
            node,
            f"a list of {len(elements)} elements",
            f"write 1 to {MOST_ELEMENTS}, or declare a public table with a row for each element and join it",
        )
    return List(node, alias, tuple(names), tuple(elements))


def _elements(parsed: Parsed, node: Any) -> list[tuple[exp.Expression | None, exp.Expression]]:
    """Return what a list is made of, each element with the condition on which it exists."""
    from sqlglot import exp

    node = node.unnest()
    if node.key == "array":
        return [(None, part) for part in node.expressions]
    if node.key == "generateseries":
        return [(None, exp.Literal.number(number)) for number in _series(parsed, node)]
    inner = node
    first: int | None = 1
    last: int | None = None
    if node.key == "bracket" and len(node.expressions) == 1 and node.expressions[0].key == "slice":
        sliced, inner = node.expressions[0], node.this.unnest()
        is_plain = sliced.args.get("step") is None
        first = 1 if sliced.args.get("this") is None else _number(sliced.this)
        last = _number(sliced.args.get("expression")) if is_plain else None
    if inner.key not in ("split", "stringtoarray"):
        parsed.refuse(
            node,
            "UNNEST of anything but a list that is written out or the parts of a string: a column holds one value",
            f"{_LISTS}; or declare a table with a row for each element, and join it on the privacy id",
        )
    separator = inner.args.get("expression")
    if last is None or first is None or not 1 <= first <= last:
        parsed.refuse(
            node,
            "UNNEST of the parts of a string without a number of them: one person could have any number of rows",
            "take the first ones: UNNEST(STRING_SPLIT(x, ',')[1:5])",
        )
    if separator is None or separator.key != "literal" or not separator.is_string or not separator.name:
        parsed.refuse(node, "parts of a string without a constant separator", "write STRING_SPLIT(x, ',')")
    if last - first >= MOST_ELEMENTS:
        parsed.refuse(node, f"{last - first + 1} parts of a string", f"take at most {MOST_ELEMENTS}")
    return [_part_of_text(inner.this, separator, place) for place in range(first, last + 1)]


def _part_of_text(text: Any, separator: Any, place: int) -> tuple[exp.Expression, exp.Expression]:
    """Return a part of a text, and whether there are as many separators before it."""
    from sqlglot import exp

    part = exp.SplitPart(this=text.copy(), delimiter=separator.copy(), part_index=exp.Literal.number(place))
    if place == 1:
        return exp.Not(this=exp.Is(this=text.copy(), expression=exp.Null())), part
    without = exp.Replace(this=text.copy(), expression=separator.copy(), replacement=exp.Literal.string(""))
    taken = exp.Sub(this=exp.Length(this=text.copy()), expression=exp.Length(this=without))
    return exp.GTE(this=taken, expression=exp.Literal.number((place - 1) * len(separator.name))), part


def _series(parsed: Parsed, node: Any) -> list[int]:
    """Return the numbers of GENERATE_SERIES or RANGE over constants."""
    start, end = (_number(node.args.get(part)) for part in ("start", "end"))
    step = 1 if node.args.get("step") is None else _number(node.args["step"])
    if start is None or end is None or not step:
        parsed.refuse(node, "a series without constant ends", "write GENERATE_SERIES(1, 5)")
    last = end if node.args.get("is_end_exclusive") else end + (1 if step > 0 else -1)
    return list(itertools.islice(range(start, last, step), MOST_ELEMENTS + 1))


def _number(node: Any) -> int | None:
    """Return an integer constant, which may be below 0."""
    if node is not None and node.key == "neg":
        found = _number(node.this)
        return None if found is None else -found
    if node is None or node.key != "literal" or node.is_string:
        return None
    return whole_number(str(node.this), 10**9)


def _alike(rows: Rows, one: List, values: Sequence[Typed]) -> list[Typed]:
    """Return values of one kind; NULL alone is of any kind."""
    kinds = {value.kind for value in values if value.kind is not None}
    wanted = next(iter(kinds)) if len(kinds) == 1 else wider(kinds)
    if wanted is None:
        shown = " and ".join(sorted(kind.value for kind in kinds))
        rule = f"a list of one kind, not of {shown}: write CAST"
        raise InvalidParameter(f"list at {rows.parsed.place(one.node)}", one.alias, rule)
    scalars = Scalars(rows.parsed, lambda node: Typed(Literal(None, Kind.TEXT), None), lambda node: None)
    return [
        value
        if value.kind is wanted
        else Typed(converted(value.expression, value.kind, wanted), wanted)
        if not isinstance(value.expression, Literal) or value.kind is None
        else scalars.converted(one.node, value, wanted)
        for value in values
    ]


def _together(sides: list[Relation]) -> Relation:
    """Return the union of relations with the same columns, as a shallow tree."""
    while len(sides) > 1:
        pairs = [sides[place : place + 2] for place in range(0, len(sides), 2)]
        sides = [UnionAll(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return sides[0]
