"""The public values of grouping keys: groups that are known before the data is opened.

Values come from the schema (categories, bounds of integers and dates, truth) and from the request itself (CASE over
constants, IN lists, parts of dates), never from rows: not even from rows of public tables, whose columns count only
with what is declared of them. Where nothing is known the answer is None: then groups are discovered, and paid for.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeGuard

from dither.data import (
    Call,
    Case,
    Cast,
    Expression,
    Filter,
    JoinPersons,
    JoinPublic,
    Kind,
    Largest,
    Literal,
    Name,
    OneOf,
    PerPerson,
    Project,
    Relation,
    Scan,
    Smallest,
    UnionAll,
    Window,
)
from dither.data.evaluation import evaluator, sort_key
from dither.data.expressions import Value, kind_of, names_in
from dither.data.lengths import largest_text
from dither.errors import Unanswerable
from dither.publish.queries.bounds import bounds_of, date_bounds_of, first_day
from dither.publish.queries.work import once, planning, step

#: More groups than this are refused.
MOST_GROUPS: Final = 10**6
#: How many combinations of values are tried to find the values of an expression.
_MOST_TRIED: Final = 20_000
_FIXED: Final[Mapping[str, range]] = {
    "quarter": range(1, 5),
    "month": range(1, 13),
    "day": range(1, 32),
    "weekday": range(1, 8),
    "week": range(1, 54),
    "day_of_year": range(1, 367),
    "hour": range(24),
    "minute": range(60),
    "second": range(60),
    "sign": range(-1, 2),
}
_Values = tuple[Value, ...]


def public_values(expression: Expression, relation: Relation) -> tuple[Value, ...] | None:
    """Return all values that the expression may have in a published group, NULL last, or None if unknown."""
    with planning():
        return _public_values(expression, relation)


def _public_values(expression: Expression, relation: Relation) -> _Values | None:
    step(expression.size)
    if isinstance(expression, Name):
        return _of_column(expression.name, relation)
    if isinstance(expression, Literal):
        return (expression.value,)
    if isinstance(expression, Call) and expression.function in ("truncate_date", "year", "month", "quarter"):
        # Thousands of days are common here, and few of their months: no need to evaluate each by the book.
        days = _public_values(expression.arguments[0], relation)
        if days is not None and kind_of(expression.arguments[0], relation.columns) is Kind.DATE:
            return _parts_of_days(expression, days)
    columns = {name: _of_column(name, relation) for name in sorted(names_in(expression))}
    tried = _evaluated(expression, [Name(name) for name in columns], list(columns.values()), relation.columns)
    if tried is not None:
        return tried
    return _by_structure(expression, relation)


def check_number_of_groups(values: Sequence[Sequence[Value] | None]) -> None:
    """Reject more combinations of public values than can be published."""
    known = [len(part) for part in values if part is not None]
    if len(known) == len(values) and math.prod(known) > MOST_GROUPS:
        raise Unanswerable(
            f"the groups are {math.prod(known)} combinations of public values, more than {MOST_GROUPS}",
            "group by fewer or coarser things (CASE, DATE_TRUNC, FLOOR(x / 10) * 10), or keep values with IN (...)",
        )


def may_be_null(expression: Expression, relation: Relation) -> bool:
    """Return whether NULL is a value that the expression may publish."""
    with planning():
        return _may_be_null(expression, relation)


def _may_be_null(expression: Expression, relation: Relation) -> bool:
    step()
    if isinstance(expression, Name):
        return _is_nullable(expression.name, relation)
    if isinstance(expression, Literal):
        return expression.value is None
    if isinstance(expression, Case):
        values = [value for _, value in expression.branches]
        return any(_may_be_null(value, relation) for value in (*values, expression.otherwise))
    below = [_may_be_null(child, relation) for child in expression.children()]
    if isinstance(expression, Cast):
        return below[0] or kind_of(expression.value, relation.columns) is Kind.TEXT is not expression.kind
    if isinstance(expression, Call):
        if expression.function == "is_null":
            return False
        if expression.function in ("coalesce", "least", "greatest"):
            return all(below)
        if expression.function in ("divide", "quotient", "remainder"):
            divisor = expression.arguments[1]
            return any(below) or not (isinstance(divisor, Literal) and divisor.value)
        if expression.function == "null_if" or _may_fail(expression, relation):
            return True
    return any(below)


def _may_fail(expression: Call, relation: Relation) -> bool:
    """Return whether a function may have no value at a number that is there: a root below 0, a logarithm at 0."""
    if expression.function not in ("square_root", "logarithm", "power"):
        return False
    if expression.function == "power":
        exponent = expression.arguments[1]
        value = exponent.value if isinstance(exponent, Literal) else None
        if isinstance(value, int | float) and value >= 0 and value == int(value):
            return False
    bounds = bounds_of(expression.arguments[0], relation)
    return bounds is None or bounds[0] < 0 or (bounds[0] == 0 and expression.function != "square_root")


def _by_structure(expression: Expression, relation: Relation) -> _Values | None:
    if isinstance(expression, Case):
        parts = [_public_values(value, relation) for _, value in expression.branches]
        listed = _union([*parts, _public_values(expression.otherwise, relation)])
        if listed is not None:
            return listed
    kind = kind_of(expression, relation.columns)
    found: Iterable[Value] | None = None
    if kind is Kind.BOOLEAN:
        found = (False, True)
    elif isinstance(expression, Call):
        children = [_public_values(child, relation) for child in expression.children()]
        if expression.function == "coalesce":
            return _union(children)
        tried = _evaluated_call(expression, children, relation.columns)
        if tried is not None:
            return tried
        found = _of_call(expression, relation)
    if found is None and kind is Kind.INTEGER:
        bounds = bounds_of(expression, relation)
        if bounds is not None and bounds[1] - bounds[0] < MOST_GROUPS:
            found = range(math.ceil(bounds[0]), math.floor(bounds[1]) + 1)
    if found is None and kind is Kind.DATE:
        found = _days(expression, relation)
    if found is None:
        return None
    return (*found, None) if _may_be_null(expression, relation) else tuple(found)


def _of_call(expression: Call, relation: Relation) -> Iterable[Value] | None:
    if expression.function in _FIXED:
        return _FIXED[expression.function]
    if expression.function == "truncate_date":
        days = date_bounds_of(expression.arguments[0], relation)
        unit = expression.arguments[1]
        if days is not None and isinstance(unit, Literal) and days[1].toordinal() - days[0].toordinal() < MOST_GROUPS:
            every = range(days[0].toordinal(), days[1].toordinal() + 1)
            return dict.fromkeys(first_day(datetime.date.fromordinal(day), str(unit.value)) for day in every)
    return None


def _parts_of_days(expression: Call, days: _Values) -> _Values:
    known = [day for day in days if isinstance(day, datetime.date)]
    parts: Iterable[Value]
    if expression.function == "truncate_date":
        unit = expression.arguments[1]
        part = str(unit.value) if isinstance(unit, Literal) else ""
        parts = sorted({first_day(day, part) for day in known})
    elif expression.function == "quarter":
        parts = sorted({(day.month + 2) // 3 for day in known})
    else:
        parts = sorted({getattr(day, expression.function) for day in known})
    return (*parts, None) if None in days else tuple(parts)


def _days(expression: Expression, relation: Relation) -> Iterable[Value] | None:
    days = date_bounds_of(expression, relation)
    if days is None or days[1].toordinal() - days[0].toordinal() >= MOST_GROUPS:
        return None
    return [datetime.date.fromordinal(day) for day in range(days[0].toordinal(), days[1].toordinal() + 1)]


def _evaluated(
    expression: Expression, names: Sequence[Name], values: Sequence[_Values | None], columns: Mapping[str, Kind]
) -> _Values | None:
    """Return the expression's values over all combinations of its columns' values."""
    known = [part for part in values if part is not None]
    if len(known) < len(values) or math.prod(len(part) for part in known) > _MOST_TRIED:
        return None
    labels = [name.name for name in names]
    _evaluating(expression, dict(zip(labels, known, strict=True)), columns)
    value_of = evaluator(expression, columns)
    found = {value_of(dict(zip(labels, row, strict=True))) for row in itertools.product(*known)}
    # A cell may be NULL whatever is declared. NULL itself is published only if it is, but what the request makes of it
    # is a value like any other: CASE WHEN x IS NULL THEN 'unknown'.
    wider = [part if None in part else (*part, None) for part in known]
    if wider != known and math.prod(map(len, wider)) <= _MOST_TRIED:
        _evaluating(expression, dict(zip(labels, wider, strict=True)), columns)
        found |= {value_of(dict(zip(labels, row, strict=True))) for row in itertools.product(*wider)} - {None}
    return tuple(sorted(found, key=lambda value: (value is None, sort_key(value))))


def _evaluating(expression: Expression, values: Mapping[str, _Values], columns: Mapping[str, Kind]) -> None:
    """Count the work of evaluating an expression over all combinations of values: long texts take longer."""
    texts = {name: max((len(one) for one in part if isinstance(one, str)), default=0) for name, part in values.items()}
    many = math.prod(map(len, values.values()))
    step(1 + many * (expression.size + largest_text(expression, columns, texts) // 64) // 16)


def _evaluated_call(
    expression: Call, children: Sequence[_Values | None], columns: Mapping[str, Kind]
) -> _Values | None:
    if any(part is None for part in children):
        return None
    names, values, kinds = [], [], {}
    arguments: list[Expression] = []
    for index, (argument, part) in enumerate(zip(expression.arguments, children, strict=True)):
        if isinstance(argument, Literal):
            arguments.append(argument)
            continue
        names.append(Name(f"argument {index}"))
        kinds[names[-1].name] = kind_of(argument, columns)
        values.append(part)
        arguments.append(names[-1])
    return _evaluated(Call(expression.function, tuple(arguments)), names, values, kinds)


def _union(parts: Sequence[_Values | None]) -> _Values | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    step(sum(map(len, known)) // 16)
    values = dict.fromkeys(itertools.chain.from_iterable(known))
    return (*(value for value in values if value is not None), *((None,) if None in values else ()))


# Values of columns, through the relations.


def _of_column(name: str, relation: Relation) -> _Values | None:
    return once("values", name, relation, lambda: _of_new_column(name, relation))


def _of_new_column(name: str, relation: Relation) -> _Values | None:
    step()
    if isinstance(relation, Scan):
        return relation.table.column(name).public_values
    if isinstance(relation, Filter):
        return _restricted(name, _of_column(name, relation.relation), relation)
    if isinstance(relation, Project):
        return _public_values(dict(relation.outputs)[name], relation.relation)
    if isinstance(relation, JoinPublic):
        if name in relation.relation.columns:
            return _of_column(name, relation.relation)
        values = relation.table.column(name.removeprefix(relation.prefix)).public_values
        return _with_null(values) if relation.keep_unmatched else values
    if isinstance(relation, JoinPersons):
        if name in relation.left.columns:
            return _of_column(name, relation.left)
        values = _of_column(name.removeprefix(relation.prefix), relation.right)
        return _with_null(values) if relation.keep_unmatched else values
    if isinstance(relation, UnionAll):
        return _union([_of_column(name, relation.left), _of_column(_beside(name, relation), relation.right)])
    if isinstance(relation, PerPerson):
        keys, measures = dict(relation.keys), dict(relation.measures)
        if name in keys:
            return _public_values(keys[name], relation.relation)
        measure = measures[name]
        return (
            _public_values(measure.value, relation.relation)
            if isinstance(measure, Smallest | Largest)
            else _of_integer(name, relation)
        )
    if isinstance(relation, Window) and name == relation.name:
        if relation.value is None or relation.function in ("count", "sum"):
            return _of_integer(name, relation)
        values = _public_values(relation.value, relation.relation)
        is_there = relation.function in ("smallest", "largest", "first", "last") and not relation.may_be_empty
        return values if is_there else _with_null(values)
    return _of_column(name, getattr(relation, "relation"))  # noqa: B009 - all the others stand over one relation


def _beside(name: str, union: UnionAll) -> str:
    """Return the right side's name of a column."""
    return list(union.right.columns)[list(union.left.columns).index(name)]


