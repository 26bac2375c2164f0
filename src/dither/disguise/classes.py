"""Classes of rows that look alike, and how often each sensitive value occurs in each of them.

One grouping serves every model: rows are alike if they agree in all quasi-identifiers, and what the models ask for are
figures of the counts of sensitive values in each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.disguise.table import Codes, Table
from dither.errors import InvalidParameter

Counts = NDArray[np.int64]
Figures = NDArray[np.float64]
#: What may be known of a class: from the counts of its values, a row a class, and the shares in the whole table.
Figure = Callable[[Counts, Figures], Figures]
_MOST_CELLS: Final = 1 << 22
_MOST_KEYS: Final = 1 << 62


@dataclass(frozen=True, eq=False)
class Classes:
    """Which class each row is in.

    Args:
        of_row: the number of each row's class, from 0 on; every class has a row.
        sizes: of the classes.

    """

    of_row: Codes
    sizes: Counts

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def k(self) -> int:
        """The size of the smallest class."""
        return int(self.sizes.min()) if len(self.sizes) else 0


def numbered(keys: Codes) -> tuple[Codes, int]:
    """Return keys numbered from 0 on without gaps, in their order, and how many different ones there are."""
    if not len(keys):
        return keys, 0
    top = int(keys.max()) + 1
    if top <= max(_MOST_CELLS, len(keys)):
        seen = np.zeros(top, dtype=np.int64)
        seen[keys] = 1
        places = np.cumsum(seen) - 1
        return places[keys], int(places[-1]) + 1
    found, codes = np.unique(keys, return_inverse=True)
    return codes.astype(np.int64), len(found)


def joined(codes: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, int]:
    """Return one key for every combination of codes, and how many keys there may be.

    Args:
        codes: of several columns.
        sizes: how many codes each column may have.

    """
    keys, total = codes[0], sizes[0]
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        if total * size >= _MOST_KEYS:
            keys, total = numbered(keys)
        keys, total = keys * size + column, total * size
    return keys, total


def group(codes: Sequence[Codes], sizes: Sequence[int]) -> Classes:
    """Return the classes of rows that have the same codes in every column."""
    of_row, count = numbered(joined(codes, sizes)[0])
    return Classes(of_row, np.bincount(of_row, minlength=count))


def classes_of(table: Table, quasi: Sequence[str]) -> Classes:
    """Return the classes of the rows of a table that agree in all of some columns.

    >>> classes_of(Table.of({"age": [3, 3, 4], "ward": ["a", "a", "a"]}), ["age", "ward"]).sizes.tolist()
    [2, 1]

    """
    if not quasi or isinstance(quasi, str):
        raise InvalidParameter("quasi", quasi or [], "a sequence of one or more columns")
    columns = [table[name] for name in quasi]
    return group([column.codes for column in columns], [max(len(column.values), 1) for column in columns])


def tallies(of_row: Codes, classes: int, values: Codes, size: int, weights: Counts | None = None) -> Iterator[Counts]:
    """Yield how often each value occurs in each class, for some classes after others, in order.

    Args:
        of_row: the class of each row.
        classes: how many there are.
        values: the code of each row's sensitive value.
        size: how many values there are.
        weights: how many times each row counts; once if not given.

    """
    width = max(_MOST_CELLS // max(size, 1), 1)
    if classes <= width:
        yield _tally(of_row, classes, values, size, weights)
        return
    order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[order], np.arange(0, classes + width, width))
    for first, start, stop in zip(range(0, classes, width), ends[:-1], ends[1:], strict=False):
        rows = order[start:stop]
        some = None if weights is None else weights[rows]
        yield _tally(of_row[rows] - first, min(width, classes - first), values[rows], size, some)


def spectra(of_row: Codes, classes: int, values: Codes, size: int, weights: Counts | None = None) -> Iterator[Counts]:
    """Yield the same counts without saying of which values: as many columns as a class has different values, at most.

    Of a column with many values, most of which a class does not have, this is far less than all counts. Whatever does
    not depend on the order of values comes out as for ``tallies``.
    """
    pairs, places = np.unique(of_row * size + values, return_inverse=True)
    counts = np.rint(np.bincount(places, weights=weights, minlength=len(pairs))).astype(np.int64)
    of_pair = pairs // size
    lengths = np.bincount(of_pair, minlength=classes)
    ranks = np.arange(len(pairs)) - (np.cumsum(lengths) - lengths)[of_pair]
    yield from tallies(of_pair, classes, ranks, int(lengths.max()), counts)


def _tally(of_row: Codes, classes: int, values: Codes, size: int, weights: Counts | None) -> Counts:
    counts = np.bincount(of_row * size + values, weights=weights, minlength=classes * size)
    return np.rint(counts).astype(np.int64).reshape(classes, size)
