"""Tables of counts: histograms, the answers to workloads, marginals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.curator.offers.plain import digest_of
from dither.curator.offers.rows import rows_of
from dither.data import wire
from dither.data.schema import DataSet
from dither.exact import Number, exact, probability
from dither.lift.offer import Offer
from dither.lift.planned_size import check_bins, check_cells
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.privacy import Loss, stated_loss
from dither.publish.queries import QueryResult

if TYPE_CHECKING:
    from dither.lift.cells import Cells
    from dither.publish.count_tables import Planned
    from dither.publish.workloads import Workload


#: What a stored result has besides its rows, in bytes: names, notes, the loss.
_HEAD = 2**20


def histogram(
    dataset: DataSet,
    table: str,
    columns: str | Sequence[str],
    bins: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    questions: str | None = None,
    outside: str | None = None,
    where: str | None = None,
    data_dependent: bool = False,
    rows: int | None = None,
    non_negative: bool = True,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer the private counts of all cells of one or more columns.

    Args:
        dataset: the schema.
        table: a private table.
        columns: a column, or several for a table of that many dimensions.
        bins: a number of bins, their edges, pairs of ends, or a list of values; for several columns a mapping of
            names to these. Without them the declared values are the cells.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: one of ``dither.publish.methods``, or "auto" for the least predicted error. "sparse-histogram" is
            for up to 2^50 cells, of which those are shown that seem not to be empty.
        questions: for "auto", what will be asked of the table: "cells", as a GROUP BY in SQL, or "ranges" of them;
            without it ranges along columns that have an order, and cells along others. The result says which.
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
    from dither.publish import count_tables

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    if method != "sparse-histogram":
        check_bins(bins, count_tables.longest_row(()))
    cells = _cells(dataset, table, columns, bins, outside, where)
    if method != "sparse-histogram":
        # Before it is planned, which takes long where cells are many.
        cells.check_dense()
        check_cells(math.prod(cells.shape))
        check_length("columns", math.prod(cells.shape), count_tables.longest_row(cells.axes), _HEAD)
    planned = count_tables.plan_histogram(
        cells, stated, method=method, questions=questions, data_dependent=data_dependent, rows=rows
    )
    asked: dict[str, Any] = {
        "cells": wire.encode(cells),
        "method": method,
        "confidence": str(level),
        "data_dependent": data_dependent,
        "rows": rows,
        "non_negative": non_negative,
    }
    if questions is not None:
        # Left out where nothing is said, so that requests of before read as they did.
        asked["questions"] = questions
    words = f"histogram of {', '.join(cells.names)}"

    def present(out: Any) -> bytes:
        shown = count_tables.present_histogram(planned, out, confidence=level, non_negative=non_negative)
        return shown.stored_within(LARGEST_ANSWER)[1].encode()

    shown = " before negative counts are evened out" if non_negative and method != "sparse-histogram" else ""
    return Offer(
        "histogram",
        words,
        planned.mechanism,
        asked,
        stated,
        present,
        QueryResult.stored,
        key,
        expected=lambda: _expected(planned, level, shown),
    )


def count(
    dataset: DataSet,
    table: str,
    columns: str | Sequence[str] = (),
    bins: Any = None,
    *,
    share: Number = "0.05",
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    levels: int = 8,
    outside: str | None = None,
    where: str | None = None,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer the number of rows to a relative accuracy, for the least loss at which the released counts show it.

    The most that it may lose is debited first. A budget that is a pure epsilon is given back what was not lost.

    Args:
        dataset: the schema.
        table: a private table.
        columns: a column or several whose cells are counted; without them all rows are one count.
        bins: see ``histogram``.
        share: how far a count may be off, as a share of the true total: of one count its relative error.
        epsilon: the most that the release may lose.
        delta: left out: what a level loses is an epsilon alone.
        rho: left out, likewise.
        loss: the most that the release may lose as a record.
        levels: how many levels of noise are tried, each with half the noise of the one before.
        outside: see ``histogram``.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.
        confidence: with which no count is farther off, and at which all intervals hold at once.

    """
    from dither.lift.cells import all_rows
    from dither.publish import count_tables

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    rows = rows_of(dataset, table, where)
    check_bins(bins, count_tables.longest_row(()))
    cells = _cells(dataset, table, columns, bins, outside, where) if columns else all_rows(dataset, rows)
    check_cells(math.prod(cells.shape))
    planned = count_tables.plan_accurate(cells, stated, share=share, levels=levels, confidence=level)
    check_length("columns", math.prod(cells.shape), count_tables.longest_row(cells.axes), _HEAD)
    asked: dict[str, Any] = {
        "cells": wire.encode(cells),
        "share": str(exact("share", share)),
        "levels": levels,
        "confidence": str(level),
    }
    words = f"rows of {table} by {', '.join(cells.names)}" if columns else f"rows of {table}"

    def present(out: Any) -> bytes:
        shown = count_tables.present_accurate(planned, out, confidence=level, grouped=bool(columns))
        return shown.stored_within(LARGEST_ANSWER)[1].encode()

    def spent(stored: bytes) -> Loss:
        return QueryResult.stored(stored, "").loss

    return Offer(
        "count",
        words,
        planned.mechanism,
        asked,
        stated,
        present,
        QueryResult.stored,
        key,
        spent=spent,
        expected=lambda: _expected(planned, level),
    )


