"""A purse: an amount of epsilon or rho, and the noise and choices it buys.

One conversion from a stated loss, one rule of rounding, one proof (docs/lemmas/purse.md). A pure loss is an
epsilon; it buys geometric noise, which asks how far a value moves in L1, or noise by norm. Any other loss is a rho; it
buys discrete Gaussian noise, which asks how far a value moves in L2. Whatever is bought costs the amount or a little
less: scales that need more than 64 bits are rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Field, Number, Of, Positive, exact, positive, round_up, sqrt_up
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, L2, ZCDP, ApproxDP, GaussianDP, Loss, Metric, PureDP
from dither.privacy.calibration import check_loss, laplace_scale
from dither.privacy.conversions import zcdp_rho
from dither.privacy.losses import states_rho
from dither.privacy.plans import Part

CountNoise: TypeAlias = Geometric | DiscreteGaussian
VectorNoise: TypeAlias = GammaNorm | DiscreteGaussian
#: Digits of a bought scale.
_BITS = 64
#: Noise on the integers has at least this scale.
SMALLEST_SCALE = Fraction(1, 2**40)
#: Wider noise drowns every number that floats hold exactly; its variance, and the square of that, still fit a float.
_WIDEST = 2**240
#: An epsilon or a rho between these buys noise that can be drawn, in shares of 2^-40 as well.
LEAST_AMOUNT, MOST_AMOUNT = Fraction(1, 2**150), 2**40


def fits_floats(noise: Any) -> bool:
    """Whether noise of one number can be reckoned with in floats: no deviation or variance overflows."""
    return bool(getattr(noise, "sigma", 0) <= _WIDEST and getattr(noise, "scale", 0) <= _WIDEST)


def width_of(noise: Any) -> Fraction:
    """Return the scale or the deviation of noise; 1 where there is none."""
    width: Fraction = getattr(noise, "scale", None) or getattr(noise, "sigma", None) or Fraction(1)
    return width


def one_number(*kinds: type[Any]) -> dict[str, Any]:
    """Return what a field of noise for one number asks for, beside its kinds."""
    names = " or ".join(kind.__name__ for kind in kinds)
    return {"shape": (), "where": fits_floats, "rule": f"{names} noise of one number, at most 2^240 wide"}


class OneCount(Of[CountNoise]):
    """Noise for one integer, from which noise for any number of counts is built."""

    def __init__(self) -> None:
        super().__init__(Geometric, DiscreteGaussian, **one_number(Geometric, DiscreteGaussian))

    def offenders(self) -> Iterator[Any]:
        """Return noise for several numbers, and anything that is not noise."""
        yield from (Geometric(scale=1, shape=2), DiscreteGaussian(sigma=1, shape=(1,)), Geometric(scale=2**241))
        yield from super().offenders()

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return noise of both kinds, as wide and twice as wide."""
        width = width_of(kept)
        yield from self._accepted(Geometric(scale=width), DiscreteGaussian(sigma=width), Geometric(scale=2 * width))


class OneEntry(Of[VectorNoise]):
    """Noise for one entry, from which noise for vectors of any length is built."""

    def __init__(self) -> None:
        super().__init__(DiscreteGaussian, GammaNorm, **one_number(DiscreteGaussian, GammaNorm))

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return noise of both kinds, as wide and twice as wide."""
        width = width_of(kept)
        yield from self._accepted(
            DiscreteGaussian(sigma=width), GammaNorm(scale=width), DiscreteGaussian(sigma=2 * width)
        )


class Epsilon(Positive):
    """An epsilon that is spent on several parts."""

    def __init__(self) -> None:
        super().__init__(least=LEAST_AMOUNT, most=MOST_AMOUNT)


#: The rule for a budget.
_AMOUNTS = "of an epsilon or a rho between 2^-150 and 2^40: no other buys noise that can be drawn"


def _buys(budget: Loss) -> bool:
    """Whether noise can be bought with a budget: its epsilon where it is pure, else its rho."""
    stated = budget.rho if budget.pure is None else budget.pure
    if not LEAST_AMOUNT <= stated <= MOST_AMOUNT:
        return False
    try:
        # A rho that is stated beside an epsilon may leave less of it to spend.
        Purse.of(budget)
    except (InvalidParameter, NoGuarantee):
        return False
    return True


class Spending(Field[Loss, Loss]):
    """A budget that is spent step by step: pure, or rho only."""

    def convert(self, name: str, value: Loss) -> Loss:
        """Return the budget."""
        if not isinstance(value, PureDP | ZCDP) or isinstance(value, GaussianDP) or value.delta or value.is_zero:
            raise InvalidParameter(name, value, "PureDP or ZCDP above 0")
        if not _buys(value):
            raise InvalidParameter(name, value, _AMOUNTS)
        return value

    def offenders(self) -> Iterator[Any]:
        """Return losses of other kinds, and anything that is not a loss."""
        yield from (PureDP(2**41), ZCDP(2**41), PureDP(LEAST_AMOUNT / 2), ZCDP(LEAST_AMOUNT / 2))
        yield PureDP(1, rho=LEAST_AMOUNT**3)
        yield from (PureDP(0), ZCDP(0), ZCDP(1, "1e-9"), ApproxDP(1, "1e-9"), GaussianDP(1), 1, "1", None, object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return a small and a large budget in epsilon, and one in rho."""
        yield from (PureDP("1/3"), PureDP(5), ZCDP("1/2"))


