"""What the columns of a table are to an attacker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dither.errors import InvalidParameter


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are to an attacker.

    Args:
        quasi: quasi-identifiers: what others may know of people.
        sensitive: what they should not learn.
        identifiers: names and numbers of people; they are dropped.
        others: columns that stay as they are although every row has another value in them. Such a column may name
            people, and is refused where it has no role.

    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("quasi", "sensitive", "identifiers", "others"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise InvalidParameter(name, given, "a sequence of names, not one text")
            object.__setattr__(self, name, tuple(given))
        every = (*self.quasi, *self.sensitive, *self.identifiers, *self.others)
        twice = [name for place, name in enumerate(every) if name in every[:place]]
        if twice:
            raise InvalidParameter("roles", twice[0], "one for every column")
        if not self.quasi:
            raise InvalidParameter("quasi", [], "one or more columns")
