"""The report of the demonstration: one HTML file that needs nothing from outside."""

from __future__ import annotations

import html
import importlib
import json
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dither.cli.demo.table import AGE_GROUPS, Visits
from dither.errors import MissingExtra
from dither.mechanisms import Budget, Release

if TYPE_CHECKING:
    from dither.cli.demo.run import Answer

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ddd; padding: .5rem; text-align: left; vertical-align: top; }
.bar { background: #eee; height: 1.1rem; border-radius: .3rem; }
.bar div { background: #4c78a8; height: 100%; border-radius: .3rem; }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto; }
.note { color: #555; }
"""


def write(out: Path, visits: Visits, answers: list[Answer], budget: Budget) -> None:
    """Write the report to ``out``."""
    chart = next((answer.release for answer in answers if answer.release is not None), None)
    total, spent = budget.total.pure or 1, budget.spent.pure or 0
    rows = "".join(
        f"<tr><td>{html.escape(a.question)}</td><td><b>{html.escape(a.answer)}</b></td>"
        f"<td>{html.escape(a.certainty)}</td><td>{html.escape(a.truth)}</td><td>{html.escape(a.price)}</td></tr>"
        for a in answers
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>dither: a demonstration</title><style>{_STYLE}</style></head><body>
<h1>Private answers from {len(visits):,} generated visits</h1>
<p>Each answer was priced before the table was looked at, charged to one budget, and only then drawn. The truth is shown
here because the table is generated; a real report has no such column.</p>
<table>
<tr><th>question</th><th>private answer</th><th>with 95 % certainty</th><th>truth</th><th>price</th></tr>
{rows}</table>
<h2>Visits by age group, with 95 % intervals for all bars at once</h2>
{_picture(chart)}
<h2>What was spent</h2>
<div class="bar"><div style="width: {float(100 * spent / total):.1f}%"></div></div>
<p>{html.escape(str(budget))}.</p>
<h2>What that is worth</h2>
<p>Whoever sees all answers above, and knows every visit but one, can change their mind about that visit by a factor
of at most e<sup>{float(spent):g}</sup> = {math.exp(spent):.2f}: the odds of any guess about it grow by no more.
The noise is exact: no rounding of floats widens this bound.</p>
<h2>One release, as a program sees it</h2>
<pre>{html.escape(_wrapped(chart)) if chart is not None else ""}</pre>
<p class="note">Unledgered: this budget lived in one process. Nothing here concerns a real person.</p>
</body></html>
""",
        encoding="utf-8",
    )


def _wrapped(chart: Release[Any]) -> str:
    return "\n".join(textwrap.wrap(json.dumps(chart.to_dict()), 100))


def _picture(chart: Release[Any] | None) -> str:
    if chart is None:
        return ""
    try:
        drawing = chart.plot(AGE_GROUPS)
        svg: str = importlib.import_module("vl_convert").vegalite_to_svg(drawing.to_json())
    except (MissingExtra, ImportError):
        return '<p class="note">The picture needs the optional part "plots": pip install "dither[plots]".</p>'
    return svg
