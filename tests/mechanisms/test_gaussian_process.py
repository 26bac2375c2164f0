"""Gaussian-process release: the certificate against another route, the covariance of the noise, planted mistakes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from dither.checks.law import coverage_is_refuted
from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import DiscreteGaussian, Gaussian, PublicArray, Runner
from dither.mechanisms.gaussian_process import GaussianProcess, _defect, _exp_of_minus
from dither.noise import system_noise
from dither.privacy import Plan, Use
from dither.testing import record, replay

STILL = Gaussian(sigma=Fraction(1, 2**40))
LINE = PublicArray(np.arange(6)[:, None])
PLANE = PublicArray([[0, 0], [1, 0], [0, 3], [2, 2]])
DIGITS = 400


def process(kernel: str = "exponential", points: PublicArray = LINE, grid: Any = "1/2", **others: Any) -> Any:
    return GaussianProcess(
        kernel=kernel, points=points, grid=grid, **({"length": 1, "noise": Gaussian(sigma=2)} | others)
    )


# Kernels from ordinary ones to those that no float factor survives.
CASES = [
    process(),
    process("squared-exponential"),
    process("squared-exponential", PLANE),
    process("exponential", PLANE, length="1/3"),
    process("squared-exponential", grid="1/10"),
    process("squared-exponential", grid="1/1000"),
    process("exponential", grid=Fraction(1, 10**9)),
]
NAMES = ("line", "smooth", "plane", "plane-exponential", "close", "very-close", "nearly-equal")


def kernel_matrix(mechanism: GaussianProcess) -> list[list[Fraction]]:
    """The kernel at all pairs of points, to 400 digits."""

    def entry(one: Any, other: Any) -> Fraction:
        gaps = [
            Fraction(abs(int(a) - int(b))) * mechanism.grid / mechanism.length for a, b in zip(one, other, strict=True)
        ]
        exponent = sum(gaps) if mechanism.kernel == "exponential" else sum(gap**2 for gap in gaps) / 2
        with localcontext() as context:
            context.prec = DIGITS
            minus = -Decimal(Fraction(exponent).numerator) / Decimal(Fraction(exponent).denominator)
            return Fraction(minus.exp())

    points = mechanism.points.values
    return [[entry(one, other) for other in points] for one in points]


def whitening(mechanism: GaussianProcess) -> list[list[Fraction]]:
    """B as a full matrix, column by column."""
    count = len(mechanism.points.values)
    units = [[Fraction(int(i == j)) for j in range(count)] for i in range(count)]
    return transposed([mechanism.factor.whiten(unit) for unit in units])


def transposed(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    return list(map(list, zip(*matrix, strict=True)))


def product(one: list[list[Fraction]], other: list[list[Fraction]]) -> list[list[Fraction]]:
    columns = transposed(other)
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in one]


def is_positive(matrix: list[list[Fraction]]) -> bool:
    """Whether a symmetric matrix is positive definite: all pivots of exact elimination are."""
    rest = [row[:] for row in matrix]
    while rest:
        if rest[0][0] <= 0:
            return False
        head = rest[0]
        rest = [[entry - row[0] * head[j + 1] / head[0] for j, entry in enumerate(row[1:])] for row in rest[1:]]
    return True


def quadratic(matrix: list[list[Fraction]], vector: list[Fraction]) -> Fraction:
    return product([vector], product(matrix, [[x] for x in vector]))[0][0]


def shifted(matrix: list[list[Fraction]], sign: int, level: Fraction) -> list[list[Fraction]]:
    """sign * (matrix - level * 1)."""
    return [[sign * (entry - (level if i == j else 0)) for j, entry in enumerate(row)] for i, row in enumerate(matrix)]


@pytest.mark.parametrize("mechanism", CASES, ids=NAMES)
def test_the_stretch_is_no_less_than_the_true_one(mechanism: GaussianProcess) -> None:
    """Eigenvalues of B K B^T by pivots, exactly, for the kernel to 400 digits; and a claim without the defect fails."""
    factor, whitener = mechanism.factor, whitening(mechanism)
    whitened = product(product(whitener, kernel_matrix(mechanism)), transposed(whitener))
    assert is_positive(shifted(whitened, -1, factor.stretch**2))
    assert is_positive(shifted(whitened, 1, 1 - factor.defect))
    assert 0 < factor.defect < Fraction(1, 2**40)
    assert not is_positive(shifted(whitened, -1, 1 - factor.defect))


def test_a_factor_in_floats_is_not_certified() -> None:
    """What is printed: a Cholesky factor in floats. On close points it fails, or stretches by far more than allowed."""
    bits, step = 256, 2.0**-7
    gaps = [[Fraction(i - j) ** 2 * Fraction(step) ** 2 / 2 for j in range(6)] for i in range(6)]
    matrix = [[_exp_of_minus(gap, bits) for gap in row] for row in gaps]
    floats = np.array([[float(Fraction(entry, 2**bits)) for entry in row] for row in matrix])
    inverse = np.linalg.inv(np.linalg.cholesky(floats + 1e-15 * np.eye(6)))
    rows = [[int(Fraction(entry) * 2**bits) for entry in row[: i + 1]] for i, row in enumerate(inverse.tolist())]
    assert _defect(rows, matrix, bits) > Fraction(1, 10)
    assert process("squared-exponential", grid=step).factor.defect < Fraction(1, 2**40)


def test_rounded_kernels_are_off_by_less_than_a_unit() -> None:
    for gap in (
        Fraction(0),
        Fraction(1, 3),
        Fraction(7, 2),
        Fraction(100),
        Fraction(127),
        Fraction(1000),
        Fraction(1, 10**30),
    ):
        for bits in (128, 256):
            with localcontext() as context:
                context.prec = DIGITS
                truth = Fraction((-Decimal(gap.numerator) / Decimal(gap.denominator)).exp())
            assert abs(truth * 2**bits - _exp_of_minus(gap, bits)) < Fraction(3, 4)


@pytest.mark.parametrize("mechanism", CASES, ids=NAMES)
def test_the_distance_is_the_norm_of_the_kernel(mechanism: GaussianProcess) -> None:
    """A sum of kernels around points has the norm sqrt(a^T K a), which needs no inverse."""
    kernel, distance = kernel_matrix(mechanism), mechanism.distance
    for weights in itertools.islice(itertools.product((-1, 0, 2), repeat=len(kernel)), 1, 200, 7):
        vector = list(map(Fraction, weights))
        values = [row[0] for row in product(kernel, [[x] for x in vector])]
        square = quadratic(kernel, vector)
        found = distance.measure(values, [0] * len(values))
        assert found is not None
        assert square <= found**2 <= square * (1 + Fraction(1, 10**10))
        # And so the price is right: what is drawn from moves by no more than the stretch allows.
        moved = sum((x * x for x in mechanism.factor.whiten(values)), Fraction(0))
        assert moved <= square * mechanism.factor.stretch**2


@pytest.mark.parametrize("mechanism", [CASES[0], CASES[1], CASES[2]], ids=NAMES[:3])
def test_what_rounding_may_add(mechanism: GaussianProcess) -> None:
    """All ways in which every value may be off by 1/1000 on both sides, by brute force over the signs."""
    kernel = np.array(kernel_matrix(mechanism), dtype=float)
    signs = np.array(list(itertools.product((-1, 1), repeat=len(kernel)))) / 500
    worst = float(np.sqrt(np.einsum("si,ij,sj->s", signs, np.linalg.inv(kernel), signs)).max())
    found = float(mechanism.rounding_distance("1/1000"))
    assert worst * (1 - 1e-9) <= found <= 3 * worst
    assert mechanism.rounding_distance(0) == 0


def released(mechanism: GaussianProcess, values: Any) -> Any:
    return Runner(Use(mechanism), system_noise())(mechanism, values)


@pytest.mark.statistical(false_alarm=1.4e-9)
@pytest.mark.parametrize("kernel", ["exponential", "squared-exponential"])
def test_the_noise_has_the_covariance_of_the_kernel(kernel: str) -> None:
    """n = 3,000 releases; false alarm 1e-10 for each of seven directions; the twin is noise without covariance.

    A scale off by 16 % in any direction would be caught, and so would the transpose of the factor.
    """
    draws, points = 3000, PublicArray([[0], [1], [3]])
    mechanism = process(kernel, points, "1/2")
    values = np.array([5.0, -1.0, 2.0])
    noise = np.array([released(mechanism, values) for _ in range(draws)]) - values
    covariance = 4 * np.array(kernel_matrix(mechanism), dtype=float)
    refuted = []
    for direction in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, -1, 0], [0, 1, -1], [1, -2, 1]):
        square = float(((noise @ direction) ** 2).sum())
        expected = direction @ covariance @ direction
        assert chi2.sf(square / expected, draws) > 1e-10
        assert chi2.cdf(square / expected, draws) > 1e-10
        independent = 4 * float(np.dot(direction, direction))
        refuted.append(min(chi2.sf(square / independent, draws), chi2.cdf(square / independent, draws)) < 1e-10)
    assert sum(refuted) >= 3


@pytest.mark.parametrize("mechanism", CASES, ids=NAMES)
def test_without_noise_the_values_come_back(mechanism: GaussianProcess) -> None:
    quiet = process(mechanism.kernel, mechanism.points, mechanism.grid, length=mechanism.length, noise=STILL)
    values = [row[1] for row in kernel_matrix(mechanism)]
    assert np.allclose(released(quiet, values), np.array(values, dtype=float), rtol=0, atol=1e-10)


@pytest.mark.statistical(false_alarm=1e-10)
def test_the_error_covers() -> None:
    """n = 1,000; false alarm 1e-10. Twice too short is refuted."""
    mechanism, values = process(), np.arange(6.0)
    off = np.abs(np.array([released(mechanism, values) for _ in range(1000)]) - values).max(axis=1)
    bound = mechanism.error("0.9").value
    assert not coverage_is_refuted(int((off <= bound).sum()), 1000, 0.9, 1e-10)
    assert coverage_is_refuted(int((off <= bound / 2).sum()), 1000, 0.9, 1e-10)


@dataclass(frozen=True, kw_only=True)
class HalfTheStretch(GaussianProcess):
    """Prices half of what a function moves."""

    def plan(self) -> Plan:
        return Use(self.part, Fraction(1, 2))

    def release(self, data: Any, run: Runner) -> Any:
        return run(self.part, self.factor.whiten([Fraction(x) for x in data.tolist()]), stability=Fraction(1, 2))


@dataclass(frozen=True, kw_only=True)
class NotWhitened(GaussianProcess):
    """Adds independent noise at the price of the norm of the kernel."""

    def release(self, data: Any, run: Runner) -> Any:
        return run(self.part, data, stability=self.factor.stretch)


@dataclass(frozen=True, kw_only=True)
class Bare(GaussianProcess):
    """Draws, and releases the values themselves."""

    def release(self, data: Any, run: Runner) -> Any:
        super().release(data, run)
        return data


@pytest.mark.parametrize(
    ("kind", "rule"), [(HalfTheStretch, "moved too far"), (NotWhitened, "moved too far"), (Bare, "outside its draws")]
)
def test_planted_mistakes_are_caught(kind: Callable[..., Any], rule: str) -> None:
    sound = process("squared-exponential", grid="1/4")
    twin = kind(kernel=sound.kernel, points=sound.points, grid=sound.grid, length=sound.length, noise=sound.noise)
    here = np.zeros(6)
    bump = 0.999 * np.array(kernel_matrix(sound)[2], dtype=float)
    assert rule in replay(twin, here, bump)[0].rule
    assert replay(sound, here, bump) == []
    assert replay(sound, here, 2 * bump) != []


def test_whole_numbers_are_not_cut_off() -> None:
    """Cutting values off is not smooth: two functions may come apart by it."""
    mechanism, far = process(), np.full(6, 2**62)
    exact = mechanism.factor.whiten([Fraction(2**62)] * 6)
    assert record(mechanism, far)[1].events[0].value == exact == record(mechanism, far.tolist())[1].events[0].value
    assert replay(mechanism, far, far + np.array([1, 0, 0, 0, 0, 0]), d_in=2) == []


@pytest.mark.parametrize(
    "values",
    [[np.nan] * 6, [np.inf, -np.inf, 1e308, 5e-324, 0.0, -0.0], [10**400, Fraction(1, 3), 0, 0, 0, -(10**400)]],
    ids=("nan", "floats", "rationals"),
)
def test_any_content_is_answered(values: list[Any]) -> None:
    assert released(process(), values).shape == (6,)


@pytest.mark.parametrize("values", [np.zeros(5), np.zeros((6, 1)), 1.0, None, ["a"] * 6], ids=str)
def test_values_of_another_shape_are_refused(values: Any) -> None:
    with pytest.raises(InvalidValue):
        released(process(), values)
    assert process().distance.measure(np.zeros(5), np.zeros(5)) is None
    assert process().distance.measure([np.nan] * 6, np.zeros(6)) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"points": PublicArray([0, 1])}, "points"),
        ({"points": PublicArray([[0.5], [1.5]])}, "points"),
        ({"points": PublicArray([[1], [1]])}, "points"),
        ({"points": PublicArray([[0], [2**27]])}, "points"),
        ({"points": PublicArray(np.arange(65)[:, None])}, "points"),
        ({"points": np.zeros((2, 1))}, "points"),
        ({"kernel": "squared-exponential", "grid": Fraction(1, 10**300)}, "points"),
        ({"noise": DiscreteGaussian(sigma=2)}, "noise"),
        ({"noise": Gaussian(sigma=2, shape=6)}, "noise"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], named: str) -> None:
    given = {"kernel": "exponential", "points": LINE, "grid": "1/2", "length": 1, "noise": Gaussian(sigma=2)}
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        GaussianProcess(**(given | changes))
