"""``dither disguise cells``, ``anatomy``, ``slices`` and ``baskets``: tables that are changed without classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.disguise import Dates, File, Null, Quasi, Sensitive, check_files, read_table
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, write_whole
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.disguise import Hierarchy

Out = Annotated[Path, typer.Option("--out", "-o", help="Where the table goes: .csv or .parquet.")]
_TABLES = (".csv", ".parquet")


def told(
    made: Any,
    written: Mapping[str, Path],
    figures: Sequence[str],
    *,
    as_json: bool,
    read: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> None:
    """Say what was read, made, measured and written."""
    paths = {name: str(path) for name, path in written.items()}
    if as_json:
        print_json({**made.to_dict(), "read": list(read), **(more or {}), "written": paths})
        return
    say(made.warning, style="bold red")
    for sentence in (*read, *made.done, *figures):
        say(sentence)
    for name, path in paths.items():
        say(f"wrote the {name} to {path}")


def cells(
    file: File,
    out: Out,
    method: Annotated[
        str,
        typer.Option(help="permutation, swapping, rank-swapping, noise, or for one column coding, post-randomisation."),
    ],
    columns: Annotated[str, typer.Option(help="The columns to change.")],
    share: Annotated[float | None, typer.Option(help="For swapping: the share of rows that are in a pair.")] = None,
    within: Annotated[str | None, typer.Option(help="For swapping: columns in which a pair agrees.")] = None,
    width: Annotated[float | None, typer.Option(help="For rank-swapping: ranks apart, as a share of the rows.")] = None,
    scale: Annotated[
        float | None, typer.Option(help="For noise: its deviation, as a multiple of the column's.")
    ] = None,
    correlated: Annotated[bool, typer.Option("--correlated", help="For noise: with the columns' covariances.")] = False,
    low: Annotated[float | None, typer.Option(help="For coding: the least number that is shown.")] = None,
    high: Annotated[float | None, typer.Option(help="For coding: the greatest number that is shown.")] = None,
    keep: Annotated[float | None, typer.Option(help="For post-randomisation: how likely a value stays.")] = None,
    invariant: Annotated[
        bool, typer.Option("--invariant", help="For post-randomisation: frequencies stay, on average.")
    ] = False,
    together: Annotated[bool, typer.Option("--together", help="For permutation: all columns in one order.")] = False,
    null: Null = None,
    dates: Dates = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Change cells: swaps, noise, coding, or values drawn again. NO formal guarantee."""
    from dataclasses import fields

    from dither.disguise.perturbation import perturbations

    check_files(file, [Output("out", out, _TABLES)], force=force)
    known = perturbations()
    if method not in known:
        raise InvalidParameter("method", method, f"one of {', '.join(known)}")
    kind: Any = known[method]
    taken = {one.name for one in fields(kind)}
    asked: dict[str, Any] = {"share": share, "within": words_of(within), "width": width, "scale": scale}
    asked |= {"low": low, "high": high, "keep": keep, "correlated": correlated or None, "invariant": invariant or None}
    asked |= {"together": together or None}
    given = {name: value for name, value in asked.items() if value is not None}
    for name in given:
        if name not in taken:
            raise InvalidParameter(name, given[name], f"not allowed with {method}")
    names = words_of(columns) or ()
    if "column" in taken and len(names) != 1:
        raise InvalidParameter("columns", columns, f"one column, for {method}")
    where = {"column": names[0]} if "column" in taken else {"columns": names}
    table, read = read_table(file, null, dates)
    made = kind(**where, **given).apply(table)
    path = write_whole(out, made.table.write)
    lines = [f"{name}: {share:.1%} of the cells are others" for name, share in made.changed.items()]
    lines.append(f"{made.linked:.1%} of the rows are found again by anyone who has the true columns")
    lines.append("the rows are in their order, which reveals who is who")
    told(made, {"table": path}, lines, as_json=as_json, read=read)


