"""Independent marginals: every attribute separately.

The baseline that every other method has to beat, and the best choice where the budget is too small for anything more.
Cost: one pass over the rows for each attribute. Nothing of how attributes hang together is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.exact import Of
from dither.lift.attributes import Attributes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Loss, Metric, Plan, Use
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.measuring import Seen, Survey, survey_noise


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3})
    rows = np.array([[0, 1], [1, 2], [5, -3]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(IndependentMarginals(attributes=table, single=Geometric(scale=2)), rows, pairs)
    yield Example(IndependentMarginals(attributes=table, single=DiscreteGaussian(sigma=2)), rows, pairs)


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 5.2; the baseline of Winning the NIST "
    "Contest (McKenna, Miklau, Sheldon 2021)",
)
@dataclass(frozen=True, kw_only=True)
class IndependentMarginals(Composed[Any, GraphicalModel]):
    """Measure every attribute separately, and draw records whose attributes are independent.

    Guarantee: records ``d_in`` apart lose what ``single`` loses at ``d_in`` times the number of attributes (geometric
    noise) or its root (Gaussian noise).

    Args:
        attributes: names and sizes; public.
        single: the noise of a count.

    >>> from dither.privacy import PureDP
    >>> people = Attributes.of({"sex": 2, "age": 10})
    >>> IndependentMarginals.calibrated(PureDP(1), attributes=people).single.scale
    Fraction(2, 1)

    """

    name: ClassVar[str] = "independent"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how dependent attributes are depends on the records"
    no_interval_because: ClassVar[str] = "what attributes have in common has an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    single: OneCount = OneCount()

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes) -> Self:
        """Return the least noise whose loss for records 1 apart is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.

        """
        return cls(attributes=attributes, single=survey_noise(Purse.within(within), attributes))

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def survey(self) -> Survey:
        """The measurement of all attributes."""
        return Survey(self.attributes, self.single)

    def plan(self) -> Plan:
        """One draw for all attributes."""
        return Use(self.survey.part, self.survey.stability)

    def release(self, data: Any, run: Runner) -> GraphicalModel:
        """Return a model of independent attributes."""
        noisy = self.survey.draw(Seen(records_of(self.attributes, data)), run)
        return GraphicalModel.fitted(self.attributes, list(noisy.values()))
