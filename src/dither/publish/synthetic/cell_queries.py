"""Cells of marginals as counting queries, for methods that store the table of all cells.

Every cell of every marginal of a workload is a query that counts the records in it. A record lies in one cell of each
marginal, so it moves one query of each marginal by 1 and all others by nothing; and the negation of a query, which
counts the other records, moves by 1 where the query does not. When a record comes, no query and no negation falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.multiplicative_weights import summed
from dither.lift.attributes import Attributes, Axes
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.measuring import Seen

#: Cells of a table that is held as a whole, unless a method says less.
LARGEST_TABLE: Final = 2**20
#: Axes of an array, with some to spare.
_MOST_AXES: Final = 32
_MOST_QUERIES: Final = 2**18
#: All counts of a marginal together are cut off here, so that no small multiple of them overflows.
MOST_COUNT: Final = 2**50


class CellQueries:
    """All cells of some marginals, numbered one marginal after another.

    Args:
        attributes: names and sizes; public.
        sets: the marginals; public.

    >>> queries = CellQueries(Attributes.of({"a": 2, "b": 3}), [(0,), (0, 1)])
    >>> queries.size, queries.place(3)
    (8, (1, 1))

    """

    def __init__(self, attributes: Attributes, sets: Sequence[Axes]) -> None:
        self.attributes, self.sets = attributes, tuple(dict.fromkeys(sets))
        self.sizes = tuple(attributes.cells_of(axes) for axes in self.sets)
        self._ends = np.cumsum(self.sizes)
        #: How many queries there are.
        self.size = int(self._ends[-1])

    def place(self, number: int) -> tuple[int, int]:
        """Return the marginal in which a query lies, and the query's cell in it."""
        which = int(np.searchsorted(self._ends, number, side="right"))
        return which, number - (int(self._ends[which - 1]) if which else 0)

    def counts(self, seen: Seen) -> NDArray[np.int64]:
        """Return the answers. Private; a record moves at most one answer of each marginal, by 1."""
        counted = zip(self.sets, self.sizes, strict=True)
        return np.concatenate([np.minimum(seen.count(axes).ravel(), MOST_COUNT // size) for axes, size in counted])

    def answers(self, table: Floats) -> Floats:
        """Return the answers on a table of all cells."""
        return np.concatenate([summed(table, axes).ravel() for axes in self.sets])

    def others(self, answers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for every query, the sum of the other cells of its marginal: the answer to its negation."""
        return np.concatenate([piece.sum() - piece for piece in np.split(answers, self._ends[:-1])])

    def tables(self, answers: Floats) -> list[tuple[Axes, Floats]]:
        """Return answers as one table per marginal."""
        pieces = np.split(answers, self._ends[:-1])
        shapes = [self.attributes.shape_of(axes) for axes in self.sets]
        return [(axes, piece.reshape(shape)) for axes, piece, shape in zip(self.sets, pieces, shapes, strict=True)]

    def of_cells(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a row for each cell of the full table: 1 for the queries that count it, 0 for others."""
        return self.of_records(np.stack(np.unravel_index(cells, self.attributes.sizes), axis=1))

    def of_records(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a row for each record: 1 for the queries that count it, 0 for others."""
        found = np.zeros((len(codes), self.size), dtype=np.int64)
        start = 0
        for axes, size in zip(self.sets, self.sizes, strict=True):
            place = np.zeros(len(codes), dtype=np.int64)
            for axis in axes:
                place = place * self.attributes.sizes[axis] + codes[:, axis]
            found[np.arange(len(codes)), start + place] = 1
            start += size
        return found


def check_table(attributes: Attributes, sets: Sequence[Axes], most: int = LARGEST_TABLE) -> None:
    """Reject attributes whose full table is too large to store, and workloads of too many queries."""
    if attributes.cells > most or len(attributes.sizes) > _MOST_AXES:
        rule = f"at most {_MOST_AXES} attributes with at most {most} cells; other methods need no table of all cells"
        raise InvalidParameter("attributes", f"{len(attributes.sizes)} with {attributes.cells} cells", rule)
    queries = sum(attributes.cells_of(axes) for axes in sets)
    if queries > _MOST_QUERIES:
        raise InvalidParameter("workload", f"{queries} cells", f"marginals of at most {_MOST_QUERIES} cells together")


def named_sets(attributes: Attributes, workload: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the marginals of a workload, names in the order of the attributes, or reject unknown names."""
    return tuple(attributes.named(attributes.axes(names)) for names in workload)


def rounded_total(noisy: int) -> int:
    """Return a released number of records as one that a table can have: at least 1, at most ``MOST_COUNT``."""
    return min(max(int(noisy), 1), MOST_COUNT)
