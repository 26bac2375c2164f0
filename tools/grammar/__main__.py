"""``python -m tools.grammar [--many 2000] [--seed N] [--show]``: try random statements, print what is not the same."""

from __future__ import annotations

import argparse
import secrets
from collections import Counter

from dither.data.engines.protocol import connect
from tools.grammar.compare import judged
from tools.grammar.statements import statements
from tools.grammar.world import dataset, frames


def main() -> int:
    """Return 0 if nothing raised and every answer is DuckDB's."""
    parser = argparse.ArgumentParser(prog="python -m tools.grammar")
    parser.add_argument("--many", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--show", action="store_true", help="print refusals as well")
    given = parser.parse_args()
    verdicts: Counter[str] = Counter()
    print(f"seed {given.seed}")
    with connect(dataset(), frames=frames()) as engine:
        for place, statement in enumerate(statements(given.seed, given.many)):
            outcome = judged(statement, engine)
            verdicts[outcome.verdict] += 1
            if outcome.verdict in ("other", "raised") or (given.show and outcome.verdict != "same"):
                print(f"[{place}] {outcome.verdict}: {outcome.said}\n    {statement.text}")
    print(", ".join(f"{many} {verdict}" for verdict, many in sorted(verdicts.items())))
    return 1 if verdicts["other"] or verdicts["raised"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
