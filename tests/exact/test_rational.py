"""How a public number becomes exact, or is refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import DitherError, InvalidParameter
from dither.exact import exact, non_negative, positive, probability, shape_of, whole
from tests.rationals import rationals

CONVERTED = [
    (0, Fraction(0)),
    (-7, Fraction(-7)),
    (2**8191, Fraction(2**8191)),
    (0.0, Fraction(0)),
    (-0.0, Fraction(0)),
    (0.1, Fraction(1, 10)),
    (1e308, Fraction(10**308)),
    (5e-324, Fraction(5, 10**324)),
    (2.2250738585072014e-308, Fraction(22250738585072014, 10**324)),
    ("1/3", Fraction(1, 3)),
    ("-1/3", Fraction(-1, 3)),
    ("+2", Fraction(2)),
    (".5", Fraction(1, 2)),
    ("5.", Fraction(5)),
    ("1e-6", Fraction(1, 10**6)),
    ("1E+2", Fraction(100)),
    ("1e400", Fraction(10**400)),
    ("1e-400", Fraction(1, 10**400)),
    (Decimal("0.3"), Fraction(3, 10)),
    (Decimal("-0"), Fraction(0)),
    (Decimal("1E+3"), Fraction(1000)),
    (Fraction(22, 7), Fraction(22, 7)),
    (Fraction(1, 2**8191), Fraction(1, 2**8191)),
    (np.int8(-3), Fraction(-3)),
    (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    (np.float16(0.1), Fraction(1, 10)),
    (np.float32(0.1), Fraction(1, 10)),
    (np.float64(0.1), Fraction(1, 10)),
    (np.longdouble("0.1"), Fraction(1, 10)),
    (np.float32(1e-45), Fraction(1, 10**45)),
]

REFUSED = [
    math.nan,
    math.inf,
    -math.inf,
    np.float32("nan"),
    np.float64("inf"),
    np.longdouble("-inf"),
    True,
    False,
    np.True_,
    np.False_,
    np.timedelta64(5, "D"),
    np.datetime64("2024-01-01"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("-Infinity"),
    Decimal("1E+500"),
    "",
    " ",
    " 1",
    "1 ",
    "1\n",
    "one",
    "nan",
    "inf",
    "-Infinity",
    "1/0",
    "0/0",
    "1/-3",
    "1/3/5",
    "1.5/2",
    "1_000",
    "1,5",
    "0x10",
    "١",
    "1e",
    "1e401",
    "1e-401",
    "1e999999999",
    "-1e999999999",
    "9" * 3000,
    "1/" + "9" * 3000,
    "0." + "3" * 1000,
    "1" * 10**6,
    1j,
    complex(1, 0),
    np.complex128(1),
    None,
    [],
    [1],
    (1,),
    {},
    {1},
    b"1",
    np.array(0.5),
    np.array([0.5]),
    object(),
    int,
    2**8192,
    -(2**8192),
    10**5000,
    Fraction(1, 2**8192),
    Fraction(10**5000, 3),
]


def refusal(convert: Callable[..., Any], *arguments: Any, **options: Any) -> InvalidParameter:
    with pytest.raises(InvalidParameter) as caught:
        convert(*arguments, **options)
    return caught.value


@pytest.mark.parametrize(("given_value", "meant"), CONVERTED, ids=lambda value: repr(value)[:40])
def test_what_is_accepted_is_converted_exactly(given_value: Any, meant: Fraction) -> None:
    found = exact("epsilon", given_value)
    assert found == meant
    # NumPy integers inside a Fraction would overflow later on.
    assert type(found) is Fraction
    assert type(found.numerator) is int
    assert type(found.denominator) is int


@pytest.mark.parametrize("offender", REFUSED, ids=lambda value: f"{type(value).__name__}")
def test_what_is_refused_is_refused_by_name(offender: Any) -> None:
    # A whole number has no limit of its own.
    limited = (exact, positive, non_negative, probability)
    for convert in limited if type(offender) is int else (*limited, whole):
        error = refusal(convert, "epsilon", offender)
        assert error.parameter == "epsilon"
        assert error.offender is offender
        assert error.rule in str(error)
        assert str(error).startswith("epsilon must be a")
        assert ", got " in str(error)
        assert len(str(error)) < 250
        assert isinstance(error, ValueError)
        assert isinstance(error, DitherError)


def test_a_message_survives_an_offender_that_cannot_be_printed() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError("no words")

    assert "Silent" in str(refusal(exact, "scale", Silent()))
    assert "int" in str(refusal(exact, "scale", 10**5000))


def test_the_message_shows_what_was_given() -> None:
    assert str(refusal(exact, "epsilon", math.nan)) == "epsilon must be a finite number, got nan"
    assert str(refusal(positive, "scale", -1)) == "scale must be a finite number above 0, got -1"
    assert str(refusal(positive, "scale", 9, at_most=8)) == "scale must be a finite number above 0 and at most 8, got 9"
    assert str(refusal(probability, "rate", "1")) == "rate must be a number in [0, 1), got '1'"
    assert str(refusal(whole, "count", 1.0)) == "count must be an integer of at least 0, got 1.0"


@pytest.mark.parametrize(
    ("convert", "accepted", "refused"),
    [
        (positive, [1, "1e-400", 5e-324], [0, -0.0, "-1e-400"]),
        (non_negative, [0, -0.0, 1], [-5e-324, "-1/3"]),
        (probability, [0, -0.0, "1/2", 1 - 2**-53, "0.9999999999999999999"], [1, 1.0, "1/1", -5e-324]),
        (lambda name, value: probability(name, value, open_below=True), ["1e-400"], [0, -0.0, 1]),
        (lambda name, value: positive(name, value, at_most=2), [2, "2.0"], ["2.0000000000000000001", 0]),
        (lambda name, value: whole(name, value, least=1, most=3), [1, 3, np.int8(2)], [0, 4, 2.0, "2", Fraction(2)]),
    ],
)
def test_bounds_are_exact(convert: Callable[..., Any], accepted: list[Any], refused: list[Any]) -> None:
    for value in accepted:
        convert("x", value)
    for value in refused:
        refusal(convert, "x", value)


def test_a_whole_number_is_a_python_integer() -> None:
    assert type(whole("count", np.int32(3))) is int
    assert whole("count", 2**5000) == 2**5000


def test_shapes() -> None:
    assert shape_of("shape", 3) == (3,)
    assert shape_of("shape", [2, np.int64(3)]) == (2, 3)
    assert shape_of("shape", ()) == ()
    for offender in (0, -1, True, (2, 0), [1.0], "3", None, 2**41, np.array([2, 3])):
        assert refusal(shape_of, "shape", offender).parameter == "shape"


def test_numpy_integers_inside_a_fraction_are_taken_out() -> None:
    """Fraction keeps the integers it is given, and NumPy's wrap around."""
    number = exact("epsilon", Fraction(np.int64(2**62), np.int64(3)))
    assert type(number.numerator) is int
    assert number * number * number == Fraction(2**186, 27)


