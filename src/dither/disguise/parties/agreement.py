"""A table split by columns between two owners, released only if every class of both together has k rows.

Source: Jiang and Clifton, A Secure Distributed Framework for Achieving k-Anonymity (2006). Each side cuts its own
quasi-identifiers into classes (Mondrian), and sends the names in each class under its key, shuffled. The other side
puts its key on top, shuffles again and sends them back. Under both keys names can be compared, and nothing else: each
side counts how many people each pair of classes has in common. If one pair has some, but fewer than k, both begin
again with classes twice as large and with new keys. Otherwise both send their rows to whoever joins them, with the
names under two new keys; the joined rows are shuffled, and the names dropped.

Both sides follow the protocol. Here they run in one process, with every message kept, so that what was sent can be
looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither.disguise.classes import classes_of
from dither.disguise.contract import WARNING
from dither.disguise.mondrian import Mondrian
from dither.disguise.odd import odd_columns
from dither.disguise.parties.commutative import CommutativeKey, square_of
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.exact import whole


@dataclass(frozen=True)
class Message:
    """Something that one sent to another.

    Args:
        sender: of it.
        receiver: of it.
        what: it says.
        sizes: how many names each class in it has.

    """

    sender: str
    receiver: str
    what: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Agreement:
    """The released table, and what each side has learned besides. It carries no loss.

    Args:
        table: joined, in a random order, without names.
        done: what was done, a sentence each.
        learned: by each side and by whoever joins the rows, a sentence each.
        messages: all that were sent.
        k: of the released table.

    """

    table: Table
    done: tuple[str, ...]
    learned: dict[str, tuple[str, ...]]
    messages: tuple[Message, ...]
    k: int

    warning: ClassVar[str] = WARNING
    name: ClassVar[str] = "two-parties"
    source: ClassVar[str] = "A Secure Distributed Framework for Achieving k-Anonymity (Jiang, Clifton 2006)"
    attacks: ClassVar[tuple[str, ...]] = ("linkage", "homogeneity", "background")

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain data."""
        return {
            "disguise": self.name,
            "warning": self.warning,
            "done": list(self.done),
            "learned": {side: list(said) for side, said in self.learned.items()},
            "messages": [
                {"from": one.sender, "to": one.receiver, "what": one.what, "sizes": list(one.sizes)}
                for one in self.messages
            ],
            "k": self.k,
        }

    def to_json(self) -> str:
        """Return everything but the rows as JSON."""
        return json.dumps(self.to_dict(), indent=2)


class Side:
    """One owner: some columns about people, each of whom has one row.

    Args:
        name: of the side.
        table: its columns.
        person: the column that both sides have, and that names people.
        quasi: its quasi-identifiers; its other columns are released as they are.
        dropped: other columns that name people, which are not released.

    """

    def __init__(self, name: str, table: Any, person: str, quasi: Sequence[str], dropped: Sequence[str] = ()) -> None:
        self.name, self._person, self.quasi = name, person, tuple(quasi)
        self._table = Table.of(table)
        named = (*self.quasi, person, *dropped)
        # What a side releases beside its quasi-identifiers was agreed on: nothing is left in unseen.
        others = tuple(one for one in self._table.names if one not in named)
        self._roles = Roles(self.quasi, identifiers=(person, *dropped), others=others)
        who = self._table[person]
        if len(set(who.codes.tolist())) != len(self._table) or None in who.values:
            raise InvalidParameter(person, name, "a column that names every person of a side, in one row each")
        if not len(self._table):
            raise InvalidParameter(name, 0, "one or more rows long")
        self._squares = [square_of(str(one)) for one in who.cells()]

    def __len__(self) -> int:
        return len(self._table)

    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that it releases."""
        return tuple(one for one in self._table.names if one not in self._roles.identifiers)

    def odd(self) -> list[str]:
        """Return sentences about its columns that may not be what they seem."""
        return odd_columns(self._table, self._roles)

    def cut(self, k: int) -> None:
        """Cut the rows into classes of k rows or more, and take a new key."""
        self._shown = Mondrian(self._roles, Rules(k=min(k, len(self)))).apply(self._table).table
        self._of_row = classes_of(self._shown, self.quasi).of_row
        self._key = CommutativeKey()

    def classes(self) -> list[list[int]]:
        """Return the names in each class under its key, in a random order."""
        hidden = self._key.over(self._squares)
        parts = [np.flatnonzero(self._of_row == one) for one in range(int(self._of_row.max()) + 1)]
        return [[hidden[row] for row in public_generator().permutation(rows).tolist()] for rows in parts]

    def on_top(self, classes: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return names of the other side under both keys, in a random order within each class."""
        return [self._mixed(self._key.over(some)) for some in classes]

    def in_order(self) -> list[int]:
        """Take a new key, and return the names of the rows under it, in their order."""
        self._key = CommutativeKey()
        return self._key.over(self._squares)

    def tokens(self, received: Sequence[int]) -> list[int]:
        """Return names of the other side under both keys, in their order."""
        return self._key.over(received)

    def rows(self, tokens: Sequence[int]) -> dict[int, tuple[Any, ...]]:
        """Return the rows as they may be released, by names under both keys."""
        cells = zip(*(self._shown[name].cells() for name in self.columns()), strict=True)
        return dict(zip(tokens, cells, strict=True))

    @staticmethod
    def _mixed(names: Sequence[int]) -> list[int]:
        return [names[place] for place in public_generator().permutation(len(names)).tolist()]


