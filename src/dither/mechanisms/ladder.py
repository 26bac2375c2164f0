"""The ladder mechanism: noise of steps, whose widths follow how far the value may move here and around.

For counts whose worst case is far from the data at hand and that have integer values: subgraphs, for instance. It is
the exponential mechanism over all integers: the score of an integer is minus the rung on which it lies, and a value
and its ladder change no score by more than 1. Tails are light, and there is no delta. Cost: linear in the rungs.
Correction: rungs are centred at the value, and the first one is a share of its width that falls with epsilon, where the
printed ladder gives the value a rung of its own and then whole widths: at the same loss the error is smaller at every
epsilon, and vanishes as epsilon grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Positive, Whole, exp_up, non_negative
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import Loss, Metric, PureDP

#: Rungs times the largest width stay below this, so that places are 64-bit integers.
_FARTHEST = 2**60
#: Scales for which the sampler is proved.
LEAST_SCALE, LARGEST_SCALE = Fraction(1, 2**30), 2**30
#: Shares of a width are multiples of 2^-40. From this exponent on the best share is less than that.
_SHARE_BITS, _STEEP = 40, 28


class LadderPairs(Metric):
    """The least d such that whatever lies within t rungs of one input lies within t + d rungs of the other.

    Args:
        rungs: how many widths an input has.
        most: the last width.
        share: how much of its width a rung reaches beyond all widths before it, in parts of 2^-40.

    >>> metric = LadderPairs(3, 8, 2**38)
    >>> metric.measure([10, 2, 3, 8], [12, 2, 3, 8]), metric.measure([10, 2, 3, 8], [15, 2, 3, 8])
    (Fraction(1, 1), Fraction(2, 1))

    """

    def __init__(self, rungs: int, most: int, share: int) -> None:
        super().__init__("LADDER", "the rungs by which any integer lies farther from one input than from the other")
        self._rungs, self._most, self._share = rungs, most, share

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the least such d; None for inputs of another shape."""
        shapes = np.shape(first), np.shape(second)
        if shapes != ((self._rungs + 1,),) * 2:
            return None
        inputs = [_centre_and_ends(np.asarray(each), self._most, self._share) for each in (first, second)]
        apart = abs(inputs[0][0] - inputs[1][0])
        ends = [each for _, each in inputs]
        if not apart and (ends[0] == ends[1]).all():
            return Fraction(0)
        return Fraction(max(self._behind(apart, *ends), self._behind(apart, *ends[::-1])))

    def _behind(self, apart: int, here: NDArray[Any], there: NDArray[Any]) -> int:
        """Return the least d such that apart + here[t] is at most there[t + d] for all t."""
        farthest = 0
        # From the last listed rung on both sides grow alike, by the largest width.
        for place, end in enumerate(here.tolist()):
            wanted = apart + end
            if wanted <= int(there[-1]):
                rung = int(np.searchsorted(there, wanted))
            else:
                rung = self._rungs - (int(there[-1]) - wanted) // self._most
            farthest = max(farthest, rung - place)
        return farthest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LadderPairs) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[int, int, int]:
        return self._rungs, self._most, self._share


def best_share(scale: Fraction) -> int:
    """Return 1 / (1 + e^(1 / (2 scale))) in parts of 2^-40, rounded down, and at least 1.

    >>> best_share(Fraction(2**20)) / 2**40, best_share(Fraction(1, 100))
    (0.49999..., 1)
    """
    steep = 1 / (2 * Fraction(scale))
    if steep >= _STEEP:
        return 1
    return max(int(2**_SHARE_BITS / (1 + exp_up(steep))), 1)


def reached(widths: NDArray[np.int64], share: int) -> NDArray[np.int64]:
    """Return how far rungs of these widths reach beyond all widths before them: ceil(share * width / 2^40) - 1.

    Args:
        widths: at least 1.
        share: from 1 to 2^39, which is half.

    """
    return np.asarray(-(-widths.astype(object) * share >> _SHARE_BITS) - 1, dtype=np.int64)


