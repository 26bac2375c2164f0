"""Records from tables of pairs: complete records whose pairs of attributes occur as often as wanted.

Objective: minimise the sum over all pairs of attributes, and over the single ones, of w (count - wanted)^2 over their
cells, where w = 1 / (wanted + 1)^power. No junction tree is needed and all pairs can be kept at once: a record is moved
from one value of one attribute to another where that lowers the sum, which is computed exactly for one move. Records
are looked at in blocks; of the moves that would help within a block a random share is made, because all of them
together would go too far (PrivSyn, Zhang et al. 2021, section 4.3, changes a share of the records for one pair at a
time; here a move is judged by all pairs of its attribute together). Blocks become smaller from round to round.

What is not wanted is left as it is: records begin as independent draws with the wanted single attributes, and moves
bring in the pairs, and no more dependence of three attributes than these need.

Cost of a round: records times attributes times the sum of all numbers of values, in few vector steps; memory: the
square of that sum.

Post-processing only: tables have been released, and the generator has no privacy role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator

Floats = NDArray[np.float64]
Single = NDArray[np.float32]
Codes = NDArray[np.int64]
#: The numbers of two attributes, the smaller one first.
Pair = tuple[int, ...]

#: The most values that all attributes may have together: tables of their pairs are held in memory.
MOST_VALUES: Final = 4096
#: Gains below this are rounding errors.
_LEAST_GAIN: Final = 1e-5
#: Up to as many numbers are looked up and added; of more, a sparse matrix adds up.
_FEW_CELLS: Final = 2**16


class Rounds(NamedTuple):
    """Rounds over all records: the number of blocks, and the share of helpful moves that is made."""

    times: int
    blocks: int
    share: float


#: From independent records, and from records that already fit up to rounding.
FROM_NOTHING: Final = (Rounds(2, 20, 0.3), Rounds(2, 60, 0.25), Rounds(3, 150, 0.25))
TOUCHING_UP: Final = (Rounds(2, 150, 0.25),)


def shared_out(law: Floats, rows: int, generator: Generator) -> Codes:
    """Return ``rows`` values in random order, each as often as its probability says, rounded down or up.

    >>> from dither.estimate.public_randomness import public_generator
    >>> np.bincount(shared_out(np.array([0.5, 0.25, 0.25]), 8, public_generator())).tolist()
    [4, 2, 2]

    """
    total = float(law.sum())
    shares = law / total if total > 0 else np.full(law.size, 1 / law.size)
    ends = np.minimum(np.cumsum(shares) * rows, rows)
    ends[-1] = rows
    # One random start for all: every value comes as often as its share on average, never off by a whole record.
    reached = np.floor(ends + float(generator.random())).astype(np.int64)
    counts = reached - np.concatenate([[0], reached[:-1]])
    return generator.permutation(np.repeat(np.arange(law.size, dtype=np.int64), counts))


class WantedPairs:
    """Distributions of pairs and of single attributes, side by side in one square table.

    Args:
        singles: for each attribute the law of its values, at least 0.
        pairs: for pairs of attributes the law of both, at least 0; pairs that are not named are not fitted.

    """

    def __init__(self, singles: Sequence[Floats], pairs: Mapping[Pair, Floats]) -> None:
        self.sizes = tuple(single.size for single in singles)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        values = int(self.starts[-1])
        if values > MOST_VALUES:
            raise InvalidParameter("singles", f"{values} values", f"at most {MOST_VALUES} values together")
        self.laws: Single = np.zeros((values, values), dtype=np.float32)
        self.named = np.zeros((values, values), dtype=bool)
        for axis, single in enumerate(singles):
            own = np.arange(self.starts[axis], self.starts[axis + 1])
            self.laws[own, own] = single / max(float(single.sum()), 1e-300)
            self.named[own, own] = True
        for axes, table in pairs.items():
            first, second = axes
            place = (self.part(first), self.part(second))
            law = table / max(float(table.sum()), 1e-300)
            for block, values_there in ((place, law), (place[::-1], law.T)):
                self.laws[block], self.named[block] = values_there, True

    def part(self, axis: int) -> slice:
        """Return the place of an attribute's values."""
        return slice(int(self.starts[axis]), int(self.starts[axis + 1]))

    def independent(self, rows: int, generator: Generator) -> Codes:
        """Return records, a row for each attribute, with the wanted single attributes and no dependence."""
        laws = [np.diagonal(self.laws[self.part(axis), self.part(axis)]) for axis in range(len(self.sizes))]
        return np.stack([shared_out(law.astype(np.float64), rows, generator) for law in laws])


def fit_records(
    records: Codes,
    wanted: WantedPairs,
    generator: Generator,
    *,
    rounds: Sequence[Rounds] = FROM_NOTHING,
    power: float = 0.5,
) -> Codes:
    """Return records moved towards the wanted pairs.

    Args:
        records: a row for each attribute, a column for each record.
        wanted: the laws of single attributes and pairs.
        generator: public randomness.
        rounds: how often, and in how many blocks, records are looked at.
        power: how far rare cells count for more: the weight of a cell is 1 / (wanted count + 1)^power.

    """
    moved = _Fit(records, wanted, power)
    for each in rounds:
        for _ in range(each.times):
            moved.round(each.blocks, each.share, generator)
    return moved.places.T - wanted.starts[:-1, None]


