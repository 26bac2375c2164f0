"""Iterative construction: a model answers counting questions about a table, and is corrected where it errs grossly.

For many questions that arrive one after another, at one price. ``ModelFirst`` spends most of its budget on a model
before the first question: noisy marginals, or a noisy table. A sparse vector then compares the model with the data,
question by question: an answer that passes has an interval, one that does not is measured, and the model learns from
it. ``IterativeConstruction`` begins with nothing but the number of rows, as the literature does: it is worse on
all tables that were tried. Cost: a pass over the table for every question.

Corrections: the model's answer is rounded to an integer before the comparison, so that one row moves what is compared
by 1 at most; both signs are compared, each against the same noisy threshold; after the last correction the model goes
on answering and says that no interval is known.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.tails import many_laplace_reach
from dither.exact import Number, Of, probability, whole
from dither.lift.attributes import Attributes, Axes
from dither.mechanisms.core.accuracy import discrete_laplace_reach, pair_reach, pair_tail, share_of_failure
from dither.mechanisms.core.mechanism import Interactive, Interval
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Dialogue
from dither.mechanisms.core.runner import Handle, Runner, quietly
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.gap_sparse import Gap, GapSparse
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import combination_reach, variance_of
from dither.publish.interactive.first_model import Estimate, FirstModel
from dither.publish.interactive.updates import Floats, Learner, Mask
from dither.publish.synthetic.cell_queries import MOST_COUNT

#: How an answer came about.
MEASURED: Final = "measured"
FROM_MODEL: Final = "from the model"
#: What its interval rests on: its own noise, a comparison with the data, the noise of measured marginals, or nothing.
GAP, COMPARED, MARGINALS, NOTHING = "gap", "compared", "marginals", "nothing"
#: The confidence at which the two kinds of interval are compared, to take the narrower; public.
_USUAL: Final = Fraction(19, 20)
_MOST_CORRECTIONS: Final = 2**12

#: A question, once it was checked.
Q = TypeVar("Q")


@dataclass(frozen=True)
class Answer:
    """An answer to one question.

    Args:
        value: the number of rows.
        source: ``"measured"`` or ``"from the model"``.
        ground: what the interval rests on.
        centre: the middle of the interval.
        variance: of the noise of measured marginals, where the interval rests on it.
        largest: the most that one draw of that noise has of the variance; 0 where it is not known.

    """

    value: int
    source: str
    ground: str
    centre: float
    variance: float = 0.0
    largest: float = 0.0


def table_examples() -> tuple[Attributes, Dialogue, tuple[tuple[Dialogue, Dialogue, int], ...]]:
    """Return a table, a conversation about it, and neighbours, for checks."""
    people = Attributes.of({"a": 2, "b": 2})
    counts = np.array([[3, 0], [1, 2]])
    script = (
        np.array([[True, False], [False, False]]),
        np.array([[True, False], [False, True]]),
        np.array([[True, True], [False, False]]),
        np.array([[True, False], [False, True]]),
    )
    far = np.array([[40, 0], [0, 0]])
    moved = tuple(
        (Dialogue(here, script), Dialogue(here + np.array(by), script), 1)
        for here in (counts, far)
        for by in ([[1, 0], [0, 0]], [[0, 0], [0, 1]])
    )
    return people, Dialogue(counts, script), moved


def compares(sparse: GapSparse) -> bool:
    """Whether a sparse vector suits differences of either sign, in floats: no reach overflows."""
    return sparse.margin is None and not sparse.one_way and max(sparse.threshold_scale, sparse.query_scale) <= 2**240


@dataclass(frozen=True, kw_only=True)
class Constructed(Interactive[Any, "ModelTalk[Any]"]):
    """Shared: a model that is measured first, and a sparse vector that compares it with the data."""

    attributes: Of[Attributes] = Of(Attributes)
    sparse: Of[GapSparse] = Of(GapSparse, where=compares, rule="GapSparse without a margin, for changes either way")

    @property
    @abstractmethod
    def sets(self) -> tuple[Axes, ...]:
        """The marginals that are measured first."""

    @property
    @abstractmethod
    def parts(self) -> tuple[CountNoise, ...]:
        """The noise of a cell of each."""

    @abstractmethod
    def learner(self, table: Floats) -> Learner:
        """Return what answers and learns, beginning with a fitted table."""

    @property
    def distance(self) -> Metric:
        """L1: adding or removing a row moves the counts by 1, replacing one by 2."""
        return L1

    @cached_property
    def draws(self) -> tuple[CountNoise, ...]:
        """The noise of each marginal."""
        pairs = zip(self.parts, self.sets, strict=True)
        return tuple(replace(noise, shape=self.attributes.shape_of(axes)) for noise, axes in pairs)

    def plan(self) -> Plan:
        """Measure each marginal, then compare."""
        return InOrder((*(Use(one, 1) for one in self.draws), Use(self.sparse, 1)))

    def open(self, data: Any, run: Runner) -> ModelTalk[Any]:
        """Return the conversation about a table of counts."""
        return Conversation(self, data, run)

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return an interval for the true count of one question, or None where none is known.

        It holds for one question, and before its answer is seen. One that rests on marginals holds for a question that
        was not chosen by looking at earlier answers; one that rests on a comparison or a gap holds for any.
        """
        wanted = probability("confidence", confidence, open_below=True)
        if out.ground == NOTHING:
            return None
        reach = self.reach(out, wanted)
        return Interval(max(out.centre - reach, 0.0), max(out.centre + reach, 0.0), wanted)

    def reach(self, out: Answer, confidence: Fraction) -> float:
        """Return how far the true count may lie from the centre of an answer, at a confidence."""
        if out.ground == MARGINALS:
            return self.noise_reach(out.variance, confidence, out.largest)
        return compared_reach(self.sparse, out.ground, confidence)

    def noise_reach(self, variance: float, confidence: Fraction, largest: float = 0.0) -> float:
        """Return how far noise of that variance reaches, as a combination of the noise of all marginals.

        Args:
            variance: of the combination.
            confidence: with which it reaches no farther.
            largest: the most that one draw has of the variance; 0 where it is not known.

        """
        if not variance:
            return 0.0
        failure = share_of_failure(confidence)
        drawn = [part for part in self.parts if isinstance(part, Geometric)]
        if not largest or len(drawn) != len(self.parts):
            return combination_reach(self.parts, variance, failure)
        # The variance of discrete noise is a little less than that of continuous noise of the same scale.
        wider = max(2 * float(part.scale) ** 2 / variance_of(part) for part in drawn)
        narrowest = min(float(part.scale) for part in drawn)
        terms = variance / (largest * wider)
        return many_laplace_reach(variance * wider, failure, terms=terms, narrowest=narrowest)

    @cached_property
    def compared_reach(self) -> float:
        """How far from the model the true count may lie after a comparison that passed, at 95 %."""
        return self.reach(Answer(0, FROM_MODEL, COMPARED, 0.0), _USUAL)


