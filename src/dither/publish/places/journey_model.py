"""A model of journeys, fitted to released counts, and walks that are drawn from it: post-processing only.

Where trips begin and end comes from released counts of blocks and of cells; how long they are from how long trips
between cells that far apart were. The way is a walk with second-order steps, conditioned on its end and its length: in
every cell the next step is weighed by the chance that the rest of the way leads to the destination in the steps that
are left, which is found backwards from it. So every walk arrives. The weights of pairs of steps are then corrected
until walks take them as often as was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.projections import non_negative_with_total
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.places.walks import DIRECTIONS, WHOLE, Ints, Plane, Walks

Floats = NDArray[np.float64]

# Settled on a generated city; see the page.
#: Released weights below this many scales of their noise are taken for none.
_LEAST_STEP: Final = 1.5
_LEAST_TURN: Final = 3.0
_LEAST_LENGTH: Final = 5.0
#: Trips that a cell's steps, and a step's turns, are taken to have beside those released.
_ALONG, _ACROSS, _FIRST_ORDER = 1e-3, 1e-5, 1.0
_STRAIGHT: Final = np.array([False, True, False, True, True, False, True, False])
#: How often weights of turns are corrected, with how many trips, how far at a time and in all.
_ROUNDS: Final = 2
_TRIED: Final = 20_000
_POWER, _FARTHEST, _FAR = 0.7, 5.0, 50.0


@dataclass(frozen=True)
class Measured:
    """What was released of journeys, each with the scale of its noise.

    Args:
        plane: the grid.
        longest: how many cells a journey has at most.
        along: blocks along each side.
        trips: how many journeys there are.
        pairs: by the blocks where they begin and end.
        origins: by the cell where they begin.
        destinations: by the cell where they end.
        lengths: by how far the ends are apart, and by how many cells they have.
        steps: weights by cell and direction.
        turns: weights by cell and two directions.
        noise: the scales of the noise of lengths, steps and turns.

    """

    plane: Plane
    longest: int
    along: int
    trips: float
    pairs: Floats
    origins: Floats
    destinations: Floats
    lengths: Floats
    steps: Floats
    turns: Floats
    noise: tuple[float, float, float]


def drawn_walks(known: Measured, many: int) -> Walks:
    """Return synthetic walks: a function of what was released, and of nothing else.

    Args:
        known: what was released.
        many: how many walks are drawn.

    """
    chance = Settled(known.pairs, known.origins, known.destinations, known.lengths, known.steps, known.turns)
    model = _Steps.of(known)
    tried = _ends(known, min(many, _TRIED), chance)
    for _ in range(_ROUNDS if many else 0):
        model = model.corrected(_walked(model, tried, chance))
    return _walked(model, _ends(known, many, chance), chance)


@dataclass(frozen=True)
class _Ends:
    """Where walks begin and end, and how many steps they have."""

    origins: Ints
    destinations: Ints
    steps: Ints


def _ends(known: Measured, many: int, chance: Settled) -> _Ends:
    """Return ends and lengths: blocks by released pairs, cells within blocks, lengths by how far ends are apart."""
    plane, blocks = known.plane, known.plane.blocks(known.along)
    count = int(blocks.max()) + 1
    pairs = non_negative_with_total(known.pairs.ravel(), max(known.trips, 1.0))
    both = _chosen(np.broadcast_to(pairs, (1, pairs.size)), np.zeros(many, dtype=np.int64), chance)
    found = []
    for cells, wanted in ((known.origins, both // count), (known.destinations, both % count)):
        weights = np.zeros((count, plane.cells))
        # No cell of a block is quite without a trip: a block that has trips needs a cell for them.
        weights[blocks, np.arange(plane.cells)] = non_negative_with_total(cells, max(known.trips, 1.0)) + _ACROSS
        found.append(_chosen(weights, wanted, chance))
    apart = plane.apart(found[0], found[1])
    lengths = np.where(known.lengths > _LEAST_LENGTH * known.noise[0], known.lengths, 0.0)
    is_unknown = lengths.sum(axis=1) <= 0
    places = np.arange(lengths.shape[0])
    lengths[places, np.minimum(places + 1, known.longest)] += is_unknown
    cells_long = _chosen(lengths, apart, chance)
    return _Ends(found[0], found[1], np.maximum(cells_long - 1, 0))


def _chosen(weights: Floats, rows: Ints, chance: Settled) -> Ints:
    """Return for each entry of ``rows`` a column, by the weights of that row."""
    reached = np.cumsum(weights, axis=1)
    points = chance.random(rows.size) * reached[rows, -1]
    # All rows one after the other, so that one search finds the columns of all.
    offset = np.concatenate([[0.0], np.cumsum(reached[:, -1] + 1.0)])[:-1]
    flat = (reached + offset[:, None]).ravel()
    found = np.searchsorted(flat, points + offset[rows], side="right") - rows * weights.shape[1]
    return np.asarray(np.clip(found, 0, weights.shape[1] - 1), dtype=np.int64)


@dataclass(frozen=True)
class _Steps:
    """Weights of first steps by cell, and of a step after another by cell and two directions.

    Args:
        plane: the grid.
        longest: how many cells a walk has at most.
        first: by cell and direction.
        after: by cell, its direction, and the next direction.
        base: the weights of pairs of steps before they were corrected.
        wanted: the released weights of pairs of steps; 0 where there are hardly any.
        noise: the scale of their noise.

    """

    plane: Plane
    longest: int
    first: Floats
    after: Floats
    base: Floats
    wanted: Floats
    noise: float

    @classmethod
    def of(cls, known: Measured) -> _Steps:
        plane = known.plane
        is_inside = plane.neighbours >= 0
        steps = np.where(is_inside & (known.steps > _LEAST_STEP * known.noise[1]), known.steps / WHOLE, 0.0)
        steps = steps + np.where(is_inside, _ACROSS + _ALONG * _STRAIGHT, 0.0)
        first = steps / np.maximum(steps.sum(axis=1, keepdims=True), _ACROSS)
        wanted = np.where(known.turns > _LEAST_TURN * known.noise[2], known.turns / WHOLE, 0.0)
        following = first[np.maximum(plane.neighbours, 0)]
        after = (wanted + _FIRST_ORDER * following) / (wanted.sum(axis=2, keepdims=True) + _FIRST_ORDER)
        after = np.where(is_inside[:, :, None] & (following > 0), after, 0.0)
        wanted = np.where(after > 0, wanted, 0.0)
        return cls(plane, known.longest, first, after, after, wanted, known.noise[2] / WHOLE)

    def corrected(self, walks: Walks) -> _Steps:
        """Return weights under which walks take pairs of steps more nearly as often as was released."""
        taken = walks.turns() / WHOLE
        taken *= max(self.wanted.sum(), 1.0) / max(float(taken.sum()), 1.0)
        goal = np.where(self.wanted > 0, self.wanted, self.noise)
        # What was released as nothing is only held down where walks take it more often than noise would hide.
        is_known = (self.wanted > 0) | (taken > 2 * self.noise)
        factor = np.where(is_known, np.clip((goal + 1) / (taken + 1), 1 / _FARTHEST, _FARTHEST) ** _POWER, 1.0)
        after = np.clip(self.after * factor, self.base / _FAR, self.base * _FAR)
        return _Steps(self.plane, self.longest, self.first, after, self.base, self.wanted, self.noise)


def _walked(model: _Steps, ends: _Ends, chance: Settled) -> Walks:
    """Return walks between these ends; of as many steps as wanted, or as near to that as there is a way."""
    order = np.argsort(ends.destinations, kind="stable")
    bounds = np.searchsorted(ends.destinations[order], np.arange(model.plane.cells + 1))
    rows = np.full((ends.origins.size, model.longest), -1, dtype=np.int32)
    for destination in np.flatnonzero(np.diff(bounds)).tolist():
        mine = order[bounds[destination] : bounds[destination + 1]]
        rows[mine] = _to(model, destination, ends.origins[mine], ends.steps[mine], chance)
    lengths = (rows >= 0).sum(axis=1)
    return Walks(model.plane, rows[rows >= 0].astype(np.int64), np.cumsum(lengths) - lengths)


def _to(model: _Steps, destination: int, origins: Ints, wanted: Ints, chance: Settled) -> Ints:
    """Return walks to one destination, a row for each."""
    plane, most = model.plane, min(int(wanted.max(initial=0)) + 1, model.longest - 1)
    neighbours = np.maximum(plane.neighbours, 0)
    # The weight with which a step is followed by a way of exactly that many more steps to the destination.
    rest = np.zeros((most + 1, plane.cells, DIRECTIONS))
    rest[0] = plane.neighbours == destination
    leads = np.zeros((most + 1, plane.cells), dtype=np.bool_)
    leads[0, destination] = True
    for left in range(1, most + 1):
        leads[left] = (model.first * rest[left - 1] > 0).any(axis=1)
        rest[left] = np.einsum("cij,cij->ci", model.after, rest[left - 1][neighbours])
        rest[left] /= max(float(rest[left].max()), 1e-300)
    steps = _nearest(leads[:, origins], wanted)
    rows = np.full((origins.size, model.longest), -1, dtype=np.int64)
    rows[:, 0] = origins
    here, before, direction = origins.copy(), origins.copy(), np.zeros_like(origins)
    for step in range(1, most + 1):
        going = np.flatnonzero(steps >= step)
        if not going.size:
            break
        cell, after = here[going], steps[going] - step
        weights = model.first[cell] if step == 1 else model.after[before[going], direction[going]]
        weights = weights * rest[after, cell]
        reached = np.cumsum(weights, axis=1)
        points = chance.random(going.size) * reached[:, -1]
        chosen = np.minimum((reached <= points[:, None]).sum(axis=1), DIRECTIONS - 1)
        is_lost = reached[:, -1] <= 0  # a way whose weight is below what a float holds ends where it is
        steps[going[is_lost]] = 0
        going, cell, chosen = going[~is_lost], cell[~is_lost], chosen[~is_lost]
        before[going], direction[going], here[going] = cell, chosen, neighbours[cell, chosen]
        rows[going, step] = here[going]
    return rows


def _nearest(leads: NDArray[np.bool_], wanted: Ints) -> Ints:
    """Return the number of steps nearest to the wanted one for which there is a way; 0 where there is none."""
    far = np.abs(np.arange(leads.shape[0])[:, None] - wanted[None, :])
    cost = np.where(leads, far, leads.shape[0] + 1)
    found = np.argmin(cost, axis=0)
    return np.where(cost[found, np.arange(wanted.size)] > leads.shape[0], 0, found)
