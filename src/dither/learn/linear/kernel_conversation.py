"""Private predictions of a kernel machine for points that come one after another: the machine stays secret.

For points that are not known in advance, each of which may depend on earlier answers. A fixed number of answers is paid
for when the conversation begins. Cost: a few Newton steps on the features at the beginning, a product for each answer.
Corrections: in print the noise of an answer is for an exact minimiser of a mean over a public number of records; here
the objective is a sum, and what the solver leaves undone is part of the sensitivity. Kernels of unbounded diagonal,
which have no bound at all, cannot occur: a record's features have a length of at most 1.
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
from dither.exact import Number, OneOf, Positive, Whole, positive, whole
from dither.learn.centred import CONSTANT, REST
from dither.learn.declared import DeclaredClasses
from dither.learn.linear.fourier import FrequencyField, OffsetField, check_features, features_of, public_features
from dither.learn.linear.gradients import LOSSES
from dither.learn.linear.kernel_predictions import MOST_CLASSES, USUAL_FEATURES, scores_move
from dither.learn.linear.penalised import FineWeights, check_penalty, minimisers, within_penalties
from dither.learn.noise_parts import OneReal, real_noise, shaped
from dither.learn.rows import STEPS, BoundField, Floats, into_ball, labelled, records_of
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.public import Array
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

_MOST_QUESTIONS: Final = 2**20
#: How wide the noise of an answer usually is: a clear score is 2.
_USUAL_WIDTH: Final = 1.0
#: Less than any budget that a penalty is chosen for.
_LEAST_AMOUNT: Final = 1e-300
_POINT: Final = Array("float", axes=1, rule="a finite number for each column")


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    script = ((0.0, 1.0), (1.0, 4.0))
    tables = ((rows, rows[1:]), (rows, np.vstack([rows, [4.0, -4.0, 0.0]])))
    pairs = tuple((Dialogue(here, script), Dialogue(there, script), 1) for here, there in tables)
    frequencies, offsets = public_features(2, 3)
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "frequencies": frequencies, "offsets": offsets}
    two = KernelConversation(**public, classes=2, penalty=2, questions=2, part=Gaussian(sigma=1))
    yield Example(two, Dialogue(rows, script), pairs)
    three: dict[str, Any] = {"classes": 3, "loss_name": "hinge", "penalty": 1, "questions": 3, "unit": ROW_REPLACED}
    swapped = ((Dialogue(rows, script), Dialogue(np.vstack([rows[1:], [[0.9, 0.2, 0.0]]]), script), 1),)
    yield Example(KernelConversation(**public, **three, part=GammaNorm(scale=4)), Dialogue(rows, script), swapped)


@register(
    examples=_examples,
    source="Differentially Private Learning with Kernels (Jain, Thakurta 2013), the interactive model; Differential "
    "Privacy and Applications (Zhu et al. 2017), section 6.2.2",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class KernelConversation(DeclaredClasses, Interactive[Any, "KernelAnswers"]):
    """Learn a penalised kernel machine in secret, and answer a fixed number of points with its noisy scores.

    Guarantee: data ``d_in`` rows apart loses over the whole conversation ``questions`` times what ``part`` loses at
    ``d_in * stability``: how far the scores of one point move, solver's errors included.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        frequencies: public integers, a row for each feature; see ``public_features``.
        offsets: a public integer for each feature.
        classes: the number of classes; with more than two, one is learned against the rest for each.
        loss_name: "logistic", or "hinge" for a support vector machine.
        penalty: the strength of half the squared length of the weights, features having length 1.
        questions: the number of points that are answered.
        part: Gaussian or GammaNorm noise of a score.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ZCDP
    >>> public = {"lower": [0, 0], "upper": [1, 10], "classes": 2, "features": 20}
    >>> talk = KernelConversation.calibrated(ZCDP(1), questions=10, **public)
    >>> talk.loss(1) <= ZCDP(1)
    True

    """

    name: ClassVar[str] = "kernel-conversation"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the penalty moves scores from the best ones, by how much is private"
    no_interval_because: ClassVar[str] = "the penalty moves scores from the best ones, by how much is private"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    frequencies: FrequencyField = FrequencyField()
    offsets: OffsetField = OffsetField()
    classes: Whole = Whole(least=2, most=MOST_CLASSES)
    loss_name: OneOf = OneOf(*LOSSES, default="logistic")
    penalty: Positive = Positive()
    questions: Whole = Whole(least=1, most=_MOST_QUESTIONS)
    part: OneReal = OneReal()
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        check_features(self.frequencies, self.offsets, self.box.columns)
        check_penalty(self.penalty)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        questions: int,
        features: int = USUAL_FEATURES,
        gamma: Number | None = None,
        kernel: str = "rbf",
        loss_name: str = "logistic",
        penalty: Number | None = None,
        unit: Unit = ROW,
    ) -> Self:
        """Return the conversation with the least noise whose whole loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            classes: the number of classes.
            questions: the number of points that are answered.
            features: the number of features of the machine.
            gamma: how narrow the kernel is, columns being scaled to [-1, 1]; by default ``usual_gamma``.
            kernel: "rbf", "laplacian" or "matern"; see ``public_features``.
            loss_name: "logistic" or "hinge".
            penalty: by default that at which the noise of a score is a little less than a clear score.
            unit: ROW or ROW_REPLACED.

        """
        each = Purse.within(within) / whole("questions", questions, least=1, most=_MOST_QUESTIONS)
        scores = 1 if whole("classes", classes, least=2, most=MOST_CLASSES) == 2 else classes
        low, touched = BoundField().convert("lower", lower), unit.touched if isinstance(unit, Unit) else 1
        frequencies, offsets = public_features(low.values.size, features, gamma, kernel)
        if penalty is None:
            some = max(float(each.amount), _LEAST_AMOUNT)
            wide = math.sqrt(scores * (scores + 1)) / some if each.is_pure else math.sqrt(scores / (2 * some))
            penalty = within_penalties(wide * touched / _USUAL_WIDTH)
        strength = positive("penalty", penalty)
        check_penalty(strength)
        return cls(
            lower=low,
            upper=upper,
            frequencies=frequencies,
            offsets=offsets,
            classes=classes,
            loss_name=loss_name,
            penalty=strength,
            questions=questions,
            part=real_noise(each, scores_move(Fraction(1), strength, classes, touched)),
            unit=unit,
        )

    @cached_property
    def stability(self) -> Fraction:
        """How far one unit moves all scores of one point, in L2; a point's features have a length of at most 1."""
        return scores_move(Fraction(1), self.penalty, self.classes, self.unit.touched)

    def plan(self) -> Plan:
        """Return one draw for each answer."""
        return Repeat(Use(shaped(self.part, self.scores), self.stability), self.questions)

    def records(self, values: Floats) -> Floats:
        """Return rows of integers, at most 2^14 long, each a function of one row and of public numbers."""
        features = features_of(self.box.steps(values), self.frequencies, self.offsets)
        # Cosines of random phases: their mean square is a half.
        radius = math.ceil(STEPS * math.sqrt(features.shape[1] / 2))
        return np.column_stack([into_ball(features, radius, REST), np.full(len(features), float(CONSTANT))])

    def open(self, data: Any, run: Runner) -> KernelAnswers:
        """Return the conversation about these rows, after learning from them in secret."""
        values, classes = labelled(records_of(data, self.box.columns), self.classes)
        weights = minimisers(self.records(values), classes, self.scores, self.penalty, self.loss_name)
        return KernelAnswers(self, weights, run)


class KernelAnswers:
    """Answers points by a machine that it keeps. Bound to thread and process by its runner."""

    def __init__(self, talk: KernelConversation, weights: list[FineWeights], run: Runner) -> None:
        self._talk, self._weights, self._run = talk, weights, run

    @quietly
    def ask(self, point: Any) -> Floats:
        """Return the noisy scores of a public point: for two classes one, above 0 for the second; else one for each.

        Args:
            point: a finite number for each column; what it is must not depend on private data.

        """
        given = _POINT.convert("point", point).values
        if given.size != self._talk.box.columns:
            raise InvalidParameter("point", f"{given.size} numbers", f"{self._talk.box.columns} numbers")
        there = self._talk.records(given.reshape(1, -1))
        scores = np.concatenate([each.scores(there) for each in self._weights])
        part = shaped(self._talk.part, scores.size)
        return np.asarray(self._run(part, scores, stability=self._talk.stability), dtype=np.float64)
