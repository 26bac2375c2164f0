"""Gradient-boosted trees on private histograms: many small trees of public shape, each with noisy leaves.

For tables of numbers and codes, the classifier to take first. A tree looks at one column, or at a few, cut into parts
that a public seed decides; each of its leaves is given what the noisy sum of gradients in it asks for. Columns take
turns, so that every column is seen equally often. Cost: one pass over the records for each tree. Corrections: splits
and bins come from a public seed and never from data; gradients are integers, so that no float decides what a
record adds; what a leaf holds is divided by noisy counts, which are paid for.
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
from dither.exact import Text, Whole
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.declared import DeclaredUnit
from dither.learn.linear.gradients import LENGTH, PULL, WEIGHT_STEPS, pulls
from dither.learn.rows import BoundField, Floats, labelled, records_of
from dither.learn.trees.bins import Bins, CellCounts, Unordered, Whole64, public_order, public_parts
from dither.learn.trees.models import BoostedModel, combined
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

#: What a record adds to the count of its leaf, in the steps of a gradient: a fifth of the squared length of both.
_COUNTED: Final = PULL // 2
#: Steps of a score.
_STEPS: Final = LENGTH * WEIGHT_STEPS
#: How much of the way to the best value of a leaf is gone, how curved the loss is taken to be per record, how many
#: deviations of the noise are added to what is divided by, and how far a leaf may move a score.
_STRIDE: Final = 0.5
_CURVATURE: Final = 0.15
_DAMPING: Final = 1.5
_LARGEST_STEP: Final = 2.0
_MOST_CELLS: Final = 2**20
_MOST_CLASSES: Final = 2**10


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.0, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 3], "bins": [8, 4], "unordered": [0, 1]}
    small: dict[str, Any] = {**public, "leaves": 3}
    yield Example(BoostedTrees(**small, classes=2, rounds=3, part=DiscreteGaussian(sigma=2**14)), rows, others)
    yield Example(BoostedTrees(**small, classes=3, rounds=2, part=Geometric(scale=2**14)), rows, others)
    wide = BoostedTrees(
        **public,
        leaves=2,
        classes=2,
        rounds=2,
        depth=2,
        part=Geometric(scale=2**13),
        unit=ROW_REPLACED,
        public_seed="b",
    )
    yield Example(wide, rows)


@register(
    examples=_examples,
    source="Accuracy, Interpretability, and Differential Privacy via Explainable Boosting (Nori, Caruana, Bu, Shen, "
    "Kulkarni 2021); Federated Boosted Decision Trees with Differential Privacy (Maddock et al. 2022), section 4",
)
@dataclass(frozen=True, kw_only=True)
class BoostedTrees(DeclaredUnit, Composed[Any, BoostedModel]):
    """Learn a classifier as a sum of trees of public shape, each leaf set by a noisy sum of gradients.

    Guarantee: data ``d_in`` rows apart loses ``rounds`` times what ``part`` loses at ``d_in`` times ``stability``: what
    one record adds to the one leaf it lies in, a gradient and a count, in L1 or L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        bins: the number of cells, of one width, of each column.
        unordered: 1 for columns of categories, of which any sets are parts; 0 for columns of numbers.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        rounds: the number of trees.
        leaves: the largest number of parts into which a tree cuts a column.
        depth: the number of columns that a tree reads.
        part: the noise of one number of a leaf, in steps of 1/4096 of the largest gradient.
        public_seed: a public text that decides the shapes of the trees.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = BoostedTrees.calibrated(
    ...     ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], bins=[32, 11], unordered=[0, 1], classes=2
    ... )
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.rounds
    (True, 16)

    """

    name: ClassVar[str] = "boosted-trees"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well trees with noisy leaves classify depends on the records"
    no_interval_because: ClassVar[str] = "the best trees have no known distance from noisy ones"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    bins: CellCounts = CellCounts()
    unordered: Unordered = Unordered()
    classes: Whole = Whole(least=2, most=_MOST_CLASSES)
    rounds: Whole = Whole(least=1, most=2**16)
    leaves: Whole = Whole(10, least=2, most=2**10)
    depth: Whole = Whole(1, least=1, most=8)
    part: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.depth > self.cells.columns:
            raise InvalidParameter("depth", self.depth, f"at most {self.cells.columns}, the number of columns")
        if math.prod(self.shape) > _MOST_CELLS:
            raise InvalidParameter("leaves", self.leaves, f"so few that a tree has at most {_MOST_CELLS} numbers")

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
        rounds: int | None = None,
        leaves: int = 10,
        depth: int = 1,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``."""
        purse = Purse.within(within)
        columns = len(np.atleast_1d(np.asarray(lower)))
        count = usual_rounds(purse, columns) if rounds is None else rounds
        touched = unit.touched if isinstance(unit, Unit) else 1
        return cls(
            lower=lower,
            upper=upper,
            bins=bins,
            unordered=unordered,
            classes=classes,
            rounds=count,
            leaves=leaves,
            depth=depth,
            part=_moves(classes).noise(purse / max(count, 1), touched),
            public_seed=public_seed,
            unit=unit,
        )

    @cached_property
    def cells(self) -> Bins:
        """The public cells of the columns."""
        return Bins(self.lower, self.upper, self.bins, self.unordered)

    @property
    def scores(self) -> int:
        """The number of scores: one for two classes, otherwise one for each."""
        return 1 if self.classes == 2 else self.classes

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the numbers of a tree: gradients and a count for each of its leaves."""
        return int(self.leaves) ** int(self.depth), self.scores + 1

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the numbers of a tree."""
        return _moves(self.classes).stability(self.part, self.unit.touched)

    def plan(self) -> Plan:
        """Return one draw for each tree."""
        return Repeat(Use(of_shape(self.part, self.shape), self.stability), self.rounds)

    def release(self, data: Any, run: Runner) -> BoostedModel:
        """Return the trees. Between draws everything but the records and their scores is public."""
        values, classes = labelled(records_of(data, self.cells.columns), self.classes)
        cells = self.cells.cells(values)
        scores = np.zeros((len(cells), self.scores))
        shapes = [self.tree(number) for number in range(self.rounds)]
        tables = []
        for columns, parts in shapes:
            leaf = combined(cells, columns, parts, self.leaves)
            added = np.column_stack([pulls("logistic", scores, classes), np.full(len(cells), float(_COUNTED))])
            table = self._steps(noisy_cells(run, self.part, _sums(leaf, added, self.shape[0]), self.stability))
            scores += table[leaf]
            tables.append(table / _STEPS)
        return BoostedModel(
            self.lower,
            self.upper,
            self.bins,
            self.unordered,
            PublicArray(np.array([columns for columns, _ in shapes])),
            PublicArray(np.array([parts for _, parts in shapes])),
            PublicArray(np.array(tables)),
        )

    def tree(self, number: int) -> tuple[Whole64, Whole64]:
        """Return the columns of a tree, and the part of each cell of each column: public, independent of the data."""
        columns, first = self.cells.columns, number * self.depth
        # Columns take turns; a tree that begins near the end of a turn goes on with the next one.
        places = [(first + step) // columns for step in range(self.depth)]
        orders = {turn: public_order(f"turn:{turn}:{self.public_seed}", columns) for turn in set(places)}
        chosen = [int(orders[turn][(first + step) % columns]) for step, turn in enumerate(places)]
        parts = np.zeros((self.depth, self.cells.widest), dtype=np.int64)
        for place, column in enumerate(chosen):
            count = int(self.bins.values[column])
            unordered = bool(self.unordered.values[column])
            parts[place, :count] = public_parts(
                f"parts:{number}:{place}:{self.public_seed}", count, self.leaves, unordered=unordered
            )
        return np.array(chosen, dtype=np.int64), parts

    def _steps(self, seen: Floats) -> Floats:
        """Return the number of whole steps by which each leaf moves the scores; from released numbers alone."""
        noise = deviation(self.part) / PULL
        records = np.maximum(seen[:, -1:] / _COUNTED, 0.0)
        wanted = -_STRIDE * (seen[:, :-1] / PULL) / (_CURVATURE * records + _DAMPING * noise)
        return np.rint(np.clip(wanted, -_LARGEST_STEP, _LARGEST_STEP) * _STEPS)


def usual_rounds(purse: Purse, columns: int) -> int:
    """Return the number of trees that suits a loss: a few rounds over all columns, and more for a larger loss."""
    if purse.is_pure:
        return columns * min(max(round(4 * math.sqrt(purse.amount)), 1), 24)
    return columns * min(max(round(17 * math.pow(purse.amount, 0.2)), 2), 24)


def _moves(classes: int) -> Moves:
    """Return how far one record moves the numbers of a tree: a gradient and the count of one leaf."""
    # The pulls of many classes are p - 1 for the own class and p for the others: at most 2 in L1, and 1 in L2 as cut.
    absolute = PULL if classes == 2 else 2 * PULL
    return Moves(absolute + _COUNTED, PULL**2 + _COUNTED**2)


def _sums(leaf: Whole64, added: Floats, leaves: int) -> Whole64:
    """Return the sums of integers in each leaf; exact while they are below 2^53."""
    sums = [np.bincount(leaf, weights=column, minlength=leaves) for column in added.T]
    return np.stack(sums, axis=1).astype(np.int64)
