"""Merged attributes: a group's attributes become one, like the digits of a number, and can be separated exactly.

With sizes c1, c2, ..., the merged code of v1, v2, ... is ((v1 * c2) + v2) * c3 + ...: a mixed-radix number. Merging
changes how a record is written and nothing else: no combination is lost, none is gained, and nothing is protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes, Axes

Codes = NDArray[np.int64]
#: Combinations of one group.
MOST_TOGETHER: Final = 2**24
#: Between the values of a merged code that is written as a text, as in the thesis.
_SEPARATOR: Final = "  "


@dataclass(frozen=True)
class MergedAttributes:
    """Groups of attributes, each merged into one; every attribute is in one group.

    Args:
        attributes: names and sizes.
        groups: the names of the attributes of each group; attributes in no group form single groups.

    >>> table = MergedAttributes(Attributes.of({"a": 2, "b": 3, "c": 4}), (("a", "c"),))
    >>> table.merge(np.array([[1, 2, 3]])).tolist(), table.unmerge(np.array([[7, 2]])).tolist()
    ([[7, 2]], [[1, 2, 3]])
    >>> table.place("c"), table.merged.sizes
    ((0, 1), (8, 3))

    """

    attributes: Attributes
    groups: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        known = self.attributes.names
        given = [tuple(group) for group in self.groups]
        named = [name for group in given for name in group]
        if len(set(named)) != len(named) or not all(given) or not set(named) <= set(known):
            raise InvalidParameter("groups", tuple(given), "groups of known attributes, each attribute in one of them")
        alone = [(name,) for name in known if name not in set(named)]
        # In the order of the attributes, so that one division has one record.
        ordered = [tuple(sorted(group, key=known.index)) for group in (*given, *alone)]
        object.__setattr__(self, "groups", tuple(sorted(ordered, key=lambda group: known.index(group[0]))))
        for axes in self.axes:
            if self.attributes.cells_of(axes) > MOST_TOGETHER:
                names = self.attributes.named(axes)
                raise InvalidParameter("groups", names, f"groups of at most {MOST_TOGETHER} combinations")

    @cached_property
    def axes(self) -> tuple[Axes, ...]:
        """The numbers of the attributes of each group, in increasing order."""
        numbers = {name: number for number, name in enumerate(self.attributes.names)}
        return tuple(tuple(numbers[name] for name in group) for group in self.groups)

    @cached_property
    def merged(self) -> Attributes:
        """The merged attributes: one for each group."""
        names = tuple(" + ".join(group) for group in self.groups)
        return Attributes(names, tuple(self.attributes.cells_of(axes) for axes in self.axes))

    def place(self, name: str) -> tuple[int, int]:
        """Return an attribute's group, and its place in it: the info table of the thesis."""
        for number, group in enumerate(self.groups):
            if name in group:
                return number, group.index(name)
        raise InvalidParameter("name", name, "the name of an attribute")

    def merge(self, rows: Codes) -> Codes:
        """Return rows of merged codes; each row has a code in range for every attribute."""
        found = np.zeros((rows.shape[0], len(self.groups)), dtype=np.int64)
        for number, axes in enumerate(self.axes):
            for axis in axes:
                found[:, number] = found[:, number] * self.attributes.sizes[axis] + rows[:, axis]
        return found

    def unmerge(self, merged: Codes) -> Codes:
        """Return the rows that were passed to ``merge``."""
        found = np.empty((merged.shape[0], len(self.attributes.sizes)), dtype=np.int64)
        for number, axes in enumerate(self.axes):
            rest = merged[:, number].copy()
            for axis in reversed(axes):
                rest, found[:, axis] = np.divmod(rest, self.attributes.sizes[axis])
        return found

    def texts(self, merged: Codes) -> list[tuple[str, ...]]:
        """Return merged codes in the thesis's notation: a group's codes with two spaces between."""
        rows = self.unmerge(merged).tolist()
        return [tuple(_SEPARATOR.join(str(row[axis]) for axis in axes) for axes in self.axes) for row in rows]


def merged_of(attributes: Attributes, groups: Sequence[Sequence[str]] | Any) -> MergedAttributes:
    """Return the merged attributes of given groups, or reject the groups."""
    if not isinstance(groups, tuple | list) or not all(isinstance(group, tuple | list) for group in groups):
        raise InvalidParameter("groups", groups, "groups of names of attributes")
    if not all(isinstance(name, str) for group in groups for name in group):
        raise InvalidParameter("groups", groups, "groups of names of attributes")
    return MergedAttributes(attributes, tuple(tuple(group) for group in groups))
