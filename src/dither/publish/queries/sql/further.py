"""Functions that people bring from other dialects, each made of the few that every engine computes alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dither.data import Call, Expression, Kind, Literal
from dither.publish.queries.sql import dates
from dither.publish.queries.sql.dates import whole
from dither.publish.queries.sql.expressions import Scalars, Typed, literal
from dither.publish.queries.sql.spelling import ADDING, SUBTRACTING, TRUNCATING

if TYPE_CHECKING:
    from sqlglot import exp

_Handler = Callable[[Scalars, "exp.Expression"], Typed]
_LARGEST_PAD: Final = 1000
_MOST_BUCKETS: Final = 10**6


def arguments(scalars: Scalars, node: exp.Expression, *numbers: int) -> list[exp.Expression]:
    """Return the arguments of a function that the reader left as they are, if their number fits."""
    parts = list(node.expressions)
    if len(parts) not in numbers:
        name = str(node.name).lstrip("~").upper()[:40]
        scalars.refuse(node, f"{name} with {len(parts)} arguments", f"give it {' or '.join(map(str, numbers))}")
    return parts


# Numbers.


def _truncated(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "decimals")
    value = scalars.number(node.this)
    places = 0 if node.args.get("decimals") is None else scalars.whole_constant(node.args["decimals"])
    if not -15 <= places <= 15:
        scalars.refuse(node, "TRUNC to more than 15 places", "truncate to fewer")
    if places == 0:
        return _towards_zero(scalars, node, value)
    scale = literal(float(10 ** abs(places)), Kind.REAL)
    there, back = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    return scalars.call(node, back, _towards_zero(scalars, node, scalars.call(node, there, value, scale)), scale)


def _towards_zero(scalars: Scalars, node: exp.Expression, value: Typed) -> Typed:
    if value.kind is Kind.INTEGER:
        return value
    is_below = scalars.call(node, "less", value, whole(0)).expression
    ends = [scalars.call(node, function, value) for function in ("ceiling", "floor")]
    return scalars.choice(node, [is_below], ends)


def _width_bucket(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return 0 below the range, 1 to n inside it, n + 1 from its end on; a range may also run downwards."""
    scalars.only(node, "this", "min_value", "max_value", "num_buckets")
    given = [node.args.get(name) for name in ("min_value", "max_value", "num_buckets")]
    low, high, many = (None if part is None else scalars.constant(part) for part in given)
    numbers = [end for end in (low, high) if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) < 2 or low == high or not (isinstance(many, int) and 1 <= many <= _MOST_BUCKETS):
        scalars.refuse(
            node,
            "WIDTH_BUCKET without two different constant ends and a constant number of buckets",
            "write WIDTH_BUCKET(x, 0, 100, 10)",
        )
    first, last = (float(end) for end in numbers)
    value = scalars.number(node.this)
    if first > last:
        value, first, last = scalars.call(node, "negate", value), -first, -last
    start, length = literal(first, Kind.REAL), literal(last - first, Kind.REAL)
    share = scalars.call(node, "divide", scalars.call(node, "subtract", value, start), length)
    steps = scalars.call(node, "floor", scalars.call(node, "multiply", share, literal(float(many), Kind.REAL)))
    inside = scalars.call(node, "least", scalars.call(node, "add", steps, whole(1)), whole(many))
    is_below = scalars.call(node, "less", value, start).expression
    is_beyond = scalars.call(node, "at_least", value, literal(last, Kind.REAL)).expression
    is_known = Call("not", (Call("is_null", (value.expression,)),))
    return scalars.choice(node, [is_below, is_beyond, is_known], [whole(0), whole(many + 1), inside, _null()])


def _null() -> Typed:
    return Typed(Literal(None, Kind.INTEGER), None)


def _pi(scalars: Scalars, node: exp.Expression) -> Typed:
    return literal(math.pi, Kind.REAL)


def _scaled(factor: float) -> _Handler:
    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        scalars.only(node, "this")
        return scalars.call(node, "multiply", scalars.number(node.this), literal(factor, Kind.REAL))

    return handler


def _two(function: str) -> _Handler:
    """Return a handler of two numbers that never raises: SAFE_DIVIDE and kin are what all of these are here."""

    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        if node.key == "anonymous":
            first, second = arguments(scalars, node, 2)
        else:
            scalars.only(node, "this", "expression")
            first, second = node.this, node.expression
        return scalars.call(node, function, scalars.number(first), scalars.number(second))

    return handler


