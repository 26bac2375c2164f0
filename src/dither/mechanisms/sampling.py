"""Sampling: run a mechanism on a secret random sample of the rows, for a smaller loss.

For mechanisms whose answer a sample gives nearly as well as all rows. Two samples, each for its own unit: row by row,
of a secret size, where rows are added or removed; of a fixed public size, where rows are replaced. Cost: about one coin
a row, and the mechanism on the sample. Corrections: the printed rate * epsilon is always below the price, which is
ln(1 + rate * (e^epsilon - 1)); and neither rule holds for the other's unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither.exact import Of, Positive, Whole
from dither.mechanisms.core.mechanism import Composed, Numerics, NumericsOf
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.sample_and_aggregate import SampleAndAggregate
from dither.mechanisms.stability_selection import StabilitySelection
from dither.privacy import ROW, ROW_REPLACED, Distance, Plan, Sampled, Use
from dither.privacy.plans import SampledExactly


def _examples() -> Iterator[Example]:
    mean = SampleAndAggregate(
        statistic="mean", unit=ROW, blocks=2, lower=0, upper=4, otherwise=2, grid=1, part=Geometric(scale=4)
    )
    yield Example(PoissonSample(part=mean, rate="1/4"), np.array([0, 1, 2, 3, 3]))
    keys = StabilitySelection(unit=ROW, max_keys=2, scale=2, threshold=5)
    yield Example(PoissonSample(part=keys, rate="1/2"), [("a", "b"), ("a",), "b", ("c", "d", "e")])


@register(
    examples=_examples,
    source="Privacy Amplification by Subsampling (Balle, Barthe, Gaboardi 2018), theorem 8; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 5.1.3",
)
@dataclass(frozen=True, kw_only=True)
class PoissonSample(Composed[Any, Any]):
    """Run a mechanism on a secret sample that keeps each row independently with a public probability.

    Guarantee: data one row apart loses epsilon' = ``ln(1 + rate * (e^epsilon - 1))`` and delta' = ``rate * delta``,
    where epsilon and delta are those of ``part``. A rho is not reduced.

    Args:
        part: a composed mechanism on rows that are added or removed.
        rate: the probability with which each row is kept.

    >>> keys = StabilitySelection(unit=ROW, max_keys=1, scale=1, threshold=20)
    >>> float(PoissonSample(part=keys, rate="1/10").loss(1).epsilon)
    0.158565...

    """

    name: ClassVar[str] = "poisson-sample"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("part")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "the distance of a sample from all rows depends on the rows"
    no_interval_because: ClassVar[str] = no_error_because

    part: Of[Composed[Any, Any]] = Of(Composed, rule="a composed mechanism on rows")
    rate: Positive = Positive()

    def __post_init__(self) -> None:
        self.plan().check(self.distance)

    @property
    def distance(self) -> Distance:
        """That of the part."""
        return self.part.distance

    def plan(self) -> Plan:
        """Return the plan of the part, on a sample."""
        return Sampled(Use(self.part), self.rate)

    def release(self, data: Any, run: Runner) -> Any:
        """Return what the part releases for the sample."""
        rows, inner = run.sampled(data, self.rate)
        return inner(self.part, rows)


def _fixed_examples() -> Iterator[Example]:
    public: dict[str, Any] = {"unit": ROW_REPLACED, "blocks": 2, "lower": 0, "upper": 4, "otherwise": 2, "grid": 1}
    mean = SampleAndAggregate(statistic="mean", part=Geometric(scale=4), **public)
    yield Example(FixedSizeSample(part=mean, kept=2, of=5), np.array([0, 1, 2, 3, 3]))
    concentrated = SampleAndAggregate(statistic="mean", part=DiscreteGaussian(sigma=8), **public)
    yield Example(FixedSizeSample(part=concentrated, kept=1, of=3), [0.5, 3.0, 3.0])


@register(
    examples=_fixed_examples,
    source="Privacy Amplification by Subsampling (Balle, Barthe, Gaboardi 2018), theorem 9; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 5.1.3",
)
@dataclass(frozen=True, kw_only=True)
class FixedSizeSample(Composed[Any, Any]):
    """Run a mechanism on a secret, uniformly random sample of exactly ``kept`` of the ``of`` rows.

    Guarantee: data in which one row is replaced loses epsilon' = ``ln(1 + q * (e^epsilon - 1))`` and delta' =
    ``q * delta``, where q = ``kept / of``, and epsilon and delta are those of ``part``. A rho is not reduced.

    Args:
        part: a composed mechanism on rows that are replaced.
        kept: how many rows the sample has; public.
        of: how many rows there are; public, since rows are never added or removed. Data of another size is refused.

    >>> public = {"unit": ROW_REPLACED, "blocks": 20, "lower": 0, "upper": 4, "otherwise": 2, "grid": 1}
    >>> mean = SampleAndAggregate(statistic="mean", part=Geometric(scale=8), **public)
    >>> print(mean.loss(1), "|", FixedSizeSample(part=mean, kept=100, of=1000).loss(1))
    epsilon = 1 | epsilon = 0.158566

    """

    name: ClassVar[str] = "fixed-size-sample"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("part")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "the distance of a sample from all rows depends on the rows"
    no_interval_because: ClassVar[str] = no_error_because

    part: Of[Composed[Any, Any]] = Of(Composed, rule="a composed mechanism on rows")
    kept: Whole = Whole(least=1)
    of: Whole = Whole(least=1, most=2**40)

    def __post_init__(self) -> None:
        self.plan().check(self.distance)

    @property
    def distance(self) -> Distance:
        """That of the part."""
        return self.part.distance

    def plan(self) -> Plan:
        """Return the plan of the part, on a sample."""
        return SampledExactly(Use(self.part), self.kept, self.of)

    def release(self, data: Any, run: Runner) -> Any:
        """Return what the part releases for the sample."""
        rows, inner = run.sampled_exactly(data, self.kept, self.of)
        return inner(self.part, rows)
