"""How far synthetic journeys are from true ones: trips, lengths, diameters, region queries, three-cell patterns.

For comparisons on public or generated data: what is measured here is exact, and no release.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.publish.places.walks import Plane, Walks, walks_of

Floats = NDArray[np.float64]
MEASURES: Final = ("trips", "lengths", "diameters", "queries", "patterns")
#: Blocks along each side between which trips are compared; patterns; region queries and their largest area in cells.
_BLOCKS, _PATTERNS, _QUERIES, _AREA = 5, 100, 200, 40
#: Errors of queries are relative to the true answer, or to this share of the trips where that is more.
_LEAST: Final = 0.01


def divergence(one: Floats, other: Floats) -> float:
    """Return the Jensen-Shannon divergence of two distributions, in nats.

    >>> round(divergence(np.array([1.0, 0.0]), np.array([0.0, 2.0])), 4), divergence(np.ones(3), np.ones(3))
    (0.6931, 0.0)

    """
    first, second = (np.asarray(part, dtype=np.float64) / max(float(np.sum(part)), 1e-300) for part in (one, other))
    middle = (first + second) / 2
    found = 0.0
    for part in (first, second):
        there = part > 0
        found += float((part[there] * np.log(part[there] / middle[there])).sum()) / 2
    return found


def compared(true: NDArray[np.int64], drawn: NDArray[np.int64], shape: tuple[int, int]) -> dict[str, float]:
    """Return the five measures: three divergences, the mean relative error of queries, the share of patterns found.

    Args:
        true: a row of cells for each journey.
        drawn: likewise.
        shape: the cells along both axes.

    """
    plane = Plane(*shape)
    both = [walks_of(rows, plane, max(true.shape[1], drawn.shape[1])) for rows in (true, drawn)]
    regions = [_regions(walks) for walks in both]
    scaled = regions[1] * both[0].starts.size / max(both[1].starts.size, 1)
    errors = np.abs(regions[0] - scaled) / np.maximum(regions[0], _LEAST * both[0].starts.size)
    tops = [_patterns(walks) for walks in both]
    return {
        "trips": divergence(*map(_trips, both)),
        "lengths": divergence(*(_counted(walks.lengths, true.shape[1] + drawn.shape[1]) for walks in both)),
        "diameters": divergence(*(_counted(_diameters(walks), max(shape)) for walks in both)),
        "queries": float(errors.mean()),
        "patterns": len(tops[0] & tops[1]) / _PATTERNS,
    }


def _counted(values: NDArray[np.int64], most: int) -> Floats:
    return np.bincount(values, minlength=most + 1).astype(np.float64)


def _trips(walks: Walks) -> Floats:
    blocks = walks.plane.blocks(_BLOCKS)
    many = int(blocks.max()) + 1
    return _counted(blocks[walks.origins] * many + blocks[walks.destinations], many * many - 1)


def _diameters(walks: Walks) -> NDArray[np.int64]:
    """Return how many rows or columns a walk reaches over, whichever is more."""
    if not walks.starts.size:
        return np.zeros(0, dtype=np.int64)
    ends = np.divmod(walks.cells, walks.plane.columns)
    spans = [np.maximum.reduceat(end, walks.starts) - np.minimum.reduceat(end, walks.starts) for end in ends]
    return np.asarray(np.maximum(spans[0], spans[1]), dtype=np.int64)


def _regions(walks: Walks) -> Floats:
    """Return through each of some public rectangles how many walks lead."""
    generator = np.random.default_rng(5)
    row, column = np.divmod(walks.cells, walks.plane.columns)
    found: list[int] = []
    while len(found) < _QUERIES:
        down, across = (np.sort(generator.integers(0, size + 1, 2)) for size in (walks.plane.rows, walks.plane.columns))
        if not 0 < (down[1] - down[0]) * (across[1] - across[0]) <= _AREA:
            continue
        inside = (row >= down[0]) & (row < down[1]) & (column >= across[0]) & (column < across[1])
        found.append(np.unique(walks.walk[inside]).size)
    return np.array(found, dtype=np.float64)


def _patterns(walks: Walks) -> set[int]:
    """Return the commonest sequences of three cells, each as a number."""
    here = np.flatnonzero((walks.directions[:-1] >= 0) & (walks.directions[1:] >= 0))
    sequences = (walks.cells[here] * 8 + walks.directions[here]) * 8 + walks.directions[here + 1]
    values, often = np.unique(sequences, return_counts=True)
    return set(values[np.argsort(-often, kind="stable")[:_PATTERNS]].tolist())
