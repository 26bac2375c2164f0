"""Composition of mechanisms with known epsilon and delta only: optimal, and by the older bounds.

**For losses fixed in advance only, never as a filter.** The mechanisms may be chosen as the answers come; their
epsilons and deltas may not. An analyst who chooses the next epsilon after seeing answers exceeds these bounds
(``tests/privacy/test_adaptive_game.py``); for that there is ``dither.privacy.Filter``.

Every (epsilon, delta)-DP mechanism is a post-processing of one that tells the truth outright with probability delta and
else gives a randomised response. So the composition of ``count`` of those is the exact answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, exp_down, exp_up, log_down, log_up, non_negative, probability, round_up, sqrt_up, whole
from dither.exact.enclosure import DIGITS, decimal_down, exp_decimals, round_down
from dither.privacy.accountants.distribution import LossDistribution, compose_distributions, power_down
from dither.privacy.accountants.pairs import ResponsePair
from dither.privacy.losses import ApproxDP, Loss

_MOST = 10**6
_MORE = 1 + Fraction(1, 10**20)
_UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
_DOWN = Context(prec=DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def optimal_delta(epsilon: Number, delta: Number, *, count: int, total_epsilon: Number) -> Fraction:
    """Return the least delta at ``total_epsilon`` of ``count`` (epsilon, delta)-DP mechanisms, rounded up.

    Kairouz, Oh and Viswanath (2015), theorem 3.3, at every epsilon and not only at theirs. For losses fixed in advance.

    >>> float(optimal_delta("0.1", 0, count=100, total_epsilon=3))
    0.001361...
    """
    each, leak, times = _checked(epsilon, delta, count)
    excess = _excess(each, times, non_negative("total_epsilon", total_epsilon))
    return round_up(1 - power_down(1 - leak, times) * (1 - excess))


def optimal_epsilon(epsilon: Number, delta: Number, *, count: int, total_delta: Number) -> Fraction:
    """Return the least epsilon at ``total_delta`` of ``count`` (epsilon, delta)-DP mechanisms, rounded up.

    For losses fixed in advance.

    >>> float(optimal_epsilon("0.1", 0, count=100, total_delta="1e-5"))
    4.306...
    """
    each, leak, times = _checked(epsilon, delta, count)
    spare = _spare(probability("total_delta", total_delta), power_down(1 - leak, times))
    if each == 0 or times == 0:
        return Fraction(0)
    return min(times * each, _solve(each, times, spare))


def mixed_delta(losses: Iterable[Loss], *, total_epsilon: Number) -> Fraction:
    """Return a delta at ``total_epsilon`` of mechanisms with these different epsilons and deltas.

    The exact answer (Murtagh and Vadhan 2016, theorem 1.5) is #P-hard; this is the loss distribution of the randomised
    responses, which is above it by about one part in 10^4. For losses fixed in advance.
    """
    distribution, kept = _responses(losses)
    found = Fraction(0) if distribution is None else distribution.delta(total_epsilon)
    non_negative("total_epsilon", total_epsilon)
    return round_up(1 - kept * (1 - found))


def mixed_epsilon(losses: Iterable[Loss], *, total_delta: Number) -> Fraction:
    """Return an epsilon at ``total_delta`` of mechanisms with these different epsilons and deltas.

    For losses fixed in advance; see ``mixed_delta``.

    >>> from dither.privacy import ApproxDP, PureDP
    >>> losses = [PureDP("0.1")] * 50 + [ApproxDP("0.2", "1e-8")] * 20
    >>> round(float(mixed_epsilon(losses, total_delta="1e-5")), 2)
    4.9
    """
    distribution, kept = _responses(losses)
    spare = _spare(probability("total_delta", total_delta), kept)
    if distribution is None:
        return Fraction(0)
    return distribution.pure or Fraction(0) if spare == 0 and not distribution.leak else distribution.epsilon(spare)


def advanced_epsilon(epsilon: Number, delta: Number, *, count: int, total_delta: Number) -> Fraction:
    """Return epsilon * sqrt(2 count ln(1 / d)) + count * epsilon * (e^epsilon - 1), d = total_delta - count * delta.

    Dwork, Rothblum and Vadhan (2010), theorem III.3: valid, simple, and never better than ``optimal_epsilon``. For
    losses fixed in advance.

    >>> round(float(advanced_epsilon("0.1", 0, count=100, total_delta="1e-5")), 2)
    5.85
    """
    each, leak, times = _checked(epsilon, delta, count)
    spare = probability("total_delta", total_delta) - times * leak
    if not spare > 0:
        raise NoGuarantee(f"the deltas alone add up to {times * leak}, which is not below total_delta")
    if each > 64:
        return times * each
    spread = sqrt_up(2 * times * log_up(1 / spare)) * each
    return min(times * each, round_up(spread + times * each * (exp_up(each) - 1)))


def concentrated_epsilon(epsilon: Number, delta: Number, *, count: int, total_delta: Number) -> Fraction:
    """Return epsilon at ``total_delta`` through zCDP: rho is count * epsilon * tanh(epsilon / 2).

    Better than ``advanced_epsilon``, never better than ``optimal_epsilon``; and since sums of rho are a valid filter,
    it is what a budget can promise to an analyst who chooses as answers come.

    >>> round(float(concentrated_epsilon("0.1", 0, count=100, total_delta="1e-5")), 2)
    4.73
    """
    each, leak, times = _checked(epsilon, delta, count)
    return ApproxDP(each, leak).times(times).to_approx(total_delta).epsilon


def _checked(epsilon: Number, delta: Number, count: int) -> tuple[Fraction, Fraction, int]:
    return non_negative("epsilon", epsilon), probability("delta", delta), whole("count", count, most=_MOST)


def _spare(total: Fraction, kept: Fraction) -> Fraction:
    """Return the delta left for finite losses: 1 - (1 - total) / kept, rounded down."""
    spare = round_down(1 - (1 - total) / kept)
    if spare < 0:
        raise NoGuarantee(f"the deltas alone make more than total_delta = {float(total):.3g}")
    return spare


def _excess(epsilon: Fraction, count: int, total: Fraction) -> Fraction:
    """Return an upper bound on the delta at ``total`` of ``count`` randomised responses.

    The loss is (count - 2 lies) * epsilon, and the number of lies is binomial: a sum over the losses above total.
    """
    if epsilon == 0 or count * epsilon <= total:
        return Fraction(0)
    weight, shrink = _all_true(epsilon, count), exp_decimals(-epsilon)[1]
    ratio, growth = exp_decimals(total - count * epsilon)[0], exp_decimals(2 * epsilon)[0]
    excess, lies = Decimal(0), 0
    while (count - 2 * lies) * epsilon > total and lies <= count:
        excess = _UP.add(excess, _UP.multiply(weight, max(Decimal(0), _UP.subtract(Decimal(1), ratio))))
        weight = _UP.divide(_UP.multiply(_UP.multiply(weight, Decimal(count - lies)), shrink), Decimal(lies + 1))
        ratio = _DOWN.multiply(ratio, growth)
        lies += 1
    return min(Fraction(1), _fraction(excess))


def _solve(epsilon: Fraction, count: int, spare: Fraction) -> Fraction:
    """Return the least total at which ``count`` randomised responses have a delta of at most ``spare``."""
    # Between the losses of l + 1 and of l lies the curve is A - e^total * B, with A and B summed over at most l lies.
    weight, shrink = _all_true(epsilon, count), exp_decimals(-epsilon)[1]
    mirror, growth = _all_false(epsilon, count), exp_decimals(epsilon)[0]
    above, below, target = Decimal(0), Decimal(0), decimal_down(spare)
    lower, fall = exp_decimals((count - 2) * epsilon)[0], exp_decimals(-2 * epsilon)[0]
    for lies in range(count // 2 + 1):
        above, below = _UP.add(above, weight), _DOWN.add(below, mirror)
        weight = _UP.divide(_UP.multiply(_UP.multiply(weight, Decimal(count - lies)), shrink), Decimal(lies + 1))
        mirror = _DOWN.divide(_DOWN.multiply(_DOWN.multiply(mirror, Decimal(count - lies)), growth), Decimal(lies + 1))
        if count - 2 * (lies + 1) <= 0 or _UP.subtract(above, _DOWN.multiply(lower, below)) > target:
            break
        lower = _DOWN.multiply(lower, fall)
    ratio = _UP.divide(_UP.subtract(above, target), below)
    found = max(Fraction(0), log_up(Fraction(ratio))) if ratio > 1 else Fraction(0)
    # Which piece of the curve it is was decided by rounded numbers, so the answer is put to the test.
    return next((x for x in (found, found * _MORE) if _excess(epsilon, count, x) <= spare), count * epsilon)


def _all_true(epsilon: Fraction, count: int) -> Decimal:
    """Return an upper bound on the probability that all responses are true: (1 + e^-epsilon)^-count."""
    return exp_decimals(-count * log_down(1 + exp_down(-epsilon)))[1]


def _all_false(epsilon: Fraction, count: int) -> Decimal:
    """Return a lower bound on the probability that all responses are false: (1 + e^epsilon)^-count."""
    growth = _UP.add(Decimal(1), exp_decimals(epsilon)[1])
    return exp_decimals(-count * log_up(Fraction(growth)))[0]


def _fraction(value: Decimal) -> Fraction:
    """Return the rational, or a small upper bound: exponents may be beyond all use."""
    return Fraction(max(value, Decimal("1e-2000"))) if value else Fraction(0)


def _responses(losses: Iterable[Loss]) -> tuple[LossDistribution | None, Fraction]:
    """Return the distribution of randomised responses, and the probability that losses without epsilon do not leak."""
    kept, parts = Fraction(1), []
    for loss in losses:
        if not isinstance(loss, Loss) or loss.pure is None:
            raise InvalidParameter("losses", loss, "losses that have an epsilon")
        if loss.pure == 0:
            kept = round_down(kept * (1 - loss.delta))
        else:
            parts.append(LossDistribution.of(ResponsePair(epsilon=loss.pure, delta=loss.delta)))
    return (compose_distributions(parts) if parts else None), kept
