"""Quantiles by the exponential mechanism, in every group: what is chosen, and where the true ones lie.

The values are chosen by recursion (``exponential-quantiles``). For every quantile two further choices, the *scouts*,
are made among all rows of the group: one aims so far below the rank of the quantile, and one so far above it, that
they hardly ever come to lie on the wrong side.

**The interval.** Let ``L(c)`` be the number of rows below cell c, ``N`` that of all rows, and q the cell of the
quantile of share p: ``L(q) < p N <= L(q + 1)``. A scout's choice is within r rows of its target with the probability
1 - f / 2, where r is the scale times ln(candidates / (f / 2)): the bound of the exponential mechanism, whose best
candidate always covers the target. The lower scout aims at ``p N - o``, o being above r + 1. So its cell c has
``L(c) <= p N - o + r < p N``, hence ``c <= q``. The upper one has ``L(c + 1) >= p N + o - r >= p N``, hence ``c >= q``.
Both hold with the probability 1 - f. The further candidate beyond the range stands for its end, which is on the right
side of everything; without any row it is what both scouts choose, with the same probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.exponential_quantiles import Recursion, Rows, scout_line
from dither.mechanisms.line_choice import Integers, Line, LineChoices
from dither.privacy import Loss
from dither.publish.queries.measures import Scaled
from dither.publish.queries.quantiles import share_of, worth_of
from dither.publish.queries.query import Aggregate

#: Intervals hold with at least this failure probability, shared by all numbers of an answer.
_FAILURE: Final = 0.01
#: How many times the loss of a value's level a scout has: its error decides how long an interval is.
SCOUT_WEIGHT: Final = 2
#: With more groups, or more cells in all of them, an engine returns too much.
MOST_GROUPS: Final = 256
MOST_CELLS: Final = 2**20
#: Scouts aim no farther off, so that scores in parts of rows fit into 64 bits. No table has as many rows.
MOST_OFFSET: Final = 2**42
#: Stands for all larger offsets: no float is too large to be rounded.
_BEYOND: Final = 2.0**60


@dataclass(frozen=True)
class RankPart:
    """What one draw of a search may lose, for a value or a scout, and how many rows of a unit move its lines."""

    share: Fraction
    amount: Loss
    scout_amount: Loss
    rows: Fraction

    def choice(
        self, shape: tuple[int, ...], candidates: int, stability: Fraction, *, is_scout: bool = False
    ) -> LineChoices:
        """Return the sharpest choices whose lines move by that much."""
        amount = self.scout_amount if is_scout else self.amount
        return LineChoices(shape=shape, candidates=candidates, scale=_scale(amount, stability))


@lru_cache(maxsize=1024, typed=True)
def _scale(amount: Loss, stability: Fraction) -> Fraction:
    return LineChoices.calibrated(amount, sensitivity=stability, shape=(1,), candidates=1).scale


@dataclass(frozen=True)
class RankSearch:
    """All quantiles of one argument, chosen together.

    Args:
        scaled: the argument in cells, counted from the lower end.
        aggregates: the requested quantiles.
        numbers: how many numbers an answer has, all of whose intervals may have to hold at once.

    """

    scaled: Scaled
    aggregates: tuple[Aggregate, ...]
    numbers: int

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Each aggregate's quantile."""
        return tuple(share_of(aggregate) for aggregate in self.aggregates)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.scaled.grid.most + 1

    @cached_property
    def recursion(self) -> Recursion:
        """How the different quantiles are chosen."""
        return Recursion(sorted(set(self.shares)), self.cells)

    @property
    def levels(self) -> int:
        """The number of draws: the levels of the recursion, and two scouts for each quantile."""
        return len(self.recursion.levels) + 2 * len(self.recursion.shares)

    @property
    def weight(self) -> int:
        """How many times the loss of a value's level all draws have together."""
        return len(self.recursion.levels) + SCOUT_WEIGHT * 2 * len(self.recursion.shares)

    @property
    def failure(self) -> float:
        """The least failure probability at which an interval is more than the whole range."""
        return _FAILURE / max(1, self.numbers)

    def draws(self, part: RankPart, groups: int) -> Iterator[tuple[LineChoices, Fraction]]:
        """Yield every draw with its stability, in order."""
        made = self.recursion
        for level, nodes in enumerate(made.levels):
            stability = made.stability(level, part.rows)
            yield part.choice((groups, len(nodes)), made.candidates, stability), stability
        for share in made.shares:
            stability = max(share, 1 - share) * _parts(share) * part.rows
            for _ in range(2):
                yield part.choice((groups, 1), self.cells + 1, stability, is_scout=True), stability

    def offset(self, part: RankPart, share: Fraction) -> int:
        """Return how many rows off the rank of a quantile its scouts aim."""
        stability = max(share, 1 - share) * _parts(share) * part.rows
        choice = part.choice((1,), self.cells + 1, stability, is_scout=True)
        return math.ceil(min(choice.reach(self.failure / 2) / _parts(share), _BEYOND)) + 2

    def is_near(self, part: RankPart) -> bool:
        """Whether no scout aims farther off than any table has rows."""
        return all(self.offset(part, share) <= MOST_OFFSET for share in self.recursion.shares)

    def rank_error(self, part: RankPart, share: Fraction, failure: float) -> float:
        """Return a bound on the error of a quantile's rank, apart from ties."""
        total, inset = 0.0, 0
        for level, (choice, _) in enumerate(self._levels(part)):
            total += choice.reach(failure / len(self.recursion.levels)) / self.recursion.parts[level] + 1
            inset = max(inset, self.recursion.inset(choice.scale / self.recursion.parts[level]))
        return total + (inset if share in (0, 1) else 0)

    def _levels(self, part: RankPart, groups: int = 1) -> list[tuple[LineChoices, Fraction]]:
        return list(self.draws(part, groups))[: len(self.recursion.levels)]

    def choose(
        self, part: RankPart, rows: Sequence[Rows], run: Callable[[LineChoices, tuple[Line, ...], Fraction], Integers]
    ) -> list[Integers]:
        """Return what every draw has chosen, given the rows of every group."""
        made, chosen = self.recursion, []
        draws = list(self.draws(part, len(rows)))
        here = [[mine] for mine in rows]
        for level in range(len(made.levels)):
            choice, stability = draws[level]
            scale = choice.scale / made.parts[level]
            lines = tuple(line for mine in here for line in made.lines(level, scale, mine))
            drawn = run(choice, lines, stability)
            here = [made.split(level, mine, row) for mine, row in zip(here, drawn, strict=True)]
            chosen.append(drawn)
        scouts = [(share, is_upper) for share in made.shares for is_upper in (False, True)]
        for (share, is_upper), (choice, stability) in zip(scouts, draws[len(made.levels) :], strict=True):
            offset = self.offset(part, share)
            lines = tuple(
                scout_line(mine, share, _parts(share), self.cells, offset=offset, is_upper=is_upper) for mine in rows
            )
            chosen.append(run(choice, lines, stability))
        return chosen

    def read(
        self, _part: RankPart, groups: int, chosen: Sequence[Integers], failure: float
    ) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Return every aggregate's value in every group, and the ends of its interval."""
        made = self.recursion
        levels, scouts = chosen[: len(made.levels)], chosen[len(made.levels) :]
        cells = np.array([made.values([level[group] for level in levels]) for group in range(groups)])
        last, found = self.cells - 1, []
        for share in self.shares:
            place = made.shares.index(share)
            value = cells[:, place]
            low, high = np.zeros_like(value), np.full_like(value, last)
            if failure >= self.failure:
                # A value outside of its interval is rare, and a longer interval covers no less.
                low = np.minimum(np.clip(scouts[2 * place][:, 0] - 1, 0, last), value)
                high = np.maximum(np.clip(scouts[2 * place + 1][:, 0], 0, last), value)
            found.append((worth_of(self.scaled, value), worth_of(self.scaled, low), worth_of(self.scaled, high)))
        return found

    def empty(self) -> list[Integers]:
        """Return what would be chosen for one group if every choice were the first candidate."""
        shapes = [(1, len(nodes)) for nodes in self.recursion.levels] + [(1, 1)] * 2 * len(self.recursion.shares)
        return [np.zeros(shape, dtype=np.int64) for shape in shapes]


def _parts(share: Fraction) -> int:
    return math.lcm(2, share.denominator)
