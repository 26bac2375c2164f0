"""What a private value may be: every content is admitted, a wrong type or shape is refused without showing it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    Primitive,
    RandomisedResponse,
    TopK,
)
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, Category, IntegerArray, RealArray, saturating_sum
from dither.noise import Noise
from dither.privacy import L1, L2, LARGEST, ONE_WAY, Metric

F = Fraction
CANARY = 8_675_309
LARGEST_FLOAT = float(np.finfo(float).max)

INTEGERS: list[Any] = [
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**64 - 1,
    10**400,
    -(10**400),
    np.int64(2**63 - 1),
    np.int64(-(2**63)),
    np.uint64(2**64 - 1),
    np.int8(-128),
    np.uint8(255),
    np.int16(-5),
    np.array(7),
    np.array(2**64 - 1, dtype=np.uint64),
]
REALS: list[Any] = [
    *INTEGERS,
    0.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    -1e-310,
    1e308,
    -LARGEST_FLOAT,
    0.1,
    F(1, 3),
    F(-(10**400), 7),
    F(1, 10**400),
    np.float64(math.nan),
    np.float32(1e38),
    np.float32(math.inf),
    np.float16(65504),
    np.float64(5e-324),
    np.array(math.nan),
    np.array(-math.inf, dtype=np.float32),
]


def meant(value: Any) -> Fraction:
    """Return what a value means before any saturation."""
    entry = value.item() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(entry, float) and not math.isfinite(entry):
        return F(0) if math.isnan(entry) else F(math.copysign(LARGEST_FLOAT, entry))
    return F(entry)


def saturated(number: Fraction) -> Fraction:
    return min(max(number, F(-LARGEST_VALUE)), F(LARGEST_VALUE))


# Every content is admitted.


@pytest.mark.parametrize("value", INTEGERS, ids=lambda v: f"{type(v).__name__} {str(v)[:20]}")
def test_any_integer_is_admitted(value: Any) -> None:
    admitted = IntegerArray(()).admit(value)
    assert admitted.dtype == np.int64
    assert [F(int(entry)) for entry in admitted] == [saturated(meant(value))]


@pytest.mark.parametrize("value", REALS, ids=lambda v: f"{type(v).__name__} {str(v)[:20]}")
def test_any_number_is_admitted(value: Any) -> None:
    admitted = RealArray(()).admit(value)
    assert admitted.shape == (1,)
    is_integer_array = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iu"
    # NumPy integers saturate here, everything else where it is laid on the grid.
    expected = saturated(meant(value)) if is_integer_array else meant(value)
    assert F(admitted.tolist()[0]) == expected


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ((3,), [1, 2.5, F(1, 3)]),
        ((3,), (1, math.nan, math.inf)),
        ((2, 2), [[1, 2], [3, 10**400]]),
        ((2, 2), [np.array([1, 2]), np.array([3, 4])]),
        ((2, 1, 2), [[[0.0, -0.0]], [[5e-324, 1]]]),
        ((2,), [np.int64(3), np.float32(0.5)]),
        ((2,), [np.uint8(3), np.uint64(2**64 - 1)]),
        ((2,), np.array([math.nan, math.inf], dtype=np.float16)),
        ((1,), [True + 1]),
    ],
)
def test_lists_and_arrays_are_admitted_in_order(shape: tuple[int, ...], value: Any) -> None:
    admitted = RealArray(shape).admit(value)
    assert admitted.shape == (math.prod(shape),)
    flat = np.array(value, dtype=object).ravel().tolist()
    assert [F(entry) for entry in admitted.tolist()] == [meant(entry) for entry in flat]


@pytest.mark.parametrize("value", [[np.int64(3), 4], [np.uint64(2**64 - 1), np.int8(-1)], (10**30, -(10**30))])
def test_lists_of_integers_are_admitted(value: Any) -> None:
    assert [F(e) for e in IntegerArray((2,)).admit(value).tolist()] == [saturated(F(int(e))) for e in value]


def test_arrays_need_not_be_contiguous_or_writeable_and_are_left_alone() -> None:
    array = np.array([[math.nan, 1.0], [math.inf, -3.0]]).T
    array.setflags(write=False)
    before = array.copy()
    assert RealArray((2, 2)).admit(array).tolist() == [0.0, LARGEST_FLOAT, 1.0, -3.0]
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("value", [0, 1, 4, 5, -1, 10**400, -(10**400), np.int8(-3), np.uint64(2**64 - 1), True, False])
def test_any_category_is_the_nearest_one(value: Any) -> None:
    assert Category(5).admit(value) == min(max(int(value), 0), 4)


# Every primitive survives every content.

PRIMITIVES: list[Primitive[Any, Any]] = [
    Laplace(scale=1),
    Laplace(scale=3, grid="1/3"),
    Laplace(scale="1e-200"),
    Laplace(scale="1e200"),
    Laplace(scale=1, grid=16),
    Gaussian(sigma=2),
    Gaussian(sigma=2, grid=64),
    Exponential(candidates=2, scale=1, grid="1/8", score_error="1e-9"),
    PermuteAndFlip(candidates=2, scale="1e-9", grid=1),
    NoisyMax(candidates=2, scale=1, grid="1/3"),
]
WHOLE_PRIMITIVES: list[Primitive[Any, Any]] = [
    Geometric(scale=1),
    Geometric(scale=2**60),
    Geometric(scale=2**900),
    DiscreteGaussian(sigma=1),
    DiscreteGaussian(sigma=2**70),
    Exponential(candidates=2, scale=1),
    Exponential(candidates=2, scale="1e-300"),
    Exponential(candidates=2, scale="1e300"),
    PermuteAndFlip(candidates=2, scale=1),
    NoisyMax(candidates=2, scale=2**80),
    TopK(candidates=2, chosen=2, scale=1),
]


def fitted(mechanism: Primitive[Any, Any], value: Any) -> Iterator[Any]:
    """Yield the content in the mechanism's shape: beside a zero, and twice."""
    if mechanism.domain.shape == ():  # type: ignore[attr-defined]
        yield value
    else:
        plain = value.item() if isinstance(value, np.ndarray) else value
        yield [plain, 0]
        yield [plain, plain]


