"""Checks on laws: exact ratios by enumeration, ratios by counting, and coverage of intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dither.checks.violation import require
from dither.exact import exp_up
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.noise import Noise
from dither.privacy import Loss
from dither.testing.branching import Branches
from dither.testing.enumeration import Enumeration, hashable
from dither.testing.sameness import digest

_RUNS = 500
# Where both laws are as undecided as this after a part of the runs, the rest of them would refute nothing either.
_SHARE_TRIED_FIRST = 4
_HOPELESS = Fraction(19, 20)
_ORDERS = (1.5, 2.0, 4.0, 16.0)
_DELTAS = (Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 4))


def conversed(mechanism: InteractivePrimitive[Any, Any], script: Sequence[Any], noise: Noise) -> tuple[Any, ...]:
    """Return the answers of a conversation to a script of values, until it is over."""
    state, answers = mechanism.begin(noise), []
    for value in script:
        answer, is_over = mechanism.reply(state, value, noise)
        answers.append(hashable(answer))
        if is_over:
            break
    return tuple(answers)


class Laws:
    """The laws of draws by the values that they are made for, each followed once however often it is compared.

    Args:
        draw: draws for a value, which it does not change.

    """

    def __init__(self, draw: Callable[[Any, Noise], Any]) -> None:
        self._draw = draw
        self._known: dict[str, Branches] = {}

    def of(self, value: Any) -> Branches:
        """Return the branches for a value, as far as they were followed."""
        return self._known.setdefault(digest(value), Branches(partial(self._draw, value)))


def check_law_by_branching(
    here: Branches | Callable[[Noise], Any],
    there: Branches | Callable[[Noise], Any],
    loss: Loss,
    *,
    runs: int = _RUNS,
) -> Fraction:
    """Refute ``loss`` if the exact laws of two neighbouring draws, as far as enumerated, break it.

    Both sides of every coin are followed, the likeliest first. What was decided is a lower bound on each probability,
    and with what was not an upper one; so a refutation is certain. Returns how much stayed undecided, which says how
    strong the check is.
    """
    sides = [side if isinstance(side, Branches) else Branches(side) for side in (here, there)]
    first = max(1, runs // _SHARE_TRIED_FIRST)
    laws = [side.follow(first) for side in sides]
    if runs > first and any(law.undecided < _HOPELESS for law in laws):
        laws = [side.follow(runs) for side in sides]
    _keeps(laws, loss)
    return max(law.undecided for law in laws)


def _keeps(laws: list[Enumeration], loss: Loss) -> None:
    """Refute ``loss`` if two laws, as far as they are known, break it in either direction."""
    for one, other in (laws, laws[::-1]):
        if loss.pure is not None:
            _check_ratio(one, other, loss.pure, loss.delta)
        for delta in _DELTAS:
            if delta > loss.delta:
                _check_ratio(one, other, loss.to_approx(delta).epsilon, delta)
        if loss.delta == 0:
            _check_divergences(one, other, loss.rho)


def _check_ratio(one: Enumeration, other: Enumeration, epsilon: Fraction, delta: Fraction) -> None:
    growth = exp_up(epsilon)
    undecided, excess = growth * other.undecided, Fraction(0)
    for outcome, mass in one.mass.items():
        above = mass - undecided - growth * other.mass.get(outcome, Fraction(0))
        if above > 0:
            excess += above
    require(
        excess <= delta, f"the laws of neighbours differ by {float(excess):.3g} beyond epsilon = {float(epsilon):.6g}"
    )


def _check_divergences(one: Enumeration, other: Enumeration, rho: Fraction) -> None:
    """Refute rho if a lower bound on a Renyi divergence, from the decided mass alone, exceeds order * rho."""
    for order in _ORDERS:
        moment = sum(
            float(mass) ** order * float(other.mass.get(outcome, Fraction(0)) + other.undecided) ** (1 - order)
            for outcome, mass in one.mass.items()
            if mass
        )
        divergence = math.log(moment) / (order - 1) if moment > 0 else 0.0
        limit = order * float(rho) * (1 + 1e-9) + 1e-9
        require(divergence <= limit, f"the Renyi divergence of order {order} is {divergence:.6g}, above {limit:.6g}")


def check_law_by_counting(
    here: Callable[[int], Any],
    there: Callable[[int], Any],
    loss: Loss,
    *,
    draws: int,
    false_alarm: float,
) -> None:
    """Refute ``loss`` if counting shows an event much likelier on one side than it allows.

    Args:
        here: returns whether an event happened, in each of a number of independent draws for one value.
        there: the same event, for a neighbour.
        loss: the promise for the two.
        draws: the number of draws a side.
        false_alarm: the probability of refuting a true claim.

    """
    laws = []
    for side in (here, there):
        happened = int(np.asarray(side(draws)).sum())
        low, high = _limits(happened, draws, false_alarm / 2)
        # What is not decided may belong to either.
        mass = {True: Fraction(low), False: Fraction(1 - high)}
        laws.append(Enumeration(mass, Fraction(high) - Fraction(low)))
    _keeps(laws, loss)


def _limits(happened: int, draws: int, failure: float) -> tuple[float, float]:
    """Return limits on a probability that hold together except with probability ``failure`` (Clopper and Pearson)."""
    from scipy.special import betaincinv

    low = 0.0 if happened == 0 else float(betaincinv(happened, draws - happened + 1, failure / 2))
    high = 1.0 if happened == draws else float(betaincinv(happened + 1, draws - happened, 1 - failure / 2))
    return low, high


def coverage_is_refuted(covered: int, draws: int, confidence: float, false_alarm: float) -> bool:
    """Whether this few covered draws have a probability below ``false_alarm`` if the confidence held."""
    from scipy.special import bdtr

    return bool(bdtr(covered, draws, confidence) < false_alarm)
