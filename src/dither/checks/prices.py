"""Prices of many units that change together: a price that stops growing is a promise that cannot be kept.

Two laws hold at every distance and need neither data nor draws. The price of a plan is at least what its parts cost at
that distance, added up here in the plainest way. And the price of a single draw goes on as it began: in equal steps
where it is an epsilon, in equal steps of its root where it is a rho, up to the largest distance that there is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np

from dither.checks.law import check_law_by_branching
from dither.checks.violation import require
from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import Composed, Example, Interactive, Mechanism, Primitive
from dither.mechanisms.core.accounted import Accounted
from dither.mechanisms.core.values import IntegerArray
from dither.privacy import Loss
from dither.privacy.plans import Best, InOrder, Parallel, Plan, Repeat, Sampled, SampledExactly, Use, Within
from dither.testing import hostile

#: Units between the inputs of a draw, and of a plan: disjoint parts make the pricing of many units long.
FAR: Final = 50
_FAR_PLAN: Final = 30
_NEAR: Final = 3
#: Within this many units the steps of a price are looked for.
_BEGINNING = 20
_RUNS = 120
#: Plans are priced exactly or rounded up; amplification and roots are compared here as floats.
_ROUNDING = 1e-9

#: Distances that are not whole, as a stability makes them; the least one is far below every step of a price.
_PARTS: Final = (Fraction(1, 1000), Fraction(1, 2), Fraction(3, 2), Fraction(7, 3))

#: An epsilon, where one is promised, and a rho where nothing else is.
Figures = tuple[float | None, float]


def check_far_prices(example: Example) -> None:
    """Check that the price keeps growing with the distance, to 50 units for a draw and to 30 for a plan."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        for distance in (1, _NEAR, _FAR_PLAN):
            _covers(mechanism, distance)
    else:
        _goes_on(mechanism)


def check_prices_of_parts(example: Example) -> None:
    """Check that a part of a unit is charged: for a draw its share or a whole unit, for a plan what its parts cost."""
    mechanism = example.mechanism
    if isinstance(mechanism, Composed | Interactive):
        for distance in (_PARTS[1:3]) if _takes_parts(mechanism) else ():
            _covers(mechanism, distance)
        return
    for distance in _PARTS:
        found, above = _figure(mechanism, distance), _figure(mechanism, math.ceil(distance))
        whole = _figure(mechanism, distance.numerator)
        if found is None or above is None or whole is None:
            continue
        least_price = min(above, whole / distance.denominator)
        told = f"a distance of {distance} is charged {found:.6g}, and its share is {least_price:.6g}"
        require(found >= least_price * (1 - _ROUNDING), told)


def _takes_parts(mechanism: Any) -> bool:
    """Whether a plan is priced for parts of a unit; samples and disjoint parts of data have whole units only."""
    try:
        mechanism.loss(_PARTS[1]), mechanism.loss(_PARTS[2])
    except (InvalidParameter, NoGuarantee):
        return False
    return True


def check_law_far(example: Example) -> None:
    """Check that the exact law keeps the promised ratio for values 50 apart."""
    mechanism = example.mechanism
    # Of real numbers the law is long to follow.
    is_whole = isinstance(mechanism, Primitive) and isinstance(mechanism.domain, IntegerArray)
    if is_whole and isinstance(mechanism, Primitive) and int(np.prod(mechanism.draw_shape)) <= _NEAR:
        for here, there, distance in hostile.distant_pairs(mechanism, example.data, FAR):
            price = _price(mechanism, Fraction(distance))
            if price is not None:
                check_law_by_branching(partial(mechanism.draw, here), partial(mechanism.draw, there), price, runs=_RUNS)


def _price(mechanism: Any, distance: Fraction) -> Loss | None:
    """Return the price at a distance, or None where rightly nothing is promised."""
    try:
        price: Loss = mechanism.loss(distance)
    except NoGuarantee:
        return None
    return price


def _covers(mechanism: Any, distance: int | Fraction) -> None:
    """Refuse the price of a plan that is below the cost of its parts."""
    price = _price(mechanism, Fraction(distance))
    if price is None:
        return
    epsilon, rho = least(mechanism.plan(), Fraction(distance))
    if price.pure is not None and epsilon is not None:
        told = f"{distance} units are charged epsilon = {float(price.pure):.6g}, and the parts cost {epsilon:.6g}"
        require(float(price.pure) >= epsilon * (1 - _ROUNDING), told)
    elif price.pure is None:
        # Beside an epsilon a rho says no more than follows from it.
        told = f"{distance} units are charged rho = {float(price.rho):.6g}, and the parts cost {rho:.6g}"
        require(float(price.rho) >= rho * (1 - _ROUNDING), told)


