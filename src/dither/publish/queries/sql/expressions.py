"""SQL's scalar expressions, translated into the closed tree one node at a time.

Only what is listed here and in ``functions`` is understood, and only with the arguments that are listed: a further
argument of a node is refused, never passed over. Meanings are those of ``dither.data.expressions``, total and equal on
every engine; where SQL's own differ between engines, DuckDB's is taken, except that a cast of a real to an integer and
ROUND go by ``floor`` and that LOWER, UPPER and ILIKE know the 26 Latin letters only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from dither.data import Call, Case, Cast, Expression, Kind, Literal, Name, OneOf
from dither.data.evaluation import cast, evaluate
from dither.data.expressions import Value, kind_of
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import conjunction, disjunction
from dither.publish.queries.sql.numbers import RULE, number
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.spelling import called_in
from dither.publish.queries.work import check_size, step

if TYPE_CHECKING:
    from sqlglot import exp


class Typed(NamedTuple):
    """An expression and its kind; None is the kind of a bare NULL, which fits anywhere."""

    expression: Expression
    kind: Kind | None


Column = Callable[["exp.Column"], Typed]
Special = Callable[["exp.Expression"], Typed | None]

_HARMLESS = frozenset(("safe", "typed", "big_int", "coalesce", "ignore_nulls", "date_part_boundary", "_type", "nested"))
_COMPARISONS = {"eq": "equal", "neq": "unequal", "lt": "less", "lte": "at_most", "gt": "more", "gte": "at_least"}
_ARITHMETIC = {"mul": "multiply", "div": "divide", "intdiv": "quotient", "mod": "remainder", "pow": "power"}
_KINDS = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "MEDIUMINT"), Kind.INTEGER
    ),
    **dict.fromkeys(("INT64", "INT128", "UBIGINT", "SIGNED", "UNSIGNED", "NUMBER"), Kind.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL", "REAL", "FLOAT64", "BIGDECIMAL", "BIGNUMERIC"), Kind.REAL),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "STRING", "BPCHAR"), Kind.TEXT),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), Kind.TIMESTAMP),
    "BOOLEAN": Kind.BOOLEAN,
    "BOOL": Kind.BOOLEAN,
    "DATE": Kind.DATE,
}


class Scalars:
    """Translates the expressions of one SELECT.

    Args:
        parsed: the query, for places in refusals.
        column: what a column means.
        special: asked first about every node; None where the node is an ordinary one.

    """

    def __init__(self, parsed: Parsed, column: Column, special: Special) -> None:
        self.parsed = parsed
        self.column = column
        self._special = special

    # Entry points.

    def value(self, node: exp.Expression | None) -> Typed:
        """Return a node's meaning; reject nodes that are too large to examine."""
        step()
        found = self._value(node)
        check_size(found.expression)
        return found

    def _value(self, node: exp.Expression | None) -> Typed:
        if node is None:  # what the reader lets be absent, such as the argument of SUM()
            raise InvalidParameter("sql", "nothing", "complete: an argument is missing")
        found = self._special(node)
        if found is not None:
            return found
        name = node.key
        if name in ("paren", "alias"):
            return self.value(node.this)
        if name == "column":
            return self.column(node)  # type: ignore[arg-type]
        if name in _NODES:
            return _NODES[name](self, node)
        if name in _COMPARISONS:
            self.only(node, "this", "expression")
            return self.compared(node, _COMPARISONS[name], self.value(node.this), self.value(node.expression))
        if name in _ARITHMETIC:
            self.only(node, "this", "expression")
            return self.call(node, _ARITHMETIC[name], self.number(node.this), self.number(node.expression))
        from dither.publish.queries.sql.functions import translate

        return translate(self, node)

    def condition(self, node: exp.Expression) -> Expression:
        """Return a node that must be true or false."""
        found = self.value(node)
        if found.kind is None:
            return Literal(None, Kind.BOOLEAN)
        if found.kind is not Kind.BOOLEAN:
            place = self.parsed.place(node)
            raise InvalidParameter(f"condition at {place}", found.kind.value, "true or false")
        return found.expression

    def number(self, node: exp.Expression) -> Typed:
        """Return an operand of arithmetic: NULL is an integer, true and false are 1 and 0."""
        found = self.settled(self.value(node), Kind.INTEGER)
        return Typed(Cast(found.expression, Kind.INTEGER), Kind.INTEGER) if found.kind is Kind.BOOLEAN else found

    def text(self, node: exp.Expression) -> Typed:
        """Return the argument of a text function: integers are written out."""
        found = self.settled(self.value(node), Kind.TEXT)
        return Typed(Cast(found.expression, Kind.TEXT), Kind.TEXT) if found.kind is Kind.INTEGER else found

    def day(self, node: exp.Expression) -> Typed:
        """Return the argument of a date function: a constant text is read as a date."""
        found = self.settled(self.value(node), Kind.DATE)
        return self.converted(node, found, Kind.DATE) if _is_text(found) else found

    # Helpers that functions share.

    def only(self, node: exp.Expression, *arguments: str) -> None:
        """Reject a node with parts that are not supported."""
        for name, value in node.args.items():
            if value not in (None, False, "") and value != [] and name not in arguments and name not in _HARMLESS:
                what = self.parsed.word(node)
                self.parsed.refuse(node, f"this form of {what} is not understood", f"write plain {what}")

    def refuse(self, node: exp.Expression | None, reason: str, instead: str) -> NoReturn:
        """Raise a refusal at the node's place."""
        self.parsed.refuse(node, reason, instead)

    def call(self, node: exp.Expression, function: str, *arguments: Typed) -> Typed:
        """Return a call, with its kind checked."""
        given = [self.settled(argument, Kind.INTEGER) for argument in arguments]
        stand_ins = tuple(
            argument.expression if isinstance(argument.expression, Literal) else Name(str(index))
            for index, argument in enumerate(given)
        )
        kinds = {str(index): argument.kind for index, argument in enumerate(given) if argument.kind is not None}
        try:
            kind = kind_of(Call(function, stand_ins), kinds)
            made = Call(function, tuple(argument.expression for argument in given))
        except InvalidParameter as error:
            named = called_in(self.parsed.text, node) or error.parameter.replace("_", " ")
            raise InvalidParameter(f"{named} at {self.parsed.place(node)}", error.offender, error.rule) from None
        return Typed(made, kind)

    def compared(self, node: exp.Expression, function: str, first: Typed, second: Typed) -> Typed:
        """Return a comparison; constants take the kind of the other side."""
        return self.call(node, function, *self.alike(node, [first, second]))

    def alike(self, node: exp.Expression, values: Sequence[Typed]) -> list[Typed]:
        """Return values of one kind: NULLs and constants follow the others, dates beside timestamps become those."""
        kinds = [value.kind for value in values if value.kind is not None and not _is_text(value)]
        wanted = kinds[0] if kinds else Kind.TEXT
        if Kind.TIMESTAMP in kinds:
            wanted = Kind.TIMESTAMP
        elif wanted is Kind.BOOLEAN and any(kind.is_number for kind in kinds):
            wanted = Kind.INTEGER
        elif Kind.REAL in kinds and wanted is Kind.INTEGER:
            wanted = Kind.REAL
        return [self._towards(node, self.settled(value, wanted), wanted) for value in values]

    def _towards(self, node: exp.Expression, value: Typed, wanted: Kind) -> Typed:
        if value.kind is wanted:
            return value
        if _is_text(value) or (value.kind, wanted) in (
            (Kind.DATE, Kind.TIMESTAMP),
            (Kind.BOOLEAN, Kind.INTEGER),
        ):
            return self.converted(node, value, wanted)
        return value

    def settled(self, value: Typed, kind: Kind) -> Typed:
        """Return the value; a bare NULL gets that kind."""
        return Typed(Literal(None, kind), kind) if value.kind is None else value

    def converted(self, node: exp.Expression, value: Typed, kind: Kind) -> Typed:
        """Return the value as another kind; constants are converted here and must be valid."""
        if not isinstance(value.expression, Literal) or value.expression.value is None:
            return Typed(Cast(value.expression, kind), kind)
        if value.kind is Kind.TEXT and kind is Kind.BOOLEAN:
            self.refuse(node, "text beside true or false", "write TRUE or FALSE")
        made = cast(value.expression.value, kind)
        if made is None:
            form = {Kind.DATE: " YYYY-MM-DD", Kind.TIMESTAMP: " YYYY-MM-DD HH:MM:SS"}.get(kind, "")
            rule = f"{'an' if kind is Kind.INTEGER else 'a'} {kind.value}{form}"
            raise InvalidParameter(f"value at {self.parsed.place(node)}", value.expression.value, rule)
        return Typed(Literal(made, kind), kind)

    def constant(self, node: exp.Expression | None) -> Value:
        """Return a public constant, or reject the node."""
        found = self.value(node).expression
        if any(isinstance(part, Name) for part in _below(found)):
            self.refuse(node, "this must be a constant", "write the value itself")
        return evaluate(found, {}, {})

    def whole_constant(self, node: exp.Expression | None) -> int:
        """Return a public integer constant, or reject the node."""
        found = self.constant(node)
        if isinstance(found, bool) or not isinstance(found, int):
            self.refuse(node, "this must be an integer", "write one, such as 2")
        return found

    # Constants.

    def _literal(self, node: exp.Literal) -> Typed:
        text = str(node.this)
        if node.is_string:
            if "\x00" in text:
                self.refuse(node, "text with a character of value 0", "remove it")
            return Typed(Literal(text, Kind.TEXT), Kind.TEXT)
        found = number(text)
        if found is None:
            raise InvalidParameter(f"number at {self.parsed.place(node)}", text, RULE)
        return literal(found, Kind.INTEGER if isinstance(found, int) else Kind.REAL)

    def _boolean(self, node: exp.Boolean) -> Typed:
        return Typed(Literal(bool(node.this), Kind.BOOLEAN), Kind.BOOLEAN)

    def _null(self, node: exp.Null) -> Typed:
        return Typed(Literal(None, Kind.INTEGER), None)

    def _neg(self, node: exp.Neg) -> Typed:
        below = self.number(node.this)
        if isinstance(below.expression, Literal) and isinstance(below.expression.value, int | float):
            return Typed(Literal(-below.expression.value, below.kind or Kind.INTEGER), below.kind)
        return self.call(node, "negate", below)

    # Logic.

    def _and(self, node: exp.And) -> Typed:
        return Typed(conjunction(self.condition(part) for part in chain(node)), Kind.BOOLEAN)

    def _or(self, node: exp.Or) -> Typed:
        return Typed(disjunction(self.condition(part) for part in chain(node)), Kind.BOOLEAN)

    def _not(self, node: exp.Not) -> Typed:
        return Typed(Call("not", (self.condition(node.this),)), Kind.BOOLEAN)

    def _is(self, node: exp.Is) -> Typed:
        self.only(node, "this", "expression")
        right = node.expression
        if right.key == "null":
            found = self.settled(self.value(node.this), Kind.INTEGER)
            return Typed(Call("is_null", (found.expression,)), Kind.BOOLEAN)
        if right.key == "boolean":
            condition = self.condition(node.this)
            wanted = condition if right.this else Call("not", (condition,))
            return Typed(Call("coalesce", (wanted, Literal(False, Kind.BOOLEAN))), Kind.BOOLEAN)
        raise self.parsed.refusal(node, "IS with something else than NULL, TRUE or FALSE", "write =")

    def _nullsafeeq(self, node: exp.Expression) -> Typed:
        return self.same(node, True)

    def _nullsafeneq(self, node: exp.Expression) -> Typed:
        return self.same(node, False)

    def same(self, node: exp.Expression, wanted: bool) -> Typed:
        """Return whether two values are the same, or not; NULL is the same as NULL."""
        self.only(node, "this", "expression")
        first, second = self.alike(node, [self.value(node.this), self.value(node.expression)])
        equal = self.call(node, "equal", first, second).expression
        nulls = conjunction((Call("is_null", (first.expression,)), Call("is_null", (second.expression,))))
        same = Call("coalesce", (disjunction((equal, nulls)), Literal(False, Kind.BOOLEAN)))
        return Typed(same if wanted else Call("not", (same,)), Kind.BOOLEAN)

    def _between(self, node: exp.Between) -> Typed:
        self.only(node, "this", "low", "high", "symmetric")
        value = self.value(node.this)
        if node.args.get("symmetric"):
            ends = [self.value(node.args.get("low")), self.value(node.args.get("high"))]
            pairs = [
                (self.compared(node, "at_least", value, low), self.compared(node, "at_most", value, high))
                for low, high in (ends, ends[::-1])
            ]
            either = [conjunction((low.expression, high.expression)) for low, high in pairs]
            return Typed(disjunction(either), Kind.BOOLEAN)
        low = self.compared(node, "at_least", value, self.value(node.args.get("low")))
        high = self.compared(node, "at_most", value, self.value(node.args.get("high")))
        return Typed(conjunction((low.expression, high.expression)), Kind.BOOLEAN)

    def _in(self, node: exp.In) -> Typed:
        if node.args.get("query") is not None:
            self.refuse(
                node,
                "IN with a subquery looks at rows of other people",
                "test the privacy id, alone or with AND (id IN (SELECT id FROM ...)), or join a public table",
            )
        self.only(node, "this", "expressions")
        values = self.alike(node, [self.value(node.this), *map(self.value, node.expressions)])
        value, options = values[0], values[1:]
        constants = [option.expression for option in options if isinstance(option.expression, Literal)]
        if len(constants) < len(options) or any(option.value is None for option in constants):
            equal = [self.compared(node, "equal", value, option).expression for option in options]
            return Typed(disjunction(equal), Kind.BOOLEAN)
        return self._checked(node, OneOf(value.expression, tuple(dict.fromkeys(constants))), value)

    def _checked(self, node: exp.Expression, made: OneOf, value: Typed) -> Typed:
        try:
            kind_of(OneOf(Name("0"), made.options), {"0": value.kind or Kind.TEXT})
        except InvalidParameter as error:
            raise InvalidParameter(f"IN at {self.parsed.place(node)}", error.offender, error.rule) from None
        return Typed(made, Kind.BOOLEAN)

    # Choices and casts.

    def _case(self, node: exp.Case) -> Typed:
        self.only(node, "this", "ifs", "default")
        tested = node.args.get("this")
        conditions: list[Expression] = []
        values: list[Typed] = []
        given = None if tested is None else self.value(tested)
        for branch in node.args["ifs"]:
            if given is None:
                conditions.append(self.condition(branch.this))
            else:
                found = self.compared(branch, "equal", given, self.value(branch.this))
                conditions.append(found.expression)
            values.append(self.value(branch.args.get("true")))
        default = node.args.get("default")
        values.append(Typed(Literal(None, Kind.INTEGER), None) if default is None else self.value(default))
        return self.choice(node, conditions, values)

    def _if(self, node: exp.If) -> Typed:
        self.only(node, "this", "true", "false")
        other = node.args.get("false")
        last = Typed(Literal(None, Kind.INTEGER), None) if other is None else self.value(other)
        return self.choice(node, [self.condition(node.this)], [self.value(node.args.get("true")), last])

    def choice(self, node: exp.Expression, conditions: Sequence[Expression], values: Sequence[Typed]) -> Typed:
        """Return CASE over conditions, with one more value than conditions."""
        values = self.alike(node, values)
        common = self.call(node, "coalesce", *values).kind
        branches = tuple(zip(conditions, (value.expression for value in values[:-1]), strict=True))
        return Typed(Case(branches, values[-1].expression), common)

    def _cast(self, node: exp.Cast) -> Typed:
        self.only(node, "this", "to")
        name = node.args["to"].this.name if hasattr(node.args["to"].this, "name") else str(node.args["to"].this)
        if name == "USERDEFINED":  # what other dialects call their types
            name = str(node.args["to"].args.get("kind") or "").upper()
        kind = _KINDS.get(name)
        if kind is None or node.args["to"].args.get("nested"):
            self.refuse(node, f"a cast to {name}", "cast to INTEGER, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP")
        value = self.value(node.this)
        if value.kind is None:
            return Typed(Literal(None, kind), kind)
        if value.kind is kind:
            return value
        if value.kind is Kind.INTEGER and kind is Kind.BOOLEAN:
            return self.call(node, "unequal", value, Typed(Literal(0, Kind.INTEGER), Kind.INTEGER))
        if value.kind is Kind.BOOLEAN and kind is Kind.REAL:
            return Typed(Cast(Cast(value.expression, Kind.INTEGER), kind), kind)
        if kind is Kind.TEXT and value.kind in (Kind.BOOLEAN, Kind.DATE):
            return self._in_words(node, value)
        try:
            kind_of(Cast(Name("0"), kind), {"0": value.kind})
        except InvalidParameter as error:
            raise InvalidParameter(f"CAST at {self.parsed.place(node)}", kind.value, error.rule) from None
        return self._folded(node, value, kind)

    def _in_words(self, node: exp.Expression, value: Typed) -> Typed:
        """Return true or false as a word, and a date as 2024-01-31."""
        from dither.publish.queries.sql.dates import written

        if value.kind is Kind.DATE:
            return written(self, node, value, "%Y-%m-%d")
        is_false = Call("not", (value.expression,))
        words = ((value.expression, Literal("true", Kind.TEXT)), (is_false, Literal("false", Kind.TEXT)))
        return Typed(Case(words, Literal(None, Kind.TEXT)), Kind.TEXT)

    def _folded(self, node: exp.Expression, value: Typed, kind: Kind) -> Typed:
        if isinstance(value.expression, Literal) and value.kind is Kind.TEXT and kind is not Kind.TEXT:
            return self.converted(node, value, kind)
        if isinstance(value.expression, Literal) and kind is Kind.REAL:
            return self.converted(node, value, kind)
        return Typed(Cast(value.expression, kind), kind)

    # Sums and differences, which dates have as well.

    def _add(self, node: exp.Add) -> Typed:
        self.only(node, "this", "expression")
        return self._moved(node, 1)

    def _sub(self, node: exp.Sub) -> Typed:
        self.only(node, "this", "expression")
        return self._moved(node, -1)

    def _moved(self, node: exp.Expression, sign: int) -> Typed:
        function = "add" if sign > 0 else "subtract"
        from dither.publish.queries.sql.dates import moved as moved_by

        if node.this.key == "interval" and sign > 0 and node.expression.key != "interval":
            return moved_by(self, node, self.value(node.expression), node.this, sign)
        left = self.number(node.this)
        if node.expression.key == "interval":
            return moved_by(self, node, left, node.expression, sign)
        right = self.number(node.expression)
        if left.kind is Kind.DATE and right.kind is Kind.INTEGER:
            moved = right if sign > 0 else self._minus(node, right)
            return self.call(node, "add_days", left, moved)
        if sign < 0 and left.kind is Kind.DATE and (right.kind is Kind.DATE or _is_text(right)):
            return self.call(node, "days_between", self._date(node, right), left)
        return self.call(node, function, left, right)

    def _minus(self, node: exp.Expression, value: Typed) -> Typed:
        constant = value.expression
        if isinstance(constant, Literal) and isinstance(constant.value, int):
            return Typed(Literal(-constant.value, Kind.INTEGER), Kind.INTEGER)
        return self.call(node, "negate", value)

    def _date(self, node: exp.Expression, value: Typed) -> Typed:
        return self.converted(node, value, Kind.DATE) if _is_text(value) else value


