"""No run of six or more identical lines stands in two rooms: what two rooms need is written once, in a room below both.

Blank lines, comments, docstrings, imports and lines without a letter do not count. The header of a function counts as
one line, however it is broken: what an interface asks for has to be spelled out wherever it is met. A room is a
folder of the package; within ``publish`` and ``learn`` it is a folder of theirs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import dither

SOURCE = Path(dither.__file__).parent
LEAST = 6
_QUOTES = ('"""', 'r"""')


def room_of(path: str) -> str:
    """Return the room of a file, given its path below the package."""
    parts = Path(path).parts
    deep = 2 if parts[0] in {"publish", "learn"} and len(parts) > 2 else 1
    return "/".join(parts[:deep]).removesuffix(".py")


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that count, without the space around them, each with its number."""
    until, header = "", ""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if header:
            header += line
            if line.endswith(":"):
                yield number, header
                header = ""
        elif until:
            until = "" if line.endswith(until) else until
        elif line.startswith("def ") and not line.endswith(":"):
            header = line
        elif line.startswith(_QUOTES):
            until = "" if line.count('"""') > 1 else '"""'
        elif line.startswith(("import ", "from ")):
            until = ")" if line.endswith("(") else ""
        elif re.search(r"[A-Za-z]", line) and not line.startswith("#"):
            yield number, line


def shared_runs(files: Mapping[str, str]) -> list[str]:
    """Return runs of lines that stand in two rooms, one description for each two files."""
    places: dict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for path, text in files.items():
        found = list(code_lines(text))
        for first in range(len(found) - LEAST + 1):
            run = tuple(line for _, line in found[first : first + LEAST])
            places[run].setdefault(path, found[first][0])
    shared: dict[tuple[str, str], str] = {}
    for run, where in places.items():
        one, *others = where
        for other in others:
            if room_of(one) != room_of(other):
                shared.setdefault((one, other), f"{one}:{where[one]} and {other}:{where[other]}: {run[0]}")
    return list(shared.values())


def test_no_run_of_lines_stands_in_two_rooms() -> None:
    files = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    found = shared_runs(files)
    assert not found, "\n".join(["write it once, in a room below both:", *sorted(found)])


def test_a_run_in_two_rooms_is_found_and_what_does_not_count_is_not() -> None:
    lines = [f"x{place} = {place}" for place in range(LEAST)]
    run = "\n\n# why\n".join(lines)
    padded = f'"""Docstring.\n\nOf two lines.\n"""\nfrom a import (\n    b,\n)\n{run}\n'
    indented = "def f():\n    '''x'''\n" + "\n".join(f"    {line}" for line in lines)
    assert len(shared_runs({"noise/a.py": padded, "exact/b.py": indented})) == 1
    assert len(shared_runs({"learn/trees/a.py": run, "learn/bayes/b.py": run})) == 1
    assert not shared_runs({"noise/a.py": run, "noise/b.py": run})
    assert not shared_runs({"learn/trees/a.py": run, "learn/trees/b.py": run})
    assert not shared_runs({"noise/a.py": run, "exact/b.py": "\n".join(lines[1:])})
    header = "def f(\n" + "\n".join(f"    {line}," for line in lines) + "\n) -> None:\n    return 1\n"
    assert not shared_runs({"noise/a.py": header, "exact/b.py": header})
    assert len(shared_runs({"noise/a.py": header + run, "exact/b.py": header + "\n".join(lines[:-1])})) == 1
    texts = '"""\n' + run + '\n"""\n'
    assert not shared_runs({"noise/a.py": texts, "exact/b.py": texts})
