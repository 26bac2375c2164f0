"""The generalised exponential mechanism: candidates whose scores have different sensitivities.

For choosing where a few candidates have scores that one person can move far: at the exponential mechanism's price for
the worst of them, all would drown. Here a candidate is measured against each other one in units of both sensitivities,
and the answer is as good as the best candidate's own sensitivity allows. Cost: one pass over the candidates for each
different sensitivity. Everything is computed in integers; the public step of the normalised scores costs nothing
at whole distances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import NonNegative, Number, Positive, TupleOf, Whole, non_negative, probability, to_float
from dither.mechanisms.core.accuracy import laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Bound, Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.noise import Noise
from dither.privacy import Loss, Metric, PureDP, calibrate
from dither.privacy.calibration import check_loss


def _examples() -> Iterator[Example]:
    yield Example(
        GeneralisedExponential(sensitivities=(1, 1, 3), scale=2, penalty=2),
        np.array([4, 2, 9]),
        neighbours=(
            (np.array([4, 2, 9]), np.array([5, 1, 6]), 1),
            (np.array([0, 0, 0]), np.array([-1, 1, 3]), 1),
        ),
    )
    yield Example(
        GeneralisedExponential(sensitivities=(1, "3/2"), scale="1/2", penalty=0, steps=1),
        np.array([0, 1]),
        neighbours=((np.array([0, 1]), np.array([2, -2]), 2),),
    )


class RelativeChange(Metric):
    """The largest change of a score, each in units of its own public sensitivity."""

    def __init__(self, sensitivities: tuple[Fraction, ...]) -> None:
        super().__init__("RELATIVE", "the largest change of a score, each divided by its own sensitivity")
        self.sensitivities = sensitivities

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the largest ratio of a change to its sensitivity."""
        here, there = (np.asarray(scores, dtype=object).ravel().tolist() for scores in (first, second))
        if not len(here) == len(there) == len(self.sensitivities):
            return None
        changes = (Fraction(int(a) - int(b)) for a, b in zip(here, there, strict=True))
        return max(abs(change) / unit for change, unit in zip(changes, self.sensitivities, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RelativeChange) and self.sensitivities == other.sensitivities

    def __hash__(self) -> int:
        return hash(self.sensitivities)


@register(
    examples=_examples,
    source="Lipschitz Extensions for Node-Private Graph Statistics and the Generalized Exponential Mechanism "
    "(Raskhodnikova, Smith 2016)",
)
@dataclass(frozen=True, kw_only=True)
class GeneralisedExponential(Primitive[Any, Any]):
    """Choose a candidate by its score, where every score has its own public sensitivity.

    Guarantee: scores of which each moves by at most ``d_in`` times its sensitivity lose epsilon = ``2 d_in / scale``,
    with ``d_in`` rounded up to whole ``1 / steps``, and rho = epsilon^2 / 8.

    With q the scores, D the sensitivities and t the penalty, candidate i has the normalised score
    s_i = min over j of ((q_i - t D_i) - (q_j - t D_j)) / (D_i + D_j), rounded down to whole ``1 / steps``, and is
    chosen with probability proportional to e^(s_i / scale).

    Args:
        sensitivities: how far each score moves per unit of distance; public, one for each candidate.
        scale: how much larger a normalised score must be to be e times as likely.
        penalty: how many of its sensitivities a candidate is set back; ``calibrated`` gives the one of the source.
        steps: how many steps of the normalised score there are to one.

    >>> GeneralisedExponential(sensitivities=(1, 1, 100), scale=2, penalty=8).loss(1)
    PureDP('1', rho='1/8')

    """

    name: ClassVar[str] = "generalised-exponential"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "the released candidate says nothing about its score"

    sensitivities: TupleOf = TupleOf(Positive(), rule="a tuple of numbers above 0, one for each candidate")
    scale: Positive = Positive()
    penalty: NonNegative = NonNegative()
    steps: Whole = Whole(2**20, least=1, most=2**40)

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivities: Sequence[Number], failure: Number = "1/20", steps: int = 2**20
    ) -> GeneralisedExponential:
        """Return the sharpest choice whose loss at distance 1 is within ``within``.

        Args:
            within: the loss not to exceed.
            sensitivities: how far each score moves per unit of data.
            failure: the penalty is the one that makes the gap least at this probability of failing.
            steps: how many steps of the normalised score there are to one.

        """
        check_loss(within)
        missed = probability("failure", failure, open_below=True)

        def build(scale: Fraction) -> GeneralisedExponential:
            plain = cls(sensitivities=sensitivities, scale=scale, penalty=0, steps=steps)
            reach = math.log(len(plain.sensitivities) / missed)
            penalty = scale * Fraction(math.ceil(reach * 10**6), 10**6)
            return cls(sensitivities=plain.sensitivities, scale=scale, penalty=penalty, steps=steps)

        if within.pure:
            sharpest = build(2 / within.pure)
            if sharpest.loss(1) <= within:
                return sharpest
        # The rho decides.
        return calibrate(build, within, d_in=1)

    @property
    def distance(self) -> Metric:
        """The largest change of a score in units of its sensitivity."""
        return RelativeChange(self.sensitivities)

    @property
    def domain(self) -> IntegerArray:
        """One integer score for each candidate."""
        return IntegerArray((len(self.sensitivities),))

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = 2 d_in / scale, the distance rounded up to whole steps, and rho = epsilon^2 / 8."""
        moved = math.ceil(non_negative("d_in", d_in) * self.steps)
        epsilon = Fraction(2 * moved, self.steps) / self.scale
        return PureDP(epsilon, rho=epsilon**2 / 8)

    def error(self, confidence: Number) -> Bound:
        """Return how far any candidate's score exceeds the chosen one's, in units of that candidate's sensitivity."""
        wanted = probability("confidence", confidence, open_below=True)
        behind = laplace_reach(self.scale, share_of_failure(wanted, len(self.sensitivities)))
        penalty, spread = to_float(self.penalty, "up"), max(self.sensitivities) / min(self.sensitivities)
        # Behind by more than the penalty, the chosen candidate's own sensitivity counts as well.
        own = max(0.0, behind - to_float(self.penalty, "down")) * to_float(spread, "up")
        return Bound(
            penalty + behind + own, wanted, "the lead of any candidate over the chosen one, divided by its sensitivity,"
        )

    def normalised(self, scores: Any) -> NDArray[np.int64]:
        """Return the normalised scores in integer steps, rounded down; the largest is 0."""
        given = self.domain.admit(scores).astype(object)
        share = math.lcm(*(unit.denominator for unit in self.sensitivities))
        units = np.array([int(unit * share) for unit in self.sensitivities], dtype=object)
        top, bottom = self.penalty.numerator, self.penalty.denominator
        least: NDArray[Any] = np.zeros(len(given), dtype=object)
        # Among candidates of one sensitivity only the best matters to the others.
        for unit in sorted(set(units.tolist())):
            best = max(given[units == unit].tolist())
            lead = bottom * share * (given - best) - top * (units - unit)
            against = (self.steps * lead) // (bottom * (units + unit))
            least = np.minimum(least, against)
        rounded: NDArray[np.int64] = np.clip(least, -LARGEST_VALUE, 0).astype(np.int64)
        return rounded

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent choices."""
        return noise.select(self.normalised(value), 1 / (self.steps * self.scale), count)
