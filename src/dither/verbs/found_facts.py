"""Facts that a schema needs and no one knows: bounds of a column, limits of a person, found and paid for."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final, Unpack

from dither.data import Relation, wire
from dither.data.owners import scan_of, unlimited
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.verb import Arg, Group, M, Terms, loss_of, verb
from dither.publish.queries import QueryResult, plan_query
from dither.publish.queries.builder import Rows
from dither.publish.queries.finding import FoundBounds, bounds_query, dropped_query, found_bounds, limits_query
from dither.publish.queries.rows_named import rows_of
from dither.verbs.answers import offer_of_query
from dither.verbs.arguments import TableName, Where

#: An interval over more than one in this many of the limits that were considered is wide.
_FEW: Final = 4
_USUAL_SHARE: Final = "0.95"


Column = Annotated[str, Arg("the column whose range is found; declared bounds are narrowed")]
Share = Annotated[Number, Arg("the share of people within the limit, from 0 to 1")]
Drops = Annotated[
    int | None,
    Arg("in place of a limit, find the share of all rows that this limit of rows a person drops"),
]
Most = Annotated[int, Arg("the largest limit considered; people with more rows count as having this many")]


class FoundFacts(Group[M]):
    """Unknown facts for a schema."""

    @verb(arguments=("table", "column"))
    @staticmethod
    def bounds(
        dataset: DataSet, table: TableName, column: Column, *, where: Where = None, **terms: Unpack[Terms]
    ) -> Offer[FoundBounds]:
        """Find a range of a numeric column that holds nearly all of its values, to declare or to clamp to.

        Each person counts with one row, in one of the public cells [2^k, 2^(k+1)), so that an end is right up to a
        factor of 2. Both ends are magnitudes that occur, 19 times of 20.
        """
        stated = loss_of(terms)
        rows = Rows.of(_relation(dataset, table, where))
        dataset.table(table).column(column)  # refused with its declared name, if it has another one in the source
        query = bounds_query(dataset, rows, column)
        answer = plan_query(query, stated)
        asked = {"query": wire.encode(query), "column": column}

        def present(out: object) -> bytes:
            return found_bounds(answer, out, column).to_json().encode()  # type: ignore[arg-type]

        return Offer("bounds", f"bounds of {column}", answer, asked, stated, present, FoundBounds.stored)

    @verb(arguments=("table",))
    @staticmethod
    def limits(
        dataset: DataSet,
        table: TableName,
        *,
        share: Share = _USUAL_SHARE,
        most: Most = 1024,
        drops: Drops = None,
        where: Where = None,
        **terms: Unpack[Terms],
    ) -> Offer[QueryResult]:
        """Find the smallest limit of rows per person within which a share of people have all their rows.

        With ``drops`` it is the share of all rows that a limit drops, counting at most ``most`` rows of a person: what
        the schema may then declare, so that answers state it.
        """
        # What people have is asked, not what the table's own limit leaves of it.
        found = Rows.of(unlimited(_relation(dataset, table, where)))
        if drops is not None:
            if share != _USUAL_SHARE:
                raise InvalidParameter("share", share, "not allowed with drops: it is a share of people, for a limit")
            query = dropped_query(dataset, found, drops, most)
            words = f"the share of rows of {table} that a limit of {drops} a person drops"
            offer = offer_of_query(dataset, query, loss_of(terms), description=words)
            return replace(offer, read=lambda stored, receipt: _declared(offer.read(stored, receipt), drops, most))
        query = limits_query(dataset, found, share, most)
        words = f"rows a person of {table}, for a share of {share}"
        offer = offer_of_query(dataset, query, loss_of(terms), description=words)

        def read(stored: bytes, receipt: str) -> QueryResult:
            return _advised(offer.read(stored, receipt), most)

        return replace(offer, read=read)


def _declared(found: QueryResult, limit: int, most: int) -> QueryResult:
    """Return a dropped share with a note on how it is declared."""
    (share,) = found.column("dropped")
    if not isinstance(share, int | float):
        return found
    declared = f"{{rows: {limit}, dropped: {min(max(share, 0), 0.99):.2g}, dropped up to: {most}}}"
    return replace(found, notes=(*found.notes, f"answers state it if you declare contribution: {declared}"))


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
        f"the interval is wide: limits up to {most} were considered, and this loss distinguishes few of them. To "
        "narrow it, consider no more than anybody could need (most=16, --most 16), ask for a smaller share "
        "(--share 0.8), or spend more"
    )
    return replace(found, notes=(*found.notes, advice))


def _relation(dataset: DataSet, table: str, where: str | None) -> Relation:
    found = rows_of(dataset, table, where)
    return scan_of(dataset, dataset.table(found)) if isinstance(found, str) else found
