"""What expressions mean, against expectations written by hand: engines are compared with this evaluation."""

import datetime
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import (
    Call,
    Case,
    Cast,
    Grid,
    Kind,
    Literal,
    Name,
    OneOf,
)
from dither.data.evaluation import cell, evaluate
from dither.data.expressions import FUNCTIONS, kind_of
from dither.errors import InvalidParameter

LEAST, MOST = -(2**63), 2**63 - 1
DAY = datetime.date
NOON = datetime.datetime(2024, 2, 29, 12, 34, 56, 789)
HOUR = datetime.timedelta(hours=1)

#: function -> (arguments, value) by hand, from the declared meanings.
CASES = {
    "add": [((2, 3), 5), ((MOST, 1), None), ((MOST, 1.0), 2.0**63), ((1.7e308, 1.7e308), None), ((None, 1), None)],
    "subtract": [((2, 3), -1), ((LEAST, 1), None), ((0.5, 1), -0.5), ((-1.7e308, 1.7e308), None)],
    "multiply": [((4, 5), 20), ((2**32, 2**31), None), ((2**31, -(2**32)), LEAST), ((1e-300, 1e-300), 0.0)],
    "divide": [((1, 2), 0.5), ((1, 0), None), ((0.0, -0.0), None), ((1e308, 1e-308), None), ((-7, 2), -3.5)],
    "quotient": [((7, 2), 3), ((-7, 2), -3), ((7, -2), -3), ((1, 0), None), ((LEAST, -1), None), ((LEAST, 1), LEAST)],
    "remainder": [((7, 2), 1), ((-7, 2), -1), ((7, -2), 1), ((1, 0), None), ((LEAST, -1), 0)],
    "negate": [((3,), -3), ((LEAST,), None), ((1.5,), -1.5), ((None,), None)],
    "absolute": [((-3,), 3), ((LEAST,), None), ((-1.5,), 1.5)],
    "sign": [((-3,), -1), ((0,), 0), ((-0.0,), 0), ((1e-320,), 1)],
    "floor": [((-0.5,), -1), ((2.9,), 2), ((7,), 7), ((9.3e18,), None), ((-(2.0**63),), LEAST)],
    "ceiling": [((-0.5,), 0), ((2.1,), 3), ((2.0**63,), None), ((-9.3e18,), None)],
    "shift_right": [((5, 1), 2), ((-1, 62), -1), ((-5, 1), -3), ((5, 63), None), ((5, -1), None), ((MOST, 62), 1)],
    "bit_and": [((12, 10), 8), ((-1, MOST), MOST), ((LEAST, -1), LEAST), ((None, 1), None)],
    "bit_or": [((12, 10), 14), ((LEAST, MOST), -1), ((0, 0), 0)],
    "bit_xor": [((12, 10), 6), ((-1, MOST), LEAST), ((5, 5), 0)],
    "square_root": [((9,), 3.0), ((-1,), None), ((-0.0,), 0.0)],
    "exponential": [((0,), 1.0), ((710,), None), ((-10000,), 0.0)],
    "logarithm": [((1,), 0.0), ((0,), None), ((-1.5,), None)],
    "power": [
        ((2, 10), 1024.0),
        ((0, 0), 1.0),
        ((0, -1), None),
        ((-8, 1 / 3), None),
        ((10, 400), None),
        ((-2, 3), -8.0),
    ],
    "least": [((3, None, 2), 2), ((None, None), None), ((1, 0.5), 0.5), (("b", "B", "é"), "B")],
    "greatest": [((3, None, 2), 3), ((2, 1.5), 2.0), (("\uffff", "\U00010000"), "\U00010000")],
    "equal": [((1, 1.0), True), ((2**53 + 1, 2.0**53), True), (("a", "A"), False), ((None, None), None)],
    "unequal": [((1, 2), True), ((0.0, -0.0), False), ((None, 1), None)],
    "less": [((1, 2), True), (("Z", "a"), True), ((DAY(2024, 1, 1), DAY(2024, 1, 2)), True), ((False, True), True)],
    "at_most": [((2, 2.0), True), ((3, 2), False)],
    "more": [((1, 2), False), ((MOST, 2.0**63), False)],
    "at_least": [((2, 2), True), ((1, 2), False)],
    "is_null": [((None,), True), ((0,), False)],
    "and": [((True, None), None), ((False, None), False), ((True, True), True), ((None, None, False), False)],
    "or": [((True, None), True), ((False, None), None), ((False, False), False)],
    "not": [((True,), False), ((None,), None)],
    "coalesce": [((None, None, 3), 3), ((None,), None), ((1, 2.5), 1.0)],
    "null_if": [((1, 1), None), ((1, 2), 1), ((1, None), 1), ((None, 1), None), ((2, 2.0), None)],
    "lower": [(("ÄbC İ",), "Äbc İ"), (("",), "")],
    "upper": [(("äbCß",), "äBCß")],
    "trim": [(("  a b\t ",), "a b\t"), (("\u00a0a",), "\u00a0a"), (("   ",), "")],
    "trim_left": [(("  a b ",), "a b "), (("\t a",), "\t a"), (("  ",), "")],
    "trim_right": [((" a b  ",), " a b"), (("a \t",), "a \t"), (("  ",), "")],
    "length": [(("naïve",), 5), (("\U0001f926\U0001f3fc",), 2), (("",), 0)],
    "concatenate": [(("a", "", "b"), "ab"), (("a", None), None)],
    "substring": [
        (("abcdef", 2, 3), "bcd"),
        (("abc", 3, 9), "c"),
        (("abc", 9, 1), ""),
        (("éa", 2, 1), "a"),
        (("a", 1, 0), ""),
    ],
    "right": [(("abc", 2), "bc"), (("abc", 9), "abc"), (("abc", 0), ""), (("aé\U0001f926", 2), "é\U0001f926")],
    "position": [(("banana", "an"), 2), (("banana", "x"), 0), (("é\U0001f926a", "a"), 3), ((None, "a"), None)],
    "split_part": [
        (("a-b-c", "-", 1), "a"),
        (("a-b-c", "-", 3), "c"),
        (("a-b-c", "-", 4), ""),
        (("a--b", "-", 2), ""),
        (("", "-", 1), ""),
        (("a--b", "--", 2), "b"),
    ],
    "replace": [(("aaa", "aa", "b"), "ba"), (("abc", "x", "y"), "abc"), (("a.c", ".", ""), "ac")],
    "starts_with": [(("abc", "ab"), True), (("abc", "AB"), False), (("a%c", "a%"), True), (("abc", "a%"), False)],
    "ends_with": [(("abc", "bc"), True), (("abc", ""), True), (("abc", "b"), False)],
    "contains": [(("abc", "b"), True), (("abc", ""), True), (("abc", "_"), False)],
    "like": [
        (("abc", "a%"), True),
        (("abc", "a_c"), True),
        (("a\nc", "a%c"), True),
        (("a%c", r"a\%c"), True),
        (("abc", r"a\%c"), False),
        (("a.c", "a.c"), True),
        (("abc", "a.c"), False),
        (("a\\", "a\\\\"), True),
        ((None, "%"), None),
    ],
    "year": [((NOON,), 2024), ((DAY(1, 1, 1),), 1)],
    "quarter": [((NOON,), 1), ((DAY(2024, 4, 1),), 2), ((DAY(2024, 12, 31),), 4)],
    "month": [((NOON,), 2)],
    "day": [((NOON,), 29)],
    "weekday": [((DAY(2024, 1, 1),), 1), ((DAY(2024, 1, 7),), 7), ((NOON,), 4)],
    "week": [((DAY(2024, 12, 30),), 1), ((DAY(2021, 1, 3),), 53), ((NOON,), 9), ((DAY(9999, 12, 31),), 52)],
    "day_of_year": [((NOON,), 60), ((DAY(2024, 12, 31),), 366), ((DAY(1, 1, 1),), 1)],
    "hour": [((NOON,), 12)],
    "minute": [((NOON,), 34)],
    "second": [((NOON,), 56)],
    "microseconds": [
        ((datetime.datetime(1970, 1, 1),), 0),
        ((datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),), -1),
        ((datetime.datetime(1970, 1, 2, 0, 0, 0, 5),), 86_400_000_005),
    ],
    "truncate_time": [
        ((NOON, "hour"), datetime.datetime(2024, 2, 29, 12)),
        ((NOON, "minute"), datetime.datetime(2024, 2, 29, 12, 34)),
        ((NOON, "second"), datetime.datetime(2024, 2, 29, 12, 34, 56)),
    ],
    "truncate_date": [
        ((NOON, "year"), DAY(2024, 1, 1)),
        ((DAY(2024, 12, 31), "quarter"), DAY(2024, 10, 1)),
        ((NOON, "month"), DAY(2024, 2, 1)),
        ((DAY(2024, 3, 3), "week"), DAY(2024, 2, 26)),
        ((DAY(1, 1, 1), "week"), DAY(1, 1, 1)),
        ((NOON, "day"), DAY(2024, 2, 29)),
    ],
    "days_between": [((DAY(2024, 2, 28), DAY(2024, 3, 1)), 2), ((DAY(2024, 3, 1), DAY(2024, 2, 28)), -2)],
    "add_days": [
        ((DAY(2024, 2, 28), 2), DAY(2024, 3, 1)),
        ((DAY(9999, 12, 31), 1), None),
        ((DAY(1, 1, 1), MOST), None),
    ],
    "add_months": [
        ((DAY(2024, 1, 31), 1), DAY(2024, 2, 29)),
        ((DAY(2023, 3, 31), -1), DAY(2023, 2, 28)),
        ((DAY(2024, 2, 29), 12), DAY(2025, 2, 28)),
        ((DAY(2024, 2, 29), 48), DAY(2028, 2, 29)),
        ((DAY(2024, 11, 30), 3), DAY(2025, 2, 28)),
        ((DAY(2023, 2, 28), 1), DAY(2023, 3, 28)),
        ((DAY(9999, 12, 1), 1), None),
        ((DAY(1, 1, 31), -1), None),
        ((DAY(1, 1, 1), MOST), None),
        ((DAY(1, 1, 1), 119987), DAY(9999, 12, 1)),
        ((NOON, -12), datetime.datetime(2023, 2, 28, 12, 34, 56, 789)),
    ],
    "add_seconds": [
        ((NOON, 86_400), datetime.datetime(2024, 3, 1, 12, 34, 56, 789)),
        ((datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), 1), None),
        ((datetime.datetime(1, 1, 1), -1), None),
        ((datetime.datetime(1, 1, 1), 315_537_897_599), datetime.datetime(9999, 12, 31, 23, 59, 59)),
        ((NOON, LEAST), None),
    ],
}


