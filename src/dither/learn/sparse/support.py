"""Support selection by stability: blocks of the rows each vote for columns, and votes are counted.

For choosing columns by a method whose sensitivity is not known. Each block makes its own forward selection; one
row changes the answer of one block, or of as many as it lies in where blocks overlap. Either every column is a
candidate and the columns with the most votes are chosen one after the other, or the whole answer is the candidate and
is released if its lead over the next one is large. Cost: one forward selection a block. Corrections: in print each
subsample is drawn from all rows, so that one row may lie in any number of them, which is bounded by chance alone; here
a row lies in a public number of blocks, one unless told otherwise, its blocks depend on the row alone, and the lead is
compared less 1 with the delta of discrete noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Positive, Text, Whole, round_up, whole
from dither.learn.linear.gradients import PULL
from dither.learn.rows import Floats, exact_products
from dither.learn.sparse.framed import Framed
from dither.learn.trees.random_forest import tree_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.propose_test_release import threshold_for
from dither.mechanisms.stable_mode import StableLabel
from dither.mechanisms.top_k import TopK
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, Loss, Plan, Unit, Use

Places = NDArray[np.int64]
VOTES: Final = ("columns", "whole")
USUAL_BLOCKS: Final = 64
MOST_KEPT: Final = 2**8
MOST_OVERLAP: Final = 2**8
#: A column that the chosen ones explain but for this share of its length is chosen no more.
_EXPLAINED: Final = 2.0**-20
_MOST_THRESHOLD: Final = 2**60


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0, 0.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "kept": 1, "scale": 4}
    yield Example(SupportSelection(**public, loss_name="logistic", votes="columns", blocks=3), rows, others)
    yield Example(
        SupportSelection(**public, loss_name="squared", votes="whole", blocks=2, threshold=9, target_upper=2),
        rows,
        others,
    )
    replaced: dict[str, Any] = {**public, "loss_name": "squared", "votes": "columns", "unit": ROW_REPLACED}
    yield Example(SupportSelection(**replaced, blocks=4, overlap=2), rows)


@register(
    examples=_examples,
    source="Differentially Private Feature Selection via Stability Arguments, and the Robustness of the Lasso "
    "(Thakurta, Smith 2013); Private Convex Empirical Risk Minimization and High-dimensional Regression (Kifer, Smith, "
    "Thakurta 2012), section 4; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class SupportSelection(Framed, Composed[Any, tuple[int, ...]]):
    """Choose the columns that most blocks of the rows vote for.

    Guarantee: data ``d_in`` rows apart loses, for votes on columns, what ``kept`` choices of ``scale`` lose at
    ``d_in * overlap``; for votes on whole answers epsilon = ``2 d_in * overlap / scale`` and the delta of a lead that
    is too small (each at twice the rows where rows are replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        loss_name: "squared" for targets, "logistic" for labels 0 and 1 (rows with another one are left out).
        kept: the number of columns that a block votes for, and the most that are chosen.
        blocks: the number of blocks of rows.
        overlap: the most blocks that a row lies in; 1 for disjoint blocks, more for sub-samples of the rows.
        votes: "columns" or "whole".
        scale: of a choice among columns, or of the noise of the lead, in votes.
        threshold: the value that the noisy lead, minus 1, must reach; 0 for votes on columns.
        public_seed: a public text that decides the division.
        target_lower: the public lower bound of the target; for labels 0.
        target_upper: its upper bound; for labels 1.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> public = {"lower": [0] * 9, "upper": [1] * 9, "loss_name": "squared", "kept": 2}
    >>> SupportSelection.calibrated(PureDP(1), votes="columns", **public).scale
    Fraction(4, 1)

    """

    name: ClassVar[str] = "support-selection"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well blocks agree depends on the rows"
    no_interval_because: ClassVar[str] = "a set of columns has no interval"

    kept: Whole = Whole(least=1, most=MOST_KEPT)
    blocks: Whole = Whole(USUAL_BLOCKS, least=1, most=2**16)
    overlap: Whole = Whole(1, least=1, most=MOST_OVERLAP)
    votes: OneOf = OneOf(*VOTES)
    scale: Positive = Positive()
    threshold: Whole = Whole(0, most=_MOST_THRESHOLD)
    public_seed: Text = Text("")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kept > self.box.columns:
            raise InvalidParameter("kept", self.kept, f"at most the {self.box.columns} columns")
        if (self.threshold > 0) != (self.votes == "whole"):
            raise InvalidParameter("threshold", self.threshold, "above 0 for votes on whole answers, else 0")
        _ = self.part

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        loss_name: str,
        kept: int,
        votes: str = "columns",
        blocks: int = USUAL_BLOCKS,
        overlap: int = 1,
        public_seed: str = "",
        unit: Unit = ROW,
        **targets: Number,
    ) -> Self:
        """Return the selection with the least noise whose loss for one unit is within ``within``."""
        touched = (unit.touched if isinstance(unit, Unit) else 1) * whole(
            "overlap", overlap, least=1, most=MOST_OVERLAP
        )
        columns, threshold = len(np.atleast_1d(np.asarray(lower))), 0
        if votes == "whole":
            if not (isinstance(within, ApproxDP) and within.delta):
                raise InvalidParameter("within", within, "an epsilon with a delta, for votes on whole answers")
            scale = round_up(2 * touched / Purse.pure_within(within).amount, bits=64)
            threshold = threshold_for(scale, within.delta) + 2 * touched - 1
        else:
            # The last candidate left is not a choice.
            times = max(1, min(whole("kept", kept, least=1), columns - 1))
            scale = (Purse.within(within) / times).choice(touched)
        return cls(
            lower=lower,
            upper=upper,
            loss_name=loss_name,
            kept=kept,
            blocks=blocks,
            overlap=overlap,
            votes=votes,
            scale=scale,
            threshold=threshold,
            public_seed=public_seed,
            unit=unit,
            **targets,
        )

    @property
    def part(self) -> TopK | StableLabel:
        """The choice among columns, or the test of the lead."""
        if self.votes == "whole":
            return StableLabel(scale=self.scale, threshold=self.threshold)
        return TopK(candidates=self.box.columns, chosen=self.kept, scale=self.scale)

    @property
    def stability(self) -> int:
        """How far one unit moves a count of votes; a vote for another answer moves a lead by 2."""
        return self.unit.touched * self.overlap * (2 if self.votes == "whole" else 1)

    def plan(self) -> Plan:
        """Return one draw."""
        return Use(self.part, self.stability)

    def release(self, data: Any, run: Runner) -> tuple[int, ...]:
        """Return the indices of the ``kept`` chosen columns; -1 where the blocks do not agree."""
        columns, targets = self.whole_numbers(data)
        if self.loss_name == "logistic":
            targets = (2 * targets - 1) * PULL
        rows = np.column_stack([columns, targets]).astype(np.int64)
        seeds = [self.public_seed, *(f"{self.public_seed} {copy}" for copy in range(1, self.overlap))]
        held = np.column_stack([tree_of(rows, self.blocks, seed) for seed in seeds])
        insides = ((held == number).any(axis=1) for number in range(self.blocks))
        answers = [forward_selection(columns[inside], targets[inside], self.kept) for inside in insides]
        if self.votes == "whole":
            return self._agreed(run, answers)
        counts = np.bincount(np.concatenate(answers), minlength=self.box.columns)
        chosen = run(self.part, counts.astype(np.int64), stability=self.stability)
        return tuple(int(place) for place in chosen)

    def _agreed(self, run: Runner, answers: list[Places]) -> tuple[int, ...]:
        votes = Counter(" ".join(map(str, sorted(answer.tolist()))) for answer in answers if answer.size)
        leader = min(votes, key=lambda answer: (-votes[answer], answer), default="")
        lead = votes[leader] - max((count for answer, count in votes.items() if answer != leader), default=0)
        label = run(self.part, (max(0, lead - 1), leader), stability=self.stability)
        places = [int(place) for place in str(label or "").split()]
        return (*places, *[-1] * (self.kept - len(places)))


def forward_selection(columns: Floats, targets: Floats, kept: int) -> Places:
    """Return the indices of at most ``kept`` columns, each the one that explains most of the remaining residual.

    A function of the set of records: sums over records are exact in any order, and everything after them is
    element by element, which IEEE 754 defines without any freedom. The last column is constant and comes first.

    Args:
        columns: integers of at most 2^12, one record a row.
        targets: integers of at most 2^12.
        kept: the number of columns to choose.

    """
    width = columns.shape[1]
    if not len(columns):
        return np.zeros(0, dtype=np.int64)
    # What is left of each column's products with the targets, and of its squared length.
    products = exact_products(targets[:, None], columns)[0].astype(np.float64)
    lengths = np.add.reduce(columns * columns, axis=0)
    least = np.maximum(lengths * _EXPLAINED, 1.0)
    rays: list[Floats] = []
    chosen: list[int] = []
    for place in [width - 1, *[-1] * kept]:
        if place < 0:
            gains = np.where(lengths > least, products * products / np.maximum(lengths, 1.0), 0.0)
            gains[[*chosen, width - 1]] = 0.0
            place = int(gains.argmax())
            if not gains[place] > 0:
                break
            chosen.append(place)
        ray = exact_products(columns[:, place : place + 1], columns)[0].astype(np.float64)
        for earlier in rays:
            ray = ray - earlier * earlier[place]
        root = np.sqrt(max(float(lengths[place]), 1.0))
        ray = ray / root
        products = products - ray * (float(products[place]) / root)
        lengths = lengths - ray * ray
        rays.append(ray)
    return np.array(chosen, dtype=np.int64)
