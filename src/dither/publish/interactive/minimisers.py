"""Minimisation queries: the best of some candidates by a loss, for any number of losses at one price.

For many small models of one table: a regression line for every pair of columns, a threshold for every group. A question
is a table of losses: of each candidate on each cell. The model's table answers with its own best candidate. A sparse
vector compares how much that candidate loses on the data beyond the best; if that is much, the exponential mechanism
chooses a candidate from the data, and the model learns that the two differ. Cost: a product of the losses with the
table, twice for every question.

Corrections: the paper works over continuous parameters with an oracle for one loss and the gradient between the two
answers; over finitely many candidates the difference of their losses is the question that the model learns from, the
oracle is exact, and no convexity is needed. Comparing is paid for, by the spread of a loss and not by its gradient.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, Whole, probability
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Bound, Interactive, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, PureDP, Repeat, Use
from dither.publish.histograms.common import with_largest_epsilon
from dither.publish.interactive.construction import COMPARED, FROM_MODEL, GAP, MEASURED, NOTHING, compares, comparing
from dither.publish.interactive.distances import WeightLearner
from dither.publish.synthetic.cell_queries import rounded_total

Ints = NDArray[np.int64]
_MOST_CELLS: Final = 2**16
_MOST_CANDIDATES: Final = 2**12
_MOST_LOSSES: Final = 2**24
#: Of which the model of all rows consists where candidates are compared on it.
_PARTS: Final = 2**32


@dataclass(frozen=True)
class Chosen:
    """The answer to one question.

    Args:
        candidate: its number, the row of the table of losses.
        source: ``"measured"``, chosen from the data, or ``"from the model"``.
        ground: what a bound on its excess rests on.

    """

    candidate: int
    source: str
    ground: str


def _examples() -> Iterator[Example]:
    sparse = GapSparse(threshold=3, threshold_scale=4, query_scale=8, positives=2)
    choice = Exponential(candidates=2, scale=8)
    made = MinimisingConversation(cells=3, candidates=2, top=2, sparse=sparse, choice=choice, total=Geometric(scale=1))
    script = tuple(PublicArray(one) for one in ([[0, 1, 2], [2, 1, 0]], [[0, 0, 2], [1, 1, 1]], [[2, 2, 0], [0, 0, 2]]))
    script = (*script, script[0])
    pairs = tuple(
        (Dialogue(np.array(here), script), Dialogue(np.array(there), script), 1)
        for here, there in (([3, 0, 1], [3, 0, 2]), ([0, 0, 60], [0, 0, 59]), ([0, 0, 0], [0, 0, 1]))
    )
    yield Example(made, pairs[0][0], pairs)


@register(
    examples=_examples,
    source="Private Multiplicative Weights Beyond Linear Queries (Ullman 2015); Differential Privacy and Applications "
    "(Zhu et al. 2017), sections 4.1.5 and 6.2.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class MinimisingConversation(Interactive[Any, "Minimising"]):
    """Answer which candidate has the least loss on all rows, for any losses that are asked for.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``total`` loses at ``d_in``, and what ``sparse`` and each
    of as many ``choice`` as ``sparse`` has positives lose at ``d_in`` times ``top``, added up; whatever is asked, and
    however many questions there are.

    Args:
        cells: of the table; public.
        candidates: of each question.
        top: the largest loss of a candidate on one row.
        sparse: what compares; after its last positive answer nothing is compared.
        choice: what chooses from the data where the model errs.
        total: the noise of the number of rows.

    >>> from dither.privacy import PureDP
    >>> talk = MinimisingConversation.calibrated(PureDP(1), cells=100, candidates=20, top=10)
    >>> talk.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "minimising-conversation"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how soon a model has learned enough depends on the data and the questions"
    no_interval_because: ClassVar[str] = "a candidate is no number; excess bounds what it loses beyond the best"

    cells: Whole = Whole(least=1, most=_MOST_CELLS)
    candidates: Whole = Whole(least=2, most=_MOST_CANDIDATES)
    top: Whole = Whole(least=1, most=2**20)
    sparse: Of[GapSparse] = Of(GapSparse, where=compares, rule="GapSparse without a margin, for changes either way")
    choice: Of[Exponential] = Of(
        Exponential, where=lambda one: one.grid is None and not one.one_way, rule="an Exponential of whole scores"
    )
    total: OneCount = OneCount()

    def __post_init__(self) -> None:
        if self.cells * self.candidates > _MOST_LOSSES:
            raise InvalidParameter(
                "candidates", self.candidates, f"so few that there are at most {_MOST_LOSSES} losses"
            )
        if self.choice.candidates != self.candidates:
            raise InvalidParameter("choice", self.choice.candidates, f"a choice of {self.candidates} candidates")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        cells: int,
        candidates: int,
        top: int,
        corrections: int = 10,
        questions: int = 1000,
        share: Number = "1/20",
    ) -> MinimisingConversation:
        """Return the method that spends ``within`` on tables 1 apart: half of what is left on comparing.

        Args:
            within: the loss not to exceed; its epsilon is spent.
            cells: of the table.
            candidates: of each question.
            top: the largest loss of a candidate on one row.
            corrections: how many answers are chosen from the data.
            questions: about how many will be asked.
            share: of the loss that the number of rows has.

        """
        part = probability("share", share, open_below=True)
        if part >= 1:
            raise InvalidParameter("share", share, "below 1: comparisons need something, too")
        # Checked by a first one, before anything is computed from them.
        first = cls(
            cells=cells,
            candidates=candidates,
            top=top,
            sparse=GapSparse(threshold=0, threshold_scale=1, query_scale=1),
            choice=Exponential(candidates=candidates, scale=1),
            total=Geometric(scale=1),
        )

        def spending(epsilon: Fraction) -> MinimisingConversation:
            purse = Purse.within(PureDP(epsilon))
            half = purse.share((1 - part) / 2)
            sparse = comparing(half.loss, corrections, questions, first.top)
            each = half.share(Fraction(1, sparse.positives)).loss
            choice = Exponential.calibrated(each, sensitivity=first.top, candidates=candidates)
            return replace(first, sparse=sparse, choice=choice, total=purse.share(part).noise())

        return with_largest_epsilon(within, spending)

    @property
    def distance(self) -> Metric:
        """L1: adding or removing a row moves the counts by 1, replacing one by 2."""
        return L1

    def plan(self) -> Plan:
        """Measure the number of rows, compare, and choose for every time that a comparison may say yes."""
        chosen = Repeat(Use(self.choice, self.top), self.sparse.positives)
        return InOrder.of(Use(self.total, 1), Use(self.sparse, self.top), chosen)

    def open(self, data: Any, run: Runner) -> Minimising:
        """Return the conversation about a table of counts."""
        return Minimising(self, data, run)

    def checked(self, question: Any) -> Ints:
        """Return the losses of each candidate on each cell, or reject what is not a question."""
        rule = f"a PublicArray of {self.candidates} rows, {self.cells} columns and integers from 0 to {self.top}"
        values = question.values if isinstance(question, PublicArray) else None
        if values is None or values.dtype.kind not in "iu" or values.shape != (self.candidates, self.cells):
            raise InvalidParameter("question", type(question).__name__, rule)
        if values.min() < 0 or values.max() > self.top:
            raise InvalidParameter("question", "losses out of range", rule)
        return np.ascontiguousarray(values, dtype=np.int64)

    def excess(self, out: Chosen, confidence: Number) -> Bound | None:
        """Return what a chosen candidate loses beyond the best one, added up over all rows; None where unknown.

        It holds before the answer is seen, for any question.
        """
        wanted = probability("confidence", confidence, open_below=True)
        meaning = "what the candidate loses beyond the best one, over all rows"
        if out.ground == NOTHING:
            return None
        if out.ground == GAP:
            return replace(self.choice.error(wanted), meaning=meaning)
        each = share_of_failure(wanted, 2)
        reach = discrete_laplace_reach(self.sparse.threshold_scale, each)
        reach += discrete_laplace_reach(self.sparse.query_scale, each)
        return Bound(max(reach + self.sparse.threshold - 1, 0), wanted, meaning)


