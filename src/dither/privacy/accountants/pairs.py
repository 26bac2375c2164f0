"""Dominating pairs: the two output distributions that reveal the most about one unit, for each basic mechanism.

A pair dominates a mechanism when at every epsilon no two neighbouring data sets give a larger delta than it does. Pairs
of mechanisms fixed in advance dominate together what the mechanisms release together, so losses are computed from pairs
alone. Every pair says under which relation it dominates. ``contribution`` is the largest norm of what *one unit* adds
to the value: if units are added or removed the value moves by that much, if they are **replaced by twice as much**, and
if the value itself is what moves (``Relation.METRIC``, a primitive in its own distance) by exactly that much.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.errors import IncompatibleDistance, InvalidParameter
from dither.exact import Number, Of, Positive, Probability, Whole, exact, log_up
from dither.privacy.accountants.grid import Cells, View, cells_of, deviation, reach
from dither.privacy.accountants.laws import (
    AtomLaw,
    GeometricLaw,
    LaplaceLaw,
    Law,
    NormalLaw,
    discrete_gaussian_law,
    float_up,
    response_law,
)
from dither.privacy.conversions import amplified_epsilon
from dither.privacy.distances import Relation

#: Losses this large count as infinite anyway; a cap keeps the exponentials finite.
_CAP = 600.0


class Pair(ABC):
    """Two output distributions that dominate a mechanism under a relation."""

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """How neighbours differ; METRIC if the pair is about a value that moves, for any unit."""

    @abstractmethod
    def law(self, *, forward: bool) -> Law:
        """Return the loss distribution; forward is with the unit against without it, or either of two replaced ones."""

    @property
    def pure(self) -> Fraction | None:
        """An epsilon, rounded up, that holds in both directions with delta = ``leak``; None if there is none."""
        return None

    @property
    def leak(self) -> Fraction:
        """The probability that everything is revealed, the larger of both directions."""
        return Fraction(0)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions have the same loss: symmetric additive noise, and responses."""
        return True

    def view(self, *, forward: bool) -> tuple[Law, View, float]:
        """Return the basic distribution, how it is seen, and the sampling rate."""
        return self.law(forward=forward), View.WHOLE, 1.0

    def cells(self, exponent: int, *, forward: bool) -> Cells:
        """Return the loss on the grid of step 2^-exponent, never understated."""
        return _cells(self, exponent, forward)

    def width(self, *, forward: bool) -> float:
        """Return the distance between the smallest and largest loss that is tracked."""
        low, high = reach(*self.view(forward=forward))
        return high - low

    def deviation(self, *, forward: bool) -> float:
        """Return roughly the root mean square loss."""
        return _deviation(self, forward)


@lru_cache(maxsize=16)
def _cells(pair: Pair, exponent: int, forward: bool) -> Cells:
    law, view, rate = pair.view(forward=forward)
    return cells_of(law, exponent, view, rate)


@lru_cache(maxsize=4096)
def _deviation(pair: Pair, forward: bool) -> float:
    return deviation(*pair.view(forward=forward))


def forget_cells() -> None:
    """Clear all cached cells."""
    _cells.cache_clear()
    _deviation.cache_clear()


class Related(Of[Relation]):
    """How neighbours differ; there is no default."""

    def __init__(self) -> None:
        super().__init__(Relation, rule="a Relation: ADD_REMOVE, REPLACE or METRIC")


def related(name: str, value: Relation) -> Relation:
    """Return a relation; reject anything that merely reads like one."""
    return Related().convert(name, value)


def moved(contribution: Fraction | int, relation: Relation) -> Fraction:
    """Return how far a sum moves: a replaced unit removes its contribution and adds another."""
    twice = related("relation", relation) is Relation.REPLACE
    return Fraction(2 * contribution if twice else contribution)