def workload(
    dataset: DataSet,
    table: str,
    columns: str | Sequence[str],
    workload: Workload,
    bins: Any = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    outside: str | None = None,
    where: str | None = None,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[QueryResult]:
    """Offer the private answers to many linear queries on a table of counts, a row for each.

    Args:
        dataset: the schema.
        table: a private table.
        columns: the columns of the table of counts; see ``histogram``.
        workload: the queries, over as many cells as the columns have.
        bins: see ``histogram``.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: "hdmm" (a strategy is searched for), "identity", or "auto".
        outside: see ``histogram``.
        where: a condition in SQL on the rows.
        key: the caller's name for this request.
        confidence: at which all intervals hold at once.

    """
    from dither.lift.trusted import checked_class
    from dither.publish import count_tables
    from dither.publish.workloads import Workload

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    checked_class("workload", workload, Workload)
    check_bins(bins)
    cells = _cells(dataset, table, columns, bins, outside, where)
    check_cells(math.prod(cells.shape))
    check_length("workload", workload.queries, count_tables.longest_row(()), _HEAD)
    planned = count_tables.plan_workload(cells, workload, stated, method=method)
    asked = {
        "cells": wire.encode(cells),
        "workload": digest_of(workload.to_dict()),
        "method": method,
        "confidence": str(level),
    }
    words = f"{workload.queries} queries on a table of counts"

    def present(out: Any) -> bytes:
        return count_tables.present_workload(planned, out, confidence=level).to_json().encode()

    return Offer(
        "workload",
        words,
        planned.mechanism,
        asked,
        stated,
        present,
        QueryResult.stored,
        key,
        expected=lambda: _expected(planned, level),
    )


def marginals(
    dataset: DataSet,
    table: str,
    sets: Sequence[Sequence[str]],
    bins: Mapping[str, Any] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    outside: str | None = None,
    where: str | None = None,
    key: str | None = None,
    confidence: Number = "0.95",
) -> Offer[dict[tuple[str, ...], QueryResult]]:
    """Offer the private marginals of a table on several sets of columns, which agree with each other.

    Args:
        dataset: the schema.
        table: a private table.
        sets: the columns of each marginal. All columns together may have any number of cells, all marginals
            together have at most 2^20.
        bins: see ``histogram``: a mapping of names.
        epsilon: what all marginals together may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        outside: see ``histogram``.
        where: a condition in SQL on the rows.
        key: the caller's name for this request.
        confidence: at which all intervals of all marginals hold at once.

    """
    from dither.publish import count_tables

    level = probability("confidence", confidence, open_below=True)
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    planned, ordered = count_tables.plan_marginals(
        dataset, rows_of(dataset, table, where), sets, stated, bins=bins, outside=outside
    )
    axes = {axis.name: axis for axis in planned.cells.axes}
    parts = [[axes[name] for name in names] for names in ordered]
    # Results stand in a list of texts, where each quotation mark and backslash has another before it.
    row = 2 * max(map(count_tables.longest_row, parts))
    cells = sum(math.prod(axis.size for axis in part) for part in parts)
    check_length("sets", cells, row, 2 * _HEAD)
    asked = {
        "cells": wire.encode(planned.cells),
        "sets": [list(names) for names in ordered],
        "confidence": str(level),
    }

    def present(out: Any) -> bytes:
        tables = count_tables.present_marginals(planned, ordered, out, confidence=level)
        return json.dumps([[list(names), one.to_json()] for names, one in tables.items()]).encode()

    def read(stored: bytes, receipt: str) -> dict[tuple[str, ...], QueryResult]:
        return {tuple(names): QueryResult.stored(text, receipt) for names, text in json.loads(stored)}

    return Offer(
        "marginals",
        f"{len(ordered)} marginals",
        planned.mechanism,
        asked,
        stated,
        present,
        read,
        key,
        expected=lambda: _expected(planned, level),
    )


def _expected(planned: Planned, confidence: Fraction, shown: str = "") -> str:
    """Return how far counts may be off by noise and of which rows, or why that is not known, and why this method."""
    bound, choice = planned.mechanism.error(confidence), planned.choice
    if bound is None:
        said = f"not known before: {planned.mechanism.method.no_error_because}"
    else:
        limited = planned.cells.dataset.protects_persons
        rows = ", among the rows that the limits on one person leave," if limited else ""
        said = str(replace(bound, meaning=f"{bound.meaning}{shown}{rows}"))
    return said if choice is None else f"{said}; method {choice.method}: {choice.because}"


def _cells(
    dataset: DataSet, table: str, columns: str | Sequence[str], bins: Any, outside: str | None, where: str | None
) -> Cells:
    from dither.lift.cells import cells_of

    return cells_of(dataset, rows_of(dataset, table, where), columns, bins, outside=outside)
