"""Verbs that answer queries, in SQL or built, about all rows or about public parts of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER
from dither.lift.verb import (
    LEVEL,
    LOSSES,
    Arg,
    Confidence,
    Figures,
    Group,
    Keyed,
    LossRecord,
    Lossy,
    M,
    level_of,
    loss_of,
    verb,
)
from dither.privacy import Loss
from dither.publish.queries import Query, QueryResult, plan_query, present
from dither.publish.queries.builder import Groups
from dither.publish.queries.found_clamps import USUAL_SHARE
from dither.publish.queries.partition import plan_partitioned, present_partitioned
from dither.publish.queries.partitioned import Partitioned
from dither.publish.queries.parts import PartitionedGroups
from dither.publish.queries.rehearsal import Rehearsed, rehearse
from dither.publish.queries.reports.report import Report
from dither.publish.queries.shown_groups import check_shown
from dither.publish.queries.sql import Statement, parse_request, parse_statement
from dither.publish.queries.written_once import WrittenOnce
from dither.verbs.arguments import Description, Noise, Shares
from dither.verbs.reports import loss_of_request, offer_of_report

_SPEC = {"type": "object", "required": ["spec"]}
Text = Annotated[str, Arg("one SELECT; docs/sql.md describes what is supported")]
Built = Annotated[
    Query | Groups | Report, Arg("what the builder of session.table(...) made, or parse_request read", schema=_SPEC)
]
Parts = Annotated[Partitioned | PartitionedGroups, Arg("the parts, and the query about each", schema=_SPEC)]
ThresholdShare = Annotated[
    Number | None,
    Arg(
        "where groups are discovered, the share of the loss that decides which are shown; in SQL "
        "OPTION (THRESHOLD_SHARE = 0.4) at the end"
    ),
]
Quantiles = Annotated[
    str,
    Arg(
        '"tree", "exponential", or "auto" for the shorter intervals',
        choices=("auto", "tree", "exponential"),
        default="auto",
    ),
]
LikelyEmpty = Annotated[
    bool,
    Arg(
        "ask also where hardly any group can be shown, by the number of people that the schema declares", default=False
    ),
]
AutoShare = Annotated[
    Number, Arg("where the query has CLAMP(x, AUTO), the share of the loss that finds the ranges first")
]


class Planning(Figures, Keyed, total=False):
    """Arguments of a query, but a loss as a record."""

    noise: Noise
    shares: Shares
    threshold_share: ThresholdShare
    quantiles: Quantiles
    confidence: Confidence
    likely_empty: LikelyEmpty


class Asking(Planning, Lossy, total=False):
    """Arguments of a query."""


class Quoting(Lossy, total=False):
    """Arguments of the price of a query."""

    noise: Noise
    shares: Shares
    threshold_share: ThresholdShare
    quantiles: Quantiles
    auto_share: AutoShare


class Unmeasured(Figures, Keyed, total=False):
    """The loss in figures, and the key."""


class Answers(Group[M]):
    """Answers to queries."""

    @verb(arguments=("text",), doing="asking")
    @staticmethod
    def sql(
        dataset: DataSet, text: Text, *, auto_share: AutoShare = USUAL_SHARE, **terms: Unpack[Asking]
    ) -> Offer[QueryResult]:
        """Answer a query in SQL privately, every number with its interval.

        The text ``EXPLAIN PRIVACY SELECT ...`` gives the price in place of the answer, a ``Quote``, which the type of
        this verb does not show: programs that are checked for types call ``quote``.
        """
        if any(terms.get(name) is not None for name in LOSSES):
            loss_of(terms)
        statement = parse_statement(text)
        built = parse_request(statement.sql, dataset)
        stated = loss_of_request(built, terms, statement.sql)
        how: Planning = {**terms, "threshold_share": one_share(statement, terms.get("threshold_share"))}  # type: ignore[typeddict-unknown-key]
        return _offer(dataset, built, stated, how, text)

    @verb(arguments=("query",), doing="asking")
    @staticmethod
    def ask(
        dataset: DataSet,
        query: Built,
        loss: LossRecord = None,
        *,
        description: Description = "",
        **terms: Unpack[Planning],
    ) -> Offer[QueryResult]:
        """Answer a query of the builder: ``session.ask(session.table("visits").count(), epsilon=1)``."""
        stated: Lossy = {**_figures(terms), "loss": loss}
        if isinstance(query, Report):
            is_free = query.is_free and loss is not None and loss.is_zero
            known = loss if is_free and loss is not None else loss_of_request(query, stated)
            return _offer(dataset, query, known, terms, description)
        return _offer(dataset, query, loss_of(stated), terms, description)

    @verb(arguments=("parts",), doing="asking")
    @staticmethod
    def ask_parts(
        dataset: DataSet,
        parts: Parts,
        loss: LossRecord = None,
        *,
        noise: Noise = "auto",
        description: Description = "",
        confidence: Confidence = LEVEL,
        **terms: Unpack[Unmeasured],
    ) -> Offer[dict[str, QueryResult]]:
        """Answer queries about public disjoint parts of the rows, by the label of the part.

        All parts together lose at most the stated loss: a unit that is in one part changes nothing in the others.
        """
        stated = loss_of({**_figures(terms), "loss": loss})
        built = parts.build(dataset) if isinstance(parts, PartitionedGroups) else parts
        level = level_of({"confidence": confidence})
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

        return Offer("parts", description, answer, asked, stated, shown, read)


def offer_of_query(
    dataset: DataSet, query: Query, stated: Loss, *, description: str, level: Fraction | None = None
) -> Offer[QueryResult]:
    """Return the offer of a query that another verb is made of.

    Args:
        dataset: the schema.
        query: what is asked.
        stated: what the release may lose.
        description: one line for people.
        level: of the intervals; 0.95 where None.

    """
    return _offer(dataset, query, stated, {} if level is None else {"confidence": level}, description)


def _offer(
    dataset: DataSet, query: Query | Groups | Report, stated: Loss, terms: Planning, description: str
) -> Offer[QueryResult]:
    """Return the offer of a query or a report at a stated loss."""
    noise, shares = terms.get("noise", "auto"), terms.get("shares")
    share, quantiles = terms.get("threshold_share"), terms.get("quantiles", "auto")
    how: dict[str, Any] = {"noise": noise, "shares": shares, "threshold_share": share, "quantiles": quantiles}
    level, is_asked = level_of({"confidence": terms.get("confidence", LEVEL)}), terms.get("likely_empty", False)
    if isinstance(query, Report):
        how["likely_empty"] = is_asked
        return offer_of_report(dataset, query, stated, level=level, description=description, **how)
    built = query.build(dataset) if isinstance(query, Groups) else query
    if built.dataset != dataset:
        raise InvalidParameter("query", built.dataset.name, f"about {dataset.name} as it is declared now")
    answer = plan_query(built, stated, **how)
    if not is_asked:
        check_shown(answer)
    rehearse(answer, confidence=level)
    asked: dict[str, Any] = {
        "query": wire.encode(built),
        "noise": noise,
        "shares": {name: str(one) for name, one in sorted((shares or {}).items())},
        "confidence": str(level),
    }
    if answer.threshold_share is not None:
        # Absent where nothing is said, so that older requests keep their digests.
        asked["threshold_share"] = str(answer.threshold_share)
    if quantiles != "auto":
        asked["quantiles"] = quantiles
    once = WrittenOnce(lambda out: present(answer, out, confidence=level))
    return Offer("query", description, answer, asked, stated, once.write, once.read, forget=once.forget)


def _figures(terms: Figures) -> Figures:
    return {"epsilon": terms.get("epsilon"), "delta": terms.get("delta"), "rho": terms.get("rho")}


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
        rule = (
            f"fewer, so that all answers together have at most {LARGEST_ANSWER:,} bytes: fewer parts, or fewer groups"
        )
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
        raise InvalidParameter("threshold_share", said, "set once: the text has an OPTION (THRESHOLD_SHARE = ...)")
    return said if statement.threshold_share is None else statement.threshold_share
