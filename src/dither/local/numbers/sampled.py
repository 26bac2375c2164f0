"""One attribute of several, drawn at random (Harmony): means of numbers and shares of categories from one report each.

For people with several attributes, numbers and categories mixed. Cost: one uniform number and one report; splitting
the loss over all attributes instead costs as many times the variance again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, TupleOf, Whole
from dither.local.clients.attributes import Sampled
from dither.local.clients.half import Half
from dither.local.numbers.bit import bit_weights
from dither.local.numbers.means import Floats, Means, NumberRandomiser, Tally, bit_means, level_of
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

_RULE = "a list of integers, one for each of 2 to 62 attributes"


def _examples() -> Iterator[Example]:
    yield Example(SampledAttribute(places=(3, 2), weights=(3, 1), steps=(0, 2), bits=2), 0)
    yield Example(SampledAttribute.calibrated(PureDP(1), places=(3, 4, 2), numbers=(1, 0, 0)), 5)


@register(
    examples=_examples,
    source="Collecting and Analyzing Data from Smart Device Users with Local Differential Privacy (Nguyên et al. "
    "2016); Differential Privacy and Applications (Zhu et al. 2017), section 15.6",
    tasks={"local": "For several attributes of each person, numbers and categories mixed."},
    made_for={"places": (3, 3), "numbers": (1, 0)},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class SampledAttribute(NumberRandomiser):
    """Report one attribute, drawn uniformly: a number by one bit, a category by k-ary response.

    Guarantee: any two people lose the largest loss of the report of one attribute.

    Args:
        places: how many values each attribute has.
        weights: of the truth of a category; or of a 1 under the smallest number.
        steps: what each number more adds to it; 0 for categories.
        bits: the weights of each attribute add up to 2 to this power.

    >>> law = SampledAttribute.calibrated(PureDP(1), places=(101, 4), numbers=(1, 0))
    >>> print(law.loss(1))
    epsilon = 1

    """

    name: ClassVar[str] = "sampled-attribute"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Sampled

    places: TupleOf = TupleOf(Whole(least=2, most=2**24), least=2, most=62, rule=_RULE)
    weights: TupleOf = TupleOf(Whole(least=1, most=2**32 - 1), least=2, most=62, rule=_RULE)
    steps: TupleOf = TupleOf(Whole(most=2**32 - 1), least=2, most=62, rule=_RULE)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, places: Sequence[int], numbers: Sequence[int], bits: int = 32) -> Self:
        """Return the report of one attribute that keeps a target for each of them.

        Args:
            within: the target.
            places: how many values each attribute has.
            numbers: 1 for each attribute that is a number, whose mean is estimated; 0 for categories.
            bits: of the sum of all weights.

        """
        if len(places) != len(numbers) or not all(kind in (0, 1) for kind in numbers):
            raise InvalidParameter("numbers", numbers, "a 1 or a 0 for each attribute")
        laws = [
            bit_weights(within, count, bits) if kind else (_truth(within, count, bits), 0)
            for count, kind in zip(places, numbers, strict=True)
        ]
        return cls(places=tuple(places), weights=tuple(a for a, _ in laws), steps=tuple(b for _, b in laws), bits=bits)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return the number of an attribute and its report, for each person."""
        chosen = noise.uniform_below(len(self.places), len(cells)).astype(np.int64)
        coin = noise.uniform_below(2**self.bits, len(cells))
        said, rest = np.zeros(len(cells), dtype=np.int64), cells
        for column, (places, weight, step) in enumerate(zip(self.places, self.weights, self.steps, strict=True)):
            rest, value = np.divmod(rest, places)
            if step:
                report = (coin < weight + step * value).astype(np.int64)
            else:
                shift = 1 + noise.uniform_below(places - 1, len(cells))
                report = np.where(coin < weight, value, (value + shift) % places)
            said = np.where(chosen == column, report, said)
        return np.stack([chosen, said], axis=1).astype(np.int64)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports name an attribute and one of its reports."""
        limits = np.array([2 if step else places for places, step in zip(self.places, self.steps, strict=True)])
        known = reports[:, 0] < len(limits)
        return np.asarray(known & (reports[:, 1] < limits[np.where(known, reports[:, 0], 0)]))

    @property
    def _columns(self) -> list[slice]:
        """Where each attribute's counts are in a tally: of both bits, or of every category."""
        ends = np.cumsum([2 if step else places for places, step in zip(self.places, self.steps, strict=True)])
        return [slice(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return how often each attribute reported each value."""
        starts = np.array([column.start for column in self._columns])
        return np.bincount(starts[reports[:, 0]] + reports[:, 1], minlength=self._columns[-1].stop).astype(np.int64)

    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the mean of each number, in its cells; NaN for categories, which have ``shares``."""
        counts = np.array([int(tally[column].sum()) for column in self._columns])
        found, level = [], level_of(confidence)
        for place, column in enumerate(self._columns):
            if self.steps[place]:
                scale = 2.0**-self.bits
                low, step = (np.array([part[place] * scale]) for part in (self.weights, self.steps))
                one = bit_means(
                    tally[column][1:], counts[place : place + 1], low, step, np.array([self.places[place]]), level
                )
                found.append((one.means[0], one.low[0], one.high[0]))
            else:
                found.append((np.nan, np.nan, np.nan))
        columns = np.array(found).T
        return Means(counts, columns[0], columns[1], columns[2], level)

    def shares(self, tally: Tally, attribute: int) -> tuple[Floats, Floats]:
        """Return the share of each category of an attribute, without bias, and their standard deviations.

        Args:
            tally: of all reports.
            attribute: its number; one with categories.

        """
        if not 0 <= attribute < len(self.places) or self.steps[attribute]:
            raise InvalidParameter("attribute", attribute, "the number of an attribute with categories")
        seen, places = tally[self._columns[attribute]], self.places[attribute]
        count = int(seen.sum())
        if not count:
            return np.full(places, 1 / places), np.full(places, np.inf)
        hold = self.weights[attribute] / 2.0**self.bits
        stray = (1 - hold) / (places - 1)
        shares = (seen / count - stray) / (hold - stray)
        fixed, moving = stray * (1 - stray), hold * (1 - hold) - stray * (1 - stray)
        spread = (fixed + np.clip(shares, 0, 1) * moving) / (count * (hold - stray) ** 2)
        return np.asarray(shares), np.sqrt(spread)

    def variances(self, cells: NDArray[np.int64]) -> Floats:
        """Return, for each attribute that is a number, that of a coin times the number of attributes, in its cells."""
        found, rest = [], cells
        for places, weight, step in zip(self.places, self.weights, self.steps, strict=True):
            rest, value = np.divmod(rest, places)
            if step:
                chance = (weight + step * value) / 2.0**self.bits
                found.append(len(self.places) * chance * (1 - chance) * (2.0**self.bits / step) ** 2)
        return np.stack(found, axis=-1) if found else np.zeros((len(cells), 0))


def _truth(within: Loss, places: int, bits: int) -> int:
    return largest_weight(lambda weight: Fraction(weight * (places - 1), 2**bits - weight), within, bits)
