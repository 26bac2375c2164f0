"""Count the words of a private dialect in what users read, and refuse more of them than before.

``python tools/voice.py`` compares the counts with ``tools/voice_counts.json``, by kind of text and by room, and exits 1
where one has risen. ``--update`` writes lower counts into that file, and never a higher one. ``--list PATH`` shows
every hit in a file or folder, with the plain words.

Kinds of text: *messages* are string literals and f-strings with a space in ``src/dither``, docstrings left aside;
*leads* are the first paragraphs of docstrings; *public* are those that the reference shows of public names; *screens*
are the first screens of pages in ``docs``, up to a heading, a table or code, in which no hit is allowed; *docs* are the
rest of the pages, without the generated reference; then the *readme*.

A hit is a question and not always a mistake. ``tools/voice_allowed.toml`` names phrases that are meant, each with a
reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COUNTS = "tools/voice_counts.json"
ALLOWED = "tools/voice_allowed.toml"
KINDS = ("messages", "leads", "public", "screens", "docs", "readme")
#: What stands in a message for a value.
_VALUE = "{}"
_GENERATED = "reference"


class Word(NamedTuple):
    """A word of the dialect.

    Args:
        name: what the list of allowed phrases calls it.
        plain: what to write.
        pattern: what finds it, ignoring case.

    """

    name: str
    plain: str
    pattern: re.Pattern[str]


def _word(name: str, plain: str, pattern: str) -> Word:
    # Only the first sign of a word is tried at every place: alternatives begin with letters, and are fast.
    return Word(name, plain, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))


WORDS = (
    _word("left out", "not allowed; omit; optional", r"(left|leave|leaves|leaving) (\w+ )?out"),
    _word("given", "required", r"must be given|^given"),
    _word("said", "specified; set; states", r"(is|are|be|was|were|unless|where|as|nothing|if) said|^said|says? so"),
    _word("told", "returned; reported; reveals; shows", r"told|tells?|telling"),
    _word("asked", "requested; queried", r"(is|are|be|was|were|what|been) asked|asked (of|about|for|where|from)"),
    _word(
        "whoever",
        "the caller; anyone who",
        r"whoever|(?:^|(?<=[.:;] ))who (wants|asks|has|knows|loses|waits|interrupts)",
    ),
    _word("whatever", "any; regardless of; the one that", r"whatever|whichever"),
    _word("elsewhere", "remote; in another process; on the server", r"elsewhere"),
    _word("kept", "stored; retained; saved", r"kept"),
    _word("goes on", "continues; long-lived; resume", r"(goes|go|going|went) on"),
    _word("is none", "is not one; does not exist; has no X", r"(is|are|has|have|there is|be) none"),
    _word("at once", "immediately; simultaneously; in one release", r"at once"),
    _word("by itself", "alone; separate; its own X", r"by (itself|themselves)|of (its|their|one's) own"),
    _word("as many", "the same number of; up to", r"as many|as much"),
    _word("so many", "this many; this much; by how much", r"so (many|much)|how far"),
    _word("such that", "so that; valid; supported", r"such that|is such|there is such"),
    _word("lies", "is; falls", r"lies|lie"),
    _word("stands", "is; appears; is recorded", r"stands?|stood"),
    _word("nobody", "no one; a person; undeclared", r"nobody|somebody"),
    _word("anew", "again; from scratch", r"anew|once more"),
    _word("for ever", "permanently; in total", r"for ever|ever again"),
    _word("beforehand", "previous; earlier; unchanged; in advance", r"of before|as before|beforehand"),
    _word("further", "additional; more; other", r"further"),
    _word("errs", "has an error of; is off by", r"errs?|erring"),
    _word("looked at", "adjusted; read; searched", r"evened out|looked (at|for)"),
    _word("that are there", "exists; existing; available", r"(that|which|what) (is|are) there|there already"),
    _word("wish", "request; query", r"wish(es)?"),
    _word("words", "arguments; parameters; text", r"words"),
    _word("a text", "a string; strings", r"a text|texts"),
    _word("whole number", "integer; integers", r"whole numbers?"),
)
#: One search in place of thirty where a text has none.
_ANY = re.compile("|".join(f"(?:{word.pattern.pattern})" for word in WORDS), re.IGNORECASE)


class Hit(NamedTuple):
    """A word of the dialect in a text: of what kind and room the text is, where it is, and how it reads."""

    kind: str
    room: str
    place: str
    line: int
    word: Word
    text: str


@dataclass(frozen=True)
class Allowed:
    """A phrase in which a word is meant.

    Args:
        word: the name of the word.
        phrase: what the word is part of, as a regular expression.
        reason: why it stays.
        path: the start of the only paths in which it stays; all if empty.

    """

    word: str
    phrase: str
    reason: str
    path: str = ""

    def covers(self, text: str, match: re.Match[str], place: str) -> bool:
        """Tell whether a match is part of the phrase, in a place where it stays."""
        spans = (found.span() for found in re.finditer(self.phrase, text, re.IGNORECASE))
        return place.startswith(self.path) and any(a <= match.start() and match.end() <= b for a, b in spans)


def allowed_in(text: str) -> list[Allowed]:
    """Return the phrases of a file; a phrase without a reason, or of an unknown word, is refused."""
    found = [Allowed(**entry) for entry in tomllib.loads(text).get("allowed", [])]
    names = {word.name for word in WORDS}
    for one in found:
        if not one.reason.strip():
            raise ValueError(f"{ALLOWED}: {one.phrase!r} needs a reason")
        if one.word not in names:
            raise ValueError(f"{ALLOWED}: {one.word!r} is not in the list of words")
    return found


def hits(root: Path, allowed: Iterable[Allowed] = ()) -> Iterator[Hit]:
    """Return every word of the dialect below a folder, but for the allowed phrases."""
    by_word: dict[str, list[Allowed]] = {}
    for one in allowed:
        by_word.setdefault(one.word, []).append(one)
    for kind, room, place, line, text in _texts(root):
        for word in WORDS if _ANY.search(text) else ():
            for match in word.pattern.finditer(text):
                if not any(one.covers(text, match, place) for one in by_word.get(word.name, ())):
                    yield Hit(kind, room, place, line, word, " ".join(text.split()))


def counted(found: Iterable[Hit]) -> dict[str, dict[str, int]]:
    """Return how many hits there are, by kind of text and by room."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for hit in found:
        counts[hit.kind][hit.room] += 1
    return {kind: dict(sorted(rooms.items())) for kind, rooms in counts.items()}


