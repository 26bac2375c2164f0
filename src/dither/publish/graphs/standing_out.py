"""A bound on degrees that is chosen privately, by how many nodes stand out above each candidate.

A graph in which k nodes can be taken out such that no other has more than t edges is k nodes away from the graphs of
degree t. The number below follows that distance from beneath; it moves by at most 1 with one node, whatever t is, and
never falls when a node comes in. So a bound is chosen as sharply as a count of people allows, where lost edges, which
one node moves by the bound, would allow little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Final

import numpy as np

from dither.data.graphs import MOST_NODES
from dither.errors import InvalidParameter
from dither.exact import Flag, Positive, TupleOf, Whole, whole
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.privacy import NODE, Unit
from dither.publish.graphs.simple_graph import Ints, SimpleGraph

#: Steps of a score to one node.
STEPS: Final = 64
#: Values are put on a grid of which one node moves them by at most this many steps, whatever the bound.
UNIT: Final = 2**34
LARGEST_BOUND: Final = 2**20
#: No candidate is set back farther.
MOST_BACK: Final = 2**50


def standing_out(degrees: Ints, bounds: Sequence[int]) -> Ints:
    """Return for each bound the least k such that at most k nodes have a degree above the bound plus k.

    >>> standing_out(np.array([9, 9, 9, 1, 1]), [1, 5, 7, 9]).tolist()
    [3, 3, 2, 0]
    """
    falling = np.sort(degrees)[::-1]
    # Falls strictly: the k-th largest degree exceeds the bound plus k for the first few k, and for no other.
    excess = falling - np.arange(len(falling))
    return np.asarray(len(excess) - np.searchsorted(excess[::-1], np.asarray(bounds), side="right"), dtype=np.int64)


def doubling(least: int, most: int) -> tuple[int, ...]:
    """Return candidates from the least on, each twice the one before, and the largest itself.

    >>> doubling(1, 6), doubling(16, 16)
    ((1, 2, 4, 6), (16,))
    """
    top = max(whole("most", most, least=1), least)
    found = [least << step for step in range(top.bit_length()) if least << step < top]
    return (*found, top)


def is_rising(entries: tuple[Any, ...]) -> bool:
    """Whether every entry is larger than the one before."""
    return all(one < other for one, other in pairwise(entries))


class Bounds(TupleOf):
    """Public candidates for a bound, in rising order."""

    def __init__(self) -> None:
        rule = f"1 to 64 rising integers from 1 to {LARGEST_BOUND}"
        super().__init__(Whole(least=1, most=LARGEST_BOUND), most=64, where=is_rising, rule=rule)


class Penalties(TupleOf):
    """What each candidate is set back, in steps of a score."""

    def __init__(self) -> None:
        super().__init__(Whole(most=MOST_BACK), most=64, rule="an integer for each bound, at most 2^50")


@dataclass(frozen=True, kw_only=True)
class BoundChosen(Composed[Any, Any]):
    """A release of a graph in which a node moves at most a bound that is chosen first."""

    numerics: ClassVar[Numerics] = Numerics.EXACT

    nodes: Whole = Whole(least=2, most=MOST_NODES)
    bounds: TupleOf = Bounds()
    penalties: TupleOf = Penalties()
    choice_scale: Positive = Positive(least=Fraction(1, 2**60), most=2**200)
    flips: Flag = Flag(True)
    noise: OneCount = OneCount()

    def __post_init__(self) -> None:
        if len(self.penalties) != len(self.bounds):
            raise InvalidParameter("penalties", self.penalties, f"{len(self.bounds)} of them, one for each bound")

    @property
    def distance(self) -> Unit:
        """One node with all its edges."""
        return NODE

    @property
    def choice(self) -> PermuteAndFlip | Exponential:
        """The choice of a bound; all scores move the same way."""
        kind = PermuteAndFlip if self.flips else Exponential
        return kind(candidates=len(self.bounds), scale=STEPS * self.choice_scale, one_way=True)

    def chosen(self, graph: SimpleGraph, run: Runner) -> int:
        """Return the place of a bound above which few nodes stand out."""
        above = standing_out(graph.degrees, self.bounds)
        return int(run(self.choice, -STEPS * above - np.array(self.penalties), stability=STEPS))


@dataclass(frozen=True)
class Split:
    """A loss divided between the choice of a bound and the noise.

    Args:
        choice: the scale of the choice, in nodes.
        flips: whether the choice is by permute-and-flip: for a pure loss, where it is the sharper one.
        noise: the rest.

    """

    choice: Fraction
    flips: bool
    noise: Purse

    @classmethod
    def of(cls, purse: Purse, share: Fraction) -> Split:
        """Return the division by which the choice gets a share."""
        return cls(purse.share(share).choice(one_way=True), purse.is_pure, purse.share(1 - share))

    def root_penalties(self, bounds: Sequence[int], tenths: int) -> tuple[int, ...]:
        """Return tenths of the scale times the root of a bound: what a bound costs a count beside lost nodes."""
        each = Fraction(tenths, 10) * STEPS * self.choice / 2**10
        return tuple(min(math.floor(each * math.isqrt(bound << 20)), MOST_BACK) for bound in bounds)

    def linear_penalties(self, bounds: Sequence[int]) -> tuple[int, ...]:
        """Return a hundredth of the scale times a bound: what a bound costs a distribution of degrees."""
        return tuple(min(math.floor(STEPS * self.choice * bound / 100), MOST_BACK) for bound in bounds)


def in_units(value: int, moved: int) -> int:
    """Return a value that moves by at most ``moved`` on a grid on which it moves by at most ``UNIT``."""
    return value * UNIT // moved


def from_units(noisy: int, moved: int, parts: int = 1) -> int:
    """Return the nearest whole number to a value on that grid, within 2^60, where ``parts`` of the value make one."""
    return min(max(round(Fraction(noisy * moved, UNIT * parts)), -(2**60)), 2**60)
