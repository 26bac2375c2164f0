"""RAPPOR: Bloom filters of a value, stored with noise, and shown in every round; decoded by a non-negative lasso.

For values from a long list, or strings, that are reported over time. Cost: a coin for each bit of a filter in every
round; decoding solves a least-squares problem with a column for each candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Whole, probability
from dither.local.clients.chains import Rappor
from dither.local.clients.half import Half
from dither.local.rounds.chain import ChainOracle, first_epsilon
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

Floats = NDArray[np.float64]


def _examples() -> Iterator[Example]:
    yield Example(RapporResponse(categories=3, cohorts=1, filter_bits=3, hashes=0, hold=3, zero=1, one=3, bits=2), 0)
    yield Example(RapporResponse.calibrated(PureDP(2), categories=40, cohorts=2, filter_bits=8), 7)


@dataclass(frozen=True)
class Decoded:
    """Candidates and their estimated shares.

    Args:
        cells: the candidates that were found, the largest share first.
        shares: their shares.
        low: lower ends of intervals.
        high: upper ends.
        reports: how many reports there are.

    """

    cells: NDArray[np.int64]
    shares: Floats
    low: Floats
    high: Floats
    reports: int


@register(
    examples=_examples,
    source="RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response (Erlingsson, Pihur, Korolova 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 15.6",
    tasks={"local": "For strings, or values from a long list, that are reported over time."},
    made_for={"categories": 40},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class RapporResponse(ChainOracle):
    """Store a noisy Bloom filter of the value, and report it with fresh noise in every round.

    Guarantee: one report loses ``loss(1)``: ``hashes`` times the logarithm of the odds of a 1 at a bit that is set,
        over those at another. All reports of a device that keeps its first value together lose
        ``losses(...).lasting``: ``2 hashes`` times the logarithm of ``hold / (2^bits - hold)``, rounded up. If reports
        follow a value that changes, each round is a loss: ``losses(...).changed``.

    Args:
        categories: the number of values, at most 2^40.
        cohorts: how many families of hash functions.
        filter_bits: the length of a filter.
        hashes: how many bits a value sets; 0 for unary response, one bit for each answer.
        hold: the weight with which a stored bit is the filter's.
        zero: the weight with which a stored 0 shows as 1.
        one: the weight with which a stored 1 shows as 1.
        bits: the weights of each add up to 2 to this power.

    >>> law = RapporResponse.calibrated(PureDP(4), categories=2**40)
    >>> losses = law.losses(rounds=10)
    >>> print(losses.one), print(losses.lasting)
    epsilon = 2
    epsilon = 4
    (None, None)

    """

    name: ClassVar[str] = "rappor"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Rappor

    categories: Whole = Whole(least=2, most=2**40)
    cohorts: Whole = Whole(least=1, most=2**16)
    filter_bits: Whole = Whole(least=2, most=2**12)
    hashes: Whole = Whole(most=16)
    hold: Whole = Whole(least=1, most=2**32 - 1)
    zero: Whole = Whole(least=1, most=2**32 - 1)
    one: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        categories: int,
        first: Loss | None = None,
        cohorts: int = 64,
        filter_bits: int = 32,
        hashes: int = 2,
        bits: int = 32,
    ) -> Self:
        """Return filters whose lasting loss is within a target, and whose one report is within another.

        Args:
            within: what all reports from one stored response may lose.
            categories: the number of values.
            first: what one report may lose; half of it where this is omitted.
            cohorts: how many families of hash functions.
            filter_bits: the length of a filter.
            hashes: how many bits a value sets; 0 for unary response.
            bits: of the sums of weights.

        """
        total, power = 2**bits, min(2 * (hashes or 1), filter_bits)
        hold = largest_weight(lambda weight: Fraction(weight, total - weight) ** power, within, bits)

        def ratio(one: int) -> Fraction:
            if one <= total // 2:
                return Fraction(1)
            kept, turned = hold * one + (total - hold) * (total - one), (total - hold) * one + hold * (total - one)
            return Fraction(kept, turned) ** (2 * (hashes or 1))

        # Shown alike: a stored 1 as 1 as often as a stored 0 as 0.
        one = largest_weight(ratio, first_epsilon(within, first), bits)
        return cls(
            categories=categories,
            cohorts=cohorts,
            filter_bits=filter_bits,
            hashes=hashes,
            hold=hold,
            zero=total - one,
            one=one,
            bits=bits,
        )

    @property
    def rappor(self) -> Rappor:
        """The client half."""
        return cast(Rappor, self.half)

    @property
    def set_share(self) -> Fraction:
        """The probability that a bit that the value sets shows as 1."""
        kept = Fraction(self.hold, 2**self.bits)
        return kept * Fraction(self.one, 2**self.bits) + (1 - kept) * Fraction(self.zero, 2**self.bits)

    @property
    def clear_share(self) -> Fraction:
        """The probability that another bit shows as 1."""
        kept = Fraction(self.hold, 2**self.bits)
        return kept * Fraction(self.zero, 2**self.bits) + (1 - kept) * Fraction(self.one, 2**self.bits)

    def draw_states(self, cells: NDArray[np.int64], noise: Noise) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return cohorts, and stored bits."""
        cohorts = noise.uniform_below(self.cohorts, len(cells)).astype(np.int64)
        true = self._filters(cells, cohorts)
        turned = noise.uniform_below(2**self.bits, true.size).reshape(true.shape) >= self.hold
        return cohorts[:, None], true ^ turned

    def draw_round(self, own: NDArray[np.int64], states: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return cohorts and shown bits."""
        drawn = noise.uniform_below(2**self.bits, states.size).reshape(states.shape)
        shown = drawn < np.where(states == 1, self.one, self.zero)
        return np.concatenate([own, shown], axis=1).astype(np.int64)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports name a cohort."""
        return np.asarray(reports[:, 0] < self.cohorts)

    def _filters(self, cells: NDArray[np.int64], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the filter of each cell in its cohort, a row of bits each."""
        # Each pair is hashed once.
        pairs, back = np.unique(np.stack([cells, cohorts], axis=1), axis=0, return_inverse=True)
        rows = np.zeros((len(pairs), self.filter_bits), dtype=np.int64)
        for place, (cell, cohort) in enumerate(pairs.tolist()):
            found = self.rappor.filter(cell, cohort)
            rows[place] = [found >> (self.filter_bits - 1 - at) & 1 for at in range(self.filter_bits)]
        return rows[np.asarray(back).reshape(-1)]

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each cohort, how many reports there are and how often each bit is 1; sums of parts add up."""
        found = np.zeros((self.cohorts, 1 + self.filter_bits), dtype=np.int64)
        np.add.at(found[:, 0], reports[:, 0], 1)
        np.add.at(found[:, 1:], reports[:, 0], reports[:, 1:])
        return found

    def set_bits(self, totals: NDArray[np.int64]) -> Floats:
        """Return, without bias, the share of devices of each cohort whose filter has each bit; 0 without reports."""
        counts = np.maximum(totals[:, :1], 1)
        shares = (totals[:, 1:] / counts - float(self.clear_share)) / float(self.set_share - self.clear_share)
        return np.where(totals[:, :1] > 0, shares, 0.0)

    def find(self, totals: NDArray[np.int64], candidates: Any, confidence: Number = "0.95") -> Decoded:
        """Return the candidates that many devices hold, with their shares.

        A non-negative lasso chooses candidates; least squares without the penalty estimates their shares. Intervals
        are those of least squares with the candidates that were chosen, for all of them together.

        Args:
            totals: of all reports.
            candidates: the cells that are tried.
            confidence: with which all intervals hold, if the true values are among the candidates.

        """
        cells = np.unique(np.asarray(candidates, dtype=np.int64))
        if not cells.size or cells[0] < 0 or cells[-1] >= self.categories:
            raise InvalidParameter(
                "candidates", candidates, f"numbers of values, at least one, below {self.categories}"
            )
        level, reports = float(probability("confidence", confidence)), int(totals[:, 0].sum())
        if not reports:
            nothing = np.zeros(0)
            return Decoded(np.zeros(0, dtype=np.int64), nothing, nothing, nothing, 0)
        cohorts = np.arange(self.cohorts)
        table = self._filters(np.repeat(cells, self.cohorts), np.tile(cohorts, len(cells)))
        design = table.reshape(len(cells), -1).T.astype(np.float64)
        # Each row is weighted by the precision of its share: reports of its cohort over the variance of a shown bit.
        shown = np.clip(totals[:, 1:] / np.maximum(totals[:, :1], 1), 0.01, 0.99)
        slope = float(self.set_share - self.clear_share)
        root = np.sqrt(totals[:, :1] * slope**2 / (shown * (1 - shown))).reshape(-1)
        target = self.set_bits(totals).reshape(-1) * root
        weighted = design * root[:, None]
        chosen = _lasso(weighted, target)
        return _refitted(cells, weighted, target, chosen, level, reports)


def _lasso(design: Floats, target: Floats) -> NDArray[np.intp]:
    """Return the columns with a weight above 0 in a non-negative lasso, whose errors have variance 1."""
    lengths = np.sqrt((design**2).sum(axis=0))
    used = np.flatnonzero(lengths > 0)
    scaled = design[:, used] / lengths[used]
    products, aims = scaled.T @ scaled, scaled.T @ target
    # Above this a column without any part in the truth rarely comes.
    penalty = np.sqrt(2 * np.log(max(len(used), 2)))
    weights = np.zeros(len(used))
    slopes = -aims.copy()
    for _ in range(500):
        moved = 0.0
        for at in range(len(used)):
            fresh = max(0.0, weights[at] - (slopes[at] + penalty))
            change = fresh - weights[at]
            if change:
                slopes += products[:, at] * change
                weights[at] = fresh
                moved = max(moved, abs(change))
        if moved < 1e-6 * max(1.0, float(weights.max(initial=0.0))):
            break
    return used[weights > 0]


def _refitted(
    cells: NDArray[np.int64], design: Floats, target: Floats, chosen: NDArray[np.intp], level: float, reports: int
) -> Decoded:
    """Return least-squares shares of chosen candidates, which are not below 0, and their intervals."""
    from scipy.optimize import nnls
    from scipy.special import ndtri

    if not len(chosen):
        return Decoded(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0), reports)
    part = design[:, chosen]
    shares, _ = nnls(part, target)
    spread = np.sqrt(np.clip(np.diag(np.linalg.pinv(part.T @ part)), 0, None))
    # Beside the noise of bits the cohorts are samples of the devices: that of a share in all of them is below this.
    spread = np.sqrt(spread**2 + np.clip(shares, 0, 1) * (1 - np.clip(shares, 0, 1)) / reports)
    reach = -ndtri((1 - level) / (2 * len(chosen))) * spread
    order = np.argsort(-shares, kind="stable")
    return Decoded(cells[chosen][order], shares[order], (shares - reach)[order], (shares + reach)[order], reports)
