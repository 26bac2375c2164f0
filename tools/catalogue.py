"""Write everything that follows from what is registered, so that a mechanism is a module, a page and a test.

That is: the exports of its room (``tools/exports.py``), the tables of algorithms by task, name and source, the mark
of literature on pages, and the pages in the navigation of ``mkdocs.yml``.
``python tools/catalogue.py`` writes them; with ``--check`` it writes nothing and exits 1 when a file is stale.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

# Also where this file is run as a script.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dither.cli.sources import STATES, WORKS, Item, elsewhere, items
from dither.mechanisms import Entry, registered
from dither.mechanisms.core.tasks import all_tasks
from dither.privacy import Distance, Metric
from tools.exports import completed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "algorithms" / "index.md"
ALPHABET = PAGE.parents[1] / "alphabet.md"
SOURCES = PAGE.parents[1] / "sources.md"
NAVIGATION = PAGE.parents[2] / "mkdocs.yml"

_HEADER = """---
hide:
  - toc
---

# Algorithms by task

What do you want to release? Each task has a table: what comes first is taken first, with one sentence on when. The
pages behind the names have the guarantee, its proof and its source. At the terminal, `dither catalog --task median`
shows one of the tables, `dither catalog wavelet` searches. All mechanisms [by name](../alphabet.md) have a page of
their own. What the literature describes, and what differs here, is [another table](../sources.md).

The tables are written from the registry and from `dither.mechanisms.core.tasks` by `python tools/catalogue.py`; a test
fails when they are stale.

| I want to release ... | take first |
| --- | --- |
"""
_REFERENCE = """
## Reference

These are there as literature: sound, checked and audited like the others, and released by whoever asks for them by
name. For nearly every purpose something above is better; each page says what is left. `auto`, `choose` and short lists
leave them out, and `make audit` tries them less.

"""
_ALPHABET = """---
hide:
  - toc
---

# Algorithms by name

