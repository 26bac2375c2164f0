"""From requests to records: shared by SQL and the Python builder, so that equal requests give equal trees.

Conditions are flat conjunctions, adjacent filters are one, a projection that changes nothing is left out, and every
aggregate gets its public bounds here, or a refusal that says what would bound it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from dither.data import (
    Call,
    Case,
    Cast,
    CountOf,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Grid,
    Kind,
    Largest,
    Limits,
    Literal,
    Measure,
    Name,
    PerPerson,
    Project,
    Relation,
    Smallest,
    Sum,
)
from dither.data.expressions import Value, kind_of
from dither.data.lengths import largest_text
from dither.data.relations import person_columns
from dither.errors import InvalidParameter, Unanswerable
from dither.publish.queries.bounds import bounds_of
from dither.publish.queries.clamps import clamp_bounds_of, missing_bound
from dither.publish.queries.contradictions import check_sense, check_values, declared_column
from dither.publish.queries.keys import check_number_of_groups, may_be_null, public_values
from dither.publish.queries.owned import refuse_group_a_person
from dither.publish.queries.query import Aggregate, Key, Query
from dither.publish.queries.selection import selected
from dither.publish.queries.work import planning, step

_MOST_ARGUMENTS = 256
#: Different values are looked for among public ones if these are not more.
_MOST_VALUES = 1024
#: How fine the sum of one person's reals is: steps of 2^-40 of the largest value that is allowed.
_BITS_PER_PERSON = 40
_NEEDS_BOUNDS = frozenset(
    (
        *("sum", "mean", "variance", "deviation", "sample_variance", "sample_deviation"),
        *("quantile", "minimum", "maximum", "covariance", "sample_covariance", "correlation"),
    )
)


def conjunction(parts: Iterable[Expression]) -> Expression:
    """Return the condition that all parts hold, flat."""
    return _flat("and", parts)


def disjunction(parts: Iterable[Expression]) -> Expression:
    """Return the condition that at least one part holds, flat."""
    return _flat("or", parts)


def _flat(function: str, parts: Iterable[Expression]) -> Expression:
    flat: list[Expression] = []
    for part in parts:
        flat += part.arguments if isinstance(part, Call) and part.function == function else (part,)
    while len(flat) > _MOST_ARGUMENTS:
        size = _MOST_ARGUMENTS
        chunks = [flat[start : start + size] for start in range(0, len(flat), size)]
        flat = [Call(function, tuple(chunk)) if len(chunk) > 1 else chunk[0] for chunk in chunks]
    return Call(function, tuple(flat)) if len(flat) > 1 else flat[0]


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """Return the parts of a flat conjunction."""
    is_and = isinstance(condition, Call) and condition.function == "and"
    return condition.children() if is_and else (condition,)


def clamp(value: Expression, low: Literal, high: Literal) -> Expression:
    """Return the value moved into [low, high]; NULL stays NULL."""
    if not (isinstance(low.value, int | float) and isinstance(high.value, int | float) and low.value <= high.value):
        raise InvalidParameter("CLAMP", (low.value, high.value), "applied to two numbers, the first at most the second")
    return Case(((Call("less", (value, low)), low), (Call("more", (value, high)), high)), value)


def unclamped(expression: Expression) -> tuple[Expression, float, float] | None:
    """Return value and bounds if the expression is a clamp, else None."""
    if not (isinstance(expression, Case) and len(expression.branches) == 2):
        return None
    low, high = expression.branches[0][1], expression.branches[1][1]
    if not (isinstance(low, Literal) and isinstance(high, Literal)):
        return None
    if not (isinstance(low.value, int | float) and isinstance(high.value, int | float) and low.value <= high.value):
        return None
    if expression != clamp(expression.otherwise, low, high):
        return None
    return expression.otherwise, float(low.value), float(high.value)


def only_where(condition: Expression, value: Expression, columns: Mapping[str, Kind]) -> Expression:
    """Return the value where the condition holds, else NULL."""
    return Case(((condition, value),), Literal(None, kind_of(value, columns)))


# Relations.


def filtered(relation: Relation, condition: Expression) -> Filter:
    """Return the rows where the condition holds; nested filters become one."""
    if isinstance(relation, Filter):
        return Filter(relation.relation, conjunction((relation.condition, condition)))
    return Filter(relation, conjunction((condition,)))


def projected(relation: Relation, outputs: Sequence[tuple[str, Expression]]) -> Relation:
    """Return the named outputs of each row; nothing is added if they are the unchanged columns."""
    if tuple(outputs) == tuple((name, Name(name)) for name in relation.columns):
        return relation
    return Project(relation, tuple(outputs))


def free_prefix(left: Relation, alias: str, names: Iterable[str]) -> str:
    """Return a prefix for a joined table's column names: its alias and enough underscores to avoid clashes."""
    taken = {name.lower() for name in left.columns}
    step(len(taken))
    prefix, added = f"{alias}_", [name.lower() for name in names]
    while any(prefix.lower() + name in taken for name in added):
        prefix += "_"
    return prefix


