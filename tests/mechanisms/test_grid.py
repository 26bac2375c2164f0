"""Splitting values into steps of a grid, against exact rationals, and what is released on the grid.

The two ways of splitting, vectorised floats and rationals, must agree: a value whose float offset and exact offset lie
on two sides of a whole step would be given the wrong law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dither.errors import InvalidParameter
from dither.mechanisms import Gaussian, Laplace
from dither.mechanisms.core.grid import Steps, default_grid, on_grid, subdivision
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, RealArray
from dither.noise import Noise, system_noise
from dither.testing.branching import branch_outcomes
from tests.rationals import rationals

F = Fraction
Misfits = Callable[[Iterable[Any], Mapping[Any, float]], list[Any]]

ULP = 2.0**-53
HOSTILE = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2e-308,
    -1e-310,
    1e-300,
    -1e-300,
    0.5,
    0.5 - ULP,
    0.5 + 2 * ULP,
    -0.5,
    -0.5 + ULP,
    -0.5 - 2 * ULP,
    1 - ULP,
    0.1,
    -0.1,
    1 / 3,
    2.0**52 - 1,
    2.0**52 + 1,
    2.0**52 - 0.5,
    -(2.0**52) - 1,
    2.0**53 + 2,
    2.0**60,
    -(2.0**60),
    2.0**62,
    1e308,
    -1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
]
GRIDS = [F(1), F(2), F(4), F(8), F(1, 2), F(1, 1024), F(2**80), F(1, 2**80), F(2**700), F(1, 2**900)]
OTHER_GRIDS = [F(3), F(1, 3), F(7, 10), F(10**20), F(1, 10**20)]
HALVINGS = range(6)


def meant(value: Any) -> Fraction:
    """Return what a value means: NaN is zero, infinities are the largest floats."""
    if isinstance(value, float) and not math.isfinite(value):
        return F(0) if math.isnan(value) else F(math.copysign(np.finfo(float).max, value))
    return F(value)


def position(value: Any, grid: Fraction, halvings: int) -> Fraction:
    """Return (value + grid / 2) / step for a value that saturates at 2^60 steps."""
    step = grid / 2**halvings
    steps = min(max(meant(value) / step, F(-LARGEST_VALUE)), F(LARGEST_VALUE))
    return steps + F(2**halvings, 2)


def check_split(values: list[Any], grid: Fraction, halvings: int, *, as_array: bool) -> None:
    given = np.array(values, dtype=np.float64) if as_array else values
    steps = Steps.of(RealArray((len(values),)).admit(given), grid, halvings)
    for index, value in enumerate(values):
        whole, offset = int(steps.whole[index]), steps.exact_offset(index)
        where = position(value, grid, halvings)
        assert whole + offset == where
        assert 0 <= offset < 1
        assert whole == math.floor(where)
        assert 0 <= steps.offset[index] <= 1
        assert abs(F(float(steps.offset[index])) - offset) <= F(1, 2**50)
    offsets = [steps.exact_offset(index) for index in range(len(values))]
    assert not steps.is_on_grid or all(offset == F(1, 2) for offset in offsets)


@pytest.mark.parametrize("halvings", HALVINGS)
@pytest.mark.parametrize("grid", [*GRIDS, *OTHER_GRIDS], ids=str)
@pytest.mark.parametrize("as_array", [True, False], ids=["array", "list"])
def test_hostile_floats_split_exactly(grid: Fraction, halvings: int, as_array: bool) -> None:
    check_split(HOSTILE, grid, halvings, as_array=as_array)


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    exponent=st.integers(-900, 900),
    halvings=st.integers(0, 20),
)
@example(values=[-5e-324], exponent=2, halvings=1)
@example(values=[0.0, -1e-300], exponent=0, halvings=0)
def test_floats_split_exactly(values: list[float], exponent: int, halvings: int) -> None:
    check_split(values, F(2) ** exponent, halvings, as_array=True)


@given(
    values=st.lists(st.integers(-(2**70), 2**70) | st.fractions(), min_size=1, max_size=6),
    grid=rationals(F(1, 10**9), 10**9),
    halvings=st.integers(0, 20),
)
@example(values=[0, F(1, 10**40)], grid=F(1), halvings=0)
def test_integers_and_rationals_split_exactly(values: list[Any], grid: Fraction, halvings: int) -> None:
    check_split(values, grid, halvings, as_array=False)


@pytest.mark.parametrize("halvings", HALVINGS)
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint64, np.int32])
def test_integer_arrays_split_exactly(dtype: Any, halvings: int) -> None:
    info = np.iinfo(dtype)
    values = np.array([0, 1, info.min, info.max, info.max // 2], dtype=dtype)
    for grid in (F(1), F(4), F(1, 8), F(3, 7)):
        steps = Steps.of(RealArray((5,)).admit(values), grid, halvings)
        for index, value in enumerate(values.tolist()):
            saturated = min(max(value, -LARGEST_VALUE), LARGEST_VALUE)
            assert int(steps.whole[index]) + steps.exact_offset(index) == position(saturated, grid, halvings)


EDGES = sorted(
    {
        sign * (1 << bits) + near
        for bits in (*range(8), 30, 52, 53, 54, 58, 59, 60)
        for sign in (1, -1)
        for near in (-1, 0, 1)
    }
)


@pytest.mark.parametrize("halvings", HALVINGS)
@pytest.mark.parametrize("exponent", [*range(-64, 65, 4), -61, -59, 1, 2, 3, 53, 54, 59, 61, 62, 63], ids=str)
def test_integers_shift_to_the_nearest_float_offset_on_every_power_of_two(exponent: int, halvings: int) -> None:
    values = [min(max(value, -LARGEST_VALUE), LARGEST_VALUE) for value in EDGES]
    grid = F(2) ** exponent
    steps = Steps.of(np.array(values), grid, halvings)
    assert steps.whole.dtype == np.int64
    for index, value in enumerate(values):
        where = position(value, grid, halvings)
        assert int(steps.whole[index]) == math.floor(where)
        assert steps.exact_offset(index) == where - math.floor(where)
        assert float(steps.offset[index]) == float(where - math.floor(where))


def test_a_number_that_vanishes_keeps_its_side_of_zero() -> None:
    """-5e-324 / 2 is no float: were it taken for zero, its offset would be 0 and its exact offset nearly 1."""
    steps = Steps.of(np.array([-5e-324, 5e-324]), F(4), 1)
    assert steps.whole.tolist() == [0, 1]
    assert steps.offset[0] == pytest.approx(1)
    assert steps.offset[1] == pytest.approx(0)
    assert float(steps.exact_offset(0)) == 1.0


def test_being_on_the_grid_is_told_from_the_type_and_never_from_the_content() -> None:
    """Content must not decide which sampler runs; and -1e-300 has a float offset of one half without being on it."""
    assert Steps.of(np.array([3, 4]), F(1), 0).is_on_grid
    for values in ([3.0, 4.0], [3.0, -1e-300], [3.0, 0.25]):
        assert not Steps.of(np.array(values), F(1), 0).is_on_grid
    assert not Steps.of(np.array([3, 4]), F(1), 1).is_on_grid
    assert not Steps.of(np.array([3, 4]), F(2), 0).is_on_grid


def test_overflow_raises_nothing_however_numpy_is_set() -> None:
    with np.errstate(all="raise"):
        for value in HOSTILE:
            Laplace(scale=1).draw(value, system_noise())
            Laplace(scale="1e-200").draw(np.float64(value), system_noise())
            Gaussian(sigma="1e200").draw(np.array(value), system_noise())


# The grid as a parameter.


@given(numerator=st.integers(1, 10**30), denominator=st.integers(1, 10**30))
def test_default_grid_is_the_power_of_two_next_below_a_thousandth(numerator: int, denominator: int) -> None:
    scale = F(numerator, denominator)
    grid = default_grid(scale)
    assert scale / 2048 < grid <= scale / 1024
    assert grid.numerator & (grid.numerator - 1) == grid.denominator & (grid.denominator - 1) == 0
    assert Laplace(scale=scale).grid == grid


@pytest.mark.parametrize(("scale", "grid"), [(1, 1), (2, 3), (1, 1000), ("1/1000", 1), (7, "1/3")])
def test_subdivision_makes_the_noise_as_wide_as_a_step(scale: Any, grid: Any) -> None:
    k = subdivision(F(scale), F(grid))
    assert F(scale) * 2**k >= F(grid)
    assert k == 0 or F(scale) * 2 ** (k - 1) < F(grid)


@pytest.mark.parametrize(
    ("scale", "grid"),
    [(1, F(1, 2**57)), (1, 2**21), ("1e-30", 1), ("1e300", "1e300"), ("1e-310", "1e-310")],
)
def test_grids_out_of_proportion_are_refused(scale: Any, grid: Any) -> None:
    for build in (lambda: Laplace(scale=scale, grid=grid), lambda: Gaussian(sigma=scale, grid=grid)):
        with pytest.raises(InvalidParameter) as refusal:
            build()
        assert refusal.value.parameter == "grid"


@pytest.mark.parametrize("scale", ["1e300", "1e-310", "1e400"])
def test_scales_without_a_grid_that_fits_a_float_are_refused(scale: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        Laplace(scale=scale)
    assert refusal.value.parameter == "scale"


# What is released.


@pytest.mark.parametrize(
    "grid", [F(1), F(3), F(1, 3), F(1, 4), F(2**40), F(2**61), F(2**70), F(10**25), F(2**900), F(1, 2**1000)]
)
def test_released_numbers_are_finite_multiples_of_the_grid(grid: Fraction) -> None:
    whole = np.array([0, 1, -1, 5, LARGEST_VALUE, -LARGEST_VALUE])
    noise = np.array([0, 2, -2, 2**63 - 1, 2**62, -(2**63)])
    out = on_grid(whole, noise, grid, 0)
    assert np.isfinite(out.astype(float)).all()
    for released, steps in zip(out.tolist(), [0, 3, -3], strict=False):
        assert released == pytest.approx(float(steps * grid), rel=1e-15)
        assert isinstance(released, int) == (grid.denominator == 1 and grid <= 2**40)
    assert all(abs(number) <= float(LARGEST_SUM * grid) for number in out.tolist())


@pytest.mark.parametrize("grid", ["1/4", "1/3", "8", "1/1024", None])
@pytest.mark.parametrize("kind", [lambda g: Laplace(scale=3, grid=g), lambda g: Gaussian(sigma=3, grid=g)])
def test_nothing_is_released_off_the_grid(kind: Callable[[Any], Any], grid: Any) -> None:
    """Whatever the value: last digits that give it away are what a grid is for."""
    mechanism = kind(grid)
    for value in (0.1, 1 / 3, 123456.789, -1e-300):
        out = mechanism.draw_many(value, 2000, system_noise())
        steps = [round(F(number) / mechanism.grid) for number in out.tolist()]
        assert [float(step * mechanism.grid) for step in steps] == out.astype(float).tolist()


def rounded_twice(scale: Fraction, grid: Fraction, value: Fraction) -> dict[float, float]:
    """Return the law of value + Z rounded to the nearest multiple of the grid, in one go."""

    def below(x: float) -> float:
        return math.exp(x / float(scale)) / 2 if x < 0 else 1 - math.exp(-x / float(scale)) / 2

    law = {}
    for steps in range(-6, 7):
        out = (round(value / grid) + steps) * grid
        probability = below(float(out + grid / 2 - value)) - below(float(out - grid / 2 - value))
        if probability > 1e-7:
            law[float(out)] = probability
    return law


@pytest.mark.statistical(false_alarm=1e-10)
@pytest.mark.parametrize(
    ("scale", "grid", "value"),
    [
        (F(1), F(8), F(3)),
        (F(1), F(5), F(5, 2)),
        (F(1, 3), F(1), F(-2, 5)),
        (F(2), F(2**11), F(2**10)),
        (F(1, 2), F(4), F(10**6)),
    ],
)
def test_noise_narrower_than_the_grid_is_rounded_once(
    scale: Fraction, grid: Fraction, value: Fraction, misfits: Misfits
) -> None:
    """Drawn on a finer grid and rounded again is the same as rounded at once; n = 50,000, false alarm 1e-10.

    The twin, rounded down and not to nearest, must be refused.
    """
    mechanism = Laplace(scale=scale, grid=grid)
    drawn = [float(out) for out in mechanism.draw_many(value, 50_000, system_noise())]
    assert misfits(drawn, rounded_twice(scale, grid, value)) == []
    assert misfits(drawn, rounded_twice(scale, grid, value - grid / 2))


def test_the_law_near_a_boundary_is_that_of_the_exact_value() -> None:
    """Just below and just above a rounding boundary the laws are mirror images, to the last bit of the coins."""
    mechanism = Laplace(scale=1, grid=4)

    def law(value: Any) -> dict[int, Fraction]:
        found = branch_outcomes(lambda noise: mechanism.draw(value, noise), runs=300)
        assert found.undecided < 2**-20
        return found.mass

    for tiny in (F(1, 10**30), F(5e-324)):
        below, above = law(2 - tiny), law(2 + tiny)
        assert max(abs(below[4 - out] - mass) for out, mass in above.items() if 4 - out in below) < 2**-20
    assert abs(law(np.float64(-5e-324))[0] - law(0)[0]) < 2**-40


@pytest.mark.parametrize("value", [0, 3.7, -1e-300, F(1, 3)])
def test_an_array_and_its_entries_have_one_law(value: Any, noise: Noise) -> None:
    """The shape changes how a value is admitted and nothing else."""
    scalar, vector = Laplace(scale=1, grid=1), Laplace(scale=1, grid=1, shape=1)
    laws = [
        branch_outcomes(draw, runs=400).mass
        for draw in (lambda n: scalar.draw(value, n), lambda n: vector.draw([value], n)[0])
    ]
    assert laws[0] == laws[1]
    assert vector.draw([value], noise).shape == (1,)


@pytest.mark.parametrize("halvings", [0, 1, 2, 20])
def test_saturation_is_a_function_of_the_exact_sum_for_every_number_of_halvings(halvings: int) -> None:
    # Would catch: noise that is cut off where a value near the limit has not reached it. With halvings the whole part
    # is up to half a grid beyond 2^60; the lemma on grids says why that is sound.
    limit, cut, half = 2**60, 2**62 + 2**60, 2**halvings // 2
    steps = [Steps.of(np.array([value], dtype=object), F(1), halvings) for value in (-(2**70), F(2**70), 0)]
    wholes = sorted(int(each.whole[0]) for each in steps)
    assert wholes == [-limit + half, half, limit + half]
    for whole in (*wholes, wholes[0] + 1, wholes[-1] - 1):
        for noise in (sign * (cut + more) for sign in (-1, 1) for more in (-(2**25), -2, -1, 0, 1, 2, half, 2**70)):
            exact = min(max(whole + noise, -(2**62)), 2**62) >> halvings
            out = on_grid(np.array([whole]), np.array([noise], dtype=object), F(1), halvings)
            assert int(out[0]) == exact, (whole, noise)
