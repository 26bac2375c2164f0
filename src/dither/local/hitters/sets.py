"""Padding and sampling: how many people hold each item, from one report of each about a set.

For baskets, lists and multiple answers of up to 62 items, which are often the candidates of an earlier survey. Cost:
that of k-ary response; one report says something about one item of the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, Whole, probability
from dither.local.clients.half import Half
from dither.local.clients.sets import CHOICE_BITS, PaddedSetHalf
from dither.local.randomiser import Randomiser
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

Floats = NDArray[np.float64]


def _examples() -> Iterator[Example]:
    yield Example(PaddedSet(items=2, length=1, truth=3, bits=2), 1)
    yield Example(PaddedSet.calibrated(PureDP(1), items=5, length=2), 19)


@dataclass(frozen=True)
class Holdings:
    """How large a share of people holds each item.

    Args:
        shares: estimated.
        low: lower ends of intervals, which hold sets of more than ``length`` items to be rare.
        high: upper ends.
        reports: how many reports there are.

    """

    shares: Floats
    low: Floats
    high: Floats
    reports: int


@register(
    examples=_examples,
    source="Locally Differentially Private Frequent Itemset Mining (Wang, Li, Jha 2018), padding and sampling; Heavy "
    "Hitter Estimation over Set-Valued Data (Qin et al. 2016), LDPMiner",
    tasks={"local": "For sets of up to 62 items, one report for each."},
    made_for={"items": 5, "length": 2},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class PaddedSet(Randomiser):
    """Draw one member of a padded set, and report it by k-ary response over items and dummies.

    Guarantee: any two sets lose the logarithm of ``1 + (gain - 1) / length``, rounded up, where ``gain`` is the ratio
        of the k-ary response.

    Args:
        items: the number of items; a set is the number whose bits are its items.
        length: to which sets are padded; items of larger sets are counted too rarely.
        truth: the weight of the member that was drawn.
        bits: the weights of truth and lie add up to 2 to this power.

    >>> law = PaddedSet.calibrated(PureDP(1), items=20, length=4)
    >>> print(law.loss(1))
    epsilon = 1

    """

    name: ClassVar[str] = "padded-set"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = PaddedSetHalf

    items: Whole = Whole(least=1, most=62)
    length: Whole = Whole(least=1, most=2**10)
    truth: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, items: int, length: int, bits: int = 32) -> Self:
        """Return the response that reports the member most often with a loss within a target."""
        several = Whole(least=1, most=62).convert("items", items)
        others = several + Whole(least=1, most=2**10).convert("length", length) - 1

        def ratio(weight: int) -> Fraction:
            return 1 + (Fraction(weight * others, 2**bits - weight) - 1) / length

        return cls(items=items, length=length, truth=largest_weight(ratio, within, bits), bits=bits)

    @property
    def padded(self) -> PaddedSetHalf:
        """The client half."""
        return cast(PaddedSetHalf, self.half)

    def members(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return an item of each set, or a dummy."""
        place = noise.uniform_below(self.length, len(cells)).astype(np.int64)
        choice = noise.uniform_below(2**CHOICE_BITS, len(cells)).astype(np.int64)
        sizes = np.zeros(len(cells), dtype=np.int64)
        for item in range(self.items):
            sizes += cells >> item & 1
        # Which of its items is taken, counted from the lowest.
        wanted = np.where(sizes > self.length, choice * sizes >> CHOICE_BITS, place)
        drawn, passed = self.items + place, np.zeros(len(cells), dtype=np.int64)
        for item in range(self.items):
            held = cells >> item & 1
            drawn = np.where((held == 1) & (passed == wanted), item, drawn)
            passed += held
        return np.asarray(drawn, dtype=np.int64)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each set."""
        true, several = self.members(cells, noise), self.padded.reports
        is_true = noise.uniform_below(2**self.bits, len(cells)) < self.truth
        shift = 1 + noise.uniform_below(several - 1, len(cells))
        return np.asarray(np.where(is_true, true, (true + shift) % several), dtype=np.int64)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports are numbers of items or dummies."""
        return np.asarray(reports < self.padded.reports)

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports there are of each item and dummy; sums of parts add up."""
        return np.bincount(reports, minlength=self.padded.reports).astype(np.int64)

    @property
    def gain(self) -> float:
        """How much likelier a report is under the member that was drawn than under another, as a difference."""
        hold = self.truth / 2.0**self.bits
        return hold - (1 - hold) / (self.padded.reports - 1)

    def holdings(
        self, totals: NDArray[np.int64], confidence: Number = "0.95", *, sizes: Floats | None = None
    ) -> Holdings:
        """Return the share of people that holds each item.

        A padded set gives each of its items with probability ``1 / length``, so shares of reports are multiplied by the
        length. A set of more items gives each too rarely: with the public or estimated ``sizes`` that loss is made good
        on average, by the mean number of items held over the mean number that can be drawn.

        Args:
            totals: of all reports.
            confidence: of each interval.
            sizes: the share of people with 0, 1, 2, ... items, if it is known.

        """
        level, reports = float(probability("confidence", confidence)), int(totals.sum())
        if not reports:
            ends = np.full(self.items, np.inf)
            return Holdings(np.zeros(self.items), -ends, ends, 0)
        from scipy.special import ndtri

        stray = (1 - self.truth / 2.0**self.bits) / (self.padded.reports - 1)
        seen = totals[: self.items] / reports
        factor = self.length * self._missing(sizes) / self.gain
        # Wilson's interval for the share of reports, which no few reports make empty.
        squared = float(ndtri((1 - level) / 2)) ** 2 / reports
        middle = (seen + squared / 2) / (1 + squared)
        reach = np.sqrt(squared * seen * (1 - seen) + squared**2 / 4) / (1 + squared)
        shares, low, high = ((part - stray) * factor for part in (seen, middle - reach, middle + reach))
        return Holdings(shares, low, high, reports)

    def _missing(self, sizes: Floats | None) -> float:
        """Return by what items of large sets are counted too rarely, on average."""
        if sizes is None:
            return 1.0
        counts = np.arange(len(sizes))
        reached = float(sizes @ np.minimum(counts, self.length))
        return float(sizes @ counts) / reached if reached else 1.0
