"""Accounted plans: many Gaussian draws, some of them on secret samples, priced together by their loss distribution.

Discrete Gaussian draws are priced as rounded ones, which they are close to. The distance between the two is set aside
from delta, once for the whole plan.

A sample makes a draw tell less, but rho says nothing about how much less; the law of the loss does. For plans that are
fixed in advance, which all plans are: values may depend on earlier answers, and a loop may stop early, as what it would
have drawn can be drawn and thrown away. The figures come from ``dither.privacy.accountants``, rounded towards more
loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Final

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.exact import Number, Probability, exact, round_up
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import (
    NOTHING,
    ApproxDP,
    Distance,
    InOrder,
    Loss,
    Plan,
    Relation,
    Repeat,
    Sampled,
    SampledExactly,
    Unit,
    Use,
)
from dither.privacy.conversions import zcdp_epsilon
from dither.privacy.plans import Step, Taken, chance_of_catching, seen_by_a_sibling
from dither.privacy.whole_gaussian import epsilon_within, total_variation

if TYPE_CHECKING:
    from dither.privacy.accountants import LossDistribution

#: A share of the units that is drawn: its rate, 1 without a sample; and for a sample of fixed size (kept, of).
_Share = tuple[Fraction, tuple[int, int] | None]
#: A draw: how far its value moves for one unit, in deviations of the noise; and what it is drawn on.
_Kind = tuple[Fraction, Fraction, tuple[int, int] | None]
#: Draws of each kind, and how many.
_Draws = tuple[tuple[_Kind, int], ...]

#: What is one element of what is sampled: a row, or a person with all rows.
_ELEMENTS: Final = frozenset({"row", "person"})


@dataclass(frozen=True)
class Accounted(Plan):
    """A plan of Gaussian draws, on all units or on secret samples of them, priced as a whole at a public ``delta``.

    Rule: (epsilon, delta), where epsilon is that of the loss distribution of all draws together. The stability of a
    draw bounds what a replaced unit does and also what a unit that leaves does. Samples are of whole units: what is
    sampled has one element for each, such as one array with all rows of a person.

    Args:
        plan: sequences and repetitions of ``Use(Gaussian)`` and ``Use(DiscreteGaussian)``, and of ``Sampled`` and
            ``SampledExactly`` of these. A discrete sigma is at least 1.
        unit: rows or people, added or removed, or replaced. Samples of a fixed size require replaced ones.
        delta: the probability that the epsilon bound may be exceeded.

    >>> from dither.privacy import ROW
    >>> rounds = Repeat(Sampled(Use(Gaussian(sigma=4)), rate="0.01"), times=10_000)
    >>> print(Accounted(rounds, ROW, "1e-5").loss())
    epsilon = 0.946..., delta = 1e-05
    >>> steps = Repeat(Sampled(Use(DiscreteGaussian(sigma=2**34, shape=(10**5,)), 2**32), rate="0.01"), times=10_000)
    >>> print(Accounted(steps, ROW, "1e-5").loss())
    epsilon = 0.946..., delta = 1e-05

    """

    plan: Plan
    unit: Unit
    delta: Probability = Probability()

    def __post_init__(self) -> None:
        relations = (Relation.ADD_REMOVE, Relation.REPLACE)
        if not (isinstance(self.unit, Unit) and self.unit.protects in _ELEMENTS and self.unit.relation in relations):
            raise InvalidParameter("unit", self.unit, "rows or people, added or removed, or replaced")
        if not Fraction(1, 10**20) <= self.delta:
            raise InvalidParameter("delta", str(self.delta), "at least 1e-20")
        if not self.draws:
            raise InvalidParameter("plan", self.plan, "at least one draw")
        if self.unit.relation is not Relation.REPLACE and any(fixed for (_, _, fixed), _ in self.draws):
            raise IncompatibleDistance("a plan on a sample of fixed size", "units replaced", self.unit)

    @cached_property
    def draws(self) -> _Draws:
        """All draws of the plan, grouped by kind, in a fixed order."""
        found = _counted(self.plan, 1).items()
        return tuple(sorted(found, key=lambda one: (one[0][0], one[0][1], one[0][2] or (0, 0))))

    @cached_property
    def apart(self) -> Fraction:
        """At least the total variation between these draws and the same ones with rounded noise in place of discrete.

        Zero where no noise is discrete. For any one data set, whatever the values.
        """
        return _apart(self.plan)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon at delta for data ``d_in`` rows apart."""
        rows = exact("d_in", d_in)
        if rows.denominator != 1 or rows < 0:
            raise InvalidParameter("d_in", d_in, "an integer number of units")
        if not rows:
            return NOTHING
        return ApproxDP(_epsilon(self.draws, self.unit.relation, int(rows), self.delta, self.apart), self.delta)

    def after(self, step: Step) -> Taken | None:
        """Match the first step of the plan; the remaining steps are already paid for."""
        return self.plan.after(step)

    @property
    def may_end(self) -> bool:
        """Whether the plan may end here."""
        return self.plan.may_end

    def check(self, unit: Distance) -> None:
        """Reject every unit except the declared one."""
        if unit != self.unit:
            raise IncompatibleDistance("an accounted plan", self.unit, unit)
        if seen_by_a_sibling(self.unit) and any(fixed for (_, _, fixed), _ in self.draws):
            # The size of one disjoint part of the data is private, and a unit may leave it without a successor.
            raise IncompatibleDistance("a plan on a sample of fixed size", "units of all of the data", unit)


