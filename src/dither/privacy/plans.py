"""Plans: a small public algebra of draws, from which the loss follows.

A composed mechanism states what it may draw before it sees data. ``loss`` prices the whole plan; ``after`` says what
of it is left once a step has been taken, which is how a runner refuses a draw that is not in the plan before it is
made. Each rule and its theorem is on the page ``docs/theory/plans.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, Protocol

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.exact import Number, Positive, Whole, exact, non_negative
from dither.exact.enclosure import round_down
from dither.privacy.conversions import amplified_epsilon
from dither.privacy.distances import Distance, Relation, Unit
from dither.privacy.losses import NOTHING, ApproxDP, Loss, PureDP, compose, largest


class Part(Protocol):
    """What a plan needs to know about a mechanism: what its ``d_in`` counts, and its price."""

    @property
    def distance(self) -> Distance:
        """What ``d_in`` counts."""

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss for inputs ``d_in`` apart."""


@dataclass(frozen=True)
class Repeats:
    """A secret random number of repetitions, from the families that make selection private.

    ``shape`` 1 is the geometric law (a coin of probability ``stop`` after each run), ``shape`` 0 the logarithmic law
    P[K = k] proportional to (1 - stop)^k / k. Choosing the best of K runs costs (2 + shape) times one run.

    >>> Repeats(stop="0.1", shape=1).mean
    10.0
    """

    stop: Positive = Positive()
    shape: Whole = Whole(most=1)

    def __post_init__(self) -> None:
        if not self.stop < 1:
            raise InvalidParameter("stop", str(self.stop), "a number in (0, 1)")

    @property
    def mean(self) -> float:
        """The expected number of runs."""
        import math

        stop = float(self.stop)
        return 1 / stop if self.shape else (1 / stop - 1) / math.log(1 / stop)


@dataclass(frozen=True)
class Draw:
    """One draw from a part."""

    part: Part
    stability: Fraction


@dataclass(frozen=True)
class Split:
    """The data is divided among disjoint siblings."""

    siblings: int


@dataclass(frozen=True)
class Sample:
    """A secret Poisson sample of the data is taken."""

    rate: Fraction


@dataclass(frozen=True)
class SampleExactly:
    """A secret sample of a public size is taken from data whose size is public too."""

    kept: int
    of: int


@dataclass(frozen=True)
class Select:
    """A secret random number of runs begins, of which only the best is released."""

    repeats: Repeats


@dataclass(frozen=True)
class Adapt:
    """A run under a filter begins."""


Step = Draw | Split | Sample | SampleExactly | Select | Adapt


class Taken(NamedTuple):
    """The rest of the plan after a step, and the plan that the step opened, if any."""

    rest: Plan
    inner: Plan | None = None


class Plan(ABC):
    """The draws that a mechanism may make; public, and fixed before any data is seen."""

    @abstractmethod
    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of the whole plan for data ``d_in`` apart."""

    @abstractmethod
    def after(self, step: Step) -> Taken | None:
        """Return the rest of the plan after ``step``, or None if the plan has no such step here."""

    @property
    @abstractmethod
    def may_end(self) -> bool:
        """Whether no further draw is required."""

    @abstractmethod
    def check(self, unit: Distance) -> None:
        """Raise unless every rule used holds under this unit and no part counts another unit."""

    def then(self, rest: Plan) -> Plan:
        """Return this plan followed by ``rest``."""
        parts = [*(self.plans if isinstance(self, InOrder) else (self,))]
        parts += rest.plans if isinstance(rest, InOrder) else (rest,)
        return parts[0] if len(parts) == 1 else InOrder(tuple(parts))


@dataclass(frozen=True)
class Use(Plan):
    """One draw from ``part`` on a value that moves by at most ``stability`` per unit of data.

    Rule: the loss for data d apart is the part's loss at d * stability.
    """

    part: Part
    stability: Positive = Positive(1)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the part's loss at ``d_in * stability``."""
        return self.part.loss(non_negative("d_in", d_in) * self.stability)

    def after(self, step: Step) -> Taken | None:
        """Match the one draw."""
        return Taken(DONE) if step == Draw(self.part, self.stability) else None

    @property
    def may_end(self) -> bool:
        """False: the draw is required."""
        return False

    def check(self, unit: Distance) -> None:
        """Reject a data-level part that counts another unit."""
        if isinstance(self.part.distance, Unit) and self.part.distance != unit:
            raise IncompatibleDistance("part", unit, self.part.distance)


