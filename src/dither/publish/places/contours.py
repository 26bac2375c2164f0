"""Contour lines: where a released density crosses public levels.

Marching squares on the middles of the cells: along each edge between two neighbouring middles the crossing is
interpolated, and pieces are joined to lines. A saddle is divided by the mean of its four corners. The border counts as
0, so that every line is closed. Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

Floats = NDArray[np.float64]
Line = list[tuple[float, float]]
#: How many levels may be drawn at once.
MOST_LEVELS: Final = 64

# For every sign of the four corners (1: the first, 2: next along the second axis, 4: opposite, 8: next along the
# first), which edges of a square a piece of a line leads through: 0 from corner 1 to 2, then around.
_PIECES: Final[dict[int, tuple[tuple[int, int], ...]]] = {
    1: ((3, 0),),
    2: ((0, 1),),
    3: ((3, 1),),
    4: ((1, 2),),
    6: ((0, 2),),
    7: ((3, 2),),
    8: ((2, 3),),
    9: ((2, 0),),
    11: ((2, 1),),
    12: ((1, 3),),
    13: ((1, 0),),
    14: ((0, 3),),
}
_SADDLES: Final = {
    (5, True): ((3, 2), (1, 0)),
    (5, False): ((3, 0), (1, 2)),
    (10, True): ((0, 3), (2, 1)),
    (10, False): ((0, 1), (2, 3)),
}


def checked_levels(levels: Sequence[Any]) -> tuple[float, ...]:
    """Return public levels as numbers in increasing order; refuse those that are not finite and above 0."""
    found = []
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < float("inf"):
            raise InvalidParameter("levels", level, "finite numbers above 0")
        found.append(float(level))
    if not found or len(set(found)) != len(found) or len(found) > MOST_LEVELS:
        raise InvalidParameter("levels", list(levels), f"different numbers, at least one and at most {MOST_LEVELS}")
    return tuple(sorted(found))


def contour_lines(density: NDArray[Any], level: float) -> list[Line]:
    """Return the closed lines on which a density has a level, in units of cells; the first cell's middle is (0, 0).

    Args:
        density: a number for each cell of a plane.
        level: above 0.

    >>> [len(line) for line in contour_lines(np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]), 1.0)]
    [5]

    """
    padded = np.pad(np.asarray(density, dtype=np.float64), 1)
    above = padded >= level
    signs = above[:-1, :-1] + 2 * above[:-1, 1:] + 4 * above[1:, 1:] + 8 * above[1:, :-1]
    following: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for row, column in np.argwhere((signs != 0) & (signs != 15)).tolist():
        sign = int(signs[row, column])
        pieces = _PIECES.get(sign)
        if pieces is None:
            middle = float(padded[row : row + 2, column : column + 2].mean())
            pieces = _SADDLES[sign, middle >= level]
        for start, end in pieces:
            following[_edge(row, column, start)] = _edge(row, column, end)
    lines = []
    while following:
        first, here = following.popitem()
        passed = [first, here]
        while here != first:
            here = following.pop(here)
            passed.append(here)
        lines.append([_crossing(padded, edge, level) for edge in passed])
    return lines


def _edge(row: int, column: int, side: int) -> tuple[int, int, int]:
    """Return an edge of a square by its first corner and its axis, so that two squares call it the same."""
    return ((row, column, 1), (row, column + 1, 0), (row + 1, column, 1), (row, column, 0))[side]


def _crossing(padded: Floats, edge: tuple[int, int, int], level: float) -> tuple[float, float]:
    row, column, axis = edge
    one = float(padded[row, column])
    other = float(padded[row + (axis == 0), column + (axis == 1)])
    part = (level - one) / (other - one)
    # The border that was added lies before the first cell.
    return row - 1 + (part if axis == 0 else 0.0), column - 1 + (part if axis == 1 else 0.0)
