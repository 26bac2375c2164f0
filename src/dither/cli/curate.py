"""``dither init``, ``dither add``, ``dither datasets``, ``dither card``: the curator's verbs."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.markup import escape

from dither.cli.add_options import Said, said_answers
from dither.cli.check import kept_words, misplaced, problems, referring
from dither.cli.column_choices import Choices
from dither.cli.column_table import show_columns, show_file
from dither.cli.console import console, is_screen, print_json, say, tell_owner
from dither.cli.given_files import given_files
from dither.cli.lost_cells import accepts_losses, stop_at_losses
from dither.cli.options import DataSetName, Delta, Force, Home, Json, Out, OwnHome, Rho, Server
from dither.cli.outputs import Output, check_outputs, keep_files, keep_known, keep_sources, write_whole
from dither.cli.progress import progress, reading
from dither.cli.questions import Answers
from dither.cli.read_options import ReadOptions, read_options
from dither.cli.remote import connection, is_elsewhere, record_with_address, with_address
from dither.cli.tables import new_table, print_table
from dither.cli.wizard import (
    OPEN,
    Wizard,
    ask_budget,
    checked_out,
    draft_record,
    is_agreed,
    named,
    options_of,
    print_open,
)
from dither.curator.card import release_card
from dither.curator.checking import fits_of, references_of
from dither.curator.folder import Curator, located_schema
from dither.data.facts import Facts
from dither.data.files import dump_schema, schema_from
from dither.data.importing.fit import TableFit
from dither.data.importing.handing import reading_once
from dither.data.importing.named_files import NamedFiles
from dither.data.kinds import KINDS
from dither.data.schema import DataSet
from dither.data.suggest import suggest
from dither.errors import DitherError, InvalidParameter
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


def _draft(
    source: Path | NamedFiles, out: Path | None, name: str | None, file: ReadOptions, *, as_json: bool = False
) -> None:
    """Draft a schema from names and declared types, never from values; on a terminal, show what the values say."""
    draft = suggest(source, name=name, sheet=file.sheet, delimiter=file.delimiter)
    if as_json:
        if out is not None:
            _write_draft(draft.text, out)
        print_json(draft_record(draft, out))
        return
    _write_draft(draft.text, out)
    if out is not None:
        say(f"wrote {out}: replace every ??? and read the comments")
    if is_screen() and isinstance(source, NamedFiles):
        with _looked_at(source, file) as facts:
            show_file(facts)
            show_columns(Choices(facts))


def _looked_at(path: NamedFiles, file: ReadOptions) -> Facts:
    """Return what the rows of a file show; a large one takes a while."""
    with progress("looking at the rows"):
        return Facts(path, sheet=file.sheet, delimiter=file.delimiter, decimal=file.decimal)


def _write_draft(text: str, out: Path | None) -> None:
    if out is None:
        print(text, end="")  # noqa: T201 - the draft is the output
        return
    if out.exists():
        raise InvalidParameter("schema_file", str(out), "a new file")
    outputs = [Output("schema_file", out)]
    check_outputs(outputs)
    keep_known(outputs)
    out.write_text(text, encoding="utf-8")


def add(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A schema, .yaml; or a table: files (.csv, .csv.gz, .jsonl, .xlsx, .parquet), or their folder.",
        ),
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
    may_lose: Annotated[
        bool, typer.Option("--allow-lost", help="Register a table even if over 1 % of a column's cells become NULL.")
    ] = False,
    is_unopened: Annotated[
        bool, typer.Option("--draft", help="Let it only be priced, until 'dither datasets open' opens it.")
    ] = False,
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that identifies people, or 'row' if no person has several rows."),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="At most this many rows of one person count in an answer.")] = None,
    groups: Annotated[
        int | None, typer.Option(help="In at most this many groups of an answer one person counts; 1 if --rows is 1.")
    ] = None,
    out: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Do not declare this column.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=KIND", help="Kind of a column, such as price=real.")
    ] = None,
    form: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=FORM", help="How cells write numbers or days, such as day=DD.MM.YYYY."),
    ] = None,
    ranges: Annotated[
        list[str] | None, typer.Option("--range", metavar="COLUMN=A..B", help="Range to add up, such as price=0..500.")
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=A,B", help="Values to group by, such as ward=north,south."),
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Rows without a value in this column form a group.")
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook that has several.")] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter of a CSV file: , ; | or tab. [default: found in the first row]")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Decimal sign of text files: . or , [default: . unless you confirm another]")
    ] = None,
    schema_file: Annotated[
        Path | None, typer.Option("--schema-file", "-o", help="With a data file: where the schema goes.")
    ] = None,
    home: OwnHome = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Register a data set with its budget: from a schema, or from a data file, with a wizard.

    A schema is taken as it is. With a data file the wizard shows all columns on one screen, to you alone: change them
    by number, then answer four questions. What was read from your rows is only declared if you type its number as
    public. --person, --rows, --groups and --budget, with any options about columns, register a data file without
    questions. Without a terminal and these options it prints a draft and the open questions, and exits with 3.

    If more than 1 % of the cells of a column are not of their declared kind, or most edges name undeclared nodes, it
    reports them to you and exits with 3. --allow-lost registers the data set nevertheless: such cells are NULL.

    Several files, a folder, or a pattern in quotes are one table: all of them must name the same columns. Folders named
    like ward=north give a column that all files below them lack.

    The wizard takes one table: of people, of rows, or of edges, which are a graph. Several that belong
    together are one schema: draft each with --suggest, and put their tables into one file.

    With --server a schema alone is sent, never a row: its sources are paths below the roots of the service, or tables
    of a database that its settings name.
    """
    lists = (out, kind, form, ranges, categories, missing)
    said = Said(person, rows, groups, *(tuple(listed or ()) for listed in lists))
    given = given_files(files)
    is_file = given is not None
    schema = files[0] if given is None else given.first
    file = read_options(schema, sheet, delimiter, decimal, is_asked=is_screen() and not as_json)
    if schema.suffix.lower() == ".json":
        rule = "a schema, .yaml, or a data file; write rows of JSON one object a line, into a file that ends in .jsonl"
        raise InvalidParameter("file", str(schema), rule)
    if said.first and (is_draft or not is_file):
        rule = "omitted with --suggest" if is_draft else "omitted with a schema, which states it: change the schema"
        raise InvalidParameter(said.first, getattr(said, said.first), rule)
    if is_draft:
        _draft(given or schema, schema_file, name, file, as_json=as_json)
        return
    if given is not None:
        if is_elsewhere():
            rule = "a schema, .yaml: rows are never sent to a service; draft one with --suggest"
            raise InvalidParameter("schema", str(schema), rule)
        adding = _Adding(
            given, (budget, delta, rho), name, schema_file, home, in_place, is_unopened, as_json, file, may_lose
        )
        answers = said_answers(given, adding.called, said, file) if said.first else None
        if answers is not None and not said.lacks and adding.has_budget:
            _add_said(adding, answers, may_be_empty=may_be_empty)
        elif as_json or not is_screen():
            if said.first:
                lacking = said.lacks or "budget"
                raise InvalidParameter(lacking, None, f"required without a terminal: add --{lacking}")
            print_open(given, name, schema_file, lambda text: _write_draft(text, schema_file), file, as_json=as_json)
        else:
            _add_asking(adding, said)
        return
    asked = connection()
    if asked is not None:
        if in_place or may_be_empty or may_lose:
            raise InvalidParameter("server", server, "not allowed with --in-place, --allow-empty or --allow-lost")
        with asked:
            added = asked.add(schema, epsilon=budget, delta=delta, rho=rho, is_draft=is_unopened)
        _say_added(added, as_json=as_json)
        return
    loss = stated_loss(epsilon=budget, delta=delta, rho=rho, called="budget")
    with Curator.open(home) as curator, reading_once():
        declared = located_schema(schema)
        with reading(schema):
            fits = _fits(curator, declared, may_be_empty=may_be_empty)
        stop_at_losses(fits, may_lose=may_lose or may_be_empty, as_json=as_json)
        references = references_of(curator.folder, declared, fits)
        with reading(schema):
            _register(curator, declared, loss, in_place=in_place, as_json=as_json, is_draft=is_unopened)
        if not as_json:
            _say_kept(fits)
            for table, reference in references:
                for line in referring(reference):
                    tell_owner(f"  {table.name}: {line}")


