"""A vector of signs for several numbers of one person, all at the price of one (Duchi).

For the means of several numbers where all of them come from everybody. Cost: a coin for each number; the report is a
bit for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, TupleOf, Whole
from dither.local.clients.attributes import Signs
from dither.local.clients.half import Half
from dither.local.numbers.means import Floats, Means, NumberRandomiser, Tally, bit_means, level_of
from dither.local.weights import largest_weight
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.privacy import Loss, PureDP


def _examples() -> Iterator[Example]:
    yield Example(SignVector(places=(2, 3), agree=3, bits=2), 0)
    yield Example(SignVector.calibrated(PureDP(1), places=(3, 2, 2)), 5)


@register(
    examples=_examples,
    source="Minimax Optimal Procedures for Locally Private Estimation (Duchi, Jordan, Wainwright 2018), section 4.2.3",
    tasks={"local": "For the means of several numbers of each person."},
    made_for={"places": (3, 3)},
    takes="pure",
)
@dataclass(frozen=True, kw_only=True)
class SignVector(NumberRandomiser):
    """Report a sign for each number: a vector that agrees with most of them, or with few.

    Guarantee: any two combinations of numbers lose the logarithm of ``agree / (2^bits - agree)``, rounded up.

    Args:
        places: how many values each number has.
        agree: the weight of agreement.
        bits: the weights of both sides add up to 2 to this power.

    >>> law = SignVector.calibrated(PureDP(1), places=(101, 101, 11))
    >>> print(law.loss(1))
    epsilon = 1

    """

    name: ClassVar[str] = "sign-vector"
    version: ClassVar[int] = 1
    half_type: ClassVar[type[Half]] = Signs

    places: TupleOf = TupleOf(
        Whole(least=2, most=2**24), most=62, rule="the number of values of each of up to 62 numbers"
    )
    agree: Whole = Whole(least=1, most=2**32 - 1)
    bits: Whole = Whole(32, least=1, most=32)

    def __post_init__(self) -> None:
        """Refuse weights that the client half refuses."""
        _ = self.half

    @classmethod
    def calibrated(cls, within: Loss, *, places: tuple[int, ...], bits: int = 32) -> Self:
        """Return the vector that agrees most often with a loss within a target."""
        agree = largest_weight(lambda weight: Fraction(weight, 2**bits - weight), within, bits)
        return cls(places=places, agree=agree, bits=bits)

    @property
    def lean(self) -> Fraction:
        """The probability of a 1 under the largest value of a number, less that under the smallest."""
        count = len(self.places)
        # How often one sign decides which side a uniform vector is on; a tie, for an even count, decides half of it.
        decides = Fraction(math.comb(count - 1, count // 2), 2 ** (count - 1))
        return Fraction(2 * self.agree - 2**self.bits, 2**self.bits) * decides

    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one vector for each combination."""
        signs = np.empty((len(cells), len(self.places)), dtype=np.int64)
        rest = cells
        for column, places in enumerate(self.places):
            rest, value = np.divmod(rest, places)
            signs[:, column] = noise.uniform_below(places - 1, len(cells)) < value
        agrees = noise.uniform_below(2**self.bits, len(cells)) < self.agree
        drawn = noise.uniform_below(2, signs.size).reshape(signs.shape)
        balance = 2 * (signs == drawn).sum(axis=1) - signs.shape[1]
        turned = np.where(agrees, balance < 0, balance > 0)
        return np.asarray(drawn ^ turned[:, None]).astype(np.int64).reshape(len(cells), *self.draw_shape)

    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return how many reports there are, and how many 1s for each number."""
        return np.array([len(reports), *reports.reshape(len(reports), len(self.places)).sum(axis=0)], dtype=np.int64)

    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the mean of each number."""
        places = np.array(self.places, dtype=np.float64)
        lean = float(self.lean)
        counts = np.full(len(places), tally[0])
        low = np.full(len(places), (1 - lean) / 2)
        return bit_means(tally[1:], counts, low, lean / (places - 1), places, level_of(confidence))

    def variances(self, cells: NDArray[np.int64]) -> Floats:
        """Return those of a coin for each number, in its cells."""
        found, rest, lean = [], cells, float(self.lean)
        for places in self.places:
            rest, value = np.divmod(rest, places)
            chance = (1 - lean) / 2 + lean * value / (places - 1)
            found.append(chance * (1 - chance) * ((places - 1) / lean) ** 2)
        return np.stack(found, axis=-1)
