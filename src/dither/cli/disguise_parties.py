"""``dither disguise join`` and ``releases``: two owners of one table, and several releases of the same people."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.disguise import Dates, Null, Quasi, Sensitive, check_files, read_table
from dither.cli.disguise_tables import Out, told
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, write_whole
from dither.errors import InvalidParameter

_Person = Annotated[str, typer.Option(help="The column that names people, in all files.")]


def join(
    left: Annotated[Path, typer.Argument(metavar="LEFT", help="One owner's table, as .csv or .parquet.")],
    right: Annotated[Path, typer.Argument(metavar="RIGHT", help="The other owner's table.")],
    out: Out,
    person: _Person,
    k: Annotated[int, typer.Option("--k", help="People of every class of the joined table, at least.", min=1)],
    quasi: Quasi = None,
    identifiers: Annotated[str | None, typer.Option(help="Other columns that name people; they are dropped.")] = None,
    null: Null = None,
    dates: Dates = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Join two owners' columns only if every class has k rows, neither showing its rows. NO formal guarantee."""
    from dither.disguise.parties import Side, agree

    for file in (left, right):
        check_files(file, [Output("out", out, (".csv", ".parquet"))], force=force)
    tables = [read_table(file, null, dates)[0] for file in (left, right)]
    names, dropped = words_of(quasi) or (), words_of(identifiers) or ()
    for option, some in (("quasi", names), ("identifiers", dropped)):
        for name in some:
            if not any(name in table.names for table in tables):
                raise InvalidParameter(option, name, "a column of one of the files")
    sides = []
    for said, file, table in zip(("left", "right"), (left, right), tables, strict=True):
        mine = [name for name in names if name in table.names]
        if not mine:
            raise InvalidParameter("quasi", quasi, f"columns of which {file} has at least one")
        sides.append(Side(said, table, person, mine, [name for name in dropped if name in table.names]))
    made = agree(sides[0], sides[1], k)
    path = write_whole(out, made.table.write)
    lines = [f"{side} learns {what}" for side, said in made.learned.items() for what in said]
    told(made, {"table": path}, lines, as_json=as_json)


def releases(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Releases, in the order of publication.")],
    person: _Person,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    alpha: Annotated[float, typer.Option(help="A probability of a value that should not be exceeded.")] = 0.5,
    null: Null = None,
    dates: Dates = None,
    as_json: Json = False,
) -> None:
    """Measure what several releases of the same people reveal together."""
    from dither.disguise import WARNING
    from dither.disguise.republication import increment, m_invariance, rho_alpha

    if len(files) < 2:
        raise InvalidParameter("files", len(files), "two or more")
    secrets = words_of(sensitive) or ()
    if len(secrets) != 1:
        raise InvalidParameter("sensitive", sensitive, "one column")
    names = words_of(quasi) or ()
    tables = [read_table(file, null, dates)[0] for file in files]
    found: dict[str, Any] = {"warning": WARNING, "m": m_invariance(tables, person, names, secrets[0]), "pairs": []}
    for place, (before, after) in enumerate(itertools.pairwise(tables)):
        both = rho_alpha(before, after, person, names, secrets[0], (alpha,))
        grown = increment(before, after, person, names, secrets[0])
        figures = {"people": both.people, "surest": both.surest, "rho": both.over[0][1], "certain": both.certain}
        grown_said = {"alone": grown.alone, "added": grown.added, "common": grown.common}
        pair = {"first": str(files[place]), "second": str(files[place + 1]), **figures, **grown_said}
        found["pairs"].append(pair)
    if as_json:
        print_json(found)
        return
    say(WARNING, style="bold red")
    said = f"the releases are {found['m']}-invariant" if found["m"] else "the releases are not m-invariant for any m"
    say(said)
    for pair in found["pairs"]:
        say(f"{pair['first']} and {pair['second']}: {pair['people']:,} people are in both")
        say(f"  of {pair['rho']:.1%} of them a value is surer than {alpha:g} after both")
        say(f"  of {pair['certain']:.1%} of them a value is certain after both")
        say(f"  values that both classes of a person have in common: {pair['common']} at least")
        if pair["added"] is not None:
            say(f"  values among the rows that a class has gained: {pair['added']} at least")
