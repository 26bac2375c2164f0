"""Item covariance: item means, then how items go together, from two noisy draws over people.

For recommending from ratings of thousands of people. A first draw gives the mean of each item. Each person's residuals
from these means, without the person's own bias, are then multiplied with each other, and their products added up with
how many people rated both items, under a public length for one person. What cleans the noisy table and predicts from it
is post-processing; biases of people are used and never released. Cost: people times the square of the number of items.
Corrections: the textbook divides by exact numbers of ratings, and publishes means of users, for which there is no need;
products have noise that is smaller off the diagonal, and the noise in how many people rated both items, a table of low
rank, is smoothed away, so that most of the length goes to the products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.item_covariance import cleaned_factors
from dither.estimate.item_prior import pulled_means
from dither.exact import Number, Real, Whole
from dither.learn.declared import DeclaredUnit
from dither.learn.models import model
from dither.learn.noise_parts import noisy, shaped, spread_of
from dither.learn.recommend.personal import ItemModel, bias
from dither.learn.recommend.products import COUNTED, LENGTH, PAIRS_COUNTED, pair_sums, tables
from dither.learn.recommend.weighing import INDICATOR, LONGEST, STEPS, WEIGHTS, sums_over, weighed
from dither.learn.recommend.weighing import LENGTH as LENGTH_OF_MEANS
from dither.learn.rows import Floats, target_box
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: The square of the number of items is drawn.
MOST_ITEMS = 2**11
USUAL_REACH = 4
#: What the means take of the budget: this share of it for every thousand items, within these ends.
_SHARE_OF_THOUSAND = Fraction(1, 2)
_LEAST_SHARE, _MOST_SHARE = Fraction(1, 10), Fraction(3, 4)
_WIDE = 20


def means_share(items: int) -> Fraction:
    """Return what the means take of the budget: the more items, the fewer ratings each of them has.

    >>> [str(means_share(items)) for items in (100, 1000, 2000)]
    ['1/10', '1/2', '3/4']
    """
    many = items if type(items) is int else 1
    return min(max(Fraction(many, 1000) * _SHARE_OF_THOUSAND, _LEAST_SHARE), _MOST_SHARE)


@model
@dataclass(frozen=True)
class ItemCovarianceModel(ItemModel):
    """Released means of items and how they go together.

    Args:
        lower: the least value of a rating.
        upper: the largest value of a rating.
        counts: noisy numbers of ratings of each item, with people of many ratings counted less.
        sums: noisy sums of values between -1 and 1, the bounds.
        deviation: the standard deviation of the noise of a sum; that of a count is twice as large.
        attributes: a row of public numbers for each item.
        factors: a row for each item; products of rows are covariances of residuals between -1 and 1.
        rest: the variance of a residual beside what factors explain.

    """

    kind: ClassVar[str] = "item-covariance"

    lower: float
    upper: float
    counts: PublicArray
    sums: PublicArray
    deviation: float
    attributes: PublicArray
    factors: PublicArray
    rest: float

    def __post_init__(self) -> None:
        items = self.counts.values.shape
        fits = len(items) == 1 and self.sums.values.shape == items and self.rest > 0 and self.lower < self.upper
        tall = all(one.values.ndim == 2 and one.values.shape[:1] == items for one in (self.attributes, self.factors))
        if not (fits and tall):
            raise InvalidParameter("counts", self.counts, "a count, a sum, attributes and factors for each item")

    @cached_property
    def means(self) -> Floats:
        """The mean of each item between -1 and 1, pulled towards those of its attributes."""
        known = self.attributes.values
        return pulled_means(self.counts.values, self.sums.values, deviation=self.deviation, attributes=known)[0]

    @property
    def popularity(self) -> Floats:
        """Noisy numbers of ratings of each item."""
        found: Floats = self.counts.values
        return found

    def expected(self, rated: NDArray[np.int64], values: Floats) -> Floats:
        """Return what a person is expected to think of every item, in values between -1 and 1."""
        means, factors = self.means, self.factors.values
        left = values - means[rated]
        own = bias(left)
        some = factors[rated]
        if rated.size < factors.shape[1]:
            # The same by another identity, in as many dimensions as there are ratings.
            taste = some.T @ np.linalg.solve(some @ some.T + self.rest * np.eye(rated.size), left - own)
        else:
            taste = np.linalg.solve(some.T @ some + self.rest * np.eye(factors.shape[1]), some.T @ (left - own))
        found: Floats = means + own + factors @ taste
        return found

    def alike(self, item: int) -> Floats:
        """Return how like every item is to one: by what people think of both, else by attributes."""
        factors = self.factors.values
        lengths = np.sqrt((factors**2).sum(axis=1) + 1e-9)
        found: Floats = factors @ factors[item] / (lengths * lengths[item]) + 1e-3 * self._by_attributes(item)
        return found


def _examples() -> Iterator[Example]:
    gone = float("nan")
    rows = np.array([[0.5, gone, 1.0], [5.0, 5.0, 5.0], [gone, gone, gone], [gone, 9.0, float("inf")]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [5.0, -4.0, gone]]), 1))
    public: dict[str, Any] = {"items": 3, "lower": "1/2", "upper": 5}
    noise = DiscreteGaussian(sigma=2**22), DiscreteGaussian(sigma=5 * 2**32)
    yield Example(ItemCovariance(**public, means=noise[0], part=noise[1]), rows, others)
    noises: dict[str, Any] = {"means": GammaNorm(scale=2**21), "part": GammaNorm(scale=5 * 2**31)}
    yield Example(ItemCovariance(**public, **noises, reach=1, unit=ROW_REPLACED), rows)


def _wide(mechanism: Any, data: Any) -> tuple[Any, Any]:
    """Return a catalogue of many items, and people who rated many of them."""
    return replace(mechanism, items=_WIDE * mechanism.items), np.tile(data, (1, _WIDE))


@register(
    examples=_examples,
    wide=_wide,
    source="Differentially Private Recommender Systems: Building Privacy into the Netflix Prize Contenders (McSherry "
    "and Mironov 2009), section 4",
)
@dataclass(frozen=True, kw_only=True)
class ItemCovariance(DeclaredUnit, Composed[Any, ItemCovarianceModel]):
    """Release the mean of each item, and how items go together, from which recommendations follow.

    A row of data is one person, with all ratings of that person.

    Guarantee: data ``d_in`` people apart loses what ``means`` loses at ``d_in`` times 2^20 ``reach`` in L2 and what
    ``part`` loses at ``d_in`` times 5 * 2^30 ``reach``; twice these distances for people replaced.

    Args:
        items: the number of items.
        lower: the least value of a rating; one below it counts as that.
        upper: the largest value; a missing one counts as the middle.
        means: the noise of one count or sum, in steps of 2^-20 of a value that is as far as a bound from the middle.
        part: the noise of one product, in steps of a fifth of 2^-30; a seventh for two different items.
        reach: the length of a profile, and of products, that counts in full; longer ones have smaller weights.
        unit: ROW or ROW_REPLACED, a row being a person.

    >>> from dither.privacy import ApproxDP
    >>> method = ItemCovariance.calibrated(ApproxDP(1, "1e-5"), items=100, lower=-10, upper=10)
    >>> method.loss(1) <= ApproxDP(1, "1e-5"), method.entries
    (True, 10100)

    """

    name: ClassVar[str] = "item-covariance"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much less ratings of people with many ratings count depends on the ratings"
    no_interval_because: ClassVar[str] = no_error_because

    items: Whole = Whole(least=1, most=MOST_ITEMS)
    lower: Real = Real()
    upper: Real = Real()
    means: OneEntry = OneEntry()
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
        length = touched * (reach if type(reach) is int and reach > 0 else 1)
        purse = Purse.within(within)
        share = means_share(items)
        means = purse.share(share).vector_noise(length * LENGTH_OF_MEANS)
        part = purse.share(1 - share).vector_noise(length * LENGTH)
        return cls(items=items, lower=lower, upper=upper, means=means, part=part, reach=reach, unit=unit)

    @property
    def entries(self) -> int:
        """The number of entries of the second draw: products and people of each pair of items."""
        return self.items * (self.items + 1)

    @property
    def stability(self) -> Fraction:
        """The most by which one unit moves the products."""
        return Fraction(self.unit.touched * self.reach * LENGTH)

    @property
    def stability_of_means(self) -> Fraction:
        """The most by which one unit moves the counts and sums."""
        return Fraction(self.unit.touched * self.reach * LENGTH_OF_MEANS)

    def plan(self) -> Plan:
        """Return one draw of counts and sums, and one of products."""
        first = Use(shaped(self.means, 2 * self.items), self.stability_of_means)
        return InOrder.of(first, Use(shaped(self.part, self.entries), self.stability))

    def release(self, data: Any, run: Runner) -> ItemCovarianceModel:
        """Return the means and factors; what is made of a draw is post-processing."""
        seen = weighed(data, self.items, float(self.lower), float(self.upper), self.reach)
        counts = sums_over(seen.items, seen.weights * INDICATOR, self.items)
        sums = sums_over(seen.items, seen.weights * seen.steps, self.items)
        first = noisy(run, self.means, np.concatenate([counts, sums]), self.stability_of_means)
        found = ItemCovarianceModel(
            float(self.lower),
            float(self.upper),
            PublicArray(first[: self.items] / (WEIGHTS * INDICATOR)),
            PublicArray(first[self.items :] / (WEIGHTS * STEPS)),
            spread_of(self.means, 2 * self.items) / LENGTH_OF_MEANS,
            PublicArray(seen.attributes),
            PublicArray(np.zeros((self.items, 1))),
            1.0,
        )
        means = np.rint(found.means * STEPS).astype(np.int64)
        drawn = noisy(run, self.part, pair_sums(seen, means, self.reach, self.items), self.stability)
        products, pairs = tables(drawn, self.items)
        deviation = spread_of(self.part, self.entries) / LENGTH * COUNTED / PAIRS_COUNTED
        factors, rest = cleaned_factors(products, pairs, deviation=deviation)
        return replace(found, factors=PublicArray(factors), rest=rest)
