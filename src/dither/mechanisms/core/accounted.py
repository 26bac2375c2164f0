"""Accounted plans: many Gaussian draws, some of them on secret samples, priced together by their loss distribution.

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
from typing import TYPE_CHECKING

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.exact import Number, Probability, exact, round_up
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import (
    NOTHING,
    ROW,
    ROW_REPLACED,
    ApproxDP,
    Distance,
    InOrder,
    Loss,
    Plan,
    Relation,
    Repeat,
    Sampled,
    Unit,
    Use,
)
from dither.privacy.conversions import zcdp_epsilon
from dither.privacy.plans import Step, Taken

if TYPE_CHECKING:
    from dither.privacy.accountants import LossDistribution

#: A draw: how far its value moves for one unit, in deviations of the noise; and the rate of its sample, 1 without one.
_Kind = tuple[Fraction, Fraction]
#: Draws of each kind, and how many.
_Draws = tuple[tuple[_Kind, int], ...]


@dataclass(frozen=True)
class Accounted(Plan):
    """A plan of Gaussian draws, on all rows or on secret Poisson samples, priced as a whole at a public ``delta``.

    Rule: (epsilon, delta), where epsilon is that of the loss distribution of all draws together. The stability of a
    draw bounds what a replaced row does and also what a row that leaves does.

    Args:
        plan: sequences and repetitions of ``Use(Gaussian)`` and of ``Sampled(Use(Gaussian))``.
        unit: ROW or ROW_REPLACED.
        delta: the probability that the epsilon bound may be exceeded.

    >>> rounds = Repeat(Sampled(Use(Gaussian(sigma=4)), rate="0.01"), times=10_000)
    >>> print(Accounted(rounds, ROW, "1e-5").loss())
    epsilon = 0.946..., delta = 1e-05

    """

    plan: Plan
    unit: Unit
    delta: Probability = Probability()

    def __post_init__(self) -> None:
        if self.unit not in (ROW, ROW_REPLACED):
            raise InvalidParameter("unit", self.unit, "ROW or ROW_REPLACED")
        if not Fraction(1, 10**20) <= self.delta:
            raise InvalidParameter("delta", str(self.delta), "at least 1e-20")
        if not self.draws:
            raise InvalidParameter("plan", self.plan, "at least one draw")

    @cached_property
    def draws(self) -> _Draws:
        """All draws of the plan, grouped by kind, in a fixed order."""
        return tuple(sorted(_counted(self.plan, 1).items()))

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon at delta for data ``d_in`` rows apart."""
        rows = exact("d_in", d_in)
        if rows.denominator != 1 or rows < 0:
            raise InvalidParameter("d_in", d_in, "an integer number of units")
        return (
            ApproxDP(_epsilon(self.draws, self.unit.relation, int(rows), self.delta), self.delta) if rows else NOTHING
        )

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


def _counted(plan: Plan, times: int) -> Counter[_Kind]:
    """Return how many draws of each kind a plan makes."""
    found: Counter[_Kind] = Counter()
    if isinstance(plan, InOrder):
        for part in plan.plans:
            found.update(_counted(part, times))
    elif isinstance(plan, Repeat):
        found.update(_counted(plan.plan, times * plan.times))
    else:
        rate, use = (plan.rate, plan.plan) if isinstance(plan, Sampled) else (Fraction(1), plan)
        if not (isinstance(use, Use) and isinstance(use.part, Gaussian)):
            raise InvalidParameter("plan", plan, "made of Gaussian draws, one from each sample")
        found[use.stability / use.part.sigma, rate] += times
    return +found


@lru_cache(maxsize=256)
def _epsilon(draws: _Draws, relation: Relation, rows: int, delta: Fraction) -> Fraction:
    """Return epsilon at delta for ``rows`` rows: the smaller of the loss distribution's and the unsampled rho's."""
    rho = sum((count * (rows * moved) ** 2 / 2 for (moved, _), count in draws), Fraction(0))
    plain = zcdp_epsilon(rho, delta)
    from dither.privacy.accountants import compose_distributions

    try:
        found = compose_distributions(_distribution(kind, count, relation, rows) for kind, count in draws)
        return min(plain, found.epsilon(delta))
    except NoGuarantee:
        return plain


def _distribution(kind: _Kind, count: int, relation: Relation, rows: int) -> LossDistribution:
    """Return the loss distribution of draws of one kind."""
    from dither.privacy.accountants import GaussianPair, LossDistribution, SampledPair, Sampling
    from dither.privacy.accountants.distribution import power_down

    moved, rate = kind
    if rate == 1:
        pair = GaussianPair(sigma=1, contribution=rows * moved, relation=Relation.METRIC)
        return LossDistribution.of(pair, count=count)
    if relation is Relation.ADD_REMOVE and rows == 1:
        noise = GaussianPair(sigma=1, contribution=moved, relation=relation)
        return LossDistribution.of(SampledPair(pair=noise, rate=rate, sampling=Sampling.POISSON), count=count)
    # Several rows, or replaced ones: none of them is in the sample, or some are and the value moves by all of it.
    noise = GaussianPair(sigma=1, contribution=rows * moved / 2, relation=Relation.REPLACE)
    caught = min(Fraction(1), round_up(1 - power_down(1 - rate, rows), bits=64))
    return LossDistribution.of(SampledPair(pair=noise, rate=caught, sampling=Sampling.POISSON), count=count)
