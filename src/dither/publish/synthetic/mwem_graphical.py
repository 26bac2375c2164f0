"""MWEM with a graphical model: round by round, choose, measure and learn from the worst answered marginal.

The classical loop of multiplicative weights and the exponential mechanism (Hardt, Ligett and McSherry 2012), with
marginals in place of single queries and a model of few potentials in place of a table of all cells, so that the number
of attributes is unlimited. All measurements are fitted together after each round; the classical update looks at one of
them at a time. Cost: a fit and a look at all marginals of the workload in each round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.estimate.graphical_model import FULL_STEPS
from dither.exact import Of, Whole, whole
from dither.lift.attributes import Attributes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse, Spending
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, ZCDP, Loss, Metric, Plan, PureDP, Within
from dither.publish.marginals.common import Names
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.measuring import (
    LARGEST_MODEL,
    USUAL_MODEL,
    Candidates,
    Seen,
    picked,
    spread_of,
)

_STEPS_A_ROUND = 50
_MOST_ROUNDS = 2**12


def _examples() -> Iterator[Example]:
    # The first is run a thousand times by audits: as small as can be.
    few, table = Attributes.of({"a": 2, "b": 2}), Attributes.of({"a": 2, "b": 2, "c": 2})
    rows = np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0], [1, 0, 0]])
    pairs, cut = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1)), rows[:, :2]
    once = GraphicalMwem(attributes=few, workload=[["a"], ["b"]], budget=PureDP(3), rounds=1)
    yield Example(once, cut, ((cut, cut[1:], 1), (cut[:0], cut[:1], 1)))
    workload = table.every(2)
    yield Example(
        GraphicalMwem(attributes=table, workload=workload, budget=ZCDP(1), rounds=2, largest_model=9), rows, pairs
    )


@register(
    examples=_examples,
    source="A Simple and Practical Algorithm for Differentially Private Data Release (Hardt, Ligett, McSherry 2012), "
    "section 2; Graphical-model based Estimation and Inference for Differential Privacy (McKenna, Sheldon, Miklau "
    "2019), section 5",
)
@dataclass(frozen=True, kw_only=True)
class GraphicalMwem(Composed[Any, GraphicalModel]):
    """In every round, choose the worst answered marginal of a workload, measure it, and fit a model to all of them.

    Guarantee: records 1 apart lose ``budget``, whatever is chosen on the way; records ``d_in`` apart what group
    privacy makes of it.

    Args:
        attributes: names and sizes; public.
        workload: the marginals that should come out well, from which is chosen; public.
        budget: what is spent, PureDP or ZCDP, in equal parts on the number of records, each choice and each marginal.
        rounds: how many marginals are measured.
        largest_model: the most cells that the model may have.

    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> mwem = GraphicalMwem.calibrated(PureDP(1), attributes=people)
    >>> mwem.loss(1), mwem.rounds
    (PureDP('1'), 3)

    """

    name: ClassVar[str] = "mwem-graphical"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well few marginals describe the records depends on the records"
    no_interval_because: ClassVar[str] = "marginals that were not chosen have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    workload: Names = Names()
    budget: Spending = Spending()
    rounds: Whole = Whole(least=1, most=_MOST_ROUNDS)
    largest_model: Whole = Whole(USUAL_MODEL, least=1, most=LARGEST_MODEL)

    def __post_init__(self) -> None:
        sets = tuple(self.attributes.axes(names) for names in self.workload)
        object.__setattr__(self, "workload", tuple(self.attributes.named(axes) for axes in sets))

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        workload: Sequence[Sequence[str]] | None = None,
        rounds: int | None = None,
        largest_model: int = USUAL_MODEL,
    ) -> Self:
        """Return the method that spends ``within`` on records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            workload: the marginals that should come out well; None for all pairs.
            rounds: how many are measured; None for one for each attribute.
            largest_model: the most cells that the model may have.

        """
        width = len(attributes.names)
        return cls(
            attributes=attributes,
            workload=attributes.every(min(2, width)) if workload is None else workload,
            budget=Purse.within(within).loss,
            rounds=width if rounds is None else whole("rounds", rounds, least=1, most=_MOST_ROUNDS),
            largest_model=largest_model,
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def candidates(self) -> Candidates:
        """The workload, with equal weight for every marginal."""
        sets = tuple(dict.fromkeys(self.attributes.axes(names) for names in self.workload))
        return Candidates(self.attributes, sets, (1,) * len(sets))

    def plan(self) -> Plan:
        """Measure the number of records, then choose and measure in each round; which shapes is left open."""
        return Within(self.budget, (Exponential, DiscreteGaussian, Geometric))

    def release(self, data: Any, run: Runner) -> GraphicalModel:
        """Return the model of all measurements."""
        each = Purse.of(self.budget) / (2 * self.rounds + 1)
        node, candidates = each.noise(), self.candidates
        chooser = Exponential(candidates=len(candidates.sets), scale=each.choice(candidates.stability))
        inner, seen = run.within(), Seen(records_of(self.attributes, data))
        noisy = [seen.measure(inner, node, ())]
        model = GraphicalModel.fitted(self.attributes, noisy)
        for number in range(self.rounds):
            allowed = candidates.allowed(model, self.largest_model)
            if not allowed.any():
                break
            scores = candidates.scores(seen, model, allowed, spread_of(node))
            axes = candidates.sets[picked(inner, chooser, scores, candidates.stability)]
            if not candidates.fits(model, axes, self.largest_model):
                continue
            noisy.append(seen.measure(inner, node, axes))
            steps = FULL_STEPS if number + 1 == self.rounds else _STEPS_A_ROUND
            model = GraphicalModel.fitted(self.attributes, noisy, start=model, steps=steps)
        return model
