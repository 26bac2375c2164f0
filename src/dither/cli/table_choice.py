"""Which table is meant: one rule for every verb that reads one.

A word that a table is called by is the table. It may be left out where the data set has one private table alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from dither.cli.console import complain
from dither.data.schema import ONLY_TABLE, DataSet, Table
from dither.errors import InvalidParameter
from dither.lift.verb import Argument


def only_table(dataset: DataSet) -> str:
    """Return the private table of a data set that has one alone."""
    private = [table.name for table in dataset.tables if not table.is_public]
    if len(private) != 1:
        raise InvalidParameter("table", None, f"one of {', '.join(private)}")
    return private[0]


def say_what_counts(table: Table, names: Sequence[str]) -> None:
    """Say, before anything is paid for, which missing cells leave a row out; the schema tells, and no row does.

    Args:
        table: what is declared.
        names: the columns that are asked about together.

    """
    needed = [one.name for one in table.columns if one.name in names and not one.nullable]
    if needed:
        complain(
            f"a row counts only if it has a declared value in each of {', '.join(needed)}; 'nullable: true' in the "
            "schema keeps rows where one is missing"
        )


def table_and_words(dataset: DataSet, words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the table that is meant, and the words that are about its columns.

    Args:
        dataset: whose table it is.
        words: what was typed behind the data set.

    """
    names = {table.name.lower(): table.name for table in dataset.tables}
    if words and words[0].lower() in names:
        return names[words[0].lower()], tuple(words[1:])
    private = [table for table in dataset.tables if not table.is_public]
    if words and len(private) == 1 and words[0].lower() == ONLY_TABLE and words[0] not in private[0].kinds:
        return private[0].name, tuple(words[1:])
    if words and (len(private) != 1 or words[0].split(",")[0].strip() not in private[0].kinds):
        alone = len(private) == 1
        left_out = f", or omitted before one of its columns: {', '.join(private[0].kinds)}" if alone else ""
        typed = words[0].split(",")[0].strip().lower()
        near = difflib.get_close_matches(typed, [*private[0].kinds, *names.values()] if alone else names.values(), 1)
        meant = f"; did you mean '{near[0]}'?" if near and near[0].lower() != typed else ""
        raise InvalidParameter(
            "table", words[0], f"one of {', '.join(table.name for table in private)}{left_out}{meant}"
        )
    return only_table(dataset), tuple(words)


def check_words(words: Sequence[str], table: str, argument: Argument) -> None:
    """Refuse more or fewer words behind a table than an argument takes.

    Args:
        words: about its columns.
        table: its name.
        argument: a column, or several of anything.

    """
    if len(words) > 1 and not argument.is_sequence:
        raise InvalidParameter(argument.name, " ".join(words), f"one column of {table}")
    if not words and argument.is_required:
        rule = f"at least one of {table}" if argument.is_sequence else f"a column of {table}"
        raise InvalidParameter("column", None, rule)