The mechanisms of this package, by name; to choose one, see the table [by task](algorithms/index.md). Below them are
those retained [as literature](#reference).

"""
_SOURCES = """---
hide:
  - toc
---

# What the literature describes

Five works describe the field from end to end. Here is everything in them, one row each: whether it is here, where, and
what differs from what they print. *There* may still be otherwise than printed: where print was not private, the sound
version is what is offered. *Partly* names what is missing. Mechanisms from other works are at
[the end](#from-other-works).

{works}

{counts} At the terminal: `dither catalog --sources`, with a word to search for, and `--json` for programs.

The rows are written by hand in `src/dither/cli/sources.yaml`, this page from them by `python tools/catalogue.py`. A
test holds every name in them.
"""
_SOURCE_TITLES = """| id | what | printed in | state | where | what differs from print |
| --- | --- | --- | --- | --- | --- |
"""
_FROM_ELSEWHERE = """
## From other works

Later works, baselines and parts, which none of the five describes by name.

| name | source |
| --- | --- |
"""
_TITLES = """| name | what it does | loss | distance | numerics | source |
| --- | --- | --- | --- | --- | --- |
"""
_TASK_TITLES = """| name | when to take it | loss | distance | numerics |
| --- | --- | --- | --- | --- |
"""
#: The line on the page of a mechanism that is there as literature.
MARK = "**Reference.** Here as literature: released by its name alone, left out of `auto` and of short lists."
_MARKED = re.compile(rf"{re.escape(MARK)}\n\n")
_BELOW = re.compile(r"^Rests on: [^\n]*\n\n", re.MULTILINE)

_PAGES = re.compile(
    r"((^ *)# A line for every page of docs/algorithms, by title: written by tools/catalogue.py\n)"
    r"(?:^\2- .*\n)*?(^\2# Up to here\n)",
    re.MULTILINE,
)
_NEEDS_QUOTES = re.compile(r"[:#\"'\[\]{}&*!|>%@`]|^[-?,]")
_LEGEND = """
- **Loss**: a loss of kind *pure* has an epsilon, one of kind *zcdp* a rho ([losses]({above}theory/losses.md)).
- **Distance**: what `d_in` counts. {distances}
- **Numerics**: how the guarantee is known to survive arithmetic ([the guarantee]({above}guarantee.md)).
"""


def by_task() -> str:
    """Return the page of all tasks."""
    known = registered()
    parts = [_HEADER]
    for name, task in all_tasks().items():
        first = ", ".join(f"[{method}]({method}.md)" for method in list(task.methods)[:3])
        parts.append(f"| [{_cell(task.wish)}](#{name}) | {first} |\n")
    for name, task in all_tasks().items():
        parts.append(f"\n## {name.capitalize()}\n\nI want to release {task.wish}.")
        parts.append(f" By: {_code(task.door)}.\n\n" if task.door else "\n\n")
        rows = ([*row(known[method])[:1], said, *row(known[method])[2:5]] for method, said in task.methods.items())
        parts.append(_TASK_TITLES + _lines(rows))
    literature = [entry for entry in _own() if entry.is_reference]
    names = ", ".join(f"[{entry.name}]({entry.name}.md)" for entry in literature)
    return "".join([*parts, _REFERENCE, f"{names}.\n", _legend("../")])


def alphabet() -> str:
    """Return the page of all names."""
    tables = []
    for kind in (False, True):
        rows = (row(entry, "algorithms/") for entry in _own() if entry.is_reference is kind)
        tables.append(_TITLES + _lines(rows))
    return "".join((_ALPHABET, tables[0], _REFERENCE, tables[1], _legend("")))


def by_source() -> str:
    """Return the page of what the literature describes."""
    all_items = items()
    works = "\n".join(f"- *{word}*: {title}." for word, title in WORKS.items())
    counts = ", ".join(f"{sum(item.state == state for item in all_items)} {state}" for state in STATES)
    parts = [_SOURCES.format(works=works, counts=f"{len(all_items)} items: {counts}.")]
    for subject in dict.fromkeys(item.subject for item in all_items):
        rows = (_source_row(item) for item in all_items if item.subject == subject)
        parts.append(f"\n## {subject[:1].upper()}{subject[1:]}\n\n{_SOURCE_TITLES}{_lines(rows)}")
    known = registered()
    rest = ([f"[{name}](algorithms/{name}.md)", known[name].source] for name in elsewhere())
    return "".join([*parts, _FROM_ELSEWHERE, _lines(rest)])


def _source_row(item: Item) -> list[str]:
    """Return the cells of one item; what is there is named with links to its pages."""
    shown = [f"[{name}](algorithms/{name}.md)" for name in item.mechanisms]
    shown += [f"`dither.{name}`" for name in item.code]
    shown += [f"specimen [{name}](specimens.md)" for name in item.specimens]
    shown += [f"attack [{name}](attacks.md)" for name in item.attacks]
    shown += [f"`{name}`" for name in item.tools]
    if item.page and item.page not in {f"algorithms/{name}.md" for name in item.mechanisms}:
        shown.append(f"[page]({item.page})")
    return [item.id, item.name, item.printed, item.state, ", ".join(shown), item.differs]


def _own() -> list[Entry]:
    return [entry for entry in registered().values() if entry.mechanism.__module__.startswith("dither.")]


def _legend(above: str) -> str:
    metrics = {each.name: each for entry in _own() for each in _distances(entry) if isinstance(each, Metric)}
    meanings = "; ".join(f"{name}: {metrics[name]}" for name in sorted(metrics))
    return _LEGEND.format(distances=f"{meanings}.", above=above)


def _lines(rows: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(map(_cell, cells))} |\n" for cells in rows)


def _code(door: str) -> str:
    """Return a door with what is typed in it marked as such."""
    return re.sub(r"(dither [a-z]+(?: (?:histogram|workload|marginals))?|(?:session|dither)[.][\w.]+)", r"`\1`", door)


def marked(text: str, *, is_reference: bool) -> str:
    """Return a page with the mark of literature below what it rests on, or without it."""
    plain = _MARKED.sub("", text)
    return _BELOW.sub(lambda line: f"{line[0]}{MARK}\n\n", plain, count=1) if is_reference else plain


def pages() -> dict[Path, str]:
    """Return the tables, and the pages of mechanisms as they should be."""
    found = {PAGE: by_task(), ALPHABET: alphabet(), SOURCES: by_source()}
    found[NAVIGATION] = navigation(NAVIGATION.read_text(encoding="utf-8"))
    for name, entry in registered().items():
        path = PAGE.with_name(f"{name}.md")
        if path.is_file():
            found[path] = marked(path.read_text(encoding="utf-8"), is_reference=entry.is_reference)
    return found


def navigation(text: str) -> str:
    """Return the settings of the site with a line for every page of a mechanism, by title, between two comments."""
    titles = {
        path.name: path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        for path in PAGE.parent.glob("*.md")
        if path != PAGE
    }
    ordered = sorted(titles, key=lambda name: (titles[name].casefold(), name))
    shown = (f'"{titles[name]}"' if _NEEDS_QUOTES.search(titles[name]) else titles[name] for name in ordered)
    lines = [f"{title}: algorithms/{name}\n" for title, name in zip(shown, ordered, strict=True)]
    found, count = _PAGES.subn(
        lambda match: match[1] + "".join(f"{match[2]}- {line}" for line in lines) + match[3], text
    )
    if count != 1:
        raise SystemExit("mkdocs.yml: the two comments around the pages of docs/algorithms are gone")
    return found


def row(entry: Entry, folder: str = "") -> list[str]:
    """Return the cells of one mechanism; what depends on parameters is listed for all its examples.

    Args:
        entry: the mechanism.
        folder: in which its page is, seen from the table.

    """
    losses = dict.fromkeys(example.mechanism.loss(1).kind for example in entry.examples())
    named = (distance.name if isinstance(distance, Metric) else str(distance) for distance in _distances(entry))
    return [
        f"[{entry.name}]({folder}{entry.name}.md)",
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
    """Write what is stale, or check that nothing is."""
    parser = argparse.ArgumentParser(description="Write everything that follows from what is registered.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a committed file is stale")
    is_check: bool = parser.parse_args(arguments).check
    # Rooms first: what no room imports is not registered.
    stale = completed()
    if stale and not is_check:
        _write(stale)
        # In a new interpreter, which imports the rooms as they are now.
        return subprocess.run([sys.executable, __file__], check=False).returncode
    stale |= {
        path: fresh
        for path, fresh in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != fresh
    }
    if is_check:
        for path in stale:
            print(f"stale: {path.relative_to(PAGE.parents[2])}; run python tools/catalogue.py")
        return int(bool(stale))
    _write(stale)
    return 0


def _write(texts: Mapping[Path, str]) -> None:
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
