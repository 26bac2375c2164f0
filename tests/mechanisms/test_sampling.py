"""Sampling: the law of a sampled count keeps the amplified claim; one that skips the sample does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.audit.samplers import BlockNoise
from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import IncompatibleDistance, InvalidParameter, InvalidValue, PlanViolation
from dither.mechanisms import Composed, DiscreteGaussian, Geometric, Numerics, Runner
from dither.mechanisms.core.runner import _subset
from dither.mechanisms.sampling import FixedSizeSample, PoissonSample
from dither.mechanisms.stability_selection import StabilitySelection
from dither.noise import Noise, SystemEntropy, system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Plan, Relation, Unit, Use, person
from dither.privacy.plans import SampledExactly
from dither.testing import replay
from dither.testing.branching import branch_outcomes

F = Fraction


@dataclass(frozen=True, kw_only=True)
class Count(Composed[Any, int]):
    """How many rows there are."""

    name: ClassVar[str] = "test-count-of-rows"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    part: Any = Geometric(scale=1)
    unit: Unit = ROW

    @property
    def distance(self) -> Unit:
        return self.unit

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: Any, run: Runner) -> int:
        return int(run(self.part, len(data)))


def drawn(mechanism: Composed[Any, Any], rows: Any, noise: Noise) -> Any:
    return Runner(Use(mechanism), noise)(mechanism, rows)


@pytest.mark.parametrize("rate", ["1/4", "2/3"])
def test_the_law_keeps_the_claim_on_every_size(rate: str) -> None:
    mechanism = PoissonSample(part=Count(), rate=rate)
    for here, there in (([], [1]), ([1], [1, 1]), ([1, 2], [1])):
        check_law_by_branching(partial(drawn, mechanism, here), partial(drawn, mechanism, there), mechanism.loss(1))


def test_the_printed_price_is_refuted() -> None:
    """rate * epsilon is less than ln(1 + rate * (e^epsilon - 1)), and less than the law shows."""
    mechanism = PoissonSample(part=Count(part=Geometric(scale="1/3")), rate="1/2")
    printed = F(1, 2) * 3
    assert mechanism.loss(1).epsilon > printed
    claim = type(mechanism.loss(1))(printed)
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(drawn, mechanism, [1]), partial(drawn, mechanism, []), claim)


@dataclass(frozen=True, kw_only=True)
class SkipsTheSample(PoissonSample):
    """Takes a sample and uses all rows."""

    def release(self, data: Any, run: Runner) -> Any:
        _, inner = run.sampled(data, self.rate)
        return inner(self.part, data)


def test_using_all_rows_under_the_price_of_a_sample_is_refuted() -> None:
    mechanism = SkipsTheSample(part=Count(), rate="1/4")
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(drawn, mechanism, [1]), partial(drawn, mechanism, []), mechanism.loss(1))


@dataclass(frozen=True, kw_only=True)
class ShowsTheSize(PoissonSample):
    """Releases how many rows were sampled."""

    def release(self, data: Any, run: Runner) -> Any:
        rows, inner = run.sampled(data, self.rate)
        return inner(self.part, rows), len(rows)


def test_a_size_that_is_shown_is_caught() -> None:
    mechanism = ShowsTheSize(part=Count(), rate="1/2")
    rows = list(range(30))
    found = [replay(mechanism, rows, [*rows, 100 + number]) for number in range(40)]
    # Each added row is sampled with probability 1/2: all forty escape with probability 2^-40.
    assert any("outside its draws" in str(violations) for violations in found)
    sound = PoissonSample(part=Count(), rate="1/2")
    assert all(replay(sound, rows, [*rows, 100 + number]) == [] for number in range(10))


@pytest.mark.parametrize("make", [list, tuple, np.array], ids=("list", "tuple", "array"))
def test_every_kind_of_rows(make: Callable[[Any], Any]) -> None:
    mechanism = PoissonSample(part=Count(part=Geometric(scale=F(1, 2**40))), rate="1/2")
    # 4,000 coins: below 1,700 or above 2,300 has a probability below 1e-20.
    assert 1700 < drawn(mechanism, make(list(range(4000))), system_noise()) < 2300


def test_prices() -> None:
    keys = StabilitySelection(unit=ROW, max_keys=1, scale=1, threshold=10)
    sampled = PoissonSample(part=keys, rate="1/10").loss(1)
    assert float(sampled.epsilon) == pytest.approx(math.log(1 + (math.e - 1) / 10), rel=1e-12)
    assert sampled.delta == keys.loss(1).delta / 10
    assert PoissonSample(part=keys, rate=1).loss(1) == keys.loss(1)
    # A rho alone is not reduced here.
    assert PoissonSample(part=Count(part=DiscreteGaussian(sigma=1)), rate="1/10").loss(1) == ZCDP("1/2")


@pytest.mark.parametrize("unit", [ROW_REPLACED, person("person", Relation.ADD_REMOVE)])
def test_only_single_rows_added_or_removed(unit: Unit) -> None:
    with pytest.raises(IncompatibleDistance):
        PoissonSample(part=Count(unit=unit), rate="1/2")


@pytest.mark.parametrize(
    ("part", "rate", "named"), [(Geometric(scale=1), "1/2", "part"), (Count(), 2, "rate"), (Count(), 0, "rate")]
)
def test_bad_parameters_are_refused(part: Any, rate: Any, named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        PoissonSample(part=part, rate=rate)


# Samples of a fixed size


@dataclass(frozen=True, kw_only=True)
class Total(Composed[Any, int]):
    """The sum of rows that are clamped to [-1, 1]; a replaced row moves it by two."""

    name: ClassVar[str] = "test-sum-of-signs"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    part: Any = Geometric(scale=2)
    unit: Unit = ROW_REPLACED
    stability: int = 2

    @property
    def distance(self) -> Unit:
        return self.unit

    def plan(self) -> Plan:
        return Use(self.part, self.stability)

    def release(self, data: Any, run: Runner) -> int:
        total = sum(min(max(int(row), -1), 1) for row in data)
        return int(run(self.part, total, stability=self.stability))


@pytest.mark.parametrize(("kept", "of"), [(1, 1), (1, 3), (2, 4), (3, 4), (5, 6)])
def test_every_sample_of_that_size_is_equally_likely(kept: int, of: int) -> None:
    law = branch_outcomes(lambda noise: _subset(noise, kept, of), runs=3000)
    assert law.undecided < F(1, 10**9)
    assert len(law.mass) == math.comb(of, kept)
    assert all(sum(mask) == kept and law.brackets(mask, F(1, math.comb(of, kept))) for mask in law.mass)


@pytest.mark.statistical(false_alarm=3e-10)
def test_large_samples_are_uniform_too(misfits: Callable[..., list[Any]]) -> None:
    """n = 4,000 samples of 20 of 40; false alarm 1e-10 for each set of places.

    The number of kept places in a fixed set is hypergeometric. The twin is the binomial law: coins that nobody
    corrected. A correction that prefers early or late places would fail for the first half.
    """
    # Coins of a few hundred laws, made ahead; each is handed out once.
    noise = BlockNoise(SystemEntropy())
    masks = np.array([_subset(noise, 20, 40) for _ in range(4000)])
    assert (masks.sum(axis=1) == 20).all()
    for places in (range(20), range(20, 40), range(0, 40, 2)):
        size = len(places)
        law = {x: math.comb(size, x) * math.comb(40 - size, 20 - x) / math.comb(40, 20) for x in range(size + 1)}
        kept = masks[:, list(places)].sum(axis=1).tolist()
        assert misfits(kept, law) == []
        assert misfits(kept, {x: math.comb(size, x) / 2**size for x in range(size + 1)})
    assert [int(_subset(system_noise(), kept, 10**5).sum()) for kept in (0, 1, 777, 10**5)] == [0, 1, 777, 10**5]


@pytest.mark.parametrize(("kept", "of"), [(1, 3), (2, 3), (3, 3)])
def test_the_law_of_a_fixed_sample_keeps_the_claim(kept: int, of: int) -> None:
    mechanism = FixedSizeSample(part=Total(), kept=kept, of=of)
    for here, there in (([1, 0, 0], [-1, 0, 0]), ([1, 1, -1], [1, 1, 1]), ([5, -5, 0], [-5, -5, 0])):
        check_law_by_branching(partial(drawn, mechanism, here), partial(drawn, mechanism, there), mechanism.loss(1))
    far = partial(drawn, mechanism, [1, 1, 0]), partial(drawn, mechanism, [-1, -1, 0])
    check_law_by_branching(*far, mechanism.loss(2))


def test_wrong_prices_of_a_fixed_sample_are_refuted() -> None:
    """The price of a row that leaves, of a smaller sample, and the printed one."""
    mechanism = FixedSizeSample(part=Total(part=Geometric(scale="1/2")), kept=2, of=3)
    pair = partial(drawn, mechanism, [1, 1, 1]), partial(drawn, mechanism, [-1, 1, 1])
    check_law_by_branching(*pair, mechanism.loss(1), runs=3000)
    inner = mechanism.part.loss(1)
    halved = FixedSizeSample(part=Total(part=Geometric(scale=1)), kept=2, of=3).loss(1)
    smaller = FixedSizeSample(part=mechanism.part, kept=1, of=3).loss(1)
    printed = type(inner)(inner.epsilon * F(2, 3))
    for claim in (halved, smaller, printed):
        assert claim.epsilon < mechanism.loss(1).epsilon
        with pytest.raises(ContractViolation):
            check_law_by_branching(*pair, claim, runs=3000)


@dataclass(frozen=True, kw_only=True)
class SkipsTheFixedSample(FixedSizeSample):
    """Takes a sample and uses all rows."""

    def release(self, data: Any, run: Runner) -> Any:
        _, inner = run.sampled_exactly(data, self.kept, self.of)
        return inner(self.part, data)


@dataclass(frozen=True, kw_only=True)
class ShowsARow(FixedSizeSample):
    """Releases the first row of the sample."""

    def release(self, data: Any, run: Runner) -> Any:
        rows, inner = run.sampled_exactly(data, self.kept, self.of)
        return inner(self.part, rows), rows[0]


def test_using_all_rows_or_showing_one_is_caught() -> None:
    skips = SkipsTheFixedSample(part=Total(), kept=1, of=4)
    with pytest.raises(ContractViolation):
        check_law_by_branching(partial(drawn, skips, [1, 0, 0, 0]), partial(drawn, skips, [-1, 0, 0, 0]), skips.loss(1))
    rows = list(range(10))
    shows, sound = (kind(part=Total(), kept=5, of=10) for kind in (ShowsARow, FixedSizeSample))
    pairs = [(rows, [*rows[1:], 100 + number]) for number in range(60)]
    # The replaced row is the first of the sample with probability 1/2 and its successor last: all escape with 2^-60.
    assert any("outside its draws" in str(replay(shows, *pair)) for pair in pairs)
    assert all(replay(sound, *pair) == [] for pair in pairs[:10])


@pytest.mark.parametrize("data", [[1, 2], [1, 2, 3, 4], np.zeros(5), ()], ids=("fewer", "more", "array", "none"))
def test_data_of_another_size_is_refused(data: Any) -> None:
    """The number of rows is public where they are replaced; it is refused as a shape is, without a row in the text."""
    mechanism = FixedSizeSample(part=Total(), kept=2, of=3)
    with pytest.raises(InvalidValue, match=r"^data must be exactly 3 rows, as declared, got \w+"):
        drawn(mechanism, data, system_noise())


@dataclass(frozen=True, kw_only=True)
class SamplesASelection(FixedSizeSample):
    """Samples the rows above 0, whose number is private, and so raises for some data only."""

    def release(self, data: Any, run: Runner) -> Any:
        return super().release([row for row in data if row > 0], run)


def test_a_selection_has_no_public_size() -> None:
    mechanism = SamplesASelection(part=Total(), kept=1, of=3)
    found = replay(mechanism, [1, 1, 1, 0], [1, 1, 0, 0])
    assert [violation.rule for violation in found] == ["an exception depends on data"]


@pytest.mark.parametrize(("kept", "of"), [(1, 3), (2, 4)])
def test_a_sample_of_another_size_is_not_in_the_plan(kept: int, of: int) -> None:
    run = Runner(SampledExactly(Use(Total()), kept=2, of=3), system_noise())
    with pytest.raises(PlanViolation):
        run.sampled_exactly([1, 2, 3], kept, of)


@pytest.mark.parametrize("make", [list, tuple, np.array], ids=("list", "tuple", "array"))
def test_every_kind_of_rows_is_sampled_to_size(make: Callable[[Any], Any]) -> None:
    data = make(list(range(1000)))
    rows, inner = Runner(SampledExactly(Use(Total()), 300, 1000), system_noise()).sampled_exactly(data, 300, 1000)
    assert type(rows) is type(data)
    assert isinstance(inner, Runner)
    assert len(rows) == len(set(np.asarray(rows).tolist())) == 300


def test_prices_of_fixed_samples() -> None:
    part = Total()
    assert float(FixedSizeSample(part=part, kept=1, of=10).loss(1).epsilon) == pytest.approx(
        math.log(1 + (math.e - 1) / 10), rel=1e-12
    )
    assert FixedSizeSample(part=part, kept=10, of=10).loss(1) == part.loss(1)
    assert FixedSizeSample(part=Total(part=DiscreteGaussian(sigma=2)), kept=1, of=10).loss(1) == ZCDP("1/2")


@pytest.mark.parametrize("unit", [ROW, person("person", Relation.REPLACE)])
def test_only_single_rows_replaced(unit: Unit) -> None:
    with pytest.raises(IncompatibleDistance):
        FixedSizeSample(part=Total(unit=unit), kept=1, of=2)


@pytest.mark.parametrize(
    ("part", "kept", "of", "named"),
    [(Geometric(scale=1), 1, 2, "part"), (Total(), 0, 2, "kept"), (Total(), 3, 2, "kept"), (Total(), 1, 0, "of")],
)
def test_bad_parameters_of_a_fixed_sample_are_refused(part: Any, kept: Any, of: Any, named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        FixedSizeSample(part=part, kept=kept, of=of)
