"""``dither init``, ``dither add``, ``dither datasets``, ``dither card``: the curator's verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dither.cli.console import console, print_json
from dither.cli.options import DataSetName, Delta, Force, Home, Json, Out, Rho
from dither.cli.outputs import Output, check_outputs, keep_files, keep_sources, write_whole
from dither.cli.progress import reading
from dither.cli.tables import new_table, print_table
from dither.curator.card import release_card
from dither.curator.folder import Curator
from dither.data.suggest import suggest
from dither.errors import InvalidParameter
from dither.privacy import stated_loss


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to make the curator's folder.")],
    ledger: Annotated[str, typer.Option(help="A path within the folder, or a PostgreSQL URL.")] = "ledger.sqlite",
    as_json: Json = False,
) -> None:
    """Make a curator's folder: data sets, settings, and an empty ledger."""
    with Curator.create(folder, ledger=ledger) as curator:
        record = {"folder": str(curator.folder), "ledger": curator.ledger.place, "ledger_id": curator.ledger.id}
        if as_json:
            print_json(record)
            return
        console.print(f"made {escape(record['folder'])} with an empty ledger", highlight=False, soft_wrap=True)
        console.print(
            "next: [bold]dither add --suggest FILE -o SCHEMA.yaml[/] drafts a schema; complete it, then "
            "[bold]dither add SCHEMA.yaml --budget EPS[/]",
            highlight=False,
        )


def _draft(source: Path, out: Path | None) -> None:
    """Draft a schema from names and declared types, never from values."""
    text = suggest(source).text
    if out is None:
        print(text, end="")  # noqa: T201 - the draft is the output
        return
    if out.exists():
        raise InvalidParameter("out", str(out), "a new file")
    check_outputs([Output("out", out)])
    out.write_text(text, encoding="utf-8")
    console.print(f"wrote {escape(str(out))}: replace every ??? and read the comments", highlight=False)


def add(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA.yaml", help="The schema; with --suggest, a data file.")],
    budget: Annotated[
        str | None, typer.Option(help="The epsilon that all releases together may lose, for ever.")
    ] = None,
    delta: Delta = None,
    rho: Rho = None,
    is_draft: Annotated[
        bool, typer.Option("--suggest", help="Draft a schema from column names and declared types instead.")
    ] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Read Parquet files where they are, once checked, instead of copying.")
    ] = False,
    out: Out = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Import a data set's rows and register it with its budget; or, with --suggest, draft its schema."""
    if is_draft:
        _draft(schema, out)
        return
    loss = stated_loss(epsilon=budget, delta=delta, rho=rho, called="budget")
    with Curator.open(home) as curator:
        with reading(schema):
            dataset = curator.add(schema, budget=loss, in_place=in_place)
        balance = curator.ledger.balance(dataset.name)
        if as_json:
            print_json({"dataset": dataset.name, "unit": str(dataset.unit), "budget": balance.budget.to_dict()})
            return
        console.print(f"{dataset.name}: {balance.budget} for {dataset.unit}; {balance.spent} is spent", highlight=False)
        console.print(f"next: [bold]dither sql {dataset.name} QUERY --epsilon E[/] asks and pays", highlight=False)


def datasets(home: Home = None, as_json: Json = False) -> None:
    """List the data sets, their units, tables and budgets."""
    with Curator.open(home) as curator:
        rows = [(dataset, curator.ledger.balance(dataset.name)) for dataset in curator.datasets()]
        if as_json:
            print_json(
                [
                    {
                        "dataset": dataset.name,
                        "unit": str(dataset.unit),
                        "tables": [table.name for table in dataset.tables],
                        "engine": dataset.engine.split(":", 1)[0],
                        "budget": balance.budget.to_dict(),
                        "spent": balance.spent.to_dict(),
                        "releases": balance.releases,
                    }
                    for dataset, balance in rows
                ]
            )
            return
        table = new_table("data set", "unit", "tables", "engine", "budget", "spent", "releases")
        for dataset, balance in rows:
            tables = ", ".join(table.name + (" (public)" if table.is_public else "") for table in dataset.tables)
            engine = dataset.engine.split(":", 1)[0]
            table.add_row(
                dataset.name, str(dataset.unit), tables, engine, str(balance.budget), str(balance.spent),
                str(balance.releases),
            )  # fmt: skip
        print_table(table, or_list=True)


def card(dataset: DataSetName, out: Out = None, force: Force = False, home: Home = None, as_json: Json = False) -> None:
    """Write the release card of a data set, in the sections of the public registry of deployments."""
    import yaml

    outputs = [] if out is None else [Output("out", out)]
    check_outputs(outputs)
    with Curator.open(home) as curator:
        keep_sources(outputs, curator)
        keep_files(outputs, force=force)
        record = release_card(curator.dataset(dataset), curator.ledger)
        if as_json:
            print_json(record)
            return
        text = yaml.safe_dump(record, sort_keys=False, allow_unicode=True)
        if out is None:
            print(text, end="")  # noqa: T201 - the card is the output
            return
        write_whole(out, lambda draft: draft.write_text(text, encoding="utf-8"))
        console.print(f"wrote {escape(str(out))}", highlight=False)
