"""Sums, differences and products of decimal constants, computed exactly: ``0.06 + 0.01`` is 0.07, as SQL says.

In binary numbers it would be a little less, and a condition such as ``x <= 0.06 + 0.01`` would leave out the rows at
its end.
"""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from typing import Any, Final

#: More digits than this are left to be computed as they stand.
_DIGITS: Final = 60
_EXACT: Final = Context(prec=_DIGITS, traps=[Inexact])


def with_exact_constants(tree: Any) -> None:
    """Replace sums, differences and products of decimal constants by their values, in place."""
    from sqlglot import exp

    found: dict[int, Any] = {}
    for node in tree.find_all(exp.Add, exp.Sub, exp.Mul):
        if _is_constant(node):
            while _is_constant(node.parent):
                node = node.parent
            found[id(node)] = node
    for node in found.values():
        value = _value(node)
        if value is not None:
            node.replace(_written(value, node))


def _is_constant(node: Any) -> bool:
    """Return whether a node is made of constants alone, by signs that are exact."""
    if node.key in ("paren", "neg"):
        return _is_constant(node.this)
    if node.key in ("add", "sub", "mul"):
        return _is_constant(node.this) and _is_constant(node.expression)
    return bool(node.key == "literal" and not node.is_string)


def _value(node: Any) -> Decimal | None:
    """Return the exact value; None where it is not one of decimals, or too long."""
    literals = [str(part.this) for part in node.walk() if part.key == "literal"]
    if not any("." in text for text in literals) or not all(_is_decimal(text) for text in literals):
        return None
    try:
        return _computed(node)
    except ArithmeticError:
        return None


def _is_decimal(text: str) -> bool:
    return text.isascii() and text.replace(".", "", 1).isdigit() and len(text) <= _DIGITS


def _computed(node: Any) -> Decimal:
    if node.key == "paren":
        return _computed(node.this)
    if node.key == "neg":
        return -_computed(node.this)
    if node.key == "literal":
        return Decimal(str(node.this))
    one, other = _computed(node.this), _computed(node.expression)
    how = {"add": _EXACT.add, "sub": _EXACT.subtract, "mul": _EXACT.multiply}[node.key]
    return how(one, other)


def _written(value: Decimal, node: Any) -> Any:
    from sqlglot import exp

    text = format(abs(value), "f")
    made = exp.Literal.number(text if "." in text else f"{text}.0")
    spans = [part.meta for part in node.walk() if "start" in part.meta]
    if spans:
        made.meta.update(
            {
                **spans[0],
                "start": min(int(span["start"]) for span in spans),
                "end": max(int(span["end"]) for span in spans),
            }
        )
    return exp.Neg(this=made) if value < 0 else made
