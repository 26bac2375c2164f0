"""Write ``CHANGELOG.md`` from fragments, so that branches side by side do not change the same lines.

A fragment is a file of ``changelog.d``: ``SLUG.CLASS.md``, in a folder of its area or in none, with one entry a line.
The class is one of privacy, added, changed and fixed. ``python tools/changelog.py`` writes the changelog; with
``--check`` it writes nothing, and exits 1 when the changelog is stale or a fragment is not in order.

``--adopt REVISION`` is for a branch that still wrote into ``CHANGELOG.md``: its entries that are new since the branch
left become fragments, also in the midst of a merge (``--adopt MERGE_HEAD``). ``--release VERSION DATE`` moves all
fragments into ``changelog.d/released/VERSION.md``, which stays as it is.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[1]
CLASSES: Final = ("privacy", "added", "changed", "fixed")
#: Folders of fragments, in the order of the changelog, and what stands above their entries.
AREAS: Final = {
    "": "",
    "sql": "SQL and queries",
    "data": "Tables, files and frames",
    "ledger": "Sessions, ledger and keys",
    "service": "The service",
    "local": "Local reports",
    "mechanisms": "Mechanisms and noise",
    "tables": "Histograms, workloads, marginals and synthetic tables",
    "learning": "Learning",
    "streams": "Streams and conversations",
    "graphs": "Graphs",
    "places": "Places",
    "disguise": "Disguise, which has no formal guarantee",
    "command": "Command and documentation",
    "python": "Python names",
    "checks": "Checks and audits",
}
#: The characters of an entry: a line that is read in one go. One of privacy says which releases, and by how much.
MOST: Final = {"privacy": 400, "added": 220, "changed": 220, "fixed": 220}
_RELEASED: Final = "released"
_HEADER: Final = """# Changelog

Each change has a class: **privacy**, **added**, **changed** or **fixed**. The first is for everything that makes a
promise of an earlier version wrong, or changes what a promise means: it states which releases are concerned, and by how
much. [docs/reviews.md](docs/reviews.md) describes what reviews found, and what went wrong.

