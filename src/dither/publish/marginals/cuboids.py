"""Which cuboids to measure, so that requested ones computed from them have little noise. Made without data.

A cuboid S answers Q, which lies within it, with a variance proportional to (cuboids measured)^power times cells of S /
cells of Q: computing from a finer cuboid adds up noise, and measuring more cuboids leaves less budget for each. Ding et
al. (2011) ask for the smallest largest variance (BMAX), or for the most cuboids below a bound (PMOST).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.publish.histograms.common import Floats

#: Cuboids that may be asked for, candidates for measuring, and bounds on the noise that are tried.
_MOST_ASKED, _MOST_CANDIDATES, _MOST_BOUNDS = 512, 2048, 64
_MOST_MEASURED = 64


def choose_cuboids(attributes: Attributes, asked: Sequence[Axes], power: int = 2) -> tuple[Axes, ...]:
    """Return the cuboids to measure, searched for the smallest largest variance of a requested one.

    Args:
        attributes: names and sizes.
        asked: the requested cuboids.
        power: 2 where the variance grows with the square of the number of cuboids (pure), 1 for Gaussian noise.

    A cuboid S answers Q with a variance proportional to (cuboids measured)^power times cells of S / cells of Q. For a
    bound on that ratio the least number of cuboids is a problem of set cover, solved greedily; all bounds that occur
    are tried, or 64 of them. Candidates are unions of asked cuboids: a finer one answers no more and has more cells.

    >>> choose_cuboids(Attributes(tuple("abc"), (2, 2, 2)), [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    ((0, 1, 2),)

    """
    candidates, ratios, sizes = _ratios(attributes, asked)
    bounds = np.unique(ratios[np.isfinite(ratios)])
    if bounds.size > _MOST_BOUNDS:
        bounds = bounds[np.unique(np.linspace(0, bounds.size - 1, _MOST_BOUNDS).round().astype(int))]
    best: tuple[float, tuple[int, ...]] = (np.inf, ())
    for bound in bounds.tolist():
        chosen = _cover(ratios <= bound, sizes)
        if chosen:
            worst = float(ratios[list(chosen)].min(axis=0).max()) * len(chosen) ** power
            best = min(best, (worst, chosen))
    return tuple(sorted(candidates[number] for number in best[1]))


def choose_most_precise(attributes: Attributes, asked: Sequence[Axes], most: float, power: int = 2) -> tuple[Axes, ...]:
    """Return the cuboids to measure such that many requested ones have a variance of at most ``most``.

    Args:
        attributes: names and sizes.
        asked: the requested cuboids.
        most: the bound, in units of the variance of one count when a single cuboid is measured.
        power: 2 where the variance grows with the square of the number of cuboids (pure), 1 for Gaussian noise.

    For each number of measured cuboids, those that make the most further requested ones precise are taken one after
    another, with room left for those that the rest needs; the number with the most precise ones is kept.

    >>> three = Attributes(tuple("abc"), (2, 2, 50))
    >>> choose_most_precise(three, [(0,), (1,), (0, 1), (0, 1, 2)], most=10), choose_cuboids(three, [(0,), (0, 1, 2)])
    (((0, 1), (0, 1, 2)), ((0,), (0, 1, 2)))

    """
    candidates, ratios, sizes = _ratios(attributes, asked)
    held = np.isfinite(ratios)
    best: tuple[int, float, tuple[int, ...]] | None = None
    for number in range(1, min(len(asked), _MOST_MEASURED) + 1):
        chosen = _most_covering(ratios * number**power <= most, held, sizes, number)
        if chosen:
            variances = ratios[list(chosen)].min(axis=0) * len(chosen) ** power
            found = (-int((variances <= most).sum()), float(variances.max()), chosen)
            best = found if best is None else min(best, found)
    return tuple(sorted(candidates[number] for number in (best[2] if best else _cover(held, sizes))))


def _most_covering(precise: NDArray[np.bool_], held: NDArray[np.bool_], sizes: Floats, number: int) -> tuple[int, ...]:
    """Return at most that many rows that hold every column and make many of them precise; () if there are none."""
    chosen: list[int] = []
    missing = np.ones(precise.shape[1], dtype=bool)
    while len(chosen) < number:
        gains = precise[:, missing].sum(axis=1)
        row = int(np.lexsort((sizes, -gains))[0])
        if gains[row] == 0:
            break
        chosen.append(row)
        missing &= ~precise[row]
    while True:
        left = ~held[chosen].any(axis=0) if chosen else np.ones(held.shape[1], dtype=bool)
        rest = [np.flatnonzero(left)[place] for place in range(int(left.sum()))]
        needed = _cover(held[:, rest], sizes) if rest else ()
        if len(chosen) + len(needed) <= number:
            return tuple(dict.fromkeys((*chosen, *needed)))
        if not chosen:
            return ()
        chosen.pop()


def _ratios(attributes: Attributes, asked: Sequence[Axes]) -> tuple[list[Axes], Floats, Floats]:
    """Return the candidates, the variance with which each answers every requested cuboid, and their cells."""
    if len(asked) > _MOST_ASKED:
        rule = f"at most {_MOST_ASKED} cuboids; residual-planner plans any number of marginals"
        raise InvalidParameter("marginals", len(asked), rule)
    candidates = _unions(attributes, asked)
    holds = np.array([[set(axes) <= set(candidate) for axes in asked] for candidate in candidates])
    sizes = np.array([attributes.cells_of(candidate) for candidate in candidates], dtype=np.float64)
    ratios = np.where(holds, sizes[:, None] / np.array([attributes.cells_of(axes) for axes in asked]), np.inf)
    return candidates, ratios, sizes


def _unions(attributes: Attributes, asked: Sequence[Axes]) -> list[Axes]:
    """Return the requested cuboids and their unions, breadth first, as far as there is room."""
    found = dict.fromkeys(asked)
    edge = list(asked)
    while edge:
        fresh: list[Axes] = []
        for one in edge:
            for other in asked:
                union = tuple(sorted({*one, *other}))
                if union not in found and attributes.cells_of(union) <= MOST_CELLS:
                    if len(found) >= _MOST_CANDIDATES:
                        return list(found)
                    found[union] = None
                    fresh.append(union)
        edge = fresh
    return list(found)


def _cover(usable: NDArray[np.bool_], sizes: Floats) -> tuple[int, ...]:
    """Return few rows that together cover every column, most new columns first; () if no rows do."""
    missing = np.ones(usable.shape[1], dtype=bool)
    chosen = []
    while missing.any():
        gains = usable[:, missing].sum(axis=1)
        number = int(np.lexsort((sizes, -gains))[0])
        if gains[number] == 0:
            return ()
        chosen.append(number)
        missing &= ~usable[number]
    return tuple(chosen)
