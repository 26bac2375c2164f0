"""The report on a table: what it gives away, what it has lost, and how it is attacked; as a page or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dither.disguise.checkers import Presence
from dither.disguise.contract import WARNING, Disguised, find_disguise
from dither.disguise.measures import Guess, Risk
from dither.disguise.plain_risk import plain_risk
from dither.disguise.tradeoff import Point
from dither.disguise.uniques import PopulationUniques, Special
from dither.disguise.weighted import WeightedRisk
from dither.pages.charts import Bars, Line, bar_chart, line_chart
from dither.pages.frame import Axis
from dither.pages.markup import Markup
from dither.pages.page import alarm, bullets, code, figure, note, page, page_target, paragraph, section, table


@dataclass(frozen=True)
class Further:
    """What a report says besides: measured by whoever may look at more than this room.

    Args:
        parts: of the page.
        figures: the same as plain data.

    """

    parts: tuple[Markup, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __add__(self, other: Further) -> Further:
        return Further((*self.parts, *other.parts), {**self.figures, **other.figures})


#: A report that says nothing besides.
NOTHING: Final = Further()


def write_disguised(path: Path | str, made: Disguised, further: Further = NOTHING) -> Path:
    """Write the report on a disguised table to a .html or .json file, and return its path."""
    target = page_target(path)
    if target.suffix.lower() == ".json":
        text = json.dumps({**made.to_dict(), **further.figures}, indent=2)
    else:
        text = disguised_page(made, further)
    target.write_text(text, encoding="utf-8")
    return target


def write_risk(path: Path | str, risk: Risk, further: Further = NOTHING, *, known: Sequence[str] = ()) -> Path:
    """Write what a table gives away to a .html or .json file, and return its path.

    Args:
        path: of the file.
        risk: as it was measured.
        further: what else the report has.
        known: the columns that an attacker knows of people.

    """
    target = page_target(path)
    if target.suffix.lower() == ".json":
        text = json.dumps({"warning": WARNING, "risk": risk.to_dict(), **further.figures}, indent=2)
    else:
        plain = section("In short", bullets(plain_risk(risk, known)))
        text = page("Disclosure risk", alarm(WARNING), plain, *_risk("What the table gives away", risk), *further.parts)
    target.write_text(text, encoding="utf-8")
    return target


def disguised_page(made: Disguised, further: Further = NOTHING) -> str:
    """Return the text of the page on a disguised table."""
    kind = find_disguise(made.disguise)
    blur = made.blur
    lost = [
        ("rows suppressed", f"{blur.suppressed:,}"),
        (
            "normalised certainty penalty (0: nothing lost, 1: everything)",
            "" if blur.ncp is None else f"{blur.ncp:.4f}",
        ),
        ("bits of a cell that its label leaves open, on average", "" if blur.bits is None else f"{blur.bits:.3f}"),
        ("discernibility", f"{blur.discernibility:,}"),
        ("average class size, as a multiple of k", "" if blur.class_size is None else f"{blur.class_size:.2f}"),
    ]
    attacks = section(
        "How tables like this are attacked",
        paragraph("Each of these is shown on generated data, beside a differentially private release of the same:"),
        bullets(code(f"dither attack {name}") for name in kind.attacks),
    )
    return page(
        f"Disguise: {made.disguise}",
        alarm(made.warning),
        section("In short", bullets(plain_risk(made.risk))),
        section("What was done", bullets(made.done), note(f"Source: {kind.source}.")),
        *_risk("What the disguised table still gives away", made.risk, made.before),
        section("What was lost", table((), lost)),
        *further.parts,
        attacks,
    )


def risk_rows(risk: Risk) -> list[tuple[str, str]]:
    """Return the figures of a risk in words."""
    register = "" if risk.journalist is None else f"{risk.journalist:.2%}"
    return [
        ("rows", f"{risk.rows:,}"),
        ("classes of rows that look alike", f"{risk.classes:,}"),
        ("smallest class (k)", f"{risk.smallest:,}"),
        ("average class", f"{risk.average:,.2f}"),
        ("largest class", f"{risk.largest:,}"),
        ("rows that no other row looks like", f"{risk.uniques:,}"),
        ("prosecutor risk: the target is in the table", f"{risk.prosecutor:.2%}"),
        *([("journalist risk: by a register", register)] if register else []),
        ("marketer risk: rows found again on average", f"{risk.marketer:.2%}"),
    ]


def guess_words(one: Guess) -> str:
    """Return in a sentence what an attacker learns of a sensitive column."""
    return (
        f"{one.column}: anyone who knows everybody's class guesses {one.right:.1%} right, without the table "
        f"{one.blind:.1%}; {one.certain:.1%} of the rows are certain, and a value is up to {one.gain:.1f} times as "
        f"frequent in a class. {one.distinct}-diverse (entropy {one.entropy:.2f}), {one.closeness:.3f}-close by the "
        "equal distance."
    )


def _risk(title: str, risk: Risk, before: Risk | None = None) -> tuple[Markup, ...]:
    rows: list[tuple[str, ...]] = list(risk_rows(risk))
    headings = ["", "now"]
    if before is not None:
        rows = [(*now, was[1]) for now, was in zip(rows, risk_rows(before), strict=True)]
        headings.append("before")
    parts: list[Markup] = [table(headings, rows)]
    if risk.by_size:
        labels = [f"{size}" if size == 1 else f"{size}-{2 * size - 1}" for size, _ in risk.by_size]
        bars = [Bars("rows", tuple(float(count) for _, count in risk.by_size))]
        chart = bar_chart("Rows by the size of their class", labels, bars, across=Axis("class size"), up=Axis("rows"))
        parts.append(figure(chart.markup()))
    made = [section(title, *parts)]
    if risk.guesses:
        made.append(section("What is learned of sensitive values", bullets(map(guess_words, risk.guesses))))
    return tuple(made)


def uniques_told(special: Special, population: PopulationUniques | None, household: float | None) -> Further:
    """Return what a report says of rows that stand alone."""
    rows = [
        (f"rows alone by {size} of the columns, and by no fewer of these", f"{count:,}")
        for size, count in enumerate(special.rows, 1)
    ]
    rows.append(("rows alone by so few columns at all", f"{special.any_row:,}"))
    rows.append(("highest SUDA score", f"{special.scores.max(initial=0):,.0f}"))
    figures: dict[str, Any] = {"special_uniques": special.to_dict()}
    if population is not None:
        whole = f"of {population.population:,} people, alone in the population"
        rows += [(f"{whole} (Zayatz)", f"{population.zayatz:,.0f}"), (f"{whole} (Pitman)", f"{population.pitman:,.0f}")]
        if population.dis is not None:
            rows.append(("who fits a row alone in the table is its person (DIS)", f"{population.dis:.2%}"))
        figures["population_uniques"] = population.to_dict()
    if household is not None:
        rows.append(("household risk: anybody of the household is found", f"{household:.2%}"))
        figures["household"] = household
    words = (
        "The fewer columns set a row apart, the easier it is found. Numbers of a population are estimates by models."
    )
    return Further((section("Unique rows", table((), rows), note(words)),), figures)


def odd_told(sentences: Sequence[str]) -> Further:
    """Return what a report says of how a table was read, and of columns that may not be what they seem."""
    parts = (section("How the table was read", bullets(sentences)),) if sentences else ()
    return Further(parts, {"read": list(sentences)})


def presence_told(found: Presence) -> Further:
    """Return what a report says of who is in the table at all."""
    rows = [
        ("k-map: people of the population that look like a row, at least", f"{found.k:,}"),
        (
            "delta-presence: the share of a class of the population that is in the table",
            f"{found.least:.1%} to {found.most:.1%}",
        ),
    ]
    figures = {"presence": {"k": found.k, "least": found.least, "most": found.most}}
    return Further((section("Who is in the table", table((), rows)),), figures)


def weights_told(found: WeightedRisk) -> Further:
    """Return what a report says of a sample with weights."""
    rows = [
        ("people that the rows represent", f"{found.population:,.0f}"),
        ("rows alone in the population, expected", f"{found.alone:,.1f}"),
        ("rows found again, expected", f"{found.found:,.1f}"),
        ("highest probability of a row to be found", f"{found.highest:.2%}"),
    ]
    words = "By the weights of the rows and the model of Benedetti and Franconi; estimates, no bounds."
    return Further((section("By sampling weights", table((), rows), note(words)),), {"weights": found.to_dict()})


def map_told(points: Sequence[Point]) -> Further:
    """Return the R-U map over one rule: a table and a picture."""
    rule = points[0].rule
    rows = [
        (f"{one.value:g}", f"{one.ncp:.4f}", f"{one.marketer:.2%}", "" if one.right is None else f"{one.right:.1%}")
        for one in points
    ]
    ordered = sorted(points, key=lambda one: one.ncp)
    lost = [one.ncp for one in ordered]
    lines = [Line("rows found again", lost, [one.marketer for one in ordered])]
    if all(one.right is not None for one in points):
        lines.append(Line("values guessed right", lost, [one.right for one in ordered]))
    chart = line_chart("Risk against loss", lines, across=Axis("certainty penalty"), up=Axis("share"))
    part = section(
        f"Other values of {rule}",
        table((rule, "certainty penalty", "rows found again on average", "values guessed right"), rows),
        figure(chart.markup(), f"Each point is a value of {rule}; those that lose more are on the right."),
    )
    return Further((part,), {"map": [one.to_dict() for one in points]})
