"""Answers to queries, in SQL or built, about all rows or about public parts of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dither.curator.offers.reports import loss_of, report
from dither.curator.offers.written import WrittenOnce
from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Query, QueryResult, plan_query, present
from dither.publish.queries.builder import Groups
from dither.publish.queries.partition import plan_partitioned, present_partitioned
from dither.publish.queries.partitioned import Partitioned
from dither.publish.queries.parts import PartitionedGroups
from dither.publish.queries.rehearsal import Rehearsed, rehearse
from dither.publish.queries.reports.report import Report
from dither.publish.queries.sql import Statement, parse_request, parse_statement


def sql(
    dataset: DataSet,
    text: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    key: str | None = None,
    noise: str = "auto",
    shares: Mapping[str, Number] | None = None,
    threshold_share: Number | None = None,
    quantiles: str = "auto",
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer the private answer to a query.

    Args:
        dataset: the schema.
        text: one SELECT; see docs/sql.md for what can be asked.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; needed when groups are to be discovered.
        rho: a loss in zero-concentrated differential privacy: Gaussian noise.
        loss: what may be lost as a record, in place of these three.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        noise: "laplace", "gaussian", or "auto" for whichever errs less.
        shares: how the loss is divided among the aggregates, by output name; by default so that expected errors are
            equal shares of the declared ranges.
        threshold_share: where groups are discovered, the share of the loss that decides which are shown; by default
            what keeps threshold and error together least. In SQL: ``OPTION (THRESHOLD_SHARE = 0.4)`` at the end.
        quantiles: "tree", "exponential", or "auto" for whichever has the shorter intervals.
        confidence: the level of the intervals.

    """
    words: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "loss": loss}
    if any(word is not None for word in words.values()):
        stated_loss(**words)
    statement = parse_statement(text)
    built = parse_request(statement.sql, dataset)
    return ask(
        dataset,
        built,
        loss_of(built, statement.sql, **words),
        key=key,
        noise=noise,
        shares=shares,
        threshold_share=one_share(statement, threshold_share),
        quantiles=quantiles,
        confidence=confidence,
        description=text,
    )


def ask(
    dataset: DataSet,
    query: Query | Groups | Report,
    loss: Loss | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    key: str | None = None,
    noise: str = "auto",
    shares: Mapping[str, Number] | None = None,
    threshold_share: Number | None = None,
    quantiles: str = "auto",
    confidence: Number = "0.95",
    description: str = "",
) -> Offer[QueryResult]:
    """Offer the private answer to a query that the builder made, or to what ``parse_request`` read.

    Args:
        dataset: the schema.
        query: what is asked.
        loss: what the release may lose as a record, in place of the three words below.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        noise: "laplace", "gaussian", or "auto" for whichever errs less.
        shares: how the loss is divided among the aggregates, by output name.
        threshold_share: where groups are discovered, the share of the loss that decides which are shown.
        quantiles: "tree", "exponential", or "auto" for whichever has the shorter intervals.
        confidence: the level of the intervals.
        description: one line for people.

    """
    if isinstance(query, Report):
        stated = loss if query.is_free and loss is not None and loss.is_zero else None
        stated = stated or loss_of(query, epsilon=epsilon, delta=delta, rho=rho, loss=loss)
        how: dict[str, Any] = {"key": key, "noise": noise, "shares": shares, "threshold_share": threshold_share}
        how["quantiles"] = quantiles
        return report(dataset, query, stated, **how, confidence=confidence, description=description)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    built = query.build(dataset) if isinstance(query, Groups) else query
    level = probability("confidence", confidence, open_below=True)
    if built.dataset != dataset:
        raise InvalidParameter("query", built.dataset.name, f"about {dataset.name} as it is declared now")
    how = {"noise": noise, "shares": shares, "threshold_share": threshold_share, "quantiles": quantiles}
    answer = plan_query(built, stated, **how)
    rehearse(answer, confidence=level)
    asked: dict[str, Any] = {
        "query": wire.encode(built),
        "noise": noise,
        "shares": {name: str(share) for name, share in sorted((shares or {}).items())},
        "confidence": str(level),
    }
    if answer.threshold_share is not None:
        # Left out where nothing is said, so that requests of before read as they did.
        asked["threshold_share"] = str(answer.threshold_share)
    if quantiles != "auto":
        asked["quantiles"] = quantiles

    once = WrittenOnce(lambda out: present(answer, out, confidence=level))
    return Offer("query", description, answer, asked, stated, once.write, once.read, key, once.forget)