def compared_reach(sparse: GapSparse, ground: str, confidence: Fraction) -> float:
    """Return how far the truth may lie from an answer that was compared, or measured by the gap of a comparison.

    Args:
        sparse: what compared it.
        ground: ``GAP`` or ``COMPARED``.
        confidence: before the question is asked.

    """
    scales = sparse.threshold_scale, sparse.query_scale
    if sparse.threshold < 1:
        # Of the threshold's noise and of that of both comparisons, all three at once.
        each = share_of_failure(confidence, 3)
        reach = sum(discrete_laplace_reach(scale, each) for scale in scales)
    else:
        # The difference of two noises may pass the reach on either side, and that of the other sign the threshold.
        failure = share_of_failure(confidence)
        chance = max(failure / 3, (failure - pair_tail(*scales, sparse.threshold - 1)) / 2)
        reach = pair_reach(*scales, chance)
    return float(reach if ground == GAP else reach + max(sparse.threshold - 1, 0))


def settled(sparse: GapSparse, handle: Handle[int, Gap | None], truth: int, expected: int) -> Answer:
    """Return the model's answer where it passes a comparison with the truth, or else a measured one.

    Args:
        sparse: what compares.
        handle: the conversation with it, which is not over.
        truth: private; one unit moves it by at most the stability of the handle.
        expected: the model's answer, an integer: so that its distance from the truth moves by no more.

    """
    lead = truth - expected
    for sign in (1, -1):
        gap = handle.ask(sign * lead)
        if gap is not None:
            measured = expected + sign * (sparse.threshold + gap.above)
            return Answer(max(measured, 0), MEASURED, GAP, float(measured))
    return Answer(max(expected, 0), FROM_MODEL, COMPARED, float(expected))


def comparing(within: Loss, corrections: int, questions: int, sensitivity: int = 1) -> GapSparse:
    """Return the comparison within a loss, whose threshold a good model passes ``questions`` times with 95 %.

    Args:
        within: the loss not to exceed.
        corrections: how many answers are measured.
        questions: each of which is compared twice, once for either sign.
        sensitivity: how far one unit moves an answer.

    """
    many = whole("questions", questions, least=1, most=2**40)
    plain = GapSparse.calibrated(
        Purse.pure_within(within).loss,
        threshold=0,
        sensitivity=sensitivity,
        positives=whole("corrections", corrections, least=1, most=_MOST_CORRECTIONS),
        adaptive=False,
    )
    each, scales = share_of_failure(_USUAL, 2), (plain.threshold_scale, plain.query_scale)
    # Either by the noise of the threshold and that of all comparisons apart, or by their sum in each of these.
    apart = discrete_laplace_reach(scales[0], each) + discrete_laplace_reach(scales[1], each / (2 * many))
    far = min(apart, pair_reach(*scales, each / many))
    return replace(plain, threshold=min(far + 1, 2**60))


