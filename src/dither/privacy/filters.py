"""Filters and odometers: budgets for losses that are chosen as the answers come.

Only valid filters: pure sums; zCDP sums; and under (epsilon, delta) *either* the epsilons add up to at most epsilon
*or* the zCDP sum stays within what converts to epsilon at the part of delta set aside for conversion, while the
releases' own deltas add up against the rest. Optimal composition is no filter: it holds for losses fixed in advance,
and an analyst who chooses the next epsilon after seeing answers breaks it (``tests/privacy/test_adaptive_game.py``
shows how).
"""

from __future__ import annotations

from fractions import Fraction

from dither.errors import BudgetExceeded, InvalidParameter
from dither.exact import Number, exact, positive, probability, whole
from dither.privacy.conversions import zcdp_epsilon, zcdp_rho
from dither.privacy.losses import NOTHING, ZCDP, ApproxDP, Loss, PureDP, states_rho


class Filter:
    """A budget that admits a release only while the promise of the whole transcript stays within it.

    Guarantee: whatever is admitted, in whatever order and however chosen, the joint release has loss ``budget``.

    Args:
        budget: the loss that the whole transcript may have.
        conversion: the share of delta set aside for converting zCDP; only for an (epsilon, delta) budget. 0 is plain
            addition, 1 leaves nothing for releases with a delta of their own. Fixed before the first release: a share
            that is chosen as the answers come would not be valid.

    >>> tight = Filter(ApproxDP(1, "1e-6"))
    >>> for _ in range(400):
    ...     tight.spend(PureDP("0.01"))
    >>> str(tight.spent)
    'epsilon = 4'
    >>> tight.spend(PureDP(1))
    Traceback (most recent call last):
        ...
    dither.errors.BudgetExceeded: a release of epsilon = 1 does not fit: epsilon = 4 of epsilon = 1, delta = 1e-06 is \
spent already

    """

    def __init__(self, budget: Loss, *, conversion: Number = Fraction(1, 2)) -> None:
        share = exact("conversion", conversion, rule="a number in [0, 1]")
        if not 0 <= share <= 1:
            raise InvalidParameter("conversion", conversion, "a number in [0, 1]")
        self.budget = budget
        self.spent: Loss = NOTHING
        # A budget that states its own rho, such as a sum of losses, is kept figure by figure, without conversion.
        self._is_exact = states_rho(budget)
        converted = budget.delta * share if isinstance(budget, ApproxDP) and not self._is_exact else Fraction(0)
        self._delta_terms = budget.delta - converted
        # An (epsilon, delta) budget without conversion is plain addition: its zCDP route is closed.
        self._rho = budget.rho if isinstance(budget, ZCDP) else zcdp_rho(budget.pure or Fraction(0), converted)

    def admits(self, loss: Loss) -> bool:
        """Whether ``loss`` still fits."""
        return self._total_with(loss) is not None

    def spend(self, loss: Loss) -> None:
        """Record ``loss``, or raise BudgetExceeded and record nothing."""
        total = self._total_with(loss)
        if total is None:
            raise BudgetExceeded(loss, self.spent, self.budget, self._what_is_kept(loss))
        self.spent = total

    def room(self) -> Loss:
        """Return the largest single pure (or, for a zCDP budget, zCDP) loss that would still be admitted."""
        if isinstance(self.budget, ZCDP):
            return ZCDP(max(Fraction(0), self._rho - self.spent.rho))
        low, high = Fraction(0), self.budget.pure or Fraction(0)
        # By plain addition; under (epsilon, delta) the zCDP route may have more room.
        by_sum = PureDP(max(low, high - self.spent.pure)) if self.spent.pure is not None else PureDP(0)
        if self.admits(by_sum):
            low = by_sum.epsilon
        for _ in range(0 if isinstance(self.budget, PureDP) else 40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.admits(PureDP(middle)) else (low, middle)
        return PureDP(low)

    def _what_is_kept(self, loss: Loss) -> str:
        """Return why a release does not fit whose delta would, were none set aside; nothing otherwise."""
        wanted = self.spent.delta + loss.delta
        if not self._delta_terms < wanted <= self.budget.delta:
            return ""
        return f"; {float(self.budget.delta - self._delta_terms):g} of the budget's delta converts rho (see conversion)"

    def _total_with(self, loss: Loss) -> Loss | None:
        """Return what would be spent with ``loss``, or None where that does not fit."""
        if self.spent.delta + loss.delta > self._delta_terms:
            return None
        total = self.spent + loss
        if self._is_exact and total.rho > self.budget.rho:
            return None
        if self.budget.pure is not None and total.pure is not None and total.pure <= self.budget.pure:
            return total
        fits = total.is_zero or (not isinstance(self.budget, PureDP) and total.rho <= self._rho)
        return total if fits else None


class Odometer:
    """What an adaptive sequence has lost so far, with no budget fixed.

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
        """Return the (epsilon, delta) promise of the present rung, or of the pure sum where that is better.

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
