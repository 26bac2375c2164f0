"""The report on a synthetic table: one HTML file that needs nothing from outside, or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.pages.charts import Bars, bar_chart
from dither.pages.frame import Axis
from dither.pages.heat import heat_map
from dither.pages.markup import Markup, joined, tag
from dither.pages.page import alarm, figure, figures, note, page, page_target, paragraph, section
from dither.pages.page import table as table_of
from dither.privacy import Loss
from dither.publish.synthetic.columns import Coding
from dither.publish.synthetic.constraints import Constraint, Impossible
from dither.publish.synthetic.quality import Quality, correlation_matrix
from dither.publish.synthetic.result import SyntheticTable

_MOST_BARS: Final = 24
_MOST_PICTURES: Final = 30


def write_report(path: Path | str, table: SyntheticTable, quality: Quality) -> Path:
    """Write the report as .html or .json, and return its path."""
    target = page_target(path)
    if target.suffix.lower() == ".json":
        record = {**facts(table), **quality.to_dict()}
        target.write_text(json.dumps(record, indent=2), encoding="utf-8")
    else:
        target.write_text(_page(table, quality), encoding="utf-8")
    return target


def facts(table: SyntheticTable) -> dict[str, Any]:
    """Return the facts that a data-protection officer asks for first."""
    return {
        "table": table.table,
        "method": table.method,
        "loss": str(table.loss),
        "unit": table.unit,
        "receipt": table.receipt,
        "columns": [name for name, _ in table.columns],
        "constraints": len(table.constraints),
    }


def _page(table: SyntheticTable, quality: Quality) -> str:
    warning = (
        alarm(
            "NOT PRIVATE. Figures marked NO, and all that is called real, were read off the real rows without noise. "
            "Do not publish this page; it is for the curator who holds the rows."
        )
        if quality.compares_real
        else note("Everything here was computed from the released model alone: it may be published.")
    )
    rows = [
        (one.name, "" if one.value is None else f"{one.value:.4g}", one.meaning, "yes" if one.is_private else "NO")
        for one in quality.figures
    ]
    bad = {place for place, one in enumerate(quality.figures) if not one.is_private}
    shown = table.codings[:_MOST_PICTURES]
    left = len(table.codings) - len(shown)
    return page(
        f"Synthetic rows of {table.table}",
        warning,
        section("What is promised", promise(table, table.constraints)),
        section("Figures", table_of(("figure", "value", "meaning", "private"), rows, bad=bad)),
        section(
            "Columns",
            figures(_bars(place, coding, quality) for place, coding in enumerate(shown)),
            note(f"and {left} columns more") if left else Markup(),
        ),
        section("Correlations", figures(_matrices(table, quality))),
    )


class Promised(Protocol):
    """A release with its charge and its unit of protection."""

    @property
    def loss(self) -> Loss:
        """The loss that was charged."""

    @property
    def unit(self) -> str:
        """The unit of protection."""

    @property
    def method(self) -> str:
        """The method that made it."""

    @property
    def receipt(self) -> str:
        """Where the charge is recorded."""


def promise(table: Promised, constraints: Sequence[Constraint] = ()) -> Markup:
    """Return the guarantee, for whom it holds and what was charged, for a page."""
    loss = table.loss
    delta = loss.delta or 1e-9
    epsilon = float(loss.pure) if loss.pure is not None else float(loss.to_approx(delta).epsilon)
    says = (
        joined(("at most e", tag("sup", f"{epsilon:.3g}"), f" = {math.exp(epsilon):.3g}"))
        if epsilon < 50
        else "no useful factor"
    )
    but = "" if loss.pure is not None else f", but for a chance of {float(delta):.1e}"
    rows = [
        ("loss", str(loss)),
        ("who is protected", table.unit),
        ("method", table.method),
        ("charge", table.receipt),
    ]
    if constraints:
        impossible = sum(isinstance(one, Impossible) for one in constraints)
        rows.append(("public facts preserved", f"{len(constraints)} ({impossible} impossible)"))
    words = paragraph(
        "Anyone who sees these rows, and knows all real rows but those of one of the protected, can change their "
        "mind about the latter by a factor of ",
        says,
        but,
        ". That holds regardless of what else they know, and for any number of rows drawn from what was released. It "
        "does not say that what is true of everybody stays hidden.",
    )
    return joined((table_of((), rows), words))


def _firsts(coding: Coding) -> list[int]:
    """Return the codes at which bars begin: neighbouring codes share a bar if there are many, and NULL has its own."""
    ranges = coding.size - int(coding.nullable and coding.edges is not None)
    return [*range(0, ranges, -(-ranges // _MOST_BARS)), *range(ranges, coding.size)]


def _shares(codes: NDArray[np.int64], place: int, coding: Coding) -> list[float]:
    counts = np.bincount(codes[:, place], minlength=coding.size).astype(np.float64)
    found: list[float] = (np.add.reduceat(counts, _firsts(coding)) / max(len(codes), 1)).tolist()
    return found


def _name(coding: Coding, code: int) -> str:
    """Return a code's meaning; for a range, where it begins."""
    if coding.labels is not None:
        return "NULL" if coding.labels[code] is None else str(coding.labels[code])
    edges = coding.edges or ()
    if code >= len(edges) - 1:
        return "NULL"
    return f"{edges[code]:.4g}" if isinstance(edges[code], float) else str(edges[code])


def _bars(place: int, coding: Coding, quality: Quality) -> Markup:
    series = [Bars("synthetic", _shares(quality.drawn, place, coding))]
    if quality.real is not None:
        series.append(Bars("real: NOT PRIVATE", _shares(quality.real, place, coding)))
    names = [_name(coding, code) for code in _firsts(coding)]
    chart = bar_chart(
        f"{coding.column} ({coding.size} values)",
        names,
        series,
        across=Axis(f"{coding.column}, from" if coding.edges or coding.size > _MOST_BARS else coding.column),
        up=Axis("share of rows", is_share=True),
        width=360,
        area=120,
    )
    return figure(chart.markup())


def _matrices(table: SyntheticTable, quality: Quality) -> Iterator[Markup]:
    names = [coding.column for coding in table.codings[:_MOST_PICTURES]]
    for codes, said in ((quality.drawn, "Synthetic rows"), (quality.real, "Real rows: NOT PRIVATE")):
        if codes is not None and len(codes) >= 2:
            columns, shown = Axis("column"), Axis("correlation")
            matrix = correlation_matrix(codes[:, : len(names)]).tolist()
            yield figure(
                heat_map(said, names, names, matrix, across=columns, up=columns, shown=shown, largest=1.0).markup()
            )