def test_every_function_has_cases():
    assert set(CASES) == set(FUNCTIONS)


@pytest.mark.parametrize(
    ("function", "number"), [(function, number) for function, cases in CASES.items() for number in range(len(cases))]
)
def test_functions_mean_what_they_declare(function, number):
    arguments, expected = CASES[function][number]
    constants = {"substring", "replace", "starts_with", "ends_with", "contains", "like", "truncate_date"}
    constants |= {"truncate_time", "right", "position", "split_part"}
    row = {f"c{place}": value for place, value in enumerate(arguments)}
    expression = Call(
        function,
        tuple(
            Literal(value, Kind.INTEGER if isinstance(value, int) else Kind.TEXT)
            if function in constants and place > 0
            else Name(f"c{place}")
            for place, value in enumerate(arguments)
        ),
    )
    value = evaluate(expression, row)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("function", "constants"),
    [
        ("substring", (0, 1)),
        ("substring", (1, -1)),
        ("replace", ("", "x")),
        ("like", ("a\\",)),
        ("like", (None,)),
        ("truncate_date", ("decade",)),
    ],
)
def test_constants_on_which_engines_would_differ_are_refused(function, constants):
    kinds = {int: Kind.INTEGER, str: Kind.TEXT, type(None): Kind.TEXT}
    arguments = (Name("a"), *(Literal(value, kinds[type(value)]) for value in constants))
    with pytest.raises(InvalidParameter, match=function):
        Call(function, arguments)
    with pytest.raises(InvalidParameter, match=function):
        Call(function, (Name("a"), *(Name("b") for _ in constants)))


