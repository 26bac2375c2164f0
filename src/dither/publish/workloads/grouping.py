"""Grouping and smoothing: groups of columns share one noisy average.

For many columns of counts to each of which a person may contribute, so that noise for every column by itself is large
beside the counts. The average of w columns moves w times less than a column. Cost: a sort and one draw, or two.
Corrections: which columns belong together is public, or is chosen from noisy counts that are paid for; the source's
saving from rows that are sampled needs the rows, and a table of counts does not have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Maybe, Number, Whole, exact, positive
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, InOrder, Loss, Metric, Plan, Use
from dither.publish.workloads.mechanism import neighbours_of


def _examples() -> Iterator[Example]:
    public = GroupingAndSmoothing(columns=3, width=2, noise=Geometric(scale=1))
    yield Example(public, np.array([5, 4, 0]), neighbours_of((3,)))
    sorted_ = GroupingAndSmoothing(columns=4, width=2, noise=Geometric(scale=2), rough=Geometric(scale=2))
    yield Example(sorted_, np.array([5, 0, 4, 1]), neighbours_of((4,)))


@register(
    examples=_examples,
    source="Practical Differential Privacy via Grouping and Smoothing (Kellaris, Papadopoulos 2013); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.3",
)
@dataclass(frozen=True, kw_only=True)
class GroupingAndSmoothing(Composed[Any, Any]):
    """Release columns of counts as the noisy averages of their groups.

    Guarantee: counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in``, and what ``rough`` loses at ``d_in``
    where groups are chosen by noisy counts.

    Args:
        columns: how many counts there are; public.
        width: how many columns make a group; the last group has what is left.
        noise: the noise of the sum of a group.
        rough: the noise of the counts by which columns are sorted into groups; none means groups of neighbours.

    >>> GroupingAndSmoothing(columns=10, width=5, noise=Geometric(scale=2), rough=Geometric(scale=4)).loss(1).epsilon
    Fraction(3, 4)

    """

    name: ClassVar[str] = "grouping-and-smoothing"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance of columns from the average of their group depends on the data"
    no_interval_because: ClassVar[str] = no_error_because

    columns: Whole = Whole(least=1, most=2**24)
    width: Whole = Whole(least=1, most=2**24)
    noise: OneCount = OneCount()
    rough: Maybe = Maybe(OneCount())

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, columns: int, width: int, share: Number = "1/4") -> Self:
        """Return the release whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            sensitivity: how far the counts move in L1 per unit of data: the number of columns a person contributes to.
            columns: how many counts there are.
            width: how many columns make a group.
            share: how much of the loss chooses the groups; 0 means groups of neighbours.

        """
        part = exact("share", share)
        if not 0 <= part < 1:
            raise InvalidParameter("share", share, "a number in [0, 1)")
        purse, reach = Purse.within(within), positive("sensitivity", sensitivity)
        rough = purse.share(part).noise(reach) if part else None
        return cls(columns=columns, width=width, noise=purse.share(1 - part).noise(reach), rough=rough)

    @property
    def distance(self) -> Metric:
        """L1 on counts: a person who contributes to s columns moves the counts by s."""
        return L1

    @property
    def groups(self) -> int:
        """The number of groups."""
        return math.ceil(self.columns / self.width)

    @property
    def sums(self) -> CountNoise:
        """The noise for the sums of all groups."""
        return replace(self.noise, shape=(self.groups,))

    @property
    def sorting(self) -> CountNoise | None:
        """The noise for the counts by which columns are sorted."""
        return None if self.rough is None else replace(self.rough, shape=(self.columns,))

    def plan(self) -> Plan:
        """Rough counts, if they determine the groups; then one draw for all sums."""
        chosen = () if self.sorting is None else (Use(self.sorting),)
        return InOrder.of(*chosen, Use(self.sums))

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        """Return, for every column, the noisy average of its group."""
        limit = LARGEST_VALUE // self.width
        counts = np.clip(IntegerArray((self.columns,)).admit(data), -limit, limit)
        order = np.arange(self.columns)
        if self.sorting is not None:
            # Sorted by what was released, never by the counts themselves.
            order = np.argsort(np.asarray(run(self.sorting, counts)), kind="stable")
        starts = np.arange(0, self.columns, self.width)
        sums = np.asarray(run(self.sums, np.add.reduceat(counts[order], starts)), dtype=np.float64)
        sizes = np.diff(np.append(starts, self.columns))
        smoothed = np.empty(self.columns)
        smoothed[order] = np.repeat(sums / sizes, sizes)
        return smoothed
