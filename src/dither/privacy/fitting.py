"""Why a release does not fit a budget, and the largest one of its kind that would: for error messages.

Everything is a function of the limits, of what is spent and of what was asked: of public numbers alone. Where several
limits hold (a budget, a quota, an allowance, the most for one release), what would fit fits all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.errors import InvalidParameter
from dither.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, shown, states_rho

if TYPE_CHECKING:
    from dither.privacy.filters import Filter

_HALVINGS = 40
_DIGITS = 3


@dataclass(frozen=True)
class _Limits:
    """Limits that a release must keep, all of them."""

    filters: tuple[Filter, ...]
    most: Loss | None

    def admits(self, loss: Loss) -> bool:
        """Whether a loss fits each of them."""
        return (self.most is None or loss <= self.most) and all(one.admits(loss) for one in self.filters)

    def pure_room(self) -> Fraction:
        """Return an epsilon that no admitted release exceeds, and that is nearly admitted."""
        return min(_pure_room(one) for one in self.filters)


def what_fits(budget: Filter, loss: Loss, others: Sequence[Filter] = (), most: Loss | None = None) -> str:
    """Return which figure does not fit and what would, as the end of a sentence.

    Args:
        budget: the limit that has no room.
        loss: what was asked.
        others: what else a release must fit.
        most: what one release may lose at most; None for no such limit.

    >>> from dither.privacy import Filter
    >>> half = Filter(PureDP(2))
    >>> half.spend(PureDP("1.2"))
    >>> what_fits(half, PureDP(1))
    'epsilon is short: at most epsilon = 0.8 would fit'
    >>> what_fits(half, PureDP(1), [Filter(PureDP("0.5"))])
    'epsilon is short: at most epsilon = 0.5 would fit'

    """
    limits, kind = _Limits((budget, *others), most), budget.budget
    if isinstance(kind, PureDP) and (loss.pure is None or loss.delta > 0):
        what = "noise that is stated by rho" if loss.pure is None else "a delta"
        ways = "'dither add --delta', or later 'dither datasets raise-budget --delta'"
        steps = f"request an epsilon alone (omit delta), or give the data set a budget with a delta ({ways})"
        return f"the budget is an epsilon alone, without room for {what}: {_pure(limits)}; {steps}"
    if isinstance(loss, PureDP):
        return f"{_counted(budget)}epsilon is short: {_pure(limits)}"
    if loss.pure is None:
        rho = _largest(limits, lambda size: ZCDP(size, loss.delta), loss.rho)
        if rho == 0 and loss.delta > 0 and _largest(limits, ZCDP, loss.rho):
            return _delta(limits, loss)
        by_rho = f"at most rho = {shown(rho)} would fit" if rho else "no rho would fit"
        other = "" if isinstance(kind, ZCDP) else f"; with Laplace noise {_pure(limits)}"
        return f"{_by_rho(budget)}rho is short: {by_rho}{other}"
    return _approx(budget, limits, loss)


def _approx(budget: Filter, limits: _Limits, loss: Loss) -> str:
    wanted = loss.pure or Fraction(0)
    if isinstance(budget.budget, ZCDP):
        rho = _largest(limits, ZCDP, max(Fraction(0), budget.room().rho))
        return f"the budget is a rho: at most rho = {shown(rho)} would fit"
    epsilon = _largest(limits, lambda size: ApproxDP(size, loss.delta), wanted)
    delta = _largest(limits, lambda size: ApproxDP(wanted, size), loss.delta)
    if epsilon:
        kept = f", or delta = {shown(delta)} with this epsilon" if delta else ""
        return f"epsilon is short: epsilon = {shown(epsilon)} with this delta would fit{kept}"
    if delta:
        return f"delta is short: delta = {shown(delta)} with this epsilon would fit"
    if budget.spent.delta + loss.delta > budget.budget.delta or not budget.admits(PureDP(0)):
        return f"{_delta(limits, loss)}; without a delta {_pure(limits)}"
    return f"epsilon and delta are short: without a delta {_pure(limits)}"


def _delta(limits: _Limits, loss: Loss) -> str:
    left = min(one.budget.delta - one.spent.delta for one in limits.filters)
    return f"delta is short: {shown(max(Fraction(0), left))} of it is left, and the request needs {shown(loss.delta)}"


def _pure(limits: _Limits) -> str:
    room = _down(limits.pure_room())
    # One figure of several limits may be rounded, or be bounded by another figure of its own.
    size = room if not room or limits.admits(PureDP(room)) else _largest(limits, PureDP, room)
    return f"at most epsilon = {shown(size)} would fit" if size else "nothing would fit"


def _pure_room(budget: Filter) -> Fraction:
    room = budget.room()
    if isinstance(room, ZCDP):
        # No larger epsilon has so small a rho, epsilon * tanh(epsilon / 2): x / (1 + x) <= tanh x.
        rho = float(room.rho)
        return Fraction((rho + math.sqrt(2 * rho)) * (1 + 1e-9))
    return room.pure or Fraction(0)


def _counted(budget: Filter) -> str:
    """Return why a pure release is counted by its rho, if it is."""
    if isinstance(budget.budget, ApproxDP) and budget.spent.pure is None and not states_rho(budget.budget):
        return "a release before it has Gaussian noise, which is counted by rho, so that all are; "
    return ""


def _by_rho(budget: Filter) -> str:
    """Return the rho that limits Gaussian noise, against which everything spent then counts as well."""
    division = budget.division
    if not isinstance(budget.budget, ApproxDP) or division is None or not division.rho:
        return ""
    spent, most = float(budget.spent.rho), float(division.rho)
    return (
        f"Gaussian noise is counted by rho, and then so is all that is spent already, rho = {spent:.3g} of the "
        f"{most:.3g} that the budget converts to; "
    )


def _largest(limits: _Limits, made: Callable[[Fraction], Loss], most: Fraction) -> Fraction:
    """Return the largest admitted size up to ``most``, rounded down to a few digits; 0 if none."""

    def fits(size: Fraction) -> bool:
        try:
            return limits.admits(made(size))
        except InvalidParameter:
            return False

    low, high = Fraction(0), most
    if fits(most):
        return most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    # A search ends just below a round number, which may fit as well.
    near = (_down(low * (1 + Fraction(1, 10**9))), _down(low))
    return next((size for size in near if size and fits(size)), Fraction(0))


def _down(size: Fraction) -> Fraction:
    """Return a number rounded down to a few digits; 0 for almost nothing."""
    if size < Fraction(1, 10**30):
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(float(size))) - _DIGITS + 1)
    return math.floor(size / unit) * unit
