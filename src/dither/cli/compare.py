"""``dither bench``: run a comparison, print who stands where, and write a page with plots."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from dither.bench.comparison import Comparison, Grid, Outcome, Standing, compare, standings
from dither.cli.console import console, print_json, words_of
from dither.cli.options import Epsilons, Json
from dither.cli.outputs import Output, keep_known
from dither.cli.progress import share
from dither.errors import InvalidParameter
from dither.exact import positive, whole
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis
from dither.pages.markup import Markup
from dither.pages.page import figure, figures, note, section, table
from dither.pages.page import page as whole_page

Scales = Annotated[str, typer.Option(help="Numbers of rows.")]
Domains = Annotated[str, typer.Option(help="Numbers of cells.")]
TriedDelta = Annotated[str, typer.Option("--delta", help="Tried besides pure losses; empty for pure losses alone.")]
Methods = Annotated[str | None, typer.Option(help="Names, separated by commas; else all that fit.")]
Shapes = Annotated[str | None, typer.Option(help="Names of data, separated by commas; else all.")]
Questions = Annotated[str | None, typer.Option(help="Names of queries, separated by commas; else all.")]
Repeats = Annotated[int, typer.Option(help="How often each is run.", min=2)]
Processes = Annotated[int, typer.Option(help="How many at a time.", min=1)]
Results = Annotated[Path | None, typer.Option("--out", "-o", help="The folder of results: resumed if it has some.")]

_TITLES = ("method", "median ratio", "worst ratio", "worst to {baseline}", "wins", "settings")


@dataclass(frozen=True)
class Asked:
    """The options of all comparisons, as they are written."""

    out: Path
    scales: str
    domains: str
    epsilons: str
    delta: str
    methods: str | None
    shapes: str | None
    asked: str | None
    repeats: int
    processes: int
    as_json: bool

    def grid(self) -> Grid:
        """Return what they mean, or refuse what is no number."""
        return Grid(
            scales=[whole("scales", int(text), least=1) for text in _numbers("scales", self.scales)],
            domains=[whole("domains", int(text), least=2) for text in _numbers("domains", self.domains)],
            epsilons=[str(positive("epsilons", text)) for text in words_of(self.epsilons) or ()],
            deltas=["0", *(str(positive("delta", text)) for text in words_of(self.delta) or ())],
            methods=_names(self.methods),
            shapes=_names(self.shapes),
            asked=_names(self.asked),
            repeats=self.repeats,
        )


def histograms(
    out: Results = None,
    dimensions: Annotated[int, typer.Option(help="1, or 2 for squares of cells.", min=1, max=2)] = 1,
    scales: Scales = "1000,10000,100000,1000000,10000000",
    domains: Annotated[str | None, typer.Option(help="Numbers of cells.")] = None,
    epsilons: Epsilons = "0.01,0.1,1",
    delta: TriedDelta = "1e-6",
    methods: Methods = None,
    shapes: Shapes = None,
    asked: Questions = None,
    repeats: Repeats = 5,
    processes: Processes = 1,
    as_json: Json = False,
) -> None:
    """Measure the error of every histogram method; real data from the folder in DITHER_DATA, else generated."""
    from dither.bench.compared.grids import GRIDS
    from dither.bench.compared.histograms import HISTOGRAMS

    comparison, usual, name = HISTOGRAMS, "256,1024,4096", "bench-histograms"
    if dimensions == 2:
        comparison, usual, name = GRIDS, "1024,4096,16384", "bench-histograms-2d"
    _show(
        comparison,
        Asked(
            out or Path(name),
            scales,
            domains or usual,
            epsilons,
            delta,
            methods,
            shapes,
            asked,
            repeats,
            processes,
            as_json,
        ),
    )


def workloads(
    out: Results = None,
    scales: Scales = "1000,100000,10000000",
    domains: Domains = "64,256",
    epsilons: Epsilons = "0.01,0.1,1",
    delta: TriedDelta = "1e-6",
    methods: Methods = None,
    shapes: Shapes = None,
    asked: Questions = None,
    repeats: Repeats = 5,
    processes: Processes = 1,
    as_json: Json = False,
) -> None:
    """Compare strategies for batches of queries: expected errors, exact, and measured ones where counts decide."""
    from dither.bench.compared.workloads import WORKLOADS

    _show(
        WORKLOADS,
        Asked(
            out or Path("bench-workloads"),
            scales,
            domains,
            epsilons,
            delta,
            methods,
            shapes,
            asked,
            repeats,
            processes,
            as_json,
        ),
    )


def marginals(
    out: Results = None,
    scales: Scales = "1000,10000,100000",
    domains: Annotated[str, typer.Option(help="Number of attributes of each table to use.")] = "8,14",
    epsilons: Epsilons = "0.1,1",
    delta: TriedDelta = "1e-6",
    methods: Methods = None,
    shapes: Shapes = None,
    asked: Questions = None,
    repeats: Repeats = 5,
    processes: Processes = 1,
    as_json: Json = False,
) -> None:
    """Measure the error of published marginals of one, two and three attributes."""
    from dither.bench.compared.marginals import MARGINALS

    _show(
        MARGINALS,
        Asked(
            out or Path("bench-marginals"),
            scales,
            domains,
            epsilons,
            delta,
            methods,
            shapes,
            asked,
            repeats,
            processes,
            as_json,
        ),
    )


def _show(comparison: Comparison, asked: Asked) -> None:
    """Run what is not yet in the folder, then print tables and write ``index.html``."""
    wanted = comparison.trials(asked.grid())
    if not wanted:
        raise InvalidParameter("methods", asked.methods or "all", "methods of which at least one fits the request")
    record = asked.out / "results.jsonl"
    keep_known([Output("out", record), Output("out", asked.out / "index.html")])
    asked.out.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"run": comparison.run, "processes": asked.processes}
    if sys.stderr.isatty() and not asked.as_json:
        with share() as shown:
            task = shown.add_task("trials", total=len(wanted))
            outcomes = compare(wanted, record, progress=lambda done, _: shown.update(task, completed=done), **options)
    else:
        outcomes = compare(wanted, record, **options)
    found = standings(outcomes, baseline=comparison.baseline, choosers=comparison.choosers)
    (asked.out / "index.html").write_text(page(comparison, outcomes, found), encoding="utf-8")
    if asked.as_json:
        print_json([asdict(standing) for standing in found])
        return
    for title, group in _groups(found):
        told = Table(title=title, title_justify="left")
        for place, text in enumerate(_titles(comparison)):
            told.add_column(text, justify="right" if place else "left", no_wrap=place == 0)
        for one in group:
            told.add_row(*_row(one))
        console.print(told)
    console.print(f"wrote {record} and {asked.out / 'index.html'}", highlight=False, markup=False, soft_wrap=True)


def page(comparison: Comparison, outcomes: Sequence[Outcome], found: Sequence[Standing]) -> str:
    """Return the page: standings, and the error of every method over the scale."""
    parts = []
    for title, group in _groups(found):
        kind = (group[0].asked, group[0].delta)
        drawn = _plots([one for one in outcomes if (one.trial.asked, one.trial.delta) == kind])
        parts.append(section(title, table(_titles(comparison), [_row(one) for one in group]), drawn))
    return whole_page(comparison.title, note(comparison.about), *parts)


def _groups(found: Sequence[Standing]) -> list[tuple[str, list[Standing]]]:
    """Return the standings of each kind, which stand together, with a title."""
    kinds = groupby(found, key=lambda one: (one.asked, one.delta))
    return [
        (asked if delta == "0" else f"{asked}, delta {float(Fraction(delta)):g}", list(group))
        for (asked, delta), group in kinds
    ]


def _titles(comparison: Comparison) -> list[str]:
    return [title.format(baseline=comparison.baseline) for title in _TITLES]


def _row(one: Standing) -> list[str]:
    ratios = (f"{one.median_ratio:.2f}", f"{one.worst_ratio:.2f}", f"{one.to_baseline:.2f}")
    return [one.method, *ratios, str(one.wins), str(one.settings)]


def _plots(outcomes: Sequence[Outcome]) -> Markup:
    """Return the mean error of every method over the scale, a picture for each number of cells and each epsilon."""
    errors: dict[tuple[int, Fraction], dict[str, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for one in outcomes:
        setting = one.trial.cells, Fraction(one.trial.epsilon)
        errors[setting][one.trial.method][one.trial.scale].append(one.error)
    drawn = []
    for (cells, epsilon), methods in sorted(errors.items()):
        lines = [
            Line(method, sorted(scales), [sum(scales[scale]) / len(scales[scale]) for scale in sorted(scales)])
            for method, scales in sorted(methods.items())
        ]
        title = f"Error over scale: {cells:,} cells, epsilon {float(epsilon):g}"
        across, up = Axis("scale", "rows", is_log=True), Axis("mean error", is_log=True)
        drawn.append(figure(line_chart(title, lines, across=across, up=up, width=440).markup()))
    return figures(drawn)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else list(words_of(text) or ())


def _numbers(name: str, text: str) -> list[str]:
    words = list(words_of(text) or ())
    if not words or not all(word.isdecimal() for word in words):
        raise InvalidParameter(name, text, "integers separated by commas")
    return words
