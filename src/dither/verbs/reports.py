"""Reports: texts that need several private queries, or public tables alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.verb import LOSSES, Lossy
from dither.privacy import Loss, PureDP
from dither.publish.queries import Query, QueryResult, Quote
from dither.publish.queries.reports.mechanism import ReportAnswer, plan_report
from dither.publish.queries.reports.presenting import present_report, rehearse_report
from dither.publish.queries.reports.quoting import quote_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.shown_groups import check_shown
from dither.publish.queries.sql import agreed_loss
from dither.publish.queries.written_once import WrittenOnce


def offer_of_report(
    dataset: DataSet,
    built: Report,
    stated: Loss,
    *,
    level: Fraction,
    description: str = "",
    likely_empty: bool = False,
    **how: Any,
) -> Offer[QueryResult]:
    """Return the offer of a report: all its private queries in one release, and what is made of their answers.

    Args:
        dataset: the schema.
        built: the queries, and what is shown of their answers.
        stated: what all queries together may lose; 0 where only public tables are read.
        level: of the intervals.
        description: one line for people.
        likely_empty: whether to ask also where hardly any group of a query can be shown.
        how: as for ``planned``; shares are those of the queries, by their names.

    """
    if built.dataset != dataset:
        raise InvalidParameter("query", built.dataset.name, f"about {dataset.name} as it is declared now")
    answer = planned(built, stated, **how)
    for one in () if likely_empty else answer.answers:
        check_shown(one)
    rehearse_report(answer, confidence=level)
    asked = {
        "report": wire.encode(built),
        "noise": how["noise"],
        "shares": {name: str(share) for name, share in sorted((how["shares"] or {}).items())},
        "confidence": str(level),
    }
    once = WrittenOnce(lambda out: present_report(answer, out, confidence=level))
    return Offer("report", description, answer, asked, stated, once.write, once.read, forget=once.forget)


def planned(
    built: Report,
    stated: Loss,
    *,
    noise: str,
    shares: Mapping[str, Number] | None,
    threshold_share: Number | None,
    quantiles: str = "auto",
) -> ReportAnswer:
    """Return the mechanism of a report."""
    if threshold_share is not None:
        rule = "not allowed: the text needs several private queries, and this is a share of one"
        raise InvalidParameter("threshold_share", threshold_share, rule)
    if quantiles not in ("auto", "tree"):
        rule = "'auto' or 'tree': the text needs several private queries, whose quantiles are found by trees"
        raise InvalidParameter("quantiles", quantiles, rule)
    return plan_report(built, stated, noise=noise, shares=shares)


def quoted(built: Report, stated: Loss, **how: Any) -> Quote:
    """Return the price of a report, from public facts alone; ``how`` is as for ``planned``."""
    return quote_report(planned(built, stated, **how))


def loss_of_request(built: Query | Report, terms: Lossy, text: str = "") -> Loss:
    """Return the loss that a caller or the text itself states; none where only public tables are read."""
    said: dict[str, Any] = {name: terms.get(name) for name in LOSSES}
    if all(word is None for word in said.values()) and isinstance(built, Report) and built.is_free:
        return PureDP(0)
    return agreed_loss(text, **said)
