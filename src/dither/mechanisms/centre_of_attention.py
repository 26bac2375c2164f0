"""The centre of attention: the midpoint of the shortest interval with a majority, and a smooth bound on its moves.

For numbers of which most agree and some may be anywhere, such as the answers of many blocks of rows. When most lie
close together, no few of them can move the centre far, and the bound is of the size of their spread; a mean would move
by their whole range. Runs on private data and raises because of none; both results are private.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive, whole
from dither.privacy.sensitivity.smooth import smooth_bound

#: Beyond e to this power a term counts as the largest possible: a public place to stop.
_FARTHEST = 64
_LARGEST = 2**50


def majority(count: int, changed: int) -> int:
    """Return the smallest m such that two intervals that hold m points each share a point that was not replaced.

    Of ``count`` points ``changed`` may be replaced; intervals with t points before and t after hold at least t -
    changed each of the other count - changed, so they meet when 2 t > count + changed.

    >>> majority(9, 1), majority(10, 2)
    (6, 7)
    """
    return (count + changed) // 2 + 1


def centre_of_attention(
    points: NDArray[np.int64], *, changed: int, most: int, smoothness: Number
) -> NDArray[np.float64]:
    """Return the midpoint of the shortest interval that holds a majority of the points, and a smooth bound.

    Guarantee: for points of which ``changed`` are replaced, the centres differ by no more than either bound, and the
    bounds lie within a factor of e^smoothness of each other. O(n log n) and n / smoothness steps.

    Args:
        points: integers from 0 to ``most``, more than ``changed`` of them; their number is public.
        changed: how many of them one unit of data may replace.
        most: the public range, at most 2^50.
        smoothness: the b of e^(-b s).

    >>> centre_of_attention(np.array([40, 41, 41, 42, 43, 42, 0]), changed=1, most=100, smoothness=1)
    array([41.        ,  9.67647...])

    """
    replaced, size = whole("changed", changed, least=1), len(points)
    longest, decay = whole("most", most, least=1, most=_LARGEST), positive("smoothness", smoothness, at_most=1)
    if not size > replaced:
        raise InvalidParameter("points", f"{size} points", f"more than {replaced}, all of which may be replaced")
    ordered = np.sort(np.clip(points, 0, longest)).astype(np.int64)
    held = majority(size, replaced)
    first = int(np.argmin(_widths(ordered, held)))
    centre = (ordered[first] + ordered[first + held - 1]) / 2
    # How many terms are computed depends on public numbers alone; those beyond count as the largest.
    terms = min((size - held) // replaced + 1, math.ceil(Fraction(_FARTHEST) / decay))
    shortest = [float(_shortest(ordered, held + term * replaced, longest)) for term in range(terms + 1)]
    local = [(here + there) / 2 for here, there in pairwise(shortest)]
    return np.array([centre, smooth_bound(local, most=longest, smoothness=decay)])


def _shortest(ordered: NDArray[np.int64], held: int, longest: int) -> int:
    """Return the length of the shortest interval that holds ``held`` points; the whole range if there are fewer."""
    return longest if held > ordered.size else int(_widths(ordered, held).min())


def _widths(ordered: NDArray[np.int64], held: int) -> NDArray[np.int64]:
    widths: NDArray[np.int64] = ordered[held - 1 :] - ordered[: ordered.size - held + 1]
    return widths