CASTS = [
    ("12", Kind.INTEGER, 12),
    (" +012 ", Kind.INTEGER, 12),
    ("12.0", Kind.INTEGER, 12),
    ("12.5", Kind.INTEGER, None),
    ("1e3", Kind.INTEGER, None),
    ("", Kind.INTEGER, None),
    ("\t1", Kind.INTEGER, None),
    ("١٢", Kind.INTEGER, None),
    ("1_000", Kind.INTEGER, None),
    ("-", Kind.INTEGER, None),
    (str(MOST), Kind.INTEGER, MOST),
    (str(MOST + 1), Kind.INTEGER, None),
    (str(LEAST), Kind.INTEGER, LEAST),
    ("0" * 5000 + "7", Kind.INTEGER, 7),
    ("9" * 5000, Kind.INTEGER, None),
    ("1e3", Kind.REAL, 1000.0),
    (".5", Kind.REAL, 0.5),
    ("5.", Kind.REAL, 5.0),
    ("1e999", Kind.REAL, None),
    ("1e-999", Kind.REAL, 0.0),
    ("nan", Kind.REAL, None),
    ("inf", Kind.REAL, None),
    ("0x10", Kind.REAL, None),
    ("1e", Kind.REAL, None),
    (".", Kind.REAL, None),
    ("2024-02-29", Kind.DATE, DAY(2024, 2, 29)),
    ("2023-02-29", Kind.DATE, None),
    ("0000-01-01", Kind.DATE, None),
    ("2024-2-29", Kind.DATE, None),
    (" 2024-02-29", Kind.DATE, None),
    ("2024-02-29 00:00:00", Kind.DATE, None),
    ("2024-02-29", Kind.TIMESTAMP, datetime.datetime(2024, 2, 29)),
    ("2024-02-29T23:59:59", Kind.TIMESTAMP, datetime.datetime(2024, 2, 29, 23, 59, 59)),
    ("2024-02-29 24:00:00", Kind.TIMESTAMP, None),
    ("2024-02-29 23:59:60", Kind.TIMESTAMP, None),
    (-0.5, Kind.INTEGER, -1),
    (1e300, Kind.INTEGER, None),
    (7, Kind.REAL, 7.0),
    (2**53 + 1, Kind.REAL, 2.0**53),
    (-7, Kind.TEXT, "-7"),
    (True, Kind.INTEGER, 1),
    (NOON, Kind.DATE, DAY(2024, 2, 29)),
    (DAY(2024, 2, 29), Kind.TIMESTAMP, datetime.datetime(2024, 2, 29)),
    (None, Kind.DATE, None),
]


