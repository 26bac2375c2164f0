"""The buffered counter: its factor, how far people move it, its noise, and how near it comes to the best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import BufferedCounter
from dither.mechanisms.decaying_factors import DecayingFactor, best_factor, endless_factor, smooth_factor
from dither.noise import Noise, SystemEntropy, system_noise
from dither.noise.buffered import BufferedNoise
from dither.noise.tapes import KeyedTapes, RecordedTapes, fresh_tapes
from dither.privacy import ZCDP, ApproxDP, GaussianDP
from dither.testing.entropy import SeededEntropy

THIRDS = DecayingFactor((Fraction(7, 8), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 4)))
TICKS, FALSE_ALARM = 2**15, 1e-9
FACTORS: dict[str, Callable[[], DecayingFactor]] = {
    "two": lambda: THIRDS,
    "best": lambda: best_factor(1000, 4),
    "endless": lambda: endless_factor(6),
    "smooth": lambda: smooth_factor(6),
    "one tick": lambda: best_factor(1, 1),
}


def root_square(steps: int) -> float:
    """Return the largest error of the square root at rho 1/2: the sum of the squares of C(2k, k) / 4^k."""
    places = np.arange(1, steps)
    return float(np.square(np.concatenate([[1.0], np.cumprod((2 * places - 1) / (2 * places))])).sum())


@pytest.mark.parametrize("kind", FACTORS)
def test_the_two_factors_make_running_sums(kind: str) -> None:
    """Their series multiplied are 1, 1, 1, ...; coefficients are above 0 and fall, in exact rationals."""
    factor, many = FACTORS[kind](), 12
    mixing = factor.mixing
    left = [factor.coefficient(place) for place in range(many)]
    right = [
        mixing.lasting + sum(w * rate**place for w, rate in zip(mixing.weights, mixing.rates, strict=True))
        for place in range(many)
    ]
    assert all(sum(left[k] * right[t - k] for k in range(t + 1)) == 1 for t in range(many))
    assert left[0] == right[0] == 1
    for series in (left, right):
        assert all(0 < second < first for first, second in itertools.pairwise(series))
    assert min(*factor.weights, factor.at_once, *mixing.weights, mixing.lasting) > 0


def matrix(factor: DecayingFactor, steps: int) -> NDArray[Any]:
    series = [float(factor.coefficient(place)) for place in range(steps)]
    return np.array([[series[t - k] if t >= k else 0.0 for k in range(steps)] for t in range(steps)])


@pytest.mark.parametrize("kind", ["two", "best", "endless"])
@pytest.mark.parametrize(
    ("steps", "ticks", "apart"), [(1, 1, 1), (9, 1, 1), (9, 3, 2), (10, 4, 3), (8, 9, 1), (7, 2, 9)]
)
def test_how_far_a_person_moves_it(kind: str, steps: int, ticks: int, apart: int) -> None:
    """The bound is the largest over all sets of ticks, all of which are tried."""
    factor, farthest = FACTORS[kind](), 0.0
    columns = matrix(factor, steps)
    for count in range(1, min(ticks, steps) + 1):
        for places in itertools.combinations(range(steps), count):
            if all(second - first >= apart for first, second in itertools.pairwise(places)):
                farthest = max(farthest, float(np.linalg.norm(columns[:, places].sum(axis=1))))
    found = factor.length(steps, ticks, apart)
    assert float(found) == pytest.approx(farthest)
    assert float(found) <= float(factor.length(None, ticks, apart)) * (1 + 1e-12)


def test_signs_and_directions_move_it_no_farther() -> None:
    """Changes of other signs, and vectors in other directions, are shorter: tried at random."""
    generator = np.random.default_rng()
    columns, reach = matrix(THIRDS, 12), float(THIRDS.length(12, 4, 3))
    for _ in range(300):
        moved = np.zeros((12, 3))
        moved[[0, 3, 6, 9]] = generator.normal(size=(4, 3))
        moved /= np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-300)
        assert np.linalg.norm(columns @ moved) <= reach * (1 + 1e-12)


def test_the_length_without_end_is_the_limit() -> None:
    lengths = [float(THIRDS.length(steps)) for steps in (1, 5, 50, 500)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == pytest.approx(float(THIRDS.length(None)), rel=1e-12)
    assert THIRDS.length(2**31) <= THIRDS.length(None)


def test_errors_are_those_of_the_rows() -> None:
    factor = best_factor(400, 5)
    rows = np.linalg.inv(matrix(factor, 60))
    noise = np.tril(np.ones((60, 60))) @ rows
    for tick in (0, 1, 30, 59):
        assert factor.standard_error(tick) == pytest.approx(float(np.linalg.norm(noise[tick])))


def test_a_few_buffers_come_near_the_square_root() -> None:
    """The figures that were aimed at, against closed forms computed here."""
    for steps, buffers, share in ((2**20, 6, 0.005), (2**16, 8, 0.001)):
        counter = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=steps, buffers=buffers)
        assert counter.standard_error(steps - 1) <= (1 + share) * math.hypot(root_square(steps), math.sqrt(1 / 12))
    assert root_square(2**16) == pytest.approx(4.596, abs=1e-3)
    assert root_square(2**20) == pytest.approx(5.479, abs=1e-3)
    assert BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16).standard_error(2**16 - 1) <= 4.62


def test_without_a_known_end_the_error_is_a_quarter_larger_at_most() -> None:
    """From 2^10 to 2^28 ticks; the known one by its asymptotic form, which is exact to a thousandth there."""
    factor = endless_factor()
    reach = float(factor.length(None))
    for power in range(10, 29):
        known = (power * math.log(2) + 0.5772156649 + 4 * math.log(2)) / math.pi
        assert reach * factor.standard_error(2**power - 1) <= 1.25 * known


def closed_form(lags: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coefficients of Jacobsen and Fawaz's factor, and of running sums over it, by Cauchy's formula."""
    points = 4 * lags
    radius = 10.0 ** (-9 / points)
    z = radius * np.exp(2j * np.pi * np.arange(points) / points)
    inner = -np.log(1 - z) / z
    factor = (1 - z) ** -0.5 * inner**-0.51 * (2 / z * np.log(inner)) ** 0.612
    both = [np.fft.fft(values).real[:lags] / points for values in (factor, 1 / (1 - z) / factor)]
    first, second = (found * radius ** -np.arange(lags) for found in both)
    return first, second


