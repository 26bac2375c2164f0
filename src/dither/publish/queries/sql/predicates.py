"""Which parts of a condition are about a subquery: IN, EXISTS, = ANY and <> ALL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dither.data import Call, Expression

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Predicate:
    """IN or EXISTS: the node, the values that are sought (none for EXISTS), the subquery, and whether it is NOT IN."""

    node: exp.Expression
    values: tuple[exp.Expression, ...]
    select: exp.Expression
    is_negated: bool = False


def predicate_of(node: exp.Expression) -> Predicate | None:
    """Return the condition on a subquery that a node is."""
    if node.key == "exists":
        return Predicate(node, (), bare(node.this))
    if node.key == "in" and node.args.get("query") is not None:
        return Predicate(node, _tuple(node.this), bare(node.args["query"]))
    quantified = {"eq": "any", "neq": "all"}.get(node.key)
    if quantified is not None and node.expression.key == quantified:
        select = bare(node.expression.this)
        if select.key in ("select", "union", "except", "intersect"):
            return Predicate(node, _tuple(node.this), select, node.key == "neq")
    return None


def predicates_in(node: exp.Expression) -> Iterator[Predicate]:
    """Yield the conditions on subqueries below a node, without entering subqueries."""
    stack = [node]
    while stack:
        part = stack.pop()
        found = predicate_of(part)
        if found is not None:
            yield found
        elif part.key not in ("select", "subquery", "union", "except", "intersect"):
            stack += list(part.iter_expressions())[::-1]


def bare(node: exp.Expression) -> exp.Expression:
    """Return what stands in brackets."""
    while node.key in ("subquery", "paren"):
        node = node.this
    return node


def _tuple(node: exp.Expression) -> tuple[exp.Expression, ...]:
    node = bare(node) if node.key == "paren" else node
    return tuple(node.expressions) if node.key == "tuple" else (node,)


def opposite(truth: Expression) -> Expression:
    """Return the condition that another one is false."""
    is_not = isinstance(truth, Call) and truth.function == "not"
    return truth.children()[0] if is_not else Call("not", (truth,))


def has_window(select: exp.Expression) -> bool:
    """Return whether a SELECT shows a window."""
    return any(node.key == "window" for item in select.expressions for node in item.walk())
