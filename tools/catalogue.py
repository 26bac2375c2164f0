"""Write the tables of algorithms, ``docs/algorithms/index.md``, from the registry, and mark pages of literature.

``python tools/catalogue.py`` writes them; with ``--check`` it writes nothing and exits 1 when a committed page is
stale.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from dither.mechanisms import Entry, registered
from dither.privacy import Distance, Metric

PAGE = Path(__file__).resolve().parents[1] / "docs" / "algorithms" / "index.md"

_HEADER = """---
hide:
  - toc
---

# Algorithms

The mechanisms of this package, by name. The tables are written from the registry by `python tools/catalogue.py`; a test
fails when they are stale. Below them are those that are there [as literature](#reference).

"""
_REFERENCE = """
## Reference

These are there as literature: sound, checked and audited like the others, and released by whoever asks for them by
name. For nearly every purpose something above is better; each page says what is left. `auto`, `choose` and short lists
leave them out, and `make audit` tries them less.

"""
_TITLES = """| name | what it does | loss | distance | numerics | source |
| --- | --- | --- | --- | --- | --- |
"""
#: The line on the page of a mechanism that is there as literature.
MARK = "**Reference.** Here as literature: released by its name alone, left out of `auto` and of short lists."
_MARKED = re.compile(rf"{re.escape(MARK)}\n\n")
_BELOW = re.compile(r"^Rests on: [^\n]*\n\n", re.MULTILINE)

_LEGEND = """
- **Loss**: a loss of kind *pure* has an epsilon, one of kind *zcdp* a rho ([losses](../theory/losses.md)).
- **Distance**: what `d_in` counts. {distances}
- **Numerics**: how the guarantee is known to survive arithmetic ([the guarantee](../guarantee.md)).
"""


def table() -> str:
    """Return the whole page."""
    own = [entry for entry in registered().values() if entry.mechanism.__module__.startswith("dither.")]
    metrics = {
        distance.name: distance for entry in own for distance in _distances(entry) if isinstance(distance, Metric)
    }
    meanings = "; ".join(f"{name}: {metrics[name]}" for name in sorted(metrics))
    chosen, literature = ([entry for entry in own if entry.is_reference is kind] for kind in (False, True))
    parts = (_HEADER, _rows(chosen), _REFERENCE, _rows(literature), _LEGEND.format(distances=f"{meanings}."))
    return "".join(parts)


def _rows(entries: Iterable[Entry]) -> str:
    return _TITLES + "".join(f"| {' | '.join(map(_cell, row(entry)))} |\n" for entry in entries)


def marked(text: str, *, is_reference: bool) -> str:
    """Return a page with the mark of literature below what it rests on, or without it."""
    plain = _MARKED.sub("", text)
    return _BELOW.sub(lambda line: f"{line[0]}{MARK}\n\n", plain, count=1) if is_reference else plain


def pages() -> dict[Path, str]:
    """Return the tables, and the pages of mechanisms as they should be."""
    found = {PAGE: table()}
    for name, entry in registered().items():
        path = PAGE.with_name(f"{name}.md")
        if path.is_file():
            found[path] = marked(path.read_text(encoding="utf-8"), is_reference=entry.is_reference)
    return found


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
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a committed page is stale")
    is_check: bool = parser.parse_args(arguments).check
    stale = {
        path: fresh
        for path, fresh in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != fresh
    }
    for path, fresh in stale.items():
        if is_check:
            print(f"stale: docs/algorithms/{path.name}; run python tools/catalogue.py")
        else:
            path.write_text(fresh, encoding="utf-8")
    return int(is_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
