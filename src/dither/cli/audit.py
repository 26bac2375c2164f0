"""``dither audit NAME``: try to refute a promise from outputs, and show the evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from dither.audit import Verdict, pairs_of, self_test, subjects_of
from dither.audit.accounts import Account, account
from dither.audit.everything import PARTS, Extent
from dither.audit.report import write_report
from dither.audit.subjects import Subject
from dither.audit.telling import audit_and_tell
from dither.cli.console import console, print_json, say
from dither.cli.options import Json, loss_asked
from dither.cli.outputs import Output, check_outputs, keep_known
from dither.cli.progress import share
from dither.cli.tables import print_table
from dither.errors import InvalidParameter
from dither.mechanisms import Example
from dither.privacy import Loss

_FALSE_ALARM = 1e-6
# About this number of pairs of each example are tried again in full.
_IN_FULL = 2
_SECONDS_A_PAIR = 8.0
_SAMPLES, _REPLAYS = 200_000, 200


def audit(
    name: Annotated[
        str,
        typer.Argument(
            help="A mechanism; 'all'; 'noise', 'minima', 'accountants', 'queries', 'engines', 'designs', "
            "'neighbours', 'budgets', 'correlations', 'specimens' or 'mutants'; or module:thing or file.py:thing: a "
            "class, an Example or a function."
        ),
    ],
    samples: Annotated[
        int | None,
        typer.Option(help="Outputs on each side of each pair: 200,000 for one mechanism, a million for all.", min=1000),
    ] = None,
    replays: Annotated[
        int | None, typer.Option(help="Hostile pairs on which a composed mechanism is replayed: 200, or 1,000.", min=1)
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="After which nothing more of 'all' is begun.", min=0)] = None,
    processes: Annotated[int | None, typer.Option(help="That work at the same time on 'all'.", min=1)] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write the evidence, .html or .json.")] = None,
    value: Annotated[str | None, typer.Option(help="An input of a plain function, as JSON.")] = None,
    neighbour: Annotated[str | None, typer.Option(help="Its neighbour, as JSON.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="What a plain function promises.")] = None,
    delta: Annotated[str | None, typer.Option(help="The delta of that promise.")] = None,
    rho: Annotated[str | None, typer.Option(help="The rho of that promise, in place of epsilon.")] = None,
    as_json: Json = False,
) -> None:
    """Try to refute a mechanism's promise from its outputs; exit 1 if that succeeds."""
    written = [] if report is None else [Output("report", report, (".html", ".json"))]
    check_outputs(written)
    keep_known(written)
    status = run(
        name,
        samples=samples,
        as_json=as_json,
        report=report,
        claim=loss_asked(epsilon=epsilon, delta=delta, rho=rho),
        pairs=pair_from(value, neighbour),
        replays=replays,
        minutes=minutes,
        processes=processes,
    )
    raise typer.Exit(status)


def run(
    name: str,
    *,
    samples: int | None,
    as_json: bool,
    report: Path | None = None,
    claim: Loss | None = None,
    pairs: Sequence[tuple[Any, Any]] = (),
    replays: int | None = None,
    minutes: float | None = None,
    processes: int | None = None,
) -> int:
    """Audit one mechanism, all of them, the noise, or something of your own; return 1 if any promise was refuted.

    Args:
        name: of a mechanism; ``all``; one of the parts of ``python -m dither.audit``; or ``module:thing`` or
            ``file.py:thing``.
        samples: outputs on each side of each pair; 200,000 for one mechanism, and a million for all.
        as_json: whether JSON is printed.
        report: where the page with the evidence is written, .html or .json.
        claim: what a plain function promises.
        pairs: neighbours for a plain function.
        replays: hostile pairs on which a composed mechanism is replayed; 200 for one mechanism, and 1,000 for all.
        minutes: for ``all``, after which nothing more is begun.
        processes: for ``all``, that work at the same time.

    """
    if name == "noise":
        return _noise(_SAMPLES if samples is None else samples, as_json=as_json)
    if name in ("all", *PARTS):
        # As ``python -m dither.audit``, with what was said here in place of what is usual there.
        said = {"samples": samples, "replays": replays, "minutes": minutes, "processes": processes}
        extent = replace(Extent(), **{each: given for each, given in said.items() if given is not None})  # type: ignore[arg-type]
        return audit_and_tell([name], extent, report=report, as_json=as_json, console=console)
    samples = _SAMPLES if samples is None else samples
    found = [(name, number, one) for number, one in enumerate(subjects_of(name, claim=claim, pairs=pairs))]
    verdicts: list[tuple[str, Verdict]] = []
    accounts: list[Account] = []
    with share(is_shown=not as_json) as progress:
        task = progress.add_task("", total=sum(_tests(one) for _, _, one in found))
        for each, number, one in found:
            progress.update(task, description=f"{each} {number}")
            accounts.append(
                account(
                    each,
                    number,
                    one,
                    samples=samples,
                    false_alarm=_FALSE_ALARM / len(found),
                    replays=_REPLAYS if replays is None else replays,
                    seconds=_SECONDS_A_PAIR,
                    progress=partial(_advance, progress, task, verdicts, each),
                )
            )
    is_bad, is_refuted = (any(map(of, accounts)) for of in (attrgetter("complaints"), attrgetter("is_refuted")))
    page = None if report is None else write_report(report, accounts, false_alarm=_FALSE_ALARM)
    if as_json:
        print_json([verdict.to_dict() | {"mechanism": each} for each, verdict in verdicts])
        return int(is_bad)
    print_table(_table(accounts))
    for complaint in (complaint for one in accounts for complaint in one.complaints):
        console.print(complaint, style="red", markup=False, soft_wrap=True)
    outcome = "[bold red]refuted[/]" if is_refuted else "[bold green]not refuted[/]"
    if is_bad and not is_refuted:
        outcome = "[bold red]not refuted, but with complaints[/]"
    console.print(
        f"{outcome}: {len(verdicts)} tests, up to {samples:,} outputs on each side, false alarm of all of them "
        f"together at most {_FALSE_ALARM:g}; {sum(one.replayed for one in accounts):,} pairs replayed. What an audit "
        "cannot refute it has not proved: see 'dither explain'."
    )
    if page is not None:
        say(f"the evidence is in {page}")
    return int(is_bad)