def test_the_smooth_factor_is_that_in_print() -> None:
    """Sixteen buffers have its coefficients to a hundredth, and its errors to a five-hundredth, up to 2^13 ticks."""
    factor, lags = smooth_factor(), 2**13
    column, row = closed_form(lags)
    assert float(factor.coefficient(0)) == pytest.approx(column[0], rel=0.01)
    places = np.array([1, 2, 5, 30, 200, 1500, lags - 1])
    rates, weights = (np.array([float(one) for one in part]) for part in (factor.rates, factor.weights))
    assert rates ** places[:, None] @ weights == pytest.approx(column[places], rel=0.01)
    errors = np.sqrt(np.cumsum(np.square(row)))
    for ticks in (1, 2, 7, 64, 1000, lags):
        assert factor.standard_error(ticks - 1) == pytest.approx(errors[ticks - 1], rel=0.002)


@pytest.mark.parametrize("factor", [smooth_factor, endless_factor])
def test_without_a_known_end_every_tick_is_near_that_of_a_counter_for_2_to_24(
    factor: Callable[[], DecayingFactor],
) -> None:
    """The comparison in print: the square root for 2^24 ticks, at each of them; from 2^10 by its asymptotic form."""

    def square(ticks: int) -> float:
        return root_square(ticks) if ticks < 2**10 else (math.log(ticks) + 0.5772156649 + 4 * math.log(2)) / math.pi

    made = factor()
    reach, known = float(made.length(None)), math.sqrt(square(2**24))
    for ticks in {1, 2, 3, *(int(2 ** (power / 2)) for power in range(2, 49))}:
        assert reach * made.standard_error(ticks - 1) <= 1.25 * known * math.sqrt(square(ticks))


def test_a_smooth_counter_keeps_its_loss_and_has_no_known_end() -> None:
    made = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, smooth=True)
    assert made.loss(1) <= ZCDP("1/2")
    assert made.standard_error(2**24) < BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1).standard_error(2**24)
    with pytest.raises(InvalidParameter, match="smooth"):
        BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=9, smooth=True)


def test_people_move_it_less_than_so_many_events() -> None:
    events = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16)
    people = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16, ticks=365, apart=24)
    assert people.sigma <= Fraction("0.60") * 365 * events.sigma
    assert people.loss(1) <= ZCDP("1/2")


@pytest.mark.parametrize("within", [ZCDP("1/2"), ApproxDP(1, "1e-6")])
def test_calibration_stays_within_the_loss(within: Any) -> None:
    counter = BufferedCounter.calibrated(within, sensitivity=3, steps=1000, ticks=4, apart=10)
    assert within.covers(counter.loss(3))
    assert not within.covers(counter.loss("3.01"))


def test_a_loss_that_a_rho_does_not_keep_is_refused() -> None:
    with pytest.raises(NoGuarantee):
        BufferedCounter.calibrated(GaussianDP(1), sensitivity=1, steps=9)