class _Fit:
    """Records, the errors of all their pairs, and what a record would pay for entering each cell.

    Tables are kept by attribute, one after another: for each the columns of its values in the square table, with a row
    for every value there is. So what one move needs lies together, and nothing is computed anew but the cells that
    moves have changed.
    """

    def __init__(self, records: Codes, wanted: WantedPairs, power: float) -> None:
        self._wanted = wanted
        #: A row for each record: where the value of each attribute stands in the square table.
        self.places = np.ascontiguousarray(records.T + wanted.starts[:-1])
        counts = np.zeros(wanted.laws.shape)
        goal = wanted.laws * np.float32(records.shape[1])
        weights: Single = np.where(wanted.named, (goal + 1) ** np.float32(-power), 0).astype(np.float32)
        width = self.places.shape[1]
        for first in range(width):
            for second in range(first, width):
                sizes = wanted.sizes[first], wanted.sizes[second]
                flat = records[first] * sizes[1] + records[second]
                table = np.bincount(flat, minlength=sizes[0] * sizes[1]).reshape(sizes)
                counts[wanted.part(first), wanted.part(second)] = table
                counts[wanted.part(second), wanted.part(first)] = table.T
        self._values, self._sizes = len(counts), np.array(wanted.sizes, dtype=np.int64)
        #: Where the table of each attribute begins, less what its first value is in the square table.
        self._begins = wanted.starts[:-1] * self._values - wanted.starts[:-1]
        self._errors = self._by_attribute(counts - goal)
        self._weights = self._by_attribute(weights)
        # (e + 1)^2 - e^2 for the cells that a record enters. For those that it leaves (e - 1)^2 - e^2 is the double of
        # the weight less that.
        self._entering: Single = self._weights * (2 * self._errors + 1)

    def _by_attribute(self, table: NDArray[Any]) -> Single:
        parts = [table[:, self._wanted.part(axis)].ravel() for axis in range(len(self._wanted.sizes))]
        return np.concatenate(parts).astype(np.float32)

    def round(self, blocks: int, share: float, generator: Generator) -> None:
        """Visit every record once."""
        width = self.places.shape[1]
        order = generator.permutation(len(self.places))
        for rows in np.array_split(order, min(blocks, max(len(order), 1))):
            block = self.places[rows]
            # Which records may move is drawn first: of the others nothing needs to be known.
            may_move = generator.random((width, len(rows))) < share
            for axis in generator.permutation(width):
                some = may_move[axis].nonzero()[0]
                if self._wanted.sizes[axis] > 1 and len(some):
                    self._move(block, some, int(axis))
            self.places[rows] = block

    def _move(self, block: Codes, some: Codes, axis: int) -> None:
        """Move some records of a block to the best fitting value of one attribute, where that helps."""
        start, size = int(self._wanted.starts[axis]), self._wanted.sizes[axis]
        begin = int(self._begins[axis])
        entering = self._entering[begin + start :][: self._values * size].reshape(self._values, size)
        asked = block[some]
        here = asked[:, axis]
        # What a record's own value of this attribute adds stands in one column alone, which is not to be chosen: two
        # values of one attribute are no pair. The cell of the attribute alone is entered wherever it stood before.
        costs = entering.diagonal(-start) + self._summed(entering, asked)
        numbers = np.arange(len(some))
        costs[numbers, here - start] = np.inf
        best = costs.argmin(axis=1)
        left = asked * size
        left += (here + begin)[:, None]
        spent = costs[numbers, best] + (2 * self._weights[left] - self._entering[left]).sum(axis=1)
        helped = (spent < -_LEAST_GAIN).nonzero()[0]
        if len(helped):
            there = start + best[helped]
            self._keep_up(asked[helped], axis, there)
            block[some[helped], axis] = there

    def _summed(self, table: Single, rows: Codes) -> Single:
        """Return for every record the sum of the rows of a table where the values of its attributes stand."""
        if rows.size * table.shape[1] <= _FEW_CELLS:
            return np.asarray(table[rows].sum(axis=1))
        from scipy.sparse import csr_array

        ends = np.arange(0, rows.size + 1, rows.shape[1])
        lookup = csr_array((np.ones(rows.size, np.float32), rows.ravel(), ends), shape=(len(rows), self._values))
        return np.asarray(lookup @ table)

    def _keep_up(self, before: Codes, axis: int, there: Codes) -> None:
        """Correct the errors for records that change one value, their other values staying the same."""
        width = before.shape[1]
        both = np.concatenate([before, before])
        moved = both[:, axis].copy()
        moved[len(there) :] = both[len(there) :, axis] = there
        # Each cell in the table of this attribute, and in that of the other; the attribute's own cell once.
        cells = np.empty((len(both), 2 * width - 1), dtype=np.int64)
        cells[:, :width] = both * self._sizes[axis] + (moved + self._begins[axis])[:, None]
        others = moved[:, None] * self._sizes + (both + self._begins)
        cells[:, width : width + axis] = others[:, :axis]
        cells[:, width + axis :] = others[:, axis + 1 :]
        flat = cells.ravel()
        steps = np.ones(cells.shape, dtype=np.float32)
        steps[: len(there)] = -1
        np.add.at(self._errors, flat, steps.ravel())
        self._entering[flat] = self._weights[flat] * (2 * self._errors[flat] + 1)
