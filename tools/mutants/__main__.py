"""``python -m tools.mutants``: plant every mutant, or those with the numbers given, and print what killed it."""

from __future__ import annotations

import sys

from tools.mutants import MUTANTS, try_mutants


def main(numbers: list[str]) -> int:
    """Try the mutants, print a line for each, and return 1 if one survived."""
    wanted = [MUTANTS[int(number)] for number in numbers] or list(MUTANTS.values())
    survived = 0
    for trial in try_mutants(wanted):
        survived += not trial.is_killed
        print(f"{trial.mutant.number}. {trial.mutant.name}: {trial.outcome}; {trial.complaint}")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
