"""``dither check``: whether the rows of a data set still fit its schema, on its owner's screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from dither.cli.console import console, print_json, say
from dither.cli.options import DataSetName, Home, Json
from dither.curator.checking import TableCheck
from dither.curator.folder import Curator
from dither.data.importing.fit import ColumnFit, TableFit
from dither.data.importing.references import ReferenceFit
from dither.data.place_tables import CLAMP


def check(dataset: DataSetName, home: Home = None, as_json: Json = False) -> None:
    """Say whether a data set's rows still fit its schema, for its owner's eyes; exit 1 if they do not.

    It counts cells that are not of their kind, values outside bounds and categories, and rows without an id, and shows
    an example of each. It counts positions outside the declared box, references to rows that do not exist, keys that
    repeat, and keys that several people have. NOT PRIVATE: nothing is charged, and nothing of it may be published.
    """
    with Curator.open(home) as curator:
        found = curator.check(dataset)
    if as_json:
        print_json([_record(one) for one in found])
    else:
        say("NOT PRIVATE: for the owner of the rows alone", style="bold")
        for one in found:
            _print(one)
    raise typer.Exit(0 if all(one.is_right for one in found) else 1)


def kept_words(fit: TableFit) -> str:
    """Return how much of a table is kept, in one line."""
    filled, kept = (sum(getattr(one, name) for one in fit.columns) for name in ("filled", "kept"))
    words = f"{fit.table.name}: {fit.kept_rows:,} of {fit.rows:,} rows loaded, {kept:,} of {filled:,} filled cells"
    named = " and ".join(fit.table.identifying)
    return f"{words}; {fit.without_id:,} rows have no {named}" if fit.without_id else words


def problems(fit: TableFit, *, with_examples: bool) -> Iterator[tuple[str, int, str]]:
    """Yield what does not fit: the column, how many cells, and why.

    Args:
        fit: as it was found.
        with_examples: whether cells may be shown.

    """
    for one in fit.columns:
        if one.lost:
            because = one.reason if with_examples else f"not of the kind {one.column.kind.value}"
            yield one.column.name, one.lost, f"become NULL: {because}"
        if one.outside:
            because = f", such as {one.outside_example[:60]!r}" if with_examples else ""
            yield one.column.name, one.outside, f"{_beyond(one)}{because}"


def _beyond(one: ColumnFit) -> str:
    column = one.column
    if column.categories is not None:
        return "are no declared category, and belong to no group"
    return f"are outside [{column.lower}, {column.upper}], and are clamped where they are added up"


def misplaced(fit: TableFit) -> Iterator[str]:
    """Yield what is wrong with the positions of a table, in one line each."""
    for one in fit.places:
        named, places = " and ".join(one.columns), fit.table.places
        if one.outside and places is not None:
            becomes = "count at its border" if places.outside == CLAMP else "count nowhere"
            hint = f"; {one.swapped:,} would be inside if {named} were swapped" if one.swapped else ""
            yield f"{one.outside:,} positions of {named} are outside the box {list(places.box)}, and {becomes}{hint}"
        if one.unknown:
            yield f"{one.unknown:,} positions of {named} are 0 and 0, which is read as unknown, and count nowhere"


def referring(fit: ReferenceFit) -> Iterator[str]:
    """Yield what is wrong with the references of a table, in one line each."""
    key = f"{fit.owner.table}.{' and '.join(fit.owner.keys)}"
    if fit.dangling:
        yield f"{fit.dangling:,} rows refer to no {key}, and do not exist for any answer"
    if fit.repeated:
        yield f"{fit.repeated:,} values of {key} repeat: a join takes one row of a person"
    if fit.shared:
        yield (
            f"{fit.shared:,} values of {key} belong to several people, and rows refer to them: such rows are not "
            "added, because each would count for all of these people. Empty the cells of a value that means no key, "
            "such as 0 or 'none'"
        )
    if fit.beyond:
        yield f"{fit.beyond:,} rows are more than {fit.owner.rows} for one {key}, and do not count"


def _print(one: TableCheck) -> None:
    if one.fit is None:
        say(f"{one.table.name}: {one.note or 'not in files of this machine; its engine checks its types when asked'}")
        return
    say(kept_words(one.fit))
    found = list(problems(one.fit, with_examples=True))
    if found:
        table = Table("column", "cells", "what is wrong")
        for name, count, why in found:
            table.add_row(escape(name), f"{count:,}", escape(why))
        console.print(table)
    for line in misplaced(one.fit):
        say(f"{one.table.name}: {line}")
    for line in referring(one.reference) if one.reference is not None else ():
        say(f"{one.table.name}: {line}")
    if not one.fit.rows:
        say(f"{one.table.name} has no rows")
    if one.note:
        say(f"{one.table.name}: {one.note}")


def _record(one: TableCheck) -> dict[str, Any]:
    record: dict[str, Any] = {"table": one.table.name, "is_right": one.is_right, "note": one.note}
    if one.fit is None:
        return record
    record |= {"rows": one.fit.rows, "without_id": one.fit.without_id}
    columns = [
        {"column": each.column.name, "filled": each.filled, "lost": each.lost, "reason": each.reason}
        | {"outside": each.outside, "outside_example": each.outside_example}
        for each in one.fit.columns
    ]
    if one.fit.places:
        record["places"] = [asdict(each) for each in one.fit.places]
    if one.reference is not None:
        record |= {name: getattr(one.reference, name) for name in ("dangling", "repeated", "beyond", "shared")}
    return record | {"columns": columns}
