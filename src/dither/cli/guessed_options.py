"""Options that people guess, and how each is spelled: an unknown option is refused with what to type instead.

Nothing is charged for a guess. What is suggested is never what was typed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

_LIMIT: Final = "end the query with LIMIT 10"
_OPTIONS: Final = "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({} = 2) ..."
_PERSON: Final = _OPTIONS.format("max_rows_contributed")
#: Of commands that take a query, by what is guessed.
_OF_QUERIES: Final[Mapping[str, str]] = {
    "--limit": _LIMIT,
    "--rows": f"{_LIMIT} to show fewer; for fewer rows a person {_PERSON}",
    "--max-rows": _PERSON,
    "--groups": _OPTIONS.format("max_groups_contributed"),
    "--max-groups": _OPTIONS.format("max_groups_contributed"),
    "--where": "write WHERE in the query",
    "--order": "end the query with ORDER BY",
    "--table": "write FROM with the table in the query; the only private table is data, too",
}
_QUERYING: Final = ("sql", "quote", "shell")
#: Other spellings of options, by the option that is meant.
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "--out": ("--output", "--file", "--to", "--html", "--csv", "--save", "-f"),
    "--epsilon": ("--eps", "--budget", "--loss", "-e"),
    "--quote": ("--dry-run", "--price", "--cost", "-n"),
    "--force": ("--overwrite", "-f"),
    "--json": ("--as-json", "--format"),
    "--yes": ("--no-confirm", "--assume-yes"),
    "--home": ("--folder", "--dir", "--curator"),
    "--rows": ("--limit", "--size", "--count"),
    "--likely-empty": ("--allow-empty", "--even-if-empty"),
}
_SEEDS: Final = ("--seed", "--random-state")


def hint_for(option: str, command: str, known: Collection[str]) -> str:
    """Return what to type in place of an option that a command does not have; empty where nothing is near.

    Args:
        option: as it was typed.
        command: the word of the command.
        known: the options of the command.

    >>> hint_for("--limit", "sql", ["--out"]), hint_for("--output", "histogram", ["--out"])
    ('end the query with LIMIT 10', 'write --out')

    """
    if command in _QUERYING and option in _OF_QUERIES:
        return _OF_QUERIES[option]
    if option in _SEEDS:
        return "noise has no seed; the same --key returns the same stored answer"
    meant = [name for name, guesses in _SPELLINGS.items() if option in guesses and name in known]
    return f"write {meant[0]}" if meant else ""


def correct(failure: Any, command: str, known: Collection[str], verbs: Sequence[str] = ()) -> None:
    """Put a hint into the refusal of an unknown option, and leave what was typed out of what is suggested.

    Args:
        failure: the parser's own.
        command: the word of the command.
        known: the options of the command.
        verbs: of a group that takes a command before its options.

    """
    option = str(failure.option_name)
    hint = hint_for(option, command, known)
    if not hint and verbs:
        hint = f"options are written behind a command: {', '.join(verbs)}"
    if hint:
        failure.message, failure.possibilities = f"{failure.message}: {hint}", None
    elif failure.possibilities:
        failure.possibilities = [name for name in failure.possibilities if name != option]
