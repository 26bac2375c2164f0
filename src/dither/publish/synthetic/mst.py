"""MST: a maximum spanning tree of pairs of attributes, chosen privately and measured.

For tables of up to a hundred columns, when a model is wanted quickly and pairs matter most. All single attributes are
measured first; pairs are scored by how far they are from independence given those; the tree is grown pair by pair; its
pairs are measured and a tree-shaped model is fitted. Cost: one pass over the rows for each pair, and a fit of a second
or two. Corrections: scores are integers whose sensitivity is exact, so the exponential mechanism is too; and a
pair that would make the model too large is not a candidate, so the method can give a forest but never fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import NoisyMarginal
from dither.exact import Of, Positive, Whole
from dither.lift.attributes import Attributes, Axes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, InOrder, Loss, Metric, Plan, Repeat, Use, Within
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.measuring import (
    EXCLUDED,
    LARGEST_MODEL,
    STEPS,
    USUAL_MODEL,
    Candidates,
    Seen,
    Survey,
    merged_survey,
    picked,
    survey_noise,
)

_MOST_ATTRIBUTES = 512


def _examples() -> Iterator[Example]:
    # The first is run a thousand times by audits: as small as can be.
    few, table = Attributes.of({"a": 2, "b": 2}), Attributes.of({"a": 2, "b": 2, "c": 2})
    rows = np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0], [1, 0, 0]])
    pairs, cut = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1)), rows[:, :2]
    pure = MaximumSpanningTree(attributes=few, single=Geometric(scale=9), choice=512, pair=Geometric(scale=3))
    yield Example(pure, cut, ((cut, cut[1:], 1), (cut[:0], cut[:1], 1)))
    gaussian = DiscreteGaussian(sigma=2)
    yield Example(
        MaximumSpanningTree(attributes=table, single=gaussian, choice=256, pair=gaussian, largest_model=8), rows, pairs
    )


@register(
    examples=_examples,
    source="Winning the NIST Contest: A scalable and general approach to differentially private synthetic data "
    "(McKenna, Miklau, Sheldon 2021), the algorithm MST",
)
@dataclass(frozen=True, kw_only=True)
class MaximumSpanningTree(Composed[Any, GraphicalModel]):
    """Measure single attributes, choose a spanning tree of dependent pairs, measure the pairs, and fit a model.

    Guarantee: records ``d_in`` apart lose what ``single`` loses at ``d_in`` times the number of attributes (geometric
    noise) or its root (Gaussian noise), for each pair of the tree epsilon = ``2 * 64 d_in / choice``, and what ``pair``
    loses at ``d_in`` for each of them.

    Args:
        attributes: names and sizes; public.
        single: the noise for a count of one attribute.
        choice: the scale of the exponential mechanism that chooses a pair, in steps of 1/64 of a record.
        pair: the noise of a count of a chosen pair.
        largest_model: how many cells the model may have; pairs that would go beyond are not chosen.

    >>> from dither.privacy import ApproxDP
    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> mst = MaximumSpanningTree.calibrated(ApproxDP(1, "1e-9"), attributes=people)
    >>> mst.loss(1).to_approx("1e-9").epsilon <= 1, len(mst.pairs)
    (True, 3)

    """

    name: ClassVar[str] = "mst"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a tree of pairs describes the records depends on the records"
    no_interval_because: ClassVar[str] = "dependences outside the tree have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    single: OneCount = OneCount()
    choice: Positive = Positive()
    pair: OneCount = OneCount()
    largest_model: Whole = Whole(USUAL_MODEL, least=1, most=LARGEST_MODEL)

    def __post_init__(self) -> None:
        if len(self.attributes.names) > _MOST_ATTRIBUTES:
            raise InvalidParameter("attributes", len(self.attributes.names), f"at most {_MOST_ATTRIBUTES} attributes")

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes, largest_model: int = USUAL_MODEL) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``, a third for each of the three stages.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            largest_model: the most cells that the model may have.

        """
        third = Purse.within(within) / 3
        edge = third / max(len(attributes.names) - 1, 1)
        return cls(
            attributes=attributes,
            single=survey_noise(third, attributes),
            choice=edge.choice(STEPS),
            pair=edge.noise(),
            largest_model=largest_model,
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def survey(self) -> Survey:
        """The measurement of all single attributes."""
        return Survey(self.attributes, self.single)

    @cached_property
    def pairs(self) -> tuple[Axes, ...]:
        """The candidates, by number."""
        return tuple(combinations(range(len(self.attributes.names)), 2))

    @property
    def chooser(self) -> Exponential:
        """The choice of one pair."""
        return Exponential(candidates=max(len(self.pairs), 1), scale=self.choice)

    def plan(self) -> Plan:
        """Measure single attributes, choose pairs one after another, and measure those."""
        singles = Use(self.survey.part, self.survey.stability)
        edges = len(self.attributes.names) - 1
        if not edges:
            return singles
        measured = Within(self.pair.loss(1).times(edges), (type(self.pair),))
        return InOrder.of(singles, Repeat(Use(self.chooser, STEPS), edges), measured)

    def release(self, data: Any, run: Runner) -> GraphicalModel:
        """Return a tree-shaped model."""
        seen = Seen(records_of(self.attributes, data))
        noisy = merged_survey(seen, self.survey.draw(seen, run))
        if len(self.attributes.names) > 1:
            chosen = self._tree(seen, noisy, run)
            inner = run.within()
            noisy = [*noisy, *(seen.measure(inner, self.pair, axes) for axes in chosen)]
        return GraphicalModel.fitted(self.attributes, noisy, seen.merging)

    def _tree(self, seen: Seen, singles: list[NoisyMarginal], run: Runner) -> list[Axes]:
        """Return pairs chosen one by one, each joining two parts of the forest so far."""
        independent = GraphicalModel.fitted(self.attributes, singles, seen.merging)
        every = Candidates(self.attributes, self.pairs, (1,) * len(self.pairs))
        scores = every.scores(seen, independent, every.countable, 0.0)
        cells = np.array([seen.merging.sizes[i] * seen.merging.sizes[j] for i, j in self.pairs], dtype=object)
        part_of = np.arange(len(self.attributes.names))
        ends = np.array(self.pairs)
        room, chosen = self.largest_model, []
        for _ in range(len(self.attributes.names) - 1):
            is_joining = part_of[ends[:, 0]] != part_of[ends[:, 1]]
            candidates = is_joining & every.countable & np.array(cells <= room, dtype=bool)
            if not candidates.any():
                break
            number = picked(run, self.chooser, np.where(candidates, scores, EXCLUDED), STEPS)
            chosen.append(self.pairs[number])
            room -= int(cells[number])
            one, other = self.pairs[number]
            part_of[part_of == part_of[other]] = part_of[one]
        return chosen
