"""Journeys drawn from released weights on a hierarchy of grids: post-processing only.

A journey begins on one of the kept levels, goes on there by first- and second-order steps, and changes levels where the
weights say so: upwards to the cell above, downwards to one of the cells below. Steps are led in the direction of the
last few moves: those straight on are drawn twice as often as the weights say, and those back never, while the chance
that a run ends stays as it was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.projections import non_negative_with_total
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.places.reference_grids import Grids
from dither.publish.places.walks import DIRECTIONS, MOVES, WHOLE, Ints, walks_of

Floats = NDArray[np.float64]
#: Weights below this many scales of their noise are taken for none, of the first tables and of the second.
_LEAST: Final = (1.5, 2.0)
_SMALL: Final = 1e-3
#: The length of each move, and moves of length one.
_UNIT: Final = MOVES / np.linalg.norm(MOVES, axis=1, keepdims=True)
#: How many times as many draws as cells a journey may take: each change of levels is one.
_DRAWS: Final = 2


def worthwhile(grids: Grids, speeds: Floats, noise: float, worth: float) -> tuple[int, ...]:
    """Return the levels to keep: those whose released weight stands out from the noise that their tables will get.

    Args:
        grids: the hierarchy.
        speeds: the released weight of the steps of each level.
        noise: the scale of the noise of a pair of steps.
        worth: how many scales a cell of a level must be worth.

    """
    kept = [level for level, plane in enumerate(grids.planes) if speeds[level] > worth * noise * plane.cells]
    return tuple(kept) if kept else (int(np.argmax(speeds)),)


@dataclass(frozen=True)
class _Level:
    """What may follow on one level: after a run has begun, and after a step; and how often runs begin in each cell."""

    neighbours: Ints
    first: Floats
    second: Floats
    starts: Floats
    entries: Floats
    middles: Ints

    @classmethod
    def of(cls, grids: Grids, level: int, kept: tuple[int, ...], drawn: tuple[Floats, Floats], noise: Floats) -> _Level:
        plane, outcomes = grids.planes[level], grids.outcomes
        is_inside, neighbours = plane.neighbours >= 0, np.maximum(plane.neighbours, 0)
        is_kept = np.array([one in kept for one in range(grids.levels)])
        allowed = np.concatenate([is_inside, np.broadcast_to(is_kept, (plane.cells, grids.levels))], axis=1)
        weights = drawn[0][:, :outcomes]
        first = np.where(allowed & (weights > _LEAST[0] * noise[0]), weights, 0.0)
        first[:, DIRECTIONS + level] += _SMALL * WHOLE
        first /= first.sum(axis=1, keepdims=True)
        second = np.where(allowed[neighbours] & (drawn[1] > _LEAST[1] * noise[1]), drawn[1], 0.0)
        total = second.sum(axis=2, keepdims=True)
        second = np.where(total > 0, second / np.where(total > 0, total, 1.0), first[neighbours])
        starts, entries = drawn[0][:, outcomes], np.maximum(drawn[0][:, outcomes:].sum(axis=1), 0.0)
        return cls(neighbours, first, second, starts, entries + _SMALL * WHOLE, grids.middles(level))


class Walkers:
    """Journeys under way.

    Args:
        grids: the hierarchy.
        kept: the levels in use.
        drawn: the released tables of each level, in order.
        noise: the scales of both kinds of tables.

    """

    def __init__(
        self, grids: Grids, kept: tuple[int, ...], drawn: list[tuple[Floats, Floats]], noise: tuple[float, float]
    ) -> None:
        self._grids = grids
        self._levels = {one: _Level.of(grids, one, kept, drawn[one], np.array(noise)) for one in kept}
        self._below = {(above, one): grids.within(above, one) for above in kept for one in kept if one < above}
        self._chance = Settled(*(table for tables in drawn for table in tables))

    def walk(self, many: int, length: int, window: int) -> Ints:
        """Return journeys, a row for each.

        Args:
            many: how many.
            length: how many cells a journey has at most.
            window: how many of the last moves lead the next one; 0: none.

        """
        self._rows = np.full((many, length), -1, dtype=np.int64)
        self._written = np.zeros(many, dtype=np.int64)
        self._level, self._cell = self._begin(many)
        self._before, self._direction = self._cell.copy(), np.full(many, -1, dtype=np.int64)
        self._recent = np.zeros((many, max(window, 1), 2))
        going = np.ones(many, dtype=np.bool_)
        for level in self._levels:
            self._write(np.flatnonzero(self._level == level), level)
        for _ in range(_DRAWS * length):
            is_there, going = going & (self._written < length), np.zeros(many, dtype=np.bool_)
            # Who changes levels now has their next turn in the next round.
            turns = [(level, np.flatnonzero(is_there & (self._level == level))) for level in self._levels]
            for level, mine in turns:
                going[self._turn(level, mine, window)] = True
            if not going.any():
                break
        # Cells between the middles of coarse ones are filled in, as they are for journeys that are read.
        return walks_of(self._rows, self._grids.plane, length).rows(length)

    def _begin(self, many: int) -> tuple[Ints, Ints]:
        """Return on which level and in which cell each journey begins."""
        levels = np.repeat(list(self._levels), [one.starts.size for one in self._levels.values()])
        cells = np.concatenate([np.arange(one.starts.size) for one in self._levels.values()])
        begun = np.concatenate([one.starts for one in self._levels.values()])
        reached = np.cumsum(non_negative_with_total(begun, max(float(begun.sum()), 1.0)))
        found = np.searchsorted(reached, self._chance.random(many) * reached[-1], side="right")
        place = np.minimum(found, cells.size - 1)
        return levels[place], cells[place]

    def _turn(self, level: int, mine: Ints, window: int) -> Ints:
        """Let some journeys on a level go on; return those that have not ended."""
        here = self._levels[level]
        is_begun = self._direction[mine] < 0
        law = np.where(
            is_begun[:, None],
            here.first[self._cell[mine]],
            here.second[self._before[mine], np.maximum(self._direction[mine], 0)],
        )
        law = led(law, self._recent[mine].sum(axis=1)) if window else law
        reached = np.cumsum(law, axis=1)
        chosen = (reached <= (self._chance.random(mine.size) * reached[:, -1])[:, None]).sum(axis=1)
        chosen = np.minimum(chosen, self._grids.outcomes - 1)
        steps = mine[chosen < DIRECTIONS]
        if steps.size:
            taken = chosen[chosen < DIRECTIONS]
            self._before[steps], self._direction[steps] = self._cell[steps], taken
            self._cell[steps] = here.neighbours[self._cell[steps], taken]
            self._recent[steps] = np.concatenate([self._recent[steps][:, 1:], _UNIT[taken][:, None]], axis=1)
            self._write(steps, level)
        changes = [steps]
        for other in self._levels:
            changed = mine[chosen == DIRECTIONS + other]
            if other != level and changed.size:
                self._change(changed, level, other)
                changes.append(changed)
        return np.concatenate(changes)

    def _change(self, mine: Ints, level: int, other: int) -> None:
        if other > level:
            self._cell[mine] = self._grids.above(other, self._levels[level].middles[self._cell[mine]])
        else:
            below = self._below[level, other][self._cell[mine]]
            weights = np.where(below >= 0, self._levels[other].entries[np.maximum(below, 0)], 0.0)
            reached = np.cumsum(weights, axis=1)
            found = (reached <= (self._chance.random(mine.size) * reached[:, -1])[:, None]).sum(axis=1)
            self._cell[mine] = below[np.arange(mine.size), np.minimum(found, below.shape[1] - 1)]
        self._level[mine], self._direction[mine], self._before[mine] = other, -1, self._cell[mine]
        if other < level:
            self._write(mine, other)

    def _write(self, mine: Ints, level: int) -> None:
        mine = mine[self._written[mine] < self._rows.shape[1]]
        self._rows[mine, self._written[mine]] = self._levels[level].middles[self._cell[mine]]
        self._written[mine] += 1


def led(law: Floats, heading: Floats) -> Floats:
    """Return laws of what follows whose steps are led by a heading; how likely a step is stays as it was.

    Args:
        law: a row for each journey: the chances of each direction, then of what ends the run.
        heading: the sum of the last moves.

    """
    size = np.linalg.norm(heading, axis=1, keepdims=True)
    along = (heading / np.where(size > 0, size, 1.0)) @ _UNIT.T
    steps = law[:, :DIRECTIONS]
    turned = steps * (1 + along)
    total = turned.sum(axis=1, keepdims=True)
    kept = np.where(total > 0, turned * steps.sum(axis=1, keepdims=True) / np.where(total > 0, total, 1.0), steps)
    return np.concatenate([kept, law[:, DIRECTIONS:]], axis=1)
