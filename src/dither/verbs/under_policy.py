"""Offers under a declared policy: counts, sums and histograms of its columns, by the verbs of other data sets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import DataSet, Name, wire
from dither.data.columns import ColumnRows, Values
from dither.data.expressions import kind_of
from dither.data.policies import Policy, policy_of, public_cells
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.lift.lifted import Lifted
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.lift.verb import LEVEL, LOSSES, Verb, level_of, loss_of
from dither.mechanisms.core.mechanism import Bound
from dither.privacy import Loss
from dither.publish.correlated.policy_plans import plan_policy_histogram, plan_policy_queries
from dither.publish.queries import Query, QueryResult, ResultColumn
from dither.publish.queries.builder import Groups
from dither.publish.queries.display_values import believable
from dither.publish.queries.sql import agreed_loss, parse_request, parse_statement
from dither.publish.workloads import Workload
from dither.verbs.linear_rows import KINDS_OF_CELLS, LARGEST_ENTRY, LinearRows, is_default, key_columns, twin_of

#: The verbs that a data set with a policy has.
UNDER_POLICY: Final = ("sql", "ask", "histogram", "workload")
_TERMS: Final = (*LOSSES, "key", "confidence")
_ROW, _HEAD = 2**9, 2**16


def offer_of(dataset: DataSet, verb: Verb[..., Any], arguments: Mapping[str, Any]) -> Offer[Any]:
    """Return the offer of a verb about the columns of a declared policy.

    Args:
        dataset: the schema, whose unit is a value.
        verb: one of ``UNDER_POLICY``.
        arguments: by name.

    """
    given = {name: value for name, value in arguments.items() if not is_default(verb, name, value)}
    key = given.pop("key", None)
    if verb.name not in UNDER_POLICY:
        rule = f"{', '.join(UNDER_POLICY)}: the data set declares a policy, and others have no price under it"
        raise InvalidParameter("verb", verb.name, rule)
    made = {"sql": _sql, "ask": _ask, "histogram": _histogram, "workload": _workload}[verb.name](dataset, given)
    return made if key is None else replace(made, key=key)


def protected_words(dataset: DataSet) -> str:
    """Return what is protected, and by which policy.

    Args:
        dataset: the schema, whose unit is a value.

    """
    return f"{dataset.unit}: {policy_of(dataset)[1]}"


def _only(given: Mapping[str, Any], *known: str) -> None:
    """Refuse options that have no meaning under a policy."""
    for name in given:
        if name not in (*known, *_TERMS):
            raise InvalidParameter(name, given[name], "not allowed where the data set declares a policy")


def _stated(given: Mapping[str, Any]) -> Loss:
    return loss_of({name: given.get(name) for name in LOSSES})  # type: ignore[arg-type]


def _histogram(dataset: DataSet, given: Mapping[str, Any]) -> Offer[QueryResult]:
    _only(given, "table", "columns", "method")
    stated, level = _stated(given), level_of(given)  # type: ignore[arg-type]
    _, policy = _columns_of(dataset, given)
    planned = plan_policy_histogram(dataset, stated, method=str(given.get("method", "auto")))
    source, release = planned.source, planned.mechanism
    check_length("columns", source.cells, _ROW, _HEAD)
    notes = (
        *_notes(dataset),
        f"method {planned.shape.method}: {planned.because}; the raw counts of a range may be added up",
    )

    def shown(out: Any) -> QueryResult:
        return _table(dataset, release, planned.cells(out), planned.reach(level), level, notes)

    asked = {"method": given.get("method", "auto"), "confidence": str(level)}
    words = f"histogram of {', '.join(policy.columns)} under a policy"
    return _offer("histogram", words, dataset, release, asked, stated, shown, planned.error(level))


def _workload(dataset: DataSet, given: Mapping[str, Any]) -> Offer[QueryResult]:
    _only(given, "table", "columns", "workload")
    stated, level = _stated(given), level_of(given)  # type: ignore[arg-type]
    table, policy = _columns_of(dataset, given)
    workload = given.get("workload")
    if type(workload) is not Workload or workload.cells != math.prod(policy.shape(table)):
        raise InvalidParameter("workload", workload, f"a Workload over the {math.prod(policy.shape(table))} cells")
    if not workload.matrix.is_integer:
        raise InvalidParameter("workload", workload.matrix.kind, "queries with integer weights")
    rows = np.asarray(workload.matrix.dense())
    if np.abs(rows).max() > LARGEST_ENTRY:
        raise InvalidParameter("workload", float(np.abs(rows).max()), "weights of at most 2^32")
    names = [f"query_{number}" for number in range(len(rows))]
    asked = {"confidence": str(level)}
    words = f"{len(rows)} queries under a policy"
    return _linear("workload", words, dataset, rows.astype(np.int64), names, asked, stated, level)


def _columns_of(dataset: DataSet, given: Mapping[str, Any]) -> tuple[Table, Policy]:
    """Return the table and the policy; refuse a request about other columns."""
    table, policy = policy_of(dataset)
    if dataset.table(str(given.get("table"))) is not table:
        raise InvalidParameter("table", given.get("table"), f"{table.name}, which declares the policy")
    columns = given.get("columns")
    named = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if named != policy.columns:
        rule = f"{', '.join(policy.columns)}: those of the policy, in its order. Other columns are not protected by it"
        raise InvalidParameter("columns", named, rule)
    return table, policy


def _sql(dataset: DataSet, given: Mapping[str, Any]) -> Offer[QueryResult]:
    _only(given, "text")
    statement = parse_statement(str(given["text"]))
    stated = agreed_loss(statement.sql, **{name: given.get(name) for name in LOSSES})
    built = parse_request(statement.sql, twin_of(dataset))
    return _of_query(dataset, built, stated, given, str(given["text"]))


def _ask(dataset: DataSet, given: Mapping[str, Any]) -> Offer[QueryResult]:
    _only(given, "query", "description")
    query = given["query"]
    built = query.build(twin_of(dataset)) if isinstance(query, Groups) else query
    return _of_query(dataset, built, _stated(given), given, str(given.get("description", "")))


def _of_query(dataset: DataSet, built: Any, stated: Loss, given: Mapping[str, Any], words: str) -> Offer[QueryResult]:
    table, policy = policy_of(dataset)
    if not isinstance(built, Query) or built.dataset != twin_of(dataset):
        raise InvalidParameter("query", type(built).__name__, f"one SELECT about {table.name}, as it is declared now")
    listed = ", ".join(policy.columns)
    why = (
        f"COUNT(*) and SUM over {listed}, with WHERE and GROUP BY of these columns alone: the policy protects no other"
    )
    groups = LinearRows(table, policy.columns, why).of(built)
    rows, names = np.array([row for group in groups for row in group]), [one.name for one in built.aggregates]
    level = level_of({"confidence": given.get("confidence", LEVEL)})
    asked = {"names": names, "confidence": str(level)}
    if built.keys:
        return _grouped(dataset, built, rows, names, asked, stated, level, words)
    return _linear("query", words, dataset, rows, names, asked, stated, level, is_row=True)


def _linear(
    verb: str,
    words: str,
    dataset: DataSet,
    rows: NDArray[np.int64],
    names: list[str],
    asked: dict[str, Any],
    stated: Loss,
    level: Fraction,
    *,
    is_row: bool = False,
) -> Offer[QueryResult]:
    """Return the offer of linear queries, in one row or in one row each."""
    release = plan_policy_queries(dataset, rows.tolist(), stated)
    reach, notes = _reach(release, level), _notes(dataset)

    def shown(out: Any) -> QueryResult:
        values = [int(value) for value in np.asarray(out).tolist()]
        if is_row:
            columns = tuple(ResultColumn(name, "integer", is_key=False, estimand=_ESTIMAND) for name in names)
            lines: list[tuple[Any, ...]] = [tuple(values)]
        else:
            columns = (
                ResultColumn("query", "text", is_key=True),
                ResultColumn("answer", "integer", is_key=False, estimand=_ESTIMAND),
            )
            lines = [*zip(names, values, strict=True)]
        low, high = (
            [tuple(one + sign * reach if isinstance(one, int) else None for one in line) for line in lines]
            for sign in (-1, 1)
        )
        words_of_unit = protected_words(dataset)
        return QueryResult(columns, lines, low, high, level, True, release.loss(1), words_of_unit, notes)

    bound = Bound(reach, level, "the largest absolute error of any answer")
    offer = _offer(verb, words, dataset, release, asked, stated, shown, bound)
    if not is_row or len(names) < 2:
        return offer

    def expected() -> str:
        alone = [_reach(plan_policy_queries(dataset, [row], stated), level) for row in rows.tolist()]
        each = ", ".join(f"{name} ± {size:,.0f}" for name, size in zip(names, alone, strict=True))
        return f"{bound.words}; the {len(names)} answers share the loss: alone, at the whole of it, {each}"

    return replace(offer, expected=expected)


def _grouped(
    dataset: DataSet,
    built: Query,
    rows: NDArray[np.int64],
    names: list[str],
    asked: dict[str, Any],
    stated: Loss,
    level: Fraction,
    words: str,
) -> Offer[QueryResult]:
    """Return the offer of aggregates by groups of columns of the policy."""
    table, _ = policy_of(dataset)
    release = plan_policy_queries(dataset, rows.tolist(), stated)
    reach, notes = _reach(release, level), _notes(dataset)
    used = key_columns(built)
    groups = list(itertools.product(*(public_cells(table.column(name)) or () for name in used)))
    check_length("query", len(groups), _ROW, _HEAD)
    kinds = [KINDS_OF_CELLS[kind_of(Name(name), table.kinds)] for name in used]
    heads = [ResultColumn(key.name, kind, is_key=True) for key, kind in zip(built.keys, kinds, strict=True)]
    columns = (*heads, *(ResultColumn(name, "integer", is_key=False, estimand=_ESTIMAND) for name in names))

    def shown(out: Any) -> QueryResult:
        values = np.asarray(out).reshape(len(groups), len(names)).tolist()
        none = (None,) * len(used)
        lines = [(*group, *map(int, line)) for group, line in zip(groups, values, strict=True)]
        low, high = ([(*none, *(one + sign * reach for one in line)) for line in values] for sign in (-1, 1))
        said = protected_words(dataset)
        return QueryResult(columns, lines, low, high, level, True, release.loss(1), said, notes)

    bound = Bound(reach, level, "the largest absolute error of any answer")
    return _offer("query", words, dataset, release, asked | {"keys": used}, stated, shown, bound)


_ESTIMAND: Final = "the answer for all rows with declared values, with noise added"


def _reach(release: Lifted, level: Fraction) -> float:
    """Return the largest error of any number, for all simultaneously."""
    bound = release.error(level)
    return math.inf if bound is None else float(bound.value)


def _notes(dataset: DataSet) -> tuple[str, ...]:
    """Return what is not hidden under the policy."""
    table, policy = policy_of(dataset)
    notes = [f"policy: {policy}. Not hidden: the number of rows, other columns, and values that no path connects"]
    parts = policy.parts(policy.shape(table), tuple(policy.block_starts(table)))
    if parts > 1:
        notes.append(f"the policy has {parts} separate parts: in which part a value is, is not hidden")
    return tuple(notes)


def _table(
    dataset: DataSet,
    release: Lifted,
    counts: NDArray[np.float64],
    reach: float,
    level: Fraction,
    notes: tuple[str, ...],
) -> QueryResult:
    """Return counts by the values of the columns of a policy."""
    table, policy = policy_of(dataset)
    labels = list(itertools.product(*(public_cells(table.column(name)) or () for name in policy.columns)))
    shown, low, high = believable(counts, counts - reach, counts + reach, 0.0)
    heads = [ResultColumn(name, KINDS_OF_CELLS[table.kinds[name]], is_key=True) for name in policy.columns]
    columns = (*heads, ResultColumn("count", "real", is_key=False, estimand="the number of rows with these values"))
    keys: list[Values] = [[row[place] for row in labels] for place in range(len(policy.columns))]

    def rows(of: NDArray[np.float64]) -> ColumnRows:
        return ColumnRows([*keys, of], len(labels))

    def ends(of: NDArray[np.float64]) -> ColumnRows:
        return ColumnRows([*(None for _ in keys), of], len(labels))

    words = protected_words(dataset)
    return QueryResult(
        columns, rows(shown), ends(low), ends(high), level, True, release.loss(1), words, notes, raw=rows(counts)
    )


def _offer(
    verb: str,
    words: str,
    dataset: DataSet,
    release: Lifted,
    asked: Mapping[str, Any],
    stated: Loss,
    shown: Callable[[Any], QueryResult],
    bound: Bound,
) -> Offer[QueryResult]:
    def present(out: Any) -> bytes:
        return shown(out).stored_within(LARGEST_ANSWER)[1].encode()

    said = protected_words(dataset)
    asked = {**asked, "source": wire.encode(release.source)}
    return Offer(verb, words, release, asked, stated, present, QueryResult.stored, expected=bound.words, unit=said)
