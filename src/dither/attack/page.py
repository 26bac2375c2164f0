"""The page of an attack: one HTML file with pictures that needs nothing from outside."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dither.attack.outcome import Curve, Outcome
from dither.attack.registry import find_attack
from dither.errors import InvalidParameter

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 3rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.4rem; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid #ddd; padding: .3rem .7rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } .note { color: #555; }
.columns { display: flex; flex-wrap: wrap; gap: 2rem; } figure { margin: 1rem 0; max-width: 27rem; }
figcaption { font-size: .85rem; color: #444; } svg text { font: 11px system-ui, sans-serif; fill: #333; }
"""
_OPEN, _SAFE, _REST = "#f58518", "#4c78a8", "#999999"
_COLOURS: Final = (_OPEN, _SAFE, _REST)
_WIDE, _HIGH, _LEFT, _LOW = 420, 240, 52, 36
_MOST_PLACES: Final = 400


def write_page(path: Path | str, outcomes: Sequence[Outcome]) -> Path:
    """Write what attacks recovered, with pictures, to a file ending in .html, and return its path."""
    target = Path(path)
    if target.suffix.lower() not in {".html", ".htm"}:
        raise InvalidParameter("out", str(path), "a file ending in .html")
    target.write_text(page(outcomes), encoding="utf-8")
    return target


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the text of the page."""
    title = f"Attack: {outcomes[0].attack}" if len(outcomes) == 1 else "Attacks"
    parts = "\n".join(_section(one) for one in outcomes)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p class="note">On generated data: no real person is in it. Orange: without protection. Blue: with dither's.</p>
{parts}
</body></html>
"""


def _section(one: Outcome) -> str:
    attack = find_attack(one.attack)
    rows = [
        ("without protection", f"{one.unprotected:.1%}"),
        ("with protection", f"{one.protected:.1%}"),
        ("by chance", f"{one.chance:.1%}"),
        ("proved ceiling", "none is stated" if one.ceiling is None else f"{one.ceiling:.1%}"),
        ("guesses", f"{one.n:,}"),
        ("loss", one.loss),
        *((name, f"{value:.4g}") for name, value in one.figures),
    ]
    table = "".join(
        f'<tr><td>{html.escape(name)}</td><td class="number">{html.escape(value)}</td></tr>' for name, value in rows
    )
    drawn = _curves(one) if one.curves else ""
    return f"""<h2>{html.escape(one.attack)}</h2>
<p>{html.escape(attack.summary)}</p><p>{html.escape(one.words)}</p>
<div class="columns">{_bars(one)}{drawn}</div>
<table>{table}</table>
<p class="note">Source: {html.escape(attack.source)}.</p>"""


def _bars(one: Outcome) -> str:
    bars = [("without", one.unprotected, _OPEN), ("with", one.protected, _SAFE), ("chance", one.chance, _REST)]
    drawn = []
    for place, (name, share, colour) in enumerate(bars):
        left, high = _LEFT + place * 70, 180 * share
        drawn.append(
            f'<rect x="{left}" y="{200 - high:.1f}" width="50" height="{high:.1f}" fill="{colour}"/>'
            f'<text x="{left + 25}" y="{194 - high:.1f}" text-anchor="middle">{share:.1%}</text>'
            f'<text x="{left + 25}" y="216" text-anchor="middle">{name}</text>'
        )
    note = "" if one.ceiling is None else "; dashed: the proved ceiling"
    if one.ceiling is not None:
        high = 200 - 180 * one.ceiling
        drawn.append(
            f'<line x1="{_LEFT - 6}" x2="{_LEFT + 196}" y1="{high:.1f}" y2="{high:.1f}" stroke="#b00020" '
            f'stroke-dasharray="4 3"><title>proved ceiling {one.ceiling:.1%}</title></line>'
        )
    return (
        f'<figure><svg width="{_LEFT + 220}" height="{_HIGH}" role="img">{"".join(drawn)}</svg>'
        f"<figcaption>{html.escape(one.measure)}{note}</figcaption></figure>"
    )


def _curves(one: Outcome) -> str:
    xs = [x for curve in one.curves for x in curve.x]
    ys = [y for curve in one.curves for y in curve.y]
    # Numbers of repeats and the like span decades, and are drawn so.
    is_wide = min(xs) > 0 and max(xs) / min(xs) >= 50
    horizontal, vertical = _Scale(xs, _LEFT, _WIDE - 12, is_wide), _Scale([0.0, *ys], _HIGH - _LOW, 14, False)
    drawn = [
        f'<path d="M{_LEFT} 10V{_HIGH - _LOW}H{_WIDE}" fill="none" stroke="#888"/>',
        *(_mark(horizontal(x), _HIGH - _LOW + 14, "middle", x) for x in horizontal.ends),
        *(_mark(_LEFT - 5, vertical(y) + 4, "end", y) for y in vertical.ends),
    ]
    for curve, colour in zip(one.curves, _COLOURS, strict=False):
        drawn.append(_line(curve, colour, horizontal, vertical))
    legend = " · ".join(
        f'<span style="color:{colour}">{html.escape(curve.name)}</span>'
        for curve, colour in zip(one.curves, _COLOURS, strict=False)
    )
    across, up = map(html.escape, one.axes)
    return (
        f'<figure><svg width="{_WIDE + 10}" height="{_HIGH}" role="img">{"".join(drawn)}</svg>'
        f"<figcaption>{up}, over {across}{' (logarithmic)' if is_wide else ''}<br>{legend}</figcaption></figure>"
    )


class _Scale:
    """Takes numbers to places in the picture."""

    def __init__(self, values: Sequence[float], first: float, last: float, is_wide: bool) -> None:
        self.ends = (min(values), max(values))
        self._is_wide = is_wide
        low, high = map(self._bent, self.ends)
        self._low, self._first = low, first
        self._step = (last - first) / (high - low) if high > low else 0.0

    def _bent(self, value: float) -> float:
        return math.log(value) if self._is_wide else value

    def __call__(self, value: float) -> float:
        return self._first + (self._bent(value) - self._low) * self._step


def _mark(x: float, y: float, anchor: str, value: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{value:.3g}</text>'


def _line(curve: Curve, colour: str, horizontal: _Scale, vertical: _Scale) -> str:
    places = [(horizontal(x), vertical(y)) for x, y in zip(curve.x, curve.y, strict=True)]
    if curve.joined:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    dots = places[:_MOST_PLACES]
    return "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{colour}" fill-opacity="0.6"/>' for x, y in dots)