def ask_parts(
    dataset: DataSet,
    parts: Partitioned | PartitionedGroups,
    loss: Loss | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    key: str | None = None,
    noise: str = "auto",
    confidence: Number = "0.95",
    description: str = "",
) -> Offer[dict[str, QueryResult]]:
    """Offer the private answers to queries about public disjoint parts of the rows, by the label of the part.

    All parts together lose at most the stated loss: a unit that lies in one part changes nothing in the others.

    Args:
        dataset: the schema.
        parts: the parts, and what is asked about each.
        loss: what all answers together may lose as a record, in place of the three words below.
        epsilon: what all answers together may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        noise: "laplace", "gaussian", or "auto" for whichever errs less.
        confidence: the level of the intervals.
        description: one line for people.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    built = parts.build(dataset) if isinstance(parts, PartitionedGroups) else parts
    level = probability("confidence", confidence, open_below=True)
    if built.dataset != dataset:
        raise InvalidParameter("parts", built.dataset.name, f"about {dataset.name} as it is declared now")
    answer = plan_partitioned(built, stated, noise=noise)
    rehearsed = {
        part.label: rehearse(one, confidence=level, parameter=f"query of part {part.label}")
        for part, one in zip(built.parts, answer.answers, strict=True)
    }
    most = _most_of_each(rehearsed)
    asked = {"parts": wire.encode(built), "noise": noise, "confidence": str(level)}

    def shown(out: Any) -> bytes:
        results = present_partitioned(answer, out, confidence=level)
        return json.dumps({label: one.stored_within(most[label])[1] for label, one in results.items()}).encode()

    def read(stored: bytes, receipt: str) -> dict[str, QueryResult]:
        return {label: QueryResult.stored(text, receipt) for label, text in json.loads(stored).items()}

    return Offer("parts", description, answer, asked, stated, shown, read, key)


def _most_of_each(rehearsed: Mapping[str, Rehearsed]) -> dict[str, int]:
    """Return how many bytes the answer of each part may have, so that all of them together can be stored.

    Parts whose groups are declared are as long as they may get, and the others share what these leave. A text within
    JSON is JSON again, which escapes no character by more than one.

    Args:
        rehearsed: by the label of each part, how long its answer may get.

    """
    labels = sum(len(json.dumps(label)) + len(': "", ') for label in rehearsed)
    fixed = labels + sum(2 * one.length for one in rehearsed.values() if not one.is_cut)
    cut = [one.length for one in rehearsed.values() if one.is_cut]
    each = (LARGEST_ANSWER - fixed) // (2 * max(1, len(cut)))
    if each < max(cut, default=0):
        rule = f"such that all answers together have at most {LARGEST_ANSWER:,} bytes: fewer parts, or fewer groups"
        raise InvalidParameter("parts", f"{len(rehearsed):,} parts", rule)
    return {label: each if one.is_cut else one.length for label, one in rehearsed.items()}


def read_request(dataset: DataSet, query: str | Query | Groups | Report) -> Query | Report:
    """Return what a text, a builder, a query or a report asks for."""
    if isinstance(query, str):
        return parse_request(parse_statement(query).sql, dataset)
    return query.build(dataset) if isinstance(query, Groups) else query


def read_query(dataset: DataSet, query: str | Query | Groups) -> Query:
    """Return the one query that a text, a builder or a query means."""
    built = read_request(dataset, query)
    if isinstance(built, Report):
        rule = "one private query: what is made of several, or of windows and subqueries, has no single error"
        raise InvalidParameter("query", "a report", rule)
    return built


def one_share(statement: Statement, said: Number | None) -> Number | None:
    """Return the share of the threshold, which the text or the caller says, and not both."""
    if statement.threshold_share is not None and said is not None:
        raise InvalidParameter("threshold_share", said, "said once: the text has an OPTION (THRESHOLD_SHARE = ...)")
    return said if statement.threshold_share is None else statement.threshold_share
