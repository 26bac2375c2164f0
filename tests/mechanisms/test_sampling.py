"""Poisson sampling: the law of a sampled count keeps the amplified claim; one that skips the sample does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import IncompatibleDistance, InvalidParameter
from dither.mechanisms import Composed, DiscreteGaussian, Geometric, Numerics, Runner
from dither.mechanisms.sampling import PoissonSample
from dither.mechanisms.stability_selection import StabilitySelection
from dither.noise import Noise, system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Plan, Relation, Unit, Use, user
from dither.testing import replay

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


@pytest.mark.parametrize("unit", [ROW_REPLACED, user("person", Relation.ADD_REMOVE)])
def test_only_single_rows_added_or_removed(unit: Unit) -> None:
    with pytest.raises(IncompatibleDistance):
        PoissonSample(part=Count(unit=unit), rate="1/2")


@pytest.mark.parametrize(
    ("part", "rate", "named"), [(Geometric(scale=1), "1/2", "part"), (Count(), 2, "rate"), (Count(), 0, "rate")]
)
def test_bad_parameters_are_refused(part: Any, rate: Any, named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        PoissonSample(part=part, rate=rate)
