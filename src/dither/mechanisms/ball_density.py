"""The density of the exponential mechanism over a ball of weights, drawn from directly: the draw of a parameter ball.

For records of up to four integers. *Idealised*: the proof is over the reals. Cost: a pass over the records for each box
of an envelope, of which there are tens to tens of thousands, more with columns and where records agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Number, Positive, Whole, non_negative
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import Domain, integers
from dither.mechanisms.tangent_envelope import Envelope, Floats
from dither.noise import Noise
from dither.privacy import RECORDS, Loss, Metric, PureDP

MOST_WIDTH: Final = 4
#: The integers of a record of length 1 have this length.
LENGTH: Final = 2**14
#: Drawn weights are integer multiples of 2^-20.
STEPS: Final = 2**20
#: How long the weights of records of length 1 may be.
MOST_RADIUS: Final = 2**8
#: So that f stays where floats tell its values apart.
LEAST_SCALE: Final = Fraction(1, 2**10)
SOURCE: Final = (
    "Differentially Private Empirical Risk Minimization: Efficient Algorithms and Tight Error Bounds (Bassily, Smith, "
    "Thakurta 2014), section 3; Differential Privacy and Applications (Zhu et al. 2017), section 6.2.2"
)


@dataclass(frozen=True)
class WholeRecords(Domain):
    """Any number of records of integers, one a row, each of length LENGTH at most."""

    width: int

    def admit(self, value: Any) -> Floats:
        """Return the records; a longer one is shortened."""
        is_table = isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == self.width
        if not (is_table and value.dtype.kind in "iu"):
            raise InvalidValue("value", value, f"an array of integers, {self.width} a row")
        whole = np.clip(integers(value), -(2**20), 2**20).astype(np.float64)
        lengths = np.sqrt(np.add.reduce(whole * whole, axis=1))
        short: Floats = np.trunc(whole * (LENGTH / np.maximum(lengths, LENGTH))[:, None])
        return short

    def __str__(self) -> str:
        return f"records of {self.width} integers"


def _density_examples() -> Iterator[Example]:
    records = np.array([[LENGTH, 0, 0, 0], [0, -LENGTH, 0, 0], [5000, 5000, 5000, -5000]])
    others = ((records, records[1:], 1), (records, np.vstack([records, [0, 0, 0, LENGTH]]), 1))
    yield Example(BallDensity(width=4, radius=2, scale=4), records, others)


@register(examples=_density_examples, source=SOURCE, reference=True)
@dataclass(frozen=True, kw_only=True)
class BallDensity(Primitive[Any, NDArray[np.float64]]):
    """Draw weights from a ball, with density proportional to e^(-loss / scale) for the logistic loss of all records.

    Weights are rounded to multiples of 2^-20.

    Guarantee: over the reals, data ``d_in`` records apart loses epsilon = ``d_in * radius / scale``. Idealised.

    Args:
        width: the number of integers of a record; a record of length LENGTH counts as one of length 1.
        radius: the length of the longest weights.
        scale: how much less the loss must be for weights to be e times as likely.

    >>> BallDensity(width=3, radius=8, scale=16).loss(1)
    PureDP('1/2')

    """

    name: ClassVar[str] = "ball-density"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.IDEALISED
    no_error_because: ClassVar[str] = "how far drawn weights are from the best depends on how sharply records tell them"
    no_interval_because: ClassVar[str] = "drawn weights say nothing about where the best ones lie"

    width: Whole = Whole(least=1, most=MOST_WIDTH)
    radius: Positive = Positive(most=MOST_RADIUS)
    scale: Positive = Positive(most=2**60)

    def __post_init__(self) -> None:
        if self.scale < LEAST_SCALE:
            raise InvalidParameter("scale", str(self.scale), f"at least {LEAST_SCALE}")

    @property
    def distance(self) -> Metric:
        """The number of records that are in one collection and not in the other."""
        return RECORDS

    @property
    def domain(self) -> WholeRecords:
        """Any number of records."""
        return WholeRecords(self.width)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """One weight for each integer of a record."""
        return (self.width,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss for collections ``d_in`` records apart."""
        return PureDP(non_negative("d_in", d_in) * self.radius / self.scale)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.float64]:
        """Return points of the ball, one a row, each number rounded to the public grid."""
        envelope = Envelope(self.domain.admit(value) / LENGTH, float(self.radius), float(self.scale))
        drawn = np.array([envelope.draw(noise) for _ in range(count)]).reshape(count, self.width)
        # The last digits of floats tell on which of them an operation was made.
        rounded: Floats = np.rint(drawn * STEPS) / STEPS
        return rounded