This file is written from the fragments in `changelog.d` by `python tools/changelog.py`; do not edit it.
"""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.(?P<kind>[a-z]+)\.md")
_BEGINS = re.compile(r"[A-Z0-9`(*\"]")


@dataclass(frozen=True)
class Fragment:
    """A file of entries.

    Args:
        name: its path below the folder of fragments.
        text: what is in it.

    """

    name: str
    text: str

    @property
    def area(self) -> str:
        """The folder that it is in; nothing for none."""
        return self.name.rpartition("/")[0]

    @property
    def kind(self) -> str | None:
        """The class in its name, if there is one."""
        match = _NAME.fullmatch(self.name.rpartition("/")[2])
        return match["kind"] if match and match["kind"] in CLASSES else None

    @property
    def entries(self) -> list[str]:
        """Its lines that say something."""
        return [line for line in self.text.splitlines() if line.strip()]

    def complaints(self) -> Iterator[str]:
        """Yield what is not in order."""
        if self.area not in AREAS:
            yield f"{self.name}: no such area; there are: {', '.join(area for area in AREAS if area)}"
        if self.kind is None:
            yield f"{self.name}: the name must end with a class, such as .fixed.md; classes are: {', '.join(CLASSES)}"
            return
        if not self.entries:
            yield f"{self.name}: it says nothing"
        for number, entry in enumerate(self.entries, start=1):
            where = f"{self.name}, entry {number}"
            if entry.startswith(("- ", "* ", "#", " ")):
                yield f"{where}: a plain line, without bullet, heading or indent"
            elif not (_BEGINS.match(entry) and entry.endswith((".", ".)"))):
                yield f"{where}: a sentence, from a capital, a number or a name in backquotes to a full stop"
            if len(entry) > MOST[self.kind]:
                yield f"{where}: {len(entry)} characters, at most {MOST[self.kind]}; details belong on a page"


def fragments(root: Path = ROOT) -> list[Fragment]:
    """Return all fragments of the version to come."""
    folder = root / "changelog.d"
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [
        Fragment(path.as_posix(), (folder / path).read_text(encoding="utf-8"))
        for path in paths
        if path.parts[0] != _RELEASED
    ]


def complaints(found: Sequence[Fragment]) -> list[str]:
    """Return what is not in order, a sentence each."""
    twice = [entry for entry, count in Counter(entry for one in found for entry in one.entries).items() if count > 1]
    return [*(said for one in found for said in one.complaints()), *(f"said twice: {entry}" for entry in twice)]


def section(found: Sequence[Fragment]) -> str:
    """Return the entries of a version, by class and area."""
    parts = []
    for kind in CLASSES:
        own = [one for one in found if one.kind == kind]
        if own:
            parts.append(f"### {kind.capitalize()}\n")
        for area, title in AREAS.items():
            lines = [f"- {entry}\n" for one in own if one.area == area for entry in one.entries]
            if lines:
                parts.append("".join([f"#### {title}\n\n" if title else "", *lines]))
    return "\n".join(parts)


def changelog(root: Path = ROOT) -> str:
    """Return the whole changelog: the version to come, and those that were released, the newest first."""
    released = sorted(
        (root / "changelog.d" / _RELEASED).glob("*.md"), key=lambda path: _numbers(path.stem), reverse=True
    )
    parts = [_HEADER]
    if found := fragments(root):
        parts.append(f"## {_version(root)} (unreleased)\n\n{section(found)}")
    return "\n".join([*parts, *(path.read_text(encoding="utf-8") for path in released)])


def _version(root: Path) -> str:
    """Return the number of the version to come."""
    text = (root / "src" / "dither" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(\d+\.\d+\.\d+)', text, re.MULTILINE)
    if match is None:
        raise SystemExit("src/dither/__init__.py states no version")
    return match[1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def unreleased(text: str) -> list[tuple[str, str]]:
    r"""Return the entries of the first version of a changelog, each with its class, on one line.

    >>> unreleased("## 2 (unreleased)\n\n### Fixed\n\n- One\n  entry.\n\n## 1\n\n### Fixed\n\n- Old.\n")
    [('fixed', 'One entry.')]
    """
    kind, found = "", list[tuple[str, str]]()
    versions = re.split(r"^## ", text, flags=re.MULTILINE)
    is_open = False
    for line in versions[1].splitlines() if len(versions) > 1 else ():
        if line.startswith("### "):
            kind = line[4:].strip().lower()
        if line.startswith("- "):
            found.append((kind, line[2:].strip()))
        elif is_open and line.startswith("  "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        is_open = line.startswith(("- ", "  "))
    return [(kind, entry) for kind, entry in found if kind in CLASSES]


def adopted(before: str, after: str, known: Sequence[Fragment]) -> dict[str, str]:
    """Return fragments, by name, for the entries that one text of the changelog has and an earlier one has not."""
    old = set(unreleased(before)) | {(one.kind or "", entry) for one in known for entry in one.entries}
    found: dict[str, str] = {}
    for kind, entry in unreleased(after):
        if (kind, entry) not in old:
            words = re.findall(r"[a-z0-9]+", entry.lower())[:6]
            name = f"{'-'.join(words)}.{kind}.md"
            found[name] = f"{found.get(name, '')}{entry}\n"
    return found


def adopt(revision: str, root: Path = ROOT) -> dict[str, str]:
    """Return fragments for what a branch wrote into ``CHANGELOG.md`` since it left the present one."""
    base = _git(root, "merge-base", "HEAD", revision).strip()
    before, after = (_git(root, "show", f"{one}:CHANGELOG.md") for one in (base, revision))
    return adopted(before, after, fragments(root))


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True, text=True).stdout


def release(version: str, date: str, root: Path = ROOT) -> None:
    """Move all fragments into the text of a released version."""
    found = fragments(root)
    target = root / "changelog.d" / _RELEASED / f"{version}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"## {version} ({date})\n\n{section(found)}", encoding="utf-8")
    for one in found:
        (root / "changelog.d" / one.name).unlink()


def _write(texts: Mapping[str, str], root: Path) -> None:
    for name, text in texts.items():
        path = root / "changelog.d" / name
        path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + text, encoding="utf-8")
        print(f"changelog.d/{name}")


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the changelog, or check it."""
    parser = argparse.ArgumentParser(description="Write CHANGELOG.md from the fragments in changelog.d.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is not in order")
    parser.add_argument("--adopt", metavar="REVISION", help="make fragments of what a branch wrote into CHANGELOG.md")
    parser.add_argument("--release", nargs=2, metavar=("VERSION", "DATE"), help="make a released version of fragments")
    options = parser.parse_args(arguments)
    if options.adopt:
        _write(adopt(options.adopt, root), root)
    wrong = complaints(fragments(root))
    for complaint in wrong:
        print(complaint)
    if options.release and not wrong:
        version, date = options.release
        release(version, date, root)
    path, fresh = root / "CHANGELOG.md", changelog(root)
    if not options.check:
        path.write_text(fresh, encoding="utf-8")
    elif not path.is_file() or path.read_text(encoding="utf-8") != fresh:
        print("stale: CHANGELOG.md; run python tools/changelog.py")
        return 1
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