@dataclass(frozen=True)
class _Adding:
    """What was typed about a data file, beside its columns.

    Args:
        path: the file, or files.
        stated: epsilon, delta and rho of the budget.
        name: of the data set.
        out: the file of the schema.
        home: the curator's folder.
        in_place: whether Parquet stays where it is.
        is_draft: whether the data set is only priced at first.
        as_json: whether a program reads.
        file: how the file is read.
        may_lose: whether the owner accepts that cells become NULL.

    """

    path: NamedFiles
    stated: tuple[str | None, str | None, str | None]
    name: str | None
    out: Path | None
    home: Path | None
    in_place: bool
    is_draft: bool
    as_json: bool
    file: ReadOptions
    may_lose: bool

    @property
    def called(self) -> str:
        """The name of the data set."""
        return named(self.path.typed[0], self.name)

    @property
    def has_budget(self) -> bool:
        """Whether a budget was typed."""
        budget, _, rho = self.stated
        return budget is not None or rho is not None

    def loss(self) -> Loss | None:
        """Return the budget that was typed, refused if it is not one; None where nothing was."""
        budget, delta, rho = self.stated
        checked = stated_loss(epsilon=budget if self.has_budget else 1, delta=delta, rho=rho, called="budget")
        return checked if self.has_budget else None

    def options(self, loss: Loss | None) -> list[str]:
        """Return the options that no question is about, as they would be typed again."""
        words = [] if self.name is None else ["--name", self.name]
        words += [] if self.out is None else ["-o", str(self.out)]
        words += [] if self.home is None else ["--home", str(self.home)]
        words += [*self.file.words, *["--allow-lost"] * self.may_lose]
        words += ["--in-place"] * self.in_place + ["--draft"] * self.is_draft
        delta = self.stated[1]
        if loss is None:
            return [*words, *([] if delta is None else ["--delta", delta])]
        return [*words, *options_of(loss).split()]

    def goal(self, curator: Curator) -> Path:
        """Return the file that the schema is written to, checked; refuse a name that a data set had before."""
        curator.registered(self.called)
        goal = checked_out(self.out, self.called)
        outputs = [Output("schema_file", goal)]
        check_outputs(outputs)
        keep_sources(outputs, curator)
        return goal