def agree(left: Side, right: Side, k: int) -> Agreement:
    """Let two sides find classes that have k people together, and release their columns joined.

    Args:
        left: one side.
        right: the other one; people whom only one of them has are left out.
        k: people of every class of the joined table, at least.

    """
    whole("k", k, least=1)
    twice = set(left.columns()) & set(right.columns())
    if twice or left.name == right.name:
        raise InvalidParameter("column", min(twice, default=left.name), "of one side only")
    sent: list[Message] = []
    size, tries = k, 0
    while True:
        tries += 1
        left.cut(size)
        right.cut(size)
        both = [_twice_hidden(one, other, sent) for one, other in ((left, right), (right, left))]
        common = _common(*both)
        if common and min(common) >= k:
            break
        if size >= max(len(left), len(right)):
            raise InvalidParameter("k", k, f"at most the number of people of both sides, {sum(common)}")
        size *= 2
    return _released(left, right, sent, common, tries, k)


def _twice_hidden(one: Side, other: Side, sent: list[Message]) -> list[list[int]]:
    """Return the names of a side's classes under both keys, as both see them."""
    there = one.classes()
    sizes = tuple(map(len, there))
    sent.append(Message(one.name, other.name, "names under one key, by class", sizes))
    back = other.on_top(there)
    sent.append(Message(other.name, one.name, "the same names under both keys, by class", sizes))
    return back


def _common(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> list[int]:
    """Return how many people each pair of classes has in common, where it has some."""
    home = {name: place for place, some in enumerate(right) for name in some}
    found: dict[tuple[int, int], int] = {}
    for place, some in enumerate(left):
        for name in some:
            if name in home:
                pair = (place, home[name])
                found[pair] = found.get(pair, 0) + 1
    return list(found.values())


def _released(left: Side, right: Side, sent: list[Message], common: Sequence[int], tries: int, k: int) -> Agreement:
    hidden = {one.name: one.in_order() for one in (left, right)}
    rows = {}
    for one, other in ((left, right), (right, left)):
        length = (len(one),)
        sent.append(Message(one.name, other.name, "all names under a new key, in order", length))
        tokens = other.tokens(hidden[one.name])
        sent.append(Message(other.name, one.name, "the same names under both new keys, in order", length))
        rows[one.name] = one.rows(tokens)
        sent.append(Message(one.name, "joiner", "rows with names under both new keys", length))
    cells = [(*found, *rows[right.name][name]) for name, found in rows[left.name].items() if name in rows[right.name]]
    mixed = [cells[place] for place in public_generator().permutation(len(cells)).tolist()]
    names = (*left.columns(), *right.columns())
    table = Table({name: Column.of(some) for name, some in zip(names, zip(*mixed, strict=True), strict=True)})
    smallest = classes_of(table, (*left.quasi, *right.quasi)).k
    if smallest < k:
        raise RuntimeError(f"a class of the joined table has {smallest} rows only")
    said = (
        "how many classes the other side had in each attempt, and how many rows in each",
        "how many people each pair of classes has in common, in each attempt",
        "the joined table, in which each person of this owner is in a class of k rows or more",
    )
    learned = {
        left.name: said,
        right.name: said,
        "joiner": (
            "all rows of both sides as they were cut, those of people whom only one side has included",
            "nothing of names but which rows are of one person",
        ),
    }
    done = (
        f"{tries} attempts; {len(common):,} joined classes, the smallest of {smallest}.",
        f"{len(table):,} people are on both sides; {len(left):,} and {len(right):,} rows were there.",
        *left.odd(),
        *right.odd(),
    )
    return Agreement(table, done, learned, tuple(sent), smallest)
