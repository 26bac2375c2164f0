"""The page of an attack: one self-contained HTML file with pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dither.attack.outcome import Outcome
from dither.attack.registry import find_attack
from dither.pages.charts import Bars, Limit, Line, bar_chart, line_chart
from dither.pages.frame import Axis, Chart
from dither.pages.markup import Markup
from dither.pages.page import figure, figures, note, page_target, paragraph, section, table
from dither.pages.page import page as whole_page

_MOST_PLACES: Final = 400


def write_page(path: Path | str, outcomes: Sequence[Outcome]) -> Path:
    """Write the results of attacks, with pictures, to a file ending in .html, and return its path."""
    target = page_target(path, option="out", endings=(".html", ".htm"))
    target.write_text(page(outcomes), encoding="utf-8")
    return target


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the text of the page."""
    title = f"Attack: {outcomes[0].attack}" if len(outcomes) == 1 else "Attacks"
    about = note("On generated data, without any real person. Blue: without protection. Orange: with dither's.")
    return whole_page(title, about, *(_section(one) for one in outcomes))


def _section(one: Outcome) -> Markup:
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
    drawn = [figure(_shares(one).markup()), *([figure(_curves(one).markup())] if one.curves else [])]
    return section(
        one.attack,
        paragraph(attack.summary),
        paragraph(one.words),
        figures(drawn),
        table((), rows),
        note(f"Source: {attack.source}."),
    )


def _shares(one: Outcome) -> Chart:
    """Return the shares recovered without protection, with it and by chance, each in its own colour."""
    shares = (one.unprotected, one.protected, one.chance)
    labels = [f"{name}: {share:.1%}" for name, share in zip(("without", "with", "chance"), shares, strict=True)]
    return bar_chart(
        _capital(one.measure),
        labels,
        [Bars("right", shares)],
        across=Axis("protection"),
        up=Axis("right guesses", is_share=True),
        limit=None if one.ceiling is None else Limit("proved ceiling", one.ceiling),
        is_coloured=True,
        largest=1.0,
        width=360,
    )


def _curves(one: Outcome) -> Chart:
    xs = [x for curve in one.curves for x in curve.x]
    # Numbers of repeats and the like span decades, and are drawn so.
    is_wide = min(xs) > 0 and max(xs) / min(xs) >= 50
    lines = [
        Line(curve.name, curve.x, curve.y)
        if curve.joined
        else Line(curve.name, curve.x[:_MOST_PLACES], curve.y[:_MOST_PLACES], is_joined=False)
        for curve in one.curves
    ]
    across, up = one.axes
    return line_chart(_capital(f"{up}, over {across}"), lines, across=Axis(across, is_log=is_wide), up=Axis(up))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
