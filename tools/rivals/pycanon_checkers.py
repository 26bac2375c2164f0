"""Figures of pycanon's checkers; run by the rivals' interpreter, never imported by dither.

The argument is a file of tables as JSON, each with two quasi-identifiers a and b and a sensitive column s. The last
line is a record of the figures of each table.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd
from pycanon import anonymity

QUASI, SENSITIVE = ["a", "b"], ["s"]


def figures(table: dict[str, list[object]]) -> dict[str, object]:
    """Return all figures of one table."""
    frame = pd.DataFrame(table)
    alpha, _ = anonymity.alpha_k_anonymity(frame, QUASI, SENSITIVE)
    c, l = anonymity.recursive_c_l_diversity(frame, QUASI, SENSITIVE)  # noqa: E741
    return {
        "k": int(anonymity.k_anonymity(frame, QUASI)),
        "distinct": int(anonymity.l_diversity(frame, QUASI, SENSITIVE)),
        "entropy": int(anonymity.entropy_l_diversity(frame, QUASI, SENSITIVE)),
        "alpha": float(alpha),
        "recursive": [float(c), float(l)],
        "t": float(anonymity.t_closeness(frame, QUASI, SENSITIVE)),
        "beta": float(anonymity.basic_beta_likeness(frame, QUASI, SENSITIVE)),
        "delta": float(anonymity.delta_disclosure(frame, QUASI, SENSITIVE)),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([figures(table) for table in json.loads(Path(sys.argv[1]).read_text())]))
