"""Random forests of trees whose shape does not depend on data: only the counts of classes in their leaves are drawn.

For classes that few columns tell apart, at a small budget: structure costs nothing, and a record lies in one leaf of a
tree. Records are divided among the trees by a hash of their own content, so that all counts together cost as much as
one; or every tree sees all records, and the budget is shared. Cost: one pass over the records for each tree.
Corrections: leaves are all released, empty ones too, since a missing leaf tells that it is empty; classes are
declared; a record's tree depends on the record and its number among its equals, never on its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Flag, Text, Whole
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.declared import DeclaredUnit
from dither.learn.rows import BoundField, labelled, records_of
from dither.learn.trees.bins import Bins, CellCounts, Unordered, Whole64, public_numbers, public_order
from dither.learn.trees.models import NO_COLUMN, ForestModel, leaf_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

_MOST_COUNTS: Final = 2**24
_MIX: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.0, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 3], "bins": [8, 4], "unordered": [0, 1], "classes": 2}
    yield Example(RandomForest(**public, trees=2, depth=1, part=Geometric(scale=2)), rows, others)
    together: dict[str, Any] = {**public, "trees": 2, "depth": 2, "divided": False}
    yield Example(RandomForest(**together, part=DiscreteGaussian(sigma=3)), rows, others)
    yield Example(RandomForest(**together, part=Geometric(scale=4), unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="A Practical Differentially Private Random Decision Tree Classifier (Jagannathan, Pillaipakkamnatt, Wright "
    "2012); Differential Privacy and Applications (Zhu et al. 2017), section 6.1.2.1",
)
@dataclass(frozen=True, kw_only=True)
class RandomForest(DeclaredUnit, Composed[Any, ForestModel]):
    """Count the classes in the leaves of trees of public random shape.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``d_in`` times ``stability``: one count where
    records are divided among the trees, one count of each tree where they are not (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        bins: the number of cells, of one width, of each column.
        unordered: 1 for columns of categories, 0 for columns of numbers.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        trees: the number of trees.
        depth: the number of questions on the way to a leaf.
        part: the noise of one count.
        divided: whether each record is counted by one tree alone.
        public_seed: a public text that decides the shapes of the trees.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> public = {"lower": [0, 0], "upper": [1, 10], "bins": [32, 11], "unordered": [0, 1], "classes": 2}
    >>> RandomForest.calibrated(PureDP(1), **public, trees=10, depth=4).part
    Geometric(shape=(), scale=Fraction(1, 1))

    """

    name: ClassVar[str] = "random-forest"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well trees of random shape classify depends on the records"
    no_interval_because: ClassVar[str] = "the released counts are of parts of the records that only their hash knows"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    bins: CellCounts = CellCounts()
    unordered: Unordered = Unordered()
    classes: Whole = Whole(least=2, most=2**10)
    trees: Whole = Whole(least=1, most=2**12)
    depth: Whole = Whole(least=1, most=14)
    part: OneCount = OneCount()
    divided: Flag = Flag(True)
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.cells.columns and math.prod(self.shape) > _MOST_COUNTS:
            raise InvalidParameter("depth", self.depth, f"so small that there are at most {_MOST_COUNTS} counts")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        bins: Any,
        unordered: Any,
        classes: int,
        trees: int,
        depth: int,
        divided: bool = True,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the forest with the least noise whose loss for one unit is within ``within``.

        Where a delta is stated, geometric noise of its epsilon is taken if it is the smaller one: a record in one count
        gains nothing from a delta.
        """
        touched, moves = unit.touched if isinstance(unit, Unit) else 1, _moves(trees, divided=divided)
        bought = [moves.noise(purse, touched) for purse in (Purse.within(within), Purse.pure_within(within))]
        return cls(
            lower=lower,
            upper=upper,
            bins=bins,
            unordered=unordered,
            classes=classes,
            trees=trees,
            depth=depth,
            part=min(bought, key=deviation),
            divided=divided,
            public_seed=public_seed,
            unit=unit,
        )

    @cached_property
    def cells(self) -> Bins:
        """The public cells of the columns."""
        return Bins(self.lower, self.upper, self.bins, self.unordered)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the counts: trees, leaves and classes."""
        return self.trees, 2**self.depth, self.classes

    @property
    def stability(self) -> Fraction:
        """How far one unit moves all counts together."""
        return _moves(self.trees, divided=self.divided).stability(self.part, self.unit.touched)

    def plan(self) -> Plan:
        """Return one draw of all counts."""
        return Use(of_shape(self.part, self.shape), self.stability)

    def release(self, data: Any, run: Runner) -> ForestModel:
        """Return the trees with their counts."""
        values, classes = labelled(records_of(data, self.cells.columns), self.classes)
        cells = self.cells.cells(values)
        shapes = [self.tree(number) for number in range(self.trees)]
        own = tree_of(np.column_stack([cells, classes]), self.trees, self.public_seed) if self.divided else None
        counts = np.zeros(self.shape, dtype=np.int64)
        for number, (columns, right) in enumerate(shapes):
            seen = slice(None) if own is None else own == number
            counted = leaf_of(cells[seen], columns, right) * self.classes + classes[seen]
            counts[number] = np.bincount(counted, minlength=counts[number].size).reshape(counts[number].shape)
        noisy = noisy_cells(run, self.part, counts, self.stability)
        return ForestModel(
            self.lower,
            self.upper,
            self.bins,
            self.unordered,
            PublicArray(np.array([columns for columns, _ in shapes])),
            PublicArray(np.array([right for _, right in shapes])),
            PublicArray(noisy),
            1.0 + deviation(self.part) * math.sqrt(self.classes),
        )

    def tree(self, number: int) -> tuple[Whole64, Whole64]:
        """Return the columns of a tree's inner nodes, and which of their cells go right: public, without data."""
        inner = 2**self.depth - 1
        columns = np.full(inner, NO_COLUMN, dtype=np.int64)
        right = np.zeros((inner, self.cells.widest), dtype=np.int64)
        left_over = [[np.arange(count) for count in self.bins.values.tolist()]]
        for node in range(inner):
            possible = left_over[node]
            open_columns = [column for column, cells in enumerate(possible) if len(cells) > 1]
            below = [list(possible), list(possible)]
            if open_columns:
                drawn = public_numbers(f"node:{number}:{node}:{self.public_seed}", 2)
                column = open_columns[int(drawn[0]) % len(open_columns)]
                cells = possible[column]
                if self.unordered.values[column]:
                    cells = cells[public_order(f"sets:{number}:{node}:{self.public_seed}", len(cells))]
                    cut = len(cells) // 2
                else:
                    cut = 1 + int(drawn[1]) % (len(cells) - 1)
                columns[node] = column
                right[node, cells[cut:]] = 1
                below[0][column], below[1][column] = np.sort(cells[:cut]), np.sort(cells[cut:])
            left_over.extend(below)
        return columns, right


def tree_of(records: Whole64, trees: int, public_seed: str) -> Whole64:
    """Return the tree of each integer record: a hash of the seed, the record, and its number among equal records.

    That number is not a position: an added record adds one number, and all others keep their trees.
    """
    if not len(records):
        return np.zeros(0, dtype=np.int64)
    _, kind, sizes = np.unique(records, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(kind.ravel(), kind="stable")
    number = np.empty(len(records), dtype=np.int64)
    number[order] = np.arange(len(records)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    mixed = np.full(len(records), int(public_numbers(f"trees:{public_seed}", 1)[0]), dtype=np.uint64)
    for column in (*records.T, number):
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(_MIX[2])
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_MIX[0])
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_MIX[1])
        mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed % np.uint64(trees)).astype(np.int64)


def _moves(trees: int, *, divided: bool) -> Moves:
    """Return how far one record moves all counts: one count in all, or one in each tree."""
    counted = 1 if divided else trees
    return Moves(counted, counted)
