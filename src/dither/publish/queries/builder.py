"""Queries in Python: operators that are safe to compose, as in SuLQ and PINQ; they build the same record as SQL.

``table("visits")`` is a set of private rows; ``where``, ``select``, joins, windows and ``per_person`` give other ones;
``group`` and the aggregates say what is measured; ``build(dataset)`` returns the ``Query``. Every object is immutable:
a method returns a new one, so that a common beginning can be shared.

How far the rows move when one person (or one row) is added or removed is the *stability* of an operator. Choosing and
computing rows leave it as it is: each row becomes at most one. A public table has a unique key, so that each row meets
at most one of its rows. A join of private tables makes each of a person's rows on the left meet each of the same
person's rows on the right, of which a public number enters on each side: they all belong to that one person, so that
the limits of the data set, which are applied above it, bound what counts. Nothing here can make rows of
different people meet.

>>> from dither.data import Column, DataSet, Kind, Table
>>> from dither.privacy import ROW
>>> visits = Table("visits", (Column("age", Kind.INTEGER, lower=0, upper=120),), "visits.csv")
>>> query = table("visits").where(col("age") > 50).mean("age").build(DataSet("clinic", (visits,), ROW))
>>> query.aggregates[0].name, query.aggregates[0].bounds
('mean_age', ((50.0, 120.0),))
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dither.data import (
    Call,
    Case,
    DataSet,
    Expression,
    JoinPublic,
    Kind,
    Limits,
    Literal,
    Name,
    PerPerson,
    Relation,
    Window,
)
from dither.data.expressions import Value, kind_of
from dither.data.joins import joined
from dither.data.owners import scan_of
from dither.data.relations import person_columns
from dither.errors import InvalidParameter, Unanswerable
from dither.exact import whole
from dither.publish.queries.assemble import (
    PersonGrouping,
    conjunction,
    default_name,
    filtered,
    free_name,
    free_prefix,
    key_may_be_null,
    make_aggregate,
    make_key,
    make_query,
    own_limits,
    person_sum,
    projected,
    sorted_by,
)
from dither.publish.queries.keys import may_be_null
from dither.publish.queries.parts import Partition
from dither.publish.queries.person_bounds import limited_to
from dither.publish.queries.query import Aggregate, Query
from dither.publish.queries.sizes import check_number
from dither.publish.queries.terms import Expr, PersonMeasure, When, col, column_of, fitted, lit, rows, share_of, when
from dither.publish.queries.work import planning


class Rows:
    """Private rows in the making; see the module for each step's effect on stability."""

    def __init__(self, relation: Callable[[DataSet], Relation]) -> None:
        self._relation = relation

    @classmethod
    def of(cls, relation: Relation) -> Rows:
        """Return rows over an existing relation."""
        return cls(lambda dataset: relation)

    def relation(self, dataset: DataSet) -> Relation:
        """Return the rows as a relation of a data set."""
        return self._relation(dataset)

    def _then(self, step: Callable[[Relation], Relation]) -> Rows:
        before = self._relation
        return Rows(lambda dataset: step(before(dataset)))

    def where(self, *conditions: Expr) -> Rows:
        """Keep the rows where all conditions are true. Stability 1: each row is kept or dropped by itself."""
        return self._then(
            lambda below: filtered(below, conjunction(fitted(one.expression, below.columns) for one in conditions))
        )

    def select(self, *columns: str, **named: Any) -> Rows:
        """Keep some columns and compute others. Stability 1: each row becomes one row."""

        def step(below: Relation) -> Relation:
            kept = [(name, Name(name)) for name in columns]
            made = [(name, fitted(column_of(value), below.columns)) for name, value in named.items()]
            return projected(below, [*kept, *made])

        return self._then(step)

    def join_public(
        self,
        name: str,
        on: str | Sequence[str] | Mapping[str, Any] | None = None,
        *,
        keep_unmatched: bool = False,
        alias: str | None = None,
    ) -> Rows:
        """Add the columns of a public table, called alias_column. Stability 1: its key is unique.

        Args:
            name: the public table.
            on: for each column of its key what it equals, or names that both sides share; by default its key.
            keep_unmatched: whether rows without a match stay, with NULLs.
            alias: by default the name.

        """
        before = self._relation

        def made(dataset: DataSet) -> Relation:
            below, table_ = before(dataset), dataset.table(name)
            if not table_.is_public:
                raise InvalidParameter("table", name, "a public table; join(...) joins private ones on the privacy id")
            given = _key_mapping(on, table_.key)
            if set(given) != set(table_.key) or not table_.key:
                raise Unanswerable(
                    f"a public table is joined on its whole unique key, that of {name} is {', '.join(table_.key)}",
                    "give every column of the key",
                )
            keys = tuple(fitted(given[key], below.columns) for key in table_.key)
            for key, value in zip(table_.key, keys, strict=True):
                stand_in = Literal(None, table_.column(key).kind)
                kind_of(Call("equal", (value, stand_in)), below.columns)
            return JoinPublic(below, table_, keys, keep_unmatched, free_prefix(below, alias or name, table_.kinds))

        return Rows(made)

    def join(
        self, other: Rows | str, on: Expr | None = None, *, keep_unmatched: bool = False, alias: str | None = None
    ) -> Rows:
        """Join rows of the same person; columns of the other side are called alias_column.

        Stability: each of a person's rows meets each of that person's rows on the other side, so that m and n rows
        give up to m * n; all of them are the same person's, and the limits above bound them. Where either side may have
        several rows a person, the data set's ``rows per join`` of them enter on each side.

        Args:
            other: the other rows, or a table.
            on: what else must hold, over the columns of both sides.
            keep_unmatched: whether rows without a match stay, with NULLs.
            alias: what the other side is called; needed unless it is a table.

        """
        if not isinstance(other, str) and alias is None:
            raise InvalidParameter("alias", alias, "required when the other side is not a table by its name")
        right_rows = table(other) if isinstance(other, str) else other
        label = alias or str(other)
        before = self._relation

        def made(dataset: DataSet) -> Relation:
            left, right = before(dataset), right_rows.relation(dataset)
            prefix = free_prefix(left, label, right.columns)
            kinds = {**left.columns, **{prefix + name: kind for name, kind in right.columns.items()}}
            condition = None if on is None else conjunction((fitted(on.expression, kinds),))
            return joined(dataset, left, right, condition, keep_unmatched, prefix)

        return Rows(made)

    def among(self, other: Rows) -> Rows:
        """Keep the rows of people who have a row among the others. Each person is decided by their own rows."""
        return self._with_others(other, False)

    def not_among(self, other: Rows) -> Rows:
        """Keep the rows of people who have no row among the others."""
        return self._with_others(other, True)

    def _with_others(self, other: Rows, negated: bool) -> Rows:
        before = self._relation

        def made(dataset: DataSet) -> Relation:
            left, right = before(dataset), other.relation(dataset)
            name = _person_column(right)
            if not (isinstance(right, PerPerson) and not right.measures and tuple(right.columns) == (name,)):
                right = PerPerson(projected(right, [(name, Name(name))]), ((name, Name(name)),), ())
            prefix = free_prefix(left, "among", [name])
            both = joined(dataset, left, right, None, negated, prefix)
            return filtered(both, Call("is_null", (Name(prefix + name),))) if negated else both

        return Rows(made)

    def per_person(self, *by: str, **measures: PersonMeasure) -> Rows:
        """Make one row for each person (and each value of ``by``), with measures of that person's own rows.

        Stability: a person's rows become at most as many rows of the same person. The privacy id stays visible, where
        it is; rows that belong to people through another table need not show it.
        """

        def step(below: Relation) -> Relation:
            # Rows that belong to people through another table are grouped by person although no column says whose.
            shown = () if below.has_persons and not person_columns(below) else (_person_column(below),)
            keys = [(name, Name(name)) for name in (*shown, *by)]
            grouping = PersonGrouping(below, keys)
            outputs: list[tuple[str, Expression]] = [(name, Name(name)) for name, _ in keys]
            for name, measure in measures.items():
                value = None if measure.value is None else fitted(measure.value, below.columns)
                outputs.append((name, grouping.add(measure.function, value, name)))
            return projected(grouping.relation(), outputs)

        return self._then(step)

    def distinct(self, *columns: str) -> Rows:
        """Keep distinct rows within each person, of the privacy id and these columns."""
        return self._then(
            lambda below: PerPerson(below, tuple((name, Name(name)) for name in (_person_column(below), *columns)), ())
        )

    def window(
        self,
        name: str,
        function: str,
        value: Any = None,
        *,
        partition: Sequence[Any] = (),
        order: Sequence[Any] = (),
        descending: bool = False,
    ) -> Rows:
        """Add a column computed within each person: row_number, lag, lead, count, sum, smallest or largest.

        Stability 1: each row becomes one row, which depends on that person's rows alone.
        """

        def step(below: Relation) -> Relation:
            columns = below.columns
            of = None if value is None else fitted(column_of(value), columns)
            parts = tuple(fitted(column_of(part), columns) for part in partition)
            values = [fitted(column_of(part), columns) for part in order]
            ordered = tuple(one for part in values for one in sorted_by(part, descending, may_be_null(part, below)))
            if function == "sum" and of is not None:
                steps, restore = person_sum(of, below)
                made = Window(below, name, function, steps, parts, ordered)
                total = restore(Name(name))
                outputs = [*((column, Name(column)) for column in columns), (name, total)]
                return projected(made, outputs)
            return Window(below, name, function, of, parts, ordered)

        return self._then(step)

    def partition(self, by: Any, parts: Mapping[str, Sequence[Value]], *, groups: int | None = None) -> Partition:
        """Split the rows into public disjoint parts, whose queries are priced in parallel.

        Stability: a row lies in one part at most. A person may have rows in several. At most ``groups`` of these parts
        count; by default as many as the data set's own limits leave: its ``groups``, or its ``rows`` if there are fewer
        of them, applied to the rows of all parts together. The person's other rows are left out.

        Args:
            by: what decides.
            parts: the values that belong to each part; no value belongs to two.
            groups: in how many parts one person may count.

        """
        return Partition(self, column_of(by), {label: tuple(values) for label, values in parts.items()}, groups)

    # Towards an answer.

    def group(self, *columns: str, keys: Sequence[Any] | None = None, **named: Any) -> Groups:
        """Group by columns and by named expressions.

        Args:
            columns: columns to group by.
            keys: the groups to publish, one value each (tuples for several keys); by default what the schema declares.
            named: expressions to group by.

        """
        pairs = [(name, name) for name in columns] + list(named.items())
        given = [(name, column_of(value), None) for name, value in pairs]
        if keys is not None and len(given) == 1:
            given = [(given[0][0], given[0][1], tuple(keys))]  # type: ignore[list-item]
            keys = None
        return Groups(self, tuple(given), key_values=None if keys is None else tuple(tuple(row) for row in keys))

    def histogram(self, column: str, edges: Sequence[float], name: str = "count") -> Groups:
        """Count rows between edges: [e0, e1), [e1, e2), ..., the last one closed; each is named by its lower edge."""
        ends = [Literal(edge, Kind.INTEGER if isinstance(edge, int) else Kind.REAL) for edge in edges]
        if len(edges) < 2 or any(not first < second for first, second in itertools.pairwise(edges)):
            raise InvalidParameter("edges", edges, "at least two numbers in ascending order")
        value = Name(column)
        branches = []
        for index, (low, high) in enumerate(itertools.pairwise(ends)):
            below = "at_most" if index == len(ends) - 2 else "less"
            inside = conjunction((Call("at_least", (value, low)), Call(below, (value, high))))
            branches.append((inside, low))
        is_whole = all(isinstance(edge, int) for edge in edges)
        case = Case(tuple(branches), Literal(None, Kind.INTEGER if is_whole else Kind.REAL))
        values = tuple(edges[:-1]) if is_whole else tuple(float(edge) for edge in edges[:-1])
        return Groups(self, ((column, case, values),)).count(name)

    def count(self, name: str | None = None, *, where: Expr | None = None) -> Groups:
        """Count rows."""
        return Groups(self, ()).count(name, where=where)

    def persons(self, name: str | None = None) -> Groups:
        """Count people."""
        return Groups(self, ()).persons(name)

    def sum(self, value: Any, **options: Any) -> Groups:
        """Sum values; see ``Groups.sum``."""
        return Groups(self, ()).sum(value, **options)

    def mean(self, value: Any, **options: Any) -> Groups:
        """Take the mean; see ``Groups.mean``."""
        return Groups(self, ()).mean(value, **options)

    def quantile(self, value: Any, share: float | str | Fraction, **options: Any) -> Groups:
        """Take a quantile; see ``Groups.quantile``."""
        return Groups(self, ()).quantile(value, share, **options)

    def measure(self, function: str, *values: Any, **options: Any) -> Groups:
        """Measure anything; see ``Groups.measure``."""
        return Groups(self, ()).measure(function, *values, **options)


