"""The mechanism interface: everything that reads private data and releases something is a ``Mechanism``.

A mechanism is a frozen record of **public** parameters; data is only ever an argument. Four kinds:

- ``Primitive`` draws noise for one value. Only primitives are handed noise.
- ``InteractivePrimitive`` draws noise for values that arrive one after another.
- ``Composed`` states a plan of draws and makes them through a runner; its loss follows from the plan.
- ``Interactive`` does the same while a conversation lasts.

``loss``, ``error`` and ``distance`` see public parameters only, so everything can be priced with the data absent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, probability
from dither.noise import Noise
from dither.pages.digits import bracketed, two_digits
from dither.privacy import Distance, Loss, Plan

if TYPE_CHECKING:
    from dither.mechanisms.core.runner import Runner
    from dither.mechanisms.core.values import Domain

V = TypeVar("V")
O = TypeVar("O")  # noqa: E741 - the output, as in the literature


class Numerics(Enum):
    """The evidence that a guarantee survives computer arithmetic."""

    EXACT = "exact"  # integers and exact samplers throughout
    BOUNDED = "bounded"  # floats, with a proven error added to the sensitivity, the scale or delta
    IDEALISED = "idealised"  # the proof is over the reals


class NumericsOf:
    """The numerics of a mechanism that wraps others: the weakest of its parts. The class itself counts as exact.

    Args:
        fields: that hold a mechanism, or several.

    """

    def __init__(self, *fields: str) -> None:
        self._fields = fields

    def __get__(self, instance: Any, owner: type) -> Numerics:
        found = [Numerics.EXACT]
        for field in self._fields if instance is not None else ():
            content = getattr(instance, field)
            found += [part.numerics for part in (content if isinstance(content, tuple) else (content,))]
        # They are declared from the strongest to the weakest.
        return max(found, key=list(Numerics).index)


@dataclass(frozen=True)
class Bound:
    """A bound on the error of a release, known before it is made.

    Guarantee: with probability ``confidence`` the quantity named by ``meaning`` is at most ``value``.
    """

    value: float
    confidence: Fraction
    meaning: str

    @property
    def words(self) -> str:
        """The bound as a quote has it, to two digits.

        >>> Bound(938.586, Fraction(19, 20), "the largest error").words
        'the largest error is at most 940 in 95 % of cases'
        """
        share = f"{float(self.confidence) * 100:g} %"
        return f"{self.meaning} is at most {two_digits(self.value)} in {share} of cases"

    def __str__(self) -> str:
        return f"{self.meaning} is at most {self.value:.6g} with probability {float(self.confidence):g}"


@dataclass(frozen=True)
class Interval:
    """An interval for the true statistic, computed from public parameters and the released value alone.

    Guarantee: with probability ``confidence`` every true entry lies between ``low`` and ``high``; for an array all
    entries at once.
    """

    low: Any
    high: Any
    confidence: Fraction

    def __str__(self) -> str:
        ends = f"[{self.low}, {self.high}]" if np.ndim(self.low) else bracketed(self.low, self.high)
        return f"{ends} at {float(self.confidence):g}"


class Mechanism(ABC, Generic[V, O]):
    """Anything that reads private data and releases something.

    Subclasses are frozen dataclasses of public parameters; a change of the output's law raises ``version``.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    numerics: ClassVar[Numerics]
    #: Where a mechanism has no error bound or no interval, the reason why.
    no_error_because: ClassVar[str] = ""
    no_interval_because: ClassVar[str] = ""

    @property
    @abstractmethod
    def distance(self) -> Distance:
        """What ``d_in`` counts: a unit of data, or a metric on values."""

    @abstractmethod
    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss for inputs at most ``d_in`` apart."""

    def loss_of(self, out: O, d_in: Number = 1) -> Loss:
        """Return the loss of this very output: no input is more than e^loss times as likely to give it.

        That is the loss of the mechanism, unless its page proves less for some outputs.
        """
        return self.loss(d_in)

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the release's error at that confidence, or None (see ``no_error_because``)."""
        probability("confidence", confidence)
        return None

    def interval(self, out: O, confidence: Number) -> Interval | None:
        """Return an interval for the true statistic given the release, or None (see ``no_interval_because``)."""
        probability("confidence", confidence)
        return None


class Primitive(Mechanism[V, O]):
    """Draws noise for one value."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The values that are allowed, and the meaning of every odd value."""

    @property
    def slack(self) -> Fraction:
        """How much farther apart than ``d_in`` two given values may be; the loss already covers it."""
        return Fraction(0)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The shape of one draw; ``()`` is a scalar."""
        return ()

    @abstractmethod
    def draw_many(self, value: V, count: int, noise: Noise) -> NDArray[Any]:
        """Return ``count`` independent draws for the same value, one per row: for audits, where draws are free."""

    @final
    def draw(self, value: V, noise: Noise) -> O:
        """Return one draw. Never raises because of the content of ``value``."""
        # Floats may overflow or underflow on odd content; whoever turned that into errors must not see it.
        with np.errstate(all="ignore"):
            drawn = self.draw_many(value, 1, noise)[0]
        return drawn if self.draw_shape else np.asarray(drawn).item()  # type: ignore[no-any-return]


class InteractivePrimitive(Mechanism[V, O]):
    """Draws noise for values that arrive one after another, with a secret state between them."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The values that are allowed, and the meaning of every odd value."""

    @abstractmethod
    def begin(self, noise: Noise) -> Any:
        """Return the secret state of a new conversation, which never leaves the runner."""

    @abstractmethod
    def reply(self, state: Any, value: V, noise: Noise) -> tuple[O, bool]:
        """Return the answer to ``value``, and whether the conversation is now over."""

    def freeze(self, state: Any) -> dict[str, Any]:
        """Return what a conversation must remember between two values, as plain JSON data; it is secret."""
        raise HandleMisuse(f"a conversation with {self.name} is resumed from its first value only")

    def thaw(self, frozen: dict[str, Any]) -> Any:
        """Return the state that was frozen."""
        raise HandleMisuse(f"a conversation with {self.name} is resumed from its first value only")


class Composite(Mechanism[V, O]):
    """Shared by composed mechanisms: a public plan, from which the loss follows."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.loss is not Composite.loss:
            raise InvalidParameter("loss", cls, "left to the plan: a composed mechanism cannot state another one")

    @abstractmethod
    def plan(self) -> Plan:
        """Return the plan of all draws, of a whole conversation if it is one: a function of public parameters."""

    @cached_property
    def fixed_plan(self) -> Plan:
        """The plan, computed once, so that the plan that is executed is the plan that was priced."""
        return self.plan()

    @final
    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of the plan; a subclass cannot state another."""
        self.fixed_plan.check(self.distance)
        return self.fixed_plan.loss(d_in)


class Composed(Composite[V, O]):
    """Makes exactly the draws of a public plan, through a runner."""

    @abstractmethod
    def release(self, data: V, run: Runner) -> O:
        """Return the answer, reading ``data`` only through ``run``. Total: never raises because of data."""


class Interactive(Composite[V, O]):
    """A composed mechanism that spreads its draws over a conversation; its loss is that of the whole plan."""

    @abstractmethod
    def open(self, data: V, run: Runner) -> O:
        """Return an object whose methods answer questions, each through ``run``."""
