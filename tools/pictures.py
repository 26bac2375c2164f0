"""Make the pictures of the documentation anew, ``docs/pictures/*.svg``, with the package's own pen.

``python tools/pictures.py`` writes them. The tables are generated, and the noise is fresh: no two runs draw the same
heights. Pictures of the tutorial are drawn from what the lines of ``docs/tutorial.md`` themselves computed.
"""

from __future__ import annotations

import doctest
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dither
from dither.pages.charts import Bars, Line, bar_chart, line_chart
from dither.pages.frame import Axis, Chart
from tools import map_pictures, place_pictures, question_pictures, report_pictures, stream_pictures

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURES = DOCS / "pictures"
PEOPLE = 2000
LIMITS = tuple(range(1, 13))
SOME_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
EPSILONS = tuple(float(f"{10 ** (place / 6):.3g}") for place in range(-12, 7))


def tutorial() -> Iterator[tuple[str, Chart]]:
    """Run the lines of the tutorial, and draw what they computed."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        if example.exc_msg is None:
            exec(compile(example.source, "docs/tutorial.md", "exec"), names)  # noqa: S102 - our own page
    answer, ages = names["answer"], names["ages"]
    true = names["visits"].groupby("ward")["waited"].mean()
    yield "quote", names["quote"].picture("visits")
    yield "answer", answer.picture("waited", title="Mean wait by ward, with 95 % intervals", unit="minutes")
    yield "histogram", ages.picture(title="Patients' visits by age, with 95 % intervals")
    yield "spending", names["session"].card().spending()
    facts = f"{len(names['visits']):,} generated visits; {answer.loss}; {answer.unit}"
    yield "readme", in_numbers(answer, true).captioned(f"{facts}. Generated data, so that the truth is known.")


def in_numbers(answer: Any, true: Any) -> Chart:
    """Draw the mean waits of an answer, with the numbers below the bars."""
    wards, means = answer.column("ward"), answer.column("waited")
    low, high = zip(*answer.interval("waited"), strict=True)
    labels = [
        f"{ward}: {mean:.0f} ± {(b - a) / 2:.0f}" for ward, mean, a, b in zip(wards, means, low, high, strict=True)
    ]
    across, up = Axis("ward: released mean and 95 % interval"), Axis("mean wait", "minutes")
    bars = [Bars("released", means, low, high)]
    title = "Mean wait in each ward, from a private query"
    return bar_chart(title, labels, bars, across=across, up=up, truth=[true[one] for one in wards], width=600)


def limits() -> Iterator[tuple[str, Chart]]:
    """Draw what a limit of rows leaves out, and what noise it costs."""
    left_out, noise = measured_limits()
    both = [out + off for out, off in zip(left_out, noise, strict=True)]
    lines = [
        Line("left out by the limit", LIMITS, left_out),
        Line("noise, at most, 95 times of 100", LIMITS, noise),
        Line("both together", LIMITS, both),
    ]
    across, up = Axis("limit", "rows of one person that count"), Axis("a count is off by", "rows")
    chart = line_chart("What a limit of rows costs and what it leaves out", lines, across=across, up=up, width=560)
    yield (
        "limits",
        chart.captioned(f"{PEOPLE:,} generated people, most with one or two rows, five with twenty; epsilon = 0.1."),
    )


def measured_limits() -> tuple[list[float], list[float]]:
    """Return for each limit the rows it leaves out of a generated table, and the error that a quote states."""
    import pandas

    dice = np.random.default_rng(11)
    rows = 1 + np.floor(dice.exponential(1.2, PEOPLE)).astype(int)
    rows[:5] = 20
    frame = pandas.DataFrame({"person": np.repeat(np.arange(rows.size), rows)})
    left_out, noise = [], []
    for limit in LIMITS:
        left_out.append(float(np.maximum(rows - limit, 0).sum()))
        with dither.private(frame, budget=1, person="person", rows=limit, groups=1) as session:
            noise.append(session.quote("SELECT COUNT(*) AS n FROM data", epsilon="0.1").columns[0].error)
    return left_out, noise


def epsilons() -> Iterator[tuple[str, Chart]]:
    """Draw how far a count is off for each epsilon."""
    lines = []
    for rows in (1, 4, 20):
        errors = [count_error(epsilon, rows) for epsilon in EPSILONS]
        lines.append(Line(f"{rows} {'row' if rows == 1 else 'rows'} a person", EPSILONS, errors))
    across, up = Axis("epsilon", is_log=True), Axis("a count is off by", "rows", is_log=True)
    chart = line_chart("How far a count is off at most, 95 times of 100", lines, across=across, up=up, width=560)
    yield "epsilon", chart.captioned("From quotes, with the data closed: the error does not depend on the table.")


def count_error(epsilon: float, rows: int) -> float:
    """Return the error that a quote states for a count."""
    import pandas

    with dither.private(pandas.DataFrame({"person": [1]}), budget=100, person="person", rows=rows, groups=1) as session:
        return session.quote("SELECT COUNT(*) AS n FROM data", epsilon=epsilon).columns[0].error


def graphs() -> Iterator[tuple[str, Chart]]:
    """Draw the degrees of a generated graph, as they are and as they are released, and errors by method."""
    from dither.privacy import PureDP
    from dither.publish.graphs import DegreeTail, LadderCount, LaplaceCount, SmoothCount

    edges, nodes = grown_graph()
    degrees = np.sort(np.bincount(edges.ravel(), minlength=nodes))
    lines = [Line("the graph", *_more_than(degrees))]
    for said in ("1", "0.1"):
        out = released(DegreeTail.calibrated(PureDP(said), nodes=nodes), edges)
        lines.append(Line(f"released at epsilon {said}", *_more_than(out)))
    across, up = Axis("degree", is_log=True), Axis("nodes of at least this degree", is_log=True)
    chart = line_chart("How many nodes have at least a degree", lines, across=across, up=up, width=560)
    facts = f"A generated graph of {nodes:,} nodes and {len(edges):,} edges; edges added or removed."
    yield "degrees", chart.captioned(facts)

    true = released(LaplaceCount.calibrated(PureDP(10**6), nodes=nodes, pattern="triangles"), edges)
    found = []
    for name, kind in (("noise for the worst graph", LaplaceCount), ("smooth", SmoothCount), ("ladder", LadderCount)):
        errors = []
        for epsilon in SOME_EPSILONS:
            method = kind.calibrated(PureDP(epsilon), nodes=nodes, pattern="triangles")
            off = [abs(released(method, edges) - true) for _ in range(31)]
            errors.append(max(float(np.median(off)), 0.5))
        found.append(Line(name, SOME_EPSILONS, errors))
    across, up = Axis("epsilon", is_log=True), Axis("triangles are off by", is_log=True)
    chart = line_chart("The median error of a count of triangles", found, across=across, up=up, width=560)
    yield "triangles", chart.captioned(f"{facts} It has {true:,} triangles.")


def counters() -> Iterator[tuple[str, Chart]]:
    """Draw how errors of running sums grow with the number of ticks."""
    from dither.mechanisms import BufferedCounter, DecayedCounter, SplitCounter, TreeCounter
    from dither.privacy import ZCDP, PureDP

    lengths = [2**power for power in range(4, 19, 2)]
    pure: dict[str, Any] = {"within": PureDP(1), "sensitivity": 1}
    rho: dict[str, Any] = {"within": ZCDP("1/2"), "sensitivity": 1}
    errors: dict[str, list[float]] = {
        "epsilon split among ticks": [SplitCounter.calibrated(**pure, steps=t).standard_error(t - 1) for t in lengths],
        "noise on every tick": [
            TreeCounter.calibrated(**pure, steps=t, bases=()).largest_standard_error for t in lengths
        ],
        "tree, epsilon 1": [TreeCounter.calibrated(**pure, steps=t).largest_standard_error for t in lengths],
        "buffers, rho 1/2": [BufferedCounter.calibrated(**rho, steps=t).standard_error(t - 1) for t in lengths],
        "decayed by 0.99, rho 1/2": [
            DecayedCounter.calibrated(**rho, steps=t, decay="0.99").standard_error(t - 1) for t in lengths
        ],
    }
    lines = [Line(name, [float(t) for t in lengths], found) for name, found in errors.items()]
    across, up = Axis("ticks", is_log=True), Axis("standard error", "counts", is_log=True)
    chart = line_chart(
        "How far sums so far are off, by the length of the stream", lines, across=across, up=up, width=560
    )
    yield "counters", chart.captioned("For one event. From closed forms; no data.")


def series() -> Iterator[tuple[str, Chart]]:
    """Draw errors on a real series, from the folder in DITHER_DATA; on a made-up one where there is none."""
    from tools.bench.stream_series import chart_of

    yield "each_tick", chart_of(running=False)
    yield "sums_so_far", chart_of(running=True)


def disguises() -> Iterator[tuple[str, Chart]]:
    """Draw what disguises leave to find against what they lose, over k."""
    from dither.disguise import LocalSuppression, Mondrian, Roles, Rules, SetPartition, Table
    from dither.disguise.tradeoff import tradeoff

    dice = np.random.default_rng()
    rows = 4000
    age, region = dice.integers(18, 90, rows), dice.integers(0, 12, rows)
    wards = np.array(["heart", "skin", "bones", "children"])[(age // 18 + (dice.random(rows) < 0.3)) % 4]
    table = Table.of({"age": age, "region": region, "sex": dice.integers(0, 2, rows), "ward": wards.tolist()})
    roles = Roles(("age", "region", "sex"), ("ward",))
    lines = []
    for method in (
        Mondrian(roles, Rules()),
        LocalSuppression(roles, Rules(), exact=False),
        SetPartition(roles, Rules()),
    ):
        points = tradeoff(method, table, [2, 3, 5, 10, 20, 50])
        lines.append(Line(method.name, [one.ncp for one in points], [one.right or 0.0 for one in points]))
    chart = line_chart(
        "Wards told by the classes of a disguised table, for k from 2 to 50",
        lines,
        across=Axis("normalised certainty penalty"),
        up=Axis("share told rightly"),
        width=560,
    )
    blind = np.unique(wards, return_counts=True)[1].max() / rows
    words = f"{rows:,} generated people. Whoever names the largest ward for everybody is right for {blind:.0%} of them."
    yield "disguises", chart.captioned(words)


def grown_graph() -> tuple[np.ndarray[Any, Any], int]:
    """Return a graph that grew: each new node joins an older one, and some of those that are joined to that."""
    dice = np.random.default_rng(5)
    nodes, ends = 3000, [0, 1]
    beside: list[list[int]] = [[1], [0]]
    edges = {(0, 1)}
    for new in range(2, nodes):
        first = ends[dice.integers(len(ends))]
        others = {first, *dice.choice(beside[first], size=min(2, len(beside[first])), replace=False).tolist()}
        beside.append([])
        for other in others:
            edges.add((other, new))
            ends += [other, new]
            beside[other].append(new)
            beside[new].append(other)
    return np.array(sorted(edges)), nodes


def released(method: Any, edges: Any) -> Any:
    """Return what a method makes of a graph."""
    return dither.release(method, edges, budget=dither.Budget(epsilon=10**6, unit=dither.EDGE)).value


def _more_than(degrees: Any) -> tuple[list[float], list[float]]:
    """Return degrees above 0, and how many nodes have at least as many."""
    found = np.unique(degrees[degrees > 0])
    return found.tolist(), [float((degrees >= degree).sum()) for degree in found]


def main() -> int:
    """Write every picture."""
    PICTURES.mkdir(exist_ok=True)
    rooms = (question_pictures, report_pictures, place_pictures, map_pictures, stream_pictures)
    drawn = [room.pictures for room in rooms]
    for part in (tutorial, limits, epsilons, graphs, counters, series, disguises, *drawn):
        for name, chart in part():
            chart.save(PICTURES / f"{name}.svg")
            print(f"docs/pictures/{name}.svg: {chart.title}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
