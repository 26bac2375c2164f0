"""Anonymized tables: generalised, rebuilt from groups, told at random, or kept and asked about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dither.curator.offers.answers import ask
from dither.curator.offers.plain import unversioned
from dither.curator.offers.rows import rows_of
from dither.data import Filter, Kind, Limits, Literal, Name, OneOf, wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.stored import check_length
from dither.mechanisms.core.spec import to_spec
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Query, QueryResult

if TYPE_CHECKING:
    from dither.publish.microdata import AnonymizedTable, Taxonomy
    from dither.publish.microdata.terms import Terms


def anonymize(
    dataset: DataSet,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    method: str = "priv-fuzzy",
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    target: str | None = None,
    taxonomies: Mapping[str, Taxonomy] | None = None,
    steps: int | None = None,
    terms: Terms | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    rows: int | None = None,
    bins: Mapping[str, Any] | None = None,
    other: Mapping[str, Any] | None = None,
    where: str | None = None,
    key: str | None = None,
) -> Offer[AnonymizedTable]:
    """Offer an anonymized table: rows to share, made with noise that is paid for.

    Args:
        dataset: the schema.
        table: a private table.
        columns: which columns; all but the privacy id where None. For "diffpart" the column of items.
        method: "priv-fuzzy" (columns in groups, rebuilt from noisy histograms of these), "diffgen" (values
            generalised along taxonomies as far as a class can be told), "diffpart" (sets of items, one for each
            person) or "perturbed-rows" (every row told at random: here so that its cost can be seen).
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        target: for "diffgen", the column that groups should tell.
        taxonomies: for "diffgen" and "diffpart", public trees over the declared values of columns.
        steps: for "diffgen", how many specialisations there are, at most.
        terms: for numeric columns, labels that are spread evenly over the bounds, or a linguistic variable.
        groups: columns that belong together; public. "priv-fuzzy" finds them, and pays for that, where None.
        rows: for "perturbed-rows", how many are published, from public knowledge.
        bins: for numeric columns a number of cells, or their edges.
        other: for columns with categories, the label of rows whose value is no category.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored table at no cost.

    """
    from dither.publish.microdata import AnonymizedTable, Wishes, plan_anonymized

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    wishes = Wishes(target, taxonomies or {}, steps, terms or {}, groups, rows, bins or {}, other or {})
    source = rows_of(dataset, table, where)
    planned = plan_anonymized(dataset, source, stated, method=method, columns=columns, wishes=wishes, name=table)
    asked = {
        "mechanism": unversioned(to_spec(planned.mechanism)),
        "codings": [wire.encode(coding) for coding in planned.codings],
        "columns": [[name, kind.value] for name, kind in planned.columns],
        "method": planned.method,
    }
    # The codes of every row that is published, where that number is asked for.
    check_length("rows", rows or 0, 2 + 8 * len(planned.codings), len(json.dumps(asked)))

    def present(released: Any) -> bytes:
        return planned.present(released).to_json().encode()

    def read(stored: bytes, receipt: str) -> AnonymizedTable:
        return replace(AnonymizedTable.from_json(stored.decode()), receipt=receipt)

    said = f"anonymized {table}, by {method}"
    return Offer("anonymized table", said, planned.mechanism, asked, stated, present, read, key)


def ask_kept(
    dataset: DataSet,
    table: str,
    conditions: Mapping[str, Sequence[Any]],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    terms: Terms | None = None,
    where: str | None = None,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer about how many rows have, for every column, one of these values: a question to a table that stays.

    Every question is charged by itself, so that asking again and averaging costs what it tells.

    Args:
        dataset: the schema.
        table: a private table.
        conditions: declared values of columns, or terms; all columns must hold.
        epsilon: what the answer may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        terms: for numeric columns, labels that are spread evenly over the bounds, or a linguistic variable.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        confidence: the level of the interval.

    """
    from dither.publish.microdata.terms import coded_cells
    from dither.publish.queries.query import Aggregate

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    source = rows_of(dataset, table, where)
    known_terms = dict(terms or {})
    for name in known_terms:
        dataset.table(table).column(name)
    told = {name: known_terms[name] for name in conditions if name in known_terms}
    cells, codings = coded_cells(dataset, source, tuple(conditions), terms=told)
    relation = cells.relation
    for axis, coding in zip(cells.axes, codings, strict=True):
        codes = {label: place for place, label in enumerate(coding.labels or ())}
        values = conditions[axis.name]
        if isinstance(values, str) or not values or not all(value in codes for value in values):
            known = ", ".join(map(str, list(codes)[:5])) or "none, unless terms are given"
            raise InvalidParameter(f"values of {axis.name}", values, f"at least one of the declared ones: {known}")
        wanted = tuple(Literal(codes[value], Kind.INTEGER) for value in values)
        relation = Filter(relation, OneOf(axis.value, wanted))
    count = Aggregate("count", "count")
    query = Query(dataset, relation, (), (count,), (("count", Name("count")),), Limits())
    said = f"kept {table}: how many with {', '.join(conditions)}"
    return ask(dataset, query, stated, key=key, confidence=confidence, description=said)