@dataclass(frozen=True, kw_only=True)
class GaussianPair(Pair):
    """Gaussian noise of deviation ``sigma`` on a vector; contributions are measured in Euclidean length.

    >>> from dither.privacy.accountants import LossDistribution
    >>> replaced = GaussianPair(sigma=2, contribution=1, relation=Relation.REPLACE)
    >>> round(float(LossDistribution.of(replaced).epsilon("1e-5")), 2)
    4.38
    """

    sigma: Positive = Positive()
    contribution: Positive = Positive()
    relation: Related = Related()

    def law(self, *, forward: bool) -> Law:
        """Return two normal distributions, a distance over sigma apart."""
        return NormalLaw(min(float_up(moved(self.contribution, self.relation) / self.sigma), _CAP))


@dataclass(frozen=True, kw_only=True)
class LaplacePair(Pair):
    """Laplace noise of that scale on every entry of a vector; contributions are sums of absolute entries."""

    scale: Positive = Positive()
    contribution: Positive = Positive()
    relation: Related = Related()

    @property
    def pure(self) -> Fraction:
        """The distance over the scale."""
        return moved(self.contribution, self.relation) / self.scale

    def law(self, *, forward: bool) -> Law:
        """Return two Laplace distributions, a distance over the scale apart."""
        return LaplaceLaw(min(float_up(self.pure), _CAP))


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplacePair(Pair):
    """Two-sided geometric noise on every entry of a vector of integers; contributions are sums of absolute entries."""

    scale: Positive = Positive()
    contribution: Whole = Whole(least=1, most=2**50)
    relation: Related = Related()

    @property
    def pure(self) -> Fraction:
        """The distance over the scale."""
        return moved(self.contribution, self.relation) / self.scale

    def law(self, *, forward: bool) -> Law:
        """Return two discrete Laplace distributions."""
        steps = int(moved(self.contribution, self.relation))
        return GeometricLaw(min(float_up(1 / self.scale), _CAP / steps), steps)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianPair(Pair):
    """Discrete Gaussian noise on *one* integer. For vectors use rho: no single pair is known to dominate there."""

    sigma: Positive = Positive()
    contribution: Whole = Whole(least=1, most=2**50)
    relation: Related = Related()

    def law(self, *, forward: bool) -> Law:
        """Return two discrete Gaussians."""
        steps = int(moved(self.contribution, self.relation))
        return discrete_gaussian_law(max(self.sigma, Fraction(steps, 100)), steps)


@dataclass(frozen=True, kw_only=True)
class ResponsePair(Pair):
    """Randomised response among ``options``: the truth e^epsilon times as likely as each other answer.

    With ``delta`` it tells the truth outright that often; on two options this is the worst of all (epsilon, delta)-DP
    mechanisms (Kairouz, Oh and Viswanath 2015). What moves is a person's own answer.
    """

    epsilon: Positive = Positive()
    options: Whole = Whole(2, least=2, most=2**50)
    delta: Probability = Probability(0)

    @property
    def relation(self) -> Relation:
        """A value that moves."""
        return Relation.METRIC

    @property
    def pure(self) -> Fraction:
        """The epsilon."""
        return self.epsilon

    @property
    def leak(self) -> Fraction:
        """The delta."""
        return self.delta

    def law(self, *, forward: bool) -> Law:
        """Return three atoms, or two."""
        return response_law(min(float_up(self.epsilon), _CAP), self.options, float_up(self.delta))


