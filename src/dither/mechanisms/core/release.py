"""Releases from the library: an in-memory budget, and released values with their guarantee.

``release`` charges the budget first and draws afterwards. The receipt of such a release says *unledgered*: the budget
lives as long as the Python process, and nobody else shares it.
"""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import numpy as np

from dither.errors import HandleMisuse, IncompatibleDistance, InvalidParameter, MissingExtra
from dither.exact import Number, positive
from dither.mechanisms.core.guard import Guard
from dither.mechanisms.core.mechanism import Composed, Interactive, InteractivePrimitive, Interval, Mechanism, Primitive
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.runner import Handle, Runner
from dither.mechanisms.core.spec import digest, to_spec
from dither.mechanisms.notebook import decimals, html
from dither.noise import Noise, system_noise
from dither.noise.entropy import before_first_draw as before_first_draw
from dither.pages.digits import alone, in_digits
from dither.privacy import Filter, Loss, Relation, Unit, Use, stated_loss, unit_of

if TYPE_CHECKING:
    from dither.pages.frame import Chart

#: Entries of an array that are all shown.
_MOST_SHOWN: Final = 12
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741


class Budget:
    """The privacy budget of one unit of a data set, kept in this process.

    Args:
        epsilon: for pure (epsilon alone) or approximate differential privacy (with ``delta``).
        delta: the probability that the epsilon bound may be exceeded.
        rho: for zero-concentrated differential privacy, instead of the other two.
        loss: a loss as a record, in place of the three above.
        unit: what is protected: a unit such as ROW, or its word, "row". There is no default.
        conversion: the share of ``delta`` that converts rho, so that many small releases add up by their squares. With
            0 all of it is for releases that have a delta of their own, and epsilons are added; with 1 none of it is.
            By default the first release settles it: half, or whichever share that release needs.

    >>> from dither.privacy import ROW
    >>> str(Budget(epsilon=1, unit=ROW))
    'epsilon = 0 of epsilon = 1 spent, for rows added or removed'

    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        unit: Unit | str,
        conversion: Number | None = None,
    ) -> None:
        self.unit = unit_of(unit)
        self._filter = Filter(stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss), conversion=conversion)
        self._alone = Guard("a charge to this budget")
        self._process = os.getpid()

    @property
    def total(self) -> Loss:
        """The whole budget."""
        return self._filter.budget

    @property
    def spent(self) -> Loss:
        """The loss spent so far."""
        return self._filter.spent

    def left(self) -> Loss:
        """Return the largest single release that still fits."""
        return self._filter.room()

    def charge(self, loss: Loss) -> None:
        """Take ``loss`` from the budget, or raise BudgetExceeded and take nothing."""
        if self._process != os.getpid():
            raise HandleMisuse("a budget belongs to the process that made it: a forked copy would spend it again")
        with self._alone:
            self._filter.spend(loss)

    def __str__(self) -> str:
        return f"{self.spent} of {self.total} spent, for {self.unit}"

    def __repr__(self) -> str:
        return f"<Budget: {self}>"

    def __copy__(self) -> Budget:
        # A second budget would be spent a second time: what copies a holder copies the reference.
        return self

    def __deepcopy__(self, memo: Any) -> Budget:
        return self

    def __reduce__(self) -> Any:
        raise HandleMisuse("a budget belongs to the process that made it, and is not written or sent anywhere")


@dataclass(frozen=True)
class Release(Generic[O]):
    """A released value, with its guarantee.

    ``value`` is public from here on: whatever is done with it costs nothing more.
    """

    value: O
    mechanism: Mechanism[Any, O]
    loss: Loss
    unit: Unit
    receipt: str = "unledgered"

    @property
    def numerics(self) -> str:
        """The evidence for the guarantee: exact, bounded or idealised."""
        return self.mechanism.numerics.value

    @property
    def request_digest(self) -> str:
        """The SHA-256 of the public request."""
        return digest(self.mechanism)

    def interval(self, confidence: Number = "0.95") -> Interval | None:
        """Return an interval for the true statistic, or None if the mechanism has none."""
        return self.mechanism.interval(self.value, confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: value, loss, unit, numerics, interval, request and receipt."""
        interval = self.interval()
        return {
            "value": _plain(self.value),
            "interval": None
            if interval is None
            else {"low": _plain(interval.low), "high": _plain(interval.high), "confidence": str(interval.confidence)},
            "loss": self.loss.to_dict(),
            "loss_decimals": decimals(self.loss),
            "unit": str(self.unit),
            "numerics": self.numerics,
            "request": to_spec(self.mechanism),
            "request_digest": self.request_digest,
            "receipt": self.receipt,
        }

    def to_json(self) -> str:
        """Return the release as JSON text."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def picture(
        self, labels: Any = None, *, title: str = "", across: str = "number", up: str = "released value"
    ) -> Chart:
        """Return the value as bars with 95 % intervals, or as a line with a band; needs no extra.

        Args:
            labels: what each number is of; by default its place.
            title: what is shown.
            across: what the labels are.
            up: what the numbers are.

        """
        from dither.mechanisms.pictures import release_picture

        interval = self.interval()
        said = title or f"Release of {self.mechanism.name}{'' if interval is None else ', with 95 % intervals'}"
        caption = f"{self.loss}; {self.unit}; {self.numerics}; {self.receipt}"
        named = {"labels": labels, "title": said, "across": across, "up": up}
        return release_picture(self.value, interval, **named, caption=caption)

    def plot(self, labels: Any = None, *, title: str = "") -> Any:
        """Return an Altair chart of the value with its 95 % interval; needs the extra 'plots'."""
        from dither.mechanisms.pictures import drawn

        try:
            altair: Any = importlib.import_module("altair")
        except ImportError:
            raise MissingExtra("plotting", "plots") from None
        names, values, low, high = drawn(self.value, self.interval(), labels)
        rows = [
            {"label": name, "value": float(value), "low": float(least), "high": float(most)}
            for name, value, least, most in zip(names, values, low, high, strict=True)
        ]
        base = altair.Chart(altair.Data(values=rows)).encode(x=altair.X("label:N", sort=names, title=None))
        bars = base.mark_bar(color="#4c78a8").encode(y=altair.Y("value:Q", title="released value"))
        whiskers = base.mark_errorbar(color="#222", ticks=True).encode(y=altair.Y("low:Q", title=""), y2="high:Q")
        return (bars + whiskers).properties(title=title, width=max(240, 48 * len(names)), height=260)

    def __str__(self) -> str:
        value, around = self._texts()
        beside = "" if around is None else f", 95 % interval {around}"
        return f"{value}{beside} ({self.loss}, {self.unit}, {self.numerics}, {self.receipt})"

    def __repr__(self) -> str:
        return f"<Release of {self.mechanism.name}: {self}>"

    def _repr_html_(self) -> str:
        value, around = self._texts()
        facts = [("value", value), *([] if around is None else [("95 % interval", around)])]
        facts += [("loss", str(self.loss)), ("protects", str(self.unit))]
        facts += [("numerics", self.numerics), ("receipt", self.receipt)]
        is_many = isinstance(self.value, np.ndarray) and self.value.dtype.kind in "iuf" and self.value.size > 1
        return html(f"Release of {self.mechanism.name}", facts=facts, picture=self.picture() if is_many else None)

    def _texts(self) -> tuple[str, str | None]:
        """Return the value and its interval as people are shown them."""
        interval = self.interval()
        if interval is None:
            return _short(self.value), None
        parts: tuple[Any, ...] = (self.value, interval.low, interval.high)
        if all(isinstance(part, np.ndarray) and part.shape == (parts[0].size,) for part in parts):
            value, low, high = _in_digits_each(*parts)
        elif any(isinstance(part, np.ndarray) for part in parts):
            value, low, high = map(_short, parts)
        else:
            value, low, high = in_digits(*parts)
        return value, f"{low} to {high}"


def release(
    mechanism: Primitive[V, O] | Composed[V, O],
    data: V,
    *,
    budget: Budget,
    stability: Number | None = None,
) -> Release[O]:
    """Charge the budget, then draw, and return the release.

    Args:
        mechanism: what to release.
        data: the private input: data for a composed mechanism, a value computed from it for a primitive.
        budget: what is charged, before anything is drawn.
        stability: how far ``data`` moves per unit of the budget, in the mechanism's own distance. It must be stated
            where it does not follow from that distance and the unit: a count moves by 1 when a row comes or goes, a
            histogram by 2 when a row is replaced, and by any number when a person with many rows comes.

    >>> from dither import ROW, Budget, Geometric, release
    >>> answer = release(Geometric(scale=2), 1000, budget=Budget(epsilon=1, unit=ROW), stability=1)
    >>> print(answer.loss)
    epsilon = 0.5

    """
    if not isinstance(mechanism, Primitive | Composed):
        raise InvalidParameter("mechanism", mechanism, "a primitive or a composed mechanism (others: see converse)")
    if isinstance(mechanism, Primitive):
        # A value of the wrong type or shape is refused before it costs anything.
        mechanism.domain.admit(data)
    moves = _stability(mechanism, budget, stability)
    loss = _charge(mechanism, budget, moves)
    return Release(perform(mechanism, data, stability=moves), mechanism, loss, budget.unit)


def perform(mechanism: Primitive[V, O] | Composed[V, O], data: V, *, stability: Number | None = None) -> O:
    """Draw a release that is already paid for: only for entry points that keep their own budget.

    Args:
        mechanism: what to release.
        data: the private input.
        stability: how far ``data`` moves per unit; 1 where the mechanism itself counts units of data, else stated.

    """
    moves = _stated(mechanism, None, stability)
    return _runner(mechanism, moves, system_noise())(mechanism, data, stability=moves)


@overload
def converse(
    mechanism: InteractivePrimitive[V, O], data: None = None, *, budget: Budget, stability: Number | None = None
) -> Handle[V, O]: ...
@overload
def converse(mechanism: Interactive[V, O], data: V, *, budget: Budget, stability: Number | None = None) -> O: ...
def converse(mechanism: Any, data: Any = None, *, budget: Budget, stability: Number | None = None) -> Any:
    """Charge the budget for the whole conversation, then open it.

    Args:
        mechanism: what to talk to.
        data: what an interactive mechanism is opened on; nothing for a primitive, which is handed values.
        budget: what is charged, for the whole conversation.
        stability: how far every value moves per unit of the budget; see ``release``.

    >>> from dither import ROW, Budget, PureDP, converse
    >>> from dither.mechanisms import AboveThreshold
    >>> test = AboveThreshold.calibrated(PureDP(1), threshold=1000, sensitivity=1)
    >>> handle = converse(test, budget=Budget(epsilon=1, unit=ROW), stability=1)
    >>> handle.ask(5), handle.ask(100_000), handle.is_over
    (False, True, True)

    """
    if not isinstance(mechanism, InteractivePrimitive | Interactive):
        raise InvalidParameter("mechanism", mechanism, "an interactive mechanism (others: see release)")
    moves = _stability(mechanism, budget, stability)
    _charge(mechanism, budget, moves)
    runner = _runner(mechanism, moves, system_noise())
    if isinstance(mechanism, InteractivePrimitive):
        return runner.open(mechanism, stability=moves)
    return runner.converse(mechanism, data, stability=moves)


def _stability(mechanism: Mechanism[Any, Any], budget: Budget, stability: Number | None) -> Fraction:
    """Return how far one unit of the budget moves the input: as stated, or as derived from unit and distance."""
    if not isinstance(budget, Budget):
        raise InvalidParameter("budget", budget, "a Budget")
    if isinstance(mechanism.distance, Unit) and mechanism.distance != budget.unit:
        raise IncompatibleDistance("mechanism", budget.unit, mechanism.distance)
    return _stated(mechanism, budget.unit, stability)


def _stated(mechanism: Mechanism[Any, Any], unit: Unit | None, stability: Number | None) -> Fraction:
    distance = mechanism.distance
    if stability is not None:
        stated = positive("stability", stability)
        is_counted = isinstance(distance, Unit) and distance.relation is not Relation.METRIC
        if is_counted and (stated < 1 or stated.denominator != 1):
            # The mechanism counts units itself: a part of one cannot change.
            raise InvalidParameter("stability", stability, f"an integer number of {distance}")
        return stated
    own = distance if isinstance(distance, Unit) else unit
    derived = None if own is None else distance.moved_by(own)
    if derived is None:
        what = "one unit" if unit is None else f"one unit ({unit})"
        rule = f"required: a bound on the change of the input of {mechanism.name} by {what}, measured as {distance}"
        raise InvalidParameter("stability", stability, rule)
    return derived


def _charge(mechanism: Mechanism[Any, Any], budget: Budget, stability: Fraction) -> Loss:
    loss = mechanism.loss(stability)
    budget.charge(loss)
    return loss


def _runner(mechanism: Mechanism[Any, Any], stability: Fraction, noise: Noise) -> Runner:
    return Runner(Use(mechanism, stability), noise)


def _plain(value: Any) -> Any:
    """Return a released value as plain JSON data."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, PublicArray):
        return value.values.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value


def _in_digits_each(value: Any, low: Any, high: Any) -> tuple[str, str, str]:
    """Return numbers and their intervals, each to its digits; of many numbers the first and last."""
    places = [*range(value.size)] if value.size <= _MOST_SHOWN else [*range(3), *range(value.size - 3, value.size)]
    shown = [in_digits(value[place].item(), low[place].item(), high[place].item()) for place in places]
    if len(places) < value.size:
        shown.insert(3, ("...",) * 3)
    first, second, third = (" ".join(texts) for texts in zip(*shown, strict=True)) if shown else ("",) * 3
    return f"[{first}]", f"[{second}]", f"[{third}]"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=5, threshold=_MOST_SHOWN)
    return alone(value)
