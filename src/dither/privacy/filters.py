"""Filters and odometers: budgets for losses that are chosen adaptively.

Only valid filters: pure sums; zCDP sums; and under (epsilon, delta) *either* the epsilons add up to at most epsilon
*or* the zCDP sum stays within what converts to epsilon at the part of delta set aside for conversion, while the
releases' own deltas add up against the rest. The first release settles how delta is divided. Optimal composition is not
a filter: it holds for losses fixed in advance, and an analyst who chooses the next epsilon after seeing answers breaks
it (``tests/privacy/test_adaptive_game.py`` shows how).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import BudgetExceeded, InvalidParameter
from dither.exact import Number, exact, positive, probability, whole
from dither.privacy.conversions import zcdp_epsilon, zcdp_rho
from dither.privacy.fitting import what_fits
from dither.privacy.losses import NOTHING, ZCDP, ApproxDP, GaussianDP, Loss, PureDP, states_rho


class Filter:
    """A budget that admits a release only while the guarantee for the whole transcript stays within it.

    Guarantee: whatever is admitted, in whatever order and however chosen, the joint release has loss ``budget``.

    An (epsilon, delta) budget divides its delta: one part is for the releases' own deltas, the other converts rho. The
    first release settles the division, because it is chosen before there are answers: half and half if it fits so, else
    no conversion, else conversion of all that the release leaves. After that the division never changes: one that
    followed the answers would not be valid.

    Args:
        budget: the loss that the whole transcript may have.
        conversion: the share of delta that converts rho, to settle it in advance; only for an (epsilon, delta) budget.
            0 is plain addition, 1 leaves nothing for releases with a delta of their own.

    >>> tight = Filter(ApproxDP(1, "1e-6"))
    >>> for _ in range(400):
    ...     tight.spend(PureDP("0.01"))
    >>> str(tight.spent)
    'epsilon = 4'
    >>> tight.spend(PureDP(1))
    Traceback (most recent call last):
        ...
    dither.errors.BudgetExceeded: a release of epsilon = 1 does not fit: epsilon = 4 of epsilon = 1, delta = 1e-06 is \
spent already; epsilon is short: at most epsilon = 0.0... would fit
    >>> Filter(ApproxDP(1, "1e-6")).admits(ApproxDP(1, "1e-6"))
    True

    """

    def __init__(self, budget: Loss, *, conversion: Number | None = None) -> None:
        if isinstance(budget, GaussianDP):
            raise InvalidParameter("budget", budget, "PureDP, ZCDP or ApproxDP: not every release is Gaussian")
        share = None if conversion is None else exact("conversion", conversion, rule="a number in [0, 1]")
        if share is not None and not 0 <= share <= 1:
            raise InvalidParameter("conversion", conversion, "a number in [0, 1]")
        self.budget = budget
        self.spent: Loss = NOTHING
        self._share = share

    def admits(self, loss: Loss) -> bool:
        """Whether ``loss`` still fits."""
        return self.price(loss) is not None

    def spend(self, loss: Loss) -> None:
        """Record ``loss``, or raise BudgetExceeded and record nothing."""
        price = self.price(loss)
        if price is None:
            raise self.refusal(loss)
        self.spent = self.spent + price

    def refusal(self, loss: Loss) -> BudgetExceeded:
        """Return why ``loss`` does not fit, and what would."""
        return BudgetExceeded(loss, self.spent, self.budget, self.shortage(loss))

    def shortage(self, loss: Loss, others: Sequence[Filter] = (), most: Loss | None = None) -> str:
        """Return which figure of a loss does not fit, and what would fit: the end of a sentence.

        Args:
            loss: what was asked.
            others: what else a release must fit.
            most: what one release may lose at most; None for no such limit.

        """
        return f"{self._what_is_kept(loss)}; {what_fits(self, loss, others, most)}"

    def price(self, loss: Loss) -> Loss | None:
        """Return what would be recorded for a release of ``loss``, or None if it does not fit.

        That is the loss itself; or, for Gaussian noise that would not fit by its rho, the (epsilon, delta) of its
        exact curve at all the delta that releases may still have.
        """
        if self._fits(loss):
            return loss
        if isinstance(loss, GaussianDP) and isinstance(self.budget, ApproxDP):
            exactly = self._on_its_curve(loss, self.budget)
            if exactly is not None and self._fits(exactly):
                return exactly
        return None

    def _on_its_curve(self, loss: GaussianDP, budget: ApproxDP) -> ApproxDP | None:
        """Return the (epsilon, delta) of Gaussian noise at all the delta that releases may still use."""
        division = self._divisions(self.spent)[-1] if self.spent.is_zero else self._settled()
        spare = (Fraction(0) if division is None else division.terms) - self.spent.delta
        left = Fraction(-1) if self.spent.pure is None else budget.epsilon - self.spent.pure
        if spare <= 0 or left < 0:
            return None
        # The curve may cross what is left just there, where an epsilon computed from delta would be rounded above it.
        rest = ApproxDP(left, spare)
        return min(loss.to_approx(spare), rest, key=lambda one: one.epsilon) if rest.covers(loss) else None

    @property
    def usual(self) -> Division:
        """The division that is tried first: it is settled by any spending that it holds."""
        return self._divisions(NOTHING)[0]

    @property
    def division(self) -> Division | None:
        """How delta is divided, once a release has settled it; None before."""
        return None if self.spent.is_zero else self._settled()

    def room(self) -> Loss:
        """Return the largest single pure (or, for a zCDP budget, zCDP) loss that is still admitted."""
        if isinstance(self.budget, ZCDP):
            return ZCDP(max(Fraction(0), self.budget.rho - self.spent.rho))
        low, high = Fraction(0), self.budget.pure or Fraction(0)
        # By plain addition; under (epsilon, delta) the zCDP route may have more room.
        by_sum = PureDP(max(low, high - self.spent.pure)) if self.spent.pure is not None else PureDP(0)
        if self.admits(by_sum):
            low = by_sum.epsilon
        for _ in range(0 if isinstance(self.budget, PureDP) else 40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.admits(PureDP(middle)) else (low, middle)
        return PureDP(low)

    def _fits(self, loss: Loss) -> bool:
        """Whether the spending with ``loss`` fits the division: the settled one or, at first, any."""
        total = self.spent + loss if self.spent.delta + loss.delta <= self.budget.delta else None
        if total is None or total.is_zero:
            return total is not None
        if self.spent.is_zero:
            return any(division.holds(total) for division in self._divisions(total))
        settled = self._settled()
        return settled is not None and settled.holds(total)

    def _settled(self) -> Division | None:
        """Return the division settled by the first release: the first in order that holds the spending.

        Sums only grow, and what a division holds it holds of all smaller sums: one that did not hold the first release
        does not hold what is spent now, and the one that did has held everything since.
        """
        return next((division for division in self._divisions(self.spent) if division.holds(self.spent)), None)

    def _divisions(self, total: Loss) -> tuple[Division, ...]:
        """Return the possible divisions of delta, in the order in which they are tried on the first release."""
        budget = self.budget
        if not isinstance(budget, ApproxDP) or states_rho(budget):
            # A rho that is stated beside an epsilon is kept with it: the route by rho alone would prove no epsilon.
            return (Division(budget, budget.delta, budget.rho if isinstance(budget, ZCDP) else Fraction(0)),)
        if self._share is not None:
            return (_divided(budget, budget.delta * (1 - self._share)),)
        half, none = _divided(budget, budget.delta / 2), _divided(budget, budget.delta)
        # What the first release leaves converts: nothing after it may have a delta.
        return (half, none) if half.holds(total) or none.holds(total) else (half, none, _divided(budget, total.delta))

    def _what_is_kept(self, loss: Loss) -> str:
        """Return why a release does not fit if only the delta set aside prevents it; nothing otherwise."""
        terms = self._divisions(self.spent)[0].terms if self.spent.is_zero else getattr(self._settled(), "terms", None)
        if terms is None or not terms < self.spent.delta + loss.delta <= self.budget.delta:
            return ""
        return f"; {float(self.budget.delta - terms):g} of the budget's delta converts rho (see conversion)"


@dataclass(frozen=True)
class Division:
    """A division of delta: ``terms`` of it is for the releases' own deltas, and ``rho`` is what the rest converts."""

    budget: Loss
    terms: Fraction
    rho: Fraction

    def holds(self, total: Loss) -> bool:
        """Whether a sum of losses is within the budget, by its epsilon or by its rho."""
        if total.delta > self.terms:
            return False
        if states_rho(self.budget) and total.rho > self.budget.rho:
            return False
        if self.budget.pure is not None and total.pure is not None and total.pure <= self.budget.pure:
            return True
        return not isinstance(self.budget, PureDP) and total.rho <= self.rho


