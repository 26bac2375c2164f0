"""How many nodes have which degree, where nodes are protected, with a bound on degrees that is chosen privately.

First a bound is chosen by how many nodes stand out above it. A convex programme cuts the degrees to it, and the numbers
of nodes of degree at most j are released for few j that grow geometrically: a node crosses few of them, so together
they move by little more than the bound, and not by twice as much. A smooth curve through them takes most of the noise
away. Cost: two maximum flows for each j, on the edges of nodes above the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import isotonic
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import InOrder, Loss, Plan, Use
from dither.publish.graphs.degree_flow import nodes_above
from dither.publish.graphs.examples import NODES, SOME_EDGES, node_neighbours
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.graphs.standing_out import STEPS, UNIT, BoundChosen, Split

#: What of a loss the choice of the bound gets.
_SHARE: Final = Fraction(1, 10)
#: How many degrees are asked for while the degree doubles.
_OCTAVE: Final = 4
#: A curve is expected to bend by this share of all nodes, over this number of doublings of the degree.
_BEND, _REACH = 0.6, 2.0


def _examples() -> Iterator[Example]:
    made = ChosenDegrees(
        nodes=NODES, bounds=(1, 2, 4), penalties=(0, 10, 30), choice_scale=2, noise=Geometric(scale=2 * UNIT)
    )
    yield Example(made, SOME_EDGES, node_neighbours())


def knots(bound: int) -> tuple[int, ...]:
    """Return the degrees below a bound for which nodes are counted.

    >>> knots(1), knots(16)
    ((0,), (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13))
    """
    steps = (round(2 ** (step / _OCTAVE)) for step in range(_OCTAVE * bound.bit_length()))
    return tuple(sorted({degree for degree in (0, *steps) if degree < bound}))


@register(
    examples=_examples,
    source="Lipschitz Extensions for Node-Private Graph Statistics and the Generalized Exponential Mechanism "
    "(Raskhodnikova, Smith 2016); Differential Privacy and Applications (Zhu et al. 2017), section 9.3.1",
)
@dataclass(frozen=True, kw_only=True)
class ChosenDegrees(BoundChosen):
    """Release how many nodes have degree 0, 1, ... up to a bound that is chosen privately, where nodes are protected.

    Guarantee: graphs that differ by all edges of one node lose epsilon = ``1 / choice_scale`` for the bound, and what
    ``noise`` loses at 2^34 for all numbers together.

    Args:
        nodes: how many there may be; public. A node without edges counts with degree 0.
        bounds: the candidates for a bound, rising, below the number of nodes; public.
        penalties: what each candidate is set back, in 64ths of a node; public.
        choice_scale: how many nodes more must stand out above a bound to make it e times less likely.
        flips: whether the bound is chosen by permute-and-flip; else by the exponential mechanism.
        noise: for one number, which is released in multiples such that one node moves all by 2^34 together.

    >>> from dither.privacy import PureDP
    >>> ChosenDegrees.calibrated(PureDP(1), nodes=1000, bounds=(1, 2, 4, 8)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "chosen-degrees"
    version: ClassVar[int] = 2
    no_error_because: ClassVar[str] = "what is cut off, and how much smoothing helps, is private"
    no_interval_because: ClassVar[str] = no_error_because

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bounds[-1] < self.nodes:
            raise InvalidParameter("bounds", self.bounds, f"below the number of nodes, {self.nodes}")

    @classmethod
    def calibrated(cls, within: Loss, *, nodes: int, bounds: Sequence[int]) -> Self:
        """Return a choice and noise within a loss for graphs one node apart.

        Args:
            within: what they may lose.
            nodes: how many there may be.
            bounds: the candidates for a bound.

        """
        split = Split.of(Purse.within(within), _SHARE)
        return cls(
            nodes=nodes,
            bounds=tuple(bounds),
            penalties=split.linear_penalties(bounds),
            choice_scale=split.choice,
            flips=split.flips,
            noise=split.noise.noise(UNIT),
        )

    @property
    def part(self) -> CountNoise:
        """The noise for as many numbers as the largest bound asks for."""
        return replace(self.noise, shape=(len(knots(self.bounds[-1])),))

    def plan(self) -> Plan:
        """Choose, then draw; what moves by so much in L1 moves by no more in L2."""
        return InOrder.of(Use(self.choice, STEPS), Use(self.part, UNIT))

    def release(self, data: Any, run: Runner) -> NDArray[np.int64]:
        """Return the number of nodes of each degree, from 0 to the bound; they add up to the number of nodes."""
        graph = graph_of(data, self.nodes)
        bound = self.bounds[self.chosen(graph, run)]
        degrees = knots(bound)
        # A whole multiple: rounding each number by itself would add to what all move together.
        times = UNIT // (bound + len(degrees))
        asked = np.zeros(self.part.shape, dtype=np.int64)
        asked[: len(degrees)] = times * (self.nodes - nodes_above(graph, bound, degrees))
        noisy = np.asarray(run(self.part, asked, stability=UNIT), dtype=np.float64)[: len(degrees)] / times
        return self._curve(noisy, np.array(degrees), bound, times)

    def _curve(self, noisy: NDArray[np.float64], degrees: NDArray[Any], bound: int, times: int) -> NDArray[np.int64]:
        """Return the numbers of nodes by degree that follow from noisy numbers of nodes up to few degrees."""
        places, end = np.log2(degrees + 1.0), np.log2(bound + 1.0)
        deviation = _deviation(self.noise) / times / self.nodes
        shares = smooth(np.append(places, end), np.append(noisy / self.nodes, 1.0), deviation)
        ordered = np.append(np.clip(isotonic(shares[:-1]), 0, 1), 1.0)
        every = np.interp(np.log2(np.arange(bound) + 1.0), np.append(places, end), ordered)
        whole = np.rint(every * self.nodes).astype(np.int64)
        return np.diff(np.concatenate([[0], whole, [self.nodes]]))


def _deviation(noise: CountNoise) -> float:
    """Return about the standard deviation of one draw."""
    return 1.5 * float(noise.scale) if isinstance(noise, Geometric) else float(noise.sigma)


def smooth(places: NDArray[np.float64], shares: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    """Return the likeliest smooth curve through noisy shares, of which the last is exact (a Gaussian process).

    Args:
        places: where they lie, rising.
        shares: of all nodes.
        deviation: of the noise of a share.

    """
    line = places / places[-1]
    near = _BEND**2 * np.exp(-0.5 * ((places[:, None] - places[None]) / _REACH) ** 2)
    # So small a deviation for the exact share that the system stays well conditioned.
    blur = np.append(np.full(len(places) - 1, min(deviation, 1e6) ** 2 + 1e-8), 1e-8)
    weights: NDArray[np.float64] = np.linalg.solve(near + np.diag(blur), shares - line)
    fitted: NDArray[np.float64] = line + near @ weights
    return fitted
