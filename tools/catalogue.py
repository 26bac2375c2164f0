"""Write the table of algorithms, ``docs/algorithms/index.md``, from the registry.

``python tools/catalogue.py`` writes it; with ``--check`` it writes nothing and exits 1 when the committed table is
stale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dither.mechanisms import Entry, registered
from dither.privacy import Distance, Metric

PAGE = Path(__file__).resolve().parents[1] / "docs" / "algorithms" / "index.md"

_HEADER = """---
hide:
  - toc
---

# Algorithms

All mechanisms of this package, by name. The table is written from the registry by `python tools/catalogue.py`; a test
fails when it is stale.

| name | what it does | loss | distance | numerics | source |
| --- | --- | --- | --- | --- | --- |
"""

_LEGEND = """
- **Loss**: a loss of kind *pure* has an epsilon, one of kind *zcdp* a rho ([losses](../theory/losses.md)).
- **Distance**: what `d_in` counts. {distances}
- **Numerics**: how the guarantee is known to survive arithmetic ([the guarantee](../guarantee.md)).
"""


def table() -> str:
    """Return the whole page."""
    own = [entry for entry in registered().values() if entry.mechanism.__module__.startswith("dither.")]
    rows = "".join(f"| {' | '.join(map(_cell, row(entry)))} |\n" for entry in own)
    metrics = {
        distance.name: distance for entry in own for distance in _distances(entry) if isinstance(distance, Metric)
    }
    meanings = "; ".join(f"{name}: {metrics[name]}" for name in sorted(metrics))
    return _HEADER + rows + _LEGEND.format(distances=f"{meanings}.")


def row(entry: Entry) -> list[str]:
    """Return the cells of one mechanism; what depends on parameters is listed for all its examples."""
    losses = dict.fromkeys(example.mechanism.loss(1).kind for example in entry.examples())
    named = (distance.name if isinstance(distance, Metric) else str(distance) for distance in _distances(entry))
    return [
        f"[{entry.name}]({entry.name}.md)",
        entry.summary,
        ", ".join(losses),
        ", ".join(dict.fromkeys(named)),
        entry.mechanism.numerics.value,
        entry.source,
    ]


def _distances(entry: Entry) -> list[Distance]:
    return list(dict.fromkeys(example.mechanism.distance for example in entry.examples()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


def main(arguments: list[str]) -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description="Write the table of algorithms from the registry.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the committed table is stale")
    is_check: bool = parser.parse_args(arguments).check
    written, fresh = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "", table()
    if is_check:
        if written != fresh:
            print("stale: docs/algorithms/index.md; run python tools/catalogue.py")
        return int(written != fresh)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
