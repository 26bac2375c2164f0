"""``dither disguise totals``: a table of sums over two columns, with cells left out or rounded."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.disguise import File, Null, check_files, read_table
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, write_whole
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.disguise.totals import Totals, TotalsRule

_TOTAL = "total"


def totals(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the table goes: .csv.")],
    by: Annotated[str, typer.Option(help="Two columns.")],
    value: Annotated[str, typer.Option(help="The column of contributions, none of them negative.")],
    giver: Annotated[str | None, typer.Option(help="The column of who contributes; each row, if not given.")] = None,
    threshold: Annotated[int | None, typer.Option(help="A cell needs at least this number of contributors.")] = None,
    dominance: Annotated[
        str | None, typer.Option(help="Two numbers n,k: the n largest may not exceed k percent of a cell.")
    ] = None,
    p_percent: Annotated[
        float | None, typer.Option(help="The second largest may not know the largest within p percent.")
    ] = None,
    base: Annotated[
        float | None,
        typer.Option("--round", help="Round every cell to a multiple of this, instead of suppressing cells."),
    ] = None,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="With --round: to the nearest one, not at random.")
    ] = False,
    null: Null = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Suppress or round cells of a table of sums, with an attacker's intervals. NO formal guarantee."""
    from dither.disguise import WARNING
    from dither.disguise.totals import Totals, rounded, suppress

    check_files(file, [Output("out", out, (".csv",))], force=force)
    rules = _rules(threshold, dominance, p_percent)
    if (base is None) == (not rules):
        raise InvalidParameter("rules", None, "one or more of --threshold, --dominance, --p-percent, or --round")
    if nearest and base is None:
        raise InvalidParameter("nearest", nearest, "combined with --round")
    columns = words_of(by) or ()
    if len(columns) != 2:
        raise InvalidParameter("by", by, "two columns, with a comma between")
    table = Totals.of(read_table(file, null, None)[0], (columns[0], columns[1]), value, giver)
    made: Any = suppress(table, rules) if base is None else rounded(table, base, nearest=nearest)
    path = write_whole(out, lambda target: _write(target, table, made))
    done = getattr(made, "done", (f"Every cell and margin is rounded separately to a multiple of {base}.",))
    if as_json:
        cells = [dict(zip(_HEAD, line, strict=True)) for line in _lines(table, made)]
        print_json({"warning": WARNING, "done": list(done), "cells": cells, "written": {"table": str(path)}})
        return
    say(WARNING, style="bold red")
    for sentence in done:
        say(sentence)
    say(f"wrote the table to {path}")


def _rules(threshold: int | None, dominance: str | None, p_percent: float | None) -> list[TotalsRule]:
    from dither.disguise.totals import Dominance, PPercent, Threshold

    rules: list[TotalsRule] = []
    if threshold is not None:
        rules.append(Threshold(threshold))
    if dominance is not None:
        try:
            n, k = (words_of(dominance) or ())[:2]
            rules.append(Dominance(int(n), float(k)))
        except ValueError:
            raise InvalidParameter("dominance", dominance, "two numbers, such as 1,75") from None
    if p_percent is not None:
        rules.append(PPercent(p_percent))
    return rules


_HEAD = ("row", "column", "shown", "low", "high")


def _lines(table: Totals, made: Any) -> list[tuple[Any, ...]]:
    """Return a line for each cell: what is shown, and what an attacker makes of it; margins are called total."""
    import math

    def plain(number: float) -> float | None:
        return round(float(number), 9) if math.isfinite(number) else None

    return [
        (row, column, plain(made.shown[place, at]), plain(made.low[place, at]), plain(made.high[place, at]))
        for place, row in enumerate((*table.rows, _TOTAL))
        for at, column in enumerate((*table.columns, _TOTAL))
    ]


def _write(target: Path, table: Totals, made: Any) -> None:
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(_HEAD)
        writer.writerows(_lines(table, made))
