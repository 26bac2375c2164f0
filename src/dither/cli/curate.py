"""``dither init``, ``dither add``, ``dither datasets``, ``dither card``: the curator's verbs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.markup import escape

from dither.cli.check import kept_words, misplaced, problems, referring
from dither.cli.console import console, is_screen, print_json, say, tell_owner
from dither.cli.options import DataSetName, Delta, Force, Home, Json, Out, OwnHome, Rho, Server
from dither.cli.outputs import Output, check_outputs, keep_files, keep_known, keep_sources, write_whole
from dither.cli.progress import progress, reading
from dither.cli.questions import questions_of
from dither.cli.remote import connection, is_elsewhere, record_with_address, with_address
from dither.cli.tables import new_table, print_table
from dither.cli.wizard import (
    OPEN,
    ask_all,
    ask_budget,
    checked_out,
    draft_record,
    is_agreed,
    named,
    options_of,
    print_open,
    show_facts,
    show_questions,
)
from dither.curator.card import release_card
from dither.curator.checking import fits_of, references_of
from dither.curator.folder import Curator, located_schema
from dither.data.facts import Facts
from dither.data.files import dump_schema
from dither.data.importing.fit import TableFit
from dither.data.importing.sources import is_csv, is_parquet
from dither.data.kinds import KINDS
from dither.data.schema import DataSet
from dither.data.suggest import suggest
from dither.errors import InvalidParameter
from dither.privacy import Loss, stated_loss


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
            "next: [bold]dither add FILE.csv --budget EPS[/] asks what is public about a table and registers it; "
            "[bold]dither add --suggest FILE -o SCHEMA.yaml[/] only drafts a schema",
            highlight=False,
        )


def _draft(source: Path, out: Path | None, name: str | None = None, *, as_json: bool = False) -> None:
    """Draft a schema from names and declared types, never from values; on a terminal, show what the values say."""
    draft = suggest(source, name=name)
    if as_json:
        if out is not None:
            _write_draft(draft.text, out)
        print_json(draft_record(draft, out))
        return
    _write_draft(draft.text, out)
    if out is not None:
        say(f"wrote {out}: replace every ??? and read the comments")
    if is_screen() and (is_csv(source) or is_parquet(source)):
        with _looked_at(source) as facts:
            show_facts(facts)
            show_questions(questions_of(facts, named(source, name)))


def _looked_at(path: Path) -> Facts:
    """Return what the rows of a file show; a large one takes a while."""
    with progress("looking at the rows"):
        return Facts(path)


def _write_draft(text: str, out: Path | None) -> None:
    if out is None:
        print(text, end="")  # noqa: T201 - the draft is the output
        return
    if out.exists():
        raise InvalidParameter("out", str(out), "a new file")
    outputs = [Output("out", out)]
    check_outputs(outputs)
    keep_known(outputs)
    out.write_text(text, encoding="utf-8")


def add(
    schema: Annotated[
        Path, typer.Argument(metavar="FILE", help="A schema, .yaml; or a data file, .csv or .parquet, for the wizard.")
    ],
    budget: Annotated[
        str | None, typer.Option(help="Total epsilon for all releases of this data set; it never renews.")
    ] = None,
    delta: Delta = None,
    rho: Rho = None,
    is_draft: Annotated[
        bool, typer.Option("--suggest", help="Draft a schema from column names and declared types instead.")
    ] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Read Parquet files where they are, once checked, instead of copying.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="With a data file: what the data set is called; else after the file.")
    ] = None,
    may_be_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Register a table even if none of its rows can be loaded.")
    ] = False,
    is_unopened: Annotated[
        bool, typer.Option("--draft", help="Let it only be priced, until 'dither datasets open' opens it.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="With a data file: where the schema goes.")] = None,
    home: OwnHome = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Register a data set with its budget: from a schema, or from a data file, with a wizard.

    A schema is taken as it is. With a data file the wizard shows you your own rows in figures, on your screen alone,
    and asks what is public; what comes from the data you confirm one by one. Where nobody can be asked it gives a
    draft and the open questions, and exits with 3. Nothing is registered until everything is right.

    The wizard takes one table: of people, of rows, or of edges, which are a graph. Several that belong
    together are one schema: draft each with --suggest, and put their tables into one file.

    With --server a schema alone is sent, never a row: its sources are paths below the roots of the service, or tables
    of a database that its settings name.
    """
    if is_draft:
        _draft(schema, out, name, as_json=as_json)
        return
    if is_csv(schema) or is_parquet(schema):
        if is_elsewhere():
            rule = "a schema, .yaml: rows are never sent to a service; draft one with --suggest"
            raise InvalidParameter("schema", str(schema), rule)
        if as_json or not is_screen():
            print_open(schema, name, out, lambda text: _write_draft(text, out), as_json=as_json)
        _add_asking(
            schema, (budget, delta, rho), name=name, out=out, home=home, in_place=in_place, is_draft=is_unopened
        )
        return
    asked = connection()
    if asked is not None:
        if in_place or may_be_empty:
            raise InvalidParameter("server", server, "not allowed with --in-place or --allow-empty")
        with asked:
            added = asked.add(schema, epsilon=budget, delta=delta, rho=rho, is_draft=is_unopened)
        _say_added(added, as_json=as_json)
        return
    loss = stated_loss(epsilon=budget, delta=delta, rho=rho, called="budget")
    with Curator.open(home) as curator:
        declared = located_schema(schema)
        fits = _fits(curator, declared, may_be_empty=may_be_empty)
        references = references_of(curator.folder, declared, fits)
        with reading(schema):
            _register(curator, declared, loss, in_place=in_place, as_json=as_json, is_draft=is_unopened)
        if not as_json:
            _say_kept(fits)
            for table, reference in references:
                for line in referring(reference):
                    tell_owner(f"  {table.name}: {line}")


