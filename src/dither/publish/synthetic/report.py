"""The report on a synthetic table: one HTML file that needs nothing from outside, or JSON."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.privacy import Loss
from dither.publish.synthetic.columns import Coding
from dither.publish.synthetic.constraints import Constraint, Impossible
from dither.publish.synthetic.quality import Quality, correlation_matrix
from dither.publish.synthetic.result import SyntheticTable

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 3rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid #ddd; padding: .3rem .7rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.warning { background: #b00020; color: white; padding: 1rem; border-radius: .3rem; font-weight: 600; }
tr.unsafe td { background: #fdecee; } .note { color: #555; } .columns { display: flex; flex-wrap: wrap; gap: 1.5rem; }
figure { margin: 0; } figcaption { font-size: .85rem; color: #444; } svg text { font: 10px system-ui, sans-serif; }
"""
_DRAWN, _REAL = "#4c78a8", "#f58518"
_MOST_BARS = 24
_MOST_PICTURES = 30


def write_report(path: Path | str, table: SyntheticTable, quality: Quality) -> Path:
    """Write the report as .html or .json, and return its path."""
    target = Path(path)
    if target.suffix.lower() == ".json":
        record = {**facts(table), **quality.to_dict()}
        target.write_text(json.dumps(record, indent=2), encoding="utf-8")
    elif target.suffix.lower() == ".html":
        target.write_text(_page(table, quality), encoding="utf-8")
    else:
        raise InvalidParameter("report", str(path), "a file ending in .html or .json")
    return target


def facts(table: SyntheticTable) -> dict[str, Any]:
    """Return what a data-protection officer asks first."""
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
    rows = "\n".join(
        f"<tr{'' if one.is_private else ' class=unsafe'}><td>{html.escape(one.name)}</td>"
        f'<td class="number">{"" if one.value is None else f"{one.value:.4g}"}</td>'
        f"<td>{html.escape(one.meaning)}</td><td>{'yes' if one.is_private else 'NO'}</td></tr>"
        for one in quality.figures
    )
    warning = (
        '<p class="warning">NOT PRIVATE. Figures marked NO, and all orange bars, were read off the real rows without '
        "noise. Do not publish this page; it is for the curator who holds the rows.</p>"
        if quality.compares_real
        else '<p class="note">Everything here was computed from the released model alone: it may be published.</p>'
    )
    shown = table.codings[:_MOST_PICTURES]
    left = len(table.codings) - len(shown)
    more = f'<p class="note">and {left} columns more</p>' if left else ""
    pictures = "\n".join(_bars(place, coding, quality) for place, coding in enumerate(shown))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Synthetic {html.escape(table.table)}</title>
<style>{STYLE}</style></head><body>
<h1>Synthetic rows of {html.escape(table.table)}</h1>
{warning}
<h2>What is promised</h2>
{promise(table, table.constraints)}
<h2>Figures</h2>
<table><tr><th>figure</th><th>value</th><th>meaning</th><th>private</th></tr>
{rows}</table>
<h2>Columns</h2>
<p class="note">Blue: synthetic rows.{" Orange: real rows." if quality.compares_real else ""}</p>
<div class="columns">{pictures}</div>{more}
<h2>Correlations</h2>
<div class="columns">{_matrices(quality)}</div>
</body></html>
"""


class Promised(Protocol):
    """What was released, at what charge, to the protection of whom."""

    @property
    def loss(self) -> Loss:
        """What it cost."""

    @property
    def unit(self) -> str:
        """Whom it protects."""

    @property
    def method(self) -> str:
        """By which it was made."""

    @property
    def receipt(self) -> str:
        """Where the charge is written down."""


def promise(table: Promised, constraints: Sequence[Constraint] = ()) -> str:
    """Return what is promised, to whom and at what charge, as HTML."""
    loss = table.loss
    figures = [f"<tr><td>loss</td><td>{html.escape(str(loss))}</td></tr>"]
    delta = loss.delta or 1e-9
    epsilon = float(loss.pure) if loss.pure is not None else float(loss.to_approx(delta).epsilon)
    says = f"at most e<sup>{epsilon:.3g}</sup> = {math.exp(epsilon):.3g}" if epsilon < 50 else "no useful factor"
    but = "" if loss.pure is not None else f", but for a chance of {float(delta):.1e}"
    impossible = sum(isinstance(one, Impossible) for one in constraints)
    figures.append(f"<tr><td>who is protected</td><td>{html.escape(table.unit)}</td></tr>")
    figures.append(f"<tr><td>method</td><td>{html.escape(table.method)}</td></tr>")
    figures.append(f"<tr><td>charge</td><td>{html.escape(table.receipt)}</td></tr>")
    if constraints:
        figures.append(f"<tr><td>public facts kept</td><td>{len(constraints)} ({impossible} impossible)</td></tr>")
    return (
        f"<table>{''.join(figures)}</table>"
        f"<p>Whoever sees these rows, and knows all real rows but those of one of the protected, can change their mind "
        f"about the latter by a factor of {says}{but}. That holds whatever else they know, and for any number of rows "
        f"drawn from what was released. It does not say that what is true of everybody stays hidden.</p>"
    )


def _shares(codes: NDArray[np.int64], place: int, size: int) -> NDArray[np.float64]:
    counts = np.bincount(codes[:, place], minlength=size).astype(np.float64)
    # Many codes are drawn as fewer bars of neighbouring ones.
    if size > _MOST_BARS:
        edges = np.linspace(0, size, _MOST_BARS + 1).astype(np.int64)[:-1]
        counts = np.add.reduceat(counts, edges)
    return counts / max(len(codes), 1)


def _bars(place: int, coding: Coding, quality: Quality) -> str:
    laws = [(_shares(quality.drawn, place, coding.size), _DRAWN)]
    if quality.real is not None:
        laws.append((_shares(quality.real, place, coding.size), _REAL))
    top = max(max(float(law.max()) for law, _ in laws), 1e-12)
    bars, wide = [], 240 / len(laws[0][0])
    for number, (law, colour) in enumerate(laws):
        for cell, share in enumerate(law.tolist()):
            high = 90 * share / top
            left = cell * wide + number * wide * 0.45
            box = f'x="{left:.1f}" y="{95 - high:.1f}" width="{wide * 0.42:.1f}" height="{high:.1f}"'
            bars.append(f'<rect {box} fill="{colour}"><title>{share:.3%}</title></rect>')
    return (
        f'<figure><svg width="240" height="96" role="img">{"".join(bars)}</svg>'
        f"<figcaption>{html.escape(coding.column)} ({coding.size} values)</figcaption></figure>"
    )


def _matrices(quality: Quality) -> str:
    found = []
    for codes, said in ((quality.drawn, "synthetic"), (quality.real, "real: NOT PRIVATE")):
        if codes is None or len(codes) < 2:
            continue
        matrix = correlation_matrix(codes)
        side = max(4, 240 // len(matrix))
        cells = "".join(
            f'<rect x="{column * side}" y="{row * side}" width="{side}" height="{side}" fill="{_colour(value)}"/>'
            for row, values in enumerate(matrix.tolist())
            for column, value in enumerate(values)
        )
        size = side * len(matrix)
        picture = f'<svg width="{size}" height="{size}" role="img">{cells}</svg>'
        found.append(f"<figure>{picture}<figcaption>{said}</figcaption></figure>")
    return "".join(found)


def _colour(value: float) -> str:
    strength = round(255 * (1 - min(abs(value), 1)))
    return f"rgb(255,{strength},{strength})" if value < 0 else f"rgb({strength},{strength},255)"
