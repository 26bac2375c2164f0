"""What a loss means for a person: how well anyone can tell from a release whether that person's data was used.

The guesser knows everything else, including all other data. Each figure follows from the loss curve alone: if for every
set of outcomes ``P(S) <= e^epsilon Q(S) + delta(epsilon)``, a guess is right with probability at most
``1 - prior + prior * delta(ln((1 - prior) / prior))``. All figures are upper bounds, rounded up.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from dither.errors import InvalidParameter
from dither.exact import Number, exp_down, exp_up, log_down, non_negative, probability, round_up, sqrt_up
from dither.privacy.accountants.distribution import LossDistribution
from dither.privacy.accountants.renyi import RenyiCurve
from dither.privacy.conversions import zcdp_delta
from dither.privacy.distances import Relation, Unit
from dither.privacy.losses import Loss

Priced: TypeAlias = Loss | LossDistribution | RenyiCurve

#: Above this e^epsilon is not computed: every figure is then as good as 1.
_LARGE = 700


def hockey_stick_of(loss: Priced, epsilon: Number) -> Fraction:
    """Return an upper bound, rounded up, on P(S) - e^epsilon Q(S) over all sets S of outcomes and all neighbours.

    For an (epsilon, delta) loss the exact value of the worst mechanism, and never more than its rho allows.

    >>> from dither.privacy import PureDP
    >>> float(hockey_stick_of(PureDP(1), 0))
    0.462...
    """
    at = non_negative("epsilon", epsilon)
    if isinstance(loss, LossDistribution | RenyiCurve):
        return loss.delta(at)
    if not isinstance(loss, Loss):
        raise InvalidParameter("loss", loss, "a loss, a loss distribution or a Renyi curve")
    routes = [_concentrated(loss.rho, at)]
    if loss.pure is not None:
        routes.append(_response(loss.pure, at))
    return min(Fraction(1), round_up(loss.delta + (1 - loss.delta) * min(routes)))


def advantage(loss: Priced) -> Fraction:
    """Return the greatest difference between the true-positive and the false-positive rate of any guess.

    >>> from dither.privacy import ApproxDP
    >>> round(float(advantage(ApproxDP(1, "1e-5"))), 4)
    0.4621
    """
    return hockey_stick_of(loss, 0)


def success(loss: Priced, *, prior: Number = Fraction(1, 2)) -> Fraction:
    """Return the greatest probability of a correct guess, for a prior probability ``prior`` of membership.

    Under one half it is (1 + advantage) / 2, which for pure epsilon is e^epsilon / (1 + e^epsilon).

    >>> from dither.privacy import PureDP
    >>> round(float(success(PureDP(1))), 4), round(float(success(PureDP(1), prior="0.01")), 4)
    (0.7311, 0.99)
    """
    rarer = probability("prior", prior, open_below=True)
    rarer = min(rarer, 1 - rarer)
    # The rarer case is worth guessing only on outcomes that speak for it by more than the odds against it.
    odds = log_down((1 - rarer) / rarer) if rarer < Fraction(1, 2) else Fraction(0)
    return min(Fraction(1), round_up(1 - rarer + rarer * hockey_stick_of(loss, max(Fraction(0), odds))))


def true_positive_rate(loss: Priced, *, false_positive_rate: Number) -> Fraction:
    """Return the greatest true-positive rate of any guess with that false-positive rate.

    >>> from dither.privacy import PureDP
    >>> round(float(true_positive_rate(PureDP(1), false_positive_rate="0.001")), 6)
    0.002718
    """
    wrong = probability("false_positive_rate", false_positive_rate)
    best = Fraction(1)
    # Every line of the curve is a bound; a float may choose which are looked at.
    for epsilon in _epsilons(loss):
        delta = hockey_stick_of(loss, epsilon)
        growth, decay = _exponentials(epsilon)
        right = delta + growth * wrong
        # The same line with the roles of the two laws exchanged.
        left = 1 - (1 - delta - wrong) * decay
        best = min(best, right, left)
    return round_up(best)


def explain_loss(loss: Priced, *, unit: Unit | None = None) -> str:
    """Return what a loss means, in two plain sentences for the person responsible for the data.

    >>> from dither.privacy import ROW, PureDP
    >>> print(explain_loss(PureDP(1), unit=ROW))
    An attacker who knows everything else, and considers both answers equally likely, guesses correctly whether one row
    is in the data at most 73.2 % of the time after seeing the release. With 1 % false alarms, the attacker detects at
    most 2.8 %.
    """
    relation = getattr(loss, "relation", None) if unit is None else unit.relation
    name = "unit" if unit is None else unit.protects
    content = f"which of two contents one {name} has"
    question = content if relation in (Relation.REPLACE, Relation.METRIC) else f"whether one {name} is in the data"
    right = success(loss)
    found = true_positive_rate(loss, false_positive_rate=Fraction(1, 100))
    return (
        f"An attacker who knows everything else, and considers both answers equally likely, guesses correctly "
        f"{question} at most {_percent(right)} % of the time after seeing the release. With 1 % false alarms, the "
        f"attacker detects at most {_percent(found)} %."
    )


def _response(budget: Fraction, at: Fraction) -> Fraction:
    """Return the curve of randomised response: (e^budget - e^at) / (1 + e^budget), or 0 from budget on."""
    if at >= budget:
        return Fraction(0)
    if budget > _LARGE:
        return Fraction(1)
    return round_up(1 - (1 + exp_down(at)) / (1 + exp_up(budget)))


def _concentrated(rho: Fraction, at: Fraction) -> Fraction:
    """Return the least of the conversion of rho and three bounds on the total variation.

    The divergence of order 1 is at most rho; Pinsker, and Bretagnolle and Huber, bound the variation by it.
    """
    return min(_variation(rho), zcdp_delta(rho, at) if rho else Fraction(0))


# Both are asked for again and again along one curve.
@lru_cache(maxsize=64)
def _variation(rho: Fraction) -> Fraction:
    pinsker = sqrt_up(rho / 2)
    huber = sqrt_up(1 - exp_down(-rho)) if rho < _LARGE else Fraction(1)
    return min(Fraction(1), pinsker, huber)


@lru_cache(maxsize=256)
def _exponentials(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return e^epsilon rounded up, and e^-epsilon rounded down."""
    return exp_up(epsilon), exp_down(-epsilon)


def _epsilons(loss: Priced) -> list[Fraction]:
    """Return where the curve is evaluated: the loss's epsilon, and points that grow from very small ones."""
    known = getattr(loss, "pure", None)
    points = [Fraction(0), *(Fraction(5, 4) ** power / 100 for power in range(32))]
    return points if known is None or known > _LARGE else [point for point in points if point < known] + [known]


def _percent(share: Fraction) -> str:
    """Return a percentage with one decimal, rounded up."""
    tenths = -((-share * 1000).__floor__())
    return f"{tenths / 10:.1f}".removesuffix(".0")
