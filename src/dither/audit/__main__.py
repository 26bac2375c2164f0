"""``python -m dither.audit``: audit everything that is registered, and say what was found.

Black box on every instance, replay of a thousand hostile pairs for every composed one, random compositions priced by
three independent routes, sensitivities of queries by brute force, and the laws of the noise. In two processes, within
an hour; it ends in one table and one page. Ends with status 1 when a claim is refuted, when something was not tried for
lack of time, or when a mechanism that is known to lose all it claims cannot be shown to lose nearly that: an audit
without power would pass anything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dither.audit.accounts import Account
from dither.audit.everything import Extent, run_all
from dither.audit.report import write_report


def main(arguments: list[str] | None = None) -> int:
    """Audit all that is registered, or what is named, print a table, write a page, and return the exit status."""
    usual = Extent()
    parser = argparse.ArgumentParser(prog="python -m dither.audit", description=__doc__)
    parser.add_argument("--samples", type=int, default=usual.samples, help="outputs for each of two neighbours")
    parser.add_argument("--replays", type=int, default=usual.replays, help="hostile pairs for each composed mechanism")
    parser.add_argument("--false-alarm", type=float, default=usual.false_alarm, help="of the whole run")
    parser.add_argument("--compositions", type=int, default=usual.compositions, help="for the accountants")
    parser.add_argument("--pairs", type=int, default=usual.pairs, help="neighbours for the sensitivities of queries")
    parser.add_argument("--draws", type=int, default=usual.draws, help="of each law of the noise")
    parser.add_argument("--minutes", type=float, default=usual.minutes, help="after which nothing more is begun")
    parser.add_argument("--processes", type=int, default=usual.processes, help="that work at the same time")
    parser.add_argument("--report", type=Path, default=Path("dither-audit.html"), help="the page, .html or .json")
    parser.add_argument("names", nargs="*", help="names or module:thing; by default all, and all that is below them")
    given = parser.parse_args(arguments)
    extent = Extent(
        samples=given.samples,
        replays=given.replays,
        compositions=given.compositions,
        pairs=given.pairs,
        draws=given.draws,
        false_alarm=given.false_alarm,
        minutes=given.minutes,
        processes=given.processes,
    )
    console = Console()
    console.width = max(console.width, 150)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=None)

        def advance(done: int, total: int, name: str) -> None:
            progress.update(bar, completed=done, total=total, description=name)
            if not console.is_terminal and (done % 10 == 0 or done == total):
                console.print(f"{done} of {total} done, {name}", highlight=False)

        run = run_all(given.names, extent, advance)
    console.print(table_of(run.accounts))
    for note in run.notes:
        console.print(note, highlight=False)
    for complaint in run.complaints:
        console.print(complaint, style="red", markup=False)
    page = write_report(given.report, run.accounts, false_alarm=given.false_alarm, notes=[*run.notes, *run.complaints])
    console.print(
        f"false alarm of the whole run at most {given.false_alarm:g}; {run.seconds:.0f} seconds; "
        f"{len(run.complaints)} complaints; the evidence is in {page}"
    )
    return 1 if run.complaints else 0


def table_of(accounts: list[Account]) -> Table:
    """Return one row for each instance."""
    table = Table("mechanism", "example", "claim", "shown")
    for column in ("share of claim", "outputs a side", "pairs", "replayed", "seconds"):
        table.add_column(column, justify="right")
    table.add_column("worst pair")
    table.add_column("verdict")
    for one in accounts:
        table.add_row(
            one.name,
            str(one.number),
            one.claim,
            one.bound,
            "" if one.share is None else f"{one.share:.3f}",
            f"{one.samples:,}",
            str(one.pairs),
            f"{one.replayed:,}" if one.replayed else "",
            f"{one.seconds:.1f}",
            one.pair,
            f"[red]{one.verdict}[/]" if one.complaints else f"[green]{one.verdict}[/]",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