def chain(node: exp.Expression) -> list[exp.Expression]:
    """Return the parts of a chain of AND or OR, in order, regardless of brackets."""
    found: list[exp.Expression] = []
    stack = [node]
    while stack:
        part = stack.pop()
        inner = part
        while inner.key == "paren":
            inner = inner.this
        if inner.key == node.key:
            stack += [inner.expression, inner.this]
        else:
            found.append(part)
    return found


def _is_text(value: Typed) -> bool:
    return isinstance(value.expression, Literal) and value.kind is Kind.TEXT


def _below(expression: Expression) -> list[Expression]:
    found = [expression]
    for part in found:
        found += part.children()
    return found


def literal(value: Value, kind: Kind) -> Typed:
    """Return a constant."""
    return Typed(Literal(value, kind), kind)


_NODES: Mapping[str, Callable[[Scalars, Any], Typed]] = {
    "literal": Scalars._literal,
    "boolean": Scalars._boolean,
    "null": Scalars._null,
    "neg": Scalars._neg,
    "and": Scalars._and,
    "or": Scalars._or,
    "not": Scalars._not,
    "is": Scalars._is,
    "nullsafeeq": Scalars._nullsafeeq,
    "nullsafeneq": Scalars._nullsafeneq,
    "between": Scalars._between,
    "in": Scalars._in,
    "case": Scalars._case,
    "if": Scalars._if,
    "cast": Scalars._cast,
    "trycast": Scalars._cast,
    "add": Scalars._add,
    "sub": Scalars._sub,
}
