"""PrivFuzzy made sound: group attributes, merge each group into one, count the merged attributes, and convert back.

For tables of many columns of which few belong together. The pipeline is the thesis's: encode by public terms
(``fuzzy``), group (``moments``), merge (``merged``), add noise, un-merge. Cost: a marginal for every pair of attributes
where groups are private, and one for each group. Corrections: noise goes on histograms of the merged attributes, whose
sensitivity is the number of groups, and not on the cells of the table, where no such sensitivity holds; groups are paid
for or public; encoding and merging count as no protection. What belongs to different groups is taken as independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.projections import non_negative_with_total
from dither.exact import Maybe, Of, OneOf, Probability, Text, TupleOf, Whole, sqrt_up
from dither.exact.parameters import REQUIRED
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.lift.records import Records, counts_of, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse, Spending
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, ZCDP, Loss, Metric, Plan, PureDP, Within
from dither.publish.histograms.common import Floats, Share
from dither.publish.microdata.grouping import RULES, Groups
from dither.publish.microdata.merged import MergedAttributes, merged_of
from dither.publish.microdata.moments import MomentGrouping
from dither.publish.synthetic.graphical import GraphicalModel

_USUAL_CELLS: Final = 2**10
#: Logarithms need shares above 0.
_LEAST_SHARE: Final = 1e-30


class GroupNames(TupleOf):
    """Public groups of attribute names; whether these exist is checked together with the attributes."""

    def __init__(self, default: Groups = REQUIRED) -> None:
        rule = "groups of names of attributes"
        one = TupleOf(Text(rule="the name of an attribute"), least=0, rule=rule)
        super().__init__(one, least=0, rule=rule, default=default)


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3, "c": 2})
    rows = np.array([[0, 1, 0], [1, 2, 1], [5, -3, 9]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(PrivFuzzy(attributes=table, budget=PureDP(2)), rows, pairs)
    yield Example(PrivFuzzy(attributes=table, groups=(("a", "c"),), budget=ZCDP(1)), rows, pairs)


@register(
    examples=_examples,
    source="A study on privacy preserving data publishing with differential privacy (Kar 2017), chapter 3: its "
    "pipeline, with another mechanism",
)
@dataclass(frozen=True, kw_only=True)
class PrivFuzzy(Composed[Any, GraphicalModel]):
    """Group attributes by private moments, measure each merged group's histogram, and rebuild records from them.

    Guarantee: records 1 apart lose ``budget``, whatever groups are found; records ``d_in`` apart what group privacy
    makes of it.

    Args:
        attributes: names and sizes, as encodings say; public.
        budget: what is spent, PureDP or ZCDP.
        groups: public groups, which cost nothing; None for groups from private moments.
        share: the part of the budget that pays for the moments.
        rule: how moments become groups; see ``moments``.
        most_cells: how many combinations a group from moments may have.
        least: the least mean absolute correlation within a group, for the rule ``correlation``.

    >>> from dither.privacy import PureDP
    >>> people = Attributes.of({"age": 4, "job": 5, "sex": 2})
    >>> method = PrivFuzzy.calibrated(PureDP(1), attributes=people, groups=[("age", "job")])
    >>> method.loss(1), method.groups
    (PureDP('1'), (('age', 'job'), ('sex',)))

    """

    name: ClassVar[str] = "priv-fuzzy"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how dependent groups are depends on the records"
    no_interval_because: ClassVar[str] = "what different groups have in common has an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    budget: Spending = Spending()
    groups: Maybe = Maybe(GroupNames())
    share: Share = Share(Fraction(1, 5))
    rule: OneOf = OneOf(*RULES, default=RULES[0])
    most_cells: Whole = Whole(_USUAL_CELLS, least=1, most=MOST_CELLS)
    least: Probability = Probability(Fraction(1, 10))

    def __post_init__(self) -> None:
        if self.groups is not None:
            merged = self.merged(self.groups)
            object.__setattr__(self, "groups", merged.groups)
            cells = sum(merged.merged.sizes)
        else:
            # What groups there might be is not known yet; each is within one of the two limits.
            cells = len(self.attributes.sizes) * max(self.most_cells, *self.attributes.sizes)
            _ = self.grouping
        if cells > MOST_CELLS:
            raise InvalidParameter("most_cells", f"{cells} cells in all", f"at most {MOST_CELLS}")

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes, **parameters: Any) -> Self:
        """Return the method that spends ``within`` on records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            parameters: the other fields: ``groups``, ``share``, ``rule``, ``most_cells``, ``least``.

        """
        return cls(attributes=attributes, budget=Purse.within(within).loss, **parameters)

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @property
    def grouping(self) -> MomentGrouping:
        """The measurement that determines the groups."""
        target = Purse.of(self.budget).share(self.share).loss
        return MomentGrouping.calibrated(
            target, attributes=self.attributes, rule=self.rule, most_cells=self.most_cells, least=self.least
        )

    def merged(self, groups: Any) -> MergedAttributes:
        """Return the merged attributes of some groups."""
        return merged_of(self.attributes, groups)

    def plan(self) -> Plan:
        """Measure moments unless groups are public, then the histograms; their number is not fixed in advance."""
        return Within(self.budget, (MomentGrouping, DiscreteGaussian, Geometric))

    def release(self, data: Any, run: Runner) -> GraphicalModel:
        """Return a model in which the groups are independent of each other."""
        records, inner, purse = records_of(self.attributes, data), run.within(), Purse.of(self.budget)
        groups = self.groups
        if groups is None:
            groups = inner(self.grouping, data).groups
            purse = purse.taking(purse.amount - purse.cost(self.grouping))
        merged = self.merged(groups)
        # A record moves one cell of each histogram by 1.
        l1, l2 = Fraction(len(merged.groups)), sqrt_up(Fraction(len(merged.groups)))
        node, shape = purse.noise(l1, l2), (sum(merged.merged.sizes),)
        part, stability = replace(node, shape=shape), l1 if isinstance(node, Geometric) else l2
        noisy = np.asarray(inner(part, _histograms(records, merged), stability=stability), dtype=np.float64)
        pieces = np.split(noisy, np.cumsum(merged.merged.sizes)[:-1])
        return _rebuilt(self.attributes, dict(zip(merged.axes, pieces, strict=True)))


def _histograms(records: Records, merged: MergedAttributes) -> Any:
    """Return the histograms of all merged attributes; a marginal's cells in order are the merged codes."""
    return np.concatenate([counts_of(records, axes).ravel() for axes in merged.axes])


def _rebuilt(attributes: Attributes, histograms: dict[Axes, Floats]) -> GraphicalModel:
    """Return the model of independent groups: non-negative noisy histograms, all with the same total."""
    # The sum of few cells is known best: weights are one over the number of cells.
    weights = np.array([1 / cells.size for cells in histograms.values()])
    sums = np.array([cells.sum() for cells in histograms.values()])
    total = max(float((weights * sums).sum() / weights.sum()), 0.0)
    potentials = {}
    for axes, cells in histograms.items():
        kept = non_negative_with_total(cells, max(total, 1.0))
        potentials[axes] = np.log(np.maximum(kept / kept.sum(), _LEAST_SHARE)).reshape(attributes.shape_of(axes))
    return GraphicalModel(attributes, total, potentials)
