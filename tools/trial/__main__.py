"""Run the trial, print what became of every mistake, and exit with 1 where something misses."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tools.trial.answers import ANSWERS, MOST_ANSWERS, first_table
from tools.trial.mistakes import MISTAKES, try_mistakes


def run() -> int:
    """Return how many things miss."""
    with tempfile.TemporaryDirectory() as folder:
        problem = first_table(Path(folder).resolve())
    print(f"answers from a file to a private table: {len(ANSWERS)} (at most {MOST_ANSWERS}) {problem or 'ok'}")
    with tempfile.TemporaryDirectory() as folder:
        outcomes = try_mistakes(MISTAKES, Path(folder).resolve())
    missed = [one for one in outcomes if one.problem]
    for one in outcomes:
        print(f"{'MISS' if one.problem else 'ok':4}  {one.code:>3}  {one.mistake.what}")
        if one.problem:
            print(f"           {one.problem}: {' '.join(one.said.split())[:400]}")
    print(f"{len(outcomes) - len(missed)} of {len(outcomes)} mistakes are refused free with the next thing to type")
    return len(missed) + bool(problem)


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
