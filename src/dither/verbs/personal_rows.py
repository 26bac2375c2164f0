"""Offers about rows with personal budgets: counts, sums and averages in SQL or built."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.data import DataSet, wire
from dither.data.expressions import names_in
from dither.data.personal import Personal, personal_of
from dither.data.policies import public_cells
from dither.data.relations import Filter, Relation
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.lift.lifted import Lifted
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.lift.verb import LEVEL, LOSSES, Verb, level_of, loss_of
from dither.mechanisms.core.mechanism import Bound
from dither.privacy import Loss, PureDP
from dither.publish.correlated.personal_plans import plan_personal_queries
from dither.publish.queries import Query, QueryResult, ResultColumn
from dither.publish.queries.builder import Groups
from dither.publish.queries.query import Aggregate
from dither.publish.queries.sql import agreed_loss, parse_request, parse_statement
from dither.verbs.linear_rows import KINDS_OF_CELLS, LinearRows, Weights, is_default, key_columns, twin_of

#: The verbs that such a data set has.
PERSONAL_VERBS: Final = ("sql", "ask")
_ROW, _HEAD = 2**9, 2**16
_ALIKE: Final = "the exact answer for the rows whose budget has a level"
_WEIGHED: Final = "the average, in which each row counts in proportion to its budget"


def offer_of(dataset: DataSet, verb: Verb[..., Any], arguments: Mapping[str, Any]) -> Offer[QueryResult]:
    """Return the offer of a query about rows with personal budgets.

    Args:
        dataset: the schema, whose unit is personal.
        verb: one of ``PERSONAL_VERBS``.
        arguments: by name; the loss is that of a row of the highest level.

    """
    given = {name: value for name, value in arguments.items() if not is_default(verb, name, value)}
    key = given.pop("key", None)
    if verb.name not in PERSONAL_VERBS:
        rule = f"{' or '.join(PERSONAL_VERBS)}: the data set declares personal budgets, and others have no price"
        raise InvalidParameter("verb", verb.name, rule)
    for name in given:
        if name not in ("text", "query", "description", "confidence", *LOSSES):
            raise InvalidParameter(name, given[name], "not allowed where the data set declares personal budgets")
    losses: Any = {name: given.get(name) for name in LOSSES}
    if verb.name == "sql":
        words = str(given["text"])
        statement = parse_statement(words)
        stated, built = agreed_loss(statement.sql, **losses), parse_request(statement.sql, twin_of(dataset))
    else:
        query, words = given["query"], str(given.get("description", ""))
        stated, built = loss_of(losses), query.build(twin_of(dataset)) if isinstance(query, Groups) else query
    if not isinstance(stated, PureDP):
        raise InvalidParameter("loss", str(stated), "an epsilon alone: what each row loses is a share of it")
    made = _offer(dataset, built, stated, level_of({"confidence": given.get("confidence", LEVEL)}), words)
    return made if key is None else replace(made, key=key)


class _PersonalRows(LinearRows):
    """Counts, sums and averages: an average is a weighed count and a weighed sum, of one and the same range."""

    def weights(self, aggregate: Aggregate) -> list[Weights]:
        """Return what a row in each cell adds, in one query or two."""
        if aggregate.function != "mean":
            return super().weights(aggregate)
        values = self.values(aggregate)
        low, high = int(values.min()), int(values.max())
        if low == high:
            raise self.refused("the mean of a column with one value")
        return [np.full(len(values), high - low, dtype=np.int64), 2 * values - (low + high)]


@dataclass(frozen=True)
class _Planned:
    """What is released, and how an answer follows from it."""

    release: Lifted
    query: Query
    groups: Sequence[tuple[Any, ...]]
    ranges: Mapping[str, tuple[int, int]]
    reach: float
    divisor: int

    def lines(self, out: Any) -> list[tuple[list[Any], list[Any], list[Any]]]:
        """Return values, lower and upper ends of the aggregates of each group."""
        numbers = iter(np.asarray(out).tolist())
        found = []
        for _ in self.groups:
            parts = [self._one(aggregate, numbers) for aggregate in self.query.aggregates]
            found.append(tuple(list(column) for column in zip(*parts, strict=True)))
        return found  # type: ignore[return-value]

    def _one(self, aggregate: Aggregate, numbers: Any) -> tuple[Any, Any, Any]:
        if aggregate.function != "mean":
            value, reach = next(numbers) / self.divisor, self.reach / self.divisor
            return value, value - reach, value + reach
        count, total = next(numbers), next(numbers)
        low, high = self.ranges[aggregate.name]
        if count <= self.reach:
            # The count may be 0: then nothing is known of the average but its range.
            return None, None, None
        scale, middle = (high - low) / 2, (low + high) / 2
        ends = [
            scale * (total + one * self.reach) / (count + other * self.reach)
            for one, other in itertools.product((-1, 1), repeat=2)
        ]
        shown = (middle + scale * total / count, middle + min(ends), middle + max(ends))
        return tuple(max(low, min(high, end)) for end in shown)


def _offer(dataset: DataSet, built: Any, stated: Loss, level: Fraction, words: str) -> Offer[QueryResult]:
    table, personal = personal_of(dataset)
    if not isinstance(built, Query) or built.dataset != twin_of(dataset):
        raise InvalidParameter("query", type(built).__name__, f"one SELECT about {table.name}, as it is declared now")
    planned = _plan(dataset, table, personal, built, stated, level)
    unit = protected_words(dataset, planned.release.loss(1))
    used = key_columns(built)
    heads = [
        ResultColumn(key.name, KINDS_OF_CELLS[table.kinds[name]], is_key=True)
        for key, name in zip(built.keys, used, strict=True)
    ]
    said = [
        ResultColumn(one.name, "real", is_key=False, estimand=_WEIGHED if one.function == "mean" else _ALIKE)
        for one in built.aggregates
    ]

    def present(out: Any) -> bytes:
        lines, none = planned.lines(out), [None] * len(used)
        rows = [(*group, *values) for group, (values, _, _) in zip(planned.groups, lines, strict=True)]
        low = [(*none, *ends) for _, ends, _ in lines]
        high = [(*none, *ends) for _, _, ends in lines]
        columns, loss = (*heads, *said), planned.release.loss(1)
        result = QueryResult(columns, rows, low, high, level, True, loss, unit, _notes(personal))
        return result.stored_within(LARGEST_ANSWER)[1].encode()

    names = [aggregate.name for aggregate in built.aggregates]
    asked = {"names": names, "confidence": str(level), "source": wire.encode(planned.release.source)}
    bound = Bound(planned.reach / planned.divisor, level, "the largest absolute error of any count or sum")
    return Offer(
        "query", words, planned.release, asked, stated, present, QueryResult.stored, expected=bound.words, unit=unit
    )


def _plan(dataset: DataSet, table: Table, personal: Personal, built: Query, stated: Loss, level: Fraction) -> _Planned:
    """Return what is measured for a query: plain queries for counts and sums, stretched ones for averages."""
    columns = _columns_of(table, personal, built)
    why = "COUNT(*), SUM and AVG of columns with declared values, with WHERE and GROUP BY of such columns"
    reader = _PersonalRows(table, columns, f"{why}, and not of {personal.budget}")
    groups = reader.of(built)
    stretched = [
        is_mean
        for _ in groups
        for aggregate in built.aggregates
        for is_mean in ([True, True] if aggregate.function == "mean" else [False])
    ]
    queries = [row.tolist() for group in groups for row in group]
    release = plan_personal_queries(dataset, columns, queries, stretched, stated)
    bound = release.error(level)
    labels = [public_cells(table.column(name)) or () for name in key_columns(built)]
    shown = list(itertools.product(*labels))
    check_length("query", len(shown), _ROW, _HEAD)
    ranges = {
        one.name: (int(reader.values(one).min()), int(reader.values(one).max()))
        for one in built.aggregates
        if one.function == "mean"
    }
    reach = math.inf if bound is None else float(bound.value)
    return _Planned(release, built, shown, ranges, reach, personal.weights[0])


def _columns_of(table: Table, personal: Personal, built: Query) -> tuple[str, ...]:
    """Return the columns that a query names, in the order of the table; refuse that of the budgets."""
    names: set[str] = set()
    relation: Relation = built.relation
    while isinstance(relation, Filter):
        names |= set(names_in(relation.condition))
        relation = relation.relation
    for part in (*(key.value for key in built.keys), *(one for each in built.aggregates for one in each.arguments)):
        names |= set(names_in(part))
    for name in sorted(names):
        if name == personal.budget or public_cells(table.column(name)) is None:
            rule = "a column with categories, an integer with bounds, a date with bounds or a boolean"
            raise InvalidParameter("column", name, f"{rule}, and not that of the budgets")
    return tuple(column.name for column in table.columns if column.name in names)


def protected_words(dataset: DataSet, loss: Loss) -> str:
    """Return what is protected, with the loss of rows of the highest and of the least level.

    Args:
        dataset: the schema, whose unit is personal.
        loss: of a row of the highest level.

    """
    _, personal = personal_of(dataset)
    least = PureDP((loss.pure or Fraction(0)) * personal.least_share)
    return f"{dataset.unit}; {loss} at {personal.levels[-1]:g}, {least} at {personal.levels[0]:g}"


def _notes(personal: Personal) -> tuple[str, ...]:
    levels = ", ".join(f"{level:g}" for level in personal.levels)
    return (f"personal budgets in {personal.budget}: levels {levels}; rows below the least level do not count",)