def _add_asking(
    path: Path,
    stated: tuple[str | None, str | None, str | None],
    *,
    name: str | None,
    out: Path | None,
    home: Path | None,
    in_place: bool,
    is_draft: bool,
) -> None:
    """Ask what is public about a file, and register it."""
    called = named(path, name)
    budget, delta, rho = stated
    # What cannot be a budget is refused before the questions, and not after them.
    is_stated = budget is not None or rho is not None
    checked = stated_loss(epsilon=budget if is_stated else 1, delta=delta, rho=rho, called="budget")
    loss = checked if is_stated else None
    with Curator.open(home) as curator:
        # A name that a data set had before is refused before the questions as well.
        curator.registered(called)
        goal = checked_out(out, called)
        outputs = [Output("out", goal)]
        check_outputs(outputs)
        keep_sources(outputs, curator)
        with _looked_at(path) as facts:
            dataset = ask_all(facts, called)
        if dataset is None:
            tell_owner("nothing was registered, and nothing was written")
            raise typer.Exit(OPEN)
        text = dump_schema(dataset)
        if loss is None:
            loss = ask_budget(delta)
        if loss is None:
            _offer_draft(goal, text, "--budget EPS")
        say(text)
        fits = _fits(curator, dataset, may_be_empty=False)
        _say_kept(fits)
        if not is_agreed(f"register {called} with {loss} in total, and write {goal}?"):
            _offer_draft(goal, text, options_of(loss))
        _register(curator, dataset, loss, in_place=in_place, as_json=False, is_draft=is_draft)
        goal.write_text(text, encoding="utf-8")
        say(f"wrote {goal}: change it and add it again to declare more")


def _offer_draft(goal: Path, text: str, options: str) -> NoReturn:
    """Offer to keep the answers of an owner who does not register now, say how to go on, and leave.

    Args:
        goal: where the schema would be written.
        text: the schema, of answers that the owner gave as public.
        options: what states the budget on the command line.

    """
    tell_owner("nothing was registered")
    if is_agreed(f"keep your answers in {goal}, to register them later?"):
        write_whole(goal, lambda draft: draft.write_text(text, encoding="utf-8"))
        say(f"wrote {goal}: change it as you like, then 'dither add {goal} {options}' registers it and asks nothing")
    else:
        tell_owner("nothing was written")
    raise typer.Exit(OPEN)


def _fits(curator: Curator, dataset: DataSet, *, may_be_empty: bool) -> tuple[TableFit, ...]:
    """Return how the files fit; refuse a private table of which no row would be kept."""
    fits = fits_of(curator.folder, dataset)
    for fit in fits:
        if not (fit.kept_rows or fit.table.is_public or may_be_empty):
            why = (
                "it has no rows"
                if not fit.rows
                else f"none has a {' and '.join(fit.table.identifying)} of its declared kind"
            )
            rule = f"a file with at least one valid row: {why}; 'dither add --allow-empty' registers it nevertheless"
            raise InvalidParameter("source", fit.table.source, rule)
    return fits


