"""Run the lines of the gallery on the home page, write what they print, and draw its pictures from the same run.

``python -m tools.gallery`` writes ``docs/index.md`` and ``docs/pictures/gallery-*.svg``, so that the numbers beside a
picture are those in it. The noise is fresh: no two runs write the same.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dither.pages.charts import Bars, Line, bar_chart, line_chart
from dither.pages.frame import Axis, Chart
from tools.examples import rewrite

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH = 560.0


def in_numbers(label: str, value: float, low: float, high: float) -> str:
    """Return a label with a number, and half of its interval."""
    return f"{label}: {value:,.0f} ± {(high - low) / 2:,.0f}"


def pictures(names: dict[str, Any]) -> Iterator[tuple[str, Chart]]:
    """Draw what the lines of the page computed."""
    visits = names["visits"]
    yield "sql", answered(names["answer"], visits.groupby("ward")["wait"].mean())
    yield "histogram", counted(names["ages"], visits["age"])
    limits = list(range(10, 100, 10))
    truth = [float((visits["age"] < limit).sum()) for limit in limits]
    lines = [Line("released", limits, names["younger"]), Line("truth", limits, truth, is_joined=False)]
    yield (
        "conversation",
        lined("Patients younger than an age", lines, ("age", "patients")).captioned(
            f"Nine of any number of questions, for epsilon = 1: {names['younger'][3]:,.0f} are younger than 40, "
            f"in truth {truth[3]:,.0f}."
        ),
    )
    yield "synthetic", synthetic(visits, names["drawn"])
    yield "model", fitted(names["model"])
    yield "stream", streamed(names["so_far"], names["arrived"])
    yield "graph", tailed(names["degrees"], names["edges"])


def lined(title: str, lines: list[Line], axes: tuple[str, str], *, is_log: bool = False) -> Chart:
    """Draw lines, all in one size."""
    across, up = (Axis(axis, is_log=is_log) for axis in axes)
    return line_chart(title, lines, across=across, up=up, width=WIDTH)


def answered(answer: Any, truth: Any) -> Chart:
    """Draw the mean waits of a query."""
    wards, waits = answer.column("ward"), answer.column("wait")
    ends = answer.interval("wait")
    found = list(zip(wards, waits, *zip(*ends, strict=True), strict=True))
    labels = [f"{ward}: {wait:.1f} ± {(high - low) / 2:.1f}" for ward, wait, low, high in found]
    bars = [Bars("released", waits, *zip(*ends, strict=True))]
    across, up = Axis("ward"), Axis("mean wait", "minutes")
    true = [truth[ward] for ward in wards]
    chart = bar_chart(
        "Mean wait by ward, with 95 % intervals", labels, bars, across=across, up=up, truth=true, width=WIDTH
    )
    return chart.captioned(f"3,000 visits, {answer.loss}; {answer.unit}.")


def counted(ages: Any, true: Any) -> Chart:
    """Draw a histogram with its numbers."""
    edges = [0, 20, 40, 60, 80, 100]
    counts, ends = ages.column("count"), ages.interval("count")
    labels = [
        in_numbers(f"{low}–{high - 1}", count, *interval)
        for low, high, count, interval in zip(edges, edges[1:], counts, ends, strict=False)
    ]
    bars = [Bars("released", counts, *zip(*ends, strict=True))]
    truth = np.histogram(true, edges)[0].tolist()
    across, up = Axis("age"), Axis("visits")
    chart = bar_chart(
        "Visits by age, with 95 % intervals", labels, bars, across=across, up=up, truth=truth, width=WIDTH
    )
    return chart.captioned(f"3,000 visits, {ages.loss}; {ages.unit}.")


def synthetic(visits: Any, drawn: Any) -> Chart:
    """Draw the share of a ward by age in the private rows and in synthetic ones."""
    lines, ages = [], []
    for name, frame in (("synthetic rows", drawn), ("private rows", visits)):
        by_age = frame.groupby(frame["age"] // 10 * 10)["ward"]
        shares = by_age.agg(lambda wards: float((wards == "heart").mean()))[by_age.size() >= 100]
        lines.append(Line(name, [float(age) + 5 for age in shares.index], shares.tolist()))
        ages.append(frame["age"][frame["ward"] == "heart"].mean())
    means = f"{ages[0]:.1f} in synthetic rows, {ages[1]:.1f} in private ones"
    words = f"epsilon = 1 for the table; mean age in the heart ward {means}."
    return lined("Share of visits to the heart ward, by age", lines, ("age", "share")).captioned(words)


def fitted(model: Any) -> Chart:
    """Draw what a model predicts, beside the line from which the data was generated."""
    ages = list(range(18, 90, 4))
    lines = [
        Line(ward, ages, model.predict([{"ward": ward, "age": age} for age in ages]).tolist())
        for ward in ("heart", "skin")
    ]
    lines.append(Line("truth", ages, [10 + age / 4 for age in ages], is_joined=False))
    low, high = (float(lines[0].y[place]) for place in (0, -1))
    words = f"epsilon = 2 for the fit; {low:.1f} minutes at 18 and {high:.1f} at 86, in truth 14.5 and 31.5."
    return lined("Predicted wait by age", lines, ("age", "wait (minutes)")).captioned(words)


def streamed(so_far: list[Any], arrived: Any) -> Chart:
    """Draw a year's running sum, as it was released every day."""
    days = list(range(1, len(so_far) + 1))
    truth = np.cumsum(arrived)
    lines = [Line("released every day", days, [float(one) for one in so_far]), Line("truth", days, truth.tolist())]
    words = f"epsilon = 1 for the year; {so_far[-1]:,} after {len(days)} days, in truth {truth[-1]:,}."
    return lined("Visits so far", lines, ("day", "visits so far")).captioned(words)


def tailed(released: Any, edges: Any) -> Chart:
    """Draw how many nodes have at least a degree."""
    degrees = [np.bincount(np.ravel(edges), minlength=300), np.asarray(released)]
    lines = []
    for name, found in zip(("the graph", "released"), degrees, strict=True):
        levels = np.unique(found[found > 0])
        lines.append(Line(name, levels.tolist(), [float((found >= level).sum()) for level in levels]))
    most = [int(max(found)) for found in reversed(degrees)]
    words = f"{len(edges):,} edges, epsilon = 1 for the degrees; the largest is {most[0]:,}, in truth {most[1]:,}."
    chart = lined("Nodes of at least a degree", lines, ("degree", "nodes"), is_log=True)
    return chart.captioned(words)


def main() -> int:
    """Write the page and its pictures."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DITHER_ANCHORS"] = folder
        raised = rewrite(DOCS / "index.md", fresh=True, names=names)
    for one in raised:
        print(f"raised: {one}")
    if not raised:
        for name, chart in pictures(names):
            chart.save(DOCS / "pictures" / f"gallery-{name}.svg")
            print(f"docs/pictures/gallery-{name}.svg: {chart.title}")
    return int(bool(raised))


if __name__ == "__main__":
    sys.exit(main())