@dataclass(frozen=True)
class _Asked:
    function: str
    values: tuple[Expression, ...]
    options: tuple[tuple[str, Any], ...]


class Groups:
    """Groups of private rows, and the measures of each; ``build`` makes the query."""

    def __init__(
        self,
        source: Rows,
        keys: tuple[tuple[str, Expression, tuple[Value, ...] | None], ...],
        asked: tuple[_Asked, ...] = (),
        *,
        key_values: tuple[tuple[Value, ...], ...] | None = None,
        shown: tuple[tuple[str, Expression], ...] | None = None,
        condition: Expression | None = None,
        order: tuple[tuple[Expression, bool], ...] = (),
        limit: int | None = None,
        limits: tuple[tuple[str, int], ...] = (),
    ) -> None:
        self._source, self._keys, self._asked = source, keys, asked
        self._later: dict[str, Any] = {
            "key_values": key_values,
            "shown": shown,
            "condition": condition,
            "order": order,
            "limit": limit,
            "limits": limits,
        }

    def _with(self, **changes: Any) -> Groups:
        asked = changes.pop("asked", self._asked)
        return Groups(self._source, self._keys, asked, **{**self._later, **changes})

    def measure(self, function: str, *values: Any, **options: Any) -> Groups:
        """Measure one of ``AGGREGATES``.

        Args:
            function: which.
            values: columns or expressions it is of.
            options: ``name``; ``bounds``, the range that values are clamped to (for two values a pair of ranges);
                ``where``, a condition; ``share`` of a quantile; ``many`` and ``values`` for the commonest;
                ``granularity``, the step of the grid.

        """
        known = ("name", "bounds", "where", "share", "many", "values", "granularity")
        for option in options:
            if option not in known:
                raise InvalidParameter("option", option, f"one of {', '.join(known)}")
        one = _Asked(function, tuple(column_of(value) for value in values), tuple(options.items()))
        return self._with(asked=(*self._asked, one))

    def count(self, name: str | None = None, *, where: Expr | None = None) -> Groups:
        """Count rows, or those where a condition is true."""
        return self.measure("count", name=name, where=where)

    def count_of(self, value: Any, **options: Any) -> Groups:
        """Count rows where the value is not NULL (a condition: where it is true)."""
        return self.measure("count_of", value, **options)

    def persons(self, name: str | None = None) -> Groups:
        """Count people."""
        return self.measure("persons", name=name)

    def distinct(self, value: Any, **options: Any) -> Groups:
        """Count the different values; one that nobody has is not counted."""
        return self.measure("distinct", value, **options)

    def sum(self, value: Any, **options: Any) -> Groups:
        """Sum values, each clamped to ``bounds`` or to the declared bounds."""
        return self.measure("sum", value, **options)

    def mean(self, value: Any, **options: Any) -> Groups:
        """Take the mean of values, each clamped to ``bounds`` or to the declared bounds."""
        return self.measure("mean", value, **options)

    def variance(self, value: Any, **options: Any) -> Groups:
        """Take the variance, divided by the number of values."""
        return self.measure("variance", value, **options)

    def deviation(self, value: Any, **options: Any) -> Groups:
        """Take the standard deviation, divided by the number of values."""
        return self.measure("deviation", value, **options)

    def quantile(self, value: Any, share: float | str | Fraction, **options: Any) -> Groups:
        """Take the quantile of a share from 0 to 1."""
        return self.measure("quantile", value, share=share_of(share), **options)

    def median(self, value: Any, **options: Any) -> Groups:
        """Take the median."""
        return self.quantile(value, Fraction(1, 2), **options)

    def minimum(self, value: Any, **options: Any) -> Groups:
        """Take the smallest value, as an extreme quantile."""
        return self.measure("minimum", value, **options)

    def maximum(self, value: Any, **options: Any) -> Groups:
        """Take the largest value, as an extreme quantile."""
        return self.measure("maximum", value, **options)

    def covariance(self, first: Any, second: Any, **options: Any) -> Groups:
        """Take the covariance, divided by the number of pairs."""
        return self.measure("covariance", first, second, **options)

    def correlation(self, first: Any, second: Any, **options: Any) -> Groups:
        """Take the correlation."""
        return self.measure("correlation", first, second, **options)

    def mode(self, value: Any, **options: Any) -> Groups:
        """Take the most common of the public values."""
        return self.measure("mode", value, **options)

    def top(self, value: Any, many: int, **options: Any) -> Groups:
        """Take the most common public values."""
        return self.measure("top", value, many=whole("many", many, least=1, most=1000), **options)

    # What is shown.

    def show(self, *names: str, **named: Expr) -> Groups:
        """Show these keys and aggregates, and expressions over them; by default all keys and aggregates."""
        shown = [(name, Name(name)) for name in names] + [(name, value.expression) for name, value in named.items()]
        return self._with(shown=tuple(shown))

    def having(self, condition: Expr) -> Groups:
        """Show only the rows where the condition on keys and aggregates is true."""
        before = self._later["condition"]
        parts = [] if before is None else [before]
        return self._with(condition=conjunction([*parts, condition.expression]))

    def order_by(self, value: Any, *, descending: bool = False) -> Groups:
        """Sort the output; further calls break ties."""
        return self._with(order=(*self._later["order"], (column_of(value), descending)))

    def limit(self, number: int) -> Groups:
        """Show only the first rows."""
        return self._with(limit=whole("limit", number, least=1, most=10**9))

    def limits(self, **limits: int) -> Groups:
        """Let less of one person count than the data set allows: ``rows``, ``groups``, ``rows_per_group``."""
        return self._with(limits=tuple(limits.items()))

    def build(self, dataset: DataSet) -> Query:
        """Return the query over a data set."""
        with planning(), limited_to(dataset):
            return self._build(dataset, self._source.relation(dataset))

    def _build(self, dataset: DataSet, relation: Relation) -> Query:
        columns = relation.columns
        keys = [make_key(name, fitted(value, columns), relation, values) for name, value, values in self._keys]
        aggregates: list[Aggregate] = []
        for one in self._asked:
            taken = [*(key.name for key in keys), *(known.name for known in aggregates)]
            made = self._aggregate(one, relation)
            aggregates.append(replace(made, name=free_name(made.name, taken)))
            check_number(len(aggregates), "query")
        names = [key.name for key in keys] + [aggregate.name for aggregate in aggregates]
        released = {key.name: kind_of(key.value, columns) for key in keys}
        released |= {aggregate.name: aggregate.kind(columns) for aggregate in aggregates}
        shown = self._later["shown"] or tuple((name, Name(name)) for name in names)
        outputs = [(name, fitted(value, released)) for name, value in shown]
        meanings = {**{name: Name(name) for name in names}, **dict(outputs)}
        order: list[tuple[Expression, bool]] = []
        for value, last in self._later["order"]:
            meant = meanings.get(value.name, value) if isinstance(value, Name) else fitted(value, released)
            order += sorted_by(meant, last, key_may_be_null(meant, keys, relation))
        condition = self._later["condition"]
        return make_query(
            dataset,
            relation,
            keys,
            aggregates,
            outputs,
            having=None if condition is None else fitted(condition, released),
            order=order,
            limit=self._later["limit"],
            limits=_narrowed(dataset, dict(self._later["limits"])),
            key_values=self._later["key_values"],
        )

    def _aggregate(self, one: _Asked, relation: Relation) -> Aggregate:
        options = dict(one.options)
        where = options.pop("where", None)
        bounds = options.pop("bounds", None)
        if bounds is not None and len(one.values) == 1:
            bounds = (bounds,)
        values = [fitted(value, relation.columns) for value in one.values]
        made = make_aggregate(
            one.function,
            values,
            relation,
            where=None if where is None else fitted(where.expression, relation.columns),
            bounds=bounds,
            **options,
        )
        name = options.get("name") or default_name(made.function, made.arguments, made.share)
        return replace(made, name=name)


