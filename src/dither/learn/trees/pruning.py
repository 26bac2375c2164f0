"""Pruning: splits of a released tree that change nothing beyond its noise are undone. All of it is post-processing."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from dither.errors import InvalidParameter
from dither.learn.rows import Floats
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


def pessimistic(tree: ForestModel, confidence: float = 0.25) -> ForestModel:
    """Return a forest without the splits that do not lower the pessimistic number of errors (C4.5): post-processing.

    The errors of a leaf are taken to be as many as an upper limit of confidence allows for its noisy counts. A split
    goes when its node as a leaf would have no more of them than all leaves below it together.

    Args:
        tree: a released forest.
        confidence: how likely it is that a leaf has more errors than its limit; the smaller, the more is pruned.

    """
    if not 0 < confidence < 1:
        raise InvalidParameter("confidence", confidence, "a number in (0, 1)")
    z = NormalDist().inv_cdf(1 - confidence)
    columns, leaves = tree.columns.values.copy(), tree.leaves.values.copy()
    inner = columns.shape[1]
    for number in range(len(columns)):
        counts = np.vstack([np.zeros((inner, leaves.shape[2])), np.maximum(leaves[number], 0.0)])
        errors = np.array([pessimistic_errors(row, z) for row in counts])
        for node in reversed(range(inner)):
            below = [2 * node + 1] if columns[number, node] == NO_COLUMN else [2 * node + 1, 2 * node + 2]
            counts[node] = counts[below].sum(axis=0)
            alone, together = pessimistic_errors(counts[node], z), float(errors[below].sum())
            errors[node] = min(alone, together)
            if alone <= together:
                first, last = _leaves_below(node, inner)
                leaves[number, first:last] = 0
                leaves[number, first] = counts[node]
                columns[number, _inner_below(node, inner)] = NO_COLUMN
    return replace(tree, columns=PublicArray(columns), leaves=PublicArray(leaves))


def pessimistic_errors(counts: Floats, z: float) -> float:
    """Return the upper limit on the errors of a leaf that answers its largest class (Wilson's interval).

    Args:
        counts: of the classes, at least 0.
        z: the deviations of the limit.

    """
    whole = float(counts.sum())
    if whole <= 0:
        return 0.0
    share = 1 - float(counts.max()) / whole
    middle, square = share + z * z / (2 * whole), share * (1 - share) / whole + z * z / (4 * whole * whole)
    return whole * (middle + z * math.sqrt(square)) / (1 + z * z / whole)


def _inner_below(node: int, inner: int) -> list[int]:
    """Return a node and all inner nodes below it."""
    found = [node]
    for place in found:
        found.extend(child for child in (2 * place + 1, 2 * place + 2) if child < inner)
    return found


def _leaves_below(node: int, inner: int) -> tuple[int, int]:
    """Return the first leaf below a node, and the one after its last."""
    first = last = node
    while first < inner:
        first, last = 2 * first + 1, 2 * last + 2
    return first - inner, last - inner + 1
