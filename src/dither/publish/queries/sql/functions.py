"""SQL's supported functions, each with its meaning in the closed tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dither.data import Call, Kind, Literal
from dither.data.expressions import LARGEST_INTEGER
from dither.publish.queries.assemble import clamp
from dither.publish.queries.sql.dates import extract, part_of_date
from dither.publish.queries.sql.expressions import Scalars, Typed, literal
from dither.publish.queries.sql.further import BY_NAME, BY_NODE
from dither.publish.queries.sql.unknown import refusal_of

if TYPE_CHECKING:
    from sqlglot import exp

_Handler = Callable[[Scalars, "exp.Expression"], Typed]
#: One argument, passed on.
_NUMERIC: Final = {
    "abs": "absolute",
    "sign": "sign",
    "ceil": "ceiling",
    "floor": "floor",
    "sqrt": "square_root",
    "exp": "exponential",
    "ln": "logarithm",
}
_TEXTUAL: Final = {"lower": "lower", "upper": "upper", "length": "length"}
_PARTS: Final = frozenset(
    (
        *("year", "quarter", "month", "day", "dayofmonth", "dayofweekiso", "isodow", "hour", "minute"),
        *("dayofweek", "dayofyear"),
    )
)


def translate(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return a function call's meaning, or reject it by name."""
    name = node.key
    if name == "anonymous":
        name = str(node.name).lstrip("~").lower()
        handler = _NAMED.get(name) or BY_NAME.get(name)
        if handler is not None:
            return handler(scalars, node)
    elif name in _NUMERIC:
        scalars.only(node, "this")
        return scalars.call(node, _NUMERIC[name], scalars.number(node.this))
    elif name in _TEXTUAL:
        scalars.only(node, "this")
        return scalars.call(node, _TEXTUAL[name], scalars.text(node.this))
    elif name in _PARTS:
        scalars.only(node, "this")
        return part_of_date(scalars, node, name, scalars.day(node.this))
    elif name in _HANDLERS:
        return _HANDLERS[name](scalars, node)
    elif name in BY_NODE:
        return BY_NODE[name](scalars, node)
    raise refusal_of(scalars.parsed, node)


def _date(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this")
    value = scalars.day(node.this)
    return scalars.converted(node, value, Kind.DATE) if value.kind is not Kind.DATE else value


def _like(scalars: Scalars, node: exp.Expression, escape: str = "") -> Typed:
    scalars.only(node, "this", "expression", "negate")
    pattern = scalars.constant(node.expression)
    if not isinstance(pattern, str):
        scalars.refuse(node, "LIKE without a string as its pattern", "write one, such as 'A%'")
    value = scalars.text(node.this)
    if node.key == "ilike":
        value = scalars.call(node, "lower", value)
        pattern = "".join(letter.lower() if letter.isascii() else letter for letter in pattern)
    escaped = _escaped(pattern, escape)
    if escaped is None:
        scalars.refuse(node, "LIKE whose pattern ends in its escape character", "write the character twice")
    found = scalars.call(node, "like", value, literal(escaped, Kind.TEXT))
    return scalars.call(node, "not", found) if node.args.get("negate") else found


def _escaped(pattern: str, escape: str) -> str | None:
    """Return the pattern with backslash as its escape character; SQL has none by default."""
    written, letters = [], iter(pattern)
    for letter in letters:
        if escape and letter == escape:
            following = next(letters, None)
            if following is None:
                return None
            written.append("\\" + following if following in "%_\\" else following)
        else:
            written.append("\\\\" if letter == "\\" else letter)
    return "".join(written)


def _escape(scalars: Scalars, node: exp.Expression) -> Typed:
    escape = scalars.constant(node.expression)
    if node.this.key not in ("like", "ilike") or not (isinstance(escape, str) and len(escape) == 1):
        scalars.refuse(node, "ESCAPE without LIKE and one character", "write LIKE '...' ESCAPE '!'")
    return _like(scalars, node.this, escape)


def _concatenate(scalars: Scalars, node: exp.Expression) -> Typed:
    empty = literal("", Kind.TEXT)
    parts = [scalars.call(node, "coalesce", scalars.text(part), empty) for part in node.expressions]
    return scalars.call(node, "concatenate", *parts) if len(parts) > 1 else parts[0]


def _joined(scalars: Scalars, node: exp.Expression) -> Typed:
    parts: list[Typed] = []
    for side in (node.this, node.expression):
        found = scalars.text(side)
        nested = found.expression
        if isinstance(nested, Call) and nested.function == "concatenate":
            parts += [Typed(part, Kind.TEXT) for part in nested.arguments]
        else:
            parts.append(found)
    return scalars.call(node, "concatenate", *parts)


def _substring(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "start", "length")
    start = scalars.whole_constant(node.args.get("start"))
    length = node.args.get("length")
    return _piece(scalars, node, start, 2**31 - 1 if length is None else scalars.whole_constant(length))


def _left(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "expression")
    return _piece(scalars, node, 1, scalars.whole_constant(node.expression))


def _piece(scalars: Scalars, node: exp.Expression, start: int, length: int) -> Typed:
    if start < 0 and length == 2**31 - 1:  # counted from the end, to the end
        return scalars.call(node, "right", scalars.text(node.this), literal(-start, Kind.INTEGER))
    if not (1 <= start <= LARGEST_INTEGER and 0 <= length <= LARGEST_INTEGER):
        scalars.refuse(node, "a substring that begins before the text or has no length", "count positions from 1")
    places = literal(start, Kind.INTEGER), literal(length, Kind.INTEGER)
    return scalars.call(node, "substring", scalars.text(node.this), *places)


def _replace(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "expression", "replacement")
    old = scalars.constant(node.expression)
    new = scalars.constant(node.args["replacement"]) if node.args.get("replacement") is not None else ""
    if not (isinstance(old, str) and isinstance(new, str) and old):
        scalars.refuse(node, "REPLACE of anything but a string that is not empty", "write REPLACE(x, 'a', 'b')")
    return scalars.call(node, "replace", scalars.text(node.this), literal(old, Kind.TEXT), literal(new, Kind.TEXT))


def _text_test(function: str) -> _Handler:
    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        value, sought = _arguments(scalars, node, 2) if node.key == "anonymous" else (node.this, node.expression)
        constant = scalars.constant(sought)
        if not isinstance(constant, str):
            scalars.refuse(node, f"{function.upper()} without a constant text", "write it in quotes")
        return scalars.call(node, function, scalars.text(value), literal(constant, Kind.TEXT))

    return handler


def _round(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "decimals")
    value = scalars.number(node.this)
    places = 0 if node.args.get("decimals") is None else scalars.whole_constant(node.args["decimals"])
    if not -15 <= places <= 15:
        scalars.refuse(node, "ROUND to more than 15 places", "round to fewer")
    half = literal(0.5, Kind.REAL)
    if places == 0:
        return (
            value if value.kind is Kind.INTEGER else scalars.call(node, "floor", scalars.call(node, "add", value, half))
        )
    scale = literal(float(10 ** abs(places)), Kind.REAL)
    there, back = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    whole = scalars.call(node, "floor", scalars.call(node, "add", scalars.call(node, there, value, scale), half))
    return scalars.call(node, back, whole, scale)


def _logarithm(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "expression")
    if node.args.get("expression") is None:
        scalars.refuse(node, "LOG with one argument has another base in every engine", "write LN(x) or LOG10(x)")
    base, value = (scalars.call(node, "logarithm", scalars.number(part)) for part in (node.this, node.expression))
    return scalars.call(node, "divide", value, base)


def _null_if(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "expression")
    return scalars.compared(node, "null_if", scalars.value(node.this), scalars.value(node.expression))


def _of_many(function: str) -> _Handler:
    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        scalars.only(node, "this", "expressions")
        parts = [part for part in (node.args.get("this"), *node.expressions) if part is not None]
        return scalars.call(node, function, *scalars.alike(node, [scalars.value(part) for part in parts]))

    return handler


def _clamp(scalars: Scalars, node: exp.Expression) -> Typed:
    value, low, high = _arguments(scalars, node, 3)
    given = scalars.number(value)
    ends = [scalars.constant(end) for end in (low, high)]
    if given.kind is None or not given.kind.is_number:
        scalars.refuse(node, "CLAMP of something else than a number", "write CLAMP(x, low, high) around a number")
    if any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):
        scalars.refuse(node, "CLAMP without two constant numbers", "write CLAMP(x, 0, 100)")
    is_whole = all(isinstance(end, int) for end in ends)
    kind = Kind.INTEGER if is_whole else Kind.REAL
    first, last = (Literal(end if is_whole else float(end), kind) for end in ends)  # type: ignore[arg-type]
    return Typed(clamp(given.expression, first, last), Kind.REAL if Kind.REAL in (kind, given.kind) else kind)