def _divided(budget: ApproxDP, terms: Fraction) -> Division:
    # Without conversion this is plain addition: the route by rho is closed.
    return Division(budget, terms, zcdp_rho(budget.epsilon, budget.delta - terms))


class Odometer:
    """The loss of an adaptive sequence so far, without a fixed budget.

    The pure reading holds at any moment: for every transcript the likelihood ratio is at most e^(sum of epsilons).
    The zCDP reading is a ladder of filters fixed in advance: rung j is ``first * 2^j``, and what was released while
    the reading was at most rung j is rung-j-zCDP. Reading a number off between two rungs would not be valid, and a
    reading in epsilon and delta pays for having had all the rungs to choose from.

    >>> odometer = Odometer(first_rho="0.01", rungs=10)
    >>> for _ in range(100):
    ...     odometer.record(PureDP("0.01"))
    >>> odometer.epsilon, odometer.rung
    (Fraction(1, 1), ZCDP('1/100'))
    """

    def __init__(self, *, first_rho: Number, rungs: int = 32) -> None:
        first, count = positive("first_rho", first_rho), whole("rungs", rungs, least=1, most=256)
        self.ladder = tuple(ZCDP(first * 2**rung) for rung in range(count))
        self.total: Loss = NOTHING

    def record(self, loss: Loss) -> None:
        """Add one release."""
        self.total = self.total + loss

    @property
    def epsilon(self) -> Fraction | None:
        """The sum of epsilons, or None once a release had none."""
        return self.total.pure

    @property
    def rung(self) -> ZCDP | None:
        """The lowest rung not yet passed, or None above the ladder."""
        return next((ZCDP(rung.rho, self.total.delta) for rung in self.ladder if self.total.rho <= rung.rho), None)

    def approx(self, delta: Number) -> ApproxDP:
        """Return the (epsilon, delta) guarantee of the present rung, or of the pure sum if that is better.

        Valid whenever it is read: half of delta is for the releases' own deltas, the other half is shared equally
        among the rungs, so that stopping when a reading happens to be low gains nothing.
        """
        half = probability("delta", delta, open_below=True) / 2
        routes = [] if self.total.pure is None else [self.total.pure]
        if self.rung is not None:
            routes.append(zcdp_epsilon(self.rung.rho, half / len(self.ladder)))
        if not routes or self.total.delta > half:
            raise InvalidParameter("delta", delta, f"at least twice the {self.total.delta} used, and rho on the ladder")
        return ApproxDP(min(routes), 2 * half)
