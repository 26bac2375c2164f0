"""A session: one analyst asks about one data set, and every answer is paid for in the ledger.

The order never changes: read the request, price it without the data, open the tables (names and types only), debit the
ledger durably, run the mechanism, store the answer durably, return it. Whatever fails before the debit costs nothing;
whatever fails after it keeps the debit and says one fixed text.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dither.curator.ledger import Account, Balance, Receipt, Stored
from dither.curator.request import Request
from dither.data import Relation, wire
from dither.data.engines import Engine, connect
from dither.data.schema import DataSet
from dither.errors import EngineFailure, InvalidParameter, NoGuarantee
from dither.exact import Number, probability
from dither.mechanisms import Numerics, perform
from dither.mechanisms.spec import digest
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Answer, Query, QueryResult, Quote, loss_for_error, plan_query, present, quote
from dither.publish.queries.builder import Groups, Rows, table
from dither.publish.queries.partition import plan_partitioned, present_partitioned
from dither.publish.queries.parts import PartitionedGroups
from dither.publish.queries.query import Partitioned
from dither.publish.queries.sql import parse_sql, parse_statement

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.publish.counted import CountedCells
    from dither.publish.counted_marginals import CountedMarginals
    from dither.publish.counted_sparse import CountedSparse
    from dither.publish.synthetic import Constraint, CountedRecords, SyntheticTable
    from dither.publish.synthetic.quality import Quality
    from dither.publish.tables import Cells
    from dither.publish.workloads import Workload


class Session:
    """Private answers about one data set, charged to the ledger of its curator.

    ``sql`` and ``ask`` release; ``quote`` prices without opening the data. Not shared between threads.
    """

    def __init__(
        self, curator: Curator, dataset: DataSet, *, analyst: str, frames: Mapping[str, Any] | None = None
    ) -> None:
        self.curator = curator
        self.dataset = dataset
        self.account = Account(dataset.name, analyst)
        self._frames = frames
        self._engine: Engine | None = None

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
        return _with_receipt(receipt.answer, receipt)

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
        return {label: _with_receipt(text, receipt) for label, text in json.loads(receipt.answer).items()}

    def histogram(
        self,
        table: str,
        columns: str | Sequence[str],
        bins: Any = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "auto",
        outside: str | None = None,
        where: str | None = None,
        data_dependent: bool = False,
        rows: int | None = None,
        non_negative: bool = True,
        key: str | None = None,
        confidence: Number = "0.95",
    ) -> QueryResult:
        """Return the private counts of all cells of one or more columns.

        Args:
            table: a private table.
            columns: a column, or several for a table of that many dimensions.
            bins: a number of bins, their edges, pairs of ends, or a list of values; for several columns a mapping of
                names to these. Without them the declared values are the cells.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds.
            rho: a loss in zero-concentrated differential privacy.
            method: one of ``dither.publish.methods``, or "auto" for the least predicted error. "sparse-histogram" is
                for up to 2^50 cells, of which those are shown that seem not to be empty.
            outside: whether values beyond the bins count in the end bins ("ends") or not at all ("drop"); needed only
                where bins do not hold all that is declared.
            where: a condition in SQL on the rows.
            data_dependent: whether "auto" may take methods that look at the counts; these have wide intervals or none.
            rows: for these, about how many rows there are, from public knowledge.
            non_negative: whether the nearest counts without negative ones are shown; intervals stay those of the plain
                estimates.
            key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
            confidence: at which all intervals hold at once.

        """
        from dither.curator import publishing

        level = probability("confidence", confidence, open_below=True)
        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        cells = self._cells(table, columns, bins, outside, where)
        planned = publishing.plan_histogram(cells, loss, method=method, data_dependent=data_dependent, rows=rows)
        self._refuse_idealised(planned.release.numerics)
        asked = {
            "cells": wire.encode(cells),
            "method": method,
            "confidence": str(level),
            "data_dependent": data_dependent,
            "rows": rows,
            "non_negative": non_negative,
        }
        request = Request(self.dataset.name, "histogram", asked, loss, f"histogram of {', '.join(cells.names)}")

        def run(engine: Engine) -> bytes:
            out = perform(planned.release, engine)
            shown = publishing.present_histogram(planned, out, confidence=level, non_negative=non_negative)
            return shown.to_json()

        receipt = self._release_counts(request, planned.release, run, key)
        return _with_receipt(receipt.answer, receipt)

    def workload(
        self,
        table: str,
        columns: str | Sequence[str],
        workload: Workload,
        bins: Any = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "auto",
        outside: str | None = None,
        where: str | None = None,
        key: str | None = None,
        confidence: Number = "0.95",
    ) -> QueryResult:
        """Return the private answers to many linear queries on a table of counts, a row for each.

        Args:
            table: a private table.
            columns: the columns of the table of counts; see ``histogram``.
            workload: the queries, over as many cells as the columns have.
            bins: see ``histogram``.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds.
            rho: a loss in zero-concentrated differential privacy.
            method: "hdmm" (a strategy is searched for), "identity", or "auto".
            outside: see ``histogram``.
            where: a condition in SQL on the rows.
            key: the caller's name for this request.
            confidence: at which all intervals hold at once.

        """
        from dither.curator import publishing

        level = probability("confidence", confidence, open_below=True)
        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        cells = self._cells(table, columns, bins, outside, where)
        planned = publishing.plan_workload(cells, workload, loss, method=method)
        self._refuse_idealised(planned.release.numerics)
        asked = {
            "cells": wire.encode(cells),
            "workload": _digest_of(workload.to_json()),
            "method": method,
            "confidence": str(level),
        }
        request = Request(
            self.dataset.name, "workload", asked, loss, f"{workload.queries} queries on a table of counts"
        )

        def run(engine: Engine) -> bytes:
            out = perform(planned.release, engine)
            return publishing.present_workload(planned, out, confidence=level).to_json()

        receipt = self._release_counts(request, planned.release, run, key)
        return _with_receipt(receipt.answer, receipt)

    def marginals(
        self,
        table: str,
        sets: Sequence[Sequence[str]],
        bins: Mapping[str, Any] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        outside: str | None = None,
        where: str | None = None,
        key: str | None = None,
        confidence: Number = "0.95",
    ) -> dict[tuple[str, ...], QueryResult]:
        """Return the private marginals of a table on several sets of columns, which agree with each other.

        Args:
            table: a private table.
            sets: the columns of each marginal. All columns together may have any number of cells, all marginals
                together have at most 2^20.
            bins: see ``histogram``: a mapping of names.
            epsilon: what all marginals together may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds.
            rho: a loss in zero-concentrated differential privacy.
            outside: see ``histogram``.
            where: a condition in SQL on the rows.
            key: the caller's name for this request.
            confidence: at which all intervals of all marginals hold at once.

        """
        from dither.curator import publishing

        level = probability("confidence", confidence, open_below=True)
        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        source = table if where is None else self._rows_where(table, where)
        planned, ordered = publishing.plan_marginals(self.dataset, source, sets, loss, bins=bins, outside=outside)
        self._refuse_idealised(planned.release.numerics)
        asked = {
            "cells": wire.encode(planned.release.cells),
            "sets": [list(names) for names in ordered],
            "confidence": str(level),
        }
        request = Request(self.dataset.name, "marginals", asked, loss, f"{len(ordered)} marginals")

        def run(engine: Engine) -> bytes:
            tables = publishing.present_marginals(planned, ordered, perform(planned.release, engine), confidence=level)
            return json.dumps([[list(names), one.to_json().decode()] for names, one in tables.items()]).encode()

        receipt = self._release_counts(request, planned.release, run, key)
        return {tuple(names): _with_receipt(text, receipt) for names, text in json.loads(receipt.answer)}

    def synthesize(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: str = "auto",
        bins: Mapping[str, Any] | None = None,
        other: Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] = (),
        where: str | None = None,
        key: str | None = None,
    ) -> SyntheticTable:
        """Return a private model of a table, from which any number of synthetic rows can be drawn.

        Args:
            table: a private table.
            columns: which columns; all but the privacy id where None.
            epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability outside which the promise holds; with one, noise is Gaussian and errors are smaller.
            rho: a loss in zero-concentrated differential privacy.
            method: one of ``dither.publish.synthetic.METHODS``, or "auto".
            bins: for numeric columns a number of cells, or their edges.
            other: for columns with categories, the label of rows whose value is no category; such rows do not count
                otherwise.
            constraints: public facts that every row keeps: ``Impossible``, ``Determined``.
            where: a condition in SQL on the rows.
            key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

        """
        from dither.publish.synthetic import SyntheticTable, plan_synthesis

        loss = stated_loss(epsilon=epsilon, delta=delta, rho=rho)
        source = table if where is None else self._rows_where(table, where)
        planned = plan_synthesis(
            self.dataset,
            source,
            loss,
            columns=columns,
            method=method,
            bins=bins,
            other=other,
            constraints=constraints,
            name=table,
        )
        self._refuse_idealised(planned.release.numerics)
        asked = {
            "cells": wire.encode(planned.release.cells),
            "codings": [wire.encode(coding) for coding in planned.codings],
            "constraints": [wire.encode(constraint) for constraint in planned.constraints],
            "method": planned.method,
        }
        request = Request(self.dataset.name, "synthesis", asked, loss, f"synthetic {table}")

        def run(engine: Engine) -> bytes:
            return planned.present(perform(planned.release, engine)).to_json().encode()

        receipt = self._release_counts(request, planned.release, run, key)
        return replace(SyntheticTable.from_json(receipt.answer), receipt=_place_of(receipt))

    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        target: str,
        features: Sequence[str] | None = None,
        where: str | None = None,
        key: str | None = None,
    ) -> Any:
        """Return a fitted copy of an estimator of ``dither.learn``, charged to the ledger.

        What the estimator states is its loss for one row; a person with several rows is charged what so many rows lose.

        Args:
            estimator: what to learn; bounds and classes that it leaves out are taken from the schema.
            table: a private table.
            target: the column to predict.
            features: the columns to predict it from; all other numeric ones where None.
            where: a condition in SQL on the rows.
            key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

        """
        from dither.curator.learning import plan_fit

        source = table if where is None else self._rows_where(table, where)
        planned = plan_fit(self.dataset, source, estimator, target, features)
        self._refuse_idealised(planned.mechanism.numerics)
        asked = {
            "aggregation": wire.encode(planned.aggregation),
            "mechanism": digest(planned.mechanism),
            "estimator": type(planned.estimator).__name__,
        }
        request = Request(self.dataset.name, "fit", asked, planned.loss, f"{asked['estimator']} of {target}")
        self.open().prepare(planned.aggregation)
        receipt = self._release(request, planned.loss, lambda engine: json.dumps(planned.learn(engine)).encode(), key)
        return planned.adopt(json.loads(receipt.answer), _place_of(receipt))

    def compare_synthetic(
        self, synthetic: SyntheticTable, *, where: str | None = None, target: str | None = None
    ) -> Quality:
        """Return how a synthetic table compares with the real rows. NOT PRIVATE: for the curator's eyes only.

        Nothing is charged because nothing here may be published; an analyst must never be shown it.

        Args:
            synthetic: what ``synthesize`` returned for a table of this data set.
            where: the condition on the rows that it was made with.
            target: the column that a classifier is trained to predict.

        """
        from dither.curator.comparing import compare

        source = synthetic.table if where is None else self._rows_where(synthetic.table, where)
        return compare(self.open(), self.dataset, source, synthetic, target=target)

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

    def balance(self) -> Balance:
        """Return what this analyst has spent and may still spend."""
        return self.curator.ledger.balance(self.dataset.name, self.account.analyst)

    def close(self) -> None:
        """Let go of the tables."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _release_counts(
        self,
        request: Request,
        release: CountedCells | CountedMarginals | CountedSparse | CountedRecords,
        run: Any,
        key: str | None,
    ) -> Receipt:
        """Release counts of cells; the engine may refuse what it could not be asked, before it costs anything."""
        for aggregation in release.aggregations():
            self.open().prepare(aggregation)
        return self._release(request, release.loss(1), run, key)

    def _release(self, request: Request, loss: Loss, run: Any, key: str | None) -> Receipt:
        """Debit, run, store: the only way from private rows to an answer."""
        engine = self.open()
        name = uuid.uuid4().hex if key is None else key
        ledger = self.curator.ledger
        held = ledger.reserve(self.account, name, request.digest, loss, description=request.description)
        if isinstance(held, Stored):
            return held.receipt
        try:
            answer = run(engine)
        except Exception:
            # Why it failed may depend on private rows: one text for all, and the debit stays.
            failure = EngineFailure()
            failure.add_note(f"to retry without a further charge, ask again with key={name!r}")
            raise failure from None
        return ledger.complete(held, answer)

    def open(self) -> Engine:
        """Open the tables and compare them with what is declared; reads names and types, never values."""
        if self._engine is None:
            engine = connect(self.dataset, folder=self.curator.folder, frames=self._frames)
            engine.check()
            self._engine = engine
        return self._engine

    def _cells(
        self, table: str, columns: str | Sequence[str], bins: Any, outside: str | None, where: str | None
    ) -> Cells:
        from dither.publish.tables import cells_of

        source = table if where is None else self._rows_where(table, where)
        return cells_of(self.dataset, source, columns, bins, outside=outside)

    def _rows_where(self, table: str, where: str) -> Relation:
        name = self.dataset.table(table).name
        # Read by our own parser into a closed tree; this text reaches no engine.
        query = parse_sql(f"SELECT COUNT(*) FROM {name} WHERE {where}", self.dataset)  # noqa: S608
        if query.keys or query.limit is not None or query.having is not None or len(query.outputs) != 1:
            raise InvalidParameter("where", where, "a condition alone")
        return query.relation

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

    def _refuse_idealised(self, numerics: Numerics) -> None:
        if numerics is Numerics.IDEALISED and not self.curator.settings.allow_idealised:
            raise NoGuarantee("the proof is over the reals only; the curator may allow that in dither.yaml")


def _with_receipt(text: bytes | str, receipt: Receipt) -> QueryResult:
    """Return the stored result, with the place in the ledger where its charge is written down."""
    return replace(QueryResult.from_json(text), receipt=_place_of(receipt))


def _place_of(receipt: Receipt) -> str:
    """Return where a charge is written down."""
    return f"{receipt.ledger}:{receipt.entry}:{receipt.hash}"


def _digest_of(record: Any) -> str:
    """Return the SHA-256 of plain data: what stands for a long record in a request."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