@pytest.mark.parametrize("mechanism", PRIMITIVES, ids=str)
def test_no_real_content_raises(mechanism: Primitive[Any, Any], noise: Noise) -> None:
    for value in REALS:
        for given_value in fitted(mechanism, value):
            assert np.isfinite(np.asarray(mechanism.draw(given_value, noise), dtype=float)).all()


@pytest.mark.parametrize("mechanism", WHOLE_PRIMITIVES, ids=str)
def test_no_whole_content_raises(mechanism: Primitive[Any, Any], noise: Noise) -> None:
    for value in INTEGERS:
        for given_value in fitted(mechanism, value):
            assert np.abs(np.asarray(mechanism.draw(given_value, noise))).max() <= LARGEST_SUM


def test_no_question_or_category_raises(noise: Noise) -> None:
    mechanism = AboveThreshold(threshold=-(2**60), threshold_scale=2**900, query_scale="1/1000", positives=10**6)
    state = mechanism.begin(noise)
    for value in INTEGERS:
        assert mechanism.reply(state, value, noise)[0] in (True, False)
    for value in (10**400, -(10**400), True, np.int8(-1)):
        assert 0 <= RandomisedResponse(epsilon=1, categories=3).draw(value, noise) < 3


# A wrong type or shape is refused, and what it held is not shown.


