"""Covering designs: few points in which every allowed pair of values of two axes occurs.

Most faults of parameters need one or two of them to have a certain value. All combinations are too many to try; a
design of a few dozen points has all pairs. What goes together is not known beforehand: whether a point may be built is
asked when it is needed, and a pair that cannot be built from any start is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Generic, TypeVar

T = TypeVar("T")
#: The number of the value on each axis.
Point = tuple[int, ...]
#: An axis, a value on it, a later axis, a value on that.
Couple = tuple[int, int, int, int]
#: How many values of an axis are tried to cover more with a point that is begun.
_TRIED = 3


@dataclass
class Cover(Generic[T]):
    """The pairs that a design has covered so far, still lacks, and cannot have.

    Args:
        sizes: the number of values on each axis.
        starts: points that can be built; what they have counts as covered.
        build: makes what a point stands for, out of the number of a start and the point; None where that is refused.

    >>> cover = Cover((2, 2, 2), [(0, 0, 0)], lambda start, point: point)
    >>> points = [point for point, _ in cover.points()]
    >>> len(points), cover.share
    (3, 1.0)

    """

    sizes: Sequence[int]
    starts: Sequence[Point]
    build: Callable[[int, Point], T | None]
    left: dict[Couple, None] = field(init=False)
    refused: set[Couple] = field(default_factory=set)
    covered: int = 0

    def __post_init__(self) -> None:
        axes = range(len(self.sizes))
        self.left = {
            (one, value, other, there): None
            for one, other in combinations(axes, 2)
            for value in range(self.sizes[one])
            for there in range(self.sizes[other])
        }
        if len(self.sizes) == 1:
            # One axis has no pairs: each of its values is met with itself.
            self.left = {(0, value, 0, value): None for value in range(self.sizes[0])}
        for start in self.starts:
            self._take(start)

    @property
    def share(self) -> float:
        """The share of the pairs that can be built which are covered."""
        known = self.covered + len(self.left)
        return self.covered / known if known else 1.0

    def points(self) -> Iterator[tuple[Point, T]]:
        """Yield points, each of which covers pairs that none before it has, until all that can be are covered."""
        turn = 0
        while self.left:
            couple = self._next()
            begun = self._begun(couple, turn)
            if begun is None:
                del self.left[couple]
                self.refused.add(couple)
                continue
            start, point, made = begun
            point, made = self._extended(start, point, made)
            self._take(point)
            turn += 1
            yield point, made

    def _next(self) -> Couple:
        """Return the pair whose values lack most pairs: they are the ones that are hardest to cover by chance."""
        lacking: dict[tuple[int, int], int] = {}
        for one, value, other, there in self.left:
            lacking[one, value] = lacking.get((one, value), 0) + 1
            lacking[other, there] = lacking.get((other, there), 0) + 1
        return max(self.left, key=lambda pair: lacking[pair[:2]] + lacking[pair[2:]])

    def _begun(self, couple: Couple, turn: int) -> tuple[int, Point, T] | None:
        """Return a start with the pair in it, or None where no start takes it."""
        one, value, other, there = couple
        for step in range(len(self.starts)):
            number = (turn + step) % len(self.starts)
            changed = list(self.starts[number])
            changed[one], changed[other] = value, there
            made = self.build(number, tuple(changed))
            if made is not None:
                return number, tuple(changed), made
        return None

    def _extended(self, start: int, point: Point, made: T) -> tuple[Point, T]:
        """Return a point with other values on further axes, where these cover more."""
        for axis in range(len(self.sizes)):
            gains = sorted(
                ((self._gain(point, axis, value), -value) for value in range(self.sizes[axis]) if value != point[axis]),
                reverse=True,
            )
            present = self._gain(point, axis, point[axis])
            for gain, negated in gains[:_TRIED]:
                if gain <= present:
                    break
                changed = (*point[:axis], -negated, *point[axis + 1 :])
                found = self.build(start, changed)
                if found is not None:
                    point, made = changed, found
                    break
        return point, made

    def _gain(self, point: Point, axis: int, value: int) -> int:
        """Return how many pairs that are lacking a value on one axis has with the other values of a point.

        What the pair with which the point was begun loses by it is counted as well.
        """
        return sum(
            ((other, there, axis, value) if other < axis else (axis, value, other, there)) in self.left
            for other, there in enumerate(point)
            if other != axis
        )

    def _take(self, point: Point) -> None:
        pairs = combinations(enumerate(point), 2) if len(point) > 1 else [((0, point[0]), (0, point[0]))]
        for (one, value), (other, there) in pairs:
            if self.left.pop((one, value, other, there), 0) is None:
                self.covered += 1
