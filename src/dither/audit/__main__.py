"""``python -m dither.audit``: audit every registered mechanism, and report the findings.

Black box on every instance, replay of a thousand hostile pairs for every composed one, random compositions priced by
three independent routes, sensitivities of queries by brute force, on the reference engine and on the engines that run
the printed SQL, the laws of the noise, every specimen refuted and every mutant killed. In two processes, within an
hour; it ends in one table and one page. Ends with status 1 when a claim is refuted, when a task raised or was not tried
for lack of time, when a specimen withstands or a mutant survives, or when a mechanism that is known to lose all it
claims cannot be shown to lose nearly that: an audit without power would pass anything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dither.audit.everything import PARTS, Extent
from dither.audit.telling import audit_and_tell


def main(arguments: list[str] | None = None) -> int:
    """Audit everything registered, or the named mechanisms, print a table, write a page, and return the exit status."""
    usual = Extent()
    parser = argparse.ArgumentParser(prog="python -m dither.audit", description=__doc__)
    parser.add_argument("--samples", type=int, default=usual.samples, help="outputs for each of two neighbours")
    parser.add_argument("--replays", type=int, default=usual.replays, help="hostile pairs for each composed mechanism")
    parser.add_argument("--false-alarm", type=float, default=usual.false_alarm, help="of the whole run")
    parser.add_argument("--compositions", type=int, default=usual.compositions, help="for the accountants")
    parser.add_argument("--pairs", type=int, default=usual.pairs, help="neighbours for the sensitivities of queries")
    parser.add_argument("--random", type=int, default=usual.random, help="random neighbours for each class")
    parser.add_argument("--draws", type=int, default=usual.draws, help="of each law of the noise")
    parser.add_argument("--minutes", type=float, default=usual.minutes, help="after which nothing more is begun")
    parser.add_argument("--processes", type=int, default=usual.processes, help="that work at the same time")
    parser.add_argument("--report", type=Path, default=Path("dither-audit.html"), help="the page, .html or .json")
    parser.add_argument("names", nargs="*", help=f"names, module:thing, or {', '.join(PARTS)}; by default all")
    given = parser.parse_args(arguments)
    extent = Extent(
        samples=given.samples,
        replays=given.replays,
        compositions=given.compositions,
        pairs=given.pairs,
        draws=given.draws,
        random=given.random,
        false_alarm=given.false_alarm,
        minutes=given.minutes,
        processes=given.processes,
    )
    return audit_and_tell(given.names, extent, report=given.report)


if __name__ == "__main__":
    sys.exit(main())
