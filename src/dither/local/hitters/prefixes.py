"""Prefix extension: the frequent values of a domain too large to list, by reports of prefixes.

For strings, addresses, numbers of 32 bits. Each device reports a prefix of one length; the server finds frequent short
prefixes, extends them, and so on. Cost: a report of some bytes; the server works through all pairs of a report and a
candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, TupleOf, Whole, probability, whole
from dither.local.clients.half import Half
from dither.local.clients.prefixes import Prefixes
from dither.local.frequencies.hashing import LocalHashing
from dither.local.randomiser import Randomiser
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

#: Candidates of one step are listed: this many at most.
MOST_CANDIDATES: Final = 2**22


def _examples() -> Iterator[Example]:
    yield Example(PrefixHashing(word_bits=2, lengths=(1, 2), group_bits=1, truth=3, bits=2, width=3), 0)
    yield Example(PrefixHashing.calibrated(PureDP(2), word_bits=12, lengths=(4, 8, 12)), 77)


@dataclass(frozen=True)
class Found:
    """Frequent values and their shares.

    Args:
        values: the largest share first.
        shares: unbiased for values that are fixed in advance; of values that were found the largest are too large.
        low: lower ends of intervals, for all candidates of the last step together.
        high: upper ends.
        reports: how many reports of whole values the shares come from.

    """

    values: NDArray[np.int64]
    shares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    reports: int


@register(
    examples=_examples,
    source="Locally Differentially Private Heavy Hitter Identification (Wang, Li, Jha 2019), prefix extension",
    tasks={"local": "For frequent values of a domain too large to list."},
    made_for={"word_bits": 12, "lengths": (4, 8, 12)},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class PrefixHashing(Randomiser):
    """Report a random hash function, and the group of a prefix of the word or another one; the length is random.

    Guarantee: any two values lose the logarithm of ``truth (2^group_bits - 1) / (2^bits - truth)``, rounded up.

    Args:
        word_bits: the length of a word.
        lengths: of prefixes, in bits, the last one that of a word.
        group_bits: the logarithm of the number of groups.
        truth: the weight of the true group.
        bits: the weights of the true group and of the others add up to 2 to this power.
        width: the number of bits of the two numbers of a hash function.

    >>> law = PrefixHashing.calibrated(PureDP(4), word_bits=32, lengths=(16, 24, 32))
    >>> print(law.loss(1))
    epsilon = 4

    """

    name: ClassVar[str] = "prefix-hashing"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Prefixes

    word_bits: Whole = Whole(least=1, most=40)
    lengths: TupleOf = TupleOf(Whole(least=1, most=40), most=40, rule="growing lengths of prefixes")
    group_bits: Whole = Whole(least=1, most=30)
    truth: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)
    width: Whole = Whole(62, least=2, most=62)

    def __post_init__(self) -> None:
        """Refuse lengths and weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, word_bits: int, lengths: Sequence[int], bits: int = 32) -> Self:
        """Return the law of the least variance of a small share with a loss within a target."""
        length = Whole(least=1, most=40).convert("word_bits", word_bits)
        oracle = LocalHashing.calibrated(within, categories=2**length, bits=bits)
        return cls(
            word_bits=length,
            lengths=tuple(lengths),
            group_bits=oracle.group_bits,
            truth=oracle.truth,
            bits=bits,
            width=oracle.width,
        )

    @property
    def prefixes(self) -> Prefixes:
        """The client half."""
        return cast(Prefixes, self.half)

    @property
    def oracle(self) -> LocalHashing:
        """The law of the prefix of a report."""
        return LocalHashing(
            categories=2**self.word_bits,
            group_bits=self.group_bits,
            truth=self.truth,
            bits=self.bits,
            width=self.width,
        )

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each word."""
        chosen = noise.uniform_below(len(self.lengths), len(cells)).astype(np.int64)
        prefix = cells >> (self.word_bits - np.array(self.lengths))[chosen]
        return np.concatenate([chosen[:, None], self.oracle.draw_each(prefix, noise)], axis=1)

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports name a length."""
        return np.asarray(reports[:, 0] < len(self.lengths))

    def supports(
        self, reports: NDArray[np.int64], step: int, candidates: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int]:
        """Return how many reports of one length support each candidate, and how many there are; parts add up.

        Args:
            reports: of all lengths.
            step: the number of the length.
            candidates: prefixes of that length.

        """
        part = reports[reports[:, 0] == step][:, 1:]
        return self.oracle.totals_at(part, candidates), len(part)

    def shares_of(self, supports: NDArray[np.int64], reports: int) -> NDArray[np.float64]:
        """Return unbiased shares; equal to 0 without reports."""
        oracle = self.oracle
        if not reports:
            return np.zeros(len(supports))
        return np.asarray((supports / reports - float(oracle.base)) / float(oracle.slope))

    def find(self, reports: NDArray[np.int64], count: int, *, wider: int = 2, confidence: Number = "0.95") -> Found:
        """Return the values with the largest estimated shares.

        Args:
            reports: all of them.
            count: how many values.
            wider: how many times as many prefixes are extended at each step.
            confidence: of the intervals, for all values that were candidates at the last step.

        """
        wanted, factor = whole("count", count, least=1, most=10**5), whole("wider", wider, least=1, most=100)
        level = float(probability("confidence", confidence))
        kept, before = np.zeros(1, dtype=np.int64), 0
        for step, length in enumerate(self.lengths):
            more = length - before
            if len(kept) << more > MOST_CANDIDATES:
                raise InvalidParameter("lengths", self.lengths, f"steps with at most {MOST_CANDIDATES} candidates each")
            candidates = (kept[:, None] << more | np.arange(1 << more)).reshape(-1)
            supports, several = self.supports(reports, step, candidates)
            shares = self.shares_of(supports, several)
            is_last = step == len(self.lengths) - 1
            best = np.argsort(-shares, kind="stable")[: wanted if is_last else wanted * factor]
            kept, before = candidates[best], length
        return self._found(kept, shares[best], several, len(candidates), level)

    def _found(
        self, values: NDArray[np.int64], shares: NDArray[np.float64], reports: int, tried: int, level: float
    ) -> Found:
        """Return values with intervals for all that were tried."""
        if not reports:
            ends = np.full(len(values), np.inf)
            return Found(values, shares, -ends, ends, 0)
        from scipy.special import ndtri

        fixed, moving = self.oracle.scatter(shares)
        squared = float(ndtri((1 - level) / (2 * tried))) ** 2 / (reports * float(self.oracle.slope) ** 2)
        middle = shares + squared * moving / 2
        root = np.sqrt(np.maximum(middle**2 - shares**2 + squared * fixed, 0))
        return Found(values, shares, middle - root, middle + root, reports)