@dataclass(frozen=True)
class Derived(Use):
    """One draw from ``part`` on derived data, which moves by at most ``stability`` of the part's own units.

    For a method that counts rows, lifted to people who have several. Rule: the loss for data d apart is the part's
    loss at d * stability. If the part counts a unit, that must be an integer.
    """

    def __post_init__(self) -> None:
        if isinstance(self.part.distance, Unit) and exact("stability", self.stability).denominator != 1:
            raise InvalidParameter("stability", self.stability, f"an integer number of {self.part.distance}")

    def check(self, unit: Distance) -> None:
        """Accept any unit: the stability says how many of the part's own units it moves."""


@dataclass(frozen=True)
class InOrder(Plan):
    """All plans, one after another, each of which may depend on earlier releases. Rule: losses add."""

    plans: tuple[Plan, ...]

    @classmethod
    def of(cls, *plans: Plan) -> InOrder:
        """Return the sequence of these plans."""
        return cls(plans)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the sum."""
        return compose(plan.loss(d_in) for plan in self.plans)

    def after(self, step: Step) -> Taken | None:
        """Match the first plan that can take the step, skipping plans that may end."""
        for position, plan in enumerate(self.plans):
            taken = plan.after(step)
            if taken is not None:
                return Taken(taken.rest.then(InOrder(self.plans[position + 1 :])), taken.inner)
            if not plan.may_end:
                return None
        return None

    @property
    def may_end(self) -> bool:
        """Whether every remaining plan may end."""
        return all(plan.may_end for plan in self.plans)

    def check(self, unit: Distance) -> None:
        """Check every plan."""
        for plan in self.plans:
            plan.check(unit)


#: The plan that draws nothing more.
DONE = InOrder(())


@dataclass(frozen=True)
class Repeat(Plan):
    """``plan`` at most ``times`` times in a row. Rule: the loss is ``times`` that of the plan."""

    plan: Plan
    times: Whole = Whole()

    def loss(self, d_in: Number = 1) -> Loss:
        """Return ``times`` the loss of one round."""
        return self.plan.loss(d_in).times(self.times)

    def after(self, step: Step) -> Taken | None:
        """Match the first step of a round."""
        taken = self.plan.after(step) if self.times else None
        return None if taken is None else Taken(taken.rest.then(Repeat(self.plan, self.times - 1)), taken.inner)

    @property
    def may_end(self) -> bool:
        """True: a loop may stop early, depending on its releases; all rounds are paid for."""
        return True

    def check(self, unit: Distance) -> None:
        """Check the round."""
        self.plan.check(unit)


@dataclass(frozen=True)
class Parallel(Plan):
    """``plan`` on each of ``siblings`` disjoint parts of the data, of which one unit touches at most ``touched``.

    Rule: the worst way of spreading d units over siblings, each unit counted ``touched`` times and at most once in
    each sibling. The division must be public. Under add/remove a unit of a partition touches one sibling; a replaced
    unit touches two, and what a sibling sees of it is then not a replacement, so data-level parts are refused there.
    """

    plan: Plan
    siblings: Whole = Whole(least=1)
    touched: Whole = Whole(least=1)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the largest total loss of loads that are at most d each and ``touched`` times d together."""
        distance, touched = _count(d_in), min(self.touched, self.siblings)
        if distance <= 1:
            return self.plan.loss(distance).times(touched)
        alone = [self.plan.loss(load) for load in range(distance + 1)]
        worst: list[Loss] = [NOTHING]
        for total in range(1, touched * distance + 1):
            worst.append(largest(worst[total - load] + alone[load] for load in range(1, min(total, distance) + 1)))
        return worst[-1]

    def after(self, step: Step) -> Taken | None:
        """Match the division into that many siblings."""
        return Taken(DONE, self.plan) if step == Split(self.siblings) else None

    @property
    def may_end(self) -> bool:
        """False: the division is required."""
        return False

    def check(self, unit: Distance) -> None:
        """Reject a replaced unit that is said to touch only one sibling, or that a data-level part would see."""
        if not isinstance(unit, Unit):
            # A change of one unit in a metric may be spread over all siblings in parts of a unit.
            raise IncompatibleDistance("a plan on disjoint parts of the data", "units of data", unit)
        if self.touched < min(unit.touched, self.siblings):
            raise InvalidParameter("touched", self.touched, f"at least {unit.touched} where {unit}")
        if unit.touched > 1 and self.siblings > 1:
            # A sibling sees a row leave or enter alone. A guarantee about replaced rows does not cover that, and no
            # data-level part declares this unit; a draw whose stability bounds both kinds of change may.
            unit = replace(unit, detail=f"{unit.detail}, {_SEEN_BY_A_SIBLING}".lstrip(", "))
        self.plan.check(unit)