@pytest.mark.parametrize("number", range(len(CASTS)))
def test_casts(number):
    given_value, kind, expected = CASTS[number]
    value = evaluate(Cast(Name("a"), kind), {"a": given_value})
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("given_value", "kind", "expected"),
    [
        (float("nan"), Kind.REAL, None),
        (float("-inf"), Kind.REAL, None),
        (float("nan"), Kind.INTEGER, None),
        (2**64, Kind.REAL, None),
        ("\ud800", Kind.TEXT, None),
        ("TRUE", Kind.BOOLEAN, True),
        ("0", Kind.BOOLEAN, False),
        ("yes", Kind.BOOLEAN, None),
        (1, Kind.BOOLEAN, None),
        (b"bytes", Kind.TEXT, None),
        (3.0, Kind.TEXT, None),
        (NOON.replace(tzinfo=datetime.timezone(HOUR)), Kind.TIMESTAMP, NOON - HOUR),
        ([], Kind.TEXT, None),
        (np.int32(7), Kind.INTEGER, 7),
        (np.float64("nan"), Kind.REAL, None),
        (np.datetime64("2024-02-29"), Kind.DATE, DAY(2024, 2, 29)),
        (np.datetime64("NaT"), Kind.DATE, None),
    ],
    ids=str,
)
def test_cells_are_of_their_kind_or_null(given_value, kind, expected):
    value = cell(given_value, kind)
    assert value == expected
    assert type(value) is type(expected)


