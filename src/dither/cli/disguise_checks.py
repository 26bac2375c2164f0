"""``dither disguise guards`` and ``freeform``: what people guard, and what follows from what can be seen of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.disguise import Dates, File, Null, Quasi, Sensitive, read_table
from dither.cli.disguise_tables import tree_of
from dither.cli.options import Json
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.disguise import Table


def guards(
    file: File,
    guard: Annotated[
        str, typer.Option(help="The column of guarding nodes; it is not published. Empty where nothing is guarded.")
    ],
    hierarchy: Annotated[
        Path, typer.Option(help="Of the sensitive column: a CSV file of ARX's form, or a YAML file with a tree.")
    ],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    null: Null = None,
    dates: Dates = None,
    as_json: Json = False,
) -> None:
    """Measure how surely any person's value is known to be below the node that they guard. NO formal guarantee."""
    from dither.disguise import WARNING
    from dither.disguise.personal import guarded

    secrets = words_of(sensitive) or ()
    if len(secrets) != 1:
        raise InvalidParameter("sensitive", sensitive, "one column")
    table, read = read_table(file, null, dates)
    tree = tree_of(hierarchy, secrets[0], table[secrets[0]].values)
    most = guarded(table, words_of(quasi) or (), secrets[0], guard, tree)
    if as_json:
        print_json({"warning": WARNING, "read": list(read), "rows": len(table), "most": most})
        return
    say(WARNING, style="bold red")
    for sentence in read:
        say(sentence)
    say(f"a value is known to be below the node that guards it with probability {most:.1%} at most")


def freeform(
    file: File,
    observable: Annotated[
        list[str],
        typer.Option(help="A column that can be seen, or some of its values, such as ill=flu,cold; may be repeated."),
    ],
    most: Annotated[
        int, typer.Option(help="Largest number of values of a person that an attacker has seen.", min=1)
    ] = 3,
    columns: Annotated[str | None, typer.Option(help="Columns to check, separated by commas. Defaults to all.")] = None,
    null: Null = None,
    dates: Dates = None,
    as_json: Json = False,
) -> None:
    """Say what follows most surely from values that can be seen to one that cannot. NO formal guarantee."""
    from dither.disguise import WARNING
    from dither.disguise.personal import freeform as surest

    table, read = read_table(file, null, dates)
    found = surest(table, _seen(table, observable), most=most, columns=words_of(columns))
    if as_json:
        told = None if found.told is None else {"column": found.told[0], "value": found.told[1]}
        known = [{"column": name, "value": value} for name, value in found.known]
        print_json(
            {
                "warning": WARNING,
                "read": list(read),
                "share": found.share,
                "known": known,
                "told": told,
                "rows": found.rows,
            }
        )
        return
    say(WARNING, style="bold red")
    for sentence in read:
        say(sentence)
    if found.told is None:
        say("nothing follows: no row has a value that can be seen beside one that cannot")
        return
    seen = " and ".join(f"{name} = {value}" for name, value in found.known)
    say(f"anyone who has seen {seen} knows {found.told[0]} = {found.told[1]} with probability {found.share:.1%}")
    say(f"{found.rows:,} rows have what was seen; the table is FF-anonymous for every bound from this share on")


def _seen(table: Table, typed: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of each column that can be seen, as they are typed."""
    found: dict[str, list[Any]] = {}
    for one in typed:
        name, stands, text = one.partition("=")
        if not stands:
            for whole in words_of(name) or ():
                found.setdefault(whole, []).extend(table[whole].values)
            continue
        by_text = {str(value): value for value in table[name.strip()].values if value is not None}
        for word in words_of(text) or ():
            if word not in by_text:
                raise InvalidParameter("observable", word, f"a value of {name.strip()}")
            found.setdefault(name.strip(), []).append(by_text[word])
    return found
