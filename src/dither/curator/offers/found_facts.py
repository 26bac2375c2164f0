"""Facts that a schema should have and nobody knows: bounds of a column, limits of a person, found and paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dither.curator.offers.answers import ask
from dither.curator.offers.rows import rows_of
from dither.data import Relation, wire
from dither.data.owners import scan_of, unlimited
from dither.data.schema import DataSet
from dither.exact import Number
from dither.lift.offer import Offer
from dither.privacy import Loss, stated_loss
from dither.publish.queries import QueryResult, plan_query
from dither.publish.queries.builder import Rows
from dither.publish.queries.finding import FoundBounds, bounds_query, found_bounds, limits_query

#: An interval over more than one in this many of the limits that were considered is wide.
_FEW: Final = 4


def bounds(
    dataset: DataSet,
    table: str,
    column: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    where: str | None = None,
    key: str | None = None,
) -> Offer[FoundBounds]:
    """Offer a range of a column of numbers in which nearly all of its values lie, to declare or to clamp to.

    Each person counts with one row, in one of the public cells [2^k, 2^(k+1)), so that an end is right up to a factor
    of 2. Both ends are magnitudes that occur, 19 times of 20.

    Args:
        dataset: the schema.
        table: a private table.
        column: whose range; declared bounds, if there are any, are narrowed.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    rows = Rows.of(_relation(dataset, table, where))
    dataset.table(table).column(column)  # refused with its declared name, if it has another one in the source
    query = bounds_query(dataset, rows, column)
    answer = plan_query(query, stated)
    asked = {"query": wire.encode(query), "column": column}

    def present(out: object) -> bytes:
        return found_bounds(answer, out, column).to_json().encode()  # type: ignore[arg-type]

    return Offer("bounds", f"bounds of {column}", answer, asked, stated, present, FoundBounds.stored, key)


def limits(
    dataset: DataSet,
    table: str,
    *,
    share: Number = "0.95",
    most: int = 1024,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    where: str | None = None,
    key: str | None = None,
) -> Offer[QueryResult]:
    """Offer a limit of rows a person: the smallest within which a share of the persons have all their rows.

    Args:
        dataset: the schema, whose unit is a person.
        table: a private table.
        share: of the persons, 0 to 1.
        most: the largest limit that is considered; persons with more rows count as having as many.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    # What people have is asked, not what the table's own limit leaves of it.
    found = Rows.of(unlimited(_relation(dataset, table, where)))
    query = limits_query(dataset, found, share, most)
    offer = ask(dataset, query, stated, key=key, description=f"rows a person of {table}, for a share of {share}")

    def read(stored: bytes, receipt: str) -> QueryResult:
        return _advised(offer.read(stored, receipt), most)

    return replace(offer, read=read)


def _advised(found: QueryResult, most: int) -> QueryResult:
    """Return a limit with a note on how it is declared, and how to narrow its interval where that is wide.

    They are made of the released number, its interval and public parameters.
    """
    (limit,), ((low, high),) = found.column("rows"), found.interval("rows")
    if isinstance(limit, int | float):
        rows = max(1, round(limit))
        used = f"declare contribution: {{rows: {rows}}}, or ask with OPTIONS (max_rows_contributed = {rows})"
        found = replace(found, notes=(*found.notes, used))
    if not (isinstance(low, int | float) and isinstance(high, int | float)) or most < _FEW:
        return found
    if high - low <= most / _FEW:
        return found
    advice = (
        f"the interval is wide: limits up to {most} were considered, and this loss tells few of them apart. To narrow "
        "it, consider no more than anybody could need (most=16, --most 16), ask for a smaller share (--share 0.8), or "
        "spend more"
    )
    return replace(found, notes=(*found.notes, advice))


def _relation(dataset: DataSet, table: str, where: str | None) -> Relation:
    found = rows_of(dataset, table, where)
    return scan_of(dataset, dataset.table(found)) if isinstance(found, str) else found
