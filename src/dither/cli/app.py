"""The command ``dither``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import dither
from dither.cli import audit as audit_verb
from dither.cli import catalog as catalog_verb
from dither.cli import explain as explain_verb
from dither.cli.console import complain
from dither.errors import DitherError
from dither.privacy import stated_loss

app = typer.Typer(
    name="dither",
    help="Differential privacy that is exact, priced before it looks, and checked by trial.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Name = Annotated[str, typer.Argument(help="The name of a mechanism; see 'dither catalog'.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dither {dither.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Differential privacy that is exact, priced before it looks, and checked by trial."""


@app.command()
def catalog(json: Json = False) -> None:
    """List every mechanism: what it does, what it promises, how the promise is known."""
    catalog_verb.show(as_json=json)


@app.command()
def explain(name: Name, json: Json = False) -> None:
    """Say what a mechanism promises and why: guarantee, proof, source, figures."""
    explain_verb.show(name, as_json=json)


@app.command()
def audit(
    name: Annotated[
        str,
        typer.Argument(
            help="A mechanism, 'all', 'noise', or module:thing or file.py:thing: a class, an Example or a function."
        ),
    ],
    samples: Annotated[
        int, typer.Option(help="How many outputs to draw on each side of each pair.", min=1000)
    ] = 200_000,
    report: Annotated[Path | None, typer.Option(help="Where to write the evidence, .html or .json.")] = None,
    value: Annotated[str | None, typer.Option(help="An input of a plain function, as JSON.")] = None,
    neighbour: Annotated[str | None, typer.Option(help="Its neighbour, as JSON.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="What a plain function promises.")] = None,
    delta: Annotated[str | None, typer.Option(help="The delta of that promise.")] = None,
    rho: Annotated[str | None, typer.Option(help="The rho of that promise, in place of epsilon.")] = None,
    json: Json = False,
) -> None:
    """Try to refute a mechanism's promise from its outputs; exit 1 if that succeeds."""
    is_claimed = epsilon is not None or rho is not None
    claim = stated_loss(epsilon=epsilon, delta=delta, rho=rho) if is_claimed else None
    pairs = audit_verb.pair_from(value, neighbour)
    raise typer.Exit(audit_verb.run(name, samples=samples, as_json=json, report=report, claim=claim, pairs=pairs))


@app.command()
def specimens(
    name: Annotated[str | None, typer.Argument(help="One specimen, told in full; else a table of all.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="How many outputs to draw on each side, of those that are sampled.", min=1000)
    ] = None,
    json: Json = False,
) -> None:
    """Refute what was printed with a promise that it does not keep; exit 1 if a claim withstands."""
    from dither.cli import specimens as verb

    raise typer.Exit(verb.show(name, samples=samples, as_json=json))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path("dither-demo.html"),
    json: Json = False,
) -> None:
    """Publish private answers from a generated table, and write a report with a picture."""
    from dither.cli.demo import run

    run(out, as_json=json)


@app.command()
def attack(
    name: Annotated[str, typer.Argument(help="The name of an attack, 'list', or 'all'.")] = "list",
    targets: Annotated[int | None, typer.Option(help="About how many guesses are made.", min=1)] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="What the protected release may lose, such as 0.5 or 1/3.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write a page with plots, as HTML.")] = None,
    json: Json = False,
) -> None:
    """Attack generated data, and say what was recovered without protection and with it."""
    from dither.cli import attack as attack_verb

    attack_verb.run(name, targets=targets, epsilon=epsilon, out=out, as_json=json)


Home = Annotated[Path | None, typer.Option("--home", help="The curator's folder; else DITHER_HOME or one above here.")]
DataSetName = Annotated[str, typer.Argument(metavar="DATASET", help="The name of a data set; see 'dither datasets'.")]
Epsilon = Annotated[str | None, typer.Option(help="What the release may lose, such as 0.5 or 1/3.")]
Delta = Annotated[str | None, typer.Option(help="The probability outside which the promise holds, such as 1e-6.")]
Rho = Annotated[str | None, typer.Option(help="A zero-concentrated loss instead of epsilon and delta.")]
Analyst = Annotated[str, typer.Option(help="On whose quota the release is made.")]
Noise = Annotated[str, typer.Option(help="laplace, gaussian, or auto for whichever errs less.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file.")]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to make the curator's folder.")],
    ledger: Annotated[str, typer.Option(help="A path within the folder, or a PostgreSQL URL.")] = "ledger.sqlite",
    json: Json = False,
) -> None:
    """Make a curator's folder: data sets, settings, and an empty ledger."""
    from dither.cli import curate

    curate.init(folder, ledger=ledger, as_json=json)