@dataclass(frozen=True)
class FinitePair(Pair):
    """Any two distributions on finitely many outcomes: with the unit, and without it.

    >>> FinitePair(("0.6", "0.4"), ("0.5", "0.5"), Relation.ADD_REMOVE).is_symmetric
    False
    """

    first: tuple[Number, ...]
    second: tuple[Number, ...]
    relation: Related = Related()

    def __post_init__(self) -> None:
        for name, given in (("first", self.first), ("second", self.second)):
            chances = tuple(exact(name, chance) for chance in given) if isinstance(given, Sequence) else ()
            if len(self.first) != len(self.second) or sum(chances) != 1 or min(chances) < 0:
                raise InvalidParameter(name, given, "chances of sum 1, of the same number in both laws")
            object.__setattr__(self, name, chances)

    @property
    def pure(self) -> Fraction:
        """The largest loss of an outcome that both distributions can give."""
        losses = (max(log_up(a / b), log_up(b / a)) for a, b in self._outcomes(forward=True) if a and b)
        return max(losses, default=Fraction(0))

    @property
    def leak(self) -> Fraction:
        """The probability of outcomes that only one distribution can give."""
        return max(self._alone(forward=True), self._alone(forward=False))

    @property
    def is_symmetric(self) -> bool:
        """False: it need not be."""
        return False

    def law(self, *, forward: bool) -> Law:
        """Return the atoms; outcomes that only one distribution can give are infinite losses."""
        both = [(a, b) for a, b in self._outcomes(forward=forward) if a and b]
        losses = np.array([float(log_up(a / b)) for a, b in both] or [0.0])
        masses = [np.array([float(chances[side]) for chances in both] or [0.0]) for side in (0, 1)]
        leak, hidden = (float_up(self._alone(forward=way)) for way in (forward, not forward))
        return AtomLaw(losses, *masses, leak=leak, hidden=hidden)

    def _outcomes(self, *, forward: bool) -> list[tuple[Fraction, Fraction]]:
        chances = [(Fraction(a), Fraction(b)) for a, b in zip(self.first, self.second, strict=True)]
        return chances if forward else [(b, a) for a, b in chances]

    def _alone(self, *, forward: bool) -> Fraction:
        return sum((a for a, b in self._outcomes(forward=forward) if not b), Fraction(0))


class Sampling(Enum):
    """How a secret sample is drawn."""

    POISSON = "each unit by itself, with one probability"
    FIXED = "a public number of the units, without replacement"


@dataclass(frozen=True, kw_only=True)
class SampledPair(Pair):
    """A mechanism run on a secret sample that holds any one unit with probability ``rate``.

    Under add/remove only Poisson sampling, and the two directions differ; both are kept. Under replace-one both ways of
    sampling have the same bound, which for a fixed size is reached. ``pair`` is about the mechanism on the sample,
    under the same relation. The runner draws the sample in secret and its size is never released.
    """

    pair: Pair
    rate: Positive = Positive()
    sampling: Sampling

    def __post_init__(self) -> None:
        if not self.rate <= 1:
            raise InvalidParameter("rate", str(self.rate), "a number in (0, 1]")
        if not isinstance(self.pair, Pair) or isinstance(self.pair, SampledPair):
            raise InvalidParameter("pair", self.pair, "a pair that is not sampled itself")
        if not isinstance(self.sampling, Sampling):
            raise InvalidParameter("sampling", self.sampling, "a Sampling: POISSON or FIXED")
        if self.pair.relation is Relation.METRIC:
            raise IncompatibleDistance("a sampled pair", "units added or removed, or replaced", "values that move")
        if self.sampling is Sampling.FIXED and self.pair.relation is not Relation.REPLACE:
            raise IncompatibleDistance("a sample of fixed size", "units replaced", f"units {self.relation.value}")
        if self.relation is Relation.REPLACE and not self.pair.is_symmetric:
            raise InvalidParameter("pair", self.pair, "a symmetric pair where units are replaced")

    @property
    def relation(self) -> Relation:
        """The relation of the mechanism on the sample."""
        return self.pair.relation

    @property
    def pure(self) -> Fraction | None:
        """ln(1 + rate * (e^epsilon - 1)), rounded up."""
        return None if self.pair.pure is None else amplified_epsilon(self.pair.pure, self.rate)

    @property
    def leak(self) -> Fraction:
        """The rate times the pair's leak."""
        return self.rate * self.pair.leak

    @property
    def is_symmetric(self) -> bool:
        """Under replace-one, or if everything is in the sample."""
        return self.pair.is_symmetric and (self.relation is Relation.REPLACE or self.rate == 1)

    def law(self, *, forward: bool) -> Law:
        """Return the distribution of the sampled pair."""
        return self.pair.law(forward=forward)

    def view(self, *, forward: bool) -> tuple[Law, View, float]:
        """Return the pair seen through the sample; forward is with the unit against without it."""
        rate = float_up(self.rate)
        if rate >= 1:
            return self.law(forward=forward), View.WHOLE, 1.0
        if self.relation is Relation.REPLACE:
            return self.law(forward=True), View.REPLACED, rate
        return self.law(forward=True), View.REMOVED if forward else View.ADDED, rate
