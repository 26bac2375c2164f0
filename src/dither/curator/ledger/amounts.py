"""Losses in whole units, rounded up: what the ledger stores and adds.

All three figures of a loss are counted in one unit of 1 / (720720 * 10^24), a little more than 10^-30. Floats would
absorb small charges; a coarse unit would inflate them, since the rho of a small epsilon is about half its square: in
units of 10^-9 an epsilon of 10^-6 would be charged two thousand times its rho. 720720 is the least common multiple of
1, ..., 16, so that three thirds of a budget are the whole of it, although every charge is rounded up.

Guarantee: an amount is never less than the loss it stands for, and exceeds it by less than one unit in each figure.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import InvalidParameter
from dither.privacy import ZCDP, ApproxDP, GaussianDP, Loss, PureDP
from dither.privacy.losses import states_rho

#: Units in 1.
UNITS = 720_720 * 10**24
#: The digits that a figure is written with: texts of one length are ordered as their numbers are.
WIDTH = 40
#: The largest figure of a single loss or budget. Nothing is promised by it; what is larger is a mistake.
LARGEST = 10**6
_LARGEST_UNITS = LARGEST * UNITS


@dataclass(frozen=True)
class Amount:
    """The figures of a loss, in units; ``epsilon`` is None when only zCDP is known."""

    epsilon: int | None
    rho: int
    delta: int

    @classmethod
    def of(cls, loss: Loss, parameter: str = "loss") -> Amount:
        """Return the least amount that covers ``loss``.

        >>> thirds = [Amount.of(PureDP("1/3")) for _ in range(3)]
        >>> thirds[0] + thirds[1] + thirds[2] <= Amount.of(PureDP(1))
        True
        """
        if not isinstance(loss, Loss):
            raise InvalidParameter(parameter, loss, "a loss such as PureDP(1), ZCDP(0.1) or ApproxDP(1, '1e-6')")
        pure = loss.pure
        amount = cls(None if pure is None else _round_up(pure), _round_up(loss.rho), _round_up(loss.delta))
        # Whole numbers are compared many times faster than fractions are, and say the same.
        if amount.rho > _LARGEST_UNITS or (amount.epsilon or 0) > _LARGEST_UNITS:
            raise InvalidParameter(parameter, loss, f"at most {LARGEST} in each figure")
        return amount

    def loss(self) -> Loss:
        """Return the amount as a loss."""
        return _loss(self)

    def __add__(self, other: Amount) -> Amount:
        is_pure = self.epsilon is not None and other.epsilon is not None
        epsilon = (self.epsilon or 0) + (other.epsilon or 0) if is_pure else None
        return Amount(epsilon, self.rho + other.rho, self.delta + other.delta)

    def __le__(self, other: Amount) -> bool:
        fits = other.epsilon is None or (self.epsilon is not None and self.epsilon <= other.epsilon)
        return fits and self.rho <= other.rho and self.delta <= other.delta

    def times(self, count: int) -> Amount:
        """Return the sum of ``count`` such amounts."""
        return Amount(None if self.epsilon is None else count * self.epsilon, count * self.rho, count * self.delta)

    @property
    def is_loss(self) -> bool:
        """Whether anything is promised: a delta of 1 promises nothing."""
        return self.delta < UNITS

    def join(self, other: Amount) -> Amount:
        """Return the least amount that covers both."""
        epsilon = None if self.epsilon is None or other.epsilon is None else max(self.epsilon, other.epsilon)
        return Amount(epsilon, max(self.rho, other.rho), max(self.delta, other.delta))

    def texts(self) -> tuple[str | None, str, str]:
        """Return the three figures as texts of one length; none for a missing epsilon."""
        return None if self.epsilon is None else _text(self.epsilon), _text(self.rho), _text(self.delta)

    @classmethod
    def from_texts(cls, epsilon: Any, rho: Any, delta: Any) -> Amount:
        """Return the amount that ``texts`` wrote, as a database gives it back."""
        return cls(None if epsilon is None else int(epsilon), int(rho), int(delta))

    def to_dict(self) -> dict[str, str | None]:
        """Return the figures as whole numbers in texts."""
        return {
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "rho": str(self.rho),
            "delta": str(self.delta),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Amount:
        """Return the amount that ``to_dict`` wrote."""
        return cls.from_texts(record["epsilon"], record["rho"], record["delta"])


ZERO = Amount(0, 0, 0)


# Releases of one size come often, and exact fractions take their time.
@functools.lru_cache(maxsize=1024)
def _loss(amount: Amount) -> Loss:
    # Two histories that were joined may have lost more than everything; a delta this near to 1 says the same.
    delta = Fraction(min(amount.delta, UNITS - 1), UNITS)
    rho = Fraction(amount.rho, UNITS)
    if amount.epsilon is None:
        return ZCDP(rho, delta)
    epsilon = Fraction(amount.epsilon, UNITS)
    return ApproxDP(epsilon, delta, rho=rho) if delta else PureDP(epsilon, rho=rho)


def checked_limit(parameter: str, loss: Loss) -> Loss:
    """Return ``loss`` if it can be a budget or quota, and the ledger can keep it."""
    Amount.of(loss, parameter)
    if isinstance(loss, GaussianDP):
        raise InvalidParameter(parameter, loss, "PureDP, ZCDP or ApproxDP: not every release is Gaussian")
    return loss


def is_no_less(loss: Loss, than: Loss) -> bool:
    """Whether every figure of a loss is at least that of another of its kind, or of an epsilon without a delta."""
    if isinstance(loss, ApproxDP) and isinstance(than, PureDP) and not (states_rho(loss) or states_rho(than)):
        return loss.epsilon >= than.epsilon
    if type(loss) is not type(than) or (loss.pure is None) != (than.pure is None):
        return False
    return (loss.pure or 0) >= (than.pure or 0) and loss.rho >= than.rho and loss.delta >= than.delta


def _round_up(figure: Fraction) -> int:
    numerator, denominator = figure.as_integer_ratio()
    return -(-numerator * UNITS // denominator)


def _text(figure: int) -> str:
    text = f"{figure:0{WIDTH}d}"
    if len(text) > WIDTH:
        raise InvalidParameter("loss", figure, f"a sum of at most {WIDTH} digits")
    return text