def _one(function: str) -> _Handler:
    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        if node.key == "anonymous":
            (value,) = arguments(scalars, node, 1)
        else:
            scalars.only(node, "this")
            value = node.this
        return scalars.call(node, function, scalars.number(value))

    return handler


def _bits_of_one(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return XOR: of conditions whether they differ, of integers the bits that one of them has."""
    first, second = scalars.value(node.this), scalars.value(node.expression)
    if first.kind is Kind.BOOLEAN and second.kind is Kind.BOOLEAN:
        return scalars.call(node, "unequal", first, second)
    return _two("bit_xor")(scalars, node)


def _bits_not(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this")
    return scalars.call(node, "subtract", whole(-1), _integer(scalars, node.this))


def _integer(scalars: Scalars, node: exp.Expression) -> Typed:
    found = scalars.number(node)
    if found.kind is not Kind.INTEGER:
        scalars.refuse(node, "bits of something else than an integer", "write CAST(x AS INTEGER)")
    return found


def _shift_left(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "expression")
    by = scalars.whole_constant(node.expression)
    if not 0 <= by <= 62:
        scalars.refuse(node, "a shift by less than 0 or more than 62 bits", "shift by 0 to 62")
    return scalars.call(node, "multiply", _integer(scalars, node.this), whole(2**by))


# Choices.


def _if_known(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "true", "false")
    given = scalars.settled(scalars.value(node.this), Kind.INTEGER).expression
    other = node.args.get("false")
    values = [scalars.value(node.args.get("true")), _null() if other is None else scalars.value(other)]
    return scalars.choice(node, [Call("not", (Call("is_null", (given,)),))], values)


def _is_null(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``ISNULL(x)``, a test, or ``ISNULL(x, y)``, which is COALESCE."""
    parts = [scalars.value(part) for part in arguments(scalars, node, 1, 2)]
    if len(parts) == 2:
        return scalars.call(node, "coalesce", *scalars.alike(node, parts))
    return scalars.call(node, "is_null", scalars.settled(parts[0], Kind.INTEGER))


def _or_zero(scalars: Scalars, node: exp.Expression) -> Typed:
    (value,) = arguments(scalars, node, 1)
    return scalars.call(node, "coalesce", *scalars.alike(node, [scalars.number(value), whole(0)]))


def _unless_zero(scalars: Scalars, node: exp.Expression) -> Typed:
    (value,) = arguments(scalars, node, 1)
    return scalars.compared(node, "null_if", scalars.number(value), whole(0))


def _decode(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``DECODE(x, a, result, ..., otherwise)``, in which NULL equals NULL."""
    parts = list(node.expressions)
    if len(parts) < 3:
        scalars.refuse(node, f"DECODE with {len(parts)} arguments", "write DECODE(x, 1, 'one', 2, 'two', 'other')")
    given = scalars.value(parts[0])
    conditions: list[Expression] = []
    values: list[Typed] = []
    for place in range(1, len(parts) - 1, 2):
        sought = scalars.value(parts[place])
        is_null = sought.kind is None
        tested = scalars.settled(given, Kind.INTEGER)
        found = scalars.call(node, "is_null", tested) if is_null else scalars.compared(node, "equal", given, sought)
        conditions.append(found.expression)
        values.append(scalars.value(parts[place + 1]))
    values.append(scalars.value(parts[-1]) if len(parts) % 2 == 0 else _null())
    return scalars.choice(node, conditions, values)


def _same(scalars: Scalars, node: exp.Expression) -> Typed:
    return scalars.same(node, True)


# Texts.


def _trimmed(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "position", "expression")
    if node.args.get("expression") is not None and scalars.constant(node.expression) != " ":
        scalars.refuse(node, "TRIM of something else than blanks", "write TRIM(x), LTRIM(x) or RTRIM(x)")
    side = str(node.args.get("position") or "BOTH").upper()
    function = {"LEADING": "trim_left", "TRAILING": "trim_right"}.get(side, "trim")
    return scalars.call(node, function, scalars.text(node.this))


def _trimmed_name(scalars: Scalars, node: exp.Expression) -> Typed:
    parts = arguments(scalars, node, 1, 2)
    if len(parts) == 2 and scalars.constant(parts[1]) != " ":
        scalars.refuse(node, "BTRIM of something else than blanks", "write TRIM(x)")
    return scalars.call(node, "trim", scalars.text(parts[0]))


def _right(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "expression")
    many = scalars.whole_constant(node.expression)
    if many < 0:
        scalars.refuse(node, "RIGHT with fewer than no characters", "count characters from 0")
    return scalars.call(node, "right", scalars.text(node.this), whole(min(many, 10**9)))


def _padded(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return LPAD or RPAD with one character; a longer text is cut to its beginning."""
    scalars.only(node, "this", "expression", "fill_pattern", "is_left")
    many = scalars.whole_constant(node.expression)
    given = node.args.get("fill_pattern")
    fill = " " if given is None else scalars.constant(given)
    if not (isinstance(fill, str) and len(fill) == 1 and 1 <= many <= _LARGEST_PAD):
        scalars.refuse(node, "padding with more than one character, or to no length", "write LPAD(x, 5, '0')")
    value, filling, size = scalars.text(node.this), literal(fill * many, Kind.TEXT), whole(many)
    start = whole(1)
    if not node.args.get("is_left"):
        return scalars.call(node, "substring", scalars.call(node, "concatenate", value, filling), start, size)
    is_long = scalars.call(node, "at_least", scalars.call(node, "length", value), size).expression
    cut = scalars.call(node, "substring", value, start, size)
    padded = scalars.call(node, "right", scalars.call(node, "concatenate", filling, value), size)
    return scalars.choice(node, [is_long], [cut, padded])


def _position(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "substr")
    sought = scalars.constant(node.args.get("substr"))
    if not isinstance(sought, str) or not sought:
        scalars.refuse(node, "the position of something else than a constant text", "write POSITION('a' IN x)")
    return scalars.call(node, "position", scalars.text(node.this), literal(sought, Kind.TEXT))


def _split_part(scalars: Scalars, node: exp.Expression) -> Typed:
    scalars.only(node, "this", "delimiter", "part_index")
    separator = scalars.constant(node.args.get("delimiter"))
    place = scalars.whole_constant(node.args.get("part_index"))
    if not (isinstance(separator, str) and separator and 1 <= place <= 10**9):
        scalars.refuse(node, "SPLIT_PART without a constant separator and place", "write SPLIT_PART(x, '-', 1)")
    return scalars.call(node, "split_part", scalars.text(node.this), literal(separator, Kind.TEXT), whole(place))


def _joined_with(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``CONCAT_WS(separator, ...)``: a separator before each part that is not NULL, less the first."""
    separator = scalars.constant(node.expressions[0]) if node.expressions else None
    if not isinstance(separator, str) or len(node.expressions) < 2:
        scalars.refuse(node, "CONCAT_WS without a constant separator and text", "write CONCAT_WS('-', a, b)")
    before, empty = literal(separator, Kind.TEXT), literal("", Kind.TEXT)
    parts = []
    for part in node.expressions[1:]:
        with_separator = scalars.call(node, "concatenate", before, scalars.text(part))
        parts.append(scalars.call(node, "coalesce", with_separator, empty))
    joined = scalars.call(node, "concatenate", *parts) if len(parts) > 1 else parts[0]
    return scalars.call(node, "substring", joined, whole(len(separator) + 1), whole(2**31 - 1))


def _contains(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return BigQuery's CONTAINS_SUBSTR, which does not tell capital from small letters."""
    value, sought = arguments(scalars, node, 2)
    text = scalars.constant(sought)
    if not isinstance(text, str):
        scalars.refuse(node, "CONTAINS_SUBSTR without a constant text", "write CONTAINS_SUBSTR(x, 'a')")
    small = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    return scalars.call(node, "contains", scalars.call(node, "lower", scalars.text(value)), literal(small, Kind.TEXT))


def _part(part: str) -> _Handler:
    def handler(scalars: Scalars, node: exp.Expression) -> Typed:
        if node.key == "anonymous":
            (value,) = arguments(scalars, node, 1)
        else:
            scalars.only(node, "this")
            value = node.this
        return dates.part_of_date(scalars, node, part, scalars.day(value))

    return handler


def _unix_seconds(scalars: Scalars, node: exp.Expression) -> Typed:
    value = arguments(scalars, node, 1)[0] if node.key == "anonymous" else node.this
    return dates.units_since(scalars, node, "second", scalars.day(value))


def _as_date(scalars: Scalars, node: exp.Expression) -> Typed:
    """Return ``TO_DATE(x)``: a constant text, or a timestamp's day."""
    (value,) = arguments(scalars, node, 1)
    found = scalars.day(value)
    return found if found.kind is Kind.DATE else scalars.converted(node, found, Kind.DATE)


def _in_order(handler: _Handler, *names: str) -> _Handler:
    """Return a handler for a function that older readers leave as it is: its arguments get their names by place."""

    def named(scalars: Scalars, node: exp.Expression) -> Typed:
        from sqlglot import exp

        parts = arguments(scalars, node, *range(len(names) + 1))
        made = exp.Paren(**dict(zip(names, parts, strict=False)))  # any node: only its parts are read
        made.meta.update(node.meta)
        return handler(scalars, made)

    return named


#: By the reader's own name of a node.
BY_NODE: Final[Mapping[str, _Handler]] = MappingProxyType(
    {
        "trunc": _truncated,
        "widthbucket": _width_bucket,
        "pi": _pi,
        "radians": _scaled(math.pi / 180),
        "degrees": _scaled(180 / math.pi),
        "safedivide": _two("divide"),
        "safeadd": _two("add"),
        "safesubtract": _two("subtract"),
        "safemultiply": _two("multiply"),
        "safenegate": _one("negate"),
        "bitwiseand": _two("bit_and"),
        "bitwiseor": _two("bit_or"),
        "bitwisexor": _bits_of_one,
        "bitwisenot": _bits_not,
        "bitwiseleftshift": _shift_left,
        "bitwiserightshift": _two("shift_right"),
        "nvl2": _if_known,
        "equalnull": _same,
        "trim": _trimmed,
        "right": _right,
        "pad": _padded,
        "strposition": _position,
        "splitpart": _split_part,
        "concatws": _joined_with,
        "week": _part("week"),
        "weekofyear": _part("week"),
        "second": _part("second"),
        "timetounix": _part("epoch"),
        "unixseconds": _unix_seconds,
        "addmonths": dates.add_months,
        "lastday": dates.last_day,
        "datefromparts": dates.made_date,
        "dayname": dates.day_name,
        "monthname": dates.month_name,
        "timetostr": dates.formatted,
        "tochar": dates.formatted,
    }
)
#: By the name that the analyst wrote, where the reader has no node for it.
BY_NAME: Final[Mapping[str, _Handler]] = MappingProxyType(
    {
        **dict.fromkeys(ADDING, dates.added),
        **dict.fromkeys(TRUNCATING, dates.truncate),
        **dict.fromkeys(SUBTRACTING, dates.difference),
        # Older readers have no node of their own for these.
        "width_bucket": _in_order(_width_bucket, "this", "min_value", "max_value", "num_buckets"),
        **{name: _in_order(_truncated, "this", "decimals") for name in ("trunc", "truncate")},
        "pi": _in_order(_pi),
        "radians": _in_order(_scaled(math.pi / 180), "this"),
        "degrees": _in_order(_scaled(180 / math.pi), "this"),
        "equal_null": _in_order(_same, "this", "expression"),
        "split_part": _in_order(_split_part, "this", "delimiter", "part_index"),
        "nvl2": _in_order(_if_known, "this", "true", "false"),
        "make_date": _in_order(dates.made_date, "year", "month", "day"),
        "decode": _decode,
        "div": _two("quotient"),
        "safe_add": _two("add"),
        "safe_subtract": _two("subtract"),
        "safe_multiply": _two("multiply"),
        "safe_divide": _two("divide"),
        "safe_negate": _one("negate"),
        "bitand": _two("bit_and"),
        "bitor": _two("bit_or"),
        "bitxor": _two("bit_xor"),
        "isnull": _is_null,
        "zeroifnull": _or_zero,
        "nullifzero": _unless_zero,
        "btrim": _trimmed_name,
        "contains_substr": _contains,
        "datepart": dates.part_by_name,
        "date_part": dates.part_by_name,
        "format_date": dates.formatted,
        "dayname": dates.day_name,
        "monthname": dates.month_name,
        "second": _part("second"),
        "isoyear": _part("isoyear"),
        "week": _part("week"),
        "epoch": _part("epoch"),
        "unix_timestamp": _unix_seconds,
        "unix_seconds": _unix_seconds,
        "to_date": _as_date,
    }
)
