"""Gradient-boosted trees on private histograms: small trees, the best of public shapes, each with noisy leaves.

For tables of numbers and codes, the classifier to take first. A tree looks at a few columns at once, cut into parts
that a public seed decides. Of several such shapes the one in whose leaves most gradients add up is chosen by the
exponential mechanism, so that columns that matter, alone or together, are read more often; each leaf is given what its
noisy sum of gradients asks for. Cost: one pass over the records for each shape. Corrections: shapes and bins come from
a public seed and never from data; gradients are integers, so that no float decides what a record adds; what a leaf
holds is divided by noisy counts, which are paid for.
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
from dither.exact import Maybe, Text, Whole
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.declared import DeclaredUnit
from dither.learn.linear.gradients import LENGTH, PULL, WEIGHT_STEPS, pulls
from dither.learn.rows import BoundField, Floats, labelled, records_of
from dither.learn.trees.bins import Bins, CellCounts, Unordered, Whole64, public_order, public_parts
from dither.learn.trees.models import BoostedModel
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Repeat, Unit, Use
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
_DAMPING_OF_RHO: Final = 3.0
_LARGEST_STEP: Final = 2.0
_MOST_CELLS: Final = 2**20
_MOST_CLASSES: Final = 2**10
#: Up to this number of combinations of cells they are added up before leaves are.
_MOST_COMBINED: Final = 2**12
_MOST_LEAVES, _MOST_DEPTH, _MOST_CANDIDATES = 2**10, 8, 2**10
#: How many shapes a tree is chosen from, and the part of the loss that goes to these choices.
USUAL_CANDIDATES: Final = 32
_CHOICES: Final = Fraction(1, 4)
#: How many leaves a tree is meant to have where little and where much may be lost, and from what epsilon and rho on
#: that is much; a tree reads one column more where there are more columns than these.
_LEAVES, _LEAVES_OF_MUCH = 20, 81
_MUCH_EPSILON, _MUCH_RHO = 4, Fraction(3, 10)
_MANY_COLUMNS: Final = 24
_MOST_PARTS: Final = 10


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.0, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 3], "bins": [8, 4], "unordered": [0, 1]}
    small: dict[str, Any] = {**public, "leaves": 3}
    yield Example(BoostedTrees(**small, classes=2, rounds=3, part=DiscreteGaussian(sigma=2**14)), rows, others)
    chosen: dict[str, Any] = {"candidates": 3, "scale": 2**13}
    yield Example(BoostedTrees(**small, **chosen, classes=2, rounds=2, part=Geometric(scale=2**14)), rows, others)
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
    """Learn a classifier as a sum of trees, chosen from public shapes, each leaf set by a noisy sum of gradients.

    Guarantee: data ``d_in`` rows apart loses ``rounds`` times what ``part`` loses at ``d_in`` times ``stability``: what
    one record adds to the one leaf it lies in, a gradient and a count, in L1 or L2 (twice that for rows replaced); and,
    where there is more than one candidate, ``rounds`` times what a choice loses at ``d_in`` times ``moved``: the length
    of a gradient in L1 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        bins: the number of cells, of one width, of each column.
        unordered: 1 for columns of categories, of which any sets are parts; 0 for columns of numbers.
        classes: the number of classes; a label is 0, 1, ..., and rows with any other label are left out.
        rounds: the number of trees.
        leaves: the largest number of parts into which a tree cuts a column.
        depth: the number of columns that a tree reads.
        candidates: the number of public shapes that a tree is chosen from.
        scale: the difference in gradients, added up over leaves, that makes a shape e times as likely; None where there
            is one candidate.
        part: the noise of one number of a leaf, in steps of 1/4096 of the largest gradient.
        public_seed: a public text that decides the shapes of the trees.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = BoostedTrees.calibrated(
    ...     ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], bins=[32, 11], unordered=[0, 1], classes=2
    ... )
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.rounds
    (True, 51)

    """

    name: ClassVar[str] = "boosted-trees"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well trees with noisy leaves classify depends on the records"
    no_interval_because: ClassVar[str] = "the best trees have no known distance from noisy ones"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    bins: CellCounts = CellCounts()
    unordered: Unordered = Unordered()
    classes: Whole = Whole(least=2, most=_MOST_CLASSES)
    rounds: Whole = Whole(least=1, most=2**16)
    leaves: Whole = Whole(10, least=2, most=_MOST_LEAVES)
    depth: Whole = Whole(1, least=1, most=_MOST_DEPTH)
    candidates: Whole = Whole(1, least=1, most=_MOST_CANDIDATES)
    scale: Maybe = Maybe(DiscreteScale())
    part: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.depth > self.cells.columns:
            raise InvalidParameter("depth", self.depth, f"at most {self.cells.columns}, the number of columns")
        if math.prod(self.shape) > _MOST_CELLS:
            raise InvalidParameter("leaves", self.leaves, f"so few that a tree has at most {_MOST_CELLS} numbers")
        if (self.scale is None) != (self.candidates == 1):
            raise InvalidParameter("scale", self.scale, "a number for several candidates, and None for one")

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
        leaves: int | None = None,
        depth: int | None = None,
        candidates: int = USUAL_CANDIDATES,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed; a fourth of it goes to choices where there is more than one candidate.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            bins: the number of cells of each column.
            unordered: 1 for columns of categories.
            classes: the number of classes.
            rounds: the number of trees; by default one that suits the loss.
            leaves: parts of a column; by default what suits the loss, the number of columns and their cells.
            depth: columns of a tree; by default the same.
            candidates: the number of public shapes that a tree is chosen from.
            public_seed: a public text that decides the shapes.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        count = usual_rounds(purse, len(np.atleast_1d(np.asarray(lower))), classes) if rounds is None else rounds
        touched = unit.touched if isinstance(unit, Unit) else 1
        columns_read, parts = usual_shape(purse, bins, depth, leaves)
        for_leaves, scale = purse, None
        if Whole(least=1, most=_MOST_CANDIDATES).convert("candidates", candidates) > 1:
            for_leaves = purse.share(1 - _CHOICES)
            scale = (purse.share(_CHOICES) / max(count, 1)).choice(touched * _moved(classes))
        return cls(
            lower=lower,
            upper=upper,
            bins=bins,
            unordered=unordered,
            classes=classes,
            rounds=count,
            leaves=parts,
            depth=columns_read,
            candidates=candidates,
            scale=scale,
            part=_moves(classes).noise(for_leaves / max(count, 1), touched),
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

    @property
    def moved(self) -> int:
        """How far one unit moves the score of a shape."""
        return self.unit.touched * _moved(self.classes)

    @cached_property
    def choice(self) -> Exponential | None:
        """The choice of a shape, or None where there is one."""
        return None if self.scale is None else Exponential(candidates=self.candidates, scale=self.scale)

    def plan(self) -> Plan:
        """Return for each tree the choice of its shape, where there is one to be made, and one draw of its leaves."""
        leaves = Use(of_shape(self.part, self.shape), self.stability)
        if self.choice is None:
            return Repeat(leaves, self.rounds)
        return Repeat(InOrder((Use(self.choice, self.moved), leaves)), self.rounds)

    def release(self, data: Any, run: Runner) -> BoostedModel:
        """Return the trees. Between draws everything but the records and their scores is public."""
        values, classes = labelled(records_of(data, self.cells.columns), self.classes)
        # Column by column, in as few bytes as cells need: all shapes of all trees are read from it.
        cells = np.ascontiguousarray(self.cells.cells(values).T, dtype=np.min_scalar_type(self.cells.widest))
        scores = np.zeros((len(classes), self.scores))
        counted = np.full(len(classes), float(_COUNTED))
        shapes, tables = list[tuple[Whole64, Whole64]](), list[Floats]()
        for number in range(self.rounds):
            pulled = np.ascontiguousarray(pulls("logistic", scores, classes).T)
            shape, leaf = self._chosen(number, cells, pulled, run)
            sums = _sums(leaf, (*pulled, counted), self.shape[0])
            table = self._steps(noisy_cells(run, self.part, sums, self.stability))
            scores += table[leaf]
            shapes.append(shape)
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

    def _chosen(
        self, number: int, cells: NDArray[Any], pulled: Floats, run: Runner
    ) -> tuple[tuple[Whole64, Whole64], Whole64]:
        """Return the shape of a tree, and the leaf of each record in it."""
        first = self.tree(number * self.candidates)
        if self.choice is None:
            return first, _leaf_of(cells, first, self.leaves)
        scores = np.zeros(self.candidates, dtype=np.int64)
        for candidate in range(self.candidates):
            shape = self.tree(number * self.candidates + candidate)
            scores[candidate] = np.abs(self._leaf_sums(cells, shape, tuple(pulled))).sum()
        chosen = self.tree(number * self.candidates + int(run(self.choice, scores, stability=self.moved)))
        return chosen, _leaf_of(cells, chosen, self.leaves)

    def _leaf_sums(self, cells: NDArray[Any], shape: tuple[Whole64, Whole64], added: tuple[Floats, ...]) -> Whole64:
        """Return the exact sums in the leaves of a shape."""
        columns, parts = shape
        sizes = [int(self.bins.values[column]) for column in columns]
        if math.prod(sizes) > _MOST_COMBINED:
            return _sums(_leaf_of(cells, shape, self.leaves), added, self.shape[0])
        # Few combinations of cells: small numbers are added up faster than parts are looked up, and leaves follow.
        flat = cells[columns[0]].astype(np.uint16)
        for column, size in zip(columns[1:], sizes[1:], strict=True):
            flat *= np.uint16(size)
            flat += cells[column]
        leaf = np.zeros(1, dtype=np.int64)
        for part, size in zip(parts, sizes, strict=True):
            leaf = (leaf[:, None] * int(self.leaves) + part[:size]).ravel()
        sums = _sums(flat.astype(np.int64), added, leaf.size)
        return _sums(leaf, tuple(sums.T.astype(np.float64)), self.shape[0])

    def tree(self, number: int) -> tuple[Whole64, Whole64]:
        """Return the columns of a shape, and the part of each cell of each column: public, independent of the data."""
        columns, first = self.cells.columns, number * self.depth
        # Columns take turns; a shape that begins near the end of a turn goes on with the next one.
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
        damping = _DAMPING if isinstance(self.part, Geometric) else _DAMPING_OF_RHO
        wanted = -_STRIDE * (seen[:, :-1] / PULL) / (_CURVATURE * records + damping * noise)
        return np.rint(np.clip(wanted, -_LARGEST_STEP, _LARGEST_STEP) * _STEPS)


def usual_rounds(purse: Purse, columns: int, classes: int = 2) -> int:
    """Return the number of trees that suits a loss: more for a larger one, and more where there are many columns.

    Half as many for several classes and a pure loss, under which a record moves their sums farther.
    """
    wanted = 16 * math.pow(purse.amount, 0.55) if purse.is_pure else 130 * math.pow(purse.amount, 0.25)
    wanted /= 2 if purse.is_pure and classes > 2 else 1
    return min(max(round(wanted * math.sqrt(max(columns, 16) / 16)), 4), 2**9)


def usual_shape(purse: Purse, bins: Any, depth: int | None = None, leaves: int | None = None) -> tuple[int, int]:
    """Return how many columns a tree reads, and into how many parts it cuts each: functions of public facts.

    Args:
        purse: what may be lost.
        bins: the number of cells of each column.
        depth: the number of columns, where it is stated.
        leaves: the number of parts, where it is stated.

    """
    cells = CellCounts().convert("bins", bins).values
    much = purse.amount >= (_MUCH_EPSILON if purse.is_pure else _MUCH_RHO)
    target = _LEAVES_OF_MUCH if much else _LEAVES
    if depth is not None and leaves is None:
        parts = _MOST_PARTS if depth == 1 else 3 if much else 4
    else:
        parts = (3 if much else 4) if leaves is None else Whole(least=2, most=_MOST_LEAVES).convert("leaves", leaves)
    if depth is not None:
        return depth, parts
    usual = max(min(float(parts), float(np.median(cells))), 2.0)
    read = round(math.log(target) / math.log(usual)) + int(cells.size > _MANY_COLUMNS)
    read = max(min(read, cells.size, _MOST_DEPTH), 1)
    if leaves is None and usual**read < target / 2:
        # There are too few columns for that many leaves: each is cut into more parts.
        parts = min(math.ceil(math.pow(target, 1 / read)), _MOST_PARTS)
    return read, parts


def _moved(classes: int) -> int:
    """Return how far one record moves the gradients of a shape, added up without their signs: at most as in L1."""
    return PULL if classes == 2 else 2 * PULL


def _moves(classes: int) -> Moves:
    """Return how far one record moves the numbers of a tree: a gradient and the count of one leaf."""
    # The pulls of many classes are p - 1 for the own class and p for the others: at most 2 in L1, and 1 in L2 as cut.
    return Moves(_moved(classes) + _COUNTED, PULL**2 + _COUNTED**2)


def _leaf_of(cells: NDArray[Any], shape: tuple[Whole64, Whole64], width: int) -> Whole64:
    """Return the combination of parts in which each record lies; cells are given column by column."""
    found = np.zeros(cells.shape[1], dtype=np.int64)
    weight = 1
    for column, part in reversed(list(zip(*shape, strict=True))):
        found += (part * weight)[cells[column]]
        weight *= width
    return found


def _sums(leaf: Whole64, added: tuple[Floats, ...], leaves: int) -> Whole64:
    """Return the sums of integers in each leaf; exact while they are below 2^53."""
    sums = [np.bincount(leaf, weights=column, minlength=leaves) for column in added]
    return np.stack(sums, axis=1).astype(np.int64)
