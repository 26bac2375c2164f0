"""Item means: how many people rated each item and how well, from one noisy draw over all items.

For recommending from ratings of people. Every person's counts and values together have a public length, so one joint
draw is enough for all items, and the noise of an item does not grow with their number. What the sums are made into (a
mean for each item, pulled towards those of its attributes) is post-processing. What a person is recommended follows
from these means and from that person's own ratings, where the person is: nothing is released for it. Cost: one pass
over the ratings. Correction: the textbook divides by exact numbers of ratings, which only a release can do; here counts
are noisy, and a person with many ratings counts with a smaller weight, where others drop rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.item_prior import pulled_means
from dither.exact import Number, Real, Whole
from dither.learn.declared import DeclaredUnit
from dither.learn.models import model
from dither.learn.noise_parts import noisy, shaped, spread_of
from dither.learn.recommend.personal import ItemModel
from dither.learn.recommend.weighing import INDICATOR, LENGTH, LONGEST, STEPS, WEIGHTS, sums_over, weighed
from dither.learn.rows import Floats, target_box
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The most items: two numbers are drawn for each.
MOST_ITEMS = 2**20
#: The length of a profile that counts in full: about sixteen ratings at the ends of the scale, or forty in the middle.
USUAL_REACH = 4
_WIDE = 40


@model
@dataclass(frozen=True)
class ItemMeansModel(ItemModel):
    """Released counts and sums of items, and what follows from them.

    Args:
        lower: the least value of a rating.
        upper: the largest value of a rating.
        counts: noisy numbers of ratings of each item, with people of many ratings counted less.
        sums: noisy sums of values between -1 and 1, the bounds.
        deviation: the standard deviation of the noise of a sum; that of a count is twice as large.
        attributes: a row of public numbers for each item.

    """

    kind: ClassVar[str] = "item-means"

    lower: float
    upper: float
    counts: PublicArray
    sums: PublicArray
    deviation: float
    attributes: PublicArray

    def __post_init__(self) -> None:
        items = self.counts.values.shape
        fits = len(items) == 1 and self.sums.values.shape == items and self.attributes.values.ndim == 2
        if not (fits and self.attributes.values.shape[:1] == items and self.lower < self.upper):
            raise InvalidParameter("counts", self.counts, "a count, a sum and a row of attributes for each item")

    @cached_property
    def pulled(self) -> tuple[Floats, Floats]:
        """The mean of each item between -1 and 1, pulled towards those of its attributes, and its variance."""
        return pulled_means(
            self.counts.values,
            self.sums.values,
            deviation=self.deviation,
            attributes=self.attributes.values,
        )

    @property
    def means(self) -> Floats:
        """The mean of each item between -1 and 1."""
        return self.pulled[0]

    @property
    def popularity(self) -> Floats:
        """Noisy numbers of ratings of each item."""
        found: Floats = self.counts.values
        return found


def _examples() -> Iterator[Example]:
    gone = float("nan")
    rows = np.array([[0.5, gone, 1.0], [5.0, 5.0, 5.0], [gone, gone, gone], [gone, 9.0, float("inf")]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [5.0, -4.0, gone]]), 1))
    public: dict[str, Any] = {"items": 3, "lower": "1/2", "upper": 5}
    yield Example(ItemMeans(**public, part=DiscreteGaussian(sigma=2**22)), rows, others)
    yield Example(ItemMeans(**public, part=GammaNorm(scale=2**21), reach=1, unit=ROW_REPLACED), rows)


def _wide(mechanism: Any, data: Any) -> tuple[Any, Any]:
    """Return a catalogue of many items, and people who rated many of them."""
    return replace(mechanism, items=_WIDE * mechanism.items), np.tile(data, (1, _WIDE))


@register(
    examples=_examples,
    wide=_wide,
    source="Differentially Private Recommender Systems: Building Privacy into the Netflix Prize Contenders (McSherry "
    "and Mironov 2009), section 4.1",
)
@dataclass(frozen=True, kw_only=True)
class ItemMeans(DeclaredUnit, Composed[Any, ItemMeansModel]):
    """Release counts and sums of the ratings of each item, from which means and recommendations follow.

    A row of data is one person, with all ratings of that person.

    Guarantee: data ``d_in`` people apart loses what ``part`` loses at ``d_in`` times 2^20 ``reach`` in L2; twice that
    for people replaced.

    Args:
        items: the number of items.
        lower: the least value of a rating; one below it counts as that.
        upper: the largest value; a missing one counts as the middle.
        part: the noise of one count or sum, in steps of 2^-20 of a value that is as far as a bound from the middle.
        reach: the length of a profile that counts in full; longer ones have smaller weights.
        unit: ROW or ROW_REPLACED, a row being a person.

    >>> from dither.privacy import ApproxDP
    >>> method = ItemMeans.calibrated(ApproxDP(1, "1e-5"), items=1682, lower=1, upper=5)
    >>> method.loss(1) <= ApproxDP(1, "1e-5"), method.entries
    (True, 3364)

    """

    name: ClassVar[str] = "item-means"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much less ratings of people with many ratings count depends on the ratings"
    no_interval_because: ClassVar[str] = no_error_because

    items: Whole = Whole(least=1, most=MOST_ITEMS)
    lower: Real = Real()
    upper: Real = Real()
    part: OneEntry = OneEntry()
    reach: Whole = Whole(USUAL_REACH, least=1, most=LONGEST)
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        target_box(self.lower, self.upper)
        # Ratings are put between the bounds in floats.
        if not float(self.lower) < float(self.upper):
            raise InvalidParameter("upper", str(self.upper), "above lower, also in double precision")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        items: int,
        lower: Number,
        upper: Number,
        reach: int = USUAL_REACH,
        unit: Unit = ROW,
    ) -> Self:
        """Return the release with the least noise whose loss for one person is within ``within``."""
        touched = unit.touched if isinstance(unit, Unit) else 1
        length = reach if type(reach) is int and reach > 0 else 1
        part = Purse.within(within).vector_noise(touched * length * LENGTH)
        return cls(items=items, lower=lower, upper=upper, part=part, reach=reach, unit=unit)

    @property
    def entries(self) -> int:
        """The number of entries drawn: a count and a sum for each item."""
        return 2 * self.items

    @property
    def stability(self) -> Fraction:
        """The most by which one unit moves the counts and sums."""
        return Fraction(self.unit.touched * self.reach * LENGTH)

    def plan(self) -> Plan:
        """Return one draw."""
        return Use(shaped(self.part, self.entries), self.stability)

    def release(self, data: Any, run: Runner) -> ItemMeansModel:
        """Return the counts and sums; everything after the draw is post-processing."""
        seen = weighed(data, self.items, float(self.lower), float(self.upper), self.reach)
        counts = sums_over(seen.items, seen.weights * INDICATOR, self.items)
        sums = sums_over(seen.items, seen.weights * seen.steps, self.items)
        drawn = noisy(run, self.part, np.concatenate([counts, sums]), self.stability)
        return ItemMeansModel(
            float(self.lower),
            float(self.upper),
            PublicArray(drawn[: self.items] / (WEIGHTS * INDICATOR)),
            PublicArray(drawn[self.items :] / (WEIGHTS * STEPS)),
            spread_of(self.part, self.entries) / LENGTH,
            PublicArray(seen.attributes),
        )
