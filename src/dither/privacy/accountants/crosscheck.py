"""Three independent computations of one figure, for small compositions: no accountant checks itself.

A random composition is priced by a closed form in decimals, by brute force over all outcomes with numerical
integration, and by the loss distribution. The first two must agree; the third must never be below them, and little
above. Randomness is handed in, so that tests, audits and replays share this code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dither.exact.enclosure import sqrt_down
from dither.privacy.accountants.distribution import LossDistribution, compose_distributions
from dither.privacy.accountants.laws import Floats
from dither.privacy.accountants.pairs import (
    DiscreteLaplacePair,
    GaussianPair,
    LaplacePair,
    Pair,
    ResponsePair,
    SampledPair,
    Sampling,
)
from dither.privacy.distances import Relation
from dither.privacy.normal import hockey_stick

#: Returns an integer from 0 up to, but not including, its argument.
Draw: TypeAlias = Callable[[int], int]
Atoms: TypeAlias = list[tuple[Fraction, Decimal]]

_DIGITS = 60
_LEAST_DELTA, _MOST_DELTA = Decimal("1e-13"), Decimal("0.7")
_NODES, _PANELS = 24, 12


@dataclass(frozen=True)
class Case:
    """A composition: mechanisms with finitely many losses, each repeated, and at most one kind of smooth noise."""

    finite: tuple[tuple[Pair, int], ...]
    smooth: Pair | None
    smooth_count: int
    epsilon: Fraction

    def distribution(self) -> LossDistribution:
        """Return the loss distribution of all parts."""
        parts = [*self.finite, *([] if self.smooth is None else [(self.smooth, self.smooth_count)])]
        return compose_distributions(LossDistribution.of(pair, count=count) for pair, count in parts)


@dataclass(frozen=True)
class Verdict:
    """The results of the three computations for one case."""

    case: Case
    closed: Fraction
    brute: float
    delta: Fraction
    epsilon: Fraction

    @property
    def is_understated(self) -> bool:
        """Whether the loss distribution is below the closed form."""
        return self.delta < self.closed or self.epsilon < self.case.epsilon

    @property
    def over(self) -> float:
        """The share by which epsilon exceeds the truth."""
        return float(self.epsilon / self.case.epsilon - 1)

    @property
    def disagreement(self) -> float:
        """The share by which the closed form and brute force differ."""
        return abs(self.brute / float(self.closed) - 1)


def cross_check(draw: Draw) -> Verdict:
    """Return the results of the three computations for one random case.

    >>> import itertools
    >>> numbers = itertools.cycle([5, 2, 11, 7, 3, 13, 1, 17, 4])
    >>> verdict = cross_check(lambda below: next(numbers) % below)
    >>> verdict.is_understated, verdict.over < 0.01, verdict.disagreement < 1e-9
    (False, True, True)
    """
    case, closed = random_case(draw)
    distribution = case.distribution()
    # The closed form is a lower bound by less than its fiftieth digit.
    delta = Fraction(closed)
    return Verdict(case, delta, brute_force(case), distribution.delta(case.epsilon), distribution.epsilon(delta))


def random_case(draw: Draw) -> tuple[Case, Decimal]:
    """Return a random case and a delta of useful size."""
    smooth = _random_smooth(draw)
    kinds = draw(3) + (0 if smooth is not None else 1)
    budget = 30 if smooth is not None else 400
    finite: list[tuple[Pair, int]] = []
    for _ in range(kinds):
        pair = _random_finite(draw)
        count = 1 + draw(3)
        if _size([*finite, (pair, count)]) <= budget:
            finite.append((pair, count))
    if not finite and smooth is None:
        finite = [(ResponsePair(epsilon=Fraction(1 + draw(200), 100)), 1 + draw(12))]
    count = 1 + draw(3) if isinstance(smooth, GaussianPair) else 1
    epsilon = Fraction(1 + draw(400), 100)
    case = Case(tuple(finite), smooth, count, epsilon)
    while (delta := closed_form(case)) > _MOST_DELTA:
        case = replace(case, epsilon=2 * case.epsilon)
    while delta - _leak(case) < _LEAST_DELTA:
        case = replace(case, epsilon=case.epsilon * Fraction(7, 8))
        delta = closed_form(case)
    return case, delta


def closed_form(case: Case) -> Decimal:
    """Return delta from the multinomial law of equal parts and the formula of the continuous part, in decimals."""
    with localcontext() as context:
        context.prec = _DIGITS
        sums = _sums(case.finite)
        curves = _curves(case)
        finite = max(sum((mass * curve(case.epsilon - loss) for loss, mass in sums), Decimal(0)) for curve in curves)
        leak = _leak(case)
        return leak + finite


@lru_cache(maxsize=1)
def _sums(finite: tuple[tuple[Pair, int], ...]) -> Atoms:
    """Return the distinct losses of all finite parts together, and their probabilities; cached for the search."""
    sums = {Fraction(0): Decimal(1)}
    for pair, count in finite:
        parts = _multinomial(_atoms(pair), count)
        grown: dict[Fraction, Decimal] = {}
        for loss, mass in sums.items():
            for more, chance in parts:
                grown[loss + more] = grown.get(loss + more, Decimal(0)) + mass * chance
        sums = grown
    return list(sums.items())


def brute_force(case: Case) -> float:
    """Return delta as a sum over every outcome of every finite part, and an integral over the continuous part."""
    losses, masses = np.zeros(1), np.ones(1)
    for pair, count in case.finite:
        with localcontext() as context:
            context.prec = _DIGITS
            atoms = _atoms(pair)
        more, chances = np.array([float(a) for a, _ in atoms]), np.array([float(m) for _, m in atoms])
        for _ in range(count):
            losses = np.add.outer(losses, more).ravel()
            masses = np.multiply.outer(masses, chances).ravel()
    levels = float(case.epsilon) - losses
    directions = (True, False) if isinstance(case.smooth, SampledPair) else (True,)
    finite = max(float(np.sum(masses * _integral(case, levels, forward))) for forward in directions)
    return float(_leak(case)) + finite


def _random_smooth(draw: Draw) -> Pair | None:
    kind, size = draw(4), Fraction(20 + draw(300), 100)
    if kind == 0:
        return None
    if kind == 1:
        return LaplacePair(scale=size, contribution=1, relation=Relation.METRIC)
    relation = (Relation.ADD_REMOVE, Relation.REPLACE)[draw(2)]
    if kind == 2:
        return GaussianPair(sigma=size, contribution=Fraction(1, 2), relation=relation)
    noise = GaussianPair(sigma=1 + size, contribution=1, relation=Relation.ADD_REMOVE)
    return SampledPair(pair=noise, rate=Fraction(1 + draw(99), 100), sampling=Sampling.POISSON)


def _random_finite(draw: Draw) -> Pair:
    if draw(2):
        delta = (Fraction(0), Fraction(1, 10**6), Fraction(1, 100))[draw(3)]
        return ResponsePair(epsilon=Fraction(1 + draw(200), 100), options=2 + draw(3), delta=delta)
    steps = 1 + draw(3)
    return DiscreteLaplacePair(scale=Fraction(50 + draw(400), 100), contribution=steps, relation=Relation.METRIC)


def _atoms(pair: Pair) -> Atoms:
    """Return the finite losses of one mechanism and their probabilities."""
    if isinstance(pair, ResponsePair):
        growth = _decimal(pair.epsilon).exp()
        lie = (1 - _decimal(pair.leak)) / (growth + pair.options - 1)
        others = [(Fraction(0), (pair.options - 2) * lie)] if pair.options > 2 else []
        return [(pair.epsilon, growth * lie), (-pair.epsilon, lie), *others]
    if not isinstance(pair, DiscreteLaplacePair):
        raise TypeError(pair)
    steps, ratio = pair.contribution, (-_decimal(1 / pair.scale)).exp()
    # The clamped position of the noisy value between the two true ones; the ends take all that lies beyond.
    chances = [(1 - ratio) / (1 + ratio) * ratio ** (steps - j) for j in range(steps + 1)]
    chances[0], chances[-1] = ratio**steps / (1 + ratio), 1 / (1 + ratio)
    return [((2 * j - steps) / pair.scale, chance) for j, chance in enumerate(chances)]


def _multinomial(atoms: Atoms, count: int) -> Atoms:
    """Return the sums of ``count`` equal parts, counted rather than listed."""
    found = []
    for chosen in itertools.combinations_with_replacement(range(len(atoms)), count):
        ways, mass, loss = math.factorial(count), Decimal(1), Fraction(0)
        for index, (value, chance) in enumerate(atoms):
            times = chosen.count(index)
            ways //= math.factorial(times)
            mass, loss = mass * chance**times, loss + times * value
        found.append((loss, ways * mass))
    return found


def _curves(case: Case) -> list[Callable[[Fraction], Decimal]]:
    """Return the loss curve of the continuous part at any real epsilon, in each direction."""
    smooth = case.smooth
    if smooth is None:
        return [lambda x: max(Decimal(0), 1 - _decimal(x).exp())]
    if isinstance(smooth, LaplacePair):
        shift = smooth.pure
        return [lambda x: max(Decimal(0), 1 - _decimal(x).exp(), 1 - _decimal((x - shift) / 2).exp())]
    if isinstance(smooth, GaussianPair):
        total = sqrt_down(case.smooth_count * _ratio(smooth) ** 2)
        return [lambda x: hockey_stick(total, x)[0]]
    if not isinstance(smooth, SampledPair) or not isinstance(smooth.pair, GaussianPair):
        raise TypeError(smooth)
    mu, rate = _ratio(smooth.pair), _decimal(smooth.rate)

    def removed(x: Fraction) -> Decimal:
        growth = _decimal(x).exp()
        if growth <= 1 - rate:
            return 1 - growth
        return rate * hockey_stick(mu, Fraction(((growth - 1 + rate) / rate).ln()))[0]

    def added(x: Fraction) -> Decimal:
        growth = _decimal(x).exp()
        weight = 1 - growth * (1 - rate)
        return weight * hockey_stick(mu, Fraction((growth * rate / weight).ln()))[0] if weight > 0 else Decimal(0)

    return [removed, added]


def _integral(case: Case, levels: Floats, forward: bool) -> Floats:
    """Return the integral of (1 - e^(level - L))+ over the law of L under P, by Gauss-Legendre panels."""
    smooth = case.smooth
    with np.errstate(all="ignore"):
        if smooth is None:
            return np.maximum(0.0, -np.expm1(levels))
        if isinstance(smooth, LaplacePair):
            shift = float(smooth.pure)
            # The value between the two centres has density e^(y - shift) / 2 and loss 2 y - shift; the ends are atoms.
            begin = np.clip((levels + shift) / 2, 0.0, shift)
            inside = _panels(
                begin, np.full_like(begin, shift), lambda y: (np.exp(y - shift) / 2, 2 * y - shift), levels
            )
            ends = ((0.5, shift), (0.5 * math.exp(-shift), -shift))
            return inside + sum(mass * np.maximum(0.0, -np.expm1(levels - loss)) for mass, loss in ends)
        if isinstance(smooth, GaussianPair):
            mu, rate = float(_ratio(smooth)) * math.sqrt(case.smooth_count), 1.0
        else:
            mu, rate = float(_ratio(smooth.pair)), float(smooth.rate)  # type: ignore[attr-defined]

        def at(x: Floats) -> tuple[Floats, Floats]:
            base, likelihood = np.exp(-x * x / 2) / math.sqrt(2 * math.pi), mu * x - mu * mu / 2
            mixed = 1 - rate + rate * np.exp(likelihood)
            return (base * mixed, np.log(mixed)) if forward else (base, -np.log(mixed))

        # The loss passes the level where the mixture has that likelihood ratio.
        ratio = (np.exp(levels if forward else -levels) - 1 + rate) / rate
        pivot = np.where(ratio > 0, np.log(np.maximum(ratio, 1e-300)) / mu + mu / 2, -np.inf)
        low, high = -14.0, mu + 14.0
        pivot = np.clip(pivot, low, high)
        if forward:
            return _panels(pivot, np.full_like(pivot, high), at, levels)
        return _panels(np.full_like(pivot, low), pivot, at, levels)


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(_NODES)


def _panels(begin: Floats, end: Floats, at: Callable[[Floats], tuple[Floats, Floats]], levels: Floats) -> Floats:
    nodes, weights = _nodes()
    width = (end - begin) / _PANELS
    total = np.zeros_like(levels)
    for panel in range(_PANELS):
        middle = begin + (panel + 0.5) * width
        density, loss = at(middle[:, None] + width[:, None] / 2 * nodes)
        total += (density * np.maximum(0.0, -np.expm1(levels[:, None] - loss))) @ weights * width / 2
    return total


def _leak(case: Case) -> Decimal:
    kept = math.prod((1 - pair.leak) ** count for pair, count in case.finite)
    return _decimal(1 - Fraction(kept))


def _size(finite: list[tuple[Pair, int]]) -> int:
    """Return an upper bound on the number of distinct sums."""
    with localcontext() as context:
        context.prec = _DIGITS
        return math.prod(math.comb(len(_atoms(pair)) + count - 1, count) for pair, count in finite)


def _ratio(pair: Pair) -> Fraction:
    if not isinstance(pair, GaussianPair):
        raise TypeError(pair)
    return (2 if pair.relation is Relation.REPLACE else 1) * pair.contribution / pair.sigma


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)
