"""The command ``dither``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import dither
from dither.cli.bench_verbs import benches
from dither.cli.console import complain_of
from dither.cli.folder_verbs import books
from dither.cli.folder_verbs import verbs as folder_verbs
from dither.cli.options import Json
from dither.cli.query_verbs import verbs as query_verbs
from dither.cli.table_verbs import publishing
from dither.cli.table_verbs import verbs as table_verbs
from dither.errors import DitherError
from dither.privacy import stated_loss

app = typer.Typer(
    name="dither",
    help="Differential privacy that is exact, priced before it looks, and checked by trial.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
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
def catalog(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are there as literature.")] = False,
    json: Json = False,
) -> None:
    """List the mechanisms: what each does, what it promises, how the promise is known."""
    from dither.cli import catalog as verb

    verb.show(with_reference=everything, as_json=json)


@app.command()
def explain(name: Name, json: Json = False) -> None:
    """Say what a mechanism promises and why: guarantee, proof, source, figures."""
    from dither.cli import explain as verb

    verb.show(name, as_json=json)


@app.command()
def audit(
    name: Annotated[
        str,
        typer.Argument(
            help="A mechanism; 'all'; 'noise', 'minima', 'accountants', 'queries', 'specimens' or 'mutants'; or "
            "module:thing or file.py:thing: a class, an Example or a function."
        ),
    ],
    samples: Annotated[
        int | None,
        typer.Option(help="Outputs on each side of each pair: 200,000 for one mechanism, a million for all.", min=1000),
    ] = None,
    replays: Annotated[
        int | None, typer.Option(help="Hostile pairs on which a composed mechanism is replayed: 200, or 1,000.", min=1)
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="After which nothing more of 'all' is begun.", min=0)] = None,
    processes: Annotated[int | None, typer.Option(help="That work at the same time on 'all'.", min=1)] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write the evidence, .html or .json.")] = None,
    value: Annotated[str | None, typer.Option(help="An input of a plain function, as JSON.")] = None,
    neighbour: Annotated[str | None, typer.Option(help="Its neighbour, as JSON.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="What a plain function promises.")] = None,
    delta: Annotated[str | None, typer.Option(help="The delta of that promise.")] = None,
    rho: Annotated[str | None, typer.Option(help="The rho of that promise, in place of epsilon.")] = None,
    json: Json = False,
) -> None:
    """Try to refute a mechanism's promise from its outputs; exit 1 if that succeeds."""
    from dither.cli import audit as verb

    is_claimed = epsilon is not None or rho is not None
    claim = stated_loss(epsilon=epsilon, delta=delta, rho=rho) if is_claimed else None
    pairs = verb.pair_from(value, neighbour)
    status = verb.run(
        name,
        samples=samples,
        as_json=json,
        report=report,
        claim=claim,
        pairs=pairs,
        replays=replays,
        minutes=minutes,
        processes=processes,
    )
    raise typer.Exit(status)


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


for verbs in (folder_verbs, query_verbs, table_verbs):
    app.add_typer(verbs)
app.add_typer(publishing, name="publish")
app.add_typer(benches, name="bench")
app.add_typer(books, name="ledger")


def main() -> None:
    """Run the command; an error of dither's own becomes one line and exit code 2."""
    try:
        app()
    except DitherError as failure:
        complain_of(failure)
        sys.exit(2)
