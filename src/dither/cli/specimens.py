"""``dither specimens``: what was printed with a promise that it does not keep, and the proof of it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from dither.audit.specimens import SPECIMENS, Refutation, find, refute
from dither.cli.console import console, print_json
from dither.cli.options import Json
from dither.cli.tables import print_table

_FALSE_ALARM = 1e-6


def show(
    name: Annotated[str | None, typer.Argument(help="One specimen in full. Defaults to a table of all.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="How many outputs to draw on each side, of those that are sampled.", min=1000)
    ] = None,
    as_json: Json = False,
) -> None:
    """Refute what was printed with a promise that it does not keep; exit 1 if a claim withstands."""
    chosen = list(SPECIMENS.values()) if name is None else [find(name)]
    found = [refute(each, samples, _FALSE_ALARM / len(chosen)) for each in chosen]
    if as_json:
        records = [each.to_dict() for each in found]
        print_json(records if name is None else records[0])
    elif name is None:
        print_table(_table(found))
        console.print(_summary(found), highlight=False)
    else:
        _tell(found[0])
    raise typer.Exit(int(not all(each.is_refuted for each in found)))


def _table(found: list[Refutation]) -> Table:
    table = Table(show_lines=True)
    for title, widest in (("specimen", 42), ("claim", 16), ("what is wrong", None), ("measured", 17), ("instead", 18)):
        table.add_column(title, overflow="fold", max_width=widest)
    for each in found:
        specimen = each.specimen
        table.add_row(
            f"[bold]{specimen.name}[/]\n{escape(str(specimen.source))}",
            str(specimen.claim),
            escape(specimen.what_is_wrong),
            f"{_colour(each)}\n{specimen.refuted_by}",
            specimen.replacement,
        )
    return table


def _summary(found: list[Refutation]) -> str:
    refuted = sum(each.is_refuted for each in found)
    sampled = sum(each.samples > 0 for each in found)
    return (
        f"{refuted} of {len(found)} claims refuted: {len(found) - sampled} by proof, {sampled} from outcomes, where "
        f"the false alarm of all together is at most {_FALSE_ALARM:g}. 'dither specimens NAME' shows one in full."
    )


def _tell(found: Refutation) -> None:
    specimen = found.specimen
    rows = (
        ("Source", str(specimen.source)),
        ("Claim", str(specimen.claim)),
        ("What is wrong", specimen.what_is_wrong),
        ("The pair", specimen.pair),
        ("Refuted by", specimen.refuted_by),
        ("Evidence", found.evidence),
        ("Instead", specimen.replacement),
    )
    console.print(f"[bold]{specimen.name}[/]: {_colour(found)}\n", highlight=False)
    for title, text in rows:
        console.print(f"[bold]{title}[/]: {escape(text)}", highlight=False)


def _colour(found: Refutation) -> str:
    return f"[red]{found.bound}[/]" if found.is_refuted else f"[yellow]not refuted: {found.bound}[/]"