class PureSpending(Of[PureDP]):
    """A budget in epsilon that is spent step by step."""

    def __init__(self) -> None:
        super().__init__(PureDP, where=_buys, rule=f"PureDP {_AMOUNTS}")

    def offenders(self) -> Iterator[Any]:
        """Return losses of other kinds, and anything that is not a loss."""
        yield from (PureDP(0), ZCDP(1), ApproxDP(1, 0), PureDP(2**41), PureDP(LEAST_AMOUNT / 2))
        yield PureDP(1, rho=LEAST_AMOUNT**3)
        yield from super().offenders()

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return a small and a large budget."""
        yield from (PureDP("1/3"), PureDP(5))


@dataclass(frozen=True)
class Purse:
    """An amount of epsilon or rho.

    >>> purse = Purse.within(PureDP(1))
    >>> purse.share("1/4").noise().scale, (purse / 2).noise(l1=3).scale
    (Fraction(4, 1), Fraction(6, 1))
    """

    amount: Fraction
    is_pure: bool

    def __post_init__(self) -> None:
        if not self.amount > 0:
            raise InvalidParameter("amount", self.amount, "above 0: nothing else buys noise")

    @classmethod
    def within(cls, loss: Loss) -> Self:
        """Return a purse with all that a loss allows; spending no more than the purse stays within the loss.

        Args:
            loss: the most that may be lost. Its epsilon is taken where it is pure, or has a rho of its own beside a
                delta; else its rho, or the largest rho that converts to its epsilon and delta.

        >>> from dither.privacy import ApproxDP
        >>> Purse.within(PureDP(1)).loss, Purse.within(ApproxDP(1, "1e-6")).loss <= ApproxDP(1, "1e-6")
        (PureDP('1'), True)

        """
        check_loss(loss)
        if isinstance(loss, PureDP) or (isinstance(loss, ApproxDP) and (not loss.delta or states_rho(loss))):
            found = cls(1 / laplace_scale(loss, 1), is_pure=True)
        elif isinstance(loss, ApproxDP):
            found = cls(_above_zero(zcdp_rho(loss.epsilon, loss.delta), loss), is_pure=False)
        elif loss.rho:
            found = cls(loss.rho, is_pure=False)
        else:
            raise NoGuarantee(f"no noise reaches {loss}")
        if not found.loss <= loss:
            raise NoGuarantee(f"nothing in epsilon or in rho alone is within {loss!r}: state it as ZCDP or PureDP")
        return found._checked()

    @classmethod
    def of(cls, budget: Loss) -> Self:
        """Return a purse with all of a pure or rho-only budget; a rho stated beside an epsilon is kept as well."""
        return cls.within(budget)

    @property
    def loss(self) -> Loss:
        """The loss of spending the whole purse."""
        return PureDP(self.amount) if self.is_pure else ZCDP(self.amount)

    @classmethod
    def pure_within(cls, loss: Loss) -> Self:
        """Return a purse with the largest epsilon that a loss allows, however the loss is stated.

        >>> Purse.pure_within(ZCDP("1/8")).loss <= ZCDP("1/8")
        True

        """
        check_loss(loss)
        found = cls(1 / laplace_scale(loss, 1), is_pure=True)
        if not found.loss <= loss:
            raise NoGuarantee(f"nothing in epsilon alone is within {loss!r}: state it as ZCDP or PureDP")
        return found._checked()

    def _checked(self) -> Self:
        """Return the purse, unless all of it buys only noise that is wider than what floats can reckon with."""
        if self.amount < LEAST_AMOUNT:
            rule = "an epsilon or a rho of at least 2^-150: wider noise is nothing but noise"
            raise InvalidParameter("within", self.loss, rule)
        return self

    @property
    def metric(self) -> Metric:
        """The metric in which the noise bounds the joint change of numbers drawn together: L1 or L2."""
        return L1 if self.is_pure else L2

    def share(self, part: Number) -> Self:
        """Return a part of the purse; shares that add up to at most 1 may be spent together."""
        return replace(self, amount=self.amount * positive("part", part))

    def __truediv__(self, parts: Number) -> Self:
        """Return one of ``parts`` equal parts."""
        return replace(self, amount=self.amount / positive("parts", parts))

    def taking(self, amount: Number) -> Self:
        """Return a purse of the same kind with that amount; the caller keeps track of the total."""
        return replace(self, amount=exact("amount", amount))

    def per(self, distance: Number) -> Self:
        """Return the purse for inputs 1 apart, such that inputs ``distance`` apart cost the whole purse.

        An epsilon grows with the distance, a rho with its square.

        >>> Purse.within(ZCDP("1/2")).per(2).loss
        ZCDP('1/8')

        """
        far = positive("distance", distance)
        return replace(self, amount=self.amount / (far if self.is_pure else far * far))

    def noise(self, l1: Number = 1, l2: Number | None = None) -> CountNoise:
        """Return the noise for one integer that costs the whole purse.

        Args:
            l1: how far all numbers that are drawn together move in L1.
            l2: how far they move in L2; as far as in L1 where left out.

        """
        return self.geometric_noise(l1) if self.is_pure else self.gaussian_noise(l1 if l2 is None else l2)

    def vector_noise(self, l2: Number) -> VectorNoise:
        """Return the noise that costs the whole purse for a vector whose Euclidean change is at most ``l2``."""
        if self.is_pure:
            return GammaNorm(scale=self.norm_scale(l2))
        return self.gaussian_noise(l2)

    def norm_scale(self, l2: Number) -> Fraction:
        """Return the scale of norm noise that costs the whole purse for a vector that moves by ``l2``; epsilon only."""
        if not self.is_pure:
            raise NoGuarantee("a rho, or a delta, buys no noise whose epsilon is fixed: state an epsilon alone")
        return self._scale(l2)

    def geometric_noise(self, l1: Number) -> Geometric:
        """Return the geometric noise for one integer that costs the whole purse; epsilon only.

        Args:
            l1: how far all numbers that are drawn together move in L1.

        """
        if not self.is_pure:
            raise NoGuarantee("a rho, or a delta, buys no noise whose epsilon is fixed: state an epsilon alone")
        scale = self._scale(l1)
        if scale < SMALLEST_SCALE:
            rule = (
                "an epsilon of at most 2^40 times the distance that numbers move: noise of a smaller scale is no noise"
            )
            raise InvalidParameter("within", f"epsilon = {self.amount}, where numbers move by {l1}", rule)
        return Geometric(scale=scale)

    def gaussian_noise(self, l2: Number) -> DiscreteGaussian:
        """Return the Gaussian noise for one integer that costs the whole purse; rho only.

        Args:
            l2: how far all numbers that are drawn together move in L2.

        """
        return DiscreteGaussian(sigma=self.gaussian_sigma(l2))

    def gaussian_sigma(self, l2: Number) -> Fraction:
        """Return the standard deviation of Gaussian noise that costs the whole purse; rho only.

        Args:
            l2: how far all numbers that are drawn together move in L2.

        """
        if self.is_pure:
            raise NoGuarantee("an epsilon alone buys no Gaussian noise: state a rho, or a delta beside the epsilon")
        moved = positive("l2", l2)
        return round_up(sqrt_up(moved * moved / (2 * self.amount)), bits=_BITS)

    def choice(self, moved: Number = 1, l2: Number | None = None, *, one_way: bool = False) -> Fraction:
        """Return the scale at which an exponential choice, or several together, cost the whole purse.

        Args:
            moved: how far a score moves; for several choices the sum of that.
            l2: for several choices the root of the sum of its squares.
            one_way: whether all scores of a choice move the same way.

        """
        # A choice of scale s loses epsilon = moved / s one way, 2 moved / s either way, and rho = epsilon^2 / 8.
        both = positive("moved", moved), positive("l2", moved if l2 is None else l2)
        far = both[0 if self.is_pure else 1] * (1 if one_way else 2)
        return round_up(far / self.amount if self.is_pure else far * sqrt_up(1 / (8 * self.amount)), bits=_BITS)

    def cost(self, part: Part, stability: Number = 1) -> Fraction:
        """Return the amount that a draw takes from the purse."""
        loss = part.loss(exact("stability", stability))
        if loss.delta:
            raise NoGuarantee(f"{loss} cannot be paid in epsilon or in rho alone")
        if not self.is_pure:
            return loss.rho
        if loss.pure is None:
            raise NoGuarantee(f"{loss} cannot be paid in epsilon")
        return loss.pure

    def _scale(self, moved: Number) -> Fraction:
        return round_up(positive("moved", moved) / self.amount, bits=_BITS)


def _above_zero(rho: Fraction, loss: Loss) -> Fraction:
    if not rho:
        raise NoGuarantee(f"no Gaussian noise reaches {loss}")
    return rho
