"""A perturbed minimum: where a penalised loss with a random linear term is least, as far as that is found.

Noise in the objective hides a record twice: in where the minimum lies, and in how sharply it is bent. What is computed
is not the minimum itself, but weights at which the gradient is known to be short; a little noise on them hides how far
from the minimum they are. So the promise is about what is released, not about an ideal. Weights are whole numbers of
small steps and their scores exact, however large they are; only sums of pulls are floats, with an error that is bounded
and counted. The number of records occurs nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import (
    Field,
    Number,
    Positive,
    Probability,
    Whole,
    exp_up,
    log_up,
    non_negative,
    round_up,
    sqrt_up,
)
from dither.learn.centred import LENGTH
from dither.learn.linear.gradients import WIDTH, LossField
from dither.learn.noise_parts import shaped
from dither.learn.rows import Floats, into_ball
from dither.mechanisms.core import Numerics, Primitive
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.values import Domain
from dither.privacy import RECORDS, ApproxDP, Loss, Metric, PureDP

if TYPE_CHECKING:
    from dither.noise import Noise

#: How long the gradient at the weights found may be, the pull of one record being at most 1 long.
TOLERANCE: Final = Fraction(1, 2**14)
#: More records or weights, or another penalty, would leave errors of floats too near to the tolerance.
MOST_ROWS: Final = 2**20
MOST_WEIGHTS: Final = 2**9
LEAST_PENALTY: Final = Fraction(1, 4)
MOST_PENALTY: Final = Fraction(2**18)
#: How fast the pull of a record changes at most, per unit of its score.
BENDS: Final = {"logistic": Fraction(1, 4), "hinge": 1 / (2 * Fraction(WIDTH))}

#: Weights are whole numbers of steps of 2^-40; the lower half of their digits is multiplied by itself.
_BITS: Final = 40
_LOW_BITS: Final = 20
_EXACT_BELOW: Final = 2**58
#: The error of one pull, far above that of any library of mathematical functions, and of one rounding.
_FUNCTION_ERROR: Final = 2.0**-44
_ROUNDING: Final = 2.0**-52
_ROWS_AT_ONCE: Final = 2**12
_NEWTON_STEPS: Final = 60
#: An upper bound on the square root of 2 / pi.
_MILLS: Final = Fraction(7979, 10000)


class LinearTermField(Field[Any, "Gaussian | GammaNorm"]):
    """Noise of one real number, of which the linear term is made."""

    def convert(self, name: str, value: Any) -> Gaussian | GammaNorm:
        """Return the noise."""
        if not isinstance(value, Gaussian | GammaNorm) or value.shape != ():
            raise InvalidParameter(name, value, "Gaussian or GammaNorm noise of one number")
        return value


class FinishField(Field[Any, GammaNorm]):
    """Noise of one real number, of which that of the weights found is made."""

    def convert(self, name: str, value: Any) -> GammaNorm:
        """Return the noise."""
        if not isinstance(value, GammaNorm) or value.shape != ():
            raise InvalidParameter(name, value, "GammaNorm noise of one number")
        return value


@dataclass(frozen=True)
class Sides(Domain):
    """Records of whole numbers, at most 2^14 long, each with the side on which it should lie: 1, or 0."""

    width: int

    def admit(self, value: Any) -> Floats:
        """Return the records and sides; longer records are shortened, and every odd number has a meaning."""
        columns = self.width + 1
        right = isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim == 2
        if not (right and value.shape[1] == columns and len(value) <= MOST_ROWS):
            raise InvalidValue("value", value, f"at most {MOST_ROWS} rows of {columns} numbers: a record and its side")
        numbers = np.clip(np.nan_to_num(value.astype(np.float64), nan=0.0), -(2.0**24), 2.0**24)
        records = into_ball(np.rint(numbers[:, :-1]), LENGTH, LENGTH)
        return np.column_stack([records, numbers[:, -1] > 0.5])

    def __str__(self) -> str:
        return f"records of {self.width} whole numbers, each with a side"


@dataclass(frozen=True, kw_only=True)
class PerturbedMinimum(Primitive[Any, Any]):
    """Release weights near the minimum of a penalised loss with a random linear term, with a little noise on them.

    Guarantee: records of which ``d_in`` come or go lose ``d_in`` times ln(1 + bend / penalty), for the bend of the
    minimum; 1 / scale, for where it lies; and ``finish_moves`` / scale of ``finish``, for the distance from it. With a
    Gaussian linear term the second is z / sigma + 1 / (2 sigma^2), P[|N(0, 1)| > z] being at most ``delta``.

    Args:
        width: how many weights there are.
        loss_name: "logistic", or "hinge" for the rounded hinge of a support vector machine.
        penalty: the strength of half the squared length of the weights, records having length 1.
        part: Gaussian or GammaNorm noise of a coefficient of the linear term.
        delta: outside which the promise holds; 0 for GammaNorm noise.
        finish: GammaNorm noise of a weight.

    >>> noise = GammaNorm(scale=2, grid=TOLERANCE / 2)
    >>> float(PerturbedMinimum(width=2, loss_name="logistic", penalty=10, part=noise, finish=noise).loss(1).epsilon)
    0.524...

    """

    name: ClassVar[str] = "perturbed-minimum"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "how far a linear term moves a minimum depends on the records"
    no_interval_because: ClassVar[str] = "how far a linear term moves a minimum depends on the records"

    width: Whole = Whole(least=1, most=MOST_WEIGHTS)
    loss_name: LossField = LossField()
    penalty: Positive = Positive()
    part: LinearTermField = LinearTermField()
    delta: Probability = Probability(0)
    finish: FinishField = FinishField()

    def __post_init__(self) -> None:
        if not LEAST_PENALTY <= self.penalty <= MOST_PENALTY:
            raise InvalidParameter("penalty", str(self.penalty), f"between {LEAST_PENALTY} and {MOST_PENALTY}")
        if (self.delta > 0) != isinstance(self.part, Gaussian):
            raise InvalidParameter("delta", str(self.delta), "above 0 for Gaussian noise, and 0 for GammaNorm noise")
        scale, grid = _scale_and_grid(self.part)
        if not scale / 2**40 <= grid <= linear_grid(self.width):
            rule = f"on a grid of at most {linear_grid(self.width)}, and at least 2^-40 of its scale"
            raise InvalidParameter("part", self.part, rule)

    @property
    def distance(self) -> Metric:
        """Records that come or go."""
        return RECORDS

    @property
    def domain(self) -> Sides:
        """Records and their sides."""
        return Sides(self.width)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The weights."""
        return (self.width,)

    @cached_property
    def one_record(self) -> Loss:
        """The loss for one record."""
        fixed = bend_loss(self.loss_name, self.penalty) + finish_moves(self.penalty) / self.finish.width
        if isinstance(self.part, GammaNorm):
            return PureDP(fixed + 1 / self.part.width)
        return ApproxDP(fixed + gaussian_epsilon(self.part.sigma, self.delta), self.delta)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of one record, for as many as there are one after the other."""
        return self.one_record.group(math.floor(non_negative("d_in", d_in)))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.float64]:
        """Return independent draws."""
        rows = self.domain.admit(value)
        objective = Objective(rows[:, :-1], rows[:, -1], self.loss_name, self.penalty)
        linear, finish = shaped(self.part, self.width), shaped(self.finish, self.width)
        terms = linear.draw_many(np.zeros(self.width), count, noise)
        drawn = np.empty((count, self.width))
        for number, term in enumerate(terms.tolist()):
            drawn[number] = finish.draw_many(_as_numbers(objective.minimise(term)), 1, noise)[0]
        return drawn


def _scale_and_grid(part: Gaussian | GammaNorm) -> tuple[Fraction, Fraction]:
    return (part.width, part.step) if isinstance(part, GammaNorm) else (part.sigma, part.grid)


def linear_grid(width: int) -> Fraction:
    """Return a grid on which rounding the linear term moves it by no more than half the tolerance."""
    root = math.isqrt(width - 1) + 1
    return TOLERANCE / (1 << (root - 1).bit_length())


def bend_loss(loss_name: str, penalty: Fraction) -> Fraction:
    """Return what the bend of the minimum tells of a record: ln(1 + bend / penalty), rounded up to a short number."""
    return round_up(log_up(1 + BENDS[loss_name] / penalty), bits=20)


def finish_moves(penalty: Fraction) -> Fraction:
    """Return how far apart weights found from the same minimum are: each within 3/2 tolerances / penalty of it."""
    return 3 * TOLERANCE / penalty


@lru_cache(maxsize=64)
def normal_reach(delta: Fraction) -> Fraction:
    """Return z, in steps of 2^-10, with P[|N(0, 1)| > z] at most ``delta``: by e^(-z^2/2) times 1 or sqrt(2/pi) / z.

    >>> float(normal_reach(Fraction(1, 10**6)))
    4.899...
    """
    low, high = 0, 2**17
    while high - low > 1:
        middle = (low + high) // 2
        z = Fraction(middle, 2**10)
        low, high = (low, middle) if exp_up(-z * z / 2) * min(Fraction(1), _MILLS / z) <= delta else (middle, high)
    return Fraction(high, 2**10)


def gaussian_epsilon(sigma: Fraction, delta: Fraction) -> Fraction:
    """Return what a Gaussian linear term loses for one record, outside an event of probability ``delta``."""
    return normal_reach(delta) / sigma + 1 / (2 * sigma * sigma)


def gaussian_sigma_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least sigma for which ``gaussian_epsilon`` is at most ``epsilon``, or a little more."""
    z = normal_reach(delta)
    # epsilon s^2 - z s - 1/2 = 0.
    return round_up((z + sqrt_up(z * z + 2 * epsilon)) / (2 * epsilon), bits=64)


