"""Distance queries: how far all rows are from a place, added up, for any number of places at one price.

For a table whose cells lie in a declared metric: postcodes, hours of a day, nodes of a road network. The sum of the
distances of all rows from a place is small where many rows are near it. A table of all cells learns from gross errors
by multiplicative weights, as ``IterativeConstruction`` does for counts. Cost: a pass over the cells for every question.

Corrections: the paper states its noise for averages over a public number of rows; here sums are compared, which one row
moves by the largest distance at most, and the number of rows is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, probability
from dither.mechanisms.core.mechanism import Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, Loss, Metric
from dither.publish.interactive.construction import comparing
from dither.publish.interactive.learned import Learned

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: The most cells, all of whose triangles are checked, and the largest distance.
MOST_PLACES: Final = 512
_FARTHEST: Final = 2**20
#: No cell is multiplied by more than e to this in one step.
_STEEPEST: Final = 4.0


def _line(cells: int) -> PublicArray:
    places = np.arange(cells)
    return PublicArray(np.abs(places[:, None] - places))


def _examples() -> Iterator[Example]:
    sparse = GapSparse(threshold=4, threshold_scale=4, query_scale=8, positives=2)
    made = DistanceConversation(metric=_line(3), sparse=sparse, total=Geometric(scale=1))
    script = (0, 2, 1, 0)
    pairs = tuple(
        (Dialogue(np.array(here), script), Dialogue(np.array(there), script), 1)
        for here, there in (([3, 0, 1], [3, 0, 2]), ([40, 0, 0], [40, 0, 1]), ([0, 0, 0], [1, 0, 0]))
    )
    yield Example(made, pairs[0][0], pairs)


@register(
    examples=_examples,
    source="Exploiting Metric Structure for Efficient Private Query Release (Huang, Roth 2014); Differential Privacy "
    "and Applications (Zhu et al. 2017), section 4.1.5",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class DistanceConversation(Learned[Ints]):
    """Answer how far all rows together are from a place, for any places that are asked for.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``total`` loses at ``d_in`` and what ``sparse`` loses at
    ``d_in`` times the largest distance, added up; whatever is asked, and however many questions there are.

    Args:
        metric: the distance of each cell from each, whole numbers; public.
        sparse: what compares the model with the data; after its last positive answer nothing is compared.
        total: the noise of the number of rows.

    >>> from dither.privacy import PureDP
    >>> hours = np.arange(24)
    >>> apart = np.minimum((hours[:, None] - hours) % 24, (hours - hours[:, None]) % 24)
    >>> DistanceConversation.calibrated(PureDP(1), metric=PublicArray(apart)).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "distance-conversation"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    metric: PublicArray

    def __post_init__(self) -> None:
        check_metric(self.metric)

    @classmethod
    def calibrated(
        cls, within: Loss, *, metric: PublicArray, corrections: int = 20, questions: int = 1000, share: Number = "1/20"
    ) -> Self:
        """Return the method that spends ``within`` on tables 1 apart.

        Args:
            within: the loss not to exceed.
            metric: the distance of each cell from each.
            corrections: how many gross errors are measured.
            questions: about how many will be asked.
            share: of the loss that the number of rows has.

        """
        check_metric(metric)
        purse, part = Purse.within(within), probability("share", share, open_below=True)
        if part >= 1:
            raise InvalidParameter("share", share, "below 1: comparisons need something, too")
        far = int(np.asarray(metric.values).max())
        made = cls(
            metric=metric,
            total=purse.share(part).noise(),
            sparse=comparing(purse.share(1 - part).loss, corrections, questions, max(far, 1)),
        )
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the conversation would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def distance(self) -> Metric:
        """L1: adding or removing a row moves the counts by 1, replacing one by 2."""
        return L1

    @cached_property
    def top(self) -> int:
        """The largest distance of two cells, and at least 1."""
        return max(int(self.metric.values.max()), 1)

    def checked(self, question: Any) -> tuple[int, Ints]:
        """Return the number of a cell, and the distances from it."""
        cells = len(self.metric.values)
        if type(question) is not int or not 0 <= question < cells:
            raise InvalidParameter("question", question, f"the number of a cell: 0 to {cells - 1}")
        return question, self.metric.values[question].astype(np.int64)

    def held(self, data: Any) -> Ints:
        """Return the counts, cut off so that every sum stays in range."""
        cells = len(self.metric.values)
        limit = LARGEST_VALUE // (cells * self.top)
        return np.clip(IntegerArray((cells,)).admit(data), -limit, limit).reshape(cells)

    def rows(self, held: Ints) -> int:
        """Return the number of rows."""
        return int(held.sum())

    def truth(self, held: Ints, question: Ints) -> int:
        """Return the distances of all rows, added up."""
        return int(held @ question)

    def model(self, total: int) -> WeightLearner:
        """Return a table in which all cells have the same."""
        cells = len(self.metric.values)
        return WeightLearner(np.full(cells, total / cells), self.top)


class WeightLearner:
    """A table of cells for questions that weigh cells between 0 and ``top``: multiplicative weights.

    Args:
        table: to begin with.
        top: the largest weight.

    >>> learner = WeightLearner(np.full(2, 5.0), top=3)
    >>> asked = np.array([0, 3])
    >>> learner.answer(asked)
    15.0
    >>> learner.learn(asked, 24.0)
    >>> 15 < learner.answer(asked) <= 24
    True

    """

    def __init__(self, table: Floats, top: int) -> None:
        self.table, self._top = table, top
        self._total = float(table.sum())

    def answer(self, question: Ints) -> float:
        """Return the weighted sum of the table."""
        return float(self.table @ question)

    def learn(self, question: Ints, measured: float) -> None:
        """Move weight towards cells that count more, or less, by the step of private multiplicative weights."""
        if not self._total > 0:
            return
        step = (measured - self.answer(question)) / (2 * self._total * self._top)
        moved = self.table * np.exp(np.clip(step, -_STEEPEST, _STEEPEST) * question / self._top)
        self.table = moved * (self._total / moved.sum())


def check_metric(metric: PublicArray) -> None:
    """Reject what is not a metric on cells: whole numbers, 0 on the diagonal alone, alike both ways, no short cut."""
    rule = f"a square table of whole distances from 0 to {_FARTHEST}, of at most {MOST_PLACES} cells"
    if not isinstance(metric, PublicArray):
        raise InvalidParameter("metric", type(metric).__name__, f"a PublicArray: {rule}")
    table = metric.values
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.dtype.kind not in "iu" or len(table) > MOST_PLACES:
        raise InvalidParameter("metric", f"{table.dtype} of shape {table.shape}", rule)
    if table.min() < 0 or table.max() > _FARTHEST:
        raise InvalidParameter("metric", "a distance out of range", rule)
    apart = table.astype(np.int64)
    off = ~np.eye(len(apart), dtype=np.bool_)
    if (np.diag(apart) != 0).any() or (apart != apart.T).any() or (apart[off] == 0).any():
        raise InvalidParameter("metric", "another table", "0 for a cell and itself alone, and the same both ways")
    if any((apart > row[:, None] + row).any() for row in apart):
        raise InvalidParameter("metric", "a table with a short cut", "no farther than by way of any third cell")