def _counted(plan: Plan, times: int) -> Counter[_Kind]:
    """Return how many draws of each kind a plan makes."""
    found: Counter[_Kind] = Counter()
    if isinstance(plan, InOrder):
        for part in plan.plans:
            found.update(_counted(part, times))
    elif isinstance(plan, Repeat):
        found.update(_counted(plan.plan, times * plan.times))
    else:
        (rate, fixed), noise, stability = _sampling(plan)
        found[stability / noise.sigma, rate, fixed] += times
    return +found


def _apart(plan: Plan) -> Fraction:
    """Return a bound on the distance between the draws of a plan and those with rounded noise; distances add up."""
    if isinstance(plan, InOrder):
        return sum((_apart(part) for part in plan.plans), Fraction(0))
    if isinstance(plan, Repeat):
        return plan.times * _apart(plan.plan)
    _, part, _ = _sampling(plan)
    if not isinstance(part, DiscreteGaussian):
        return Fraction(0)
    shape: tuple[int, ...] = part.draw_shape
    return prod(shape) * total_variation(part.sigma)


def _sampling(plan: Plan) -> tuple[_Share, Gaussian | DiscreteGaussian, Fraction]:
    """Return the sampling of a draw, its noise and its stability."""
    share: _Share = (Fraction(1), None)
    use = plan
    if isinstance(plan, Sampled):
        share, use = (plan.rate, None), plan.plan
    elif isinstance(plan, SampledExactly):
        share, use = (Fraction(plan.kept, plan.of), (plan.kept, plan.of)), plan.plan
    if not (isinstance(use, Use) and isinstance(use.part, Gaussian | DiscreteGaussian)):
        raise InvalidParameter("plan", plan, "made of Gaussian draws, one from each sample")
    if isinstance(use.part, DiscreteGaussian) and not use.part.sigma >= 1:
        raise InvalidParameter("plan", plan, "made of discrete Gaussian draws with a sigma of 1 or more")
    return share, use.part, use.stability


@lru_cache(maxsize=256)
def _epsilon(draws: _Draws, relation: Relation, units: int, delta: Fraction, apart: Fraction) -> Fraction:
    """Return epsilon at delta for ``units`` units: the smaller of the loss distribution's and the unsampled rho's."""
    rho = sum((count * (units * moved) ** 2 / 2 for (moved, _, _), count in draws), Fraction(0))
    plain = zcdp_epsilon(rho, delta)
    from dither.privacy.accountants import compose_distributions

    try:
        found = compose_distributions(_distribution(kind, count, relation, units) for kind, count in draws)
        return min(plain, epsilon_within(found.epsilon, delta, apart))
    except NoGuarantee:
        return plain


def _distribution(kind: _Kind, count: int, relation: Relation, units: int) -> LossDistribution:
    """Return the loss distribution of draws of one kind."""
    from dither.privacy.accountants import GaussianPair, LossDistribution, SampledPair, Sampling
    from dither.privacy.accountants.distribution import power_down

    moved, rate, fixed = kind
    if rate == 1:
        pair = GaussianPair(sigma=1, contribution=units * moved, relation=Relation.METRIC)
        return LossDistribution.of(pair, count=count)
    if fixed is not None:
        # At most as many of the units are in the sample as it holds.
        noise = GaussianPair(sigma=1, contribution=min(units, fixed[0]) * moved / 2, relation=Relation.REPLACE)
        caught = round_up(chance_of_catching(*fixed, units), bits=64)
        return LossDistribution.of(SampledPair(pair=noise, rate=caught, sampling=Sampling.FIXED), count=count)
    if relation is Relation.ADD_REMOVE and units == 1:
        noise = GaussianPair(sigma=1, contribution=moved, relation=relation)
        return LossDistribution.of(SampledPair(pair=noise, rate=rate, sampling=Sampling.POISSON), count=count)
    # Several units, or replaced ones: none of them is in the sample, or some are and the value moves by all of it.
    noise = GaussianPair(sigma=1, contribution=units * moved / 2, relation=Relation.REPLACE)
    caught = min(Fraction(1), round_up(1 - power_down(1 - rate, units), bits=64))
    return LossDistribution.of(SampledPair(pair=noise, rate=caught, sampling=Sampling.POISSON), count=count)
