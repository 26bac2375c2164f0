"""``python -m dither.audit``: audit everything that is registered, and say what was found.

Then the accountants: random compositions, each priced by three independent routes; and the sensitivities of queries, by
brute force on hostile neighbours. Ends with status 1 when a claim is
refuted, or when a mechanism that is known to lose all it claims cannot be shown to lose nearly that: an audit without
power would pass anything.
"""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from rich.console import Console
from rich.table import Table

from dither.audit.accountants import audit_accountants
from dither.audit.blackbox import Verdict
from dither.audit.queries import brute_force
from dither.audit.runs import audit_example
from dither.mechanisms import Example, registered

#: On their worst pairs these lose exactly what they claim, in an event that is not rare.
TIGHT = frozenset({"geometric", "laplace", "permute-and-flip", "randomised-response"})
LEAST_TIGHTNESS = 0.95
#: Below so many samples a side chance alone hides a twentieth.
SAMPLES_FOR_POWER = 1_000_000


def main(arguments: list[str] | None = None) -> int:
    """Audit all that is registered, print a table, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m dither.audit", description=__doc__)
    parser.add_argument("--samples", type=int, default=2_000_000, help="draws for each of two neighbours")
    parser.add_argument("--false-alarm", type=float, default=1e-6, help="of the whole run")
    parser.add_argument("--compositions", type=int, default=10_000, help="random compositions for the accountants")
    parser.add_argument(
        "--pairs", type=int, default=100_000, help="hostile neighbours for the sensitivities of queries"
    )
    parser.add_argument("names", nargs="*", help="mechanisms to audit; by default all, and the accountants")
    given = parser.parse_args(arguments)
    console, start = Console(), perf_counter()
    console.width = max(console.width, 150)
    names = given.names or list(registered())
    examples = [(name, number, example) for name in names for number, example in _examples(name)]
    table = Table("mechanism", "example", "claim", title=f"{len(examples)} examples, {given.samples:,} samples a side")
    for column in ("lower bound", "share of claim", "samples", "pairs", "seconds"):
        table.add_column(column, justify="right")
    table.add_column("worst pair")
    table.add_column("verdict")
    failures: list[str] = []
    with console.status("") as status:
        for name, number, example in examples:
            status.update(f"{name} {number}")
            began = perf_counter()
            verdicts = list(audit_example(example, given.samples, false_alarm=given.false_alarm / len(examples)))
            if not verdicts:
                failures.append(f"{name} {number}: no pair of neighbours to audit it on")
                continue
            worst = max(verdicts, key=_rank)
            complaints = [str(verdict) for verdict in verdicts if verdict.is_refuted]
            if not complaints and _is_powerless(name, worst):
                complaints = [f"{name} {number}: the audit has no power, {worst}"]
            failures += complaints
            pairs = len({verdict.pair for verdict in verdicts})
            table.add_row(*_row(name, number, worst, pairs, perf_counter() - began, bool(complaints)))
    console.print(table)
    if not given.names:
        with console.status("") as status:
            agreement = audit_accountants(
                given.compositions, progress=lambda done: status.update(f"composition {done:,}")
            )
        console.print(str(agreement), highlight=False)
        failures += agreement.complaints
        with console.status("sensitivities of queries"):
            moved = {name: found for name, (found,) in brute_force(given.pairs).items()}
        least = min(found.tightness for found in moved.values())
        console.print(
            f"queries: {given.pairs:,} hostile pairs, {len(moved)} kinds of numbers; the largest change was at least "
            f"{least:.2f} of the declared sensitivity, of each kind",
            highlight=False,
        )
        failures += [f"{name} moved by more than its sensitivity" for name, found in moved.items() if found.is_exceeded]
    for failure in failures:
        console.print(failure, style="red", markup=False)
    console.print(
        f"false alarm of the whole run at most {given.false_alarm:g}; {perf_counter() - start:.0f} seconds; "
        f"{len(failures)} complaints"
    )
    return 1 if failures else 0


def _examples(name: str) -> list[tuple[int, Example]]:
    return list(enumerate(registered()[name].examples()))


def _rank(verdict: Verdict) -> tuple[bool, float, int]:
    return verdict.is_refuted, verdict.tightness or 0.0, verdict.evidence.samples


def _is_powerless(name: str, verdict: Verdict) -> bool:
    is_tight = name in TIGHT and verdict.claim.pure == 1 and verdict.evidence.samples >= SAMPLES_FOR_POWER
    return is_tight and (verdict.tightness or 0.0) < LEAST_TIGHTNESS


def _row(name: str, number: int, verdict: Verdict, pairs: int, seconds: float, is_bad: bool) -> list[str]:
    evidence = verdict.evidence
    at = f" at delta {evidence.delta:g}" if evidence.delta else ""
    return [
        name,
        str(number),
        str(verdict.claim),
        f"{evidence.epsilon_lower:.4f}{at}",
        "" if verdict.tightness is None else f"{verdict.tightness:.3f}",
        f"{evidence.samples:,}",
        str(pairs),
        f"{seconds:.1f}",
        verdict.pair,
        "[red]REFUTED[/]" if verdict.is_refuted else "[red]no power[/]" if is_bad else "[green]holds[/]",
    ]


if __name__ == "__main__":
    sys.exit(main())
