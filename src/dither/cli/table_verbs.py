"""The verbs that publish tables and models: ``publish``, ``synthesize``, ``anonymize``, ``fit``, ``release``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import (
    Analyst,
    Bins,
    Charged,
    Columns,
    DataSetName,
    Home,
    Json,
    Key,
    Model,
    OnlyTable,
    Other,
    Outside,
    Plot,
    PrivateTable,
    Quoted,
    Report,
    SomeColumns,
    TableOut,
    charging,
)
from dither.errors import InvalidParameter

verbs = typer.Typer()

publishing = typer.Typer(
    help="Publish tables of counts: histograms, many queries at once, marginals.", no_args_is_help=True
)


@publishing.command("histogram")
@charging
def publish_histogram(
    charged: Charged,
    dataset: DataSetName,
    table: PrivateTable,
    columns: Columns,
    bins: Bins = None,
    method: Annotated[str, typer.Option(help="How; 'auto' takes the least predicted error.")] = "auto",
    data_dependent: Annotated[
        bool, typer.Option("--data-dependent", help="Let 'auto' take methods that look at the counts: no intervals.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(help="With --data-dependent: about how many rows there are.", min=1)
    ] = None,
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
) -> None:
    """Publish how many rows fall into each cell of one column or more, each count with its interval."""
    from dither.cli import publish

    asked = publish.Asked(charged, dataset, table, bins or (), outside, out, plot)
    publish.histogram(asked, columns, method=method, data_dependent=data_dependent, rows=rows)


@publishing.command("workload")
@charging
def publish_workload(
    charged: Charged,
    dataset: DataSetName,
    table: PrivateTable,
    columns: Columns,
    queries: Annotated[str, typer.Option(help="ranges (all of them), prefixes or cells.")] = "ranges",
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="FIRST:LAST, numbers of cells: these ranges instead of all.")
    ] = None,
    bins: Bins = None,
    method: Annotated[str, typer.Option(help="hdmm (search a strategy), identity, or auto.")] = "auto",
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
) -> None:
    """Publish the answers to many queries on the cells of one column or more, for one price."""
    from dither.cli import publish

    asked = publish.Asked(charged, dataset, table, bins or (), outside, out, plot)
    publish.workload(asked, columns, queries=queries, ranges=ranges or (), method=method)


@publishing.command("marginals")
@charging
def publish_marginals(
    charged: Charged,
    dataset: DataSetName,
    table: PrivateTable,
    sets: Annotated[list[str], typer.Argument(metavar="SET...", help="Columns of a marginal, such as sex,age.")],
    bins: Bins = None,
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
) -> None:
    """Publish several marginals of one table, which agree with each other."""
    from dither.cli import publish

    asked = publish.Asked(charged, dataset, table, bins or (), outside, out, plot)
    publish.marginals(asked, sets)


@verbs.command("synthesize")
@charging
def synth(
    charged: Charged,
    dataset: DataSetName,
    table: OnlyTable = None,
    tables: Annotated[
        str | None,
        typer.Option(help="PARENT,CHILD: two tables with one privacy id instead of one; a file is written for each."),
    ] = None,
    children: Annotated[
        int | None,
        typer.Option(help="With --tables: how many children of a parent count; else as limits say.", min=1),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where rows go: .parquet, .csv or .json.")] = Path(
        "synthetic.parquet"
    ),
    columns: SomeColumns = None,
    bins: Bins = None,
    other: Other = None,
    constraints: Annotated[
        Path | None, typer.Option(help="A YAML file of public facts that every row keeps: impossible, determined.")
    ] = None,
    method: Annotated[str, typer.Option(help="'auto', or a method of the catalogue.")] = "auto",
    rows: Annotated[
        int | None, typer.Option(help="How many rows, or parents; else as many as are estimated.", min=0)
    ] = None,
    model: Model = None,
    report: Report = None,
    quote: Quoted = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare-with-real", help="In the report, compare with the real rows: NOT private, never publish."
        ),
    ] = False,
) -> None:
    """Make a synthetic table that can be shared: its rows are drawn from a private model of the real ones."""
    from dither.cli import synth as synthesis

    wanted = synthesis.Wanted(charged, out, rows, model, report, compare, quote)
    if tables is not None:
        if table is not None or constraints is not None or charged.where is not None:
            rule = "given without a table, --constraints and --where, which are about one table"
            raise InvalidParameter("tables", tables, rule)
        synthesis.families(
            wanted,
            dataset,
            tables,
            columns=columns,
            bins=bins or (),
            other=other or (),
            method=method,
            children=children,
        )
        return
    if children is not None:
        raise InvalidParameter("children", children, "given with --tables")
    synthesis.synth(
        wanted,
        dataset,
        table,
        columns=columns,
        bins=bins or (),
        other=other or (),
        constraints=constraints,
        method=method,
    )


@verbs.command()
@charging
def anonymize(
    charged: Charged,
    dataset: DataSetName,
    table: OnlyTable = None,
    method: Annotated[
        str, typer.Option(help="priv-fuzzy, diffgen, diffpart, perturbed-rows, or kept-table, which is asked.")
    ] = "priv-fuzzy",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where rows go: .parquet, .csv or .json.")] = None,
    columns: SomeColumns = None,
    target: Annotated[str | None, typer.Option(help="For diffgen: the column that groups should tell.")] = None,
    taxonomies: Annotated[
        Path | None, typer.Option(help="For diffgen, diffpart: a YAML file of trees over declared values, by column.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="For diffgen: how many specialisations, at most.", min=1)] = None,
    terms: Annotated[
        list[str] | None, typer.Option("--terms", help="COLUMN=young,middle,old: a column of numbers told in terms.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="COLUMN,COLUMN: columns that belong together; public.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="How many rows; for perturbed-rows needed, from public knowledge.", min=0)
    ] = None,
    bins: Bins = None,
    other: Other = None,
    question: Annotated[
        list[str] | None, typer.Option("--ask", help="COLUMN=VALUE,VALUE: for kept-table; all of them must hold.")
    ] = None,
    model: Model = None,
    report: Report = None,
    quote: Quoted = False,
) -> None:
    """Anonymize a table with noise: generalised values, merged groups of columns, sets of items, or rows at random."""
    from dither.cli import anonymize as verb

    options = (target, taxonomies, steps, terms or (), group or (), rows, bins or (), other or (), question or ())
    files = (out, model, report, quote)
    verb.anonymize(verb.Asked(charged, dataset, table, method, columns, *options, *files))


@verbs.command()
@charging
def fit(
    charged: Charged,
    dataset: DataSetName,
    table: PrivateTable,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The column to predict.")],
    model: Annotated[str, typer.Option(help="An estimator of dither.learn.")] = "LogisticRegression",
    features: Annotated[str | None, typer.Option(help="Columns, separated by commas; else all numeric ones.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE: a parameter of the estimator.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes, as JSON.")] = Path("model.json"),
) -> None:
    """Learn a private model of a table: linear, logistic, naive Bayes, and what else dither.learn has."""
    from dither.cli import fit as learning

    learning.fit(charged, dataset, table, target, model=model, features=features, options=option or [], out=out)


@verbs.command("release")
def release_verb(
    dataset: DataSetName,
    description: Annotated[
        Path, typer.Argument(metavar="FILE", help="A method over a source, as JSON: see docs/extend.md.")
    ],
    analyst: Analyst = "curator",
    key: Key = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write what was released, as .json.")] = None,
    quoted: Quoted = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Release what any registered method makes of any declared source, as a file describes them."""
    from dither.cli.release import release

    options = {"analyst": analyst, "key": key, "out": out, "is_quoted": quoted, "as_json": as_json}
    release(home, dataset, description, **options)  # type: ignore[arg-type]
