"""From the answers of a report's queries to the table that an analyst sees.

Everything here is a function of released numbers, public rows and public facts.

**Which intervals.** Where every cell is made of a few released numbers, and no row is chosen or sorted by what was
released, each interval holds by itself: its failure probability is divided among the numbers of a cell. Otherwise it is
divided among the queries, and within each among all its numbers: all intervals of all queries hold at once, and so does
whatever follows from them by arithmetic. A number that is not made of released numbers by arithmetic alone, such as a
rank, has none, and the answer says so.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from dither.data import Name
from dither.errors import DitherError, InvalidParameter
from dither.exact import Number, probability
from dither.publish.queries.answer import Answer
from dither.publish.queries.present import present
from dither.publish.queries.rehearsal import nothing
from dither.publish.queries.reports.cells import Cells
from dither.publish.queries.reports.dependence import numbers_in_cells
from dither.publish.queries.reports.evaluation import Evaluation, Rows
from dither.publish.queries.reports.mechanism import ReportAnswer, Reported
from dither.publish.queries.reports.views import View, ViewTotals, views_in
from dither.publish.queries.result import QueryResult, ResultColumn

_NUMBERS: Final = ("integer", "real")


def present_report(answer: ReportAnswer, released: Reported, *, confidence: Number = Fraction(19, 20)) -> QueryResult:
    """Return the table of a released report.

    Args:
        answer: the mechanism.
        released: what it released.
        confidence: of the intervals.

    """
    wanted = probability("confidence", confidence, open_below=True)
    numbers = numbers_in_cells(answer.report)
    together = numbers is None
    level = 1 - (1 - wanted) / max(1, len(answer.answers) if numbers is None else numbers)
    notes: dict[str, None] = {}
    tables: dict[str, Rows] = {}
    for (name, _), one, out in zip(answer.queries, answer.answers, released.answers, strict=True):
        shown = present(one, out, confidence=level, together=together)
        tables[name] = _rows(one, shown)
        notes |= dict.fromkeys(shown.notes)
    evaluation = Evaluation(tables, dict(released.public))
    rows = evaluation.rows(answer.report.view)
    notes |= evaluation.notes | dict.fromkeys(_remarks(answer.report.view, rows))
    columns = [rows.columns[name] for name in answer.report.view.columns]
    parts: dict[str, tuple[tuple[Any, ...], ...]] = {
        part: tuple(tuple(getattr(cells, part)[place] for cells in columns) for place in range(rows.size))
        for part in ("shown", "low", "high", "raw")
    }
    kinds = answer.report.view.columns.items()
    return QueryResult(
        tuple(_column(name, kind.value, cells) for (name, kind), cells in zip(kinds, columns, strict=True)),
        parts["shown"],
        parts["low"],
        parts["high"],
        wanted,
        together and bool(answer.answers),
        answer.loss(1),
        str(answer.distance),
        tuple(notes),
        raw=parts["raw"],
    )


def rehearse_report(answer: ReportAnswer, *, confidence: Number = Fraction(19, 20)) -> None:
    """Reject a report that could not be shown, whatever is drawn: tried on queries that found nothing."""
    out = Reported(
        tuple(nothing(one) for one in answer.answers),
        tuple((view.table.name, ((None,) * len(view.columns),)) for view in answer.report.public_tables),
    )
    reason = None
    try:
        present_report(answer, out, confidence=confidence).to_json()
    except DitherError:
        raise
    except Exception as error:
        reason = type(error).__name__
    if reason is not None:
        raise InvalidParameter("query", f"outputs that end in {reason}", "one whose outputs can be computed")


def _rows(answer: Answer, shown: QueryResult) -> Rows:
    """Return a released table as columns of cells."""
    columns = {}
    for place, column in enumerate(shown.columns):
        values = [row[place] for row in shown.rows]
        if column.is_key:
            columns[column.name] = Cells(values)
            continue
        raw, low, high = ([row[place] for row in part] for part in (shown.raw, shown.low, shown.high))
        has_ends = column.kind in _NUMBERS
        columns[column.name] = Cells(
            values,
            raw,
            low if has_ends else [],
            high if has_ends else [],
            True,
            has_ends,
            column.estimand,
            column.bias,
            _variance(answer, column.name),
            column.limit,
        )
    is_found = answer.query.key_values is None and any(key.values is None for key in answer.query.keys)
    return Rows(columns, len(shown.rows), is_found)


def _variance(answer: Answer, output: str) -> float:
    """Return the variance of the noise in an output that is an aggregate, in steps of its measured parts."""
    design, value = answer.design, dict(answer.query.outputs)[output]
    numbers = design.numbers.get(value.name, ()) if isinstance(value, Name) else ()
    return sum(float(design.parts[number].scale) ** 2 for number in numbers) or 1.0


def _remarks(view: View, rows: Rows) -> list[str]:
    """Return what a reader must know of values that are not measured numbers."""
    found = []
    for name, kind in view.columns.items():
        cells = rows.columns[name]
        if cells.is_noisy and not cells.has_ends and kind.is_number:
            found.append(f"{name} has no interval: it is computed from several released numbers")
    if any(isinstance(part, ViewTotals) for part in views_in(view)):
        found.append("totals of counts and sums agree: all groupings are fitted together, by least squares")
    return found


def _column(name: str, kind: str, cells: Cells) -> ResultColumn:
    return ResultColumn(name, kind, not cells.is_noisy, cells.estimand, cells.bias, cells.limit)