class PersonGrouping:
    """One row for each person and each value of some keys, with measures of that person's own rows.

    Sums of reals are taken on a fine grid, exactly; ``add`` returns the expression that gives the number back.
    """

    def __init__(self, relation: Relation, keys: Sequence[tuple[str, Expression]]) -> None:
        self._relation = relation
        self._keys = tuple(keys)
        self._measures: dict[str, Measure] = {}

    def add(self, function: str, value: Expression | None, name: str | None = None) -> Expression:
        """Return an expression over ``relation`` for count, count_of, sum, mean, minimum or maximum of the value."""
        if function == "count" or value is None:
            return self._measure(CountRows(), name or "count")
        label = name or default_name(function, (value,))
        if function == "count_of":
            return self._measure(CountOf(value), label)
        if function in ("minimum", "maximum"):
            return self._measure(Smallest(value) if function == "minimum" else Largest(value), label)
        if function not in ("sum", "mean"):
            raise Unanswerable(
                f"{function} cannot be computed within one person",
                "count, sum, mean, minimum and maximum of a person's own rows can",
            )
        kind = kind_of(value, self._relation.columns)
        if kind is Kind.BOOLEAN:
            value = Cast(value, Kind.INTEGER)
        steps, restore = person_sum(value, self._relation)
        is_plain = function == "sum" and kind is not Kind.REAL and not may_be_null(value, self._relation)
        total = self._measure(Sum(steps), label if is_plain else f"{label}_total")
        if is_plain:
            return total
        number = self._measure(CountOf(value), f"{label}_values")
        if function == "mean":
            return Call("divide", (restore(total), number))
        if not may_be_null(value, self._relation):
            return restore(total)
        sum_kind = Kind.REAL if kind is Kind.REAL else Kind.INTEGER
        nothing = Call("equal", (number, Literal(0, Kind.INTEGER)))
        return Case(((nothing, Literal(None, sum_kind)),), restore(total))

    def relation(self) -> PerPerson:
        """Return the rows with all added measures."""
        return PerPerson(self._relation, self._keys, tuple(self._measures.items()))

    def _measure(self, measure: Measure, name: str) -> Name:
        for known, other in self._measures.items():
            if other == measure:
                return Name(known)
        free = free_name(name, [*(key for key, _ in self._keys), *self._measures])
        self._measures[free] = measure
        return Name(free)


def person_sum(value: Expression, relation: Relation) -> tuple[Expression, Callable[[Expression], Expression]]:
    """Return an integer expression to sum within a person, and how to recover the sum from the total."""
    if kind_of(value, relation.columns) is not Kind.REAL:
        return value, lambda total: total
    inner = unclamped(value)
    bounds = clamp_bounds_of(value, relation)
    if bounds is None:
        raise unbounded("SUM", value, relation)
    largest = max(abs(bounds[0]), abs(bounds[1]))
    exponent = _BITS_PER_PERSON - (math.frexp(largest)[1] if largest else 0)
    grid = Grid(value if inner is None else inner[0], *bounds, origin=0.0, exponent=exponent)
    return grid, lambda total: Call(
        "multiply", (Cast(total, Kind.REAL), Literal(math.ldexp(1.0, -exponent), Kind.REAL))
    )


def sorted_by(value: Expression, descending: bool, is_nullable: bool) -> tuple[tuple[Expression, bool], ...]:
    """Return sort keys that put NULL last, as SQL does here; in a tree NULL is the least value."""
    if is_nullable and not descending:
        return (Call("is_null", (value,)), False), (value, False)
    return ((value, descending),)


def key_may_be_null(value: Expression, keys: Sequence[Key], relation: Relation) -> bool:
    """Return whether a released expression is a key that may be NULL."""
    for key in keys:
        if value == Name(key.name):
            return may_be_null(key.value, relation) if key.values is None else None in key.values
    return False


# Names.


