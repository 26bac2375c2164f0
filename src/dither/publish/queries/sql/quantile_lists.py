"""``APPROX_QUANTILES(x, n)``: n + 1 quantiles, as columns of their own.

An answer has numbers and not lists. So ``APPROX_QUANTILES(x, 4) AS q`` stands for the columns ``q_0`` to ``q_4``, the
quantiles 0, 1/4 to 1, and ``APPROX_QUANTILES(x, 4)[OFFSET(2)]`` for the quantile 2/4. Where a query around it takes
``q[OFFSET(2)]``, that is the column ``q_2``, and no others are measured. ``[2]`` counts from 0, as ``OFFSET`` does and
as in the systems that have this function; ``ORDINAL`` counts from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dither.publish.queries.sql.numbers import whole_number

if TYPE_CHECKING:
    from dither.publish.queries.sql.parse import Parsed

#: As many aggregates as a query may have.
_MOST_SHOWN: Final = 255
_FINEST: Final = 10**6
_PLACES: Final = {"offset": 0, "safe_offset": 0, "ordinal": 1, "safe_ordinal": 1}


def with_quantile_lists(parsed: Parsed, tree: Any) -> None:
    """Replace lists of quantiles by single ones, in place."""
    shown: list[tuple[Any, Any]] = []  # a call, and the item of SELECT that it makes
    for call in [node for node in tree.walk(bfs=False) if node.key == "approxquantiles"]:
        if call.parent.key == "ignorenulls":
            call.parent.replace(call)  # which all aggregates do
        outer = call
        while outer.parent.key in ("paren", "filter"):
            outer = outer.parent
        above = outer.parent
        if above.key == "bracket" and outer is above.this:
            above.replace(_with_quantile(parsed, outer, _place(parsed, above)))
            continue
        item = above if above.key == "alias" else outer
        if item.parent.key != "select" or item.arg_key != "expressions":
            parsed.refuse(
                call,
                "APPROX_QUANTILES gives a list, and nothing is computed from a list",
                "take one of its values: APPROX_QUANTILES(x, 4)[OFFSET(2)]",
            )
        shown.append((call, item))
    if shown:
        _spread(parsed, tree, shown)


def _spread(parsed: Parsed, tree: Any, shown: list[tuple[Any, Any]]) -> None:
    """Make columns of lists that SELECT shows, and names of what is taken from these lists elsewhere."""
    from sqlglot import exp

    names = _named(shown)
    taken: dict[str, set[int]] = {}
    for bracket in [node for node in tree.walk() if node.key == "bracket" and node.this.key == "column"]:
        name = bracket.this.name.lower()
        if name in {name.lower() for name in names}:
            place = _place(parsed, bracket)
            taken.setdefault(name, set()).add(place)
            column = bracket.this.copy()
            column.set("this", exp.to_identifier(f"{bracket.this.name}_{place}", quoted=True))
            column.this.meta.update(bracket.this.this.meta)
            bracket.replace(column)
    for (call, item), name in zip(shown, names, strict=True):
        many = _many(parsed, call)
        places = sorted(taken.get(name.lower(), range(many + 1)))
        if len(places) > _MOST_SHOWN + 1:
            parsed.refuse(
                call,
                f"a list of {len(places)} quantiles, where an answer has at most {_MOST_SHOWN + 1} columns of numbers",
                "take those that are needed: APPROX_QUANTILES(x, 1000)[OFFSET(990)]",
            )
        made = []
        for place in places:
            one = _with_quantile(parsed, item.unalias(), place)
            made.append(exp.alias_(one, f"{name}_{place}", quoted=True, copy=False))
        _insert(parsed, item, made)


def _insert(parsed: Parsed, item: Any, made: list[Any]) -> None:
    """Put columns in the place of one item of SELECT; positions in GROUP BY and ORDER BY go with their columns."""
    from sqlglot import exp

    select, place = item.parent, item.index
    for clause in ("group", "order"):
        given = select.args.get(clause)
        for part in given.expressions if given is not None else ():
            node = part.this if part.key == "ordered" else part
            position = whole_number(str(node.this), 10**6) if node.key == "literal" and not node.is_string else None
            if position == place + 1:
                parsed.refuse(item, "rows are not put in order by a list", "order by one of its values")
            if position is not None and position > place + 1:
                node.replace(exp.Literal.number(position + len(made) - 1))
    items = select.expressions
    select.set("expressions", [*items[:place], *made, *items[place + 1 :]])


def _named(shown: list[tuple[Any, Any]]) -> list[str]:
    """Return what the columns of each list are called."""
    names: list[str] = []
    for _, item in shown:
        name, number = str(item.alias) if item.key == "alias" else "quantile", 1
        while item.key != "alias" and name in names:
            number += 1
            name = f"quantile_{number}"
        names.append(name)
    return names


def _with_quantile(parsed: Parsed, outer: Any, place: int) -> Any:
    """Return a copy of what stands around a call, with the quantile at a place of its list instead."""
    from sqlglot import exp

    whole = outer.unnest().copy()
    call = next(node for node in whole.walk() if node.key == "approxquantiles")
    many = _many(parsed, call)
    if not 0 <= place <= many:
        parsed.refuse(call, f"place {place} of {many + 1} quantiles", f"write a place from 0 to {many}")
    share = exp.Div(this=exp.Literal.number(place), expression=exp.Literal.number(many))
    made = exp.ApproxQuantile(this=call.this, quantile=share)
    if call is whole:
        return made
    call.replace(made)
    return whole


def _many(parsed: Parsed, call: Any) -> int:
    """Return n of ``APPROX_QUANTILES(x, n)``."""
    if call.this is not None and call.this.key == "distinct":
        parsed.refuse(
            call,
            "APPROX_QUANTILES(DISTINCT ...) depends on which values other people have",
            "remove DISTINCT, or make values different within each person: SELECT DISTINCT id, x in a subquery",
        )
    given = call.args.get("expression")
    many = (
        None if given is None or given.key != "literal" or given.is_string else whole_number(str(given.this), _FINEST)
    )
    if not many:
        parsed.refuse(call, f"APPROX_QUANTILES without a number from 1 to {_FINEST}", "write APPROX_QUANTILES(x, 4)")
    return many


def _place(parsed: Parsed, bracket: Any) -> int:
    """Return which value of a list is taken, from 0."""
    (given,) = bracket.expressions if len(bracket.expressions) == 1 else (None,)
    first = None
    if given is not None and given.key == "anonymous" and len(given.expressions) == 1:
        first, given = _PLACES.get(str(given.this).lower()), given.expressions[0]
    elif given is not None:
        first = -1  # the reader took 1 from a plain number, because its own dialect counts from 1
    is_negative = given is not None and given.key == "neg"
    literal = given.this if given is not None and is_negative else given
    if first is None or literal is None or literal.key != "literal" or literal.is_string:
        parsed.refuse(bracket, "a value of a list without its number", "write APPROX_QUANTILES(x, 4)[OFFSET(2)]")
    number = whole_number(str(literal.this), _FINEST + 1)
    if number is None:
        parsed.refuse(bracket, "a value of a list without its number", "write APPROX_QUANTILES(x, 4)[OFFSET(2)]")
    return (-number if is_negative else number) - first
