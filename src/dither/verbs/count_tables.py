"""Tables of counts: histograms, the answers to workloads, marginals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.exact import Number, exact
from dither.lift.offer import Offer
from dither.lift.planned_size import check_bins, check_cells
from dither.lift.stored import LARGEST_ANSWER, check_length
from dither.lift.verb import Arg, Group, M, Measured, Typed, level_of, loss_of, verb
from dither.privacy import Loss
from dither.publish.queries import QueryResult
from dither.publish.queries.rows_named import rows_of
from dither.verbs.arguments import Axes, Bins, Method, Outside, TableName, Where, names
from dither.verbs.plain_records import digest_of

if TYPE_CHECKING:
    from dither.lift.cells import Cells
    from dither.publish.count_tables import Planned

#: What a stored result has besides its rows, in bytes: names, notes, the loss.
_HEAD = 2**20


#: The method whose cells are not all shown, so that there may be very many.
_SPARSE = "sparse-histogram"


def _sets(texts: Sequence[str], known: Typed) -> list[tuple[str, ...]]:
    return [names(text, known) for text in texts]


Questions = Annotated[
    str | None,
    Arg(
        'what "auto" chooses for: cells, as in a GROUP BY, or ranges of them; by default ranges along columns with an '
        "order and cells along others",
        choices=("cells", "ranges"),
    ),
]
DataDependent = Annotated[
    bool, Arg('allow "auto" to choose methods that adapt to the counts; their intervals are wide or missing')
]
AboutRows = Annotated[
    int | None, Arg("about how many rows there are, from public knowledge; where methods may adapt to the counts")
]
NonNegative = Annotated[
    bool, Arg("show the nearest counts without negative ones; the intervals stay those of the plain estimates")
]
AccurateShare = Annotated[Number, Arg("the largest error as a share of the true total; for a single count, of itself")]
Levels = Annotated[int, Arg("how many levels of noise are tried, each with half the noise of the level before")]
CountedAxes = Annotated[
    str | Sequence[str],
    Arg(
        "columns whose cells are counted; by default all rows are one count",
        schema={"type": ["string", "array"], "items": {"type": "string"}},
    ),
]
Queries = Annotated[Any, Arg("the queries: a Workload over the cells of the columns", schema={})]
Strategy = Annotated[str, Arg("hdmm (searches a strategy), identity or auto", choices=("auto", "hdmm", "identity"))]
Sets = Annotated[
    Sequence[Sequence[str]],
    Arg(
        "the columns of each marginal, for example sex,age; together at most 2^20 cells",
        read=_sets,
        metavar="COLUMN,COLUMN",
        is_repeated=True,
    ),
]


class CountTables(Group[M]):
    """Tables of counts."""

    @verb(arguments=("table", "columns"))
    @staticmethod
    def histogram(
        dataset: DataSet,
        table: TableName,
        columns: Axes,
        bins: Bins = None,
        *,
        method: Method = "auto",
        questions: Questions = None,
        outside: Outside = None,
        where: Where = None,
        data_dependent: DataDependent = False,
        rows: AboutRows = None,
        non_negative: NonNegative = True,
        **terms: Unpack[Measured],
    ) -> Offer[QueryResult]:
        """Publish how many rows fall into each cell of one column or more, each count with its interval.

        ``sparse-histogram`` is the method for up to 2^50 cells: it shows those that seem not to be empty.
        """
        from dither.publish import count_tables

        level, stated = level_of(terms), loss_of(terms)
        is_dense = method != _SPARSE
        if is_dense:
            check_bins(bins, count_tables.longest_row(()))
        cells = _cells(dataset, table, columns, bins, outside, where)
        if is_dense:
            # Before it is planned, which takes long where cells are many.
            cells.check_dense()
            check_cells(math.prod(cells.shape))
            check_length("columns", math.prod(cells.shape), count_tables.longest_row(cells.axes), _HEAD)
        planned = count_tables.plan_histogram(
            cells, stated, method=method, questions=questions, data_dependent=data_dependent, rows=rows
        )
        asked = {"cells": wire.encode(cells), "method": method, "confidence": str(level), "rows": rows}
        asked |= {"data_dependent": data_dependent, "non_negative": non_negative}
        # Absent where nothing is said, so that older requests keep their digests.
        asked |= {} if questions is None else {"questions": questions}

        def present(out: Any) -> bytes:
            shown = count_tables.present_histogram(planned, out, confidence=level, non_negative=non_negative)
            return shown.stored_within(LARGEST_ANSWER)[1].encode()

        shown = " before negative counts are raised to 0" if non_negative and is_dense else ""
        return Offer(
            "histogram",
            f"histogram of {', '.join(cells.names)}",
            planned.mechanism,
            asked,
            stated,
            present,
            QueryResult.stored,
            expected=lambda: _expected(planned, level, shown),
        )

    @verb(arguments=("table", "columns"))
    @staticmethod
    def count(
        dataset: DataSet,
        table: TableName,
        columns: CountedAxes = (),
        bins: Bins = None,
        *,
        share: AccurateShare = "0.05",
        levels: Levels = 8,
        outside: Outside = None,
        where: Where = None,
        **terms: Unpack[Measured],
    ) -> Offer[QueryResult]:
        """Count rows to a relative accuracy, for the smallest epsilon at which the released counts show it.

        The largest possible loss is debited first. A budget of pure epsilon gets back what was not lost. The loss is
        an epsilon: levels have no delta and no rho.
        """
        from dither.lift.cells import all_rows
        from dither.publish import count_tables

        level, stated = level_of(terms), loss_of(terms)
        rows = rows_of(dataset, table, where)
        check_bins(bins, count_tables.longest_row(()))
        cells = _cells(dataset, table, columns, bins, outside, where) if columns else all_rows(dataset, rows)
        check_cells(math.prod(cells.shape))
        planned = count_tables.plan_accurate(cells, stated, share=share, levels=levels, confidence=level)
        check_length("columns", math.prod(cells.shape), count_tables.longest_row(cells.axes), _HEAD)
        asked = {"cells": wire.encode(cells), "share": str(exact("share", share))}
        asked |= {"levels": levels, "confidence": str(level)}

        def present(out: Any) -> bytes:
            shown = count_tables.present_accurate(planned, out, confidence=level, grouped=bool(columns))
            return shown.stored_within(LARGEST_ANSWER)[1].encode()

        def spent(stored: bytes) -> Loss:
            return QueryResult.stored(stored, "").loss

        return Offer(
            "count",
            f"rows of {table} by {', '.join(cells.names)}" if columns else f"rows of {table}",
            planned.mechanism,
            asked,
            stated,
            present,
            QueryResult.stored,
            spent=spent,
            expected=lambda: _expected(planned, level),
        )

    @verb(arguments=("table", "columns"))
    @staticmethod
    def workload(
        dataset: DataSet,
        table: TableName,
        columns: Axes,
        workload: Queries,
        bins: Bins = None,
        *,
        method: Strategy = "auto",
        outside: Outside = None,
        where: Where = None,
        **terms: Unpack[Measured],
    ) -> Offer[QueryResult]:
        """Publish the answers to many linear queries on the cells of one column or more, for one price."""
        from dither.lift.trusted import checked_class
        from dither.publish import count_tables
        from dither.publish.workloads import Workload

        level, stated = level_of(terms), loss_of(terms)
        checked_class("workload", workload, Workload)
        check_bins(bins)
        cells = _cells(dataset, table, columns, bins, outside, where)
        check_cells(math.prod(cells.shape))
        check_length("workload", workload.queries, count_tables.longest_row(()), _HEAD)
        planned = count_tables.plan_workload(cells, workload, stated, method=method)
        asked = {"cells": wire.encode(cells), "workload": digest_of(workload.to_dict())}
        asked |= {"method": method, "confidence": str(level)}

        def present(out: Any) -> bytes:
            return count_tables.present_workload(planned, out, confidence=level).to_json().encode()

        return Offer(
            "workload",
            f"{workload.queries} queries on a table of counts",
            planned.mechanism,
            asked,
            stated,
            present,
            QueryResult.stored,
            expected=lambda: _expected(planned, level),
        )

    @verb(arguments=("table", "sets"))
    @staticmethod
    def marginals(
        dataset: DataSet,
        table: TableName,
        sets: Sets,
        bins: Bins = None,
        *,
        outside: Outside = None,
        where: Where = None,
        **terms: Unpack[Measured],
    ) -> Offer[dict[tuple[str, ...], QueryResult]]:
        """Publish several marginals of one table, which agree with each other.

        All columns together may have any number of cells.
        """
        from dither.publish import count_tables

        level, stated = level_of(terms), loss_of(terms)
        planned, ordered = count_tables.plan_marginals(
            dataset, rows_of(dataset, table, where), sets, stated, bins=bins, outside=outside
        )
        axes = {axis.name: axis for axis in planned.cells.axes}
        parts = [[axes[name] for name in names] for names in ordered]
        # Results are strings in a JSON list, where each quotation mark and backslash has another before it.
        row = 2 * max(map(count_tables.longest_row, parts))
        cells = sum(math.prod(axis.size for axis in part) for part in parts)
        check_length("sets", cells, row, 2 * _HEAD)
        asked = {"cells": wire.encode(planned.cells), "sets": [list(names) for names in ordered]}
        asked |= {"confidence": str(level)}

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
        said = replace(bound, meaning=f"{bound.meaning}{shown}{rows}").words
    return said if choice is None else f"{said}; method {choice.method}: {choice.because}"


def _cells(
    dataset: DataSet, table: str, columns: str | Sequence[str], bins: Any, outside: str | None, where: str | None
) -> Cells:
    from dither.lift.cells import cells_of

    return cells_of(dataset, rows_of(dataset, table, where), columns, bins, outside=outside)
