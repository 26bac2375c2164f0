"""Answers to texts that need several private queries, or public tables alone: reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dither.curator.offers.written import WrittenOnce
from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.lift.offer import Offer
from dither.privacy import Loss, PureDP
from dither.publish.queries import Query, QueryResult, Quote
from dither.publish.queries.reports.mechanism import ReportAnswer, plan_report
from dither.publish.queries.reports.presenting import present_report, rehearse_report
from dither.publish.queries.reports.quoting import quote_report
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import agreed_loss


def report(
    dataset: DataSet,
    built: Report,
    stated: Loss,
    *,
    key: str | None = None,
    noise: str = "auto",
    shares: Mapping[str, Number] | None = None,
    threshold_share: Number | None = None,
    quantiles: str = "auto",
    confidence: Number = "0.95",
    description: str = "",
) -> Offer[QueryResult]:
    """Offer the answer to a report: all its private queries in one release, and what is made of them.

    Args:
        dataset: the schema.
        built: the queries, and what is shown of their answers.
        stated: what all queries together may lose; 0 where only public tables are read.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        noise: "laplace", "gaussian", or "auto" for whichever errs less.
        shares: how the loss is divided among the queries, by their names.
        threshold_share: of a single query; refused here.
        quantiles: of a single query; here a tree finds them.
        confidence: the level of the intervals.
        description: one line for people.

    """
    level = probability("confidence", confidence, open_below=True)
    if built.dataset != dataset:
        raise InvalidParameter("query", built.dataset.name, f"about {dataset.name} as it is declared now")
    answer = planned(built, stated, noise=noise, shares=shares, threshold_share=threshold_share, quantiles=quantiles)
    rehearse_report(answer, confidence=level)
    asked: dict[str, Any] = {
        "report": wire.encode(built),
        "noise": noise,
        "shares": {name: str(share) for name, share in sorted((shares or {}).items())},
        "confidence": str(level),
    }

    once = WrittenOnce(lambda out: present_report(answer, out, confidence=level))
    return Offer("report", description, answer, asked, stated, once.write, once.read, key, once.forget)


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
        rule = "left out: the text needs several private queries, and this is a share of one"
        raise InvalidParameter("threshold_share", threshold_share, rule)
    if quantiles not in ("auto", "tree"):
        rule = "'auto' or 'tree': the text needs several private queries, whose quantiles are found by trees"
        raise InvalidParameter("quantiles", quantiles, rule)
    return plan_report(built, stated, noise=noise, shares=shares)


def quoted(built: Report, stated: Loss, **how: Any) -> Quote:
    """Return the price of a report, from public facts alone; ``how`` is as for ``planned``."""
    return quote_report(planned(built, stated, **how))


def loss_of(
    built: Query | Report,
    text: str = "",
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
) -> Loss:
    """Return the loss that a caller or the text itself states; none where only public tables are read."""
    is_silent = all(word is None for word in (epsilon, delta, rho, loss))
    if is_silent and isinstance(built, Report) and built.is_free:
        return PureDP(0)
    return agreed_loss(text, epsilon=epsilon, delta=delta, rho=rho, loss=loss)
