"""A generated city: trips along streets between homes and places of work. For tests and comparisons only.

Streets lie between neighbouring cells of a square grid; some rows and columns are main roads. A trip begins at a home
and ends where people work or shop, near or far, and takes the fastest way by one of a few tastes: each taste finds some
streets slower than they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Ints = NDArray[np.int64]
_TASTES: Final = 6


def city_trips(persons: int, side: int = 20, *, longest: int = 60, seed: int = 1) -> Ints:
    """Return a row of cells for each trip, the cells after its end being -1; consecutive cells are neighbours.

    Args:
        persons: how many trips there are.
        side: cells along each side of the city.
        longest: how many cells a row has; a longer trip is cut off.
        seed: of everything.

    >>> trips = city_trips(5, side=6, longest=12)
    >>> trips.shape, bool((trips[:, 0] >= 0).all())
    ((5, 12), True)

    """
    generator = np.random.default_rng(seed)
    homes, works = _weights(side, 7, generator), _weights(side, 4, generator)
    starts = generator.choice(side * side, persons, p=homes)
    ends = _destinations(starts, works, side, generator)
    tastes = generator.integers(0, _TASTES, persons)
    trips = np.full((persons, longest), -1, dtype=np.int64)
    for taste in range(_TASTES):
        before = _ways(side, generator)
        mine = np.flatnonzero(tastes == taste)
        here, ended = starts[mine].copy(), np.zeros(mine.size, dtype=np.bool_)
        for step in range(longest):
            trips[mine, step] = np.where(ended, -1, here)
            ended |= here == ends[mine]
            here = np.where(ended, here, before[ends[mine], here])
    return trips


def _weights(side: int, centres: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return how many people live, or work, in each cell: a few centres and some everywhere."""
    rows, columns = np.divmod(np.arange(side * side), side)
    found = np.full(side * side, 0.02)
    for _ in range(centres):
        row, column = generator.uniform(0.1 * side, 0.9 * side, 2)
        width = generator.uniform(0.05, 0.12) * side
        found += generator.uniform(0.4, 1.5) * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * width**2))
    return np.asarray(found / found.sum(), dtype=np.float64)


def _destinations(starts: Ints, works: NDArray[np.float64], side: int, generator: np.random.Generator) -> Ints:
    """Return where trips end: likelier where many work, and near; never where they began."""
    cells = np.arange(side * side)
    rows, columns = np.divmod(cells, side)
    found = np.empty_like(starts)
    for start in np.unique(starts):
        mine = np.flatnonzero(starts == start)
        far = np.abs(rows - start // side) + np.abs(columns - start % side)
        weight = works * np.exp(-far / (0.5 * side)) * (cells != start)
        found[mine] = generator.choice(cells, mine.size, p=weight / weight.sum())
    return found


def _ways(side: int, generator: np.random.Generator) -> Ints:
    """Return, for every end, the next cell from every other one on the fastest way."""
    cells = np.arange(side * side).reshape(side, side)
    sources = np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])
    targets = np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])
    along = np.concatenate([np.repeat(np.arange(side), side - 1), np.tile(np.arange(side), side - 1)])
    is_main = np.isin(along, np.arange(2, side, 5))
    time = np.where(is_main, 0.55, 1.0) * generator.uniform(0.8, 1.25, sources.size)
    graph = csr_array((time, (sources, targets)), shape=(side * side, side * side))
    _, before = dijkstra(graph + graph.T, directed=False, return_predecessors=True)
    return np.asarray(before, dtype=np.int64)
