"""The verbs of a curator's folder: ``init``, ``add``, ``datasets``, ``card``, and the books of its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import (
    DataSetName,
    Delta,
    Home,
    Json,
    Out,
    Rho,
)
from dither.privacy import stated_loss

verbs = typer.Typer()


@verbs.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to make the curator's folder.")],
    ledger: Annotated[str, typer.Option(help="A path within the folder, or a PostgreSQL URL.")] = "ledger.sqlite",
    json: Json = False,
) -> None:
    """Make a curator's folder: data sets, settings, and an empty ledger."""
    from dither.cli import curate

    curate.init(folder, ledger=ledger, as_json=json)


@verbs.command()
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
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Read Parquet files where they are, once checked, instead of copying.")
    ] = False,
    out: Out = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Import a data set's rows and register it with its budget; or, with --suggest, draft its schema."""
    from dither.cli import curate

    if suggest:
        curate.draft(schema, out)
        return
    loss = stated_loss(epsilon=budget, delta=delta, rho=rho, called="budget")
    curate.add(home, schema, budget=loss, in_place=in_place, as_json=json)


@verbs.command()
def datasets(home: Home = None, json: Json = False) -> None:
    """List the data sets, their units, tables and budgets."""
    from dither.cli import curate

    curate.datasets(home, as_json=json)


@verbs.command()
def card(dataset: DataSetName, out: Out = None, home: Home = None, json: Json = False) -> None:
    """Write the release card of a data set, in the sections of the public registry of deployments."""
    from dither.cli import curate

    curate.card(home, dataset, out=out, as_json=json)


books = typer.Typer(help="What was spent, by whom, and whether the books are true.", no_args_is_help=True)
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
