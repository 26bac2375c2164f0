"""JTree: find the pairs of dependent attributes first, then measure all clusters at once.

For few looks at the data: one at the single attributes, one at all pairs, one at the clusters of a junction tree.
Correction: the printed method filters pairs by a threshold that is tested on noisy samples of pairs, with no limit on
how many pass; that filter is not private for any epsilon (Lyu, Su and Li 2017, section 3). Here the pairs are chosen
by the exponential mechanism peeled ``chosen`` times, or by a sparse vector with noise for each pair that grows with
``positives`` and that stops after ``positives`` pairs; both are priced as drawn. Mutual information, whose sensitivity
grows with the logarithm of the number of records, gives way to the L1 distance from independence, which a record moves
by 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import NoisyMarginal
from dither.estimate.junction_tree import junction_tree
from dither.exact import FAR, Of, Positive, Whole, whole
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.lift.records import records_of
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse, Spending
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.top_k import TopK
from dither.privacy import RECORDS, ZCDP, InOrder, Loss, Metric, Plan, PureDP, Use, Within
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.measuring import (
    LARGEST_MODEL,
    STEPS,
    USUAL_MODEL,
    Candidates,
    Seen,
    Survey,
    merged_survey,
    spread_of,
    survey_noise,
)

Selector = TopK | AboveThreshold


class _Selection(Of[Selector]):
    """The best pairs, or those above a threshold, by integer scores that move either way."""

    def __init__(self) -> None:
        rule = "TopK or AboveThreshold by whole scores, not one-way"
        super().__init__(TopK, AboveThreshold, where=_is_either_way, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return choices that are one-way or use fractions, and anything that is not a selector."""
        yield TopK(candidates=3, chosen=1, scale=1, one_way=True)
        yield TopK(candidates=3, chosen=1, scale=1, grid=1)
        yield AboveThreshold(threshold=0, threshold_scale=1, query_scale=1, positives=1, one_way=True)
        yield from super().offenders()


def _is_either_way(selector: Selector) -> bool:
    return not selector.one_way and (isinstance(selector, AboveThreshold) or selector.grid is None)


def _examples() -> Iterator[Example]:
    # The first is run a thousand times by audits: as small as can be.
    few, table = Attributes.of({"a": 2, "b": 2}), Attributes.of({"a": 2, "b": 2, "c": 2})
    rows = np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0], [1, 0, 0]])
    pairs, cut = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1)), rows[:, :2]
    above = AboveThreshold(threshold=0, threshold_scale=64, query_scale=128, positives=1)
    yield Example(
        JunctionTreeSynthesis(attributes=few, single=Geometric(scale=9), selector=above, clusters=PureDP(1)),
        cut,
        ((cut, cut[1:], 1), (cut[:0], cut[:1], 1)),
    )
    best = TopK(candidates=3, chosen=2, scale=512)
    yield Example(
        JunctionTreeSynthesis(attributes=table, single=DiscreteGaussian(sigma=2), selector=best, clusters=ZCDP(1)),
        rows,
        pairs,
    )


