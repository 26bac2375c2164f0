"""Numbers that no float holds are refused when they are given, or everything goes well with them; with twins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from dither.checks import ContractViolation, check_extreme_numbers
from dither.errors import InvalidParameter
from dither.exact import FAR, NonNegative, Positive
from dither.learn.linear import FunctionalMechanism, MomentRegression
from dither.learn.streams.incremental import IncrementalRegression
from dither.mechanisms import Composed, Example, Geometric, Numerics, find, registered
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.runner import Runner
from dither.privacy import ROW, ZCDP, Plan, PureDP, Unit, Use
from dither.publish.histograms import Dawa

ALL = sorted(registered())
LINE: dict[str, Any] = {"lower": [0], "upper": [1], "target_lower": 0, "target_upper": 5}


@pytest.mark.parametrize("room", sorted({find(name).mechanism.__module__.rpartition(".")[0] for name in ALL}))
def test_every_declared_number_is_refused_or_goes_well(room: str) -> None:
    seen: set[Any] = set()
    for name in ALL:
        if find(name).mechanism.__module__.rpartition(".")[0] == room:
            for example in find(name).examples():
                check_extreme_numbers(example, seen)


@dataclass(frozen=True, kw_only=True)
class Bounded(Composed[Any, float]):
    """Divide a noisy count by a public number that floats hold."""

    name: ClassVar[str] = "bounded"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    part: Positive = Positive(1, least=Fraction(1, 2**40), most=FAR)

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Use(Geometric(scale=1))

    def release(self, data: Any, run: Runner) -> float:
        return run(Geometric(scale=1), len(data)) / float(self.part)


@dataclass(frozen=True, kw_only=True)
class TooLarge(Bounded):
    """The same without an upper limit."""

    part: Positive = Positive(1, least=Fraction(1, 2**40))


@dataclass(frozen=True, kw_only=True)
class TooSmall(Bounded):
    """The same without a lower limit: what is above 0 becomes 0."""

    part: Positive = Positive(1, most=FAR)


@dataclass(frozen=True, kw_only=True)
class Unpriced(Bounded):
    """Noise that cannot be drawn, which is seen after the price."""

    part: Positive = Positive(1, least=Fraction(1, FAR), most=FAR)

    def release(self, data: Any, run: Runner) -> float:
        Geometric(scale=self.part / 2**39)
        return super().release(data, run)


def test_the_twins() -> None:
    check_extreme_numbers(Example(Bounded(), [1, 2], ()))
    for broken in (TooLarge(), TooSmall(), Unpriced()):
        with pytest.raises(ContractViolation, match="is taken, and the release raises"):
            check_extreme_numbers(Example(broken, [1, 2], ()))


@pytest.mark.parametrize("kind", [IncrementalRegression, MomentRegression, FunctionalMechanism])
def test_a_penalty_that_no_float_holds_is_refused_at_the_constructor(kind: Any) -> None:
    public = {**LINE, "batches": 2} if kind is IncrementalRegression else LINE
    public = {**public, "objective": "squared"} if kind is FunctionalMechanism else public
    with pytest.raises(InvalidParameter, match=r"^penalty must be at most 2\^500, got 'about 2\^1328'$"):
        kind.calibrated(PureDP(1), **public, penalty=10**400)
    kind.calibrated(PureDP(1), **public, penalty=2**500)


@pytest.mark.parametrize("tiny", [PureDP(Fraction(1, 10**60)), ZCDP(Fraction(1, 10**60))], ids=repr)
def test_a_loss_that_buys_nothing_is_refused_before_anything_is_built(tiny: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"within must be an epsilon or a rho of at least 2\^-150"):
        Purse.within(tiny)


def test_noise_of_a_partition_that_cannot_be_drawn_names_epsilon() -> None:
    with pytest.raises(InvalidParameter, match="epsilon must be an epsilon whose noise can be drawn: its scale"):
        Dawa(cells=3, epsilon="1e-13", share="3/20")


def test_limits_of_declared_numbers_are_tried_on_both_sides() -> None:
    limited = Positive(least=Fraction(1, 4), most=9)
    for offender in limited.offenders():
        with pytest.raises(InvalidParameter):
            limited.convert("part", offender)
    assert (limited.convert("part", "1/4"), limited.convert("part", 9)) == (Fraction(1, 4), 9)
    with pytest.raises(InvalidParameter, match="part must be a number between 1/4 and 9, got '10'"):
        limited.convert("part", 10)
    with pytest.raises(InvalidParameter, match="part must be at least 1/4, got '1/5'"):
        Positive(least=Fraction(1, 4)).convert("part", "1/5")
    assert next(iter(NonNegative(most=1).offenders())) > 1
