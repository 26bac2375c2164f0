"""The verbs that ask: ``sql`` and ``quote``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dither.cli.options import (
    Analyst,
    DataSetName,
    Delta,
    Epsilon,
    Home,
    Json,
    Noise,
    Rho,
    Stated,
)

verbs = typer.Typer()


@verbs.command()
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

    loss = Stated(epsilon, delta, rho)
    if query is None:
        ask.prompt(home, dataset, analyst=analyst, loss=loss, noise=noise)
        return
    ask.sql(home, dataset, query, analyst=analyst, loss=loss, key=key, noise=noise, out=out, as_json=json)


@verbs.command()
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

    loss = Stated(epsilon, delta, rho)
    ask.quote(home, dataset, query, loss=loss, target=target, rows=rows, noise=noise, as_json=json)
