"""A perturbed minimum: an approximate minimiser of a penalised loss with a random linear term.

Noise in the objective hides a record twice: in where the minimum lies, and in how sharply it is bent. What is computed
is not the minimum itself, but weights at which the gradient is known to be short; a little noise on them hides how far
from the minimum they are. So the promise is about what is released, not about an ideal. The number of records occurs
nowhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import (
    Number,
    Of,
    OneOf,
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
from dither.learn.linear.gradients import LOSSES
from dither.learn.linear.penalised import BENDS, LEAST_PENALTY, TOLERANCE, PenalisedLoss
from dither.learn.noise_parts import OneReal, shaped
from dither.learn.rows import Floats, into_ball
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.values import Domain
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gaussian import Gaussian
from dither.privacy import RECORDS, ApproxDP, Loss, Metric, PureDP

if TYPE_CHECKING:
    from dither.noise import Noise

MOST_WEIGHTS: Final = 2**9
MOST_PENALTY: Final = Fraction(2**18)
#: An upper bound on the square root of 2 / pi.
_MILLS: Final = Fraction(7979, 10000)


@dataclass(frozen=True)
class Sides(Domain):
    """Integer records, at most 2^14 long, each with the side on which it should lie: 1, or 0."""

    width: int

    def admit(self, value: Any) -> Floats:
        """Return the records and sides; longer records are shortened, and every odd number has a meaning."""
        columns = self.width + 1
        right = isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim == 2
        if not (right and value.shape[1] == columns):
            raise InvalidValue("value", value, f"rows of {columns} numbers: a record and its side")
        numbers = np.clip(np.nan_to_num(value.astype(np.float64), nan=0.0), -(2.0**24), 2.0**24)
        records = into_ball(np.rint(numbers[:, :-1]), LENGTH, LENGTH)
        return np.column_stack([records, numbers[:, -1] > 0.5])

    def __str__(self) -> str:
        return f"records of {self.width} integers, each with a side"


@dataclass(frozen=True, kw_only=True)
class PerturbedMinimum(Primitive[Any, Any]):
    """Release weights near the minimum of a penalised loss with a random linear term, with a little noise on them.

    Guarantee: records of which ``d_in`` come or go lose ``d_in`` times ln(1 + bend / penalty), for the bend of the
    minimum; 1 / scale, for where it lies; and ``finish_moves`` / scale of ``finish``, for the distance from it. With a
    Gaussian linear term the second is z / sigma + 1 / (2 sigma^2), P[|N(0, 1)| > z] being at most ``delta``.

    Args:
        width: the number of weights.
        loss_name: "logistic", or "hinge" for the rounded hinge of a support vector machine.
        penalty: the strength of half the squared length of the weights, records having length 1.
        part: Gaussian or GammaNorm noise of a coefficient of the linear term.
        delta: the probability that the epsilon bound may be exceeded; 0 for GammaNorm noise.
        finish: GammaNorm noise of a weight.

    >>> noise = GammaNorm(scale=2, grid=TOLERANCE / 2)
    >>> float(PerturbedMinimum(width=2, loss_name="logistic", penalty=10, part=noise, finish=noise).loss(1).epsilon)
    0.524...

    """

    name: ClassVar[str] = "perturbed-minimum"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "the effect of a linear term on a minimum depends on the records"
    no_interval_because: ClassVar[str] = "the effect of a linear term on a minimum depends on the records"

    width: Whole = Whole(least=1, most=MOST_WEIGHTS)
    loss_name: OneOf = OneOf(*LOSSES)
    penalty: Positive = Positive()
    part: OneReal = OneReal()
    delta: Probability = Probability(0)
    finish: Of[GammaNorm] = Of(GammaNorm, shape=())

    def __post_init__(self) -> None:
        if not LEAST_PENALTY <= self.penalty <= MOST_PENALTY:
            raise InvalidParameter("penalty", str(self.penalty), f"between {LEAST_PENALTY} and {MOST_PENALTY}")
        if (self.delta > 0) != isinstance(self.part, Gaussian):
            raise InvalidParameter("delta", str(self.delta), "above 0 for Gaussian noise, and 0 for GammaNorm noise")
        scale, grid = _scale_and_grid(self.part)
        if not (scale / 2**40 <= grid <= linear_grid(self.width) and _is_power_of_two(grid)):
            rule = f"on a grid of at most {linear_grid(self.width)}, a power of 2, and at least 2^-40 of its scale"
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
        """Return the loss for a group of ``d_in`` records."""
        return self.one_record.group(math.floor(non_negative("d_in", d_in)))

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.float64]:
        """Return independent draws."""
        rows = self.domain.admit(value)
        loss = PenalisedLoss(rows[:, :-1], rows[:, -1], self.loss_name, self.penalty)
        linear, finish = shaped(self.part, self.width), shaped(self.finish, self.width)
        terms = linear.draw_many(np.zeros(self.width), count, noise)
        drawn = np.empty((count, self.width))
        for number, term in enumerate(terms.tolist()):
            drawn[number] = finish.draw_many(loss.minimise(term).numbers(self.penalty), 1, noise)[0]
        return drawn


def _is_power_of_two(grid: Fraction) -> bool:
    """Whether sums of steps of a grid are exact as floats, up to 2^53 steps."""
    return all(part & (part - 1) == 0 for part in (grid.numerator, grid.denominator))


def _scale_and_grid(part: Gaussian | GammaNorm) -> tuple[Fraction, Fraction]:
    return (part.width, part.step) if isinstance(part, GammaNorm) else (part.sigma, part.grid)


def linear_grid(width: int) -> Fraction:
    """Return a grid on which rounding moves the linear term by at most half the tolerance."""
    root = math.isqrt(width - 1) + 1
    return TOLERANCE / (1 << (root - 1).bit_length())


def bend_loss(loss_name: str, penalty: Fraction) -> Fraction:
    """Return what the curvature of the minimum loses for one record: ln(1 + bend / penalty), rounded up."""
    return round_up(log_up(1 + BENDS[loss_name] / penalty), bits=20)


def finish_moves(penalty: Fraction) -> Fraction:
    """Return how far apart weights found from the same minimum can be: each within 2 tolerances / penalty of it."""
    return 4 * TOLERANCE / penalty


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
    """Return the loss of a Gaussian linear term for one record, outside an event of probability ``delta``."""
    return normal_reach(delta) / sigma + 1 / (2 * sigma * sigma)


def gaussian_sigma_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least sigma for which ``gaussian_epsilon`` is at most ``epsilon``, rounded up."""
    z = normal_reach(delta)
    # epsilon s^2 - z s - 1/2 = 0.
    return round_up((z + sqrt_up(z * z + 2 * epsilon)) / (2 * epsilon), bits=64)
