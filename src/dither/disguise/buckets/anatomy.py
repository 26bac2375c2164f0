"""Anatomy: quasi-identifiers in one table, sensitive values in another, and the number of a group in both.

Source: Xiao and Tao (2006). Each group has l rows or more, all with different sensitive values, so whoever knows only
quasi-identifiers guesses a value right with probability at most 1/l. That is possible exactly if no value has more than
n/l of the n rows. Quasi-identifiers are published as they are: who is in the table is plain to see.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither.disguise.contract import WARNING
from dither.disguise.odd import odd_columns, refuse_left_in
from dither.disguise.roles import Roles
from dither.disguise.table import Codes, Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator
from dither.exact import whole


@dataclass(frozen=True, eq=False)
class Anatomised:
    """Two tables and what was measured. They carry no loss.

    Args:
        quasi: all columns but the sensitive one and identifiers, with the group of each row, in the order of groups.
        sensitive: the group, a value in it, and how often it occurs there.
        done: what was done, a sentence each.
        most: the greatest probability with which a value is guessed right.
        right: the share of values guessed right, on average.

    """

    quasi: Table
    sensitive: Table
    done: tuple[str, ...]
    most: float
    right: float

    warning: ClassVar[str] = WARNING

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain data."""
        return {
            "disguise": Anatomy.name,
            "warning": self.warning,
            "done": list(self.done),
            "most": self.most,
            "right": self.right,
        }

    def to_json(self) -> str:
        """Return everything but the rows as JSON."""
        return json.dumps(self.to_dict(), indent=2)


@dataclass(frozen=True)
class Anatomy:
    """Groups of rows with different sensitive values, published as two tables.

    Args:
        roles: of the columns; one of them is sensitive.
        l: how many different values a group has, at least.

    >>> made = Anatomy(Roles(("age",), ("ill",)), 2).apply({"age": [31, 35], "ill": ["flu", "cold"]})
    >>> made.most, sorted(made.sensitive.frame()["ill"])
    (0.5, ['cold', 'flu'])

    """

    roles: Roles
    l: int  # noqa: E741 - what everybody calls it

    name: ClassVar[str] = "anatomy"
    source: ClassVar[str] = "Xiao, Tao (2006)"
    attacks: ClassVar[tuple[str, ...]] = ("background", "definetti", "skewness")

    def __post_init__(self) -> None:
        whole("l", self.l, least=1)
        if len(self.roles.sensitive) != 1:
            raise InvalidParameter("sensitive", list(self.roles.sensitive), "one column")

    def apply(self, table: Any) -> Anatomised:
        """Return both tables.

        Args:
            table: a frame of pandas or Polars, an Arrow table, a mapping from names to columns, or a table.

        """
        given = Table.of(table)
        secret = self.roles.sensitive[0]
        refuse_left_in(given, self.roles)
        if "group" in given.names:
            raise InvalidParameter("column", "group", "named otherwise: groups are numbered in a column of that name")
        column = given[secret]
        eligible(column, self.l, secret)
        of_row = groups(column.codes, self.l)
        order = np.lexsort((public_generator().permutation(len(given)), of_row))
        kept = {name: given[name].taken(order) for name in given.names if name not in self._gone}
        kept["group"] = Column.of((of_row[order] + 1).tolist())
        size = len(column.values)
        pairs, counts = np.unique(of_row * size + column.codes, return_counts=True)
        shown = {
            "group": Column.of((pairs // size + 1).tolist()),
            secret: Column.of([column.values[place] for place in (pairs % size).tolist()]),
            "count": Column.of(counts.tolist()),
        }
        sizes = np.bincount(of_row)
        done = [f"{len(sizes):,} groups of {sizes.min()} rows or more, all of whose values of {secret} differ."]
        if self.roles.identifiers:
            done.append(f"Dropped: {', '.join(self.roles.identifiers)}.")
        done += odd_columns(given, self.roles)
        return Anatomised(
            Table(kept, given.origin),
            Table(shown, given.origin),
            tuple(done),
            1 / int(sizes.min()),
            len(sizes) / len(given),
        )

    @property
    def _gone(self) -> set[str]:
        return {*self.roles.sensitive, *self.roles.identifiers}


def eligible(column: Column, l: int, name: str) -> None:  # noqa: E741 - what everybody calls it
    """Refuse a column one value of which is too frequent for groups of l different values."""
    rows = len(column.codes)
    if rows < l:
        raise InvalidParameter("l", l, f"at most the number of rows, {rows}")
    counts = np.bincount(column.codes)
    most = int(counts.argmax())
    if int(counts[most]) * l > rows:
        rule = (
            f"at most {rows // int(counts[most])}: {counts[most]} of {rows} rows have {column.values[most]!r} in {name}"
        )
        raise InvalidParameter("l", l, rule)


def groups(codes: Codes, l: int) -> Codes:  # noqa: E741 - what everybody calls it
    """Return the group of each row: at least l rows each, all with different codes.

    One row of each of the l most frequent values that are left makes a group. At the end fewer than l values are left,
    with a row each, and every such row joins a group that lacks its value.
    """
    mixed = public_generator().permutation(len(codes))
    left: dict[int, list[int]] = {}
    for row in mixed.tolist():
        left.setdefault(int(codes[row]), []).append(row)
    heap = [(-len(rows), code) for code, rows in left.items()]
    heapq.heapify(heap)
    of_row = np.full(len(codes), -1, dtype=np.int64)
    inside: list[set[int]] = []
    while len(heap) >= l:
        taken = [heapq.heappop(heap) for _ in range(l)]
        for count, code in taken:
            of_row[left[code].pop()] = len(inside)
            if count + 1:
                heapq.heappush(heap, (count + 1, code))
        inside.append({code for _, code in taken})
    for _, code in heap:
        for row in left[code]:
            home = next((place for place, seen in enumerate(inside) if code not in seen), None)
            if home is None:
                raise RuntimeError("a row is left over that no group can take")
            of_row[row] = home
            inside[home].add(code)
    return of_row