class Objective:
    """The penalised loss of private records, and where its sum with a linear term is least.

    Args:
        records: whole numbers, rows of length at most LENGTH.
        sides: 1 or 0 for each.
        loss_name: logistic or hinge.
        penalty: of half the squared length of the weights.

    """

    def __init__(self, records: Floats, sides: Floats, loss_name: str, penalty: Fraction) -> None:
        self._records, self._sides, self._penalty = records, sides, penalty
        self._short = records / LENGTH  # exact: a power of two
        self._pull: Callable[[Floats, Floats], tuple[Floats, Floats]] = _LOSSES[loss_name]
        count, width = records.shape
        self._limit = float(penalty) + float(BENDS[loss_name]) * count
        sums = (_ROWS_AT_ONCE + count / _ROWS_AT_ONCE + 4) * _ROUNDING
        self._error = 2 * count * (_FUNCTION_ERROR + sums) + width * _ROUNDING
        self._identity = np.eye(width)

    def minimise(self, term: list[float]) -> list[int]:
        """Return weights, in steps, at which the gradient is at most the tolerance long, errors included.

        Newton's method, each step shortened until the gradient is shorter or the objective lower; should it not
        arrive, gradient steps that must.

        Args:
            term: the coefficients of the linear term.

        """
        linear = [Fraction(coefficient) for coefficient in term]
        weights = [0] * len(linear)
        gradient, bends = self.gradient(weights, linear)
        for _ in range(_NEWTON_STEPS):
            if self._is_short(gradient):
                return weights
            hessian = (self._short * bends[:, None]).T @ self._short + float(self._penalty) * self._identity
            step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
            weights, gradient, bends = self._shorter_step(weights, linear, gradient, step)
        while not self._is_short(gradient):
            weights = _moved(weights, gradient / self._limit)
            gradient, bends = self.gradient(weights, linear)
        return weights

    def gradient(self, weights: list[int], linear: list[Fraction]) -> tuple[Floats, Floats]:
        """Return the gradient of loss, penalty and linear term, and how strongly the loss of each record bends."""
        pulls, bends = self._pull(self._scores(weights), self._sides)
        total = np.zeros(len(weights))
        for start in range(0, len(pulls), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            total = total + pulls[block] @ self._short[block]
        exact = zip(weights, linear, total.tolist(), strict=True)
        unit = self._penalty / 2**_BITS
        return np.array([float(unit * weight + shift + Fraction(pull)) for weight, shift, pull in exact]), bends

    def _scores(self, weights: list[int]) -> Floats:
        """Return the exact scores, each rounded once."""
        if sum(weight * weight for weight in weights) < _EXACT_BELOW**2:
            whole = np.array(weights, dtype=np.int64)
            high = self._records @ (whole >> _LOW_BITS).astype(np.float64)
            low = self._records @ (whole & (2**_LOW_BITS - 1)).astype(np.float64)
            scores: Floats = np.ldexp(high, _LOW_BITS - _BITS) + np.ldexp(low, -_BITS)
            return scores / LENGTH
        # A linear term so large that it never occurs; it must not raise all the same.
        rows = self._records.astype(np.int64).tolist()
        long = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rows]
        return np.array([float(Fraction(score, LENGTH * 2**_BITS)) for score in long])

    def _is_short(self, gradient: Floats) -> bool:
        return bool(np.linalg.norm(gradient) * (1 + 2.0**-30) + self._error <= float(TOLERANCE))

    def _shorter_step(
        self, weights: list[int], linear: list[Fraction], gradient: Floats, step: Floats
    ) -> tuple[list[int], Floats, Floats]:
        """Return weights after the longest of step, step / 2, ... after which the gradient is clearly shorter."""
        length = float(np.linalg.norm(gradient))
        for halvings in range(30):
            there = _moved(weights, step / 2**halvings)
            found, bends = self.gradient(there, linear)
            # Along a step that would end in the minimum of a parabola the gradient shrinks by its own share.
            if float(np.linalg.norm(found)) <= length * (1 - 0.25 / 2**halvings):
                return there, found, bends
        there = _moved(weights, gradient / self._limit)
        return there, *self.gradient(there, linear)


def _moved(weights: list[int], step: Floats) -> list[int]:
    return [weight - round(change * 2.0**_BITS) for weight, change in zip(weights, step.tolist(), strict=True)]


def _as_numbers(weights: list[int]) -> Any:
    """Return weights in units of 1: floats where these are exact, else rationals."""
    if all(abs(weight) < 2**53 for weight in weights):
        return np.array(weights, dtype=np.float64) / 2.0**_BITS
    return [Fraction(weight, 2**_BITS) for weight in weights]


def _logistic(scores: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of ln(1 + e^score) - side * score, once and twice."""
    chances = (1 + np.tanh(scores / 2)) / 2
    return chances - sides, chances * (1 - chances)


def _hinge(scores: Floats, sides: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of the rounded hinge: 0 beyond 1 + WIDTH on its own side, falling at 1 below 1 - WIDTH."""
    signs = 2 * sides - 1
    behind = (1 + WIDTH - signs * scores) / (2 * WIDTH)
    return -signs * np.clip(behind, 0.0, 1.0), np.where((behind > 0) & (behind < 1), 1 / (2 * WIDTH), 0.0)


_LOSSES: Final = {"logistic": _logistic, "hinge": _hinge}