def test_distances_of_streams() -> None:
    """By ticks for events; people who fit are counted once."""
    events = BufferedCounter(sigma=1, rates=("1/2",), zeros=("1/4",)).distance
    assert events.measure([0, 0, 0], [1, 0, -2]) == 3
    people = BufferedCounter(sigma=1, rates=("1/2",), zeros=("1/4",), ticks=2, apart=2).distance
    assert people.measure([0, 0, 0], [1, 0, -2]) == 2
    assert people.measure([0, 0, 0], [1, 1, 1]) == 2
    assert people.measure([0, 0], [1, 0, 0]) is None
    pairs = BufferedCounter(sigma=1, rates=("1/2",), zeros=("1/4",), shape=2).distance
    assert pairs.measure([np.array([0, 0])], [np.array([3, 4])]) == 5
    assert pairs.measure([np.zeros((2, 2), dtype=int)], [np.eye(2, dtype=int)]) == 2
    assert pairs.measure([0], [1]) is None


def noise_of(tapes: Any, factor: DecayingFactor, sigma: Fraction, *, entries: int = 2, block: int = 9) -> BufferedNoise:
    return BufferedNoise(tapes, factor.mixing, sigma, entries, block)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(7), Fraction(2**20)])
@pytest.mark.parametrize("kind", ["two", "best"])
def test_floats_and_integers_round_alike(kind: str, sigma: Fraction) -> None:
    """Every tick again in exact rationals, over several blocks: the floats never decide otherwise."""
    process = noise_of(fresh_tapes(SystemEntropy()), FACTORS[kind](), sigma)
    found = np.concatenate([process.more() for _ in range(4)])
    for tick in (0, 1, 8, 9, 20, 35):
        for entry in (0, 1):
            assert process._settled(tick, entry) == found[tick, entry]
            low, high = process.enclosure(tick, entry, 0)
            finer, less = process.enclosure(tick, entry, 1)
            assert low <= finer < less <= high
            assert less - finer < (high - low) / 2**10