#: How a unit is described to the plan of a sibling, where a replaced unit may come or go alone.
_SEEN_BY_A_SIBLING = "as one of several disjoint parts sees them"


def seen_by_a_sibling(unit: Unit) -> bool:
    """Return whether a unit is described as one of several disjoint parts of the data sees it."""
    return unit.detail.endswith(_SEEN_BY_A_SIBLING)


#: Units of which each is one element of the data, so that sampling elements is sampling units.
_SINGLE_ELEMENTS = frozenset({"row", "edge", "event", "rating"})


@dataclass(frozen=True)
class Sampled(Plan):
    """``plan`` on a secret Poisson sample that keeps each unit with probability ``rate``.

    Rule: epsilon becomes ln(1 + rate * (e^epsilon - 1)) and delta becomes rate * delta, under add/remove only. A loss
    that is known as zCDP alone is not reduced here: that needs a Renyi curve or a loss distribution.
    """

    plan: Plan
    rate: Positive = Positive()

    def __post_init__(self) -> None:
        if not self.rate <= 1:
            raise InvalidParameter("rate", str(self.rate), "a number in (0, 1]")

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss amplified by the probability that any of the d units is sampled."""
        distance = _count(d_in)
        return _amplified(self.plan.loss(distance), 1 - _power_down(1 - self.rate, distance))

    def after(self, step: Step) -> Taken | None:
        """Match the taking of the sample."""
        return Taken(DONE, self.plan) if step == Sample(self.rate) else None

    @property
    def may_end(self) -> bool:
        """False: the sample is required."""
        return False

    def check(self, unit: Distance) -> None:
        """Reject every relation except add/remove: the proof needs a data set with and one without the unit."""
        if not (isinstance(unit, Unit) and unit.relation is Relation.ADD_REMOVE):
            raise IncompatibleDistance("a sampled plan", "units added or removed", unit)
        if unit.protects not in _SINGLE_ELEMENTS:
            # Sampling the elements of a unit one by one catches some of it far more often than the rate.
            raise IncompatibleDistance("a sampled plan", "units that are one element of the data each", unit)
        self.plan.check(unit)


@dataclass(frozen=True)
class SampledExactly(Plan):
    """``plan`` on a secret, uniformly random sample of exactly ``kept`` of the ``of`` units.

    Rule: with q = kept / of, epsilon becomes ln(1 + q * (e^epsilon - 1)) and delta becomes q * delta, under replacement
    only, where the number of units is public. A loss that is known as zCDP alone is not reduced here.
    """

    plan: Plan
    kept: Whole = Whole(least=1)
    of: Whole = Whole(least=1)

    def __post_init__(self) -> None:
        if not self.kept <= self.of:
            raise InvalidParameter("kept", self.kept, f"at most {self.of}, the number of units that there are")

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss amplified by the probability that any of the d units is sampled."""
        distance = min(_count(d_in), self.of)
        # However many units differ, no more of them than are kept are in the sample.
        inner = self.plan.loss(min(distance, self.kept))
        return _amplified(inner, 1 - _missed_down(self.kept, self.of, distance))

    def after(self, step: Step) -> Taken | None:
        """Match the taking of the sample."""
        return Taken(DONE, self.plan) if step == SampleExactly(self.kept, self.of) else None

    @property
    def may_end(self) -> bool:
        """False: the sample is required."""
        return False

    def check(self, unit: Distance) -> None:
        """Reject every relation but replacement: elsewhere the number of units is private, and a unit may go alone."""
        if not (isinstance(unit, Unit) and unit.relation is Relation.REPLACE):
            raise IncompatibleDistance(
                "a plan on a sample of fixed size", "units replaced, with their total number fixed", unit
            )
        if unit.protects not in _SINGLE_ELEMENTS:
            # Of a unit of many elements some are caught far more often than the share of elements that are kept.
            raise IncompatibleDistance("a plan on a sample of fixed size", "units that are one element each", unit)
        if seen_by_a_sibling(unit):
            # The size of one disjoint part of the data is private, and a unit may leave it without a successor.
            raise IncompatibleDistance("a plan on a sample of fixed size", "units of all of the data", unit)
        self.plan.check(unit)