def _add_said(adding: _Adding, answers: Answers, *, may_be_empty: bool) -> None:
    """Register a data file as options say, without a question and without a proposal from its rows."""
    loss = adding.loss()
    if loss is None:
        return
    with Curator.open(adding.home) as curator, reading_once():
        goal = adding.goal(curator)
        dataset = schema_from(answers.tree())
        with reading(adding.path):
            fits = _fits(curator, dataset, may_be_empty=may_be_empty)
        stop_at_losses(fits, may_lose=adding.may_lose or may_be_empty, as_json=adding.as_json)
        with reading(adding.path):
            _register(
                curator, dataset, loss, in_place=adding.in_place, as_json=adding.as_json, is_draft=adding.is_draft
            )
        goal.write_text(dump_schema(dataset), encoding="utf-8")
        if not adding.as_json:
            _say_kept(fits)
            say(f"wrote {goal}: change it and add it again to declare more")


def _add_asking(adding: _Adding, said: Said) -> None:
    """Ask what is public about a file, and register it."""
    # What cannot be a budget is refused before the questions, and not after them.
    loss, called = adding.loss(), adding.called
    with Curator.open(adding.home) as curator, reading_once():
        goal = adding.goal(curator)
        with _looked_at(adding.path, adding.file) as facts:
            wizard = Wizard(facts, called, said)
            dataset = wizard.ask()
            if dataset is not None and loss is None:
                loss = ask_budget(adding.stated[1])
            if dataset is None or loss is None:
                _say_how_to_go_on(adding, wizard, loss)
        text = dump_schema(dataset)
        say(text)
        fits = _fits(curator, dataset, may_be_empty=False)
        _say_kept(fits)
        if not adding.may_lose and not accepts_losses(fits):
            _offer_draft(goal, text, options_of(loss))
        agreed = is_agreed(f"Register {called} with {loss} in total, and write {goal}?")
        if agreed is None:
            _say_how_to_go_on(adding, wizard, loss)
        if not agreed:
            _offer_draft(goal, text, options_of(loss))
        _register(curator, dataset, loss, in_place=adding.in_place, as_json=False, is_draft=adding.is_draft)
        goal.write_text(text, encoding="utf-8")
        say(f"wrote {goal}: change it and add it again to declare more")
        same = wizard.command(adding.path, adding.options(loss))
        say(
            "the same without questions: "
            + (same or shlex.join(["dither", "add", str(goal), *options_of(loss).split()]))
        )


