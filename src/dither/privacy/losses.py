"""Losses: what one release may reveal about one unit, in pure, concentrated and approximate differential privacy.

A loss is an exact, ordered, printable, hashable, serialisable record. ``a <= b`` means that whatever keeps the promise
``a`` keeps the promise ``b``. ``a + b`` is adaptive sequential composition. A pure or approximate loss also carries a
zCDP figure, so that many small releases add up as squares where that is better; unless a mechanism proves a tighter
one it is epsilon * tanh(epsilon / 2).
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.errors import InvalidParameter, LossNotStated, NoGuarantee
from dither.exact import (
    Field,
    NonNegative,
    Number,
    Probability,
    non_negative,
    positive,
    probability,
    round_up,
    sqrt_up,
    whole,
)
from dither.exact.enclosure import decimal_up
from dither.privacy.conversions import group_delta, pure_to_zcdp, zcdp_delta, zcdp_epsilon
from dither.privacy.gaussian_curve import analytic_delta, analytic_epsilon

_ZERO = Fraction(0)
#: Figures longer than this many bits are rounded up.
_LONGEST = 2048


class Loss(ABC):
    """An upper bound on what a release reveals about one unit of the data.

    Guarantee: the joint release of mechanisms with losses ``a`` and ``b``, the second chosen after seeing the first,
    has loss ``a + b``.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def rho(self) -> Fraction:
        """The zCDP parameter that holds except on an event of probability ``delta``."""

    @property
    @abstractmethod
    def delta(self) -> Fraction:
        """The probability that the epsilon or rho bound may be exceeded."""

    @property
    @abstractmethod
    def pure(self) -> Fraction | None:
        """The epsilon that holds together with ``delta`` alone, or None if only zCDP is known."""

    @abstractmethod
    def times(self, count: int) -> Loss:
        """Return the loss of ``count`` releases in a row, each with at most this loss."""

    @abstractmethod
    def group(self, size: int) -> Loss:
        """Return the loss for ``size`` units that change together, derived from this loss alone.

        A mechanism's own ``loss(size)`` is never worse; this is what can be said without it.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, str]:
        """Return a record of exact texts, which ``Loss.from_dict`` reads."""

    @property
    def is_zero(self) -> bool:
        """Whether the release reveals nothing."""
        return not self.delta and not (self.rho and (self.pure is None or self.pure))

    def to_approx(self, delta: Number) -> ApproxDP:
        """Return the (epsilon, delta) guarantee that follows, by the better of the known routes."""
        whole_delta = probability("delta", delta)
        spare = whole_delta - self.delta
        routes = [] if self.pure is None or spare < 0 else [self.pure]
        if spare > 0:
            routes.append(zcdp_epsilon(self.rho, spare))
        if not routes:
            raise NoGuarantee(f"{self} says nothing at delta = {delta}")
        return ApproxDP(min(routes), whole_delta)

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Loss:
        """Return the loss that ``to_dict`` wrote."""
        kinds: dict[str, type[Loss]] = {"pure": PureDP, "zcdp": ZCDP, "gaussian": GaussianDP, "approx": ApproxDP}
        if not (isinstance(record, Mapping) and isinstance(record.get("kind"), str) and record["kind"] in kinds):
            raise InvalidParameter("loss", record, f"a record whose kind is one of {sorted(kinds)}")
        fields = {key: value for key, value in record.items() if key != "kind"}
        try:
            return kinds[record["kind"]](**fields)
        except TypeError:
            raise InvalidParameter("loss", record, f"a record with the fields of {record['kind']}") from None

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):
            return NotImplemented
        rho, delta = _short(self.rho + other.rho), _short(self.delta + other.delta)
        if delta >= 1:
            raise NoGuarantee(f"the deltas of {self} and {other} add up to 1 or more: nothing is promised")
        if self.pure is None or other.pure is None:
            return GaussianDP(rho) if _are_gaussian(self, other) else ZCDP(rho, delta)
        epsilon = _short(self.pure + other.pure)
        return ApproxDP(epsilon, delta, rho=rho) if delta else PureDP(epsilon, rho=rho)

    def __le__(self, other: Loss) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        return other.covers(self)

    def __ge__(self, other: Loss) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        return self.covers(other)

    def __lt__(self, other: Loss) -> bool:
        # Not merely unequal: ZCDP(0) and PureDP(0) are two records of one promise.
        return self <= other and not other <= self

    def __gt__(self, other: Loss) -> bool:
        return other < self

    @abstractmethod
    def covers(self, other: Loss) -> bool:
        """Whether every release with the loss ``other`` also has this one."""


class Concentrated(Field[Number | None, Fraction]):
    """The rho of a loss that has an epsilon: as stated by the mechanism, at most what follows from epsilon."""

    def __set__(self, instance: object, value: Number | None) -> None:
        generic = pure_to_zcdp(instance.__dict__["epsilon"])
        rho = generic if value is None else min(generic, non_negative(self._name, value))
        instance.__dict__[self._name] = rho
        if not rho:
            # Two laws without any divergence are the same law: no epsilon is lost either.
            instance.__dict__["epsilon"] = Fraction(0)

    def offenders(self) -> Iterator[Any]:
        """Return numbers below zero, and anything that is not a number."""
        yield from (value for value in NonNegative().offenders() if value is not None)


@dataclass(frozen=True)
class PureDP(Loss):
    """epsilon-differential privacy: P[M(D) in S] <= e^epsilon * P[M(D') in S] for neighbours D, D' and every S.

    >>> PureDP("1/2") + PureDP(0.5) == PureDP(1)
    False
    >>> (PureDP("1/2") + PureDP(0.5)).epsilon, PureDP("1/2") + PureDP(0.5) <= PureDP(1)
    (Fraction(1, 1), True)
    >>> PureDP(1).group(3).epsilon
    Fraction(3, 1)
    """

    kind: ClassVar[str] = "pure"
    epsilon: NonNegative = NonNegative()
    rho: Concentrated = Concentrated(None)

    @property
    def pure(self) -> Fraction:
        """The epsilon."""
        return self.epsilon

    @property
    def delta(self) -> Fraction:
        """Always zero."""
        return _ZERO

    def times(self, count: int) -> PureDP:
        """Return the loss of ``count`` such releases: epsilons add, and so do rhos."""
        count = whole("count", count)
        return PureDP(_short(count * self.epsilon), rho=_short(count * self.rho))

    def group(self, size: int) -> PureDP:
        """Return the loss for ``size`` units: epsilon grows in proportion, rho with the square."""
        size = whole("size", size)
        return PureDP(_short(size * self.epsilon), rho=_short(size * size * self.rho))

    def covers(self, other: Loss) -> bool:
        """Whether ``other`` is pure and at most this."""
        return other.is_zero or (
            other.pure is not None and other.delta == 0 and other.pure <= self.epsilon and other.rho <= self.rho
        )

    def to_dict(self) -> dict[str, str]:
        """Return exact texts."""
        return {"kind": self.kind, "epsilon": str(self.epsilon)} | _written_rho(self)

    def __repr__(self) -> str:
        return f"PureDP('{self.epsilon}'{_shown_rho(self)})"

    def __str__(self) -> str:
        return f"epsilon = {shown(self.epsilon)}"


@dataclass(frozen=True)
class ZCDP(Loss):
    """rho-zero-concentrated differential privacy: the Renyi divergence of every order a is at most a * rho.

    With ``delta`` above 0 the promise holds outside an event of that probability (approximate zCDP).

    >>> ZCDP("1/8") + PureDP(1)
    ZCDP('...')
    >>> ZCDP("1/2").group(2)
    ZCDP('2')
    """

    kind: ClassVar[str] = "zcdp"
    rho: NonNegative = NonNegative()
    delta: Probability = Probability(0)

    @property
    def pure(self) -> Fraction | None:
        """None, unless rho is 0: zCDP alone bounds no epsilon without a delta."""
        return None if self.rho else Fraction(0)

    def times(self, count: int) -> ZCDP:
        """Return the loss of ``count`` such releases: rhos and deltas add."""
        count = whole("count", count)
        return ZCDP(_short(count * self.rho), _delta(count * self.delta, self))

    def group(self, size: int) -> ZCDP:
        """Return the loss for ``size`` units: rho grows with the square."""
        size = whole("size", size)
        if self.delta and size > 1:
            raise NoGuarantee("group privacy of approximate zCDP is not known: ask the mechanism for loss(size)")
        return ZCDP(_short(size * size * self.rho), self.delta)

    def covers(self, other: Loss) -> bool:
        """Whether the rho and the delta of ``other`` are at most these."""
        return other.is_zero or (other.rho <= self.rho and other.delta <= self.delta)

    def to_dict(self) -> dict[str, str]:
        """Return exact texts."""
        return {"kind": self.kind, "rho": str(self.rho)} | ({"delta": str(self.delta)} if self.delta else {})

    def __repr__(self) -> str:
        return f"ZCDP('{self.rho}'" + (f", '{self.delta}')" if self.delta else ")")

    def __str__(self) -> str:
        return f"rho = {shown(self.rho)}" + (f", delta = {shown(self.delta)}" if self.delta else "")


@dataclass(frozen=True)
class GaussianDP(ZCDP):
    """Gaussian differential privacy: the release is a function of one number with Gaussian noise.

    Between neighbours that number moves by mu standard deviations at most, and rho = mu^2 / 2. The exact curve of
    Gaussian noise says which (epsilon, delta) follow, which is more than rho alone says; sums keep the promise.

    >>> GaussianDP("1/8") + GaussianDP("1/8")
    GaussianDP('1/4')
    >>> [round(float(loss.to_approx("1e-5").epsilon), 3) for loss in (GaussianDP("1/8"), ZCDP("1/8"))]
    [1.993, 2.166]
    """

    kind: ClassVar[str] = "gaussian"
    rho: NonNegative = NonNegative()
    delta: Probability = Probability(0)

    def __post_init__(self) -> None:
        if self.delta:
            raise InvalidParameter("delta", self.delta, "0: a Gaussian loss holds outside no event")

    @property
    def mu(self) -> Fraction:
        """How many standard deviations the noisy number moves, rounded up."""
        return sqrt_up(2 * self.rho)

    def times(self, count: int) -> GaussianDP:
        """Return the loss of ``count`` such releases: rhos add."""
        return GaussianDP(_short(whole("count", count) * self.rho))

    def group(self, size: int) -> GaussianDP:
        """Return the loss for ``size`` units: mu grows in proportion, rho with the square."""
        return GaussianDP(_short(whole("size", size) ** 2 * self.rho))

    def to_approx(self, delta: Number) -> ApproxDP:
        """Return the (epsilon, delta) guarantee of the exact curve."""
        target = probability("delta", delta, open_below=bool(self.rho))
        return ApproxDP(analytic_epsilon(1, sensitivity=self.mu, delta=target) if self.rho else 0, target)

    def covers(self, other: Loss) -> bool:
        """Whether ``other`` is Gaussian too, with at most this rho."""
        return other.is_zero or (isinstance(other, GaussianDP) and other.rho <= self.rho)

    def __repr__(self) -> str:
        return f"GaussianDP('{self.rho}')"


@dataclass(frozen=True)
class ApproxDP(Loss):
    """(epsilon, delta)-differential privacy: P[M(D) in S] <= e^epsilon * P[M(D') in S] + delta.

    A mechanism that states its own ``rho`` promises epsilon and rho outside one and the same event of probability
    delta; the generic rho always is of that kind.

    >>> ApproxDP(1, "1e-6").group(2).epsilon
    Fraction(2, 1)
    >>> ZCDP("1/8") <= ApproxDP("2.2", "1e-5"), ZCDP("1/8") <= ApproxDP("2.1", "1e-5")
    (True, False)
    """

    kind: ClassVar[str] = "approx"
    epsilon: NonNegative = NonNegative()
    delta: Probability = Probability()
    rho: Concentrated = Concentrated(None)

    @property
    def pure(self) -> Fraction:
        """The epsilon that holds together with delta."""
        return self.epsilon

    def times(self, count: int) -> ApproxDP:
        """Return the loss of ``count`` such releases: epsilons and deltas add."""
        count = whole("count", count)
        delta = _delta(count * self.delta, self)
        return ApproxDP(_short(count * self.epsilon), delta, rho=_short(count * self.rho))

    def group(self, size: int) -> ApproxDP:
        """Return the loss for ``size`` units: delta grows by 1 + e^epsilon + ... + e^((size - 1) epsilon)."""
        size = whole("size", size)
        return ApproxDP(_short(size * self.epsilon), _delta(group_delta(self.epsilon, self.delta, size), self))

    def covers(self, other: Loss) -> bool:
        """Whether the epsilon and delta of ``other``, or what its zCDP converts to, are at most these."""
        spare = self.delta - other.delta
        if other.is_zero:
            return True
        if spare < 0:
            return False
        if other.pure is not None and other.pure <= self.epsilon and (other.rho <= self.rho or not states_rho(self)):
            return True
        # Conversion gives epsilon, and with it the generic rho, but no rho that this loss states beyond that.
        if states_rho(self) or spare == 0:
            return False
        if isinstance(other, GaussianDP):
            return analytic_delta(1, sensitivity=other.mu, epsilon=self.epsilon) <= spare
        # Two searches for an order, either of which may be the luckier one in its last digits.
        return zcdp_epsilon(other.rho, spare) <= self.epsilon or zcdp_delta(other.rho, self.epsilon) <= spare

    def to_dict(self) -> dict[str, str]:
        """Return exact texts."""
        return {"kind": self.kind, "epsilon": str(self.epsilon), "delta": str(self.delta)} | _written_rho(self)

    def __repr__(self) -> str:
        return f"ApproxDP('{self.epsilon}', '{self.delta}'{_shown_rho(self)})"

    def __str__(self) -> str:
        return f"epsilon = {shown(self.epsilon)}, delta = {shown(self.delta)}"


NOTHING: Loss = PureDP(0)


def compose(losses: Iterable[Loss]) -> Loss:
    """Return the loss of releasing all of these, each chosen after the previous ones."""
    return functools.reduce(lambda total, loss: total + loss, losses, NOTHING)


def largest(losses: Iterable[Loss]) -> Loss:
    """Return the least loss that covers all of these, figure by figure."""

    def join(first: Loss, second: Loss) -> Loss:
        rho, delta = max(first.rho, second.rho), max(first.delta, second.delta)
        if first.pure is None or second.pure is None:
            return GaussianDP(rho) if _are_gaussian(first, second) else ZCDP(rho, delta)
        epsilon = max(first.pure, second.pure)
        return ApproxDP(epsilon, delta, rho=rho) if delta else PureDP(epsilon, rho=rho)

    return functools.reduce(join, losses, NOTHING)


def shown(number: Fraction) -> str:
    """Return a short decimal for people, rounded up in its sixth digit."""
    rounded = decimal_up(number, 6)
    return f"{float(rounded):.6g}" if number == 0 or 1e-300 < rounded < 1e300 else str(rounded)


def states_rho(loss: Loss) -> bool:
    """Whether a loss with an epsilon states a smaller rho than follows from it."""
    return isinstance(loss, PureDP | ApproxDP) and loss.rho != pure_to_zcdp(loss.epsilon)


def _are_gaussian(first: Loss, second: Loss) -> bool:
    """Whether both are Gaussian, or one is and the other reveals nothing."""
    return all(isinstance(loss, GaussianDP) or loss.is_zero for loss in (first, second)) and not (
        first.is_zero and second.is_zero
    )


def _short(number: Fraction) -> Fraction:
    """Return the number, rounded up if it is too long to write, as sums of many odd fractions are."""
    return round_up(number, bits=_LONGEST)


def _delta(delta: Fraction, loss: Loss) -> Fraction:
    if delta >= 1:
        raise NoGuarantee(f"delta of {loss} grows to 1 or more: nothing is promised")
    return _short(delta)


def _written_rho(loss: PureDP | ApproxDP) -> dict[str, str]:
    return {"rho": str(loss.rho)} if states_rho(loss) else {}


def _shown_rho(loss: PureDP | ApproxDP) -> str:
    return f", rho='{loss.rho}'" if states_rho(loss) else ""


def stated_loss(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    called: str = "epsilon",
) -> Loss:
    """Return the loss that a person states: epsilon, epsilon with delta, rho, or a loss in place of all three.

    ``called`` is what the person calls the epsilon, for messages.

    >>> stated_loss(epsilon=1), stated_loss(rho="0.1"), stated_loss(loss=PureDP(2))
    (PureDP('1'), ZCDP('1/10'), PureDP('2'))
    """
    if loss is not None:
        if any(word is not None for word in (epsilon, delta, rho)):
            raise InvalidParameter("loss", loss, "set alone, instead of epsilon, delta and rho")
        # A class of its own might say one thing and compare as another.
        if type(loss) not in (PureDP, ZCDP, ApproxDP):
            raise InvalidParameter("loss", loss, "PureDP, ZCDP or ApproxDP")
        if loss.is_zero:
            raise InvalidParameter("loss", loss, "more than nothing")
        return loss
    if epsilon is None and rho is None:
        raise LossNotStated(called)
    if rho is not None and (epsilon is not None or delta is not None):
        name, given = (called, epsilon) if epsilon is not None else ("delta", delta)
        raise InvalidParameter(name, given, "not allowed beside rho: set epsilon alone, epsilon with delta, or rho")
    if rho is not None:
        return ZCDP(positive("rho", rho))
    size = positive(called, epsilon if epsilon is not None else 0)
    return PureDP(size) if delta is None else ApproxDP(size, delta)
