"""``python -m tools.mutants``: plant every mutant, or those with the numbers given, and print what killed it.

``python -m tools.mutants --plants`` tries the plants instead: the whole contract and the whole audit run on each, and
kill rates are printed by family. It ends with status 1 when fewer than nine in ten of the live ones die.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.mutants import MUTANTS, try_mutants


def main(arguments: list[str] | None = None) -> int:
    """Try mutants, or plants, print a line for each, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--plants", action="store_true", help="plants, against contract and audit as they are")
    parser.add_argument("--processes", type=int, default=2, help="plants tried at the same time")
    parser.add_argument("--seconds", type=float, default=300.0, help="for one plant; beyond, it has survived")
    parser.add_argument("--minutes", type=float, default=None, help="after which no further plant is begun")
    parser.add_argument("--samples", type=int, default=20_000, help="outputs a side in the audit of a plant")
    parser.add_argument("--replays", type=int, default=60, help="hostile pairs replayed in the audit of a plant")
    parser.add_argument("--batch", type=int, choices=(1, 2), default=None, help="of plants; by default both")
    parser.add_argument("numbers", nargs="*", type=int, help="of mutants or plants; by default all")
    given = parser.parse_args(arguments)
    if given.plants:
        sizes = {name: getattr(given, name) for name in ("processes", "seconds", "minutes", "samples", "replays")}
        return _plants(given.numbers, given.batch, sizes)
    wanted = [MUTANTS[number] for number in given.numbers] or list(MUTANTS.values())
    survived = 0
    for trial in try_mutants(wanted):
        survived += not trial.is_killed
        print(f"{trial.mutant.number}. {trial.mutant.name}: {trial.outcome}; {trial.complaint}")
    return int(survived > 0)


def _plants(numbers: list[int], batch: int | None, sizes: dict[str, Any]) -> int:
    # Imported here: plants import most of the package.
    from tools.mutants.plants import NOT_LIVE, PLANTS, batch_of
    from tools.mutants.plants.trial import Tried, report, try_plants

    def tell(one: Tried) -> None:
        by = f" by the {one.killed_by}" if one.killed_by else ""
        print(
            f"{one.number}. {PLANTS[one.number].name}: {one.outcome}{by}, {one.seconds:.0f} s; {one.said}", flush=True
        )

    live = [one for one in PLANTS.values() if one.number not in NOT_LIVE]
    wanted = [PLANTS[number] for number in numbers] or [
        one for one in live if batch is None or batch_of(one.number) == batch
    ]
    tried = try_plants(wanted, progress=tell, **sizes)
    lines, status = report(tried)
    print("\n".join(["", *lines]))
    return status


if __name__ == "__main__":
    sys.exit(main())
