"""Local hashing: report a random hash function, and the group of the answer under it, by k-ary response.

For questions with very many answers: a report has some bytes, however long the list is, and any answer can be queried
later. Cost: two uniform numbers, one coin; a server works through all pairs of a report and an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import NoGuarantee
from dither.exact import Whole
from dither.local.clients import Half
from dither.local.clients.hashing import Hashing
from dither.local.frequencies.oracle import SupportOracle
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

#: Small enough that a block stays in the cache next to the processor.
_REPORTS_AT_A_TIME: Final = 2**12
_MOST_GROUP_BITS: Final = 16


def _examples() -> Iterator[Example]:
    yield Example(LocalHashing(categories=2, group_bits=1, truth=3, bits=2, width=2), 0)
    yield Example(LocalHashing.calibrated(PureDP(1), categories=100), 42)


@register(
    examples=_examples,
    source="Locally Differentially Private Protocols for Frequency Estimation (Wang et al. 2017), section 4.4",
    tasks={"local": "For very many answers, in reports of a few bytes; any answer can be queried later."},
    made_for={"categories": 100},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class LocalHashing(SupportOracle):
    """Report a random hash function, and the group of the answer under it or another one.

    Guarantee: any two answers lose the logarithm of ``truth (2^group_bits - 1) / (2^bits - truth)``, rounded up: the
    function is part of the report, and independent of the answer.

    Args:
        categories: the number of answers.
        group_bits: the logarithm of the number of groups.
        truth: the weight of the true group.
        bits: the weights of the true group and of the others add up to 2 to this power.
        width: the number of bits of the two numbers of a hash function.

    >>> LocalHashing(categories=9, group_bits=1, truth=3, bits=2).half.ratio
    Fraction(3, 1)

    """

    name: ClassVar[str] = "local-hashing"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Hashing

    categories: Whole = Whole(least=2, most=2**40)
    group_bits: Whole = Whole(least=1, most=30)
    truth: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)
    width: Whole = Whole(32, least=2, most=62)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(
        cls, within: Loss, *, categories: int, bits: int = 32, group_bits: int | None = None, width: int | None = None
    ) -> Self:
        """Return the response of the least variance with a loss within a target.

        Args:
            within: the target.
            categories: the number of answers.
            bits: the weights add up to 2 to this power.
            group_bits: the logarithm of the number of groups; the best one where it is omitted.
            width: of the numbers of a hash function; 32 where that is wide enough, else 62.

        """
        made: list[Self] = []
        for logarithm in range(1, _MOST_GROUP_BITS + 1) if group_bits is None else (group_bits,):
            others = 2**logarithm - 1

            def ratio(weight: int, others: int = others) -> Fraction:
                return Fraction(weight * others, 2**bits - weight)

            wide = (32 if categories <= 2 ** (32 - logarithm) else 62) if width is None else width
            try:
                truth = largest_weight(ratio, within, bits)
            except NoGuarantee:
                # The least step of the ratio grows with the number of groups: more of them have no weight either.
                if made:
                    break
                raise
            made.append(cls(categories=categories, group_bits=logarithm, truth=truth, bits=bits, width=wide))
            # The variance first falls and then rises with the number of groups.
            if len(made) > 1 and made[-1].score_error > made[-2].score_error:
                break
        return min(made, key=lambda law: law.score_error)

    @property
    def score_error(self) -> float:
        """The variance of the estimate of a small share for one report."""
        return float(self.stray_share * (1 - self.stray_share) / self.slope**2)

    @property
    def squared_error(self) -> float:
        """The sum of the variances of all shares for one report."""
        own = float(self.hold_share * (1 - self.hold_share) / self.slope**2)
        return own + (self.categories - 1) * self.score_error

    @property
    def hold_share(self) -> Fraction:
        """The probability of the true group."""
        return Fraction(self.truth, 2**self.bits)

    @property
    def stray_share(self) -> Fraction:
        """The probability that another answer is in the reported group: that of a group, exactly."""
        return Fraction(1, 2**self.group_bits)

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each answer."""
        count, groups = len(cells), 2**self.group_bits
        factor, shift = (noise.uniform_below(2**self.width, count) for _ in range(2))
        mask = np.uint64(2**self.width - 1)
        hashed = (factor.astype(np.uint64) * cells.astype(np.uint64) + shift.astype(np.uint64)) & mask
        group = (hashed >> np.uint64(self.width - self.group_bits)).astype(np.int64)
        is_true = noise.uniform_below(2**self.bits, count) < self.truth
        other = 1 + noise.uniform_below(groups - 1, count)
        return np.stack([factor, shift, np.where(is_true, group, (group + other) % groups)], axis=1).astype(np.int64)

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each answer."""
        found = np.zeros(self.categories, dtype=np.int64)
        for factor, offset, least in self._blocks(reports):
            hashed = offset.copy()
            supported = np.empty(len(hashed), dtype=bool)
            for cell in range(self.categories):
                np.less(hashed, least, out=supported)
                found[cell] += np.count_nonzero(supported)
                # The next answer: a sum in place of a product.
                np.add(hashed, factor, out=hashed)
        return found

    def totals_at(self, reports: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each of a list of answers."""
        found = np.zeros(len(cells), dtype=np.int64)
        for factor, offset, least in self._blocks(reports):
            for place, cell in enumerate(cells.tolist()):
                found[place] += np.count_nonzero(factor * factor.dtype.type(cell) + offset < least)
        return found

    def _blocks(self, reports: NDArray[np.int64]) -> Iterator[tuple[Any, Any, Any]]:
        """Yield a, b less the reported group, and the length of a group, in integers of 32 or 64 bits that wrap around.

        Shifted up to the whole width of the integers, ``a x + b - group 2^(width - group_bits)`` is below the length of
        a group exactly where x is in the reported group.
        """
        kind: Any = np.uint32 if self.width <= 32 else np.uint64
        spare = kind((32 if self.width <= 32 else 64) - self.width)
        least = kind(2 ** (self.width - self.group_bits)) << spare
        for start in range(0, len(reports), _REPORTS_AT_A_TIME):
            factor, shift, group = (column.astype(kind) for column in reports[start : start + _REPORTS_AT_A_TIME].T)
            yield factor << spare, (shift << spare) - group * least, least