def _named_part(part: str) -> _Handler:
    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        (value,) = _arguments(scalars, node, 1)
        return part_of_date(scalars, node, part, scalars.day(value))

    return handler


def _square(scalars: Scalars, node: exp.Expression) -> Typed:
    (value,) = _arguments(scalars, node, 1)
    number = scalars.number(value)
    return scalars.call(node, "multiply", number, number)


def _choose(scalars: Scalars, node: exp.Expression) -> Typed:
    condition, first, second = _arguments(scalars, node, 3)
    return scalars.choice(node, [scalars.condition(condition)], [scalars.value(first), scalars.value(second)])


def _arguments(scalars: Scalars, node: exp.Expression, number: int) -> list[exp.Expression]:
    if len(node.expressions) != number:
        scalars.refuse(
            node, f"{str(node.this).upper()[:40]} with {len(node.expressions)} arguments", f"give it {number}"
        )
    return list(node.expressions)


_HANDLERS: Final[Mapping[str, _Handler]] = MappingProxyType(
    {
        "extract": extract,
        "date": _date,
        "like": _like,
        "ilike": _like,
        "escape": _escape,
        "concat": _concatenate,
        "dpipe": _joined,
        "substring": _substring,
        "left": _left,
        "strreplace": _replace,
        "replace": _replace,
        "startswith": _text_test("starts_with"),
        "endswith": _text_test("ends_with"),
        "contains": _text_test("contains"),
        "round": _round,
        "log": _logarithm,
        "nullif": _null_if,
        "coalesce": _of_many("coalesce"),
        "least": _of_many("least"),
        "greatest": _of_many("greatest"),
    }
)
_NAMED: Final[Mapping[str, _Handler]] = MappingProxyType(
    {
        "clamp": _clamp,
        "prefix": _text_test("starts_with"),
        "suffix": _text_test("ends_with"),
        "starts_with": _text_test("starts_with"),
        "ends_with": _text_test("ends_with"),
        "square": _square,
        # Older readers have no node of their own for these.
        **{part: _named_part(part) for part in ("hour", "minute", "isodow", "quarter")},
        "iff": _choose,
        "iif": _choose,
    }
)
