"""The ends of every range: scales, sizes, scores and memory; and what is refused.

Refusals name the parameter. Nothing is refused because of what a score is, only because of what kind of thing it is.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither import noise as functions
from dither.errors import InvalidParameter
from dither.noise import Noise, SystemEntropy, laplace
from dither.testing.entropy import ScriptedEntropy

noise = Noise(SystemEntropy())
HALF = Fraction(1, 2)
LARGEST, SMALLEST = 2**63 - 1, -(2**63)

BY_SCALE: dict[str, Callable[[Any, int], Any]] = {
    "discrete_laplace": noise.discrete_laplace,
    "discrete_gaussian": noise.discrete_gaussian,
    "geometric": noise.geometric,
}
every_law = pytest.mark.parametrize("law", BY_SCALE.values(), ids=BY_SCALE.keys())


# Scales.


@every_law
def test_smallest_scale_gives_zeros(law: Callable[[Any, int], Any]) -> None:
    """P[x != 0] is below e^-(2^40)."""
    drawn = law(Fraction(1, 2**40), 1000)
    assert drawn.dtype == np.int64
    assert not drawn.any()


@every_law
@pytest.mark.parametrize("exponent", [50, 56])
def test_large_scales_fit_an_int64(law: Callable[[Any, int], Any], exponent: int) -> None:
    drawn = law(2**exponent, 1000)
    assert drawn.dtype == np.int64
    assert plausible([int(x) for x in drawn], exponent)


@every_law
@pytest.mark.parametrize("exponent", [57, 100, 300, 1000])
def test_larger_scales_give_python_integers(law: Callable[[Any, int], Any], exponent: int) -> None:
    drawn = law(2**exponent, 200)
    assert drawn.dtype == object
    assert {type(x) for x in drawn} == {int}
    assert plausible(drawn.tolist(), exponent)
    # The low digits are drawn as well: a float behind them would leave zeros.
    assert math.gcd(*drawn.tolist()) < 2**40


def plausible(drawn: list[int], exponent: int) -> bool:
    """Return whether magnitudes are those of a scale of 2^exponent.

    Wrongly False less than once in 10^20 runs: at most 12 % of draws lie below an eighth of the scale and 0.1 % above
    eight scales, so that the median of 200 is neither but for e^-87; and none is beyond 60 scales but for 1000 e^-60.
    """
    magnitudes = sorted(abs(x) for x in drawn)
    return (
        2 ** (exponent - 3) < magnitudes[len(magnitudes) // 2] < 2 ** (exponent + 3)
        and magnitudes[-1] < 60 * 2**exponent
    )


def test_signs_are_both_drawn_at_every_scale() -> None:
    for law in (noise.discrete_laplace, noise.discrete_gaussian):
        for scale in (10, 2**56, 2**57, 2**300):
            drawn = law(scale, 100)
            assert (drawn > 0).any()
            assert (drawn < 0).any()


def words_for(units: int) -> list[int]:
    """Return the words that make all 60 digits of a scale of 2^56 one, and then so many units of 2^60 above them."""
    # The coin for a unit has the chance e^-16: two words of zero are heads, one of ones is tails.
    return [0] * 60 + [0, 0] * units + [0xFFFF]


HEADS, TAILS = 0, 0xFFFF


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("units", [1, 2, 3, 7, 8, 30])
def test_draw_beyond_an_int64_is_not_cut_off(units: int, negative: bool) -> None:
    """Once in e^64 draws or less often; a script of words brings it about."""
    magnitude, sign = 2**60 - 1 + units * 2**60, HEADS if negative else TAILS

    def scripted(*words: int) -> Noise:
        return Noise(ScriptedEntropy([*words_for(units), *words], word_bits=16))

    assert scripted(sign).discrete_laplace(2**56, 1).tolist() == [-1 - magnitude if negative else magnitude]
    assert scripted().geometric(2**56, 1).tolist() == [magnitude]
    for carry, more in ((TAILS, 0), (HEADS, 1)):
        expected = [-magnitude - more if negative else magnitude + more]
        assert scripted(carry, sign).rounded_laplace_on_grid(Fraction(2**56), 1).tolist() == expected
        drawn = scripted(sign, carry).rounded_laplace(Fraction(2**56), np.array([0.5]), lambda _: HALF)
        assert drawn.tolist() == expected


def test_digits_needed_never_exceed_an_int64() -> None:
    for exponent in range(57):
        assert len(laplace._coins(Fraction(2**exponent)).digits) <= 60


# Refusals.

NOT_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    -1,
    "-1/3",
    True,
    np.True_,
    "one",
    "",
    "nan",
    "1/0",
    "1e999999999",
    "9" * 10_000,
    2**20_000,
    None,
    [1],
    np.array([1.0]),
    1j,
    b"1",
    Decimal("NaN"),
    Decimal("Infinity"),
    np.float32("nan"),
]
NOT_SCALES = [*NOT_NUMBERS, 0, 0.0, "0", Fraction(1, 2**41), 1e-300, 2**1000 + 1, 2**2000]


def name_of(value: object) -> str:
    try:
        return repr(value)[:30]
    except ValueError:
        return "a long integer"


def refused(parameter: str, draw: Callable[[], Any]) -> None:
    with pytest.raises(InvalidParameter, match=rf"^{parameter} must be ") as refusal:
        draw()
    assert refusal.value.parameter == parameter
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("bad", NOT_SCALES, ids=name_of)
def test_bad_scales_are_refused_by_name(bad: Any) -> None:
    refused("scale", lambda: noise.discrete_laplace(bad, 1))
    refused("scale", lambda: noise.geometric(bad, 1))
    refused("sigma", lambda: noise.discrete_gaussian(bad, 1))


@pytest.mark.parametrize("bad", NOT_NUMBERS, ids=name_of)
def test_bad_rates_are_refused_by_name(bad: Any) -> None:
    """A rate may be zero, and as large or as small as can be written."""
    refused("rate", lambda: noise.select([1, 2], bad, 1))
    refused("rate", lambda: noise.permute_and_flip([1, 2], bad, 1))
    refused("gamma", lambda: noise.bernoulli_exp(bad, 1))
    refused("epsilon", lambda: noise.bernoulli_truth(bad, 1, others=1))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1, "4/3", True, "heads", None, 2**20_000], ids=name_of)
def test_bad_probabilities_are_refused_by_name(bad: Any) -> None:
    refused("p", lambda: noise.bernoulli(bad, 1))


@pytest.mark.parametrize("bad", [Fraction(1, 2), Fraction(0), Fraction(-1), Fraction(2**56 + 1), math.nan], ids=str)
def test_rounded_laws_are_refused_outside_their_range(bad: Any) -> None:
    offsets = np.array([0.5])
    refused("scale", lambda: noise.rounded_laplace_on_grid(bad, 1))
    refused("scale", lambda: noise.rounded_laplace(bad, offsets, lambda _: HALF))
    refused("sigma", lambda: noise.rounded_gaussian(bad, offsets, lambda _: HALF))


@pytest.mark.parametrize(
    "bad", [-1, 1.5, 1.0, True, "1", None, math.nan, 2**41, np.float64(3), [3], (2, 2)], ids=name_of
)
def test_bad_sizes_are_refused_by_name(bad: Any) -> None:
    for draw in (
        lambda: noise.discrete_laplace(1, bad),
        lambda: noise.discrete_gaussian(1, bad),
        lambda: noise.geometric(1, bad),
        lambda: noise.bernoulli(HALF, bad),
        lambda: noise.bernoulli_exp(1, bad),
        lambda: noise.bernoulli_truth(1, bad, others=3),
        lambda: noise.uniform_below(3, bad),
        lambda: noise.select([1, 2], 1, bad),
        lambda: noise.permute_and_flip([1, 2], 1, bad),
        lambda: noise.rounded_laplace_on_grid(Fraction(3), bad),
    ):
        refused("size", draw)


@pytest.mark.parametrize("bad", [0, -5, 2.5, 3.0, True, "3", None, math.inf], ids=name_of)
def test_bad_limits_are_refused_by_name(bad: Any) -> None:
    refused("limit", lambda: noise.uniform_below(bad, 1))
    refused("others", lambda: noise.bernoulli_truth(1, 1, others=bad))


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [1.0, 2.0],
        [True, False],
        ["1", "2"],
        [[1, 2], [3, 4]],
        [[1, 2], [3]],
        3,
        None,
        [1, None],
        [2**64, 1],
        np.array([1, 2], dtype=object),
        np.array([1, 2], dtype=complex),
        np.array([1, 2], dtype="timedelta64[s]"),
        np.array([], dtype=np.int64),
        np.array(5),
    ],
    ids=name_of,
)
@pytest.mark.parametrize("method", ["select", "permute_and_flip"])
def test_scores_of_the_wrong_kind_are_refused_without_showing_them(method: str, bad: Any) -> None:
    shown = r"'(rows of different lengths|[<\w\[\]]+ with shape \([\d, ]*\))'"
    refusal = rf"^scores must be a non-empty vector of signed integers, got {shown}$"
    with pytest.raises(InvalidParameter, match=refusal):
        getattr(noise, method)(bad, 1, 1)


def test_any_number_of_others_is_among_the_choices() -> None:
    """One truth among 10^5000 others at no epsilon is never told; at an epsilon of 10^6 it always is."""
    assert not noise.bernoulli_truth(0, 100, others=10**5000).any()
    assert noise.bernoulli_truth(10**6, 100, others=10**5000).all()


# Scores.

EXTREME_SCORES: dict[str, Any] = {
    "all of int64": [SMALLEST, LARGEST],
    "smallest alone": [SMALLEST],
    "largest alone": [LARGEST],
    "one": [0],
    "zero between the ends": [LARGEST, 0, SMALLEST, LARGEST - 1],
    "range of 10^18": [-(10**18), 0, 1, 10**18],
    "small integers": np.array([-128, 127], dtype=np.int8),
}


@pytest.mark.parametrize("scores", EXTREME_SCORES.values(), ids=EXTREME_SCORES.keys())
@pytest.mark.parametrize("rate", [0, Fraction(1, 2**70), "1e-300", 1, 800, 2**60, 2**1000], ids=str)
@pytest.mark.parametrize("method", ["select", "permute_and_flip"])
def test_extreme_scores_are_chosen_from(method: str, rate: Any, scores: Any) -> None:
    chosen = getattr(noise, method)(scores, rate, 20)
    assert chosen.dtype == np.int64
    assert ((chosen >= 0) & (chosen < len(scores))).all()
    if rate in (800, 2**60, 2**1000):
        # One step below the best has the chance e^-800.
        assert (np.asarray(scores)[chosen] == max(scores)).all()


def test_gap_wider_than_an_int64_counts_in_full() -> None:
    """With a rate of 2^-64 the ends of int64 differ by nearly 1 in the exponent: the last is drawn 27 % of the time.

    n = 2,000; a gap that wrapped around would be 0, and draw it 50 % of the time. The bounds are 10 standard deviations
    away on either side, so false alarms and misses are both below 1e-20.
    """
    n = 2000
    drawn = int(noise.select([LARGEST, SMALLEST], Fraction(1, 2**64), n).sum())
    deviation = math.sqrt(n * 0.27 * 0.73)
    assert abs(drawn - n * 0.2689) < 10 * deviation < n * 0.2689
    assert n * 0.5 - 8 * math.sqrt(n / 4) > n * 0.2689 + deviation


@pytest.mark.parametrize("method", ["select", "permute_and_flip"])
def test_a_million_ties(method: str) -> None:
    chosen = getattr(noise, method)(np.full(10**6, 7), 1, 3)
    assert chosen.shape == (3,)
    assert ((chosen >= 0) & (chosen < 10**6)).all()
    # One value three times happens once in 10^12 runs.
    assert np.unique(chosen).size > 1


def test_undecided_choice_among_many_ends() -> None:
    """The exact path, forced by a prefix that lies on the boundary between candidates."""
    scores = np.zeros(2**12, dtype=np.int64)
    boundary = [0x8000, 0, 0]
    below, above = [0x7FFF, 0xFFFF, 0xFFFF], boundary
    for words, expected in ((below, 2**11 - 1), (above, 2**11)):
        scripted = Noise(ScriptedEntropy([*words, *[0x1234] * 8], word_bits=16))
        assert scripted.select(scores, 1, 1).tolist() == [expected]


# What comes out.

OFFSETS = np.full(1000, 0.25)
DRAWS: dict[str, tuple[Callable[[], Any], Any]] = {
    "discrete_laplace": (lambda: noise.discrete_laplace(3, 1000), np.int64),
    "discrete_gaussian": (lambda: noise.discrete_gaussian(3, 1000), np.int64),
    "geometric": (lambda: noise.geometric(3, 1000), np.int64),
    "bernoulli": (lambda: noise.bernoulli(HALF, 1000), np.bool_),
    "bernoulli_exp": (lambda: noise.bernoulli_exp(1, 1000), np.bool_),
    "bernoulli_truth": (lambda: noise.bernoulli_truth(1, 1000, others=2), np.bool_),
    "uniform_below": (lambda: noise.uniform_below(10, 1000), np.int64),
    "uniform_below 2^50": (lambda: noise.uniform_below(2**50, 1000), np.int64),
    "select": (lambda: noise.select([1, 2, 3], 1, 1000), np.int64),
    "permute_and_flip": (lambda: noise.permute_and_flip([1, 2, 3], 1, 1000), np.int64),
    "rounded_laplace": (lambda: noise.rounded_laplace(Fraction(3), OFFSETS, lambda _: HALF / 2), np.int64),
    "rounded_gaussian": (lambda: noise.rounded_gaussian(Fraction(3), OFFSETS, lambda _: HALF / 2), np.int64),
    "rounded_laplace_on_grid": (lambda: noise.rounded_laplace_on_grid(Fraction(3), 1000), np.int64),
    "functions.discrete_laplace": (lambda: functions.discrete_laplace(3, 1000), np.int64),
    "functions.discrete_gaussian": (lambda: functions.discrete_gaussian(3, 1000), np.int64),
    "functions.geometric": (lambda: functions.geometric(3, 1000), np.int64),
    "functions.bernoulli": (lambda: functions.bernoulli(HALF, 1000), np.bool_),
    "functions.bernoulli_exp": (lambda: functions.bernoulli_exp(1, 1000), np.bool_),
    "functions.uniform_below": (lambda: functions.uniform_below(3, 1000), np.int64),
    "functions.select": (lambda: functions.select([1, 2], 1, 1000), np.int64),
}


@pytest.mark.parametrize(("draw", "dtype"), DRAWS.values(), ids=DRAWS.keys())
def test_no_float_leaves_a_sampler(draw: Callable[[], Any], dtype: Any) -> None:
    drawn = draw()
    assert drawn.shape == (1000,)
    assert drawn.dtype == dtype
    # A constant, or one and the same array twice, would be no noise; 1,000 equal draws happen once in 10^30 runs.
    assert np.unique(drawn).size > 1
    assert (drawn != draw()).any()


def test_no_draws_are_an_empty_array() -> None:
    for drawn in (
        noise.discrete_laplace(3, 0),
        noise.discrete_gaussian(3, 0),
        noise.geometric(2**100, 0),
        noise.bernoulli(HALF, 0),
        noise.uniform_below(3, 0),
        noise.select([1], 1, 0),
        noise.permute_and_flip([1], 1, 0),
        noise.rounded_laplace(Fraction(3), np.empty(0), lambda _: HALF),
        noise.rounded_gaussian(Fraction(3), np.empty(0), lambda _: HALF),
    ):
        assert drawn.shape == (0,)
        assert drawn.dtype.kind in "ibO"


@pytest.mark.parametrize(
    "limit", [1, 2, 3, 2**16, 2**48 + 1, 2**50, 2**62, 2**62 + 1, 2**63, 2**64, 2**200 + 7], ids=str
)
def test_uniform_integers_stay_below_their_limit(limit: int) -> None:
    drawn = [int(x) for x in noise.uniform_below(limit, 500)]
    assert min(drawn) >= 0
    assert max(drawn) < limit
    # Half of the range is not left out, but for once in 2^499 runs.
    assert max(drawn) >= limit // 2 or limit == 1
    assert min(drawn) <= limit // 2


MILLION = 10**6
QUARTERS = np.full(MILLION, 0.25)
BIG_DRAWS: dict[str, tuple[Callable[[], Any], int]] = {
    "discrete_laplace 1": (lambda: noise.discrete_laplace(1, MILLION), 16),
    "discrete_laplace 10^6": (lambda: noise.discrete_laplace(10**6, MILLION), 16),
    "discrete_gaussian 1000": (lambda: noise.discrete_gaussian(1000, MILLION), 16),
    "geometric 1000": (lambda: noise.geometric(1000, MILLION), 16),
    "bernoulli": (lambda: noise.bernoulli("1/3", MILLION), 16),
    "bernoulli_exp": (lambda: noise.bernoulli_exp(1, MILLION), 16),
    "rounded_laplace_on_grid": (lambda: noise.rounded_laplace_on_grid(Fraction(1000), MILLION), 16),
    # Not drawn in blocks: their work arrays are as long as the result.
    "rounded_laplace": (lambda: noise.rounded_laplace(Fraction(1000), QUARTERS, lambda _: HALF / 2), 16),
    "rounded_gaussian": (lambda: noise.rounded_gaussian(Fraction(1000), QUARTERS, lambda _: HALF / 2), 16),
    "uniform_below": (lambda: noise.uniform_below(1000, MILLION), 48),
    "select": (lambda: noise.select([1, 2, 3], 1, MILLION), 48),
}


@pytest.mark.parametrize(("draw", "bytes_each"), BIG_DRAWS.values(), ids=BIG_DRAWS.keys())
def test_memory_beyond_the_result(draw: Callable[[], Any], bytes_each: int) -> None:
    tracemalloc.start()
    try:
        drawn = draw()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - drawn.nbytes < bytes_each * MILLION
