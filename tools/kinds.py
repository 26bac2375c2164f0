"""Count the modules that know a kind of data although they are not its own; the numbers may only fall.

``python tools/kinds.py`` prints them and fails where there are more than ``MOST`` says. A kind is known in its own
modules, whose names say so. Another module of the rooms that carry declared data knows graphs where it imports one of
their modules or units, or reads a table's ``graph``, or names the kind; see ``dither.data.kinds`` for how not to.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "dither"
#: The rooms through which declared data goes, from its schema to the screen.
ROOMS = ("__init__.py", "cli", "curator", "data", "lift", "publish", "service", "verbs")


@dataclass(frozen=True)
class Signs:
    """How a module shows that it knows a kind.

    Args:
        own: words in the names of modules that are the kind's own.
        attributes: that are read off a table or a data set.
        units: names in ``dither.privacy``.
        texts: whole texts.

    """

    own: frozenset[str]
    attributes: frozenset[str]
    units: frozenset[str]
    texts: frozenset[str]


SIGNS = {
    "graph": Signs(
        frozenset({"graph", "graphs", "edge", "edges"}),
        frozenset({"graph", "is_graph"}),
        frozenset({"EDGE", "NODE", "WEIGHT"}),
        frozenset({"graph", "edge", "node"}),
    ),
}
#: Other things of the same name, with the reason.
OTHERS = {
    "data/policies.py": "the graph of a policy, which joins public cells",
    "cli/disguise_numbers.py": "weighted networks of disguise, which no schema declares",
    "lift/policies.py": "the graph of a policy, which joins public cells",
    "publish/retrieval/sent.py": "nodes of a tree of keys",
}
#: How many modules know a kind at most. Lower a number when it has fallen; never raise one.
MOST = {"graph": 14}


def knowing(kind: str, source: Path = SOURCE) -> list[str]:
    """Return the modules outside a kind's own that know it, by their path below ``source``."""
    signs = SIGNS[kind]
    found = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source)
        if name.parts[0] not in ROOMS or name.as_posix() in OTHERS or signs.own & _words(name.with_suffix("")):
            continue
        if any(_signs(ast.parse(path.read_text(encoding="utf-8")), signs)):
            found.append(name.as_posix())
    return found


def _words(path: Path) -> set[str]:
    return {word for part in path.parts for word in part.split("_")}


def _signs(tree: ast.Module, signs: Signs) -> Iterator[bool]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            room, _, names = node.module.removeprefix("dither.").partition(".")
            # What a module of publish shares with others is no knowledge of how data is declared.
            words = set(re.split(r"[._]", names)) | ({one.name for one in node.names} if not names else set())
            yield room in ("cli", "curator", "data", "lift", "verbs") and bool(signs.own & words)
            yield any(room in ("cli", "curator", "data", "lift") and one.name in signs.own for one in node.names)
            yield room == "privacy" and any(one.name in signs.units for one in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr in signs.attributes
        elif isinstance(node, ast.Constant):
            yield isinstance(node.value, str) and node.value in signs.texts


def main() -> int:
    """Print the modules by kind; return 1 where there are too many."""
    too_many = False
    for kind, most in MOST.items():
        found = knowing(kind)
        too_many |= len(found) > most
        print(f"{kind}: {len(found)} modules, of at most {most}", *found, sep="\n  ")
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
