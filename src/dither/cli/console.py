"""Where the verbs print: a table for people, JSON for programs, complaints to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from rich.console import Console

from dither.cli.exits import words_of_failure
from dither.errors import DitherError

console = Console()
errors = Console(stderr=True)
#: What stands for signs that a terminal without UTF-8 does not have.
_ASCII: Final = str.maketrans({"±": "+-", "…": "...", "█": "#", "▏": "|", "–": "-", "’": "'"})


def print_json(record: Any) -> None:
    """Print a record as JSON, and nothing else; whoever calls is told if it did not arrive."""
    sys.stdout.write(json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print one line to standard error, as it is: brackets are brackets."""
    errors.print("[bold red]dither:[/]", end=" ")
    errors.print(text, highlight=False, soft_wrap=True, markup=False)


def complain_of(failure: DitherError | Warning) -> None:
    """Print what an error says, and what was noted on it: how to go on."""
    complain(words_of_failure(failure))


def complain_in_json(record: Any) -> None:
    """Print an error for programs to standard error, so that standard output holds answers alone."""
    sys.stderr.write(json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def note(text: str) -> None:
    """Print one dim line beside the answer, where somebody looks."""
    if sys.stderr.isatty():
        errors.print(text, style="dim", highlight=False, soft_wrap=True, markup=False)


def shown(text: str) -> str:
    r"""Return a line that may hold cells of a file, as a terminal can show it: one line, without control characters.

    >>> shown("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    plain = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    coding = console.encoding
    if coding.lower().startswith("utf"):
        return plain
    return plain.translate(_ASCII).encode(coding, "backslashreplace").decode(coding)


def say(text: str, *, style: str | None = None) -> None:
    """Print one line as it is."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def is_screen() -> bool:
    """Return whether somebody reads what is printed and can answer: facts about rows are shown nowhere else."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def tell_owner(text: str) -> None:
    """Print one line beside the output, as it is."""
    errors.print(text, markup=False, highlight=False, soft_wrap=True)


def words_of(text: str | None) -> tuple[str, ...] | None:
    """Return words that were typed with commas between, or None where nothing was typed.

    >>> words_of("age, city")
    ('age', 'city')
    """
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())
