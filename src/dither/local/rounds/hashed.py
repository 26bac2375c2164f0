"""Local hashing in rounds (LOLOHA): all values of one group share one stored response.

For a question with many answers that is repeated over time. Cost: that of two k-ary responses; a server works through
all pairs of a report and an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from dither.exact import Whole
from dither.local.clients.chains import HashedChain, kary_rounds
from dither.local.clients.half import Half
from dither.local.rounds.chain import ChainShares, kary_block, two_steps, weights_of
from dither.local.weights import laws_within
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP

_REPORTS_AT_A_TIME: Final = 2**12


def _examples() -> Iterator[Example]:
    yield Example(MemoisedHashing(categories=2, group_bits=1, hold=3, show=3, bits=2, width=2), 0)
    yield Example(MemoisedHashing.calibrated(PureDP(2), categories=50), 3)


@register(
    examples=_examples,
    source="Frequency Estimation of Evolving Data under Local Differential Privacy (Arcolezi et al. 2023)",
    tasks={"local": "For a question with many answers that is repeated over time."},
    made_for={"categories": 50},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class MemoisedHashing(ChainShares):
    """Store a k-ary response for each group of a hash function, and report a k-ary response to it in every round.

    Guarantee: one report loses ``loss(1)``. All reports of a device that keeps its first value together lose
        ``losses(...).lasting``: the logarithm of ``hold (groups - 1) / (2^bits - hold)``, rounded up. If reports follow
        a value that changes, each round is a loss: ``losses(...).changed``.

    Args:
        categories: the number of answers.
        group_bits: the logarithm of the number of groups.
        hold: the weight with which the stored response is the true group.
        show: the weight with which a report is the stored response.
        bits: the weights of each add up to 2 to this power.
        width: the number of bits of the two numbers of a hash function.

    >>> law = MemoisedHashing.calibrated(PureDP(1), categories=1000)
    >>> law.group_bits
    1
    >>> print(law.losses(rounds=365).lasting)
    epsilon = 1

    """

    name: ClassVar[str] = "memoised-hashing"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = HashedChain

    categories: Whole = Whole(least=2, most=2**40)
    group_bits: Whole = Whole(least=1, most=16)
    hold: Whole = Whole(least=1, most=2**32 - 1)
    show: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)
    width: Whole = Whole(32, least=2, most=62)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(
        cls, within: Loss, *, categories: int, first: Loss | None = None, group_bits: int | None = None, bits: int = 32
    ) -> Self:
        """Return the chain with the largest weights whose lasting loss is within a target.

        Args:
            within: what all reports from one stored response may lose.
            categories: the number of answers.
            first: what one report may lose; half of it where this is omitted.
            group_bits: the logarithm of the number of groups; of 1 to 6 the one with the least variance where omitted.
            bits: of the sums of weights.

        """

        def make(logarithm: int, kind: type[Self] = cls) -> Self:
            def ratio(hold: int, show: int) -> Fraction:
                return kary_rounds(hold, show, bits, 2**logarithm, 1)

            width = 32 if categories <= 2 ** (32 - logarithm) else 62
            hold, show = weights_of(within, first, 2**logarithm, bits, ratio)
            return kind(categories=categories, group_bits=logarithm, hold=hold, show=show, bits=bits, width=width)

        made: list[Self] = laws_within(range(1, 7) if group_bits is None else (group_bits,), make)
        # Of nearly equal ones the smallest number of groups: a device stores no more responses.
        best = min(law.score_error for law in made)
        return next(law for law in made if law.score_error <= best * 1.02)

    @property
    def hashed(self) -> HashedChain:
        """The client half."""
        return cast(HashedChain, self.half)

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
    def most_memos(self) -> int:
        """The number of groups."""
        return self.hashed.groups

    @property
    def hold_share(self) -> Fraction:
        """The probability that a report is the true group."""
        return two_steps(self.hold, self.show, self.bits, self.hashed.groups)

    @property
    def stray_share(self) -> Fraction:
        """The probability that another answer is in the reported group: that of a group, exactly."""
        return Fraction(1, self.hashed.groups)

    def draw_states(self, cells: NDArray[np.int64], noise: Noise) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return hash functions, and stored groups."""
        factor, shift = (noise.uniform_below(2**self.width, len(cells)).astype(np.int64) for _ in range(2))
        groups = self._groups(factor, shift, cells)
        return np.stack([factor, shift], axis=1), kary_block(groups, self.hold, self.bits, self.hashed.groups, noise)

    def draw_round(self, own: NDArray[np.int64], states: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return functions and a group for each stored one."""
        shown = kary_block(states, self.show, self.bits, self.hashed.groups, noise)
        return np.concatenate([own, shown[:, None]], axis=1)

    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many reports support each answer."""
        found = np.zeros(self.categories, dtype=np.int64)
        for start in range(0, len(reports), _REPORTS_AT_A_TIME):
            factor, shift, group = reports[start : start + _REPORTS_AT_A_TIME].T
            for cell in range(self.categories):
                found[cell] += np.count_nonzero(self._groups(factor, shift, cell) == group)
        return found

    def _groups(
        self, factor: NDArray[np.int64], shift: NDArray[np.int64], cells: NDArray[np.int64] | int
    ) -> NDArray[np.int64]:
        """Return the group of each cell under a function each; products wrap around, which keeps their low bits."""
        kind = np.uint64
        several = np.asarray(cells).astype(kind)
        hashed = (factor.astype(kind) * several + shift.astype(kind)) & kind(2**self.width - 1)
        return (hashed >> kind(self.width - self.group_bits)).astype(np.int64)