def table(name: str) -> Rows:
    """Return the rows of a private table."""

    def made(dataset: DataSet) -> Relation:
        found = dataset.table(name)
        if found.is_public:
            raise Unanswerable(f"{name} is a public table", "read it directly, or join it to a private one")
        return scan_of(dataset, found)

    return Rows(made)


def _person_column(relation: Relation) -> str:
    ids = person_columns(relation)
    found = next((name for name in relation.columns if name in ids), None)
    if found is None:
        raise Unanswerable(
            "the rows show no privacy id, so that they cannot be put together person by person",
            "keep the privacy id in select(...), or declare one for the table",
        )
    return found


def _key_mapping(on: str | Sequence[str] | Mapping[str, Any] | None, key: tuple[str, ...]) -> dict[str, Expression]:
    if on is None:
        return {name: Name(name) for name in key}
    if isinstance(on, Mapping):
        return {name: column_of(value) for name, value in on.items()}
    return {name: Name(name) for name in ((on,) if isinstance(on, str) else on)}


def _narrowed(dataset: DataSet, said: Mapping[str, int]) -> Limits:
    own = own_limits(dataset)
    for name, limit in said.items():
        if name not in ("rows", "groups", "rows_per_group"):
            raise InvalidParameter("limit", name, "rows, groups or rows_per_group")
        most = getattr(own, name)
        if not dataset.protects_persons:
            raise InvalidParameter(name, limit, "not allowed when each row is its own unit")
        whole(name, limit, least=1, most=2**31 if most is None else most)
    return replace(own, **said)


__all__ = ["Expr", "Groups", "Partition", "Rows", "When", "col", "lit", "rows", "table", "when"]
