"""``dither attack NAME``: what a release without protection gives away, and what one with it does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dither.attack import Attack, Outcome, attacks, find_attack, write_page
from dither.cli.console import console, print_json
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, check_outputs, keep_files, keep_known
from dither.cli.tables import print_table


def run(
    name: Annotated[str, typer.Argument(help="The name of an attack, 'list', or 'all'.")] = "list",
    targets: Annotated[int | None, typer.Option(help="About how many guesses are made.", min=1)] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Privacy loss of the protected release (epsilon), for example 0.5 or 1/3.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Also write a page with plots, as HTML.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Attack generated data, and say what was recovered without protection and with it."""
    if name == "list":
        _list(as_json=as_json)
        return
    files = [] if out is None else [Output("out", out)]
    check_outputs(files)
    keep_known(files)
    keep_files(files, force=force)
    chosen = list(attacks().values()) if name == "all" else [find_attack(name)]
    outcomes = [one.run(targets=_within(one, targets, of_all=name == "all"), epsilon=epsilon) for one in chosen]
    if out is not None:
        write_page(out, outcomes)
    if as_json:
        records = [one.to_dict() for one in outcomes]
        print_json(records if name == "all" else records[0])
        return
    print_table(_table(outcomes))
    for outcome in outcomes:
        if name == "all":
            break
        console.print(find_attack(outcome.attack).summary, style="bold", highlight=False, markup=False)
        console.print(f"{outcome.words}", highlight=False, markup=False)
        console.print(f"Counted: {outcome.measure}. Protection: {outcome.loss}.", highlight=False, markup=False)
        for title, value in outcome.figures:
            console.print(f"  {title}: {value:.4g}", highlight=False, markup=False)
    if out is not None:
        console.print(f"plotted in {out}", highlight=False, markup=False, soft_wrap=True)


def _within(one: Attack, targets: int | None, *, of_all: bool) -> int | None:
    """Return how many targets to ask for: a number that is meant for all attacks is cut to what each can take."""
    return min(targets, one.most) if of_all and targets is not None else targets


def _list(*, as_json: bool) -> None:
    known = attacks().values()
    if as_json:
        print_json([{"name": one.name, "summary": one.summary, "source": one.source} for one in known])
        return
    table = Table()
    table.add_column("attack", no_wrap=True)
    for title in ("what it does", "source"):
        table.add_column(title, overflow="fold")
    for one in known:
        table.add_row(one.name, one.summary, one.source)
    print_table(table)
    console.print("dither attack NAME shows one on generated data; with -o page.html it is plotted.", highlight=False)


def _table(outcomes: list[Outcome]) -> Table:
    table = Table()
    table.add_column("attack", no_wrap=True)
    for title in ("without protection", "with protection", "by chance", "proved ceiling", "guesses"):
        table.add_column(title, justify="right")
    for one in outcomes:
        table.add_row(
            one.attack,
            f"[red]{one.unprotected:.1%}[/]",
            f"[green]{one.protected:.1%}[/]",
            f"{one.chance:.1%}",
            "" if one.ceiling is None else f"{one.ceiling:.1%}",
            f"{one.n:,}",
        )
    return table