def pair_from(value: str | None, neighbour: str | None) -> list[tuple[Any, Any]]:
    """Return the two inputs given as JSON on the command line: one pair, or none if neither was given.

    >>> pair_from("[1, 2]", "[1]"), pair_from(None, None)
    ([([1, 2], [1])], [])
    """
    if value is None and neighbour is None:
        return []
    read = []
    for name, text in (("value", value), ("neighbour", neighbour)):
        try:
            read.append(json.loads(text or ""))
        except ValueError:
            raise InvalidParameter(name, text, "JSON, such as 3 or [1, 2], for both inputs") from None
    return [(read[0], read[1])]


def _noise(draws: int, *, as_json: bool) -> int:
    """Test the laws of the noise itself, and print what was seen and what could have been."""
    found = self_test(draws, false_alarm=_FALSE_ALARM)
    is_refuted = any(fit.is_refuted for fit, _ in found.values())
    if as_json:
        print_json(
            [
                {"law": name, "distance": fit.distance, "critical": fit.critical, "is_refuted": fit.is_refuted}
                | {"draws": fit.draws, "smallest_scale_error_seen": error}
                for name, (fit, error) in found.items()
            ]
        )
        return int(is_refuted)
    table = Table()
    for title in ("law", "distance", "allowed", "smallest error of scale that is seen", "verdict"):
        table.add_column(title, overflow="fold")
    for name, (fit, error) in found.items():
        verdict = "[red]refuted[/]" if fit.is_refuted else "[green]holds[/]"
        table.add_row(name, f"{fit.distance:.5f}", f"{fit.critical:.5f}", f"{error:.1%}", verdict)
    print_table(table)
    console.print(
        f"{draws:,} draws of each law, false alarm of all together at most {_FALSE_ALARM:g}. A pass does not show "
        "that noise is fresh, independent of the data, or of the scale that a promise needs."
    )
    return int(is_refuted)


def _tests(found: Example | Subject) -> int:
    """Return how many tests an audit of one instance makes: every pair in short, the most telling ones in full."""
    if isinstance(found, Subject):
        return len(found.pairs)
    count = len(pairs_of(found))
    return count + min(count, _IN_FULL)


def _advance(
    progress: Progress, task: TaskID, verdicts: list[tuple[str, Verdict]], name: str, verdict: Verdict
) -> None:
    verdicts.append((name, verdict))
    progress.advance(task)


def _table(accounts: list[Account]) -> Table:
    """Return what was found on each instance."""
    table = Table()
    for title in ("mechanism", "claim", "certified", "share", "outputs a side", "distinguishing event", "verdict"):
        table.add_column(title, overflow="fold")
    for one in accounts:
        table.add_row(
            one.name,
            one.claim,
            one.bound,
            "" if one.share is None else f"{one.share:.3f}",
            f"{one.samples:,}",
            one.event,
            f"[red]{one.verdict}[/]" if one.complaints else f"[green]{one.verdict}[/]",
        )
    return table