class ModelTalk(ABC, Generic[Q]):
    """The conversation of a construction, about data of any form. Its handle binds it to thread and process.

    A question that was answered before has its stored answer.
    """

    def __init__(self, construction: Constructed, data: Any, run: Runner) -> None:
        self._made = construction
        self._hold(data)
        noisy, variances = {}, {}
        for axes, part in zip(construction.sets, construction.draws, strict=True):
            drawn = run(part, self._marginal(axes), stability=1)
            noisy[axes] = np.clip(np.asarray(drawn, dtype=np.float64), -MOST_COUNT, MOST_COUNT)
            variances[axes] = max(variance_of(part), _LEAST_VARIANCE)
        self._begin(FirstModel(construction.attributes, noisy, variances))
        self._handle = run.open(construction.sparse, stability=1)
        self._answers: dict[bytes, Answer] = {}

    @abstractmethod
    def _hold(self, data: Any) -> None:
        """Keep the data in the form in which questions are answered from them; private."""

    @abstractmethod
    def _marginal(self, axes: Axes) -> Any:
        """Return a marginal of the data, which a row moves by 1 in one cell; a number where there are no axes."""

    @abstractmethod
    def _begin(self, model: FirstModel) -> None:
        """Begin with what was measured."""

    @abstractmethod
    def _checked(self, question: Any) -> tuple[bytes, Q]:
        """Return what tells a question from others and what it asks, or reject what is not a question."""

    @abstractmethod
    def _truth(self, question: Q) -> int:
        """Return the true answer, which a row moves by at most 1; private."""

    @abstractmethod
    def _estimate(self, question: Q) -> Estimate | None:
        """Return the answer by least squares; None where no marginal has the columns."""

    @abstractmethod
    def _expected(self, question: Q) -> float:
        """Return the model's answer."""

    @abstractmethod
    def _learn(self, question: Q, measured: float) -> None:
        """Let the model learn a measured answer."""

    @property
    def corrections(self) -> int:
        """The number of answers that were measured so far."""
        return sum(one.source == MEASURED for one in self._answers.values())

    @property
    def is_compared(self) -> bool:
        """Whether answers are still compared with the data."""
        return not self._handle.is_over

    @quietly
    def ask(self, question: Any) -> Answer:
        """Return the number of rows that a question is about.

        Args:
            question: public. For a table, an array of bools of its shape: which cells. For rows in product form, the
                values of each column, as ``ProductFirst`` takes them.

        """
        key, asked = self._checked(question)
        if key not in self._answers:
            self._answers[key] = self._answer(asked)
        return self._answers[key]

    def _answer(self, question: Q) -> Answer:
        made, known = self._made, self._estimate(question)
        expected = rounded(self._expected(question))
        is_over = self._handle.is_over
        if known is not None and (
            is_over or made.noise_reach(known.variance, _USUAL, known.largest) <= made.compared_reach
        ):
            # The model knows more than the marginals where cells are few, and errs more where they are many: it is
            # believed as far as their noise usually reaches.
            deviation = math.sqrt(known.variance)
            value = min(max(expected, known.answer - deviation), known.answer + deviation)
            return Answer(max(rounded(value), 0), FROM_MODEL, MARGINALS, *known)
        if is_over:
            return Answer(max(expected, 0), FROM_MODEL, NOTHING, float(expected))
        # One row moves the truth by 1.
        answer = settled(made.sparse, self._handle, self._truth(question), expected)
        if answer.source == MEASURED:
            self._learn(question, answer.centre)
        return answer


class Conversation(ModelTalk[Mask]):
    """The conversation about a table of counts. A question is an array of bools: which cells."""

    def _hold(self, data: Any) -> None:
        attributes = self._made.attributes
        limit = LARGEST_VALUE // attributes.cells
        self._counts = np.clip(IntegerArray(attributes.sizes).admit(data), -limit, limit).reshape(attributes.sizes)

    def _marginal(self, axes: Axes) -> Any:
        return _summed(self._counts, axes)

    def _begin(self, model: FirstModel) -> None:
        self._model = model
        self._learner = self._made.learner(model.table)

    def _checked(self, question: Any) -> tuple[bytes, Mask]:
        sizes = self._made.attributes.sizes
        if not isinstance(question, np.ndarray) or question.dtype != np.bool_ or question.shape != sizes:
            raise InvalidParameter("question", type(question).__name__, f"an array of bools of shape {sizes}")
        asked = np.ascontiguousarray(question)
        return hashlib.sha256(np.packbits(asked).tobytes()).digest(), asked

    def _truth(self, question: Mask) -> int:
        return int(np.sum(self._counts, where=question))

    def _estimate(self, question: Mask) -> Estimate | None:
        return self._model.estimate(question)

    def _expected(self, question: Mask) -> float:
        return self._learner.answer(question)

    def _learn(self, question: Mask, measured: float) -> None:
        self._learner.learn(question, measured)


#: The variance of noise so narrow that there is nearly none; weights stay finite.
_LEAST_VARIANCE: Final = 2.0**-80


def _summed(counts: NDArray[np.int64], axes: Axes) -> Any:
    """Return a marginal of the counts; a number where there are no axes."""
    summed = counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis not in axes))
    return summed if axes else int(summed)


def rounded(value: float) -> int:
    """Return the nearest integer that a count can have."""
    return int(min(max(np.rint(value), -MOST_COUNT), MOST_COUNT))
