"""``dither catalog``: what to take for a task, what says a word, every mechanism there is, and what print describes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape

from dither.cli import sources
from dither.cli.console import console, print_json, say
from dither.cli.options import Json
from dither.cli.tables import new_table, print_table
from dither.errors import InvalidParameter, NotFound
from dither.mechanisms import Entry, registered
from dither.mechanisms.core.tasks import TASKS, all_tasks, tasks_of


def row(entry: Entry) -> dict[str, Any]:
    """Return what is said of one mechanism, from its first example where an instance is needed."""
    example = next(iter(entry.examples())).mechanism
    return {
        "name": entry.name,
        "version": entry.mechanism.version,
        "summary": entry.summary,
        "tasks": {task: all_tasks()[task].methods[entry.name] for task in tasks_of(entry.name)},
        "loss": example.loss(1).kind,
        "distance": str(example.distance),
        "numerics": entry.mechanism.numerics.value,
        "source": entry.source,
        "is_reference": entry.is_reference,
    }


def task_names(incomplete: str) -> list[str]:
    """Return the tasks that begin so, for a shell that completes them."""
    return [name for name in TASKS if name.startswith(incomplete)]


def show(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="Only what says this: name, purpose, source; with --card, one name."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="Only mechanisms for this task, the first to take first.", autocompletion=task_names),
    ] = None,
    with_reference: Annotated[
        bool, typer.Option("--all", help="Every mechanism by name, including those for reference only.")
    ] = False,
    with_sources: Annotated[
        bool, typer.Option("--sources", help="What the literature describes: whether it is here, and what differs.")
    ] = False,
    as_card: Annotated[
        bool, typer.Option("--card", help="The application card of one mechanism, or of a verb that releases.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the mechanisms by task: what each is for, what it promises, how the promise is known."""
    if sum((task is not None or with_reference, with_sources, as_card)) > 1:
        raise InvalidParameter("options", "several lists", "one of --sources, --card, and --task or --all")
    if with_sources:
        sources.show(text, as_json=as_json)
        return
    if as_card:
        _print_card(text, as_json=as_json)
        return
    if task is not None and task not in TASKS:
        raise NotFound(f"no task is called {task[:64]!r}; there are: {', '.join(TASKS)}")
    found = _found(text, task)
    if as_json:
        # Programs get all of them, with the mark.
        print_json([row(entry) for entry in found.values()])
        return
    if text is None and task is None and not with_reference:
        _print_tasks()
        return
    shown = {name: entry for name, entry in found.items() if with_reference or not entry.is_reference}
    if task is not None:
        say(f"I want to release {TASKS[task].wish}: {TASKS[task].door}", style="bold")
    _print(shown.values(), task)
    if left_out := len(found) - len(shown):
        say(f"{left_out} more {'is' if left_out == 1 else 'are'} there as literature: add --all.")
    say("Ask 'dither explain NAME' for a guarantee and its proof.")


def _print_card(name: str | None, *, as_json: bool) -> None:
    """Print the eleven fields of a mechanism or a verb."""
    from dither.curator.applications import application_card

    if name is None:
        raise InvalidParameter("TEXT", None, "with --card the name of a mechanism, or of a verb such as 'sql'")
    fields = application_card(name).to_dict()
    if as_json:
        print_json(fields)
        return
    table = new_table("field", "what is declared")
    for field, said in fields.items():
        table.add_row(field.replace("_", " "), escape(said))
    print_table(table)


def _found(text: str | None, task: str | None) -> Mapping[str, Entry]:
    """Return the mechanisms of a task, in its order, or all by name; of these, those that say a text."""
    known = registered()
    entries = known if task is None else {name: known[name] for name in all_tasks()[task].methods}
    if text is None:
        return entries
    word, tasks = text.casefold(), all_tasks().values()

    def says(entry: Entry) -> bool:
        purposes = [f"{task.wish} {task.methods[entry.name]}" for task in tasks if entry.name in task.methods]
        return any(word in said.casefold() for said in (entry.name, entry.summary, entry.source, *purposes))

    return {name: entry for name, entry in entries.items() if says(entry)}


def _print_tasks() -> None:
    table = new_table("task", "I want to release ...", "take first")
    for name, task in all_tasks().items():
        table.add_row(name, task.wish, ", ".join(list(task.methods)[:2]))
    print_table(table)
    total = len(registered())
    say(f"'dither catalog --task NAME' says when to take which, 'dither catalog TEXT' searches all {total} mechanisms,")
    say("'dither catalog --all' lists them by name, including those for reference only,")
    say("'dither catalog --sources' what the literature describes, and what differs here.")


def _print(entries: Iterable[Entry], task: str | None) -> None:
    rows = [row(entry) for entry in entries]
    if not rows:
        say("no entry matches")
        return
    table = new_table("name", "what it does" if task is None else "when to take it", "loss", "numerics")
    for entry in rows:
        mark = " (reference)" if entry["is_reference"] else ""
        said = entry["summary"] if task is None else entry["tasks"][task]
        cells = (entry["name"] + mark, said, entry["loss"], entry["numerics"])
        table.add_row(*map(escape, cells))
    print_table(table)
    console.print(f"{len(rows)} mechanism{'' if len(rows) == 1 else 's'}", style="dim", highlight=False)
