"""Shrinking: the dependence that noisy tables of all pairs of attributes show, with most of the noise removed.

For every pair (a, b) of attributes let R_ab be a noisy table of deviations from independence: rows and columns add up
to 0, and the noise of every entry has the standard deviation s_ab, before the means were taken away. Three steps, each
of which keeps what is larger than noise would be:

1. **What an attribute has in common with all others.** G_a, the sum over b of R_ab R_ab' / s_ab^2, would be k I on
   average if there were nothing but noise, k being the sum of all n_b - 1. Its eigenvectors are the directions in which
   the values of a differ; one with the eigenvalue e is believed by 1 - k / e, or not at all (as James and Stein 1961
   shrink a mean).
2. **What a pair has in common.** R_ab, in the directions of a and of b times their weights, is a sum of few products:
   singular values are shrunk to sqrt(S^2 - t^2), with t a share of the largest singular value that noise alone has
   (Gavish and Donoho 2017 derive shrinkage of this kind for matrices of one noise level).
3. **What a cell has for itself.** Counts scatter around any smooth law, by about the root of their size. Of what is
   left of R_ab a cell keeps the share v / (v + s_ab^2), the best linear one if it scatters with the variance v; v is
   four times its expected count.

Constants were chosen on public tables; they decide how good the result is and nothing else. Cost: one singular value
decomposition a pair.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.one_thread import one_thread

Floats = NDArray[np.float64]
#: The numbers of two attributes, the smaller one first.
Pair = tuple[int, ...]

#: The share of the largest singular value of noise below which a singular value is 0.
_THRESHOLD: Final = 0.4
#: The variance of a cell around the law of steps 1 and 2, per expected record.
_SCATTER: Final = 4.0


@one_thread()
def shrink_pairs(
    sizes: Sequence[int],
    deviations: Mapping[Pair, Floats],
    spreads: Mapping[Pair, float],
    expected: Mapping[Pair, Floats],
) -> dict[Pair, Floats]:
    """Return the deviations from independence of all pairs, shrunk.

    Args:
        sizes: the number of values of each attribute.
        deviations: for pairs of attributes, tables whose rows and columns add up to 0.
        spreads: the standard deviation of the noise of an entry of each, above 0.
        expected: the counts under independence.

    """
    directions = [_directions(axis, sizes, deviations, spreads) for axis in range(len(sizes))]
    shrunk = {}
    for pair, table in deviations.items():
        (rows, row_weights), (columns, column_weights) = directions[pair[0]], directions[pair[1]]
        core = (rows.T @ table @ columns) * np.multiply.outer(row_weights, column_weights)
        left, values, right = np.linalg.svd(core, full_matrices=False)
        noise = spreads[pair] * (math.sqrt(row_weights.sum()) + math.sqrt(column_weights.sum()))
        kept = np.sqrt(np.maximum(values**2 - (_THRESHOLD * noise) ** 2, 0.0))
        common = rows @ ((left * kept) @ right) @ columns.T
        scatter = _SCATTER * np.maximum(expected[pair] + common, 0.0)
        shrunk[pair] = common + scatter / (scatter + spreads[pair] ** 2) * (table - common)
    return shrunk


def _directions(
    axis: int, sizes: Sequence[int], deviations: Mapping[Pair, Floats], spreads: Mapping[Pair, float]
) -> tuple[Floats, Floats]:
    """Return the directions in which an attribute's values differ, and how much each is trusted."""
    gram, noise = np.zeros((sizes[axis], sizes[axis])), 0
    for pair, table in deviations.items():
        if axis in pair:
            seen = (table if pair[0] == axis else table.T) / spreads[pair]
            gram += seen @ seen.T
            noise += seen.shape[1] - 1
    values, vectors = np.linalg.eigh(gram)
    return vectors, np.maximum(1 - noise / np.maximum(values, max(noise, 1)), 0.0)