@pytest.mark.parametrize("block", [1, 4, 9])
def test_even_columns_round_alike_over_blocks(block: int) -> None:
    """Heights fall within blocks, and where one begins; every tick again in exact rationals."""
    factor = best_factor(30, 3)
    falls = factor.heights(30)
    process = BufferedNoise(fresh_tapes(SystemEntropy()), factor.mixing, Fraction(500), 2, block, falls)
    found = np.concatenate([process.more() for _ in range(-(-30 // block))])
    assert any(begins % block == 0 for begins, _ in falls[1:])
    for tick, entry in itertools.product(range(0, 30, 2 if block == 9 else 5), (0, 1)):
        assert process._settled(tick, entry) == found[tick, entry]


def even_heights(factor: DecayingFactor, steps: int) -> NDArray[Any]:
    heights = np.zeros(steps)
    for begins, height in factor.heights(steps):
        heights[begins:] = float(height)
    return heights


@pytest.mark.parametrize("steps", [1, 2, 7, 90])
def test_even_columns_are_no_longer_than_their_heights(steps: int) -> None:
    """So that what the noise is added to moves by 1 at most; and the error is that of the rows of the other factor."""
    factor = best_factor(steps, 3)
    columns, heights = matrix(factor, steps), even_heights(factor, steps)
    lengths = np.linalg.norm(columns, axis=0)
    assert (lengths <= heights * (1 + 1e-12)).all()
    assert (lengths >= 0.95 * heights).all()
    rows = np.tril(np.ones((steps, steps))) @ np.diag(heights) @ np.linalg.inv(columns)
    for tick in {0, steps // 2, steps - 1}:
        assert factor.even_error(steps, tick) == pytest.approx(float(np.linalg.norm(rows[tick])))


def test_even_columns_err_less() -> None:
    """The column-normalised square root has 4.394 at most over 65,536 ticks; no factor is below 4.232."""
    plain = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16)
    even = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=2**16, even=True)
    assert even.loss(1) <= ZCDP("1/2")
    assert 4.232 < even.largest_standard_error <= 4.42 < plain.standard_error(2**16 - 1)
    bound = even.error("0.9")
    assert bound is not None
    assert bound.value > 4 * even.largest_standard_error
    for words in ({"steps": None}, {"ticks": 2}):
        with pytest.raises(InvalidParameter, match="even"):
            BufferedCounter(**{"sigma": 1, "rates": ("1/2",), "zeros": ("1/4",), "steps": 3, "even": True, **words})  # type: ignore[arg-type]


@pytest.mark.statistical(n=4_000, false_alarm=FALSE_ALARM, catches="a standard error that is 20 % off")
def test_the_noise_of_even_columns() -> None:
    counter = BufferedCounter.calibrated(ZCDP("1/200000"), sensitivity=1, steps=40, shape=4_000, even=True)
    answers, _ = counter.reply(counter.begin(system_noise()), np.zeros((40, 4_000), dtype=np.int64), system_noise())
    reach = norm.isf(FALSE_ALARM / 16) * math.sqrt(2 / 4_000) * 1.1
    for tick in (0, 20, 36, 39):
        ratio = float(np.mean(np.square(answers[tick], dtype=np.float64))) / counter.standard_error(tick) ** 2
        assert abs(ratio - 1) < reach
        assert abs(ratio / 1.44 - 1) > reach


def test_few_digits_are_not_enough_and_more_are_drawn() -> None:
    """With words of 2 bits floats decide hardly anything, and rationals decide all of it."""

    class Short(SeededEntropy):
        word_bits = 2

        def words(self, count: int) -> NDArray[np.uint16]:
            return super().words(count) & 3

    process = noise_of(RecordedTapes(Short(5)), THIRDS, Fraction(3), block=5)
    found = process.more()
    assert found.shape == (5, 2)
    for tick, entry in itertools.product(range(5), (0, 1)):
        low, high = process.enclosure(tick, entry, 12)
        assert math.floor(low + Fraction(1, 2)) <= found[tick, entry] <= math.floor(high + Fraction(1, 2))


def test_tapes_are_read_again() -> None:
    for tapes in (fresh_tapes(SystemEntropy()), RecordedTapes(SeededEntropy(3))):
        assert tapes.tape(1, 2).words(40).tolist() == tapes.tape(1, 2).words(40).tolist()
        assert tapes.tape(1, 2).words(40).tolist() != tapes.tape(2, 1).words(40).tolist()
    assert fresh_tapes(SystemEntropy()).key != fresh_tapes(SystemEntropy()).key
    with pytest.raises(InvalidParameter, match="key"):
        KeyedTapes(b"short")


def refuses(rounded: NDArray[Any], factor: DecayingFactor, sigma: float) -> bool:
    """Undo the mixing, and test that independent standard Gaussian noise is left."""
    series = np.array([float(factor.at_once), *[0.0] * (TICKS - 1)])
    for weight, rate in zip(factor.weights, factor.rates, strict=True):
        series += float(weight) * float(rate) ** np.arange(TICKS)
    steps = np.diff(rounded / sigma, prepend=0.0)
    left = np.fft.irfft(np.fft.rfft(series, 2 * TICKS) * np.fft.rfft(steps, 2 * TICKS), 2 * TICKS)[:TICKS]
    tail = FALSE_ALARM / 16
    low, high = chi2.ppf(tail, TICKS) / TICKS, chi2.isf(tail, TICKS) / TICKS
    moments = [float(np.mean(left[lag:] * left[: TICKS - lag])) for lag in (1, 2, 7)]
    reach = norm.isf(tail) / math.sqrt(TICKS - 7) * 1.05
    return not low * 0.999 < np.mean(left**2) < high * 1.001 or max(map(abs, moments)) > reach


@pytest.mark.statistical(n=TICKS, false_alarm=FALSE_ALARM, catches="a scale 7 % off, independent noise, another factor")
def test_the_law_of_the_mixtures() -> None:
    factor = best_factor(TICKS, 6)
    counter = BufferedCounter(sigma=1000, rates=factor.rates, zeros=factor.zeros, steps=TICKS)
    answers, is_over = counter.reply(counter.begin(system_noise()), np.zeros(TICKS, dtype=np.int64), system_noise())
    assert is_over
    rounded = answers.astype(np.float64)
    assert not refuses(rounded, factor, 1000)
    assert refuses(rounded, factor, 1070)
    assert refuses(rounded, THIRDS, 1000)
    assert refuses(Noise(SystemEntropy()).discrete_gaussian(1000, TICKS).astype(np.float64), factor, 1000)


def test_intervals_grow_with_the_stream() -> None:
    counter = BufferedCounter.calibrated(ZCDP("1/200"), sensitivity=1, steps=50)
    widths = [counter.interval_at(tick, 0, "0.95").high for tick in range(50)]
    assert widths == sorted(widths)
    assert widths[0] == math.floor(float(counter.sigma) * 1.95996 + 0.5)
    bound = counter.error("0.95")
    assert bound is not None
    assert bound.value > widths[-1]
    assert BufferedCounter.calibrated(ZCDP(1), sensitivity=1).error("0.95") is None


@pytest.mark.parametrize(
    ("words", "parameter"),
    [
        ({"sigma": 0}, "sigma"),
        ({"sigma": 2**21}, "sigma"),
        ({"steps": 0}, "steps"),
        ({"rates": ()}, "rates"),
        ({"rates": (1,)}, "rates"),
        ({"rates": ("1/8",)}, "rates"),
        ({"zeros": ("1/4", "1/8")}, "rates"),
        ({"ticks": 0}, "ticks"),
        ({"apart": 0}, "apart"),
        ({"shape": 2**25}, "shape"),
    ],
)
def test_refusals(words: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        BufferedCounter(**{"sigma": 1, "rates": ("1/2",), "zeros": ("1/4",), "steps": 3, **words})
    assert caught.value.parameter == parameter
