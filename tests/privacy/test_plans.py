"""Each rule of the plan algebra against mechanisms small enough to be enumerated.

A mechanism here is a table: for each data set, the exact probability of each outcome, as a rational. The true loss of a
plan is then a maximum over neighbouring data sets and outcomes, and no rule may promise less. Odds are rational, so
that epsilon is their logarithm and every ratio can be compared without rounding.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import IncompatibleDistance, InvalidParameter, NoGuarantee
from dither.exact import log_up
from dither.privacy import (
    DIFFERENT,
    EDGE,
    EVENT_REPLACED,
    L1,
    NOTHING,
    ROW,
    ROW_REPLACED,
    ZCDP,
    ApproxDP,
    Best,
    Distance,
    InOrder,
    Loss,
    Parallel,
    Plan,
    PureDP,
    Relation,
    Repeat,
    Repeats,
    Sampled,
    Unit,
    Use,
    Within,
    person,
    place,
)
from dither.privacy.plans import (
    DONE,
    Adapt,
    Draw,
    Sample,
    SampledExactly,
    SampleExactly,
    Select,
    Split,
    Step,
    sequence,
)

Law = dict[Hashable, Fraction]
Rows = tuple[Any, ...]


# Tables


def flip(bit: int, odds: Fraction) -> Law:
    """Randomised response: the truth with odds to one."""
    return {bit: odds / (1 + odds), 1 - bit: 1 / (1 + odds)}


def respond(value: int, odds: Fraction, choices: int) -> Law:
    """Randomised response among several values."""
    total = odds + choices - 1
    return {choice: (odds if choice == value else 1) / Fraction(total) for choice in range(choices)}


def count(value: int, odds: Fraction, most: int = 4) -> Law:
    """A two-sided geometric count, clamped to [0, most]: each step off the truth is ``odds`` times less likely."""
    q = 1 / odds
    law: Law = {out: (1 - q) / (1 + q) * q ** abs(out - value) for out in range(1, most)}
    return law | {0: q**value / (1 + q), most: q ** (most - value) / (1 + q)}


def leak(bit: int, odds: Fraction, delta: Fraction) -> Law:
    """Randomised response that gives everything away with probability delta: the worst (epsilon, delta) there is."""
    law: Law = {("flip", out): (1 - delta) * p for out, p in flip(bit, odds).items()}
    return law | {("leak", bit): delta}


def present(rows: Rows) -> int:
    """Whether anyone says yes: moves by one bit however many rows change."""
    return int(any(rows))


def product(laws: Iterable[Law]) -> Law:
    joint: Law = {(): Fraction(1)}
    for law in laws:
        joint = {(*path, out): p * q for path, p in joint.items() for out, q in law.items()}  # type: ignore[misc]
    return joint


def mixture(parts: Iterable[tuple[Fraction, Law]]) -> Law:
    mixed: dict[Hashable, Fraction] = defaultdict(Fraction)
    for weight, law in parts:
        for out, p in law.items():
            mixed[out] += weight * p
    return dict(mixed)


def ratio(first: Law, second: Law) -> Fraction:
    """Return the largest ratio of probabilities, which is e^epsilon."""
    assert sum(first.values()) == sum(second.values()) == 1
    return max(first[out] / second[out] for out in first)


def excess(first: Law, second: Law, odds: Fraction) -> Fraction:
    """Return the true delta at epsilon = ln odds."""
    return sum((max(Fraction(0), p - odds * second.get(out, Fraction(0))) for out, p in first.items()), Fraction(0))


def renyi(first: Law, second: Law, order: float) -> float:
    moment = math.fsum(float(p) ** order * float(second[out]) ** (1 - order) for out, p in first.items())
    return math.log(moment) / (order - 1)


def ln(x: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        return (Decimal(x.numerator) / Decimal(x.denominator)).ln()


def covers(loss: Loss, odds: Fraction) -> bool:
    """Whether a pure loss is at least the logarithm of a true ratio, to many digits."""
    assert isinstance(loss, PureDP)
    return Fraction(ln(odds)) <= loss.epsilon * (1 + Fraction(1, 10**60))


def equals(loss: Loss, odds: Fraction) -> bool:
    """Whether a pure loss is the logarithm of a true ratio, to 25 digits, and not below it."""
    assert isinstance(loss, PureDP)
    return covers(loss, odds) and loss.epsilon <= Fraction(ln(odds)) * (1 + Fraction(1, 10**25))


# Parts, as a plan sees them


@dataclass(frozen=True)
class Linear:
    """Loses ln(odds) for every step that its value moves."""

    odds: Fraction
    distance: Distance = L1

    def loss(self, d_in: Any = 1) -> Loss:
        return PureDP(Fraction(d_in) * log_up(self.odds))


@dataclass(frozen=True)
class Saturated:
    """Loses ln(odds) once, however far its value moves."""

    odds: Fraction
    distance: Distance = DIFFERENT

    def loss(self, d_in: Any = 1) -> Loss:
        return PureDP(log_up(self.odds)) if d_in else NOTHING


@dataclass(frozen=True)
class Leaky:
    """Loses ln(odds) and delta once, however far its value moves."""

    odds: Fraction
    delta: Fraction
    distance: Distance = DIFFERENT

    def loss(self, d_in: Any = 1) -> Loss:
        return ApproxDP(log_up(self.odds), self.delta) if d_in else NOTHING


@dataclass(frozen=True)
class Curve:
    """Any zCDP loss as a function of a whole distance."""

    rhos: tuple[Fraction, ...]
    distance: Distance = L1

    def loss(self, d_in: Any = 1) -> Loss:
        return ZCDP(self.rhos[int(d_in)])


@dataclass(frozen=True)
class Size:
    """Publishes how many rows there are, which is public where rows are only ever replaced."""

    distance: Distance = ROW_REPLACED

    def loss(self, d_in: Any = 1) -> Loss:
        return NOTHING


TWO, THREE = Fraction(2), Fraction(3)
coin = Use(Saturated(TWO))


# Use


def test_use_prices_the_distance_times_the_stability() -> None:
    assert Use(Linear(TWO), stability="3/2").loss(4) == Linear(TWO).loss(6)
    assert Use(Linear(TWO)).loss() == Linear(TWO).loss(1)
    assert Use(Linear(TWO)).loss(0).is_zero
    assert Use(Linear(TWO)).loss("1/2") == Linear(TWO).loss(Fraction(1, 2))
    for offender in (-1, "nan", None):
        with pytest.raises(InvalidParameter, match="d_in"):
            Use(Linear(TWO)).loss(offender)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="stability"):
        Use(Linear(TWO), stability=0)


@pytest.mark.parametrize("stability", [1, 2])
def test_use_is_the_truth_of_a_count(stability: int) -> None:
    """Each person adds ``stability`` to the count."""
    for people in (1, 2):
        truth = max(
            ratio(count(a * stability, TWO, 8), count(b * stability, TWO, 8))
            for a, b in itertools.product(range(4), repeat=2)
            if abs(a - b) <= people
        )
        assert equals(Use(Linear(TWO), stability=stability).loss(people), truth)


# InOrder and Repeat


def test_a_sequence_of_randomised_responses_is_exact() -> None:
    plan = InOrder.of(Use(Saturated(TWO)), Use(Saturated(THREE)), Use(Saturated(Fraction(5, 4))))
    laws = [product(flip(bit, odds) for odds in (TWO, THREE, Fraction(5, 4))) for bit in (0, 1)]
    assert equals(plan.loss(), ratio(*laws))
    for order in (1.001, 1.5, 2, 8, 60):
        assert renyi(*laws, order) <= order * float(plan.loss().rho) * (1 + 1e-12)


@pytest.mark.parametrize("choices", [2, 3, 5])
@pytest.mark.parametrize("times", [0, 1, 4])
def test_a_repeated_response_among_several_is_exact(choices: int, times: int) -> None:
    laws = [product([respond(value, THREE, choices)] * times) for value in range(2)]
    assert equals(Repeat(Use(Saturated(THREE)), times=times).loss(), ratio(*laws)) or times == 0
    assert Repeat(Use(Saturated(THREE)), times=0).loss().is_zero


def test_a_sequence_may_look_at_what_it_released() -> None:
    """The second question is about another bit, or another coin, depending on the first answer."""

    def adaptive(bit: int) -> Law:
        law: Law = {}
        for first, p in flip(bit, TWO).items():
            second = flip(bit if first == 0 else 1 - bit, THREE)
            law |= {(first, out): p * q for out, q in second.items()}
        return law

    assert equals(InOrder.of(Use(Saturated(TWO)), Use(Saturated(THREE))).loss(), ratio(adaptive(0), adaptive(1)))


def test_the_delta_of_many_responses_is_covered() -> None:
    """What a sequence promises with a delta, against the exact delta of the product."""
    times, odds = 12, Fraction(5, 4)
    plan = Repeat(Use(Saturated(odds)), times=times)
    heads = odds / (1 + odds)
    for exponent in range(1, times):
        target = odds**exponent
        truth = sum(
            (
                math.comb(times, wins)
                * max(
                    Fraction(0),
                    heads**wins * (1 - heads) ** (times - wins)
                    - target * (1 - heads) ** wins * heads ** (times - wins),
                )
                for wins in range(times + 1)
            ),
            Fraction(0),
        )
        assert not plan.loss() <= ApproxDP(Fraction(ln(target)), truth * Fraction(99, 100))
        found = plan.loss().to_approx(truth)
        assert found.epsilon >= Fraction(ln(target)) * (1 - Fraction(1, 10**20))


def test_deltas_of_a_sequence_add_up_to_at_least_the_truth() -> None:
    delta = Fraction(1, 50)
    plan = Repeat(Use(Leaky(TWO, delta)), times=3)
    first, second = (product([leak(bit, TWO, delta)] * 3) for bit in (0, 1))
    loss = plan.loss()
    assert excess(first, second, TWO**3) <= loss.delta == 3 * delta
    assert loss.delta <= excess(first, second, TWO**3) * Fraction(11, 10)


# Parallel


def neighbours(keys: int, size: int, unit: Unit, distance: int) -> Iterable[tuple[Rows, Rows]]:
    """All pairs of small data sets of (key, bit) rows that are at most ``distance`` apart."""
    cells = list(itertools.product(range(keys), (0, 1)))
    sizes = (size,) if unit.relation is Relation.REPLACE else range(size + 1)
    tables = [rows for n in sizes for rows in itertools.combinations_with_replacement(cells, n)]
    for first, second in itertools.product(tables, repeat=2):
        apart = unit.measure(first, second)
        if apart is not None and apart <= distance:
            yield first, second


def split(rows: Rows, keys: int) -> list[Rows]:
    return [tuple(bit for key, bit in rows if key == here) for here in range(keys)]


@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("sibling", [lambda rows: flip(present(rows), TWO), lambda rows: count(len(rows), TWO, 3)])
def test_parallel_parts_of_added_or_removed_rows(sibling: Callable[[Rows], Law], distance: int) -> None:
    """Whether the part saturates (flip) or not (count), two rows cost two: in one sibling, or in two."""
    truth = max(
        ratio(product(map(sibling, split(first, 2))), product(map(sibling, split(second, 2))))
        for first, second in neighbours(2, 2, ROW, distance)
    )
    part = Saturated(TWO) if sibling(()) == flip(0, TWO) else Linear(TWO)
    plan = Parallel(Use(part), siblings=2, touched=1)
    plan.check(ROW)
    assert truth == TWO**distance
    assert equals(plan.loss(distance), truth)


@pytest.mark.parametrize("sibling", [lambda rows: flip(present(rows), TWO), lambda rows: count(len(rows), TWO, 3)])
def test_parallel_parts_of_replaced_rows(sibling: Callable[[Rows], Law]) -> None:
    """A replaced row leaves one sibling and enters another: both change."""
    truth = max(
        ratio(product(map(sibling, split(first, 2))), product(map(sibling, split(second, 2))))
        for first, second in neighbours(2, 2, ROW_REPLACED, 1)
    )
    part = Saturated(TWO) if sibling(()) == flip(0, TWO) else Linear(TWO)
    plan = Parallel(Use(part), siblings=2, touched=2)
    plan.check(ROW_REPLACED)
    assert truth == 4
    assert equals(plan.loss(), truth)
    with pytest.raises(InvalidParameter, match="touched must be at least 2"):
        Parallel(Use(part), siblings=2, touched=1).check(ROW_REPLACED)
    Parallel(Use(part), siblings=1, touched=1).check(ROW_REPLACED)


def test_a_place_that_moves_touches_two_parts() -> None:
    with pytest.raises(InvalidParameter, match="touched"):
        Parallel(coin, siblings=2, touched=1).check(place("euclidean"))


def test_a_guarantee_about_replaced_rows_says_nothing_about_one_part() -> None:
    """Sizes are public where rows are replaced, but not the size of a part: a row may leave it."""
    Use(Size()).check(ROW_REPLACED)
    plan = Parallel(Use(Size()), siblings=2, touched=2)
    assert plan.loss().is_zero
    with pytest.raises(IncompatibleDistance, match="disjoint parts"):
        plan.check(ROW_REPLACED)
    with pytest.raises(IncompatibleDistance):
        InOrder.of(coin, Parallel(Repeat(Use(Size()), times=2), siblings=3, touched=2)).check(ROW_REPLACED)
    Parallel(Use(Size()), siblings=1, touched=1).check(ROW_REPLACED)
    Parallel(Use(Size(ROW)), siblings=2, touched=1).check(ROW)


def test_a_change_in_a_metric_may_be_spread_in_fractions() -> None:
    """One unit of L1 distance can move a hundred siblings by a hundredth each."""
    with pytest.raises(IncompatibleDistance, match="units of data"):
        Parallel(coin, siblings=100, touched=1).check(L1)


def loads(units: int, siblings: int, touched: int) -> set[tuple[int, ...]]:
    """All ways in which ``units`` may touch siblings, as how many of them touch each; by trying all placements."""
    places = list(itertools.combinations(range(siblings), min(touched, siblings)))
    found = set()
    for chosen in itertools.product(places, repeat=units):
        load = Counter(itertools.chain.from_iterable(chosen))
        found.add(tuple(sorted(load.values(), reverse=True)))
    return found


@pytest.mark.parametrize(("units", "siblings", "touched"), [(1, 3, 1), (2, 3, 1), (3, 3, 1), (2, 4, 2), (3, 6, 2)])
def test_units_spread_in_the_worst_way(units: int, siblings: int, touched: int) -> None:
    """Against all placements, for losses of any shape: convex, concave, or flat after a jump."""
    ways = loads(units, siblings, touched)

    @given(st.lists(st.integers(0, 9), min_size=units, max_size=units))
    @settings(deadline=None, max_examples=40)
    def check(steps: list[int]) -> None:
        rhos = tuple(Fraction(total) for total in itertools.accumulate([0, *steps]))
        truth = max(sum((rhos[load] for load in way), Fraction(0)) for way in ways)
        assert Parallel(Use(Curve(rhos)), siblings=siblings, touched=touched).loss(units).rho == truth

    check()


def test_three_units_that_pairwise_share_a_sibling() -> None:
    """A loss that jumps at two and stays there: twice the worst spread of three units would be 10, the truth is 12."""
    clamped = Curve((Fraction(0), Fraction(1), Fraction(4), Fraction(4)))
    assert Parallel(Use(clamped), siblings=3, touched=2).loss(3) == ZCDP(12)


def test_squares_are_worst_in_one_sibling_and_saturated_losses_in_many() -> None:
    square = Curve(tuple(Fraction(d * d) for d in range(5)))
    assert Parallel(Use(square), siblings=9, touched=1).loss(4) == ZCDP(16)
    assert Parallel(Use(square), siblings=9, touched=3).loss(4) == ZCDP(48)
    once = Parallel(coin, siblings=9, touched=1)
    assert once.loss(4).pure == coin.loss().times(4).pure
    assert Parallel(coin, siblings=2, touched=9).loss(1).pure == coin.loss().times(2).pure
    assert once.loss(0).is_zero


def test_deltas_of_parallel_parts() -> None:
    delta = Fraction(1, 50)
    plan = Parallel(Use(Leaky(TWO, delta)), siblings=2, touched=2)
    first, second = product([leak(0, TWO, delta), leak(1, TWO, delta)]), product([leak(1, TWO, delta)] * 2)
    both = product([leak(1, TWO, delta), leak(0, TWO, delta)])
    assert excess(first, second, TWO**2) <= excess(first, both, TWO**2) <= plan.loss().delta


# Sampled


def sampled(rows: Rows, rate: Fraction, inner: Callable[[Rows], Law]) -> Law:
    """The law of ``inner`` on a Poisson sample, by trying all samples."""
    parts = []
    for kept in itertools.product((False, True), repeat=len(rows)):
        weight = math.prod((rate if keep else 1 - rate for keep in kept), start=Fraction(1))
        parts.append((weight, inner(tuple(row for row, keep in zip(rows, kept, strict=True) if keep))))
    return mixture(parts)


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(1)], ids=str)
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_a_sample_of_a_saturated_part_is_exact(rate: Fraction, distance: int) -> None:
    """Whether anyone in the sample says yes, asked through a coin."""
    tables = [rows for n in range(4) for rows in itertools.combinations_with_replacement((0, 1), n)]
    truth = max(
        ratio(
            sampled(first, rate, lambda rows: flip(present(rows), THREE)),
            sampled(second, rate, lambda rows: flip(present(rows), THREE)),
        )
        for first, second in itertools.product(tables, repeat=2)
        if ROW.measure(first, second) <= distance  # type: ignore[operator]
    )
    assert truth == 1 + (1 - (1 - rate) ** distance) * 2
    plan = Sampled(Use(Saturated(THREE)), rate=rate)
    plan.check(ROW)
    assert equals(plan.loss(distance), truth)


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2)], ids=str)
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_a_sample_of_a_count_is_covered(rate: Fraction, distance: int) -> None:
    """Rows added on one side and removed on the other included."""
    tables = [("a",) * a + ("b",) * b for a in range(4) for b in range(4) if a + b <= 4]

    def law(rows: Rows) -> Law:
        return sampled(rows, rate, lambda kept: count(4 + kept.count("a") - kept.count("b"), TWO, 8))

    laws = {rows: law(rows) for rows in tables}
    plan = Sampled(Use(Linear(TWO)), rate=rate)
    for first, second in itertools.product(tables, repeat=2):
        if ROW.measure(first, second) <= distance:  # type: ignore[operator]
            assert covers(plan.loss(distance), ratio(laws[first], laws[second]))
            if first != second:
                for order in (1.01, 2, 20):
                    assert renyi(laws[first], laws[second], order) <= order * float(plan.loss(distance).rho)


@pytest.mark.parametrize("distance", [1, 2])
def test_the_delta_of_a_sample(distance: int) -> None:
    rate, delta = Fraction(1, 5), Fraction(1, 50)

    def law(rows: Rows) -> Law:
        return sampled(rows, rate, lambda kept: leak(present(kept), TWO, delta))

    loss = Sampled(Use(Leaky(TWO, delta)), rate=rate).loss(distance)
    caught = 1 - (1 - rate) ** distance
    odds = 1 + caught
    first, second = law((1,) * distance), law(())
    assert loss.delta == caught * delta
    assert excess(first, second, odds) == loss.delta
    assert excess(second, first, odds) <= loss.delta
    assert abs(loss.pure - Fraction(ln(odds))) < Fraction(1, 10**20)  # type: ignore[operator]


def test_a_sample_of_concentrated_losses_is_charged_in_full() -> None:
    assert Sampled(Use(Curve((Fraction(0), Fraction(1)))), rate="0.01").loss() == ZCDP(1)


def test_a_sample_keeps_the_rho_of_its_part() -> None:
    @dataclass(frozen=True)
    class Tight:
        distance: Distance = L1

        def loss(self, d_in: Any = 1) -> Loss:
            return PureDP(1, rho="0.01")

    loss = Sampled(Use(Tight()), rate="0.9").loss()
    assert loss.rho == Fraction(1, 100)
    assert loss.pure is not None
    assert loss.pure < 1


def test_large_groups_of_a_sample_are_priced() -> None:
    """(1 - rate)^d has thousands of digits; the price has few, and is never below."""
    loss = Sampled(Use(Leaky(TWO, Fraction(1, 100))), rate="0.001").loss(5000)
    truth = -math.expm1(5000 * math.log1p(-0.001)) * 0.01
    assert truth * (1 - 1e-12) <= float(loss.delta) <= truth * (1 + 1e-12)


@pytest.mark.parametrize("unit", [ROW_REPLACED, place("euclidean"), person("id", Relation.REPLACE), L1], ids=str)
def test_a_sample_needs_added_or_removed_units(unit: Distance) -> None:
    with pytest.raises(IncompatibleDistance, match="sampled"):
        Sampled(coin, rate="1/2").check(unit)
    with pytest.raises(IncompatibleDistance):
        Repeat(Sampled(coin, rate="1/2"), times=3).check(unit)


def test_why_a_sample_of_replaced_rows_is_refused() -> None:
    """Twice the amplified loss would be right there; the amplified loss alone is below the truth."""
    rate = Fraction(1, 2)
    first, second = (sampled((bit,), rate, lambda rows: count(2 + sum(rows), TWO, 4)) for bit in (1, -1))
    assert not covers(Sampled(Use(Linear(TWO)), rate=rate).loss(), ratio(first, second))


@pytest.mark.parametrize("rate", [0, -1, "1.0001", "nan"])
def test_a_rate_is_a_probability(rate: Any) -> None:
    with pytest.raises(InvalidParameter, match="rate"):
        Sampled(coin, rate=rate)


# SampledExactly


def sampled_exactly(rows: Rows, kept: int, inner: Callable[[Rows], Law]) -> Law:
    """The law of ``inner`` on a uniform sample of fixed size, by trying all samples."""
    samples = list(itertools.combinations(rows, kept))
    return mixture((Fraction(1, len(samples)), inner(sample)) for sample in samples)


@pytest.mark.parametrize(("kept", "of"), [(1, 4), (2, 5), (3, 5), (4, 4)])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_a_fixed_sample_of_a_saturated_part_is_exact(kept: int, of: int, distance: int) -> None:
    """Whether anyone in the sample says yes, asked through a coin: all pairs of tables of that size."""
    tables = list(itertools.combinations_with_replacement((0, 1), of))
    laws = {rows: sampled_exactly(rows, kept, lambda sample: flip(present(sample), THREE)) for rows in tables}
    truth = max(
        ratio(laws[first], laws[second])
        for first, second in itertools.product(tables, repeat=2)
        if ROW_REPLACED.measure(first, second) <= distance  # type: ignore[operator]
    )
    missed = Fraction(math.comb(max(of - distance, 0), kept), math.comb(of, kept))
    assert truth == 1 + 2 * (1 - missed)
    plan = SampledExactly(Use(Saturated(THREE)), kept=kept, of=of)
    plan.check(ROW_REPLACED)
    assert equals(plan.loss(distance), truth)


@pytest.mark.parametrize(("kept", "of"), [(1, 3), (2, 4), (3, 4)])
@pytest.mark.parametrize("distance", [1, 2])
def test_a_fixed_sample_of_a_count_is_covered(kept: int, of: int, distance: int) -> None:
    """People who pull the count in opposite directions included: one replacement moves it by two."""
    tables = list(itertools.combinations_with_replacement((-1, 0, 1), of))
    laws = {rows: sampled_exactly(rows, kept, lambda kept: count(3 + sum(kept), TWO, 6)) for rows in tables}
    loss = SampledExactly(Use(Linear(TWO), stability=2), kept=kept, of=of).loss(distance)
    for first, second in itertools.product(tables, repeat=2):
        if ROW_REPLACED.measure(first, second) <= distance:  # type: ignore[operator]
            assert covers(loss, ratio(laws[first], laws[second]))
            if first != second:
                for order in (1.01, 2, 20):
                    assert renyi(laws[first], laws[second], order) <= order * float(loss.rho)


def test_smaller_prices_of_a_fixed_sample_are_refuted() -> None:
    """A sample said to be smaller, data said to be larger, and the loss of a row that leaves in place of a replaced."""
    first, second = (sampled_exactly((bit, 0, 0, 0), 2, lambda sample: flip(present(sample), THREE)) for bit in (1, 0))
    truth = ratio(first, second)
    assert equals(SampledExactly(Use(Saturated(THREE)), kept=2, of=4).loss(), truth)
    assert not covers(SampledExactly(Use(Saturated(THREE)), kept=1, of=4).loss(), truth)
    assert not covers(SampledExactly(Use(Saturated(THREE)), kept=2, of=5).loss(), truth)
    one_way, other_way = (
        sampled_exactly((bit, 0, 0, 0), 2, lambda sample: count(2 + sum(sample), TWO, 4)) for bit in (1, -1)
    )
    assert not covers(SampledExactly(Use(Linear(TWO)), kept=2, of=4).loss(), ratio(one_way, other_way))
    assert covers(SampledExactly(Use(Linear(TWO), stability=2), kept=2, of=4).loss(), ratio(one_way, other_way))


@pytest.mark.parametrize("distance", [1, 2])
def test_the_delta_of_a_fixed_sample(distance: int) -> None:
    kept, of, delta = 2, 5, Fraction(1, 50)

    def law(rows: Rows) -> Law:
        return sampled_exactly(rows, kept, lambda sample: leak(present(sample), TWO, delta))

    loss = SampledExactly(Use(Leaky(TWO, delta)), kept=kept, of=of).loss(distance)
    caught = 1 - Fraction(math.comb(of - distance, kept), math.comb(of, kept))
    first, second = law((1,) * distance + (0,) * (of - distance)), law((0,) * of)
    assert loss.delta == caught * delta == excess(first, second, 1 + caught)
    assert excess(second, first, 1 + caught) <= loss.delta
    assert abs(loss.pure - Fraction(ln(1 + caught))) < Fraction(1, 10**20)  # type: ignore[operator]


def test_a_fixed_sample_of_concentrated_losses_is_charged_in_full() -> None:
    assert SampledExactly(Use(Curve((Fraction(0), Fraction(1)))), kept=1, of=100).loss() == ZCDP(1)


def test_groups_that_a_fixed_sample_cannot_miss_are_charged_in_full() -> None:
    plan = SampledExactly(Use(Saturated(TWO)), kept=3, of=5)
    assert plan.loss(2).pure < plan.loss(3).pure == plan.loss(10**6).pure == coin.loss().pure  # type: ignore[operator]
    assert plan.loss(0).is_zero
    # No more rows of the sample are replaced than it has.
    one = SampledExactly(Use(Linear(TWO)), kept=1, of=4)
    laws = [sampled_exactly(rows, 1, lambda sample: count(1 + sum(sample), TWO, 2)) for rows in ((1,) * 4, (0,) * 4)]
    assert equals(one.loss(4), ratio(*laws))
    assert one.loss(4) == Linear(TWO).loss(1)


def test_large_groups_of_a_fixed_sample_are_priced() -> None:
    """Against logarithms of factorials: never below, and close even where factors are no longer multiplied out."""
    part = Use(Leaky(TWO, Fraction(1, 100)))
    for kept, of, group, slack in [(100, 10**6, 3000, 1e-9), (5000, 10**9, 20_000, 1e-4)]:
        log_missed = math.lgamma(of - group + 1) + math.lgamma(of - kept + 1)
        log_missed -= math.lgamma(of + 1) + math.lgamma(of - kept - group + 1)
        truth = -math.expm1(log_missed) / 100
        found = float(SampledExactly(part, kept=kept, of=of).loss(group).delta)
        # Logarithms of factorials of 10^9 are known to about 1e-6.
        assert truth * (1 - 1e-4) <= found <= truth * (1 + 1e-4 + slack)


@pytest.mark.parametrize(
    "unit",
    [ROW, EDGE, place("euclidean"), person("id", Relation.ADD_REMOVE), person("id", Relation.REPLACE), L1],
    ids=str,
)
def test_a_fixed_sample_needs_single_replaced_units(unit: Distance) -> None:
    plan = SampledExactly(coin, kept=1, of=2)
    for tried in (plan, Repeat(plan, times=3), SampledExactly(plan, kept=2, of=4)):
        with pytest.raises(IncompatibleDistance, match="sample of fixed size"):
            tried.check(unit)
    plan.check(ROW_REPLACED)
    plan.check(EVENT_REPLACED)
    SampledExactly(plan, kept=2, of=4).check(ROW_REPLACED)


def test_a_part_of_the_data_has_no_public_size() -> None:
    """A replaced row may leave a sibling, and no sample of fixed size hides how many rows are left."""
    plan = SampledExactly(coin, kept=1, of=2)
    with pytest.raises(IncompatibleDistance, match="units of all of the data"):
        Parallel(plan, siblings=2, touched=2).check(ROW_REPLACED)
    Parallel(plan, siblings=1, touched=2).check(ROW_REPLACED)


@pytest.mark.parametrize(("kept", "of", "named"), [(0, 3, "kept"), (4, 3, "kept"), (1, 0, "of"), (1.5, 3, "kept")])
def test_bad_sizes_of_a_sample_are_refused(kept: Any, of: Any, named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        SampledExactly(coin, kept=kept, of=of)


# Best


def best_of(law: list[Fraction], ranks: list[int], chances: Callable[[Fraction], Fraction]) -> list[Fraction]:
    """The law of the winner of a random number of runs, from the generating function of that number.

    ``ranks`` are the scores; runs with the same score are told apart by who came first, which favours none of them.
    """
    winner = []
    for chance, rank in zip(law, ranks, strict=True):
        below = sum((p for p, r in zip(law, ranks, strict=True) if r < rank), Fraction(0))
        level = sum((p for p, r in zip(law, ranks, strict=True) if r == rank), Fraction(0))
        winner.append(chance * (chances(below + level) - chances(below)) / level)
    return winner


def geometric(stop: Fraction) -> Callable[[Fraction], Fraction]:
    return lambda x: stop * x / (1 - (1 - stop) * x)


def logarithmic(stop: Fraction) -> Callable[[Fraction], Fraction]:
    return lambda x: Fraction(ln(1 - (1 - stop) * x) / ln(stop))


def families(stop: Fraction) -> dict[int, Callable[[Fraction], Fraction]]:
    return {0: logarithmic(stop), 1: geometric(stop)}


def test_the_winner_by_enumeration_and_by_generating_function() -> None:
    """Truncated at forty runs, run by run with the first of equals kept, as a runner does it."""
    law, ranks, stop, most = [Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)], [0, 1, 1], Fraction(1, 3), 40
    for shape, chances in families(stop).items():
        weights = [(1 - stop) ** k / k if shape == 0 else stop * (1 - stop) ** (k - 1) for k in range(1, most + 1)]
        scale = Fraction(-1 / ln(stop)) if shape == 0 else Fraction(1)
        state, found = list(law), [Fraction(0)] * 3
        for weight in weights:
            found = [total + scale * weight * p for total, p in zip(found, state, strict=True)]
            stepped = [Fraction(0)] * 3
            for leader, newcomer in itertools.product(range(3), repeat=2):
                winner = newcomer if ranks[newcomer] > ranks[leader] else leader
                stepped[winner] += state[leader] * law[newcomer]
            state = stepped
        missing = 1 - sum(found)
        assert 0 < missing < Fraction(1, 10**5)
        for total, exactly in zip(found, best_of(law, ranks, chances), strict=True):
            assert total <= exactly + Fraction(1, 10**40)
            assert exactly <= total + missing + Fraction(1, 10**40)


@pytest.mark.parametrize("shape", [0, 1])
def test_the_best_of_several_runs_is_covered(shape: int) -> None:
    weights = st.lists(st.integers(1, 1000), min_size=2, max_size=5)

    @given(weights, st.data(), st.integers(1, 200))
    @settings(deadline=None, max_examples=60)
    def check(base: list[int], data: st.DataObject, stop: int) -> None:
        tilts = data.draw(st.lists(st.integers(1, 8), min_size=len(base), max_size=len(base)))
        ranks = data.draw(st.lists(st.integers(0, 3), min_size=len(base), max_size=len(base)))
        first = [Fraction(w, sum(base)) for w in base]
        tilted = [w * t for w, t in zip(base, tilts, strict=True)]
        second = [Fraction(w, sum(tilted)) for w in tilted]
        odds = max(max(p / q, q / p) for p, q in zip(first, second, strict=True))
        repeats = Repeats(stop=Fraction(1, stop + 1), shape=shape)
        chances = families(repeats.stop)[shape]
        plan = Best(Use(Saturated(odds)), repeats)
        winners = [best_of(law, ranks, chances) for law in (first, second)]
        for p, q in zip(*winners, strict=True):
            # Forty digits of room for the logarithms of one of the two families.
            for above, below in ((p, q), (q, p)):
                assert covers(plan.loss(), above / below * (1 - Fraction(1, 10**40)))

    check()


@pytest.mark.parametrize("shape", [0, 1])
def test_the_price_of_selection_is_nearly_reached(shape: int) -> None:
    """So a price of one run less would be wrong: rare candidates between common ones, and many runs."""
    odds, rare = Fraction(5, 2), Fraction(1, 10**12)
    high = Fraction(1, 6)
    first = [1 - rare - high, rare, high]
    second = [1 - rare / odds - high * odds, rare / odds, high * odds]
    assert max(max(p / q, q / p) for p, q in zip(first, second, strict=True)) == odds
    stop = Fraction(1, 10**9)
    p, q = (best_of(law, [0, 1, 2], families(stop)[shape])[1] for law in (first, second))
    plan = Best(Use(Saturated(odds)), Repeats(stop=stop, shape=shape))
    assert covers(plan.loss(), p / q)
    assert p / q > odds ** (2 + shape) * Fraction(999, 1000)


def test_a_fixed_number_of_runs_has_no_such_price() -> None:
    """Ten runs, always: the loss is that of ten runs, which is why the number must be random and secret."""
    first, second = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    worst = best_of(second, [0, 1], lambda x: x**10)[0] / best_of(first, [0, 1], lambda x: x**10)[0]
    assert worst == 2**10
    assert not covers(Best(coin, Repeats(stop="1/10", shape=1)).loss(), worst)


def test_selection_is_for_pure_losses() -> None:
    assert Best(coin, Repeats(stop="1/2", shape=0)).loss().pure == 2 * coin.loss().pure  # type: ignore[operator]
    assert Best(coin, Repeats(stop="1/2", shape=1)).loss().pure == 3 * coin.loss().pure  # type: ignore[operator]
    for plan in (Use(Leaky(TWO, Fraction(1, 9))), Use(Curve((Fraction(0), Fraction(1))))):
        with pytest.raises(NoGuarantee, match="pure"):
            Best(plan, Repeats(stop="1/2", shape=1)).loss()


def test_repeats() -> None:
    assert Repeats(stop="0.01", shape=1).mean == 100
    k = range(1, 4000)
    weights = [0.99**n / n for n in k]
    mean = sum(n * w for n, w in zip(k, weights, strict=True)) / sum(weights)
    assert Repeats(stop="0.01", shape=0).mean == pytest.approx(mean)
    for stop, shape in ((1, 1), (0, 1), ("1/2", 2), ("1/2", -1), ("3/2", 0)):
        with pytest.raises(InvalidParameter):
            Repeats(stop=stop, shape=shape)


# Within


def test_a_run_under_a_filter_costs_its_budget() -> None:
    for budget in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-6")):
        plan = Within(budget, (Linear,))
        assert plan.loss() == budget
        assert plan.loss(0).is_zero or budget.group(0).delta == 0
        assert plan.loss(3) == budget.group(3)
    with pytest.raises(NoGuarantee):
        Within(ZCDP(1, "1e-9"), (Linear,)).loss(2)


def test_a_run_under_a_filter_has_one_unit() -> None:
    Within(PureDP(1), (Size,), unit=ROW_REPLACED).check(ROW_REPLACED)
    Within(PureDP(1), (Linear,)).check(EDGE)
    with pytest.raises(IncompatibleDistance):
        Within(PureDP(1), (Size,), unit=ROW_REPLACED).check(EDGE)
    # What a sibling sees of a replaced row is no replacement, under a filter as elsewhere.
    with pytest.raises(IncompatibleDistance):
        Parallel(Within(PureDP(1), (Size,), unit=ROW_REPLACED), siblings=2, touched=2).check(ROW_REPLACED)


# What all rules share


@pytest.mark.parametrize(
    "plan",
    [
        Parallel(coin, siblings=2, touched=1),
        Sampled(coin, rate="1/2"),
        SampledExactly(coin, kept=1, of=2),
        Within(PureDP(1), (Linear,)),
    ],
    ids=lambda plan: type(plan).__name__,
)
def test_units_of_data_are_whole(plan: Plan) -> None:
    for offender in ("1/2", -1, 0.5):
        with pytest.raises(InvalidParameter, match="d_in"):
            plan.loss(offender)


@pytest.mark.parametrize("wrap", [lambda plan: plan, lambda plan: Repeat(plan, times=2), lambda plan: plan.then(coin)])
def test_a_part_with_another_unit_is_refused(wrap: Callable[[Plan], Plan]) -> None:
    stranger = Use(Saturated(TWO, distance=EDGE))
    for plan in (
        wrap(stranger),
        Parallel(wrap(stranger), siblings=2, touched=1),
        Sampled(wrap(stranger), rate="1/2"),
        Best(wrap(stranger), Repeats(stop="1/2", shape=1)),
    ):
        with pytest.raises(IncompatibleDistance) as caught:
            plan.check(ROW)
        assert (caught.value.expected, caught.value.found) == (ROW, EDGE)
        plan.check(EDGE)
    # A metric on values is no unit, and fits under every one.
    wrap(coin).check(ROW)
    wrap(coin).check(EDGE)


def test_plans_are_values() -> None:
    one = InOrder.of(coin, Repeat(coin, times=2))
    assert one == InOrder.of(Use(Saturated(TWO)), Repeat(Use(Saturated(TWO)), times=2))
    assert len({one, InOrder.of(coin, Repeat(coin, times=2))}) == 1
    assert sequence([coin, coin]) == InOrder.of(coin, coin)


# Walking through a plan

A, B, C = (Draw(Linear(Fraction(n)), Fraction(1)) for n in (2, 3, 5))
a, b, c = (Use(draw.part) for draw in (A, B, C))


def walk(plan: Plan, *steps: Step) -> Plan | None:
    """Return what is left after the steps, or None where one of them is refused."""
    for step in steps:
        taken = plan.after(step)
        if taken is None:
            return None
        plan = taken.rest
    return plan


def test_a_sequence_is_walked_in_order() -> None:
    plan = InOrder.of(a, b, c)
    assert walk(plan, A, B, C) == DONE
    assert walk(plan, A) == InOrder.of(b, c)
    assert not plan.may_end
    for steps in [(B,), (A, C), (A, A), (A, B, C, A), (C, B, A)]:
        assert walk(plan, *steps) is None


def test_a_draw_must_be_the_one_planned() -> None:
    assert walk(a, A) == DONE
    assert walk(a, B) is None
    assert walk(a, Draw(A.part, Fraction(2))) is None
    assert walk(a, Draw(A.part, Fraction(1, 2))) is None
    assert walk(a, Split(1)) is None
    assert walk(DONE, A) is None
    assert DONE.may_end
    assert not a.may_end


def test_a_loop_may_stop_early_but_not_go_on() -> None:
    plan = Repeat(InOrder.of(a, b), times=2)
    assert plan.may_end
    assert walk(plan, A) == InOrder.of(b, Repeat(InOrder.of(a, b), times=1))
    assert walk(plan, A, B, A, B) is not None
    assert walk(plan, A, B, A, B, A) is None
    after_one = walk(plan, A, B)
    assert after_one is not None
    assert after_one.may_end
    half_way = walk(plan, A, B, A)
    assert half_way is not None
    assert not half_way.may_end
    assert walk(Repeat(a, times=0), A) is None


def test_what_may_end_may_be_passed_over() -> None:
    plan = InOrder.of(Repeat(a, times=2), b, Repeat(c, times=1))
    for steps in [(B,), (A, B), (A, A, B), (B, C)]:
        rest = walk(plan, *steps)
        assert rest is not None
        assert rest.may_end
    for steps in [(A, A, A), (C,), (B, A), (B, C, C)]:
        assert walk(plan, *steps) is None


def test_nested_loops_and_sequences_flatten() -> None:
    nested = InOrder.of(InOrder.of(a, InOrder.of(b)), InOrder.of(InOrder.of(c)))
    assert walk(nested, A, B, C) == DONE
    loops = Repeat(Repeat(a, times=2), times=3)
    assert walk(loops, *[A] * 6) is not None
    assert walk(loops, *[A] * 7) is None
    assert loops.loss().pure == 6 * A.part.loss().pure  # type: ignore[operator]
    assert a.then(b).then(c) == a.then(b.then(c)) == InOrder.of(a, b, c)
    assert DONE.then(a) == a.then(DONE) == a
    assert DONE.then(DONE) == DONE


@pytest.mark.parametrize(
    ("plan", "step", "inner"),
    [
        (Parallel(a, siblings=3, touched=1), Split(3), a),
        (Sampled(a, rate="1/4"), Sample(Fraction(1, 4)), a),
        (SampledExactly(a, kept=1, of=4), SampleExactly(1, 4), a),
        (Best(a, Repeats(stop="1/2", shape=1)), Select(Repeats(stop="1/2", shape=1)), a),
        (Within(PureDP(1), (Linear,)), Adapt(), Within(PureDP(1), (Linear,))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_steps_that_open_an_inner_plan(plan: Plan, step: Step, inner: Plan) -> None:
    taken = plan.after(step)
    assert taken is not None
    assert (taken.rest, taken.inner) == (DONE, inner)
    assert not plan.may_end
    others: list[Step] = [
        A,
        Split(4),
        Sample(Fraction(1, 3)),
        SampleExactly(1, 3),
        SampleExactly(2, 4),
        Select(Repeats(stop="1/2", shape=0)),
    ]
    assert all(plan.after(other) is None for other in others)
    followed = InOrder.of(Repeat(plan, times=2), b).after(step)
    assert followed is not None
    assert followed.inner == inner
    assert walk(followed.rest, step, B) == DONE


# Random trees: every unit's own loss, added up along a walk, against the price of the whole


@dataclass
class Walk:
    """Takes random legal steps and remembers, for each draw, in which siblings it was made."""

    choose: Callable[[int], int]
    draws: list[tuple[Fraction, tuple[tuple[int, int], ...]]] = field(default_factory=list)
    splits: int = 0

    def go(self, plan: Plan, where: tuple[tuple[int, int], ...] = ()) -> None:
        for _ in range(40):
            steps = [step for step in starts(plan) if plan.after(step) is not None]
            if not steps or (plan.may_end and self.choose(4) == 0):
                return
            step = steps[self.choose(len(steps))]
            taken = plan.after(step)
            assert taken is not None
            plan = taken.rest
            if isinstance(step, Draw):
                self.draws.append((step.part.loss(step.stability).pure or Fraction(0), where))
            elif isinstance(step, Split):
                assert taken.inner is not None
                self.splits += 1
                name = self.splits
                for sibling in range(step.siblings):
                    self.go(taken.inner, (*where, (name, sibling)))


def starts(plan: Plan) -> list[Step]:
    """All steps that could come first anywhere in the plan."""
    if isinstance(plan, Use):
        return [Draw(plan.part, plan.stability)]
    if isinstance(plan, Parallel):
        return [Split(plan.siblings)]
    if isinstance(plan, Repeat):
        return starts(plan.plan)
    return [step for inner in plan.plans for step in starts(inner)] if isinstance(plan, InOrder) else []


trees = st.recursive(
    st.builds(lambda odds, stability: Use(Linear(Fraction(odds)), stability), st.integers(2, 5), st.integers(1, 3)),
    lambda inner: (
        st.lists(inner, max_size=3).map(sequence)
        | st.builds(lambda plan, times: Repeat(plan, times=times), inner, st.integers(0, 3))
        | st.builds(lambda plan, siblings: Parallel(plan, siblings=siblings, touched=1), inner, st.integers(1, 3))
    ),
    max_leaves=6,
)


@given(trees, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_no_unit_loses_more_than_the_plan_says(plan: Plan, random: Any) -> None:
    walker = Walk(random.randrange)
    walker.go(plan)
    price = plan.loss().pure
    assert price is not None
    # A unit lives in one sibling of every division.
    for _ in range(5):
        home = {name: random.randrange(3) for name in range(1, walker.splits + 1)}
        lost = sum((loss for loss, where in walker.draws if all(home[n] == s for n, s in where)), Fraction(0))
        assert lost <= price
