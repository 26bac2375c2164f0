"""Why a release does not fit a budget, and the largest one of its kind that would: for error messages.

Everything is a function of the budget, of what is spent and of what was asked: of public numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.errors import InvalidParameter
from dither.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, shown, states_rho

if TYPE_CHECKING:
    from dither.privacy.filters import Filter

_HALVINGS = 40
_DIGITS = 3


def what_fits(budget: Filter, loss: Loss) -> str:
    """Return which figure does not fit and what would, as the end of a sentence.

    >>> from dither.privacy import Filter
    >>> half = Filter(PureDP(2))
    >>> half.spend(PureDP("1.2"))
    >>> what_fits(half, PureDP(1))
    'epsilon is short: at most epsilon = 0.8 would fit'
    """
    most = budget.budget
    if isinstance(most, PureDP) and (loss.pure is None or loss.delta > 0):
        what = "noise that is stated by rho" if loss.pure is None else "a delta"
        return f"the budget is an epsilon alone, and has none for {what}: {_pure(budget)}"
    if isinstance(loss, PureDP):
        return f"{_counted(budget)}epsilon is short: {_pure(budget)}"
    if loss.pure is None:
        rho = _largest(budget, lambda size: ZCDP(size, loss.delta), loss.rho)
        if rho == 0 and loss.delta > 0 and _largest(budget, ZCDP, loss.rho):
            return f"{_delta(budget, loss)}"
        by_rho = f"at most rho = {shown(rho)} would fit" if rho else "no rho would fit"
        other = "" if isinstance(most, ZCDP) else f"; with Laplace noise {_pure(budget)}"
        return f"{_by_rho(budget)}rho is short: {by_rho}{other}"
    return _approx(budget, loss)


def _approx(budget: Filter, loss: Loss) -> str:
    wanted = loss.pure or Fraction(0)
    if isinstance(budget.budget, ZCDP):
        return f"the budget is a rho: at most rho = {shown(max(Fraction(0), budget.room().rho))} would fit"
    epsilon = _largest(budget, lambda size: ApproxDP(size, loss.delta), wanted)
    delta = _largest(budget, lambda size: ApproxDP(wanted, size), loss.delta)
    if epsilon:
        kept = f", or delta = {shown(delta)} with this epsilon" if delta else ""
        return f"epsilon is short: epsilon = {shown(epsilon)} with this delta would fit{kept}"
    if delta:
        return f"delta is short: delta = {shown(delta)} with this epsilon would fit"
    if budget.spent.delta + loss.delta > budget.budget.delta or not budget.admits(PureDP(0)):
        return f"{_delta(budget, loss)}; without a delta {_pure(budget)}"
    return f"epsilon and delta are short: without a delta {_pure(budget)}"


def _delta(budget: Filter, loss: Loss) -> str:
    left = budget.budget.delta - budget.spent.delta
    return f"delta is short: {shown(max(Fraction(0), left))} of it is left, and {shown(loss.delta)} was asked for"


def _pure(budget: Filter) -> str:
    room = _down(budget.room().pure or Fraction(0))
    return f"at most epsilon = {shown(room)} would fit" if room else "nothing would fit"


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


def _largest(budget: Filter, made: Callable[[Fraction], Loss], most: Fraction) -> Fraction:
    """Return the largest admitted size up to ``most``, rounded down to a few digits; 0 if none."""

    def fits(size: Fraction) -> bool:
        try:
            return budget.admits(made(size))
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