def default_name(function: str, arguments: Sequence[Expression], share: Fraction | None = None) -> str:
    """Return the default name of an unnamed aggregate."""
    if share == Fraction(1, 2):
        function = "median"
    columns = [argument.name for argument in arguments if isinstance(argument, Name)]
    return "_".join([function.removesuffix("_of"), *(columns if len(columns) == len(arguments) else [])])


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number appended if it is taken; names ignore case."""
    used = {other.lower() for other in taken}
    step(len(used) // 8)
    free, number = name, 1
    while free.lower() in used:
        step()
        number += 1
        free = f"{name}_{number}"
    return free


def described(expression: Expression) -> str:
    """Return a short text for messages."""
    if isinstance(expression, Name):
        return expression.name
    if isinstance(expression, Call):
        return f"{expression.function}({', '.join(described(part) for part in expression.arguments)})"
    return type(expression).__name__.lower()


# Aggregates and queries.


def unbounded(called: str, value: Expression, relation: Relation) -> Unanswerable:
    """Return the error for an aggregate with unbounded values, which names what lacks bounds."""
    shown, column = described(value)[:60], missing_bound(value, relation)
    because = "" if column is None or value == Name(column) else f", because {column} has no bounds"
    write = f"CLAMP({column}, low, high)" if column is not None else "CLAMP(x, low, high) around the value"
    return Unanswerable(
        f"{called} of {shown} has no public bounds{because}, so that one person could move it without limit",
        f"declare bounds for {column or 'the column'}, or write {write}",
    )


def make_aggregate(
    function: str,
    arguments: Sequence[Expression],
    relation: Relation,
    *,
    name: str | None = None,
    where: Expression | None = None,
    bounds: Sequence[tuple[float, float] | None] | None = None,
    share: Fraction | None = None,
    many: int | None = None,
    values: Sequence[Value] | None = None,
    granularity: float | None = None,
    called: str | None = None,
) -> Aggregate:
    """Return the record of an aggregate over a relation, with bounds and candidates found or rejected.

    Args:
        function: one of ``AGGREGATES``.
        arguments: what it is of.
        relation: the rows.
        name: how it is called.
        where: only these rows count.
        bounds: for each argument the range to clamp to; None finds it.
        share: which quantile.
        many: how many of the commonest values.
        values: the candidates for the commonest values; None finds the public ones.
        granularity: the step of the grid.
        called: what the caller calls the function, for messages.

    """
    columns = relation.columns
    if function == "persons" and not relation.has_persons:
        raise Unanswerable("each row is its own unit, so that people cannot be counted", "ask for COUNT(*)")
    label = name or default_name(function, arguments, share)
    if where is not None and function == "persons":
        raise Unanswerable(
            "a number of people under a FILTER is another set of rows", "put the condition into WHERE or GROUP BY"
        )
    if function == "count":
        return Aggregate(label, "count") if where is None else Aggregate(label, "count_of", (where,))
    if function == "count_of":
        value = arguments[0]
        if kind_of(value, columns) is Kind.BOOLEAN and where is None:
            return Aggregate(label, "count_of", (value,))
        return Aggregate(label, "count_of", (value if where is None else only_where(where, value, columns),))
    if function in ("mode", "top"):
        candidates = tuple(values) if values is not None else public_values(arguments[0], relation)
        candidates = None if candidates is None else tuple(value for value in candidates if value is not None)
        if not candidates:
            raise Unanswerable(
                f"the commonest value of {described(arguments[0])[:60]} is sought among public values: none are known",
                "declare categories for the column, or group by it and order by COUNT(*)",
            )
        value = arguments[0] if where is None else only_where(where, arguments[0], columns)
        return Aggregate(label, function, (value,), many=many, values=candidates)
    if function == "distinct":
        value = arguments[0] if where is None else only_where(where, arguments[0], columns)
        return Aggregate(label, function, (value,), values=_few_values(arguments[0], relation, values))
    if function not in _NEEDS_BOUNDS:
        return Aggregate(label, function, tuple(arguments))
    final: list[Expression] = []
    ranges: list[tuple[float, float]] = []
    for index, argument in enumerate(arguments):
        value, interval = _bounded_argument(
            called or function, argument, None if bounds is None else bounds[index], relation
        )
        final.append(value if where is None else only_where(where, value, columns))
        ranges.append(interval)
    return Aggregate(label, function, tuple(final), tuple(ranges), share=share, granularity=granularity)


def _few_values(value: Expression, relation: Relation, said: Sequence[Value] | None) -> tuple[Value, ...] | None:
    """Return the values that may be counted, if they are public and few; NULL is not one."""
    known = public_values(value, relation) if said is None else tuple(said)
    found = None if known is None else tuple(one for one in known if one is not None)
    return found if found and len(found) <= _MOST_VALUES else None


def _bounded_argument(
    called: str, argument: Expression, said: tuple[float, float] | None, relation: Relation
) -> tuple[Expression, tuple[float, float]]:
    kind = kind_of(argument, relation.columns)
    if kind is Kind.BOOLEAN:
        argument = Cast(argument, Kind.INTEGER)
    elif not kind.is_number:
        raise Unanswerable(
            f"{called} needs numbers, and {described(argument)[:60]} is a {kind.value}",
            "count it, group by it, or turn it into a number (DATEDIFF, EXTRACT, LENGTH, CAST)",
        )
    stripped = unclamped(argument)
    if stripped is not None:
        argument, low, high = stripped
        said = (low, high) if said is None else (max(low, said[0]), min(high, said[1]))
    # A clamp that is stated is narrowed by facts alone, and not by what would be chosen in its absence.
    known = clamp_bounds_of(argument, relation) if said is None else bounds_of(argument, relation)
    if said is None:
        if known is None:
            raise unbounded(called, argument, relation)
        return argument, known
    low, high = (float(end) for end in said)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise InvalidParameter("bounds", said, "two finite numbers, the first at most the second")
    # A declared range that is narrower says more; one that lies elsewhere is overruled by the request.
    if known is not None and max(known[0], low) <= min(known[1], high):
        low, high = max(known[0], low), min(known[1], high)
    if kind_of(argument, relation.columns) is Kind.INTEGER and not (low.is_integer() and high.is_integer()):
        argument = Cast(argument, Kind.REAL)  # an integer beyond the bound becomes the bound, which is none
    return argument, (low, high)


def make_query(
    dataset: DataSet,
    relation: Relation,
    keys: Sequence[Key],
    aggregates: Sequence[Aggregate],
    outputs: Sequence[tuple[str, Expression]],
    *,
    having: Expression | None = None,
    order: Sequence[tuple[Expression, bool]] = (),
    limit: int | None = None,
    limits: Limits | None = None,
    key_values: Sequence[Sequence[Value]] | None = None,
) -> Query:
    """Return the record, after checking that what is shown makes sense given what is released."""
    if not aggregates:
        keys = selected(keys, key_values)
    refuse_group_a_person(dataset, relation, keys)
    check_sense(relation, keys, aggregates)
    if key_values is None:
        check_number_of_groups([key.values for key in keys])
    else:
        _check_groups(keys, relation, key_values)
    query = Query(
        dataset,
        relation,
        tuple(keys),
        tuple(aggregates),
        tuple(outputs),
        limits or own_limits(dataset),
        key_values=None if key_values is None else tuple(tuple(row) for row in key_values),
        having=having,
        order=tuple(order),
        limit=limit,
    )
    released = query.released
    for _, expression in query.outputs:
        kind_of(expression, released)
    for expression, _ in query.order:
        kind_of(expression, released)
    if having is not None and kind_of(having, released) is not Kind.BOOLEAN:
        raise InvalidParameter("HAVING", described(having), "true or false")
    _check_shown(query)
    return query


def _check_groups(keys: Sequence[Key], relation: Relation, groups: Sequence[Sequence[Value]]) -> None:
    """Reject listed groups that cannot occur."""
    for place, key in enumerate(keys):
        column = declared_column(key.value, relation)
        if column is not None:
            check_values(key.name, column, dict.fromkeys(row[place] for row in groups if place < len(row)))


def _check_shown(query: Query) -> None:
    """Reject output that would take long to show: it is computed for every group, after the charge."""
    shown = [*(value for _, value in query.outputs), *(value for value, _ in query.order)]
    shown += [] if query.having is None else [query.having]
    values = [key.values for key in query.keys] if query.key_values is None else [query.key_values]
    many = math.prod(1 if part is None else len(part) for part in values)
    named: list[Key | Aggregate] = [*query.keys, *query.aggregates]
    listed = {part.name: part.values for part in named if part.values is not None}
    texts = {name: max((len(one) for one in part if isinstance(one, str)), default=0) for name, part in listed.items()}
    letters = sum(largest_text(value, query.released, texts) for value in shown)
    with planning():
        step(many * (sum(value.size for value in shown) + letters // 4) // 256)


def make_key(name: str, value: Expression, relation: Relation, values: Sequence[Value] | None = None) -> Key:
    """Return a key with its public values: the given ones, or those that follow from schema and request."""
    kind = kind_of(value, relation.columns)
    if isinstance(value, Name) and value.name in person_columns(relation):
        raise Unanswerable(
            f"a group for every value of the privacy id {value.name} would be a row about every person",
            "count people with COUNT(DISTINCT id), or group by the id in a subquery and aggregate its rows",
        )
    if values is None:
        return Key(name, value, public_values(value, relation))
    for given in values:
        Literal(given, kind)
    if len(set(values)) != len(values) or not values:
        raise InvalidParameter(f"keys of {name}", values, "different values, at least one")
    return Key(name, value, tuple(values))


def own_limits(dataset: DataSet) -> Limits:
    """Return the limits that the data set declares."""
    return Limits(dataset.rows, dataset.groups, dataset.rows_per_group)
