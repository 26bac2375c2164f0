"""Add digests of new requests to ``tests/curator/request_digests.txt``; lines that are there stay as they are.

``python -m tools.digests`` says which cases of ``tests/curator/test_request_digests.py`` have no line, or another
digest than their line. ``--add`` writes the missing lines. A line is never changed: stored answers are found by it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

WRITTEN = Path(__file__).resolve().parents[1] / "tests" / "curator" / "request_digests.txt"
_BETWEEN = "  "


def read(path: Path = WRITTEN) -> dict[str, str]:
    """Return the digests that are written down, by the names of their cases."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = [(name, digest) for digest, _, name in (line.partition(_BETWEEN) for line in lines)]
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"two lines of {path.name} are about one case")
    return found


def changed(written: Mapping[str, str], made: Mapping[str, str]) -> list[str]:
    """Return the cases whose digest is not that of their line."""
    return sorted(name for name, digest in made.items() if written.get(name, digest) != digest)


def add(made: Mapping[str, str], path: Path = WRITTEN) -> list[str]:
    """Write the lines that are missing, and return the names of their cases; refuse to change a line.

    Args:
        made: the digests of all cases, by their names.
        path: the file.

    """
    written = read(path)
    if others := changed(written, made):
        raise ValueError(
            f"lines are never changed, and these digests are not those of their lines: {'; '.join(others)}"
        )
    lines = dict(made) | written
    path.write_text("".join(f"{lines[name]}{_BETWEEN}{name}\n" for name in sorted(lines)), encoding="utf-8")
    return sorted(made.keys() - written.keys())


def main() -> int:
    """Compare the cases with their lines, and add what is missing where that is asked for."""
    made: dict[str, str] = importlib.import_module("tests.curator.test_request_digests").digests()
    written = read()
    if others := changed(written, made):
        print("\n".join(["these requests have another digest than their line, which is never changed:", *others]))
        return 1
    missing = add(made) if "--add" in sys.argv[1:] else sorted(made.keys() - written.keys())
    print("\n".join([f"{len(missing)} lines {'added' if '--add' in sys.argv[1:] else 'missing'}", *missing]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
