"""Trees that grow: the split of each node is chosen privately, level by level; then classes are counted in the leaves.

``ChosenTree`` (Friedman and Schuster) chooses each split by the exponential mechanism. ``CountedTree`` (SuLQ-ID3)
counts cells by class with noise and takes the split of largest gain in what it sees. Nodes of a level hold different
records, so that a level costs as much as one node. Cost: a pass over the records for each level and column.
Corrections: SuLQ-ID3 takes the largest gain, which is printed as one below a threshold; information gain is bounded by
a public number of records, and the gain ratio, which nothing bounds, is refused; a node that seems empty is left as it
is by released numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Maybe, Number, Whole, exact
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.declared import DeclaredUnit
from dither.learn.rows import BoundField, Floats, labelled, records_of
from dither.learn.trees.bins import Bins, CellCounts, Unordered, Whole64
from dither.learn.trees.models import NO_COLUMN, ForestModel, leaf_of
from dither.learn.trees.splits import ScoreField, Splits, score_moves, score_of
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Parallel, Plan, Unit, Use
from dither.privacy.fields import RowUnit

_ONE: Final = Moves(1, 1)
_MOST_CLASSES: Final = 2**8
_USUAL_RECORDS: Final = 2**16
#: The part of a loss by which nodes are counted, where these counts stop a tree.
_STOP_SHARE: Final = Fraction(1, 10)


@dataclass(frozen=True, kw_only=True)
class GrownTree(DeclaredUnit, Composed[Any, ForestModel]):
    """What both kinds of growing trees share: public cells, and noisy counts in the leaves."""

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    bins: CellCounts = CellCounts()
    unordered: Unordered = Unordered()
    classes: Whole = Whole(least=2, most=_MOST_CLASSES)
    depth: Whole = Whole(least=1, most=10)
    leaf: OneCount = OneCount()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.splits.number == 0:
            raise InvalidParameter("bins", self.bins, "more than one cell in some column")

    @cached_property
    def splits(self) -> Splits:
        """All splits that a node may have."""
        return Splits(Bins(self.lower, self.upper, self.bins, self.unordered))

    def _count_leaves(self) -> Use:
        return Use(of_shape(self.leaf, (2**self.depth, self.classes)), _ONE.stability(self.leaf, self.unit.touched))

    def _read(self, data: Any) -> tuple[Whole64, Whole64]:
        values, classes = labelled(records_of(data, self.splits.bins.columns), self.classes)
        return self.splits.bins.cells(values), classes

    def _finish(self, cells: Whole64, classes: Whole64, columns: Whole64, right: Whole64, run: Runner) -> ForestModel:
        """Count the classes in the leaves."""
        place = leaf_of(cells, columns, right) * self.classes + classes
        counts = np.bincount(place, minlength=2**self.depth * self.classes).reshape(2**self.depth, self.classes)
        seen = noisy_cells(run, self.leaf, counts.astype(np.int64), _ONE.stability(self.leaf, self.unit.touched))
        return ForestModel(
            self.lower,
            self.upper,
            self.bins,
            self.unordered,
            PublicArray(columns[None]),
            PublicArray(right[None]),
            PublicArray(seen[None]),
            1.0 + deviation(self.leaf),
        )


def _chosen_examples() -> Iterator[Example]:
    rows = np.array([[0.5, 2.0, 1.0], [9.0, 1.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.0, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 2], "bins": [3, 3], "unordered": [0, 1], "classes": 2}
    yield Example(ChosenTree(**public, depth=1, scale=1, leaf=Geometric(scale=2)), rows, others)
    deep: dict[str, Any] = {**public, "depth": 2, "leaf": DiscreteGaussian(sigma=2)}
    yield Example(ChosenTree(**deep, scale=512, score="gini", unit=ROW_REPLACED), rows)
    yield Example(ChosenTree(**deep, scale=400, score="gain", records=8), rows, others)
    yield Example(ChosenTree(**deep, scale=512, score="gini", stop=DiscreteGaussian(sigma=1), least=2), rows, others)


@register(
    examples=_chosen_examples,
    source="Data Mining with Differential Privacy (Friedman, Schuster 2010); Differential Privacy and Applications "
    "(Zhu et al. 2017), section 6.1.2.1",
)
@dataclass(frozen=True, kw_only=True)
class ChosenTree(GrownTree):
    """Grow a tree whose splits are chosen by the exponential mechanism, and count the classes in its leaves.

    Guarantee: data ``d_in`` rows apart loses what ``depth`` choices lose at ``d_in`` times what one record moves a
    score (1 for the largest class, 512 steps of 1/256 for Gini, 64 log2 of ``records`` and a little for the gain), and
    what ``leaf`` loses at ``d_in``; for rows replaced, twice as many choices, of scores that move both ways. With
    ``stop``, also ``depth`` times what that loses at ``d_in`` (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        bins: the number of cells, of one width, of each column; a split lies between two of them.
        unordered: 1 for columns of categories, which are split into one and the rest; 0 for columns of numbers.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        depth: the number of questions on the way to a leaf.
        scale: the difference in score that makes a split e times as likely, in the steps of its score.
        leaf: the noise of one count of a leaf.
        score: "largest-class", "gini" or "gain" (information gain times records).
        records: for the gain, from how many records on its increments stay as they are; any number is safe.
        stop: the noise of the count of a node's records, by which it is left undivided; None to divide every node.
        least: with ``stop``, the noisy count from which on a node is divided.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> public = {"lower": [0, 0], "upper": [1, 10], "bins": [32, 11], "unordered": [0, 1], "classes": 2}
    >>> tree = ChosenTree.calibrated(PureDP(1), **public, depth=4, score="largest-class")
    >>> tree.loss(1).epsilon, tree.scale
    (Fraction(1, 1), Fraction(8, 1))

    """

    name: ClassVar[str] = "chosen-tree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a tree classifies depends on the records"
    no_interval_because: ClassVar[str] = "the best tree has no known distance from a chosen one"

    scale: DiscreteScale = DiscreteScale()
    score: ScoreField = ScoreField("largest-class")
    records: Whole = Whole(_USUAL_RECORDS, least=1, most=2**22)
    stop: Maybe = Maybe(OneCount())
    least: Whole = Whole(0, most=2**53)

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
        depth: int,
        score: str = "largest-class",
        records: int = _USUAL_RECORDS,
        least: Any = None,
        share: Number = Fraction(1, 2),
        unit: Unit = ROW,
    ) -> Self:
        """Return the tree whose loss for one unit is within ``within``, of which ``share`` goes to the choices.

        With ``least``, a tenth of the loss counts the records of nodes, and one with a lower noisy count is not
        divided: a number, or "auto" for the published one, at which the counts of its leaves would be below their noise
        (two sides times the classes times the deviation of a leaf's noise).
        """
        purse = Purse.within(within)
        stop: CountNoise | None = None
        if least is not None:
            stop = (purse.share(_STOP_SHARE) / max(depth, 1)).noise(unit.touched if isinstance(unit, Unit) else 1)
            purse = purse.share(1 - _STOP_SHARE)
        first, touched = _share(share), unit.touched if isinstance(unit, Unit) else 1
        each = purse.share(first) / (max(depth, 1) * touched)
        moved = score_moves(ScoreField().convert("score", score), records)
        leaf = purse.share(1 - first).noise(touched)
        if least == "auto":
            least = math.ceil(2 * Whole(least=2, most=_MOST_CLASSES).convert("classes", classes) * deviation(leaf))
        return cls(
            lower=lower,
            upper=upper,
            bins=bins,
            unordered=unordered,
            classes=classes,
            depth=depth,
            scale=each.choice(moved, one_way=touched == 1),
            leaf=leaf,
            score=score,
            records=records,
            stop=stop,
            least=0 if least is None else least,
            unit=unit,
        )

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a split."""
        return Exponential(candidates=self.splits.number, scale=self.scale, one_way=self.unit.touched == 1)

    @property
    def moved(self) -> int:
        """How far one unit moves the score of a split."""
        return score_moves(self.score, self.records)

    def plan(self) -> Plan:
        """Return a choice for each node, level by level, with their counts before it, and the counts of the leaves."""
        each, levels = Use(self.choice, self.moved), list[Plan]()
        for level in range(self.depth):
            if self.stop is not None:
                moved = _ONE.stability(self.stop, self.unit.touched)
                levels.append(Use(of_shape(self.stop, (2**level,)), moved))
            levels.append(Parallel(each, 2**level, self.unit.touched))
        return InOrder((*levels, self._count_leaves()))

    def release(self, data: Any, run: Runner) -> ForestModel:
        """Return the tree. The nodes of a level, and so the division of the records, are released before it."""
        cells, classes = self._read(data)
        inner = 2**self.depth - 1
        columns = np.full(inner, NO_COLUMN, dtype=np.int64)
        right = np.zeros((inner, self.splits.bins.widest), dtype=np.int64)
        is_open = np.ones(1, dtype=np.bool_)
        for level in range(self.depth):
            first, count = 2**level - 1, 2**level
            nodes = leaf_of(cells, columns[:first], right[:first])
            is_open &= self._is_large(nodes, count, run)
            sides = self.splits.sides(self.splits.tables(cells, classes, nodes, count, self.classes))
            scores = score_of(self.score, *sides, self.records)
            for node, inside in enumerate(run.parallel(count)):
                if is_open[node]:
                    chosen = inside(self.choice, scores[node], stability=self.moved)
                    columns[first + node] = self.splits.columns[chosen]
                    right[first + node] = self.splits.right[chosen]
            is_open = np.repeat(is_open, 2)
        return self._finish(cells, classes, columns, right, run)

    def _is_large(self, nodes: Whole64, count: int, run: Runner) -> NDArray[np.bool_]:
        """Return which nodes of a level are to be divided, by their noisy counts where these are drawn."""
        if self.stop is None:
            return np.ones(count, dtype=np.bool_)
        held = np.bincount(nodes, minlength=count).astype(np.int64)
        return noisy_cells(run, self.stop, held, _ONE.stability(self.stop, self.unit.touched)) >= self.least


def _counted_examples() -> Iterator[Example]:
    rows = np.array([[0.5, 2.0, 1.0], [9.0, 1.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.0, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 2], "bins": [3, 3], "unordered": [0, 1], "classes": 2}
    yield Example(CountedTree(**public, depth=2, cell=Geometric(scale=4), leaf=Geometric(scale=2)), rows, others)
    gaussian: dict[str, Any] = {"cell": DiscreteGaussian(sigma=4), "leaf": DiscreteGaussian(sigma=2)}
    yield Example(CountedTree(**public, depth=1, **gaussian, unit=ROW_REPLACED), rows)


@register(
    examples=_counted_examples,
    source="Practical Privacy: The SuLQ Framework (Blum, Dwork, McSherry, Nissim 2005), section 5; Differential "
    "Privacy and Applications (Zhu et al. 2017), section 6.1.2.1",
)
@dataclass(frozen=True, kw_only=True)
class CountedTree(GrownTree):
    """Grow a tree by the largest information gain in noisy counts of cells and classes (ID3).

    Guarantee: data ``d_in`` rows apart loses ``depth`` times what ``cell`` loses at ``d_in`` times one count for each
    column, and what ``leaf`` loses at ``d_in`` (twice these distances for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        bins: the number of cells, of one width, of each column; a split lies between two of them.
        unordered: 1 for columns of categories, which are split into one and the rest; 0 for columns of numbers.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        depth: the largest number of questions on the way to a leaf.
        cell: the noise of one count of a cell and a class in a node.
        leaf: the noise of one count of a leaf.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> public = {"lower": [0, 0], "upper": [1, 10], "bins": [32, 11], "unordered": [0, 1], "classes": 2}
    >>> CountedTree.calibrated(PureDP(1), **public, depth=4).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "counted-tree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a tree classifies depends on the records"
    no_interval_because: ClassVar[str] = "the best tree has no known distance from a noisy one"

    cell: OneCount = OneCount()

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.bins.values.sum()) * self.classes * 2**self.depth > 2**24:
            raise InvalidParameter("depth", self.depth, "so small that a level has at most 2^23 counts")

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
        depth: int,
        share: Number = Fraction(3, 4),
        unit: Unit = ROW,
    ) -> Self:
        """Return the tree with the least noise within ``within``, of which ``share`` goes to the counts of cells."""
        purse = Purse.within(within)
        first, touched = _share(share), unit.touched if isinstance(unit, Unit) else 1
        columns = len(np.atleast_1d(np.asarray(lower)))
        each = purse.share(first) / max(depth, 1)
        return cls(
            lower=lower,
            upper=upper,
            bins=bins,
            unordered=unordered,
            classes=classes,
            depth=depth,
            cell=Moves(columns, columns).noise(each, touched),
            leaf=purse.share(1 - first).noise(touched),
            unit=unit,
        )

    @property
    def stability(self) -> Fraction:
        """How far one unit moves all counts of a level: one for each column."""
        columns = self.splits.bins.columns
        return Moves(columns, columns).stability(self.cell, self.unit.touched)

    def _shape(self, level: int) -> tuple[int, int, int]:
        return 2**level, int(self.bins.values.sum()), self.classes

    def plan(self) -> Plan:
        """Return the counts of each level, and of the leaves."""
        levels = [Use(of_shape(self.cell, self._shape(level)), self.stability) for level in range(self.depth)]
        return InOrder((*levels, self._count_leaves()))

    def release(self, data: Any, run: Runner) -> ForestModel:
        """Return the tree."""
        cells, classes = self._read(data)
        inner = 2**self.depth - 1
        columns = np.full(inner, NO_COLUMN, dtype=np.int64)
        right = np.zeros((inner, self.splits.bins.widest), dtype=np.int64)
        for level in range(self.depth):
            first, count = 2**level - 1, 2**level
            nodes = leaf_of(cells, columns[:first], right[:first])
            tables = self.splits.tables(cells, classes, nodes, count, self.classes)
            seen = noisy_cells(run, self.cell, np.concatenate(tables, axis=1).astype(np.int64), self.stability)
            for node, split in enumerate(self._best(seen)):
                if split is not None:
                    columns[first + node], right[first + node] = self.splits.columns[split], self.splits.right[split]
        return self._finish(cells, classes, columns, right, run)

    def _best(self, seen: Floats) -> list[int | None]:
        """Return the split with the largest gain of each node, None where a node seems empty; from released counts."""
        edges = np.cumsum(self.bins.values)[:-1]
        tables = np.split(np.maximum(seen, 0.0), edges, axis=1)
        left, right = self.splits.sides(tables)
        gains = _information(left) + _information(right)
        # Every column counts the same records, so that the mean over columns is how many a node seems to hold.
        held = seen.sum(axis=(1, 2)) / self.splits.bins.columns
        least = deviation(self.cell) * np.sqrt(2 * self.classes)
        return [int(row.argmax()) if size > least else None for row, size in zip(gains, held, strict=True)]


def _information(counts: Floats) -> Floats:
    """Return minus the entropy of each side times its number of records, in bits."""
    known = np.maximum(counts, 1e-9)
    whole = known.sum(axis=-1, keepdims=True)
    found: Floats = (known * np.log2(known / whole)).sum(axis=-1)
    return found


def _share(share: Number) -> Fraction:
    found = exact("share", share)
    if not 0 < found < 1:
        raise InvalidParameter("share", share, "a number in (0, 1)")
    return found