@app.command()
def add(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA.yaml", help="The schema; with --suggest, a data file.")],
    budget: Annotated[
        str | None, typer.Option(help="The epsilon that all releases together may lose, for ever.")
    ] = None,
    delta: Delta = None,
    rho: Rho = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Draft a schema from column names and declared types instead.")
    ] = False,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Copy the tables to Parquet in the curator's folder, for the owner alone.")
    ] = False,
    out: Out = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Register a data set with its budget; or, with --suggest, draft its schema."""
    from dither.cli import curate

    if suggest:
        curate.draft(schema, out)
        return
    loss = stated_loss(epsilon=budget, delta=delta, rho=rho)
    curate.add(home, schema, budget=loss, parquet=parquet, as_json=json)


@app.command()
def datasets(home: Home = None, json: Json = False) -> None:
    """List the data sets, their units, tables and budgets."""
    from dither.cli import curate

    curate.datasets(home, as_json=json)


@app.command()
def card(dataset: DataSetName, out: Out = None, home: Home = None, json: Json = False) -> None:
    """Write the release card of a data set, in the sections of the public registry of deployments."""
    from dither.cli import curate

    curate.card(home, dataset, out=out, as_json=json)


@app.command()
def sql(
    dataset: DataSetName,
    query: Annotated[str | None, typer.Argument(help="One SELECT; without it, a prompt with history.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    key: Annotated[
        str | None, typer.Option(help="Your name for this request: a retry with it returns the stored answer.")
    ] = None,
    noise: Noise = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write CSV, Parquet, JSON or HTML (a plot).")
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Answer a query privately, every number with its error bar, and charge the ledger."""
    from dither.cli import ask

    loss = ask.Stated(epsilon, delta, rho)
    if query is None:
        ask.prompt(home, dataset, analyst=analyst, loss=loss, noise=noise)
        return
    ask.sql(home, dataset, query, analyst=analyst, loss=loss, key=key, noise=noise, out=out, as_json=json)


@app.command()
def quote(
    dataset: DataSetName,
    query: Annotated[str, typer.Argument(help="One SELECT.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    target: Annotated[
        str | None, typer.Option(help="COLUMN=ERROR: find the epsilon at which that column errs by at most so much.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="With --target on a mean: for groups of how many rows.", min=1)
    ] = None,
    noise: Noise = "auto",
    home: Home = None,
    json: Json = False,
) -> None:
    """Say what a query would cost and how far it would err; the data stays closed."""
    from dither.cli import ask

    loss = ask.Stated(epsilon, delta, rho)
    ask.quote(home, dataset, query, loss=loss, target=target, rows=rows, noise=noise, as_json=json)


publishing = typer.Typer(
    help="Publish tables of counts: histograms, many queries at once, marginals.", no_args_is_help=True
)
app.add_typer(publishing, name="publish")
PrivateTable = Annotated[str, typer.Argument(metavar="TABLE", help="A private table of the data set.")]
Columns = Annotated[list[str], typer.Argument(metavar="COLUMN...", help="Its columns: one axis of the table each.")]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        help="COLUMN=10 for bins of equal width, COLUMN=0,18,65 for edges, COLUMN=a,b for values; else all declared.",
    ),
]
Outside = Annotated[
    str | None, typer.Option(help="Values beyond the bins: 'ends' counts them in the end bins, 'drop' does not.")
]
Where = Annotated[str | None, typer.Option(help="A condition in SQL on the rows.")]
Key = Annotated[str | None, typer.Option(help="Your name for this request: a retry with it returns the stored answer.")]
TableOut = Annotated[Path | None, typer.Option("--out", "-o", help="Also write .csv, .parquet or .json.")]
Plot = Annotated[bool, typer.Option("--plot", help="With --out, also write a plot beside it, as HTML.")]


