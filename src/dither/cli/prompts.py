"""Questions to the owner of a file, and what may be typed in answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dither.cli.column_choices import Columns
from dither.data.expressions import Kind
from dither.data.facts import FROM_DATA

#: What may be typed: yes, it is public; no, leave it undeclared; how else one finds out.
YES, NO, HELP = ("y", "yes"), ("n", "no"), ("?", "help")
#: Where nothing is proposed.
NOWHERE: Final = "nothing"
ROW: Final = "row"
#: How numbers are read, if the sign before their decimals is another than it seems.
DECIMAL_POINT, DECIMAL_COMMA = "decimal point", "decimal comma"
KINDS: Final = ", ".join(kind.value for kind in Kind)


@dataclass(frozen=True)
class Question:
    """One thing that is not decided.

    Args:
        place: where it stands in a schema, such as "columns.age.bounds".
        text: what is asked.
        proposal: what would be declared, as it would be typed; empty where nothing is proposed.
        origin: where the proposal comes from.
        otherwise: how it can be found out without looking, for the one who asks for help.

    """

    place: str
    text: str
    proposal: str = ""
    origin: str = NOWHERE
    otherwise: str = ""

    @property
    def must_be_confirmed(self) -> bool:
        """Whether the proposal would tell something of the rows."""
        return self.origin == FROM_DATA

    def __str__(self) -> str:
        offered = f": {self.proposal} (from {self.origin})" if self.proposal else ""
        return f"{self.text}{offered}"


def meant(facts: Columns, typed: str) -> str | None:
    """Return the column that somebody means who types its name, its header, or either in another case."""
    for found in (
        [one.name for one in facts.columns if one.name == typed],
        [one.name for one in facts.columns if one.stored_name == typed],
        [one.name for one in facts.columns if typed.lower() in (one.name.lower(), one.stored_name.lower())],
    ):
        if found:
            return found[0] if len(found) == 1 else None
    return None