class Minimising:
    """The conversation of a ``MinimisingConversation``. A question that was answered before has its stored answer."""

    def __init__(self, made: MinimisingConversation, data: Any, run: Runner) -> None:
        self._made, self._run = made, run
        limit = LARGEST_VALUE // (made.cells * made.top)
        # At least 0, as counts are: so that no candidate gains by a row.
        self._counts = np.clip(IntegerArray((made.cells,)).admit(data), 0, limit).reshape(made.cells)
        total = rounded_total(run(made.total, int(self._counts.sum()), stability=1))
        self._model = WeightLearner(np.full(made.cells, total / made.cells), made.top)
        self._handle = run.open(made.sparse, stability=made.top)
        self._answers: dict[bytes, Chosen] = {}

    @property
    def is_compared(self) -> bool:
        """Whether answers are still compared with the data."""
        return not self._handle.is_over

    @quietly
    def ask(self, question: PublicArray) -> Chosen:
        """Return the candidate of least loss.

        Args:
            question: the loss of each candidate, a row, on each cell: whole numbers from 0 to ``top``; public.

        """
        losses = self._made.checked(question)
        key = hashlib.sha256(losses.tobytes()).digest()
        if key not in self._answers:
            self._answers[key] = self._answer(losses)
        return self._answers[key]

    def _answer(self, losses: Ints) -> Chosen:
        # In whole parts: sums of floats come out otherwise on another processor, ties are usual, and a conversation
        # that is opened again there must compare the same candidate.
        table = self._model.table
        shares = np.rint(table * (_PARTS / max(float(table.sum()), 1.0))).astype(np.int64)
        best = int(np.argmin(losses @ shares))
        if self._handle.is_over:
            return Chosen(best, FROM_MODEL, NOTHING)
        lost = losses @ self._counts
        # The largest of differences, each of which one row moves by ``top`` at most.
        gap = self._handle.ask(int(lost[best] - lost.min()))
        if gap is None:
            return Chosen(best, FROM_MODEL, COMPARED)
        chosen = int(self._run(self._made.choice, -lost, stability=self._made.top))
        # On the model the first has no more loss than the second; on the data it has about this much more.
        self._model.learn(losses[best] - losses[chosen], float(max(self._made.sparse.threshold + gap.above, 0)))
        return Chosen(chosen, MEASURED, GAP)