def test_a_written_fraction_can_be_read_back() -> None:
    """Losses are stored as text: whatever is kept must fit."""
    for number in (Fraction(2**8190 + 1, 2**8191), Fraction(5, 10**324), Fraction(-(3**5000), 2**8000)):
        assert exact("epsilon", str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None, max_examples=400)
def test_a_float_is_its_shortest_decimal(value: float) -> None:
    number = exact("x", value)
    assert number == Fraction(repr(value))
    assert float(number) == value


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
@settings(deadline=None)
def test_a_narrow_float_is_its_own_shortest_decimal(value: float) -> None:
    number = exact("x", np.float32(value))
    assert np.float32(float(number)) == np.float32(value)
    # Never longer than the nine digits that tell all 32-bit floats apart.
    digits = abs(number.numerator * 10**60 // number.denominator)
    assert len(str(digits).rstrip("0")) <= 9


@given(st.fractions(), st.integers(min_value=1, max_value=400))
@settings(deadline=None)
def test_texts_mean_what_they_say(number: Fraction, power: int) -> None:
    assert exact("x", str(number)) == number
    assert exact("x", f"{number.numerator}e-{power}") == Fraction(number.numerator, 10**power)


@given(st.decimals(allow_nan=True, allow_infinity=True))
@settings(deadline=None)
def test_a_decimal_is_exact_or_refused(value: Decimal) -> None:
    if value.is_finite() and abs(value.adjusted()) < 300:
        assert exact("x", value) == Fraction(value)
    elif not value.is_finite():
        refusal(exact, "x", value)


@given(st.text(alphabet="0123456789+-/.eE_ infa\n", max_size=12))
@settings(deadline=None, max_examples=400)
def test_any_text_is_exact_or_refused(text: str) -> None:
    """Nothing but InvalidParameter, and nothing that Fraction would read differently."""
    try:
        number = exact("x", text)
    except InvalidParameter:
        return
    assert number == Fraction(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.binary() | st.complex_numbers() | st.dates(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
        max_leaves=3,
    )
)
@settings(deadline=None, max_examples=50)
def test_anything_else_is_refused(value: Any) -> None:
    if not isinstance(value, str):
        assert refusal(exact, "x", value).parameter == "x"


@given(rationals(-(10**30), 10**30), st.fractions())
@settings(deadline=None)
def test_arithmetic_agrees_with_cross_multiplication(a: Fraction, b: Fraction) -> None:
    """The exact type is the standard library's; it is checked here against integers alone."""
    total, product = a + b, a * b
    assert total.numerator * a.denominator * b.denominator == total.denominator * (
        a.numerator * b.denominator + b.numerator * a.denominator
    )
    assert product.numerator * a.denominator * b.denominator == product.denominator * a.numerator * b.numerator
    assert (a < b) == (a.numerator * b.denominator < b.numerator * a.denominator)


@given(st.data(), st.integers(-5, 5), st.integers(0, 40), st.integers(1, 9), st.integers(1, 30))
def test_rationals_of_properties_lie_between_their_bounds(
    data: st.DataObject, low: int, more: int, of: int, most: int
) -> None:
    """All of them can be drawn: for each denominator the second integer counts through its numerators."""
    least, largest = Fraction(low, of), Fraction(low + more, of)
    drawn = data.draw(rationals(least, largest, most))
    assert least <= drawn <= largest
    assert drawn.denominator <= most or drawn in (least, largest)