class Secretive:
    """An object that would tell its secret in many ways."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError(f"my secret is {CANARY}")

    def __repr__(self) -> str:
        return f"Secretive({CANARY})"


MISTYPED: list[Any] = [
    None,
    True,
    np.bool_(True),
    str(CANARY),
    str(CANARY).encode(),
    complex(CANARY, 1),
    np.complex128(CANARY),
    np.longdouble(CANARY),
    Decimal(CANARY),
    np.array(CANARY, dtype=object),
    np.array(True),
    np.array(str(CANARY)),
    np.datetime64(CANARY, "s"),
    np.timedelta64(CANARY, "s"),
    {CANARY: CANARY},
    {CANARY},
    Secretive(),
    object(),
    [CANARY],
    [[CANARY]],
    np.array([CANARY]),
    np.array([CANARY, CANARY]),
    iter([CANARY]),
]
MISTYPED_VECTORS: list[Any] = [
    CANARY,
    [],
    [CANARY],
    [CANARY] * 3,
    [[CANARY], [CANARY]],
    [[CANARY], [CANARY, CANARY]],
    [np.zeros((2, 2)), np.zeros((2, 3))],
    [CANARY, True],
    [CANARY, None],
    [CANARY, str(CANARY)],
    [CANARY, np.longdouble(CANARY)],
    [CANARY, np.timedelta64(CANARY, "s")],
    [CANARY, Secretive()],
    str(CANARY)[:2],
    np.array([CANARY, CANARY], dtype=object),
    np.array([str(CANARY), "b"]),
    np.array([CANARY, CANARY], dtype=np.longdouble),
    np.array([CANARY, CANARY], dtype="m8[s]"),
    np.array([True, False]),
    np.array([[CANARY, CANARY]]),
    np.array([(CANARY, 1), (CANARY, 2)], dtype=[("a", "i8"), ("b", "i8")]),
    {0: CANARY, 1: CANARY},
]


def refused(admit: Any, value: Any) -> str:
    with pytest.raises(InvalidValue) as refusal:
        admit(value)
    assert refusal.value.parameter == "value"
    text = f"{refusal.value} {refusal.value!r} {refusal.value.args} {refusal.value.offender!r}"
    assert str(CANARY) not in text
    # Nor in what it was caused by.
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None
    return str(refusal.value)


@pytest.mark.parametrize("value", MISTYPED, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("domain", [RealArray(()), IntegerArray(())], ids=str)
def test_mistyped_scalars_are_refused(domain: Any, value: Any) -> None:
    refused(domain.admit, value)


@pytest.mark.parametrize("value", MISTYPED_VECTORS, ids=lambda v: f"{type(v).__name__} {getattr(v, 'dtype', '')}")
@pytest.mark.parametrize("domain", [RealArray((2,)), IntegerArray((2,))], ids=str)
def test_mistyped_vectors_are_refused(domain: Any, value: Any) -> None:
    refused(domain.admit, value)


@pytest.mark.parametrize("value", [float(CANARY), F(CANARY), np.float64(CANARY), np.array(float(CANARY)), math.nan])
def test_floats_are_no_integers(value: Any) -> None:
    refused(IntegerArray(()).admit, value)


@pytest.mark.parametrize(
    "value", [float(CANARY), str(CANARY), None, F(CANARY), [CANARY], np.array([CANARY]), Secretive()]
)
def test_mistyped_categories_are_refused(value: Any) -> None:
    refused(Category(4).admit, value)


def test_the_length_of_a_text_is_not_told() -> None:
    """NumPy writes the length of the longest text into the dtype."""
    messages = {refused(RealArray((1,)).admit, np.array(["x" * length])) for length in (1, 77)}
    assert messages == {"value must be numbers of shape (1,), got ndarray of str_ with 1 axis"}


def test_the_number_of_rows_is_not_told() -> None:
    """The first axis of what was given may be that of private rows."""
    flat = {refused(RealArray(()).admit, np.zeros(length)) for length in (7, 4711)}
    assert flat == {"value must be numbers of shape (), got ndarray of float64 with 1 axis"}
    table = {refused(RealArray(()).admit, np.zeros((length, 5))) for length in (7, 4711)}
    assert table == {"value must be numbers of shape (), got ndarray of float64 with 2 axes and 5 columns"}


@pytest.mark.parametrize(
    "mechanism", [*PRIMITIVES, *WHOLE_PRIMITIVES, RandomisedResponse(epsilon=1)], ids=lambda m: str(m)[:40]
)
def test_primitives_refuse_before_they_draw(mechanism: Primitive[Any, Any], noise: Noise, entropy: Any) -> None:
    for value in (None, str(CANARY), complex(CANARY), np.array([CANARY] * 7), object()):
        refused(lambda v: mechanism.draw(v, noise), value)
    assert entropy.used == 0


def test_questions_are_refused_before_they_draw(noise: Noise, entropy: Any) -> None:
    mechanism = AboveThreshold(threshold=0, threshold_scale=1, query_scale=1)
    state = mechanism.begin(noise)
    before = entropy.used
    for value in (float(CANARY), None, [CANARY], str(CANARY)):
        refused(lambda v: mechanism.reply(state, v, noise), value)
    assert entropy.used == before


def test_an_invalid_value_is_an_invalid_parameter() -> None:
    assert issubclass(InvalidValue, InvalidParameter)


# Admitting moves nothing apart.

whole = st.integers(-(2**64), 2**64) | st.sampled_from([2**60, 2**60 + 1, -(2**60) - 1, 2**63 - 1, -(2**63), 10**30])
real = st.floats(allow_nan=False, allow_infinity=False) | st.fractions() | whole


@given(st.lists(st.tuples(whole, whole), min_size=1, max_size=4))
@pytest.mark.parametrize("metric", [L1, L2, LARGEST, ONE_WAY], ids=repr)
def test_admitting_integers_is_lipschitz(metric: Metric, pairs: list[tuple[int, int]]) -> None:
    check_lipschitz(IntegerArray((len(pairs),)), metric, pairs)


@given(st.lists(st.tuples(real, real), min_size=1, max_size=4))
@pytest.mark.parametrize("metric", [L1, L2, LARGEST, ONE_WAY], ids=repr)
def test_admitting_numbers_is_lipschitz(metric: Metric, pairs: list[tuple[Any, Any]]) -> None:
    check_lipschitz(RealArray((len(pairs),)), metric, pairs)


@given(npst.arrays(np.int64, (2, 3)) | npst.arrays(np.uint64, (2, 3)) | npst.arrays(np.int8, (2, 3)))
def test_admitting_integer_arrays_is_lipschitz(rows: Any) -> None:
    for metric in (L1, LARGEST):
        for domain in (IntegerArray((3,)), RealArray((3,))):
            before = metric.measure(rows[0].astype(object), rows[1].astype(object))
            after = metric.measure(*(domain.admit(row).astype(object) for row in rows))
            assert after is not None
            assert before is not None
            assert after <= before


def check_lipschitz(domain: Any, metric: Metric, pairs: list[tuple[Any, Any]]) -> None:
    here, there = (list(side) for side in zip(*pairs, strict=True))
    before = metric.measure(np.array(here, dtype=object), np.array(there, dtype=object))
    after = metric.measure(*(domain.admit(side).astype(object) for side in (here, there)))
    if before is not None:
        # L2 is a root rounded up in its 96th bit.
        assert after is not None
        assert after <= before * (1 + F(1, 2**90) if metric is L2 else 1)


@given(
    values=st.lists(st.integers(-LARGEST_VALUE, LARGEST_VALUE), min_size=1, max_size=4),
    noise=st.integers(-(10**30), 10**30) | st.integers(-(2**63), 2**63 - 1),
)
def test_a_saturated_sum_is_the_exact_sum_saturated(values: list[int], noise: int) -> None:
    """Post-processing of the exact sum, whatever is cut off on the way."""
    fits = -(2**63) <= noise < 2**63
    drawn = np.array([noise] * len(values), dtype=np.int64 if fits else object)
    for width in (drawn, drawn.astype(object)):
        out = saturating_sum(np.array(values, dtype=np.int64), width)
        assert out.dtype == np.int64
        assert out.tolist() == [min(max(value + noise, -LARGEST_SUM), LARGEST_SUM) for value in values]


def test_an_entry_of_a_list_means_the_same_whatever_stands_beside_it() -> None:
    """No type in common: 2^53 + 1 stays itself beside a half, and a number of 400 digits beside both."""
    wide = 2**53 + 1
    for others in ([], [0.5], [Fraction(1, 3)], [10**400], [np.float32(1)], [float("nan")], [np.int8(1)]):
        assert RealArray((1 + len(others),)).admit([wide, *others])[0] == wide
        assert RealArray((1 + len(others),)).admit([*others, wide])[-1] == wide
    for others in ([], [10**400], [np.uint64(2**64 - 1)], [np.int8(1)]):
        assert IntegerArray((1 + len(others),)).admit([wide, *others])[0] == wide
