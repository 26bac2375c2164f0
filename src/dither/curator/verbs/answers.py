"""Answers to queries, and their price beforehand: ``sql``, ``ask``, ``ask_parts``, ``quote``, ``loss_for_error``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from dither.curator.request import Request
from dither.curator.verbs.door import Door, with_receipt
from dither.data import wire
from dither.data.engines import Engine
from dither.errors import InvalidParameter
from dither.exact import Number, probability
from dither.mechanisms import perform
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Answer, Query, QueryResult, Quote, loss_for_error, plan_query, present, quote
from dither.publish.queries.builder import Groups, Rows, table
from dither.publish.queries.partition import plan_partitioned, present_partitioned
from dither.publish.queries.partitioned import Partitioned
from dither.publish.queries.parts import PartitionedGroups
from dither.publish.queries.sql import parse_sql, parse_statement


class Answers(Door):
    """Asks queries, in SQL or built, and prices them."""

    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        key: str | None = None,
        noise: str = "auto",
        shares: Mapping[str, Number] | None = None,
        confidence: Number = "0.95",
    ) -> QueryResult | Quote:
        """Return the private answer to a query, or, for ``EXPLAIN PRIVACY ...``, its price.

        Args:
            text: one SELECT; see docs/sql.md for what can be asked.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds; needed when groups are to be discovered.
            rho: a loss in zero-concentrated differential privacy: Gaussian noise.
            key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
            noise: "laplace", "gaussian", or "auto" for whichever errs less.
            shares: how the loss is divided among the aggregates, by output name; by default so that expected errors
                are equal shares of the declared ranges.
            confidence: the level of the intervals.

        """
        statement = parse_statement(text)
        query = parse_sql(statement.sql, self.dataset)
        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        if statement.is_explained:
            return quote(query, loss, noise=noise, shares=shares)
        return self.ask(query, loss, key=key, noise=noise, shares=shares, confidence=confidence, description=text)

    def ask(
        self,
        query: Query | Groups,
        loss: Loss,
        *,
        key: str | None = None,
        noise: str = "auto",
        shares: Mapping[str, Number] | None = None,
        confidence: Number = "0.95",
        description: str = "",
    ) -> QueryResult:
        """Return the private answer to a query that the builder or ``parse_sql`` made."""
        built, level = self._read(query), probability("confidence", confidence, open_below=True)
        if built.dataset != self.dataset:
            raise InvalidParameter("query", built.dataset.name, f"about {self.dataset.name} as it is declared now")
        answer = plan_query(built, loss, noise=noise, shares=shares)
        self._refuse_idealised(answer.numerics)
        asked = {
            "query": wire.encode(built),
            "noise": noise,
            "shares": {name: str(share) for name, share in sorted((shares or {}).items())},
            "confidence": str(level),
        }
        request = Request(self.dataset.name, "query", asked, loss, description)

        def run(engine: Engine) -> bytes:
            return present(answer, perform(answer, engine), confidence=level).to_json()

        self._prepare([answer])
        receipt = self._release(request, answer.loss(1), run, key)
        return with_receipt(receipt.answer, receipt)

    def ask_parts(
        self,
        parts: Partitioned | PartitionedGroups,
        loss: Loss,
        *,
        key: str | None = None,
        noise: str = "auto",
        confidence: Number = "0.95",
        description: str = "",
    ) -> dict[str, QueryResult]:
        """Return the private answers to queries about public disjoint parts of the rows, by the label of the part.

        All parts together lose at most ``loss``: a unit that lies in one part changes nothing in the others.
        """
        built = parts.build(self.dataset) if isinstance(parts, PartitionedGroups) else parts
        level = probability("confidence", confidence, open_below=True)
        if built.dataset != self.dataset:
            raise InvalidParameter("parts", built.dataset.name, f"about {self.dataset.name} as it is declared now")
        answer = plan_partitioned(built, loss, noise=noise)
        self._refuse_idealised(answer.numerics)
        asked = {"parts": wire.encode(built), "noise": noise, "confidence": str(level)}
        request = Request(self.dataset.name, "parts", asked, loss, description)

        def run(engine: Engine) -> bytes:
            results = present_partitioned(answer, perform(answer, engine), confidence=level)
            return json.dumps({label: result.to_json().decode() for label, result in results.items()}).encode()

        self._prepare(answer.answers)
        receipt = self._release(request, answer.loss(1), run, key)
        return {label: with_receipt(text, receipt) for label, text in json.loads(receipt.answer).items()}

    def quote(
        self,
        query: str | Query | Groups,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        noise: str = "auto",
        shares: Mapping[str, Number] | None = None,
    ) -> Quote:
        """Return what a query would cost and how far it would err, from public facts alone."""
        stated = loss if loss is not None else stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        return quote(self._read(query), stated, noise=noise, shares=shares)

    def loss_for_error(
        self,
        query: str | Query | Groups,
        column: str,
        error: Number,
        *,
        rows: int | None = None,
        delta: Number | None = None,
    ) -> Loss:
        """Return the least loss at which a column errs by at most ``error``, 95 times of 100.

        Args:
            query: what would be asked.
            column: the name of an aggregate.
            error: absolute, in the unit that the quote names.
            rows: for means and the like, in groups of how many rows.
            delta: where groups are discovered.

        """
        return loss_for_error(self._read(query), column, error, rows=rows, delta=delta)

    def table(self, name: str) -> Rows:
        """Return the builder of queries over a table: ``session.ask(session.table("visits").count(), loss)``."""
        self.dataset.table(name)
        return table(name)

    def _read(self, query: str | Query | Groups) -> Query:
        if isinstance(query, str):
            return parse_sql(parse_statement(query).sql, self.dataset)
        return query.build(self.dataset) if isinstance(query, Groups) else query

    def _prepare(self, answers: Iterable[Answer]) -> None:
        """Let the engine refuse what it could not be asked, before it costs anything."""
        engine = self.open()
        for answer in answers:
            for aggregation in answer.aggregations():
                engine.prepare(aggregation)
