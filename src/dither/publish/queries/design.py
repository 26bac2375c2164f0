"""The design of an answer: what is measured, with which mechanism, for which share of the loss.

A function of the query, the loss and the user's wishes alone. ``Answer`` states its plan from it, runs it, and builds
intervals from it; ``quote`` prints it. Nothing here sees data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

from dither.data import Aggregation, Bounded, Expression, Keep, Kind, Limits, Relation
from dither.data.contribution import (
    Contribution,
    Sensitivity,
    contribution,
    effective_limits,
    of_persons,
    of_rows,
    within_structure,
)
from dither.data.expressions import Value, kind_of, names_in
from dither.data.returned import Group
from dither.errors import InvalidParameter, NoGuarantee, Unanswerable
from dither.mechanisms import DiscreteGaussian, Geometric, PermuteAndFlip, TopK
from dither.mechanisms.propose_test_release import threshold_for
from dither.mechanisms.stability_selection import ThresholdedCounts
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP, gaussian_sigma, laplace_scale, zcdp_rho
from dither.publish.queries.groups import kept, key_kinds, positions, public_groups
from dither.publish.queries.measures import COUNT, UNITS, Measured, on_grid
from dither.publish.queries.product_groups import ProductGroups, ProductPlaces
from dither.publish.queries.quantiles import Search
from dither.publish.queries.query import Aggregate, Query
from dither.publish.queries.rank_search import SCOUT_WEIGHT, RankPart, RankSearch
from dither.publish.queries.split import Need, divide, threshold_share
from dither.publish.queries.statistics import Statistic, statistic_of
from dither.publish.queries.work import step

LAPLACE, GAUSSIAN = "laplace", "gaussian"
#: How quantiles are found: by descending a tree of noisy counts, or by the exponential mechanism.
TREE, EXPONENTIAL = "tree", "exponential"
Additive = Geometric | DiscreteGaussian
Choice = PermuteAndFlip | TopK

#: Finding the noise of a measured part takes about as long as this number of nodes.
_STEPS_OF_PART: Final = 16
RANKED = ("quantile", "minimum", "maximum")
_CHOSEN = ("mode", "top")


@dataclass(frozen=True)
class Part:
    """One measured vector: its sensitivity, its share of the loss, and the scale of its noise."""

    sensitivity: Sensitivity
    share: Fraction
    scale: Fraction
    is_gaussian: bool

    @property
    def stability(self) -> Fraction:
        """How far the vector moves per unit, in the distance of its noise."""
        return self.sensitivity.l2 if self.is_gaussian else self.sensitivity.l1

    def drawn(self, *shape: int) -> Additive:
        """Return the mechanism for a vector of that shape."""
        if self.is_gaussian:
            return DiscreteGaussian(sigma=self.scale, shape=shape)
        return Geometric(scale=self.scale, shape=shape)


@dataclass(frozen=True)
class Pick:
    """The most common of public values in every group."""

    aggregate: Aggregate
    candidates: tuple[Value, ...]
    touched: int
    share: Fraction
    drawn: Choice


@dataclass(frozen=True)
class Design:
    """Everything known about an answer in advance.

    Args:
        query: what is asked.
        target: the loss that the answer may have.
        noise: 'laplace' or 'gaussian'.
        shares: how much of the loss each aggregate gets; None for equal errors.
        threshold_share: how much of the loss decides which groups are shown, where they are discovered; None for what
            keeps the threshold and the error of the values together least.
        quantiles: 'tree' or 'exponential'.

    """

    query: Query
    target: Loss
    noise: str
    shares: Mapping[str, Fraction] | None
    threshold_share: Fraction | None = None
    quantiles: str = TREE

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian and the loss is counted in rho."""
        return self.noise == GAUSSIAN

    @cached_property
    def groups(self) -> Sequence[Group] | None:
        """The public groups, in order; None if they are discovered."""
        return public_groups(self.query)

    @cached_property
    def key_kinds(self) -> tuple[Kind, ...]:
        """The kinds of the keys."""
        return key_kinds(self.query)

    @cached_property
    def limits(self) -> Limits:
        """The limits in force."""
        said = within_structure(self.query.limits, self.query.relation)
        return effective_limits(self.query.dataset, said)

    @cached_property
    def contribution(self) -> Contribution:
        """How much of one unit counts."""
        return contribution(self.query.dataset, self.limits, None if self.groups is None else len(self.groups))

    @property
    def has_persons(self) -> bool:
        """Whether a unit is a person with all their rows."""
        return self.query.dataset.protects_persons

    @cached_property
    def statistics(self) -> dict[str, Statistic]:
        """The statistics computed from sums and counts, by the name of the aggregate."""
        columns = self.query.relation.columns
        found = {a.name: statistic_of(a, columns, has_persons=self.has_persons) for a in self.query.aggregates}
        return {name: statistic for name, statistic in found.items() if statistic is not None}

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """Every sum and count that some statistic needs, once."""
        return tuple(self._measured[0])

    @cached_property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """The measured parts behind each statistic, by the name of the aggregate."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[dict[Measured, int], dict[str, tuple[int, ...]]]:
        places: dict[Measured, int] = {}
        numbers = {}
        for name, statistic in self.statistics.items():
            parts = statistic.measured
            step(_STEPS_OF_PART * len(parts) + sum(argument.size for argument in statistic.aggregate.arguments))
            numbers[name] = tuple(places.setdefault(part, len(places)) for part in parts)
        return places, numbers

    @cached_property
    def searches(self) -> tuple[Search | RankSearch, ...]:
        """Quantiles, together if they share argument, bounds and grid."""
        together: dict[Any, list[Aggregate]] = {}
        for aggregate in self.query.aggregates:
            if aggregate.function in RANKED:
                step(_STEPS_OF_PART + aggregate.arguments[0].size)
                if aggregate.share is not None and not 0 <= aggregate.share <= 1:
                    raise InvalidParameter(f"share of {aggregate.name}", str(aggregate.share), "between 0 and 1")
                scaled = on_grid(aggregate, 0, self.query.relation.columns, origin="lower")
                together.setdefault(scaled, []).append(aggregate)
        if self.quantiles == TREE:
            return tuple(Search(scaled, tuple(aggregates)) for scaled, aggregates in together.items())
        numbers = len(self.groups or ()) * (len(self.measured) + sum(map(len, together.values())))
        return tuple(RankSearch(scaled, tuple(aggregates), numbers) for scaled, aggregates in together.items())

    @cached_property
    def searched(self) -> dict[str, tuple[int, int]]:
        """The search that finds each quantile, and the place in it, by the name of the aggregate."""
        return {
            aggregate.name: (number, place)
            for number, search in enumerate(self.searches)
            for place, aggregate in enumerate(search.aggregates)
        }

    @cached_property
    def chosen(self) -> tuple[Aggregate, ...]:
        """The aggregates chosen among public values."""
        found = tuple(a for a in self.query.aggregates if a.function in _CHOSEN)
        for aggregate in found:
            if not aggregate.values:
                raise Unanswerable(
                    f"the commonest value of {aggregate.name} can only be chosen among public values",
                    "declare the categories of the column, or group by it and order by a count",
                )
            if self.groups is None:
                raise Unanswerable(
                    f"{aggregate.name} cannot be chosen in groups that are discovered",
                    "list the groups, or group by it",
                )
        return found

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The parts that every column needs, numbered: measured ones, searches, choices."""
        moves = [self._norm(sensitivity) for sensitivity in self.sensitivities]
        found = []
        for name, statistic in self.statistics.items():
            parts = self.numbers[name]
            loads = tuple(weight * moves[part] for weight, part in zip(statistic.weights, parts, strict=True))
            found.append(Need(name, parts, loads))
        first = len(self.measured)
        for number, search in enumerate(self.searches, first):
            for aggregate in search.aggregates:
                found.append(Need(aggregate.name, (number,), (moves[number],), search.levels))
        first += len(self.searches)
        for number, aggregate in enumerate(self.chosen, first):
            found.append(Need(aggregate.name, (number,), (moves[number],), aggregate.many or 1))
        return tuple(found)

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """How far every part moves, in the order of the parts."""
        cells = None if self.groups is None else len(self.groups)
        by_units = of_persons(self.contribution, cells)
        found = [
            by_units if part.counts_units else of_rows(self._counting(part), part.least, part.most, cells)
            for part in self.measured
        ]
        found += [of_rows(self.contribution, 0, 1, None) for _ in self.searches]
        found += [of_persons(self.contribution, None) for _ in self.chosen]
        return tuple(found if self.groups is not None else [*found, of_persons(self.contribution, None)])

    def _counting(self, part: Measured) -> Contribution:
        """Return how much of one unit counts in a part: of few possible values nobody has more than all."""
        unit = self.contribution
        if part.values is None:
            return unit
        in_one = min(unit.per_group, max(1, len(part.values)))
        return replace(unit, per_group=in_one, total=min(unit.total, in_one * unit.groups))

    @cached_property
    def split(self) -> tuple[Fraction, ...]:
        """Every part's share of the loss, and last the threshold's, if groups are discovered."""
        if self.groups is not None:
            return divide(self.needs, len(self.sensitivities), is_gaussian=self.is_gaussian, shares=self.shares)
        many = len(self.sensitivities) - 1
        if not many:
            return (Fraction(1),)
        how: dict[str, Any] = {"is_gaussian": self.is_gaussian, "shares": self.shares}
        kept = self.threshold_share
        if kept is None:
            moved = self.contribution.groups * self.contribution.touched
            # In logarithms of integers: a delta may be smaller than any float.
            odds = max(Fraction(2), moved / (2 * (self._delta or Fraction(1))))
            size = moved * (math.log(odds.numerator) - math.log(odds.denominator))
            kept = threshold_share(size, self.needs, many, **how)
        return (*((1 - kept) * share for share in divide(self.needs, many, **how)), kept)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts that are sums and counts."""
        return tuple(self._part(number) for number in range(len(self.measured)))

    @cached_property
    def levels(self) -> tuple[Part | RankPart, ...]:
        """For every search, the noise of one level or the loss of one choice."""
        first = len(self.measured)
        return tuple(
            self._part(first + number, search.levels)
            if isinstance(search, Search)
            else self._rank_part(first + number, search)
            for number, search in enumerate(self.searches)
        )

    @cached_property
    def picks(self) -> tuple[Pick, ...]:
        """The choices."""
        return tuple(self._pick(aggregate, number) for number, aggregate in enumerate(self.chosen))

    @cached_property
    def picked(self) -> dict[str, Pick]:
        """The choices by the name of the aggregate."""
        return {pick.aggregate.name: pick for pick in self.picks}

    @cached_property
    def discovery(self) -> ThresholdedCounts | None:
        """The selection that decides which groups are published, if they are not known."""
        if self.groups is not None:
            return None
        delta = self._delta
        if delta == 0 and not self.query.aggregates:
            raise Unanswerable(
                "which values occur is decided by a threshold, which costs a delta, and the loss has no delta",
                "give a delta, or ask for COUNT(*) of values that are declared or listed with IN",
            )
        if delta == 0:
            raise Unanswerable(
                "groups that are not known in advance cost a delta, and the loss has no delta",
                "list the values of the key (in the schema, or with IN), or give a delta",
            )
        amount, touched = self._loss_of(self.split[-1]), self.contribution.touched
        keys = self.contribution.groups
        scale = laplace_scale(amount, keys * touched)

        def built(threshold: int) -> ThresholdedCounts:
            return ThresholdedCounts(max_keys=keys, scale=scale, threshold=threshold)

        low, high = 0, threshold_for(scale, delta / (2 * keys * touched)) + touched
        while high - low > 1:
            between = (low + high) // 2
            low, high = (low, between) if _delta_of(built(between), touched) <= delta else (between, high)
        return built(high)

    @cached_property
    def values_loss(self) -> Loss:
        """What all values together may lose, once groups are discovered."""
        return self._loss_of(1 - self.split[-1]) if self.groups is None else self._loss_of(Fraction(1))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The columns that the query uses, which decide which rows of a person are kept."""
        arguments = (argument for aggregate in self.query.aggregates for argument in aggregate.arguments)
        used = frozenset().union(*(names_in(value) for value in (*(key.value for key in self.query.keys), *arguments)))
        return tuple(name for name in self.query.relation.columns if name in used)

    def errors(self, failure: float) -> dict[str, float]:
        """Return a bound on every column's error at that failure probability, as a share of its range.

        For what is divided by a number of values, before that division; for quantiles and choices in rows.
        """
        found = {}
        for name, statistic in self.statistics.items():
            numbers = self.numbers[name]
            each = failure / len(numbers)
            sizes = (
                float(weight) * self._reach(number, each)
                for weight, number in zip(statistic.weights, numbers, strict=True)
            )
            found[name] = sum(sizes)
        for search, part in zip(self.searches, self.levels, strict=True):
            for aggregate, share in zip(search.aggregates, search.shares, strict=True):
                step(_STEPS_OF_PART)
                found[aggregate.name] = search.rank_error(part, share, failure)  # type: ignore[arg-type]
        for pick in self.picks:
            step(_STEPS_OF_PART)
            found[pick.aggregate.name] = pick.drawn.error(1 - Fraction(failure)).value
        return found

    def _reach(self, number: int, failure: float) -> float:
        """Return a bound on a measured part's error, cached because many statistics may ask for it."""
        if (number, failure) not in self._reaches:
            step(_STEPS_OF_PART)
            self._reaches[number, failure] = self.parts[number].drawn().reach(failure)
        return self._reaches[number, failure]

    @cached_property
    def _reaches(self) -> dict[tuple[int, float], float]:
        return {}

    @property
    def key_values(self) -> tuple[Expression, ...]:
        """The keys as expressions."""
        return tuple(key.value for key in self.query.keys)

    @property
    def one_unit(self) -> Measured:
        """What counts units: people, or rows."""
        return UNITS if self.has_persons else COUNT

    def kept(self, groups: Sequence[Group] | None) -> Relation:
        """Return the rows of these groups (None: groups not yet known); of public groups they are made once."""
        return self._of_public if groups is not None and groups is self.groups else kept(self.query, groups)

    def bounded(self, groups: Sequence[Group] | None) -> Relation:
        """Return the rows that count in these groups (None: groups not yet known); of public groups made once."""
        if groups is not None and groups is self.groups:
            return self._bounded_public
        return self._bounded(kept(self.query, groups))

    def places(self, groups: Sequence[Group]) -> Mapping[Group, int]:
        """Return the place of each group."""
        return self._public_places if groups is self.groups else positions(groups, self.key_kinds)

    @cached_property
    def _of_public(self) -> Relation:
        return kept(self.query, self.groups)

    @cached_property
    def _bounded_public(self) -> Relation:
        return self._bounded(self._of_public)

    def _bounded(self, relation: Relation) -> Relation:
        return Bounded(relation, self.key_values, self.limits, self.order) if self.has_persons else relation

    @cached_property
    def requests_of_public(self) -> tuple[Aggregation, ...]:
        """What engines are asked for over the public groups: made once, because everybody asks for the same."""
        from dither.publish.queries.distinct import requested

        return tuple(requested(self, self.groups or ()))

    @cached_property
    def _public_places(self) -> Mapping[Group, int]:
        # ``public_groups`` has made every group canonical, and has refused two that are equal.
        if isinstance(self.groups, ProductGroups):
            return ProductPlaces(self.groups)
        return {group: place for place, group in enumerate(self.groups or ())}

    def candidates(self, pick: Pick, relation: Relation) -> Relation:
        """Return the rows whose value is one of the candidates."""
        return Keep(relation, pick.aggregate.arguments, tuple((value,) for value in pick.candidates))

    def _norm(self, sensitivity: Sensitivity) -> Fraction:
        return sensitivity.l2 if self.is_gaussian else sensitivity.l1

    @property
    def _delta(self) -> Fraction:
        """The delta available for discovering groups; Gaussian noise under (epsilon, delta) needs the other half."""
        return self.target.delta / 2 if isinstance(self.target, ApproxDP) and self.is_gaussian else self.target.delta

    @cached_property
    def _whole(self) -> Fraction:
        """The epsilon, or for Gaussian noise the rho, that is split among the parts."""
        target = self.target
        if not self.is_gaussian and target.pure is not None:
            # A rho that is stated beside the epsilon is kept as well.
            return 1 / laplace_scale(PureDP(target.pure, rho=target.rho), 1)
        if isinstance(target, PureDP):
            raise NoGuarantee(f"no Gaussian noise has {target}: it needs a rho, or a delta")
        if isinstance(target, ApproxDP):
            spare = target.delta - (self._delta if self.groups is None else 0)
            return zcdp_rho(target.epsilon, spare)
        return target.rho

    def _loss_of(self, share: Fraction) -> Loss:
        is_pure = not self.is_gaussian and self.target.pure is not None
        return PureDP(share * self._whole) if is_pure else ZCDP(share * self._whole)

    def _part(self, number: int, repeats: int = 1) -> Part:
        step(_STEPS_OF_PART)
        share, sensitivity = self.split[number], self.sensitivities[number]
        amount = self._loss_of(share / repeats)
        scaled = gaussian_sigma if self.is_gaussian else laplace_scale
        return Part(sensitivity, share, scaled(amount, self._norm(sensitivity)), self.is_gaussian)

    def _rank_part(self, number: int, search: RankSearch) -> RankPart:
        step(_STEPS_OF_PART * search.levels)
        share = self.split[number]
        value, scout = (self._loss_of(share * weight / search.weight) for weight in (1, SCOUT_WEIGHT))
        return RankPart(share, value, scout, self.sensitivities[number].l1)

    def _pick(self, aggregate: Aggregate, number: int) -> Pick:
        step(_STEPS_OF_PART + len(aggregate.values or ()) // _STEPS_OF_PART)
        share = self.split[len(self.measured) + len(self.searches) + number]
        candidates = tuple(dict.fromkeys(aggregate.values or ()))
        kind = kind_of(aggregate.arguments[0], self.query.relation.columns)
        siblings = len(self.groups or ())
        touched = min(siblings, self.contribution.touched * self.contribution.groups)
        amount = self._loss_of(share / touched)
        many = aggregate.many or 1
        if not 1 <= many <= len(candidates):
            raise InvalidParameter(
                f"many of {aggregate.name}", many, f"1 to {len(candidates)}, the values of {kind.value}"
            )
        drawn = _choice(amount, many, len(candidates), not self.contribution.is_replaced)
        return Pick(aggregate, candidates, touched, share, drawn)


@lru_cache(maxsize=256, typed=True)
def _choice(amount: Loss, many: int, candidates: int, one_way: bool) -> Choice:
    """Return the sharpest choice within a loss; queries are planned again and again, and calibrating is long."""
    if many == 1 and isinstance(amount, PureDP):
        return PermuteAndFlip.calibrated(amount, sensitivity=1, candidates=candidates, one_way=one_way)
    return TopK.calibrated(amount, sensitivity=1, chosen=many, candidates=candidates, one_way=one_way)


def _delta_of(part: ThresholdedCounts, touched: int) -> Fraction:
    try:
        return part.loss(touched).delta
    except NoGuarantee:
        return Fraction(1)