def _say_how_to_go_on(adding: _Adding, wizard: Wizard, loss: Loss | None) -> NoReturn:
    """Say that nothing was registered, and which command resumes with what was decided; leave."""
    tell_owner("nothing was registered, and nothing was written")
    if wizard.has_decided:
        tell_owner(f"continue where you were: {wizard.resume(adding.path, adding.options(loss))}")
    if wizard.typed:
        tell_owner(f"then type again: {', then '.join(line or 'Enter' for line in wizard.typed)}")
    raise typer.Exit(OPEN)


def _offer_draft(goal: Path, text: str, options: str) -> NoReturn:
    """Offer to store the answers of an owner who does not register now, print the next command, and leave.

    Args:
        goal: where the schema would be written.
        text: the schema, of answers that the owner gave as public.
        options: what states the budget on the command line.

    """
    tell_owner("nothing was registered")
    if is_agreed(f"Store your answers in {goal}, to register them later?"):
        write_whole(goal, lambda draft: draft.write_text(text, encoding="utf-8"))
        say(f"wrote {goal}: change it as you like, then 'dither add {goal} {options}' registers it and asks nothing")
    else:
        tell_owner("nothing was written")
    raise typer.Exit(OPEN)


def _fits(curator: Curator, dataset: DataSet, *, may_be_empty: bool) -> tuple[TableFit, ...]:
    """Return how the files fit; refuse a private table without a row that can be loaded."""
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
    """Print what was loaded and what was lost; examples of cells on a screen only."""
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
        record = {
            "dataset": called,
            "unit": str(dataset.protected),
            "budget": balance.budget.to_dict(),
            "edition": edition,
        }
        print_json(record)
        return
    again = f"edition {edition}; " if dataset.name in before else ""
    say(f"{called}: {again}{balance.budget} for {dataset.protected}; {balance.spent} is spent")
    if curator.standing(dataset.name).stage == "draft":
        say(f"next: 'dither quote' prices requests; 'dither datasets open {called}' accepts them")
        return
    say(f"next: {_next_command(dataset, called)} --epsilon {_usual_epsilon(balance.budget)}")


def _say_added(record: dict[str, Any], *, as_json: bool) -> None:
    """Say what a service has added."""
    if as_json:
        print_json(record_with_address(record))
        return
    budget = Loss.from_dict(record["budget"])
    say(with_address(f"{record['dataset']}: edition {record['edition']}; {budget} for {record['unit']}"))
    if record["stage"] == "draft":
        say(f"next: 'dither datasets open {record['dataset']}' accepts requests")


def _next_command(dataset: DataSet, called: str) -> str:
    """Return the command to type next: a graph is not queried with SQL, and places are mapped first."""
    declared = [one for kind in KINDS.parts.values() for table in dataset.tables if (one := kind.of(table)) is not None]
    if declared:
        return declared[0].first_command(dataset, called)
    return f"dither sql {called} {shlex.quote(query) if (query := _first_query(dataset)) else 'QUERY'}"


def _first_query(dataset: DataSet) -> str:
    """Return a query to begin with: counts by the first column with categories; empty where names need quotes."""
    from dither.publish.queries.sql import parse_sql

    table = next(one for one in dataset.tables if not one.is_public)
    keys = [one.name for one in table.columns if one.categories]
    counted = f"COUNT(*) AS n FROM {table.name}"
    for query in [*(f"SELECT {key}, {counted} GROUP BY {key}" for key in keys[:3]), f"SELECT {counted}"]:
        with contextlib.suppress(DitherError):
            parse_sql(query, dataset)
            return query
    return ""


def _usual_epsilon(budget: Loss) -> str:
    """Return a loss for a first query: a tenth of the budget, where it is an epsilon.

    >>> _usual_epsilon(stated_loss(epsilon=2)), _usual_epsilon(stated_loss(epsilon="1/3", delta="1e-6"))
    ('0.2', '0.033')
    >>> _usual_epsilon(stated_loss(rho=1))
    'E'
    """
    stated = budget.to_dict().get("epsilon")
    return "E" if stated is None else f"{float(Fraction(str(stated))) / 10:.2g}"


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
                        "unit": str(dataset.protected),
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
                called, str(dataset.protected), tables, engine, str(standing.edition), str(balance.budget),
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
