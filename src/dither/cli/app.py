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
    name: Annotated[str, typer.Argument(help="The name of a mechanism, or 'all'.")],
    samples: Annotated[
        int, typer.Option(help="How many outputs to draw on each side of each pair.", min=1000)
    ] = 200_000,
    json: Json = False,
) -> None:
    """Try to refute a mechanism's promise from its outputs; exit 1 if that succeeds."""
    raise typer.Exit(audit_verb.run(name, samples=samples, as_json=json))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path("dither-demo.html"),
    json: Json = False,
) -> None:
    """Publish private answers from a generated table, and write a report with a picture."""
    from dither.cli.demo import run

    run(out, as_json=json)


def main() -> None:
    """Run the command; an error of dither's own becomes one line and exit code 2."""
    try:
        app()
    except DitherError as failure:
        complain(str(failure))
        sys.exit(2)