@dataclass(frozen=True)
class Best(Plan):
    """``plan`` run a secret random number of times, of which only the best-scored result is released.

    Rule: (2 + repeats.shape) times the epsilon of one run. Only for pure losses.
    """

    plan: Plan
    repeats: Repeats

    def loss(self, d_in: Number = 1) -> Loss:
        """Return two or three times the loss of one run."""
        inner = self.plan.loss(d_in)
        if not isinstance(inner, PureDP):
            raise NoGuarantee(f"the best of several runs is priced for pure losses only, and one run has {inner}")
        return PureDP((2 + self.repeats.shape) * inner.epsilon)

    def after(self, step: Step) -> Taken | None:
        """Match the beginning of the selection."""
        return Taken(DONE, self.plan) if step == Select(self.repeats) else None

    @property
    def may_end(self) -> bool:
        """False: the selection is required."""
        return False

    def check(self, unit: Distance) -> None:
        """Check one run."""
        self.plan.check(unit)


@dataclass(frozen=True)
class Within(Plan):
    """Any draws from parts of the declared types, chosen adaptively, while a valid filter admits them.

    Rule: the loss is the budget of the filter. Parts that are data-level mechanisms must count ``unit``; without one
    only primitives are drawn from.
    """

    budget: Loss
    parts: tuple[type[Part], ...]
    unit: Unit | None = None

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the budget, or the budget under group privacy."""
        distance = _count(d_in)
        return self.budget if distance == 1 else self.budget.group(distance)

    def after(self, step: Step) -> Taken | None:
        """Match the beginning of the run under the filter."""
        return Taken(DONE, self) if step == Adapt() else None

    @property
    def may_end(self) -> bool:
        """False: the run is required, even if it draws nothing."""
        return False

    def check(self, unit: Distance) -> None:
        """Reject another unit than this plan's; the runner checks each part as it comes."""
        if self.unit is not None and self.unit != unit:
            raise IncompatibleDistance("an adaptive plan", unit, self.unit)


def sequence(plans: Iterable[Plan]) -> InOrder:
    """Return the sequence of these plans."""
    return InOrder(tuple(plans))


def _amplified(inner: Loss, caught: Fraction) -> Loss:
    """Return the loss of a plan on a sample that holds any differing unit with probability at most ``caught``."""
    if inner.pure is None:
        return inner
    epsilon = amplified_epsilon(inner.pure, caught)
    return ApproxDP(epsilon, caught * inner.delta) if inner.delta else PureDP(epsilon, rho=inner.rho)


#: Up to this many factors, the chance that a sample misses a group is multiplied out; beyond, each counts as the least.
_MOST_FACTORS = 4096


def chance_of_catching(kept: int, of: int, group: int) -> Fraction:
    """Return an upper bound on the probability that a sample of fixed size holds any unit of a group."""
    return 1 - _missed_down(kept, of, min(group, of))


def _missed_down(kept: int, of: int, group: int) -> Fraction:
    """Return a lower bound on C(of - group, kept) / C(of, kept), the chance that a fixed-size sample misses a group."""
    if kept + group > of:
        return Fraction(0)
    # The sample misses the group as often as a sample of the group's size misses the sample.
    few, many = sorted((kept, group))
    if few > _MOST_FACTORS:
        return _power_down(Fraction(of - few - many + 1, of - few + 1), few)
    missed = Fraction(1)
    for earlier in range(few):
        missed = round_down(missed * Fraction(of - many - earlier, of - earlier))
    return missed


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """Return at most ``base ** exponent``, for a base in [0, 1], as a fraction of moderate length."""
    result = Fraction(1)
    while exponent:
        if exponent % 2:
            result = round_down(result * base)
        base, exponent = round_down(base * base), exponent // 2
    return result


def _count(d_in: Number) -> int:
    """Return an integer number of units: fractions of a unit cannot be spread, sampled or filtered."""
    distance = exact("d_in", d_in)
    if distance.denominator != 1 or distance < 0:
        raise InvalidParameter("d_in", d_in, "an integer number of units")
    return int(distance)