def _of_integer(name: str, relation: Relation) -> _Values | None:
    bounds = bounds_of(Name(name), relation)
    if bounds is None or not bounds[1] - bounds[0] < MOST_GROUPS:
        return None
    return tuple(range(math.ceil(bounds[0]), math.floor(bounds[1]) + 1))


def _with_null(values: _Values | None) -> _Values | None:
    return values if values is None or None in values else (*values, None)


def _restricted(name: str, values: _Values | None, relation: Filter) -> _Values | None:
    """Apply the conditions on this column alone: other rows cannot occur."""
    condition = relation.condition
    is_and = isinstance(condition, Call) and condition.function == "and"
    parts = condition.children() if is_and else (condition,)
    step(condition.size)
    mine = [part for whole in parts for part in _implied(name, whole) if names_in(part) == {name}]
    if values is None or len(values) > _MOST_TRIED:
        values = _narrowed(name, values, mine, relation)
    if values is None or not mine:
        return values
    lists = [part for part in mine if _lists_texts(part, relation.columns)]
    for listed in lists:
        values = _among(values, listed.options)
    mine = [part for part in mine if not _lists_texts(part, relation.columns)]
    tests = [evaluator(part, relation.columns) for part in mine]
    tried = values if len(values) <= _MOST_TRIED else (None,)  # too many to try each: more groups are harmless
    for part in mine:
        _evaluating(part, {name: tried}, relation.columns)
    left_out = {value for value in tried if not all(is_met({name: value}) is True for is_met in tests)}
    return tuple(value for value in values if value not in left_out)


