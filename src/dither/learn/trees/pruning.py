"""Pruning: splits of a released tree that change nothing beyond its noise are undone. All of it is post-processing."""

from __future__ import annotations

import numpy as np

from dither.learn.trees.models import NO_COLUMN, ForestModel
from dither.mechanisms.core.public import PublicArray


def pruned(tree: ForestModel, margin: float = 1.0) -> ForestModel:
    """Return a forest without the splits that change no answer by more than the noise: post-processing.

    A split above two leaves goes when both have the same largest class, or when it moves fewer than ``margin`` times
    ``tree.smoothing`` records to the right side; then the nodes above are looked at.

    Args:
        tree: a released forest.
        margin: the least worth of a split, as a multiple of the tree's smoothing.

    """
    columns, leaves = tree.columns.values.copy(), tree.leaves.values.copy()
    inner = columns.shape[1]
    for number in range(len(columns)):
        counts = np.vstack([np.zeros((inner, leaves.shape[2])), leaves[number]])
        is_leaf = np.arange(2 * inner + 1) >= inner
        for node in reversed(range(inner)):
            left, right = counts[2 * node + 1], counts[2 * node + 2]
            counts[node] = left if columns[number, node] == NO_COLUMN else left + right
            gain = left.max() + right.max() - (left + right).max()
            alone = columns[number, node] == NO_COLUMN
            if is_leaf[2 * node + 1] and (alone or (is_leaf[2 * node + 2] and gain < margin * tree.smoothing)):
                columns[number, node], is_leaf[node] = NO_COLUMN, True
                first, last = _leaves_below(node, inner)
                leaves[number, first:last] = 0
                leaves[number, first] = counts[node]
    return ForestModel(
        tree.lower,
        tree.upper,
        tree.counts,
        tree.unordered,
        PublicArray(columns),
        tree.right,
        PublicArray(leaves),
        tree.smoothing,
    )


def _leaves_below(node: int, inner: int) -> tuple[int, int]:
    """Return the first leaf below a node, and the one after its last."""
    first = last = node
    while first < inner:
        first, last = 2 * first + 1, 2 * last + 2
    return first - inner, last - inner + 1