def risen(now: Mapping[str, Mapping[str, int]], before: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the kinds and rooms with more hits than before, as complaints."""
    return [
        f"{kind} of {room}: {count} words of the dialect, {was} before"
        for kind, rooms in now.items()
        for room, count in rooms.items()
        if count > (was := before.get(kind, {}).get(room, 0))
    ]


def lowered(now: Mapping[str, Mapping[str, int]], before: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return the lower of both counts; a room that had none gets none."""
    return {
        kind: {
            room: lower
            for room, was in sorted(before.get(kind, {}).items())
            if (lower := min(was, now.get(kind, {}).get(room, 0)))
        }
        for kind in KINDS
    }


def said_in(module: str) -> Iterator[tuple[str, int, str]]:
    """Return what a module says, each with its kind and its line: messages, and the leads of docstrings.

    A message is a string with a space; the values of an f-string are ``{}``.
    """
    skipped: set[int] = set()
    # A docstring, and what an f-string is made of, come after what they are part of.
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                skipped.add(id(value))
                yield "leads", value.lineno, " ".join(value.value.strip().partition("\n\n")[0].split())
        elif isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
            said = "".join(str(one.value) if isinstance(one, ast.Constant) else _VALUE for one in node.values)
            if " " in said:
                yield "messages", node.lineno, said
        elif id(node) not in skipped and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [("messages", node.lineno, node.value)] if " " in node.value else []


def _texts(root: Path) -> Iterator[tuple[str, str, str, int, str]]:
    """Return what users read: the kind, the room, the place, the line and the text itself."""
    source = root / "src" / "dither"
    for path in sorted(source.rglob("*.py")):
        room, place, text = _room(path, source), path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        yield from ((kind, room, place, line, said) for kind, line, said in said_in(text))
    docs = root / "docs"
    for path in sorted(docs.rglob("*.md")):
        if (room := _room(path, docs)) != _GENERATED:
            first = _first_screen(path) if path.parent == docs else 0
            for place, line, text in _lines(path, root):
                yield "screens" if line <= first else "docs", room, place, line, text
    for path in sorted((docs / _GENERATED).glob("*.md")):
        rows = (one for one in _lines(path, root) if one[2].startswith("| [`"))
        yield from (("public", path.stem, *one) for one in rows)
    if (readme := root / "README.md").is_file():
        yield from (("readme", "README", *one) for one in _lines(readme, root))


def _lines(path: Path, root: Path) -> Iterator[tuple[str, int, str]]:
    place = path.relative_to(root).as_posix()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield place, number, line


def _first_screen(path: Path) -> int:
    """Return the last line before a page's first heading of the second level, table or code."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((place for place, line in enumerate(lines) if re.match(r"## |\||```", line)), len(lines))


def _room(path: Path, base: Path) -> str:
    """Return the folder next to the base in which a file is, or ``.`` for a file of the base itself."""
    parts = path.relative_to(base).parts
    return parts[0] if len(parts) > 1 else "."


def _read(root: Path) -> tuple[dict[str, dict[str, int]], list[Allowed]]:
    counts = json.loads((root / COUNTS).read_text(encoding="utf-8")) if (root / COUNTS).is_file() else {}
    text = (root / ALLOWED).read_text(encoding="utf-8") if (root / ALLOWED).is_file() else ""
    return counts, allowed_in(text)


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Compare the counts, lower them, or show what is counted."""
    parser = argparse.ArgumentParser(description="Count the words of a private dialect in what users read.")
    parser.add_argument("--update", action="store_true", help="write lower counts; a higher one is never written")
    parser.add_argument("--list", nargs="?", const="", metavar="PATH", help="show every hit in a file or folder")
    parser.add_argument("--kind", choices=KINDS, help="with --list: this kind of text alone")
    options = parser.parse_args(arguments)
    before, allowed = _read(root)
    found = list(hits(root, allowed))
    if options.list is not None:
        for hit in found:
            if hit.place.startswith(options.list) and options.kind in (None, hit.kind):
                print(f"{hit.place}:{hit.line}: {hit.word.name} ({hit.word.plain}): {hit.text}")
        return 0
    now = counted(found)
    if options.update:
        (root / COUNTS).write_text(json.dumps(lowered(now, before), indent=2) + "\n", encoding="utf-8")
    complaints = risen(now, before)
    for complaint in complaints:
        print(complaint)
    if complaints:
        print("'python tools/voice.py --list PATH' shows each of them with the plain words")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
