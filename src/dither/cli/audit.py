"""``dither audit NAME``: try to refute a promise from outputs."""

from __future__ import annotations

from functools import partial

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from dither.audit import Verdict, audit_registered, pairs_of
from dither.cli.console import console, print_json
from dither.mechanisms import find, registered

_FALSE_ALARM = 1e-6
# About so many pairs of each example are tried again in full.
_IN_FULL = 2


def run(name: str, *, samples: int, as_json: bool) -> int:
    """Audit one mechanism, or all of them; return 1 if any promise was refuted."""
    names = list(registered()) if name == "all" else [find(name).name]
    verdicts: list[tuple[str, Verdict]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=as_json) as progress:
        task = progress.add_task("", total=sum(map(_tests, names)))
        for each in names:
            progress.update(task, description=each)
            advance = partial(_advance, progress, task)
            found = audit_registered(each, samples, advance, false_alarm=_FALSE_ALARM / len(names))
            verdicts += [(each, verdict) for verdict in found]
    refuted = any(verdict.is_refuted for _, verdict in verdicts)
    if as_json:
        print_json([verdict.to_dict() | {"mechanism": each} for each, verdict in verdicts])
        return int(refuted)
    console.print(_table(verdicts))
    outcome = "[bold red]refuted[/]" if refuted else "[bold green]not refuted[/]"
    console.print(
        f"{outcome}: {len(verdicts)} tests, up to {samples:,} outputs on each side, false alarm of all of them "
        f"together at most {_FALSE_ALARM:g}. What an audit cannot refute it has not proved: see 'dither explain'."
    )
    return int(refuted)


def _tests(name: str) -> int:
    """Return how many tests an audit of one mechanism makes: every pair in short, the most telling ones in full."""
    counts = [len(pairs_of(example)) for example in find(name).examples()]
    return sum(count + min(count, _IN_FULL) for count in counts)


def _advance(progress: Progress, task: TaskID, verdict: Verdict) -> None:
    progress.advance(task)


def _table(verdicts: list[tuple[str, Verdict]]) -> Table:
    """Return the most telling verdict on each instance."""
    table = Table()
    for title in ("mechanism", "claim", "certified at least", "share", "the telling event", "verdict"):
        table.add_column(title, overflow="fold")
    strongest: dict[tuple[str, str], Verdict] = {}
    for name, verdict in verdicts:
        key = (name, verdict.subject)
        known = strongest.get(key)
        if known is None or _rank(verdict) > _rank(known):
            strongest[key] = verdict
    for (name, _), verdict in strongest.items():
        table.add_row(
            name,
            str(verdict.claim),
            f"{verdict.evidence.epsilon_lower:.4f}",
            "" if verdict.tightness is None else f"{verdict.tightness:.3f}",
            verdict.evidence.event,
            "[red]refuted[/]" if verdict.is_refuted else "[green]holds[/]",
        )
    return table


def _rank(verdict: Verdict) -> tuple[bool, float]:
    return verdict.is_refuted, verdict.tightness or 0.0