def _lists_texts(condition: Expression, columns: Mapping[str, Kind]) -> TypeGuard[OneOf]:
    """Whether a condition lists texts of a column: these are equal if they are the same, and need no evaluation."""
    is_list = isinstance(condition, OneOf) and isinstance(condition.value, Name)
    return is_list and kind_of(condition.children()[0], columns) is Kind.TEXT


def _among(values: _Values, options: Sequence[Literal]) -> _Values:
    """Return the values that are listed; NULL is none of them."""
    step((len(values) + len(options)) // 16)
    listed = {option.value for option in options if option.value is not None}
    return tuple(value for value in values if value in listed)


def _narrowed(name: str, values: _Values | None, conditions: Sequence[Expression], relation: Filter) -> _Values | None:
    """Return the values that conditions list, or those between the bounds that they set, if these are fewer."""
    listed = [options for options in (_listed(part, Name(name)) for part in conditions) if options is not None]
    fewer = listed[0] if listed else _between(name, relation)
    if values is None or fewer is None:
        return fewer if values is None else values
    step(len(values) // 16)
    known = {value: value for value in values}
    found = tuple(known[value] for value in (*fewer, None) if value in known)
    return found if len(found) < len(values) else values


def _implied(name: str, condition: Expression) -> list[Expression]:
    """Return what a condition says of one column alone: itself, or what the sides of an OR say if all of them do."""
    if not (isinstance(condition, Call) and condition.function == "or") or names_in(condition) == {name}:
        return [condition]
    sides: list[Expression] = []
    for side in condition.arguments:
        is_and = isinstance(side, Call) and side.function == "and"
        found = [part for part in (side.children() if is_and else (side,)) if names_in(part) == {name}]
        if not found:
            return []
        sides.append(found[0] if len(found) == 1 else Call("and", tuple(found)))
    return [Call("or", tuple(sides))]


def _between(name: str, relation: Filter) -> _Values | None:
    kind = relation.columns[name]
    if kind is Kind.INTEGER:
        return _of_integer(name, relation)
    days = _days(Name(name), relation) if kind is Kind.DATE else None
    return None if days is None else tuple(days)


def _listed(condition: Expression, column: Name) -> _Values | None:
    if isinstance(condition, OneOf) and condition.value == column:
        return tuple(dict.fromkeys(option.value for option in condition.options if option.value is not None))
    if isinstance(condition, Call) and condition.function == "equal" and column in condition.arguments:
        other = condition.arguments[1 - condition.arguments.index(column)]
        return (other.value,) if isinstance(other, Literal) and other.value is not None else None
    if isinstance(condition, Call) and condition.function in ("and", "or"):
        sides = [_listed(part, column) for part in condition.arguments]
        return _union(sides) if condition.function == "or" else next((one for one in sides if one is not None), None)
    return None


def _is_nullable(name: str, relation: Relation) -> bool:
    return once("nullable", name, relation, lambda: _is_new_nullable(name, relation))


def _is_new_nullable(name: str, relation: Relation) -> bool:
    step()
    values = _of_column(name, relation)
    if values is not None:
        return None in values
    if isinstance(relation, Scan):
        return relation.table.column(name).nullable
    if isinstance(relation, Project):
        return _may_be_null(dict(relation.outputs)[name], relation.relation)
    if isinstance(relation, JoinPublic | JoinPersons):
        below = relation.relation if isinstance(relation, JoinPublic) else relation.left
        if name in below.columns:
            return _is_nullable(name, below)
        plain = name.removeprefix(relation.prefix)
        if relation.keep_unmatched or isinstance(relation, JoinPublic):
            return relation.keep_unmatched or (
                isinstance(relation, JoinPublic) and relation.table.column(plain).nullable
            )
        return _is_nullable(plain, relation.right)
    if isinstance(relation, UnionAll):
        return _is_nullable(name, relation.left) or _is_nullable(_beside(name, relation), relation.right)
    if isinstance(relation, PerPerson):
        keys, measures = dict(relation.keys), dict(relation.measures)
        if name in keys:
            return _may_be_null(keys[name], relation.relation)
        measure = measures[name]
        return isinstance(measure, Smallest | Largest) and _may_be_null(measure.value, relation.relation)
    if isinstance(relation, Window) and name == relation.name:
        is_missing = relation.function in ("lag", "lead") or relation.may_be_empty
        return is_missing or (relation.value is not None and _may_be_null(relation.value, relation.relation))
    return _is_nullable(name, getattr(relation, "relation"))  # noqa: B009 - all the others stand over one relation