@publishing.command("histogram")
def publish_histogram(
    dataset: DataSetName,
    table: PrivateTable,
    columns: Columns,
    bins: Bins = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    method: Annotated[str, typer.Option(help="How; 'auto' takes the least predicted error.")] = "auto",
    data_dependent: Annotated[
        bool, typer.Option("--data-dependent", help="Let 'auto' take methods that look at the counts: no intervals.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(help="With --data-dependent: about how many rows there are.", min=1)
    ] = None,
    outside: Outside = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    out: TableOut = None,
    plot: Plot = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Publish how many rows fall into each cell of one column or more, each count with its interval."""
    from dither.cli import ask, publish

    loss = ask.Stated(epsilon, delta, rho)
    asked = publish.Asked(home, dataset, table, bins or (), loss, analyst, key, outside, where, out, plot, json)
    publish.histogram(asked, columns, method=method, data_dependent=data_dependent, rows=rows)


@publishing.command("workload")
def publish_workload(
    dataset: DataSetName,
    table: PrivateTable,
    columns: Columns,
    queries: Annotated[str, typer.Option(help="ranges (all of them), prefixes or cells.")] = "ranges",
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="FIRST:LAST, numbers of cells: these ranges instead of all.")
    ] = None,
    bins: Bins = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    method: Annotated[str, typer.Option(help="hdmm (search a strategy), identity, or auto.")] = "auto",
    outside: Outside = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    out: TableOut = None,
    plot: Plot = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Publish the answers to many queries on the cells of one column or more, for one price."""
    from dither.cli import ask, publish

    loss = ask.Stated(epsilon, delta, rho)
    asked = publish.Asked(home, dataset, table, bins or (), loss, analyst, key, outside, where, out, plot, json)
    publish.workload(asked, columns, queries=queries, ranges=ranges or (), method=method)


@publishing.command("marginals")
def publish_marginals(
    dataset: DataSetName,
    table: PrivateTable,
    sets: Annotated[list[str], typer.Argument(metavar="SET...", help="Columns of a marginal, such as sex,age.")],
    bins: Bins = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    outside: Outside = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    out: TableOut = None,
    plot: Plot = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Publish several marginals of one table, which agree with each other."""
    from dither.cli import ask, publish

    loss = ask.Stated(epsilon, delta, rho)
    asked = publish.Asked(home, dataset, table, bins or (), loss, analyst, key, outside, where, out, plot, json)
    publish.marginals(asked, sets)


@app.command()
def synth(
    dataset: DataSetName,
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A private table; may be left out if it is the only one.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where rows go: .parquet, .csv or .json.")] = Path(
        "synthetic.parquet"
    ),
    columns: Annotated[
        str | None, typer.Option(help="Names, separated by commas; else all but the privacy id.")
    ] = None,
    bins: Bins = None,
    other: Annotated[
        list[str] | None, typer.Option("--other", help="COLUMN=LABEL for rows whose value is no declared category.")
    ] = None,
    constraints: Annotated[
        Path | None, typer.Option(help="A YAML file of public facts that every row keeps: impossible, determined.")
    ] = None,
    method: Annotated[str, typer.Option(help="'auto', or a method of the catalogue.")] = "auto",
    rows: Annotated[int | None, typer.Option(help="How many rows; else as many as are estimated.", min=0)] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    model: Annotated[Path | None, typer.Option(help="Also write the released model, as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report on the quality, .html or .json.")] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare-with-real", help="In the report, compare with the real rows: NOT private, never publish."
        ),
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make a synthetic table that can be shared: its rows are drawn from a private model of the real ones."""
    from dither.cli import ask
    from dither.cli import synth as synthesis

    wanted = synthesis.Wanted(out, rows, model, report, compare, json)
    loss = ask.Stated(epsilon, delta, rho)
    synthesis.synth(
        home,
        dataset,
        table,
        wanted,
        columns=columns,
        bins=bins or (),
        other=other or (),
        constraints=constraints,
        method=method,
        loss=loss,
        analyst=analyst,
        key=key,
        where=where,
    )


@app.command()
def fit(
    dataset: DataSetName,
    table: PrivateTable,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The column to predict.")],
    model: Annotated[str, typer.Option(help="An estimator of dither.learn.")] = "LogisticRegression",
    features: Annotated[str | None, typer.Option(help="Columns, separated by commas; else all numeric ones.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE: a parameter of the estimator.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes, as JSON.")] = Path("model.json"),
    home: Home = None,
    json: Json = False,
) -> None:
    """Learn a private model of a table: linear, logistic, naive Bayes, and what else dither.learn has."""
    from dither.cli import ask
    from dither.cli import fit as learning

    loss = ask.Stated(epsilon, delta, rho)
    learning.fit(
        home,
        dataset,
        table,
        target,
        model=model,
        features=features,
        options=option or [],
        loss=loss,
        analyst=analyst,
        key=key,
        where=where,
        out=out,
        as_json=json,
    )


benches = typer.Typer(help="Compare methods by their error, on generated or real data.", no_args_is_help=True)
app.add_typer(benches, name="bench")


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


books = typer.Typer(help="What was spent, by whom, and whether the books are true.", no_args_is_help=True)
app.add_typer(books, name="ledger")
OneDataSet = Annotated[str | None, typer.Argument(metavar="[DATASET]", help="One data set; else all.")]


@books.command()
def show(
    dataset: OneDataSet = None,
    analyst: Annotated[str | None, typer.Option(help="One analyst's quota and spending.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Would a further release of this size fit?")] = None,
    delta: Delta = None,
    rho: Rho = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show what is spent, reserved and left; with a loss, exit 1 if it would not fit."""
    from dither.cli import books as verbs

    asked = epsilon is not None or rho is not None
    would = stated_loss(epsilon=epsilon, delta=delta, rho=rho) if asked else None
    raise typer.Exit(verbs.show(home, dataset, analyst=analyst, would=would, as_json=json))


@books.command()
def verify(home: Home = None, json: Json = False) -> None:
    """Walk the whole chain of entries; exit 1 if anything contradicts itself."""
    from dither.cli import books as verbs

    raise typer.Exit(verbs.verify(home, as_json=json))


@books.command()
def export(dataset: OneDataSet = None, out: Out = None, home: Home = None) -> None:
    """Write every entry as one line of JSON."""
    from dither.cli import books as verbs

    verbs.export(home, dataset, out=out)


def main() -> None:
    """Run the command; an error of dither's own becomes one line and exit code 2."""
    try:
        app()
    except DitherError as failure:
        complain(str(failure))
        sys.exit(2)
