"""The verbs that compare methods: ``bench histograms``, ``workloads``, ``marginals`` and ``learn``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import Json

benches = typer.Typer(help="Compare methods by their error, on generated or real data.", no_args_is_help=True)
Scales = Annotated[str, typer.Option(help="Numbers of rows.")]
Domains = Annotated[str, typer.Option(help="Numbers of cells.")]
Epsilons = Annotated[str, typer.Option(help="Losses.")]
TriedDelta = Annotated[str, typer.Option("--delta", help="Tried besides pure losses; empty for pure losses alone.")]
Methods = Annotated[str | None, typer.Option(help="Names, separated by commas; else all that fit.")]
Shapes = Annotated[str | None, typer.Option(help="Names of data, separated by commas; else all.")]
Questions = Annotated[str | None, typer.Option(help="Names of queries, separated by commas; else all.")]
Repeats = Annotated[int, typer.Option(help="How often each is run.", min=2)]
Processes = Annotated[int, typer.Option(help="How many at a time.", min=1)]
Results = Annotated[Path | None, typer.Option("--out", "-o", help="The folder of results: resumed if it has some.")]


@benches.command("histograms")
def bench_histograms(
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
    json: Json = False,
) -> None:
    """Measure the error of every histogram method; real data from the folder in DITHER_DATA, else generated."""
    from dither.cli import compare

    cells = domains or ("256,1024,4096" if dimensions == 1 else "1024,4096,16384")
    folder = out or Path("bench-histograms" if dimensions == 1 else "bench-histograms-2d")
    options = (folder, scales, cells, epsilons, delta, methods, shapes, asked, repeats, processes, json)
    compare.histograms(compare.Asked(*options), dimensions)


@benches.command("workloads")
def bench_workloads(
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
    json: Json = False,
) -> None:
    """Compare strategies for batches of queries: expected errors, exact, and measured ones where counts decide."""
    from dither.cli import compare

    folder = out or Path("bench-workloads")
    options = (folder, scales, domains, epsilons, delta, methods, shapes, asked, repeats, processes, json)
    compare.workloads(compare.Asked(*options))


@benches.command("marginals")
def bench_marginals(
    out: Results = None,
    scales: Scales = "1000,10000,100000",
    domains: Annotated[str, typer.Option(help="How many attributes of each table are kept.")] = "8,14",
    epsilons: Epsilons = "0.1,1",
    delta: TriedDelta = "1e-6",
    methods: Methods = None,
    shapes: Shapes = None,
    asked: Questions = None,
    repeats: Repeats = 5,
    processes: Processes = 1,
    json: Json = False,
) -> None:
    """Measure how far published marginals of one, two and three attributes are from the true ones."""
    from dither.cli import compare

    folder = out or Path("bench-marginals")
    options = (folder, scales, domains, epsilons, delta, methods, shapes, asked, repeats, processes, json)
    compare.marginals(compare.Asked(*options))


@benches.command("learn")
def bench_learn(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of results.")] = Path("bench-learn"),
    epsilons: Epsilons = "0.1,1,10",
    models: Annotated[
        str | None, typer.Option(help="Of logistic, naive Bayes, trees, k-means; separated by commas.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Fits at each epsilon; on Adult 5 at most.", min=2)] = 50,
    rivals: Annotated[
        Path | None, typer.Option(help="A folder for environments of others: diffprivlib is installed there.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare private models with scikit-learn's; Adult is taken from the folder in DITHER_DATA, if it is there."""
    from dither.cli import compare_learning

    compare_learning.run(out=out, epsilons=epsilons, models=models, splits=splits, rivals=rivals, as_json=json)
