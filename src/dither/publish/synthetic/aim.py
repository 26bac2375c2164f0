"""AIM: choose marginals one after another, where the model is worst and noise would not hide it.

For the best quality that a junction tree can hold, when minutes may be spent. In every round the candidate marginal on
which the model is farthest off, beyond what its own noise would be, is chosen and measured, and the model fitted again.
Noise starts high; when a round has taught less than the noise, it is halved, so that the budget sets the number of
rounds itself. Cost: a fit and a look at all candidates in each round. Corrections: scores are integers with an
exact sensitivity; the size limit is part of choosing, so it shrinks the model and never fails; the survey of single
attributes has a share of its own, from which rare values are merged. Addition: where ``stop`` says so, one candidate is
to measure nothing, so that small budgets go back to the single attributes and not into pairs that are all noise; with
``look``, so few records that noise would blur even single attributes are told by a first count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import FULL_STEPS
from dither.exact import Maybe, NonNegative, Of, Whole
from dither.lift.attributes import Attributes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse, Spending
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, ZCDP, Loss, Metric, Plan, PureDP, Within
from dither.publish.histograms.common import Share
from dither.publish.marginals.common import Names
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.measuring import (
    LARGEST_MODEL,
    USUAL_MODEL,
    Candidates,
    Seen,
    Survey,
    closure,
    merged_survey,
    picked,
    spread_of,
    survey_noise,
)

#: The share of the budget for the single attributes, that of a round for the choice, and how many rounds the first
#: noise would last for, by attribute. Noise is halved for twice the epsilon but four times the rho, hence two sets.
_IN_RHO = (Fraction(1, 3), Fraction(1, 10), 16)
_PURE = (Fraction(1, 6), Fraction(1, 3), 4)
#: Pure noise on a pair of attributes with many values hides all there is more often than not.
_PURE_WITH_STOP = (Fraction(1, 3), Fraction(1, 3), 4)
_USUAL_STOP = Fraction(1)
#: Attributes of no more values than this on average are cheap to measure in pairs.
_FEW_VALUES = 3
#: The least share of the budget for which single attributes are measured again.
_WORTH_IT = Fraction(1, 50)
#: The share of a pure budget that counts the records first, and the mean total variation of single attributes by noise
#: beyond which nothing is spent on pairs.
_USUAL_LOOK = Fraction(1, 50)
_LITTLE = 1 / 80
#: Steps of a fit that the next one goes on from.
_STEPS_A_ROUND = 50


def _examples() -> Iterator[Example]:
    # The first is run a thousand times by audits: as small as can be.
    few, table = Attributes.of({"a": 2, "b": 2}), Attributes.of({"a": 2, "b": 2, "c": 2})
    rows = np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0], [1, 0, 0]])
    pairs, cut = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1)), rows[:, :2]
    once = AdaptiveIterative(attributes=few, workload=[["a", "b"]], budget=PureDP(3), rounds=1, survey="1/2")
    yield Example(once, cut, ((cut, cut[1:], 1), (cut[:0], cut[:1], 1)))
    halting = AdaptiveIterative(
        attributes=table, workload=[["a", "b"]], budget=PureDP(2), rounds=1, survey="1/2", stop=4
    )
    yield Example(halting, rows, pairs)
    looking = replace(once, look="1/4")
    yield Example(looking, cut, ((cut, cut[1:], 1), (cut[:0], cut[:1], 1)))
    many = np.repeat(cut, 200, axis=0)
    yield Example(looking, many, ((many, many[1:], 1),))
    yield Example(
        AdaptiveIterative(
            attributes=table, workload=[["a", "b", "c"]], budget=ZCDP(2), rounds=2, survey="1/4", largest_model=8
        ),
        rows,
        pairs,
    )


@register(
    examples=_examples,
    source="AIM: An Adaptive and Iterative Mechanism for Differentially Private Synthetic Data (McKenna, Mullins, "
    "Sheldon, Miklau 2022), the algorithm AIM",
)
@dataclass(frozen=True, kw_only=True)
class AdaptiveIterative(Composed[Any, GraphicalModel]):
    """Choose and measure marginals until the budget is spent, each time where the fitted model is worst.

    Guarantee: records 1 apart lose ``budget``, whatever is chosen on the way; records ``d_in`` apart what group
    privacy makes of it.

    Args:
        attributes: names and sizes; public.
        workload: the marginals that should come out well; public.
        budget: what is spent, PureDP or ZCDP.
        rounds: the number of rounds that the first round's noise would allow; the noise falls from there.
        survey: the share of the budget for the single attributes at the beginning.
        choice: the share of what a round costs that pays for choosing.
        largest_model: how many cells the model may have; what is spent so far sets the part that may be used.
        stop: how far a candidate must stand out of its noise not to be passed over, in units of what the choice itself
            blurs; whoever is passed over is asked again with half the noise, and what is left in the end measures
            single attributes again. None for the published form, which measures until nothing is left.
        look: the share of the budget that counts the records first: where noise would blur single attributes by more
            than 1/80 of them in mean total variation, all that is left measures these alone. None for no such count.

    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> AdaptiveIterative.calibrated(PureDP(1), attributes=people).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "aim"
    version: ClassVar[int] = 3
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well the chosen marginals describe the records depends on the records"
    no_interval_because: ClassVar[str] = "marginals that were not chosen have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    workload: Names = Names()
    budget: Spending = Spending()
    rounds: Whole = Whole(least=1, most=2**16)
    survey: Share = Share()
    choice: Share = Share(Fraction(1, 10))
    largest_model: Whole = Whole(USUAL_MODEL, least=1, most=LARGEST_MODEL)
    stop: Maybe = Maybe(NonNegative(most=2**10))
    look: Maybe = Maybe(Share())

    def __post_init__(self) -> None:
        sets = tuple(self.attributes.axes(names) for names in self.workload)
        if not any(sets):
            raise InvalidParameter("workload", self.workload, "sets of attributes, one of them not empty")
        object.__setattr__(self, "workload", tuple(self.attributes.named(axes) for axes in sets))
        if self.look is not None and self.look + self.survey >= 1:
            raise InvalidParameter("look", self.look, f"less than {1 - self.survey}, what the survey leaves")
        _ = self.candidates

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        workload: Sequence[Sequence[str]] | None = None,
        largest_model: int = USUAL_MODEL,
    ) -> Self:
        """Return the method that spends ``within`` on records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            workload: the marginals that should come out well; None for all pairs.
            largest_model: the most cells that the model may have.

        """
        purse, width = Purse.within(within), len(attributes.names)
        stop = _USUAL_STOP if purse.is_pure and sum(attributes.sizes) > _FEW_VALUES * width else None
        survey, choice, rounds = _IN_RHO if not purse.is_pure else _PURE if stop is None else _PURE_WITH_STOP
        return cls(
            attributes=attributes,
            workload=attributes.every(min(2, width)) if workload is None else workload,
            budget=purse.loss,
            rounds=rounds * width,
            survey=survey,
            choice=choice,
            largest_model=largest_model,
            stop=stop,
            look=_USUAL_LOOK if purse.is_pure else None,
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def candidates(self) -> Candidates:
        """All parts of the workload, each weighted by the number of attributes it shares with the workload."""
        sets = tuple(dict.fromkeys(self.attributes.axes(names) for names in self.workload))
        parts = [part for part in closure(sets) if len(part) > 1] or list(closure(sets))
        common = np.zeros((len(self.attributes.names), len(sets)), dtype=np.int64)
        for number, axes in enumerate(sets):
            common[list(axes), number] = 1
        weights = np.array([int(common[list(part)].sum()) for part in parts])
        return Candidates(self.attributes, parts, (weights // np.gcd.reduce(weights)).tolist())

    def _hides_pairs(self, total: float, purse: Purse) -> bool:
        """Whether noise blurs single attributes even if they are given all of a purse; public."""
        noise = spread_of(survey_noise(purse, self.attributes)) * sum(self.attributes.sizes) / 2
        return noise > _LITTLE * len(self.attributes.sizes) * max(total, 0.0)

    def plan(self) -> Plan:
        """Any choices and measurements, within the budget."""
        return Within(self.budget, (Exponential, DiscreteGaussian, Geometric))

    def release(self, data: Any, run: Runner) -> GraphicalModel:
        """Return the model of all measurements."""
        purse, inner, seen = Purse.of(self.budget), run.within(), Seen(records_of(self.attributes, data))
        left, is_alone = purse.amount, False
        if self.look is not None:
            node = purse.share(self.look).noise()
            left -= purse.cost(node)
            is_alone = self._hides_pairs(seen.total(inner, node), purse.taking(left))
        spent = purse.taking(left) if is_alone else purse.share(self.survey)
        survey = Survey(self.attributes, survey_noise(spent, self.attributes))
        singles = survey.draw(seen, inner)
        if is_alone:
            # Values are not merged: there are no pairs that would gain by it.
            return GraphicalModel.fitted(self.attributes, list(singles.values()))
        left -= purse.cost(survey.part, survey.stability)
        noisy = merged_survey(seen, singles)
        model = GraphicalModel.fitted(self.attributes, noisy, seen.merging)
        each = left / self.rounds
        struck = np.zeros(len(self.candidates.sets), dtype=bool)
        is_last = False
        while not is_last:
            is_last = left < 2 * each
            each = left if is_last else each
            bought = purse.taking(each)
            node = bought.share(1 - self.choice).noise()
            scale = bought.share(self.choice).choice(self.candidates.stability)
            chooser = Exponential(candidates=len(self.candidates.sets) + (self.stop is not None), scale=scale)
            limit = self.largest_model * float((purse.amount - left + each) / purse.amount)
            allowed = self.candidates.allowed(model, limit) & ~struck
            if not allowed.any():
                break
            scores = self.candidates.scores(seen, model, allowed, spread_of(node))
            if self.stop is not None:
                worth = min(round(float(self.stop * scale) * math.log(allowed.sum() + 1)), LARGEST_VALUE)
                scores = np.append(scores, np.int64(worth))
            number = picked(inner, chooser, scores, self.candidates.stability)
            left -= purse.cost(chooser, self.candidates.stability)
            if number == len(self.candidates.sets):
                each = bought.per("1/2").amount
                if each > left:
                    break
                continue
            axes = self.candidates.sets[number]
            if not self.candidates.fits(model, axes, limit):
                struck[number] = True
                continue
            noisy.append(seen.measure(inner, node, axes))
            left -= purse.cost(node)
            before = model.merged_table(axes)
            steps = FULL_STEPS if is_last else _STEPS_A_ROUND
            model = GraphicalModel.fitted(self.attributes, noisy, seen.merging, start=model, steps=steps)
            after = model.merged_table(axes)
            if float(np.abs(after - before).sum()) <= spread_of(node) * after.size:
                # The model has learnt less than the noise: from here on half of the noise.
                each = bought.per("1/2").amount
        if self.stop is None or left < _WORTH_IT * purse.amount:
            return model
        again = Survey(self.attributes, survey_noise(purse.taking(left), self.attributes))
        further = again.draw(Seen(records_of(self.attributes, data)), inner).values()
        noisy += [seen.merging.merged_noisy(one) for one in further]
        return GraphicalModel.fitted(self.attributes, noisy, seen.merging, start=model, steps=FULL_STEPS)