def least(plan: Plan, distance: Fraction) -> Figures:
    """Return the least that a plan may cost for data at a distance: an epsilon, if it has one, and a rho.

    A sample is known to cost something by its epsilon alone, and several runs of which the best leaves as well; their
    rho counts as nothing.
    """
    if isinstance(plan, Use):
        part: Any = plan.part
        moved = distance * plan.stability
        if isinstance(part, Composed | Interactive):
            return least(part.plan(), moved)
        price = part.loss(moved)
        return None if price.pure is None else float(price.pure), float(price.rho)
    if isinstance(plan, InOrder):
        return _times([least(one, distance) for one in plan.plans])
    if isinstance(plan, Repeat):
        return _times([least(plan.plan, distance)] * plan.times)
    if isinstance(plan, Parallel):
        # All units may meet in the same siblings.
        return _times([least(plan.plan, distance)] * min(plan.touched, plan.siblings))
    if isinstance(plan, Sampled):
        inner, _ = least(plan.plan, distance)
        return _amplified(inner, 1 - (1 - float(plan.rate)) ** int(distance)), 0.0
    if isinstance(plan, SampledExactly):
        units = min(int(distance), plan.of)
        inner, _ = least(plan.plan, Fraction(min(units, plan.kept)))
        missed = math.comb(plan.of - units, plan.kept) / math.comb(plan.of, plan.kept)
        return _amplified(inner, 1 - missed), 0.0
    if isinstance(plan, Best):
        inner, _ = least(plan.plan, distance)
        return None if inner is None else (2 + plan.repeats.shape) * inner, 0.0
    if isinstance(plan, Accounted):
        return _shown_by_a_sum(plan, int(distance)), 0.0
    require(isinstance(plan, Within), f"there is no law for the price of {type(plan).__name__}")
    # A draw that fills the budget of one unit may fill it for each of them.
    budget: Loss = plan.budget  # type: ignore[attr-defined]
    rho = float(distance) ** 2 * float(budget.rho)
    if budget.pure is None:
        return None, rho
    epsilon = float(distance * budget.pure)
    return epsilon, min(rho, epsilon * math.tanh(epsilon / 2))


#: Up to this many chances of being sampled are multiplied out: larger powers do not fit floats.
_MOST_CHANCES = 1000


def _shown_by_a_sum(plan: Accounted, units: int) -> float:
    """Return the epsilon that the sum of like Gaussian draws shows, at the delta of all draws.

    Of the units that differ the samples hold a binomial number, and one sample of fixed size a hypergeometric one.
    Values of the sum above a limit are likelier by that much. Where draws are many, a part of them is summed.
    """
    found = 0.0
    for (moved, rate, fixed), times in plan.draws:
        draws = 1 if fixed else max(1, min(times, _MOST_CHANCES // units))
        most, shift = draws * units, float(moved) / math.sqrt(draws)
        if fixed:
            kept, of = fixed
            group = min(units, of)
            ways = [math.comb(group, held) * math.comb(of - group, kept - held) for held in range(min(group, kept) + 1)]
            caught = [count / math.comb(of, kept) for count in ways]
        else:
            chance = float(rate)
            caught = [math.comb(most, held) * chance**held * (1 - chance) ** (most - held) for held in range(most + 1)]
        for limit in range(37):
            likely = math.fsum(weight * _above(limit - held * shift) for held, weight in enumerate(caught))
            if likely > plan.delta:
                found = max(found, math.log((likely - float(plan.delta)) / _above(limit)))
    return found


def _above(limit: float) -> float:
    """Return the probability that a standard normal number lies above a limit."""
    return math.erfc(limit / math.sqrt(2)) / 2


def _times(figures: list[Figures]) -> Figures:
    epsilons = [epsilon for epsilon, _ in figures]
    together = None if None in epsilons else math.fsum(one for one in epsilons if one is not None)
    return together, math.fsum(rho for _, rho in figures)


def _amplified(epsilon: float | None, caught: float) -> float | None:
    if epsilon is None:
        return None
    # Of a large epsilon no more is said than that the sample may hold somebody.
    return math.log1p(caught * math.expm1(epsilon)) if epsilon < 500 else epsilon + math.log(caught)


def _goes_on(mechanism: Mechanism[Any, Any]) -> None:
    """Refuse a price of a draw that grows more slowly at a distance than at the start."""
    figures = [_figure(mechanism, distance) for distance in range(_BEGINNING + 1)]
    # Some prices stand still for a few units, and then make a step. What stands still for ever makes none.
    changes = [distance for distance in range(1, _BEGINNING + 1) if figures[distance] != figures[distance - 1]]
    if len(changes) < 2:
        return
    step = max(later - earlier for earlier, later in pairwise(changes))
    # Units may first move one entry each, at the price of one for each of them; after that the price has its pace.
    entries = math.prod(getattr(mechanism, "draw_shape", ()))
    begun = step * math.ceil(entries / step) if 1 < entries <= _BEGINNING else 0
    far = (min(FAR, _reach(mechanism)) - begun) // step
    first, second, last = (_figure(mechanism, begun + times * step) for times in (1, 2, far))
    if first is None or second is None or last is None:
        return
    expected = first + (far - 1) * (second - first)
    require(
        last >= expected * (1 - _ROUNDING),
        f"the price of {begun + far * step} units is {last:.6g}, and as it began it would be {expected:.6g}",
    )


def _figure(mechanism: Any, distance: int | Fraction) -> float | None:
    """Return the figure that grows in equal steps: an epsilon, or the root of a rho; None where nothing is promised."""
    price = _price(mechanism, Fraction(distance))
    if price is None:
        return None
    return math.sqrt(price.rho) if price.pure is None else float(price.pure)


def _reach(mechanism: Any) -> int:
    """Return the largest distance between two values, where there is one below ``FAR``."""
    low, high = getattr(mechanism, "low", None), getattr(mechanism, "high", None)
    if isinstance(low, int) and isinstance(high, int):
        return int((high - low) * max(1, math.prod(mechanism.draw_shape)))
    rows = getattr(mechanism, "rows", None)
    return rows if isinstance(rows, int) else FAR
