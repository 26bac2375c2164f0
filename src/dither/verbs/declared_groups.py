"""Offers about declared groups: what a verb makes for one row or person, priced for all members of a group together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dither.data.schema import DataSet
from dither.errors import InvalidParameter, NoGuarantee
from dither.lift.offer import Offer
from dither.lift.verb import LOSSES, Verb, loss_of
from dither.privacy import Loss
from dither.publish.correlated.groups import Grouped, for_one
from dither.publish.queries import Query, QueryResult, Quote
from dither.publish.queries.found_clamps import found_clamps
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql.privacy_clause import options_of
from dither.verbs import reports

#: The verbs whose releases are tables of numbers, which state the loss of a group and of one member.
GROUPED: Final = ("sql", "ask", "histogram", "workload", "marginals")


def offer_of_group(dataset: DataSet, verb: Verb[..., Any], arguments: Mapping[str, Any]) -> Offer[Any]:
    """Return the offer of a verb about a data set whose rows or people change in groups.

    Args:
        dataset: the schema, with the size of a group.
        verb: one of ``GROUPED``.
        arguments: by name; the loss is that of a group.

    """
    if verb.name not in GROUPED:
        rule = (
            f"{', '.join(GROUPED)}: the data set declares groups of up to {dataset.members}, and others have no price"
        )
        raise InvalidParameter("verb", verb.name, rule)
    if verb.name == "sql":
        check_group_text(dataset, arguments.get("text"))
    given = {name: value for name, value in arguments.items() if name not in LOSSES}
    stated = None
    if any(arguments.get(name) is not None for name in LOSSES):
        stated = loss_of({name: arguments.get(name) for name in LOSSES})  # type: ignore[arg-type]
        given["loss"] = for_one(stated, dataset.members)
    made = verb.offer(dataset, given)
    stated = made.stated if stated is None else stated
    grouped = Grouped(method=made.mechanism, size=dataset.members)
    check_within(grouped, stated)
    said = protected_words(grouped)

    def priced(found: QueryResult) -> QueryResult:
        return replace(found, loss=grouped.loss(1), unit=said)

    def read(stored: bytes, receipt: str) -> Any:
        found: QueryResult | dict[Any, QueryResult] = made.read(stored, receipt)
        if isinstance(found, dict):
            return {name: priced(one) for name, one in found.items()}
        return priced(found)

    return replace(made, mechanism=grouped, stated=stated, read=read, unit=said)


def quote_of_group(dataset: DataSet, asked: Query | Report, stated: Loss, how: Mapping[str, Any]) -> Quote:
    """Return the price of a query or a report for all members of a group together.

    Args:
        dataset: the schema, with the size of a group.
        asked: the query.
        stated: what a group may lose.
        how: the options of the query.

    """
    from dither.privacy.accountants import success
    from dither.publish.queries import quote
    from dither.publish.queries.answer import plan_query

    each = for_one(stated, dataset.members)
    if isinstance(asked, Report):
        method: Any = reports.planned(asked, each, **how)
        found = reports.quoted(asked, each, **how)
    else:
        method, found = plan_query(asked, each, **how), quote(asked, each, **how)
    grouped = Grouped(method=method, size=dataset.members)
    check_within(grouped, stated)
    # The advice is about the noise for one member.
    loss = grouped.loss(1)
    return replace(found, loss=loss, unit=protected_words(grouped), risk=float(success(loss)), advice=())


def check_group_text(dataset: DataSet, text: Any) -> None:
    """Reject a query that states its own loss, or finds ranges first: both would be priced for one member."""
    if isinstance(text, str) and found_clamps(text, dataset) is not None:
        rule = "written with two bounds, CLAMP(x, low, high), where the data set declares groups"
        raise InvalidParameter("CLAMP(x, AUTO)", text, rule)
    if isinstance(text, str) and any(name in LOSSES for name in options_of(text)):
        rule = "omitted from OPTIONS where the data set declares groups: state the loss of a group beside the query"
        raise InvalidParameter("epsilon", text, rule)


def check_within(grouped: Grouped, stated: Loss) -> None:
    """Reject a release whose price for a group is larger than stated."""
    if not grouped.loss(1) <= stated:
        raise NoGuarantee(f"the release would lose {grouped.loss(1)} for a group, which is not within {stated}")


def protected_words(grouped: Grouped) -> str:
    """Return what is protected, with the loss of one member beside that of the group."""
    return f"{grouped.distance}; one of them alone: {grouped.for_one}"
