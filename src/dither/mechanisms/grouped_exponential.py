"""The grouped exponential mechanism: blocks of candidates with the same score are drawn as one.

For choosing among very many candidates of which most have the same score, such as the floor to which small scores are
raised: the price is that of the exponential mechanism over all of them, the work that of the blocks. Cost: one pass
over the blocks, however many candidates they stand for. Correction: a block must weigh as many times as it has members;
the textbook's prose drops that factor, its formula has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, TupleOf, Whole, probability
from dither.mechanisms.core.candidates import Choice
from dither.mechanisms.core.mechanism import Bound, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.noise import Noise
from dither.noise.blocks import LARGEST_MULTIPLICITY
from dither.privacy import Loss, PureDP

_LARGEST_INT64 = 2**63 - 1


def _examples() -> Iterator[Example]:
    yield Example(GroupedExponential(candidates=3, scale=2, multiplicities=(1, 1, 4)), np.array([4, 6, 1]))
    yield Example(GroupedExponential(candidates=2, scale=1, multiplicities=(1, 3), one_way=True), np.array([2, 0]))
    yield Example(
        GroupedExponential(candidates=2, scale="0.5", grid="0.125", multiplicities=(2, 1)), np.array([0.1, 0.3])
    )


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), sections 6.1.2 and 10.4.2",
    made_for={"multiplicities": (1, 2)},
)
@dataclass(frozen=True, kw_only=True)
class GroupedExponential(Choice):
    """Choose one of many candidates, given in blocks of equal score, with weights proportional to e^(score / scale).

    Guarantee: scores of blocks ``d_in`` apart lose epsilon = ``2 d_in / scale`` (``d_in / scale`` with ``one_way``) and
    rho = epsilon^2 / 8, whatever the sizes of the blocks; float scores pay for their grid and error as well.

    Releases the number of a block and the number of one of its members, all equally likely.

    Args:
        candidates: how many blocks there are; public, as are the candidates in each.
        multiplicities: how many members each block has.

    >>> GroupedExponential(candidates=3, scale=2, multiplicities=(1, 1, 10**30)).loss(1)
    PureDP('1', rho='1/8')
    >>> print(GroupedExponential(candidates=2, scale=2, multiplicities=(1, 999)).error(0.95))
    the gap between the best score and that of the chosen candidate is at most 19.807 with probability 0.95

    """

    name: ClassVar[str] = "grouped-exponential"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    multiplicities: TupleOf = TupleOf(
        Whole(least=1, most=LARGEST_MULTIPLICITY), rule="a tuple, with an integer of at least 1 for each block"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.multiplicities) != self.candidates:
            raise InvalidParameter("multiplicities", self.multiplicities, f"one for each of {self.candidates} blocks")

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """A block and one of its members."""
        return (2,)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return epsilon = spread / scale and rho = epsilon^2 / 8: those of the exponential mechanism."""
        epsilon = self.epsilon_of_one(d_in)
        return PureDP(epsilon, rho=epsilon**2 / 8)

    def error(self, confidence: Number) -> Bound:
        """Return the gap to the best score: scale * ln(all members / failure), plus the rounding error."""
        wanted = probability("confidence", confidence, open_below=True)
        # The bound divides the failure by the number of blocks; there are as many candidates as all members.
        each = super().error(1 - (1 - wanted) * self.candidates / sum(self.multiplicities))
        return replace(each, confidence=wanted)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[Any]:
        """Return independent pairs of a block and a member."""
        blocks = noise.select_block(self.steps(value), self.multiplicities, self.rate, count)
        drawn = np.zeros((count, 2), dtype=np.int64 if max(self.multiplicities) <= _LARGEST_INT64 else object)
        drawn[:, 0] = blocks
        for block in np.unique(blocks).tolist():
            rows = np.flatnonzero(blocks == block)
            drawn[rows, 1] = noise.uniform_below(self.multiplicities[block], rows.size)
        return drawn
