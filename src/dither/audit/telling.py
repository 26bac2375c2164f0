"""Run an audit of everything, or of named mechanisms, with progress, and report the findings.

One way for ``python -m dither.audit`` and for ``dither audit all``: the same tasks, processes, tables and page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from dither.audit.everything import Extent, Run, run_all
from dither.audit.figures import Sheet, figures_of, instances_of, mutants_of, specimens_of, unshown_of
from dither.audit.report import write_report
from dither.pages.page import page_target

_NARROWEST = 150


def audit_and_tell(
    names: Sequence[str],
    extent: Extent,
    *,
    report: Path | None = None,
    as_json: bool = False,
    console: Console | None = None,
) -> int:
    """Audit, print the tables, write the page, and return the exit status: 1 if there are complaints.

    Args:
        names: of mechanisms or parts; everything if there are none.
        extent: the size of the audit.
        report: where the page with the evidence is written, .html or .json.
        as_json: whether JSON is printed in place of tables.
        console: where to print.

    """
    if report is not None:
        # A whole run takes an hour: a page that could not be written is refused before it.
        page_target(report)
    screen = Console() if console is None else console
    if not screen.is_terminal:
        screen.width = max(screen.width, _NARROWEST)
    run = _with_progress(names, extent, screen, is_quiet=as_json)
    sheets = [sheet for sheet in (unshown_of(run), specimens_of(run), mutants_of(run)) if sheet.rows]
    page = None
    if report is not None:
        page = write_report(
            report,
            run.accounts,
            false_alarm=extent.false_alarm,
            notes=[*run.notes, *run.complaints],
            sheets=[figures_of(run), *sheets],
        )
    if as_json:
        screen.print_json(json.dumps(_plain(run)))
        return int(bool(run.complaints))
    for sheet in (instances_of(run.accounts), *sheets):
        if sheet.rows:
            screen.print(table_of(sheet))
    for note in run.notes:
        screen.print(note, highlight=False, markup=False)
    for complaint in run.complaints:
        screen.print(complaint, style="red", markup=False, soft_wrap=True)
    screen.print(table_of(figures_of(run)))
    if page is not None:
        screen.print(f"the evidence is in {page}", highlight=False, markup=False, soft_wrap=True)
    return int(bool(run.complaints))


def table_of(sheet: Sheet) -> Table:
    """Return a sheet for the terminal; bad rows are red."""
    table = Table(title=sheet.title, title_justify="left")
    for heading in sheet.headings:
        table.add_column(heading, overflow="fold")
    for place, row in enumerate(sheet.rows):
        table.add_row(*map(_escaped, row), style="red" if place in sheet.bad else None)
    return table


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")


def _with_progress(names: Sequence[str], extent: Extent, console: Console, *, is_quiet: bool) -> Run:
    done_so_far = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TaskProgressColumn())
    columns = (*done_so_far, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=is_quiet) as progress:
        bar = progress.add_task("", total=None)

        def advance(done: int, total: int, name: str) -> None:
            progress.update(bar, completed=done, total=total, description=name)
            if not console.is_terminal and not is_quiet and (done % 10 == 0 or done == total):
                console.print(f"{done} of {total} done, {name}", highlight=False)

        def complain(complaint: str) -> None:
            if not is_quiet:
                console.print(complaint, style="red", markup=False, soft_wrap=True)

        return run_all(names, extent, advance, complain)


def _plain(run: Run) -> dict[str, object]:
    figures = {name: [tried, more] for name, tried, more in figures_of(run).rows}
    return {
        "figures": figures,
        "accounts": [one.to_dict() for one in run.accounts],
        "specimens": run.specimens,
        "mutants": run.mutants,
        "complaints": run.complaints,
        "notes": run.notes,
        "seconds": run.seconds,
    }
