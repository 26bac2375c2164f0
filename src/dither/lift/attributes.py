"""Attributes: the public names of a table's columns, and the number of values of each.

Data is an array of integers, a row for each record and a column for each attribute. The table of all cells is
never written out unless somebody asks for it: a hundred attributes have more cells than there are atoms, and each
marginal is counted from the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import whole
from dither.mechanisms.core.spec import Codec, register_codec

#: The numbers of attributes, in increasing order.
Axes = tuple[int, ...]
Codes = NDArray[np.int64]

_MOST_ATTRIBUTES = 4096
_MOST_VALUES = 2**24
#: The most attributes of one marginal: each of its subsets is a part of its estimate.
_MOST_TOGETHER = 16
#: Cells of all marginals that are counted or requested together.
MOST_CELLS = 2**24


@dataclass(frozen=True)
class Attributes:
    """Names and sizes of attributes: the public facts about a table.

    Args:
        names: one for each column, all different.
        sizes: how many values each has; they are numbered from 0.

    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> people.cells, people.axes(["age", "sex"]), people.shape_of((0, 1))
    (320, (0, 1), (2, 10))

    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        names, sizes = self.names, self.sizes
        if not isinstance(names, tuple | list) or not isinstance(sizes, tuple | list) or len(names) != len(sizes):
            raise InvalidParameter("names", names, "a list with one name for each size")
        if not 1 <= len(names) <= _MOST_ATTRIBUTES or len(set(map(str, names))) != len(names):
            raise InvalidParameter("names", names, f"1 to {_MOST_ATTRIBUTES} different names")
        if not all(isinstance(name, str) and name for name in names):
            raise InvalidParameter("names", names, "strings that are not empty")
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "sizes", tuple(whole("sizes", size, least=1, most=_MOST_VALUES) for size in sizes))

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> Attributes:
        """Return attributes from a mapping of names to sizes."""
        if not isinstance(sizes, Mapping):
            raise InvalidParameter("sizes", sizes, "a mapping of names to numbers of values")
        return cls(tuple(sizes), tuple(sizes.values()))

    @property
    def cells(self) -> int:
        """The number of cells of the table of all attributes."""
        return math.prod(self.sizes)

    def axes(self, names: Iterable[str]) -> Axes:
        """Return the numbers of these attributes, in increasing order; reject unknown and repeated names."""
        given = [names] if isinstance(names, str) else list(names)
        numbers = self._numbers
        for name in given:
            if name not in numbers:
                near = ", ".join(self.names[:5])
                raise InvalidParameter("marginals", name, f"made of known attributes, such as {near}")
        if len(set(given)) != len(given) or len(given) > _MOST_TOGETHER:
            raise InvalidParameter("marginals", tuple(given), f"sets of at most {_MOST_TOGETHER} different attributes")
        return tuple(sorted(numbers[name] for name in given))

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def named(self, axes: Axes) -> tuple[str, ...]:
        """Return the names of attributes from their numbers."""
        return tuple(self.names[axis] for axis in axes)

    def shape_of(self, axes: Axes) -> tuple[int, ...]:
        """Return the shape of the marginal on these attributes."""
        return tuple(self.sizes[axis] for axis in axes)

    def cells_of(self, axes: Axes) -> int:
        """Return the number of cells of the marginal on these attributes."""
        return math.prod(self.sizes[axis] for axis in axes)

    def every(self, order: int) -> tuple[tuple[str, ...], ...]:
        """Return the names of all marginals on exactly ``order`` attributes."""
        wanted = whole("order", order, most=min(len(self.names), _MOST_TOGETHER))
        return tuple(combinations(self.names, wanted))

    def codes(self, data: Any) -> Codes:
        """Return the records with every number in range, column by column; a number out of range becomes the nearest.

        Type and width are public and may be refused; no content is.
        """
        rule = f"an array of integers, a row for each record, {len(self.names)} columns"
        # Not from a list: what type its entries need would depend on what they are.
        if not isinstance(data, np.ndarray) or data.dtype.kind not in "iu" or data.shape[1:] != (len(self.names),):
            raise InvalidValue("data", data, rule)
        table = data
        last = np.array(self.sizes, dtype=np.int64) - 1
        columns = np.empty((table.shape[1], table.shape[0]), dtype=np.int64)
        for column, top in enumerate(last.tolist()):
            # In their own type first: the largest unsigned numbers have no place in int64.
            kept = np.clip(table[:, column], 0, min(top, int(np.iinfo(table.dtype).max)))
            columns[column] = kept
        return columns

    def count(self, codes: Codes, axes: Axes) -> NDArray[np.int64]:
        """Return the marginal on ``axes`` of records that ``codes`` has read."""
        places = np.zeros(codes.shape[1], dtype=np.int64) if not axes else codes[axes[0]]
        for axis in axes[1:]:
            places = places * self.sizes[axis] + codes[axis]
        counts = np.bincount(places, minlength=self.cells_of(axes))
        return np.asarray(counts, dtype=np.int64).reshape(self.shape_of(axes))


def checked_sets(
    attributes: Attributes, marginals: Sequence[Sequence[str]], parameter: str = "marginals"
) -> tuple[Axes, ...]:
    """Return sets of attributes as numbers; reject unknown and repeated attributes, and too many cells."""
    if not isinstance(attributes, Attributes):
        raise InvalidParameter("attributes", attributes, "the attributes of the table")
    if not isinstance(marginals, tuple | list) or not marginals:
        raise InvalidParameter(parameter, marginals, "at least one set of names of attributes")
    sets = tuple(attributes.axes(names) for names in marginals)
    if len(set(sets)) != len(sets):
        raise InvalidParameter(parameter, marginals, "sets that differ")
    cells = sum(attributes.cells_of(axes) for axes in sets)
    if cells > MOST_CELLS:
        rule = f"at most {MOST_CELLS} cells together; ask for marginals on fewer attributes, which need no larger table"
        raise InvalidParameter(parameter, f"{cells} cells", rule)
    return sets


def _read(value: Any) -> Attributes:
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise InvalidParameter("attributes", value, "pairs of a name and a number of values")
    return Attributes(tuple(pair[0] for pair in value), tuple(pair[1] for pair in value))


def _write(attributes: Attributes) -> list[list[Any]]:
    return [[name, size] for name, size in zip(attributes.names, attributes.sizes, strict=True)]


register_codec("attributes", Codec(Attributes, _write, _read))