def test_kinds_decide_where_integers_and_reals_are_mixed():
    columns = {"whole": Kind.INTEGER, "real": Kind.REAL}
    row = {"whole": MOST, "real": None}
    larger = Call("greatest", (Name("whole"), Name("real")))
    assert evaluate(larger, row, columns) == 2.0**63
    # As a real it can be doubled; as an integer it could not.
    assert evaluate(Call("add", (larger, Name("whole"))), row, columns) == 2.0**64
    chosen = Case(((Call("is_null", (Name("real"),)), Name("whole")),), Name("real"))
    assert isinstance(evaluate(chosen, row, columns), float)


def test_case_takes_the_first_true_branch():
    age = Name("age")
    bands = Case(
        (
            (Call("less", (age, Literal(18, Kind.INTEGER))), Literal("young", Kind.TEXT)),
            (Call("less", (age, Literal(65, Kind.INTEGER))), Literal("grown", Kind.TEXT)),
        ),
        Literal("old", Kind.TEXT),
    )
    assert [evaluate(bands, {"age": value}) for value in (3, 18, 64, 65, None)] == [
        "young",
        "grown",
        "grown",
        "old",
        "old",
    ]


def test_one_of_compares_by_value_and_ignores_null():
    options = (Literal(1, Kind.INTEGER), Literal(2.5, Kind.REAL), Literal(None, Kind.REAL))
    assert [evaluate(OneOf(Name("a"), options), {"a": value}) for value in (1.0, 2.5, 3, None)] == [
        True,
        True,
        False,
        None,
    ]


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    lower=st.integers(-1000, 1000),
    width=st.integers(0, 1000),
    origin=st.integers(-1000, 1000),
    exponent=st.integers(-8, 40),
)
def test_grid_is_the_exact_floor_of_the_rounded_difference(value, lower, width, origin, exponent):
    grid = Grid(Name("a"), float(lower), float(lower + width), float(origin), exponent)
    clamped = min(max(Fraction(value), Fraction(lower)), Fraction(lower + width))
    difference = Fraction(float(clamped - origin))  # the nearest double, which is what a subtraction of doubles gives
    expected = math.floor(difference * Fraction(2) ** exponent)
    found = evaluate(grid, {"a": value})
    assert found == min(max(expected, grid.least), grid.most)
    assert grid.least <= found <= grid.most