@register(
    examples=_examples,
    source="Differentially Private High-Dimensional Data Publication via Sampling-Based Inference (Chen et al. 2015), "
    "the algorithm JTree; Understanding the Sparse Vector Technique (Lyu, Su, Li 2017), section 3, for what was wrong; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.4.2",
)
@dataclass(frozen=True, kw_only=True)
class JunctionTreeSynthesis(Composed[Any, GraphicalModel]):
    """Select dependent pairs, join them into the clusters of a junction tree, measure those, and fit a model.

    Guarantee: records ``d_in`` apart lose what ``single`` loses at ``d_in`` times the number of attributes (geometric
    noise) or its root (Gaussian noise), what ``selector`` loses at ``64 d_in``, and ``clusters`` for each of ``d_in``
    records, as group privacy has it.

    Args:
        attributes: names and sizes; public.
        single: the noise for a count of one attribute.
        selector: how pairs are selected by their distance from independence, in steps of 1/64 of a record: TopK takes
            the best, AboveThreshold the first whose distance is above the threshold and the noise they would have.
        clusters: what is spent on the clusters, PureDP or ZCDP.
        useful: the least ratio of mean count to mean noise of a cluster into which pairs are joined.
        largest_model: how many cells the model may have; pairs that would go beyond are left out.

    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> best = JunctionTreeSynthesis.calibrated(PureDP(1), attributes=people)
    >>> above = JunctionTreeSynthesis.calibrated(PureDP(1), attributes=people, sparse=True)
    >>> best.selector.chosen, above.selector.positives, above.loss(1).epsilon <= 1
    (3, 3, True)

    """

    name: ClassVar[str] = "jtree"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well the clusters describe the records depends on the records"
    no_interval_because: ClassVar[str] = "dependences outside the clusters have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    single: OneCount = OneCount()
    selector: _Selection = _Selection()
    clusters: Spending = Spending()
    useful: Positive = Positive(2, least=Fraction(1, FAR), most=FAR)
    largest_model: Whole = Whole(USUAL_MODEL, least=1, most=LARGEST_MODEL)

    def __post_init__(self) -> None:
        if len(self.attributes.names) < 2:
            raise InvalidParameter("attributes", self.attributes.names, "at least two")
        if isinstance(self.selector, TopK) and self.selector.candidates != len(self.pairs):
            rule = f"of {len(self.pairs)} candidates, the pairs of attributes"
            raise InvalidParameter("selector", self.selector.candidates, rule)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        chosen: int | None = None,
        sparse: bool = False,
        largest_model: int = USUAL_MODEL,
    ) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``, a third for each of the three stages.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes; at least two.
            chosen: how many pairs are selected at most; None for three times the number of attributes.
            sparse: whether by a sparse vector; otherwise the best ones.
            largest_model: the most cells that the model may have.

        """
        third, width = Purse.within(within) / 3, len(attributes.names)
        candidates = width * (width - 1) // 2
        if not candidates:
            raise InvalidParameter("attributes", attributes.names, "at least two")
        count = min(3 * width, candidates) if chosen is None else whole("chosen", chosen, least=1, most=candidates)
        selector: Selector
        if sparse:
            selector = AboveThreshold.calibrated(third.loss, threshold=0, sensitivity=STEPS, positives=count)
        else:
            # Taking the last candidate left is not a choice.
            paid = third / max(1, min(count, candidates - 1))
            selector = TopK(candidates=candidates, chosen=count, scale=paid.choice(STEPS))
        return cls(
            attributes=attributes,
            single=survey_noise(third, attributes),
            selector=selector,
            clusters=third.loss,
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

    def plan(self) -> Plan:
        """Measure single attributes, select pairs, and measure the clusters they form."""
        singles = Use(self.survey.part, self.survey.stability)
        clusters = Within(self.clusters, (Geometric, DiscreteGaussian))
        return InOrder.of(singles, Use(self.selector, STEPS), clusters)

    def release(self, data: Any, run: Runner) -> GraphicalModel:
        """Return the model of the measured clusters."""
        seen = Seen(records_of(self.attributes, data))
        noisy = merged_survey(seen, self.survey.draw(seen, run))
        model = GraphicalModel.fitted(self.attributes, noisy, seen.merging)
        clusters = self._clusters(model, self._selected(seen, model, run))
        inner = run.within()
        if clusters:
            node = self._noise(len(clusters))
            noisy = [*noisy, *(seen.measure(inner, node, axes) for axes in clusters)]
        return _refitted(self.attributes, noisy, model)

    def _noise(self, clusters: int) -> CountNoise:
        """Return the noise for a cell when ``clusters`` clusters share the budget."""
        return (Purse.of(self.clusters) / clusters).noise()

    def _selected(self, seen: Seen, model: GraphicalModel, run: Runner) -> list[Axes]:
        """Return the selected pairs, best first or in their order."""
        # About as many clusters as attributes: what a pair would be measured with, and must stand out from.
        spread = spread_of(self._noise(len(self.attributes.names)))
        every = Candidates(self.attributes, self.pairs, (1,) * len(self.pairs))
        scores = every.scores(seen, model, every.countable, spread)
        if isinstance(self.selector, TopK):
            best = np.asarray(run(self.selector, scores, stability=STEPS)).tolist()
            return [self.pairs[number] for number in best if every.countable[number]]
        found, asked = [], run.open(self.selector, stability=STEPS)
        for number in np.flatnonzero(every.countable).tolist():
            if asked.is_over:
                break
            if asked.ask(int(scores[number])):
                found.append(self.pairs[number])
        return found

    def _clusters(self, model: GraphicalModel, selected: list[Axes]) -> list[Axes]:
        """Return the junction tree's clusters for as many selected pairs as stay useful and small; public."""
        sizes = model.merging.sizes
        spread = spread_of(self._noise(len(self.attributes.names)))
        most = max(model.total, 0.0) / (float(self.useful) * spread)
        kept: list[Axes] = []
        tree = junction_tree(sizes, kept)
        for axes in selected:
            wider = junction_tree(sizes, [*kept, axes])
            largest = max(math.prod(sizes[axis] for axis in clique) for clique in wider.cliques)
            counted = max(self.attributes.cells_of(clique) for clique in wider.cliques)
            if wider.cells <= self.largest_model and largest <= most and counted <= MOST_CELLS:
                kept, tree = [*kept, axes], wider
        return [clique for clique in tree.cliques if len(clique) > 1]


def _refitted(attributes: Attributes, noisy: list[NoisyMarginal], start: GraphicalModel) -> GraphicalModel:
    return GraphicalModel.fitted(attributes, noisy, start.merging, start=start)