def anatomy(
    file: File,
    out: Out,
    values: Annotated[Path, typer.Option(help="Where the table of sensitive values goes: .csv or .parquet.")],
    diverse: Annotated[int, typer.Option("--l", help="How many different values a group has, at least.", min=1)],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifiers: Annotated[str | None, typer.Option(help="Columns that name people; they are dropped.")] = None,
    null: Null = None,
    dates: Dates = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Publish quasi-identifiers and sensitive values in two tables, joined by groups. NO formal guarantee."""
    from dither.disguise import Roles
    from dither.disguise.buckets import Anatomy

    check_files(file, [Output("out", out, _TABLES), Output("values", values, _TABLES)], force=force)
    roles = Roles(words_of(quasi) or (), words_of(sensitive) or (), words_of(identifiers) or ())
    table, read = read_table(file, null, dates)
    made = Anatomy(roles, diverse).apply(table)
    written = {"table": write_whole(out, made.quasi.write), "values": write_whole(values, made.sensitive.write)}
    lines = [f"a value is guessed right with probability {made.most:.1%} at most, and {made.right:.1%} on average"]
    told(made, written, lines, as_json=as_json, read=read)


def slices(
    file: File,
    out: Out,
    diverse: Annotated[float, typer.Option("--l", help="No value has more than 1/l for anybody, by the check.")],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    together: Annotated[
        str | None,
        typer.Option(
            help='Columns that stay together, such as "age,town;job,ill"; the sensitive one may be in several.'
        ),
    ] = None,
    parts: Annotated[int, typer.Option(help="The number of groups of columns to find, without --together.")] = 2,
    least: Annotated[int, typer.Option(help="Rows of a bucket, at least.")] = 2,
    null: Null = None,
    dates: Dates = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Shuffle groups of columns separately within buckets. NO formal guarantee."""
    from dither.disguise import Roles
    from dither.disguise.buckets import Slicing

    check_files(file, [Output("out", out, _TABLES)], force=force)
    roles = Roles(words_of(quasi) or (), words_of(sensitive) or ())
    columns = None if together is None else tuple(words_of(some) or () for some in together.split(";"))
    table, read = read_table(file, null, dates)
    made = Slicing(roles, diverse, columns, parts, least).apply(table)
    path = write_whole(out, made.table.write)
    lines = [f"no value has more than {made.most:.1%} for anybody, by the check"]
    told(made, {"table": path}, lines, as_json=as_json, read=read)


def tree_of(file: Path, column: str, values: Sequence[Any]) -> Hierarchy:
    """Return the hierarchy of a column: in a CSV file of ARX's form, or described in a YAML file."""
    from dither.disguise import Hierarchy, read_hierarchies

    if file.suffix.lower() == ".csv":
        return Hierarchy.read(file)
    found = read_hierarchies(file, {column: values})
    if column not in found:
        raise InvalidParameter("hierarchy", str(file), f"a file that describes {column}")
    return found[column]


def baskets(
    file: File,
    out: Out,
    k: Annotated[int, typer.Option("--k", help="Baskets that a few known items are in, at least.", min=1)],
    m: Annotated[int, typer.Option("--m", help="The number of items that an attacker may know.", min=1)] = 2,
    basket: Annotated[str, typer.Option(help="The column that says which basket a row is of.")] = "basket",
    item: Annotated[str, typer.Option(help="The column of items.")] = "item",
    hierarchy: Annotated[
        Path | None, typer.Option(help="Kinds of items: a CSV file of ARX's form, or a YAML file with a tree.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make kinds of items until no basket is found by a few of them. NO formal guarantee."""
    from dither.disguise import Table
    from dither.disguise.baskets import Apriori

    check_files(file, [Output("out", out, _TABLES)], force=force)
    table = Table.read(file)
    owners, items = table[basket], table[item]
    for name, column in ((basket, owners), (item, items)):
        if None in column.values:
            raise InvalidParameter(name, None, "there in every row")
    tree = None if hierarchy is None else tree_of(hierarchy, item, items.values)
    inside: list[set[Any]] = [set() for _ in owners.values]
    for owner, what in zip(owners.codes.tolist(), items.cells(), strict=True):
        inside[owner].add(what)
    made = Apriori(k, m, tree).apply(inside)
    rows = [(str(place + 1), label) for place, some in enumerate(made.baskets) for label in sorted(some)]
    shown = Table.of({basket: [one for one, _ in rows], item: [label for _, label in rows]})
    path = write_whole(out, shown.write)
    lines = [
        f"{m} known items are in {made.smallest} baskets at least; penalty {made.penalty:.4f} of 1",
        "baskets are renumbered, in the order in which they came",
    ]
    told(made, {"table": path}, lines, as_json=as_json)
