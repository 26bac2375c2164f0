"""A plane that is blank but for a few cells: found from its released counts, and what is then expected of each cell.

In tables such as two amounts that are mostly nought, all rows lie on a few lines, and squares spread them over the
blank beside the lines. Straight cuts across the plane find such lines. A piece is cut in two, at the cut that explains
most, as long as some cut explains more than noise would. Where few pieces are found, and those in which nothing can be
told from noise make up nearly all of the plane, the plane is taken as blank outside the others; else nothing is said.
Cost: the sum of the lengths of the pieces' sides, and one look at the estimates for each large piece.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.trees import Branching, TreeFit, TreeVariances, block_sums
from dither.publish.histograms.pruning import from_rows, in_rows, without_negatives

Floats = NDArray[np.float64]
Piece = tuple[int, int, int, int]

# Settled on DPBench's Adult at epsilon 1, with an eye on the other maps of the page on places.
#: What a cut has to explain, in squared standard errors, and how many pieces are few.
_CUT: Final = 12.0
_FEW: Final = 128
#: Cells that are not blank: two rows and two columns of them at most, and this share of the plane.
_LINES: Final = 2
_MOST: Final = 1 / 16
#: The standard errors below which a sum is taken as none.
_NONE: Final = 2.0
#: Noise is symmetric: about as many blank squares lie this many standard errors above 0 as below.
_TAIL: Final = 2.5
_LOPSIDED: Final = 3.0
#: A piece with a smaller share of the cells has about the variance of its cells alone.
_LARGE: Final = 0.01
#: What is expected of a blank cell, as a share of the mean, so that shares of blank squares are even.
_HARDLY: Final = 1e-6
#: What a blank square that stands out among its siblings has to explain, and any other, in squared standard errors.
_IN_BLANK: Final = 25.0
_OUTSIDE: Final = 8.0


@dataclass(frozen=True)
class Blank:
    """What is expected of each cell, up to a factor, and which cells are blank."""

    expected: Floats
    is_blank: NDArray[np.bool_]


def blank_but_for_few(fit: TreeFit) -> Blank | None:
    """Return what is expected of a plane that is blank but for a few pieces; None where it is not.

    Args:
        fit: the least-squares estimates of all squares; the last level is one square.

    """
    cells = fit.cells
    sums = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1))
    sums[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
    variance = float(fit.variances.own[0].max())
    pieces = _pieces(sums, variance)
    if not 1 < len(pieces) <= _FEW:
        return None
    expected, is_blank = np.zeros(cells.shape), np.zeros(cells.shape, dtype=bool)
    for piece in pieces:
        inside = slice(*piece[:2]), slice(*piece[2:])
        total, size = float(_sum(sums, *piece)), expected[inside].size
        if _is_none(total, piece, variance, fit.variances):
            is_blank[inside] = True
        else:
            expected[inside] = total / size
    most = min(_LINES * sum(cells.shape), _MOST * cells.size)
    if not 0 < (~is_blank).sum() <= most or _is_lopsided(fit, is_blank):
        return None
    expected[is_blank] = _HARDLY * expected.mean()
    return Blank(expected, is_blank)


def cells_as_expected(fit: TreeFit, blank: Blank) -> Floats:
    """Return counts of the cells, as expected where the noise hides differences: none is negative.

    From the top down: children that exceed what is expected by more than noise would keep their estimates, the others
    share the rest as expected, and all are moved to counts without negative ones that add up to that of their parent.

    Args:
        fit: the least-squares estimates of all squares; the last level is one square.
        blank: what is expected.

    """
    known = fit.variances
    sizes, crowded = [blank.expected], [np.asarray(~blank.is_blank, dtype=np.float64)]
    for branching in known.branchings:
        sizes.append(block_sums(sizes[-1], branching))
        crowded.append(block_sums(crowded[-1], branching))
    counts = np.maximum(fit.levels[-1], 0.0)
    for level in range(len(fit.levels) - 2, -1, -1):
        penalties = np.where(crowded[level] == 0, _IN_BLANK, _OUTSIDE)
        parts = fit.levels[level], sizes[level], known.own[level], penalties
        counts = _divided(counts, parts, known.branchings[level])
    return counts


def _divided(parents: Floats, parts: tuple[Floats, Floats, Floats, Floats], branching: Branching) -> Floats:
    """Return the counts of the squares of one level, given those of their parents."""
    count, size, variance, penalty = (in_rows(part, parents.shape, branching) for part in parts)
    is_there = variance > 0
    weight = np.divide(1.0, variance, out=np.zeros_like(variance), where=is_there)
    middle = count.sum(axis=1, keepdims=True) / size.sum(axis=1, keepdims=True)
    count = count - middle * size
    # Those that may stand out come last but for missing ones.
    excess = np.where(is_there, count * np.sqrt(weight) - np.sqrt(penalty), np.inf)
    order = np.argsort(excess, axis=1, kind="stable")
    count, size, weight, penalty = (np.take_along_axis(part, order, axis=1) for part in (count, size, weight, penalty))
    mixed, square = np.cumsum(weight * size * count, axis=1), np.cumsum(weight * size**2, axis=1)
    left_over = np.cumsum(weight * count**2, axis=1) - mixed**2 / square
    standing_out = penalty.sum(axis=1, keepdims=True) - np.cumsum(penalty, axis=1)
    last = np.argmin(left_over + standing_out, axis=1)[:, None]
    ratio = np.take_along_axis(mixed, last, axis=1) / np.take_along_axis(square, last, axis=1)
    count = np.where(np.arange(count.shape[1]) <= last, ratio * size, count) + middle * size
    # What is missing is shared as expected, so that it does not fall on the blank.
    count, is_there = np.maximum(count, 0.0), weight > 0
    missing = np.maximum(parents.ravel() - count.sum(axis=1), 0.0)[:, None]
    count = without_negatives(count + missing * size / size.sum(axis=1, keepdims=True), is_there, parents.ravel())
    back = np.empty_like(count)
    np.put_along_axis(back, order, count, axis=1)
    return from_rows(back, parents.shape, branching)[tuple(slice(0, side) for side in parts[0].shape)]


def _pieces(sums: Floats, variance: float) -> list[Piece]:
    """Return the pieces that no cut divides any more, or more than a few as soon as there are."""
    done: list[Piece] = []
    left: list[Piece] = [(0, sums.shape[0] - 1, 0, sums.shape[1] - 1)]
    while left and len(done) + len(left) <= _FEW:
        piece = left.pop()
        top, bottom, west, east = piece
        across, along = _gains(sums, piece), _gains(sums.T, (west, east, top, bottom))
        best = max(across.max(initial=0.0), along.max(initial=0.0))
        if best <= _CUT * variance:
            done.append(piece)
        elif across.max(initial=0.0) == best:
            cut = top + 1 + int(across.argmax())
            left += [(top, cut, west, east), (cut, bottom, west, east)]
        else:
            cut = west + 1 + int(along.argmax())
            left += [(top, bottom, west, cut), (top, bottom, cut, east)]
    return done + left


def _gains(sums: Floats, piece: Piece) -> Floats:
    """Return by how much each cut between rows lessens the sum of squared deviations from the mean of a piece."""
    top, bottom, west, east = piece
    rows = np.arange(top + 1, bottom)
    total, size = _sum(sums, *piece), (bottom - top) * (east - west)
    part = sums[rows, east] - sums[top, east] - sums[rows, west] + sums[top, west]
    first = (rows - top) * (east - west)
    gains: Floats = (part - total * first / size) ** 2 * size / (first * (size - first))
    return gains


def _sum(sums: Floats, top: int, bottom: int, west: int, east: int) -> np.float64:
    found: np.float64 = sums[bottom, east] - sums[top, east] - sums[bottom, west] + sums[top, west]
    return found


def _is_none(total: float, piece: Piece, variance: float, known: TreeVariances) -> bool:
    """Return whether a piece's sum can not be told from 0."""
    top, bottom, west, east = piece
    size = (bottom - top) * (east - west)
    if total > _NONE * (size * variance) ** 0.5:  # larger squares make a sum more precise, never less
        return False
    weights = np.zeros(known.own[0].shape)
    if size < _LARGE * weights.size:
        return True
    weights[top:bottom, west:east] = 1.0
    return bool(total <= _NONE * known.of_query(weights) ** 0.5)


def _is_lopsided(fit: TreeFit, is_blank: NDArray[np.bool_]) -> bool:
    """Return whether on some level more blank squares lie far above 0 than below."""
    crowded = np.asarray(~is_blank, dtype=np.float64)
    for level, (nodes, variances) in enumerate(zip(fit.levels[:-1], fit.variances.nodes[:-1], strict=True)):
        if level:
            crowded = block_sums(crowded, fit.variances.branchings[level - 1])
        errors = (nodes / np.sqrt(variances))[crowded == 0]
        above, below = int((errors > _TAIL).sum()), int((errors < -_TAIL).sum())
        if above - below > _LOPSIDED * (above + below + 1) ** 0.5:
            return True
    return False
