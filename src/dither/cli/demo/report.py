"""The report of the demonstration: one HTML file that needs nothing from outside."""

from __future__ import annotations

import html
import importlib
import math
from pathlib import Path
from typing import Any

from dither.cli.demo.tour import Step, Tour
from dither.errors import MissingExtra
from dither.publish.queries import QueryResult

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 3rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; }
td, th { border-bottom: 1px solid #ddd; padding: .35rem .8rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td .interval, td .truth { color: #777; font-size: .85em; }
.bar { background: #eee; height: 1.1rem; border-radius: .3rem; }
.bar div { background: #4c78a8; height: 100%; border-radius: .3rem; }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto; white-space: pre-wrap; }
.note { color: #555; }
"""


def write(out: Path, tour: Tour) -> None:
    """Write the report to ``out``."""
    balance = tour.balance
    spent, total = balance.spent.pure or 0, balance.budget.pure or 1
    sections = "\n".join(_section(step) for step in tour.steps)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>dither: a demonstration</title><style>{_STYLE}</style></head><body>
<h1>Private answers from {tour.visits:,} generated visits</h1>
<p>Each query was priced before the table was opened, debited to a durable ledger, and only then drawn. Every number has
a 95 % interval. The truth is shown beside it because the table is generated; a real report has no such figures.</p>
<h2>What one query costs, before it is asked</h2>
<pre>{html.escape(str(tour.quote))}</pre>
{sections}
<h2>Visits by ward, with 95 % intervals</h2>
{_picture(tour.steps[0].result)}
<h2>What was spent</h2>
<div class="bar"><div style="width: {float(100 * spent / total):.1f}%"></div></div>
<p>{html.escape(str(balance.spent))} of {html.escape(str(balance.budget))}, for {html.escape(balance.unit)}, in
{balance.releases} releases. The ledger has {tour.verification.entries} entries and is
{"intact" if tour.verification.is_intact else "not intact"}; its head is {tour.verification.head[:16]}.</p>
<h2>What that is worth</h2>
<p>Whoever sees all answers above, and knows all visits but those of one patient, can change their mind about that
patient by a factor of at most e<sup>{float(spent):g}</sup> = {math.exp(spent):.2f}, but for a chance of
{float(balance.spent.delta):.1e}. The noise is exact: no rounding of floats widens this bound.</p>
<p class="note">Nothing here concerns a real person.</p>
</body></html>
""",
        encoding="utf-8",
    )


def _section(step: Step) -> str:
    result = step.result
    head = "".join(f"<th>{html.escape(column.name)}</th>" for column in result.columns)
    keys = [column.name for column in result.columns if column.is_key]
    truths = {tuple(row[key] for key in keys): row for row in step.truth}
    body = "".join(
        f"<tr>{_row(result, number, truths.get(tuple(values[result.names.index(key)] for key in keys), {}))}</tr>"
        for number, values in enumerate(result.rows)
    )
    estimands = "".join(
        f"<br>{html.escape(column.name)}: {html.escape(column.estimand)}"
        for column in result.columns
        if column.estimand
    )
    return (
        f"<h2>{html.escape(step.question.words)}</h2><pre>{html.escape(step.question.command)}</pre>"
        f"<table><tr>{head}</tr>{body}</table>"
        f'<p class="note">cost {html.escape(str(result.loss))}{estimands}</p>'
    )


def _row(result: QueryResult, number: int, truth: dict[str, Any]) -> str:
    cells = []
    for place, column in enumerate(result.columns):
        value, low, high = result.rows[number][place], result.low[number][place], result.high[number][place]
        if column.is_key or low is None:
            cells.append(f"<td>{html.escape(str(value))}</td>")
            continue
        cells.append(
            f'<td class="number"><b>{_short(value)}</b> <span class="interval">{_short(low)} to {_short(high)}</span> '
            f'<span class="truth">(truth {_short(truth.get(column.name))})</span></td>'
        )
    return "".join(cells)


def _short(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _picture(result: QueryResult) -> str:
    try:
        chart = result.plot("visits")
        svg: str = importlib.import_module("vl_convert").vegalite_to_svg(chart.to_json())
    except (MissingExtra, ImportError):
        return '<p class="note">The picture needs the optional part "plots": pip install "dither[plots]".</p>'
    return svg