_HOSTILE = {
    Kind.BOOLEAN: [True, False],
    Kind.INTEGER: [0, 1, -1, 2, 62, 63, LEAST, MOST, 2**53 + 1],
    Kind.REAL: [0.0, -0.0, 0.5, -1.5, 5e-324, 1.7e308, -1.7e308, 2.0**63, -(2.0**63), 1e-300],
    Kind.TEXT: [
        "",
        " ",
        "0",
        "-1",
        "1e999",
        "9" * 40,
        "nan",
        "2024-02-30",
        "2024-02-29",
        "%_\\",
        "é\U0001f926",
        "A\nb",
    ],
    Kind.DATE: [DAY.min, DAY.max, DAY(1970, 1, 1), DAY(2024, 2, 29)],
    Kind.TIMESTAMP: [datetime.datetime.min, datetime.datetime.max, NOON],
}
_B, _I, _R, _T, _D, _M = Kind
_TAKES = {
    **{key: [(_I, _I), (_R, _R), (_I, _R)] for key in ("add", "subtract", "multiply", "divide", "power")},
    **{key: [(_I, _I)] for key in ("quotient", "remainder", "shift_right", "bit_and", "bit_or", "bit_xor")},
    **{key: [(_I,), (_R,)] for key in ("negate", "absolute", "sign", "floor", "ceiling")},
    **{key: [(_I,), (_R,)] for key in ("square_root", "exponential", "logarithm")},
    **{key: [(_I, _R, _I), (_T, _T), (_D, _D), (_B, _B)] for key in ("least", "greatest", "coalesce")},
    **{key: [(_I, _R), (_T, _T), (_M, _M)] for key in ("equal", "unequal", "less", "at_most", "more", "at_least")},
    "null_if": [(_I, _R), (_T, _T)],
    "is_null": [(kind,) for kind in Kind],
    **{key: [(_B, _B, _B)] for key in ("and", "or")},
    "not": [(_B,)],
    **{key: [(_T,)] for key in ("lower", "upper", "trim", "trim_left", "trim_right", "length")},
    "concatenate": [(_T, _T)],
    "substring": [(_T, Literal(2, _I), Literal(MOST >> 32, _I))],
    "right": [(_T, Literal(2, _I))],
    "position": [(_T, Literal("%", _T))],
    "split_part": [(_T, Literal(" ", _T), Literal(2, _I))],
    "replace": [(_T, Literal("A", _T), Literal("", _T))],
    **{key: [(_T, Literal("%", _T))] for key in ("starts_with", "ends_with", "contains")},
    "like": [(_T, Literal(r"%\_%", _T)), (_T, Literal("%%_", _T))],
    **{key: [(_D,), (_M,)] for key in ("year", "quarter", "month", "day", "weekday", "week", "day_of_year")},
    **{key: [(_M,)] for key in ("hour", "minute", "second", "microseconds")},
    "truncate_time": [(_M, Literal(unit, _T)) for unit in ("hour", "minute", "second")],
    "truncate_date": [(kind, Literal(unit, _T)) for kind in (_D, _M) for unit in ("week", "quarter")],
    "days_between": [(_D, _D)],
    "add_days": [(_D, _I)],
    "add_months": [(_D, _I), (_M, _I)],
    "add_seconds": [(_M, _I)],
}
_PYTHON = {_B: bool, _I: int, _R: float, _T: str, _D: datetime.date, _M: datetime.datetime}
_COLUMNS = {kind.value: kind for kind in Kind}
_MADE = [
    *((partial(Call, function), shape) for function, shapes in _TAKES.items() for shape in shapes),
    *((partial(lambda kind, parts: Cast(parts[0], kind), kind), (_T,)) for kind in (_I, _R, _D, _M, _T)),
    *((partial(lambda kind, parts: Cast(parts[0], kind), kind), (_R,)) for kind in (_I, _R)),
    *((partial(lambda kind, parts: Cast(parts[0], kind), kind), (_I,)) for kind in (_T, _R)),
    *((lambda parts: Case(((parts[0], parts[1]),), parts[2]), shape) for shape in [(_B, _I, _R), (_B, _D, _D)]),
    *((lambda parts: OneOf(parts[0], (Literal(1.5, _R), Literal(MOST, _I))), (kind,)) for kind in (_I, _R)),
    *((lambda parts: Grid(parts[0], -1e300, 1e300, 0.5, -990), (kind,)) for kind in (_I, _R)),
    *((lambda parts: Grid(parts[0], -1.0, 1.0, 5e-324, 60), (kind,)) for kind in (_I, _R)),
]
_BY_KIND = {
    kind: [
        (make, shape)
        for make, shape in _MADE
        if kind_of(make(tuple(Name(part.value) if isinstance(part, Kind) else part for part in shape)), _COLUMNS)
        is kind
    ]
    for kind in Kind
}


@st.composite
def expressions(draw, kind, depth=3):
    if depth == 0:
        return Name(kind.value)
    make, shape = draw(st.sampled_from(_BY_KIND[kind]))
    return make(tuple(draw(expressions(part, depth - 1)) if isinstance(part, Kind) else part for part in shape))


_ROW = st.fixed_dictionaries({kind.value: st.none() | st.sampled_from(_HOSTILE[kind]) for kind in Kind})


@settings(deadline=None, max_examples=400)
@given(st.sampled_from([kind for kind in Kind if _BY_KIND[kind]]).flatmap(expressions), _ROW)
def test_every_expression_is_total_and_of_its_kind(expression, row):
    assert set(_TAKES) == set(FUNCTIONS)
    value = evaluate(expression, row, _COLUMNS)
    if value is not None:
        kind = kind_of(expression, _COLUMNS)
        assert type(value) is _PYTHON[kind]
        assert cell(value, kind) == value  # finite, of 64 bits, between the years 1 and 9999