def _say_kept(fits: Sequence[TableFit]) -> None:
    """Tell the owner what was kept and what was lost; examples of cells on a screen only."""
    for fit in fits:
        tell_owner(kept_words(fit))
        for name, count, why in problems(fit, with_examples=is_screen()):
            tell_owner(f"  {name}: {count:,} cells {why}")
        for line in misplaced(fit):
            tell_owner(f"  {line}")


def _register(
    curator: Curator, declared: DataSet, loss: Loss, *, in_place: bool, as_json: bool, is_draft: bool
) -> None:
    before = curator.ledger.datasets()
    dataset = curator.add(declared, budget=loss, in_place=in_place, is_draft=is_draft)
    balance = curator.ledger.balance(dataset.name)
    called, edition = curator.called(dataset.name), curator.standing(dataset.name).edition
    if as_json:
        record = {"dataset": called, "unit": str(dataset.unit), "budget": balance.budget.to_dict(), "edition": edition}
        print_json(record)
        return
    again = f"edition {edition}; " if dataset.name in before else ""
    say(f"{called}: {again}{balance.budget} for {dataset.unit}; {balance.spent} is spent")
    if curator.standing(dataset.name).stage == "draft":
        say(f"next: 'dither quote' prices requests; 'dither datasets open {called}' accepts them")
        return
    say(f"next: '{_next_verb(dataset, called)} --epsilon E' asks and pays")


def _say_added(record: dict[str, Any], *, as_json: bool) -> None:
    """Say what a service has added."""
    if as_json:
        print_json(record_with_address(record))
        return
    budget = Loss.from_dict(record["budget"])
    say(with_address(f"{record['dataset']}: edition {record['edition']}; {budget} for {record['unit']}"))
    if record["stage"] == "draft":
        say(f"next: 'dither datasets open {record['dataset']}' accepts requests")


def _next_verb(dataset: DataSet, called: str) -> str:
    """Return the command that asks of such a data set: a graph is not asked with SQL, and places are mapped first."""
    declared = [one for kind in KINDS.parts.values() for table in dataset.tables if (one := kind.of(table)) is not None]
    return f"dither sql {called} QUERY" if not declared else declared[0].first_command(dataset, called)


def datasets(home: Path | None, as_json: bool) -> None:
    """List the data sets, their units, tables and budgets; of a service those that you may see."""
    asked = connection()
    if asked is not None:
        with asked:
            _datasets_elsewhere(asked.listed(), as_json=as_json)
        return
    with Curator.open(home) as curator:
        rows = [(dataset, curator.ledger.balance(dataset.name)) for dataset in curator.datasets()]
        standings = curator.ledger.standings()
        if as_json:
            print_json(
                [
                    {
                        "dataset": standings[dataset.name].name(dataset.name),
                        "registered_as": dataset.name,
                        "edition": standings[dataset.name].edition,
                        "is_retired": standings[dataset.name].is_retired,
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
        table = new_table("data set", "unit", "tables", "engine", "edition", "budget", "spent", "releases")
        for dataset, balance in rows:
            tables = ", ".join(table.name + (" (public)" if table.is_public else "") for table in dataset.tables)
            engine = dataset.engine.split(":", 1)[0]
            standing = standings[dataset.name]
            called = standing.name(dataset.name) + (" (retired)" if standing.is_retired else "")
            table.add_row(
                called, str(dataset.unit), tables, engine, str(standing.edition), str(balance.budget),
                str(balance.spent), str(balance.releases),
            )  # fmt: skip
        print_table(table, or_list=True)


def _datasets_elsewhere(found: list[dict[str, Any]], *, as_json: bool) -> None:
    """List what a service tells of its data sets; budgets are the curator's."""
    if as_json:
        print_json([{"dataset": one["name"], **{k: v for k, v in one.items() if k != "name"}} for one in found])
        return
    table = new_table("data set", "unit", "tables", "you may ask")
    for one in found:
        may = "yes" if one["is_granted"] else "no"
        table.add_row(str(one["name"]), str(one["unit"]), ", ".join(map(str, one["tables"])), may)
    print_table(table, or_list=True)


def card(
    dataset: DataSetName,
    out: Out = None,
    force: Force = False,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Write the release card of a data set, in the sections of the public registry of deployments."""
    import yaml

    outputs = [] if out is None else [Output("out", out)]
    check_outputs(outputs)
    asked = connection()
    if asked is not None:
        with asked:
            keep_files(outputs, force=force)
            record = asked.session(dataset).card().to_dict()
    else:
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
