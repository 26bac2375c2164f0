"""Prices against laws that are written out: groups, samples, rounds and disjoint parts of one to four units.

Nothing here is shared with what computes prices. A law is a table of probabilities, a plan is a mixture or a product of
such tables, and what two of them lose is added up outcome by outcome. Every kind of loss is tried, also with a delta,
since a rule for epsilon says nothing about the rule for delta beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Final

from dither.mechanisms import DiscreteGaussian, Geometric, RandomisedResponse, Staircase, TruncatedLaplace
from dither.privacy import ZCDP, ApproxDP, GaussianDP, Loss, PureDP, conversions
from dither.privacy.plans import InOrder, Parallel, Plan, Repeat, Sampled, SampledExactly, Use

Law = dict[Any, float]

UNITS: Final = (1, 2, 3, 4)
_DELTAS: Final = (Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 10))
_ORDERS: Final = (1.0001, 1.5, 2.0, 4.0, 16.0)
#: Sums of floats are off by less than this; tails beyond a window have less weight.
_ROUNDING: Final = 1e-9
_TAIL: Final = 40
#: Normal numbers are followed for deltas that floats hold.
_EPSILONS: Final = (Fraction(1, 10), Fraction(1), Fraction(3))
_SOME_DELTAS: Final = (Fraction(1, 10**4), Fraction(1, 100))


def understated_prices() -> list[str]:
    """Return the prices that are below what explicit laws lose, as sentences.

    >>> understated_prices()
    []

    """
    return [*_groups(), *_conversions(), *_draws(), *_samples(), *_rounds(), *_parts()]


def excess(one: Law, other: Law, epsilon: float) -> float:
    """Return the delta at an epsilon: what is likelier by more than e^epsilon, added up.

    >>> round(excess({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}, 0.0), 3)
    0.5

    """
    growth = math.exp(epsilon) if epsilon < 700 else math.inf
    return math.fsum(
        max(0.0, mass - growth * other[outcome]) if other.get(outcome, 0.0) > 0 else mass
        for outcome, mass in one.items()
        if mass > 0
    )


def losses_of(name: str, one: Law, other: Law, price: Loss) -> Iterator[str]:
    """Yield how two laws break a price: its epsilon and delta, what it converts to, and its rho."""
    claims = [] if price.pure is None else [(price.pure, price.delta)]
    claims += [(price.to_approx(delta).epsilon, delta) for delta in _DELTAS if delta > price.delta]
    for epsilon, delta in claims:
        found = max(excess(one, other, float(epsilon)), excess(other, one, float(epsilon)))
        if found > float(delta) * (1 + _ROUNDING) + 1e-13:
            yield f"{name}: delta {found:.6g} at epsilon {float(epsilon):.6g}, and {float(delta):.6g} is charged"
    if not price.delta:
        found = max(_least_rho(one, other), _least_rho(other, one))
        if found > float(price.rho) * (1 + _ROUNDING) + 1e-9:
            yield f"{name}: rho {found:.6g}, and {float(price.rho):.6g} is charged"


def _least_rho(one: Law, other: Law) -> float:
    """Return the largest of the Renyi divergences of some orders, each divided by its order."""
    both = [(mass, other[outcome]) for outcome, mass in one.items() if mass > 0 and other.get(outcome, 0.0) > 0]
    logs = [(math.log(mass), math.log(beside)) for mass, beside in both]
    found = 0.0
    for order in _ORDERS:
        terms = [order * here + (1 - order) * there for here, there in logs]
        most = max(terms)
        moment = most + math.log(math.fsum(math.exp(term - most) for term in terms))
        found = max(found, moment / (order - 1) / order)
    return found


def _groups() -> Iterator[str]:
    """Try groups in chains of laws whose neighbours lose exactly what is stated."""
    for epsilon, delta, units in product(_EPSILONS, _SOME_DELTAS, UNITS):
        # One event, whose chance grows as fast as (epsilon, delta) lets it.
        chances = [0.0]
        for _ in range(units):
            chances.append(math.exp(epsilon) * chances[-1] + float(delta))
        if chances[-1] < 0.5:
            ends = [{True: chance, False: 1 - chance} for chance in (chances[0], chances[-1])]
            price = ApproxDP(epsilon, delta).group(units)
            yield from losses_of(f"a group of {units} under epsilon {epsilon}, delta {delta}", ends[1], ends[0], price)
    for scale, units in product((1, 3, 10), UNITS):
        nothing, one, moved = (_laplace(scale, shift) for shift in (0, 1, units))
        rho = Fraction(max(_least_rho(one, nothing), _least_rho(nothing, one)) * (1 + 1e-6))
        stated = PureDP(Fraction(1, scale), rho=min(rho, PureDP(Fraction(1, scale)).rho))
        yield from losses_of(f"a group of {units} under a pure loss", moved, nothing, stated.group(units))
    for rho, units in product((Fraction(1, 50), Fraction(1, 2)), UNITS):
        # A normal number of deviation 1 that moves by mu has a rho of mu^2 / 2, and loses no less.
        mu = units * math.sqrt(2 * rho)
        for loss in (ZCDP(rho), GaussianDP(rho)):
            together = loss.group(units)
            name = f"a group of {units} under {loss!r}"
            if float(together.rho) < mu * mu / 2 * (1 - _ROUNDING):
                yield f"{name}: rho {mu * mu / 2:.6g}, and {float(together.rho):.6g} is charged"
            yield from _normal(name, mu, [(together.to_approx(delta).epsilon, delta) for delta in _DELTAS])


def _normal(name: str, mu: float, claims: Sequence[tuple[Fraction, Fraction]]) -> Iterator[str]:
    """Yield how a normal number that moves by mu breaks a claim, by the closed form of its delta."""
    for epsilon, delta in claims:
        limit = float(epsilon) / mu
        found = _below(mu / 2 - limit) - math.exp(float(epsilon)) * _below(-mu / 2 - limit)
        if found > float(delta) * (1 + _ROUNDING) + 1e-13:
            yield f"{name}: delta {found:.6g} at epsilon {float(epsilon):.6g}, and {float(delta):.6g} is claimed"


def _below(limit: float) -> float:
    return math.erfc(-limit / math.sqrt(2)) / 2


def _conversions() -> Iterator[str]:
    for rho in (Fraction(1, 100), Fraction(1, 2), Fraction(5)):
        mu = math.sqrt(2 * rho)
        to = [(conversions.zcdp_epsilon(rho, delta), delta) for delta in _DELTAS]
        to += [(epsilon, conversions.zcdp_delta(rho, epsilon)) for epsilon in _EPSILONS]
        yield from _normal(f"rho {rho}, converted", mu, to)
        back = [(epsilon, delta) for epsilon, delta in product(_EPSILONS, _DELTAS)]
        for epsilon, delta in back:
            yield from _normal(
                "a rho for a budget", math.sqrt(2 * conversions.zcdp_rho(epsilon, delta)), [(epsilon, delta)]
            )
    for epsilon in _EPSILONS:
        told, lied = (_response(epsilon, 2, answer) for answer in (0, 1))
        found, claimed = _least_rho(told, lied), float(conversions.pure_to_zcdp(epsilon))
        if found > claimed * (1 + _ROUNDING):
            yield f"epsilon {epsilon} has rho {found:.6g}, and {claimed:.6g} is claimed"


def _laplace(scale: float, shift: int, bound: int | None = None) -> Law:
    """Return integers in proportion to e^(-|x| / scale) around a shift, up to a bound or to a negligible tail."""
    reach = math.ceil(_TAIL * scale) if bound is None else bound
    weights = {shift + x: math.exp(-abs(x) / scale) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def _gaussian(sigma: float, shift: int) -> Law:
    reach = math.ceil(9 * sigma)
    weights = {shift + x: math.exp(-x * x / (2 * sigma * sigma)) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def _staircase(epsilon: float, width: int, period: int, shift: int) -> Law:
    """Return integers that lose e^-epsilon with each stair: the first one reaches to width - 1, and then periods."""
    reach = math.ceil(_TAIL * period / epsilon)
    stairs = {x: (abs(x) - width) // period + 1 if abs(x) >= width else 0 for x in range(-reach, reach + 1)}
    weights = {shift + x: math.exp(-epsilon * stair) for x, stair in stairs.items()}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def _response(epsilon: Fraction, categories: int, answer: int) -> Law:
    weights = [math.exp(epsilon) if other == answer else 1.0 for other in range(categories)]
    return {other: weight / math.fsum(weights) for other, weight in enumerate(weights)}


#: Draws with the law that they have at a shift, written out.
_NOISES: Final[tuple[tuple[Any, Any], ...]] = (
    (Geometric(scale=1), lambda shift: _laplace(1, shift)),
    (Geometric(scale=3), lambda shift: _laplace(3, shift)),
    (TruncatedLaplace(scale=1, bound=2), lambda shift: _laplace(1, shift, 2)),
    (TruncatedLaplace(scale=2, bound=5), lambda shift: _laplace(2, shift, 5)),
    (DiscreteGaussian(sigma=2), lambda shift: _gaussian(2, shift)),
)


def _draws() -> Iterator[str]:
    for (noise, law), units in product(_NOISES, UNITS):
        yield from losses_of(f"{units} apart under {noise!r}", law(units), law(0), noise.loss(units))
    for (sensitivity, width), units in product(((1, 1), (2, 1), (3, 2)), UNITS):
        stairs = Staircase(epsilon=1, sensitivity=sensitivity, width=width)
        ends = [_staircase(1.0, width, sensitivity, shift) for shift in (units, 0)]
        yield from losses_of(f"{units} apart under {stairs!r}", ends[0], ends[1], stairs.loss(units))
    for epsilon, categories in product(_EPSILONS, (2, 3, 6)):
        told = RandomisedResponse(epsilon=epsilon, categories=categories)
        ends = [_response(epsilon, categories, answer) for answer in (0, 1)]
        yield from losses_of(f"{told!r}", ends[0], ends[1], told.loss(1))


def mixed(laws: Sequence[Law], weights: Sequence[float]) -> Law:
    """Return the law of an outcome of one of several laws, chosen with these chances."""
    found: Law = {}
    for law, weight in zip(laws, weights, strict=True):
        for outcome, mass in law.items():
            found[outcome] = found.get(outcome, 0.0) + weight * mass
    return found


def _samples() -> Iterator[str]:
    """Try sums of samples: units that are there or not, and units that are replaced."""
    for (noise, law), units, rate in product(_NOISES, UNITS, (Fraction(1, 8), Fraction(1, 2))):
        chance = float(rate)
        weights = [math.comb(units, held) * chance**held * (1 - chance) ** (units - held) for held in range(units + 1)]
        sampled = mixed([law(held) for held in range(units + 1)], weights)
        price = Sampled(Use(noise), rate).loss(units)
        yield from losses_of(f"{units} units, each sampled with {rate}, under {noise!r}", sampled, law(0), price)
    for (noise, law), units, (kept, of) in product(_NOISES, UNITS, ((1, 4), (2, 5), (3, 4))):
        units = min(units, of)
        held_all = range(max(0, kept + units - of), min(units, kept) + 1)
        weights = [
            math.comb(units, held) * math.comb(of - units, kept - held) / math.comb(of, kept) for held in held_all
        ]
        sampled = mixed([law(held) for held in held_all], weights)
        price = SampledExactly(Use(noise), kept, of).loss(units)
        name = f"{units} of {of} units replaced, {kept} of them sampled, under {noise!r}"
        yield from losses_of(name, sampled, law(0), price)


def _together(laws: Sequence[Law]) -> Law:
    """Return the law of independent outcomes."""
    found: Law = {(): 1.0}
    for law in laws:
        found = {(*before, outcome): mass * own for before, mass in found.items() for outcome, own in law.items()}
    return found


#: Draws with few outcomes, so that several of them are written out together.
_SHORT: Final = ((TruncatedLaplace(scale=1, bound=2), 2), (TruncatedLaplace(scale="1/2", bound=3), 3))


def _short_law(noise: Any, bound: int, shift: int) -> Law:
    return _laplace(float(noise.scale), shift, bound)


def _rounds() -> Iterator[str]:
    for (noise, bound), rounds, units in product(_SHORT, (1, 2, 3), (1, 2)):
        ends = [_together([_short_law(noise, bound, shift)] * rounds) for shift in (units, 0)]
        plans: tuple[Plan, ...] = (Repeat(Use(noise), rounds), InOrder((Use(noise),) * rounds))
        for plan in plans:
            yield from losses_of(f"{rounds} rounds of {noise!r}, {units} units", ends[0], ends[1], plan.loss(units))


def _parts() -> Iterator[str]:
    """Try every load that units may put on disjoint parts."""
    siblings = 3
    for (noise, bound), touched, units in product(_SHORT, (1, 2, 3), (1, 2)):
        price = Parallel(Use(noise), siblings=siblings, touched=touched).loss(units)
        nothing = _together([_short_law(noise, bound, 0)] * siblings)
        for load in product(range(units + 1), repeat=siblings):
            # In falling order: the parts are alike.
            if sum(load) <= units * touched and list(load) == sorted(load, reverse=True) and any(load):
                moved = _together([_short_law(noise, bound, shift) for shift in load])
                yield from losses_of(f"{units} units with a load of {load} under {noise!r}", moved, nothing, price)
