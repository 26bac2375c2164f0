"""How a secret sample reduces an (epsilon, delta) loss, for each way of sampling and its neighbouring relation.

Balle, Barthe and Gaboardi (2018). Each bound holds under one relation, which has to be named, and raises under any
other: Poisson sampling for units added or removed, samples of a public size for units replaced. The sample, and for
Poisson its size, must stay secret. Where more than epsilon and delta is known, a ``SampledPair`` is tighter.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dither.errors import IncompatibleDistance, InvalidParameter
from dither.exact import Number, log_up, positive, round_up, whole
from dither.exact.enclosure import DIGITS, exp_decimals
from dither.privacy.accountants.membership import hockey_stick_of
from dither.privacy.conversions import amplified_epsilon, group_delta
from dither.privacy.distances import Relation
from dither.privacy.losses import ApproxDP, Loss, PureDP

_UP = Context(prec=DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def poisson_sampled(loss: Loss, *, rate: Number, relation: Relation) -> ApproxDP | PureDP:
    """Return the loss when each unit is sampled independently with probability ``rate``; units added or removed.

    Theorem 8: epsilon becomes ln(1 + rate (e^epsilon - 1)), delta becomes rate * delta.

    >>> from dither.privacy import PureDP
    >>> round(float(poisson_sampled(PureDP(1), rate="0.01", relation=Relation.ADD_REMOVE).epsilon), 4)
    0.017
    """
    _only(Relation.ADD_REMOVE, relation, "a Poisson sample")
    return _amplified(loss, positive("rate", rate, at_most=1))


def sampled_without_replacement(loss: Loss, *, drawn: int, size: int, relation: Relation) -> ApproxDP | PureDP:
    """Return the loss when ``drawn`` of ``size`` units, both public, are drawn without replacement; units replaced.

    Theorem 9: as for Poisson sampling with rate drawn / size, but under the other relation, also for ``loss`` itself.
    """
    _only(Relation.REPLACE, relation, "a sample of fixed size")
    size = whole("size", size, least=1)
    return _amplified(loss, Fraction(whole("drawn", drawn, least=1, most=size), size))


def sampled_with_replacement(loss: Loss, *, drawn: int, size: int, copies: int, relation: Relation) -> ApproxDP:
    """Return the loss when each of ``drawn`` draws takes any of ``size`` units; units replaced.

    Theorem 10: with q = 1 - (1 - 1/size)^drawn and the epsilon of ``copies`` copies of one unit, epsilon becomes
    ln(1 + q (e^epsilon - 1)); delta is the sum over k of the chance of k copies times the delta that k copies have at
    that epsilon, known here from group privacy alone. More ``copies`` trade epsilon for delta.

    >>> from dither.privacy import PureDP
    >>> print(sampled_with_replacement(PureDP("0.1"), drawn=100, size=10_000, copies=4, relation=Relation.REPLACE))
    epsilon = 0.00488..., delta = ...
    """
    _only(Relation.REPLACE, relation, "a sample with replacement")
    epsilon, delta = _figures(loss)
    size, drawn = whole("size", size, least=2), whole("drawn", drawn, least=1, most=10**7)
    copies = whole("copies", copies, least=1, most=drawn)
    # The chance of k copies, from above: binomial, each from the one before.
    chance = exp_decimals(drawn * log_up(1 - Fraction(1, size)))[1]
    caught = min(Fraction(1), Fraction(drawn, size), round_up(1 - _none_at_all(drawn, size)))
    total = Fraction(0)
    for count in range(1, drawn + 1):
        chance = _UP.divide(_UP.multiply(chance, Decimal(drawn - count + 1)), Decimal(count * (size - 1)))
        rest = drawn * Fraction(1, (count + 1) * (size - 1))
        if count > copies and rest < Fraction(1, 2) and chance < Decimal("1e-60"):
            # Each further term is less than half of the one before, and a delta is at most 1.
            total += 2 * Fraction(chance)
            break
        total += Fraction(chance) * _delta_of_copies(epsilon, delta, count, copies)
    if total >= 1:
        raise InvalidParameter("copies", copies, "large enough that delta is below 1")
    return ApproxDP(amplified_epsilon(copies * epsilon, caught), round_up(total))


def _delta_of_copies(epsilon: Fraction, delta: Fraction, count: int, copies: int) -> Fraction:
    """Return the delta, at ``copies`` times epsilon, of ``count`` units replaced together."""
    together = group_delta(epsilon, delta, count)
    if count <= copies or together >= 1:
        return together
    return hockey_stick_of(ApproxDP(count * epsilon, together), copies * epsilon)


def _none_at_all(drawn: int, size: int) -> Fraction:
    """Return a lower bound on the probability that one unit is not drawn."""
    return Fraction(exp_decimals(-drawn * log_up(Fraction(size, size - 1)))[0])


def _amplified(loss: Loss, rate: Fraction) -> ApproxDP | PureDP:
    epsilon, delta = _figures(loss)
    found = amplified_epsilon(epsilon, rate)
    return ApproxDP(found, round_up(rate * delta)) if delta else PureDP(found)


def _figures(loss: Loss) -> tuple[Fraction, Fraction]:
    if not isinstance(loss, Loss) or loss.pure is None:
        raise InvalidParameter("loss", loss, "a loss that has an epsilon")
    return loss.pure, loss.delta


def _only(allowed: Relation, given: Relation, sample: str) -> None:
    if given is not allowed:
        found = f"units {given.value}" if isinstance(given, Relation) else given
        raise IncompatibleDistance(sample, f"units {allowed.value}", found)
