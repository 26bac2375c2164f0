"""What the rounds of a chain lose: one report, several of them, all of them, and those of values that may change.

All reports from one stored response lose what the response did, in any number of rounds. So a device that keeps its
first value for ever, as ``RoundsClient`` does unless it is told otherwise, has a loss for all time. A device with a
stored response to each value has none: which of them a round uses is read from the value, and each round may show it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dither.exact import whole
from dither.local.clients.chains import Chain
from dither.local.frequencies.oracle import Floats, Oracle
from dither.local.randomiser import Randomiser
from dither.local.weights import epsilon_within, largest_weight, loss_of
from dither.noise import Noise
from dither.privacy import Loss, PureDP


@dataclass(frozen=True)
class RoundLosses:
    """What a device loses over time, between any two histories of its values.

    Args:
        one: by one report.
        rounds: by the reports of some rounds, where it keeps its first value.
        lasting: by all reports there can ever be, where it keeps its first value.
        changed: by the reports of those rounds, where it stores a response to each of several values.

    """

    one: Loss
    rounds: Loss
    lasting: Loss
    changed: Loss


class ChainOracle(Randomiser):
    """A randomiser whose report is that of one round, from a permanent response that a device stores."""

    @property
    def chain(self) -> Chain:
        """The client half."""
        return cast(Chain, self.half)

    def losses(self, *, rounds: int, values: int = 1) -> RoundLosses:
        """Return what reports lose over time, under any two histories of values: ``changed`` is a bound, others exact.

        Args:
            rounds: how many reports there are.
            values: how many responses a device stores, at most: ``most_values`` of its client.

        """
        count, several = whole("rounds", rounds, least=1, most=10**6), whole("values", values, least=1, most=10**6)
        one, lasting = loss_of(self.chain.ratio), loss_of(self.chain.lasting_ratio)
        fixed = loss_of(self.chain.ratio_of(count))
        # That of the first report, and of each later one what a report says about the response that it is drawn from.
        changed = PureDP(one.epsilon + (count - 1) * loss_of(self.chain.shown_ratio).epsilon)
        return RoundLosses(one, fixed, lasting, fixed if several == 1 else changed)

    def without_hiding_changes(self, *, values: int) -> Loss:
        """Return what all reports lose where everybody may know which rounds use the same stored response.

        This is no loss of a device: a report of almost every round shows whether a value has changed or come back. It
        compares only histories whose rounds use stored responses in the same pattern, and says how well the values
        themselves are hidden.

        Args:
            values: how many responses a device stores, at most.

        """
        several = whole("values", values, least=1, most=10**6)
        return loss_of(self.chain.lasting_ratio).times(min(several, self.most_memos))

    @property
    def most_memos(self) -> int:
        """The number of permanent responses that a device can draw."""
        return self.half.cells

    @abstractmethod
    def draw_states(self, cells: NDArray[np.int64], noise: Noise) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what each device draws once, a row each, and its permanent response to a value, a row each."""

    @abstractmethod
    def draw_round(self, own: NDArray[np.int64], states: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return a report of each device, from its permanent response."""

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return the report of each device in its first round."""
        return self.draw_round(*self.draw_states(cells, noise), noise)


class ChainShares(ChainOracle, Oracle):
    """A chain whose reports support an answer or do not, so that shares are estimated in every round."""

    @property
    @abstractmethod
    def hold_share(self) -> Fraction:
        """The probability that a report supports the answer that it comes from."""

    @property
    @abstractmethod
    def stray_share(self) -> Fraction:
        """The probability that a report supports any one other answer."""

    @property
    def slope(self) -> Fraction:
        """The difference of both."""
        return self.hold_share - self.stray_share

    @property
    def base(self) -> Fraction:
        """That of a stray support."""
        return self.stray_share

    def scatter(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the variances of two coins."""
        own, other = self.hold_share * (1 - self.hold_share), self.stray_share * (1 - self.stray_share)
        ones = np.ones(len(shares))
        return float(other) * ones, float(own - other) * ones


def first_epsilon(within: Loss, first: Loss | None) -> Loss:
    """Return what one report may lose: half of all, unless it is stated."""
    return PureDP(epsilon_within(within) / 2) if first is None else first


def weights_of(
    within: Loss, first: Loss | None, categories: int, bits: int, ratio: Callable[[int, int], Fraction]
) -> tuple[int, int]:
    """Return the weights of a permanent k-ary response within a target, and of the report of it within another.

    Args:
        within: the target of all reports.
        first: the target of one.
        categories: how many cells.
        bits: of the sums of weights.
        ratio: of one report, as a function of both weights.

    """
    hold = largest_weight(lambda weight: Fraction(weight * (categories - 1), 2**bits - weight), within, bits)
    show = largest_weight(lambda weight: ratio(hold, weight), first_epsilon(within, first), bits)
    return hold, show


def kary_block(cells: NDArray[np.int64], truth: int, bits: int, categories: int, noise: Noise) -> NDArray[np.int64]:
    """Return the k-ary response to each cell."""
    is_true = noise.uniform_below(2**bits, len(cells)) < truth
    shift = 1 + noise.uniform_below(categories - 1, len(cells))
    return np.asarray(np.where(is_true, cells, (cells + shift) % categories), dtype=np.int64)


def two_steps(hold: int, show: int, bits: int, categories: int) -> Fraction:
    """Return the probability that a report of a chain of two k-ary responses is the truth."""
    kept, shown = Fraction(hold, 2**bits), Fraction(show, 2**bits)
    return kept * shown + (1 - kept) * (1 - shown) / (categories - 1)