def _centre_and_ends(given: NDArray[Any], most: int, share: int) -> tuple[int, NDArray[np.int64]]:
    """Return the centre, and how far each rung reaches from it: for one rung more than widths are given.

    Widths are cut to the range from 1 to ``most`` and never fall; the last is ``most``, as are all further ones.
    """
    widths = np.maximum.accumulate(np.clip(given[1:], 1, most)).astype(np.int64)
    widths[-1] = most
    beyond = reached(np.append(widths, most), share)
    return int(given[0]), beyond + np.concatenate([[0], np.cumsum(widths)])


def _examples() -> Iterator[Example]:
    wide = np.array([7, 1, 2, 4])
    grown = (np.array([3, 2, 3, 3]), np.array([4, 1, 2, 4]), 1)
    yield Example(Ladder(rungs=3, most=4, scale=2), wide, (grown, (grown[1], grown[0], 1)))
    yield Example(Ladder(rungs=2, most=1, scale="1/2"), np.array([0, 0, 1]))


@register(
    examples=_examples,
    source="Private Release of Graph Statistics using Ladder Functions (Zhang, Cormode, Procopiuc, Srivastava, Xiao "
    "2015), sections 3 and 4; Differential Privacy and Applications (Zhu et al. 2017), sections 4.4.1 and 9.3.2",
)
@dataclass(frozen=True, kw_only=True)
class Ladder(Primitive[Any, Any]):
    """Choose an integer near a value with weight e^(-t / scale), where t is its rung on the value's ladder.

    The input is the value, followed by the widths of its rungs: how far the value may move here, one change away, two
    changes away, and so on. The widths are private.

    Guarantee: inputs ``d_in`` apart lose epsilon = ``2 d_in / scale`` and rho = epsilon^2 / 8. Neighbouring data give
    inputs 1 apart if the value moves by at most the first width of either, and each width is at most the next one of
    the other.

    Args:
        rungs: how many widths are given; public.
        most: the width of the last rung and all further ones: how far the value may move at all; public.
        scale: how slowly rungs lose weight.

    >>> Ladder(rungs=100, most=98, scale=2).loss(1)
    PureDP('1', rho='1/8')

    """

    name: ClassVar[str] = "ladder"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the widths of the rungs are private"
    no_interval_because: ClassVar[str] = "the widths of the rungs are private, and not released"

    rungs: Whole = Whole(least=1, most=2**25)
    most: Whole = Whole(least=1, most=2**59)
    scale: Positive = Positive(least=LEAST_SCALE, most=LARGEST_SCALE)

    def __post_init__(self) -> None:
        if self.rungs * self.most >= _FARTHEST:
            raise InvalidParameter("most", self.most, f"below 2^60 / {self.rungs}, the number of rungs")

    @classmethod
    def calibrated(cls, within: Loss, *, rungs: int, most: int) -> Self:
        """Return the ladder that loses at most ``within`` for neighbours.

        Args:
            within: what neighbours may lose.
            rungs: how many widths are given.
            most: the width of the last one.

        """
        made = cls(rungs=rungs, most=most, scale=Purse.within(within).choice())
        if not made.loss(1) <= within:
            raise NoGuarantee(f"no ladder reaches {within}")
        return made

    @property
    def distance(self) -> Metric:
        """The rungs by which any integer lies farther from one input than from the other."""
        return LadderPairs(self.rungs, self.most, self.share)

    @property
    def share(self) -> int:
        """How much of its width a rung reaches beyond all widths before it, in parts of 2^-40; public."""
        return best_share(self.scale)

    @property
    def domain(self) -> IntegerArray:
        """The value and the widths; a width out of range is the nearest one in range, and widths never fall."""
        return IntegerArray((self.rungs + 1,))

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = 2 d_in / scale and rho = epsilon^2 / 8: no score moves by more than d_in."""
        epsilon = 2 * non_negative("d_in", d_in) / self.scale
        return PureDP(epsilon, rho=epsilon**2 / 8)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return independent integers around the value."""
        centre, ends = _centre_and_ends(self.domain.admit(value), self.most, self.share)
        return saturating_sum(np.full(count, centre, dtype=np.int64), noise.ladder(ends, 1 / self.scale, count))
