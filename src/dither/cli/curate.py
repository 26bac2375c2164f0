"""``dither init``, ``dither add``, ``dither datasets``, ``dither card``: the curator's verbs."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from dither.cli.console import console, print_json
from dither.cli.outputs import Output, check_outputs, keep_sources, write_whole
from dither.curator.card import release_card
from dither.curator.folder import Curator
from dither.data.suggest import suggest
from dither.errors import InvalidParameter
from dither.privacy import Loss


def init(folder: Path, *, ledger: str, as_json: bool) -> None:
    """Make a curator's folder and say what comes next."""
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


def draft(source: Path, out: Path | None) -> None:
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


def add(home: Path | None, schema: Path, *, budget: Loss, in_place: bool, as_json: bool) -> None:
    """Import the rows of a data set and register it with its budget."""
    with Curator.open(home) as curator:
        dataset = curator.add(schema, budget=budget, in_place=in_place)
        balance = curator.ledger.balance(dataset.name)
        if as_json:
            print_json({"dataset": dataset.name, "unit": str(dataset.unit), "budget": balance.budget.to_json()})
            return
        console.print(f"{dataset.name}: {balance.budget} for {dataset.unit}; {balance.spent} is spent", highlight=False)
        console.print(f"next: [bold]dither sql {dataset.name} QUERY --epsilon E[/] asks and pays", highlight=False)


def datasets(home: Path | None, *, as_json: bool) -> None:
    """List the data sets with their tables and balances."""
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
                        "budget": balance.budget.to_json(),
                        "spent": balance.spent.to_json(),
                        "releases": balance.releases,
                    }
                    for dataset, balance in rows
                ]
            )
            return
        table = Table("data set", "unit", "tables", "engine", "budget", "spent", "releases")
        for dataset, balance in rows:
            tables = ", ".join(table.name + (" (public)" if table.is_public else "") for table in dataset.tables)
            engine = dataset.engine.split(":", 1)[0]
            table.add_row(
                dataset.name, str(dataset.unit), tables, engine, str(balance.budget), str(balance.spent),
                str(balance.releases),
            )  # fmt: skip
        console.print(table)


def card(home: Path | None, name: str, *, out: Path | None, as_json: bool) -> None:
    """Print or write the release card of a data set."""
    import yaml

    outputs = [] if out is None else [Output("out", out)]
    check_outputs(outputs)
    with Curator.open(home) as curator:
        keep_sources(outputs, curator)
        record = release_card(curator.dataset(name), curator.ledger)
        if as_json:
            print_json(record)
            return
        text = yaml.safe_dump(record, sort_keys=False, allow_unicode=True)
        if out is None:
            print(text, end="")  # noqa: T201 - the card is the output
            return
        write_whole(out, lambda draft: draft.write_text(text, encoding="utf-8"))
        console.print(f"wrote {escape(str(out))}", highlight=False)
