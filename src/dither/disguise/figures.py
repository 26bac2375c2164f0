"""What the counts of sensitive values in a class say of it: how diverse it is, and how far from the whole table.

Every function takes counts, a row for each class and a column for each value, and the share of each value in the whole
table, and returns one number a class. No class is empty, and every value occurs in the table.

Sources: l-diversity (Machanavajjhala et al. 2006), t-closeness (Li, Li, Venkatasubramanian 2007), (alpha, k)-anonymity
(Wong et al. 2006), delta-disclosure (Brickell, Shmatikov 2008), beta-likeness (Cao, Karras 2012).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dither.disguise.classes import Counts, Figure, Figures

#: Shares are floats: what is equal by the definition may differ by so much.
SLACK = 1e-9


def distinct(counts: Counts, whole: Figures) -> Figures:
    """Return how many different values a class has."""
    del whole
    found: Figures = np.count_nonzero(counts, axis=1).astype(np.float64)
    return found


def entropy(counts: Counts, whole: Figures) -> Figures:
    """Return e to the entropy of the values of a class: the l of entropy l-diversity."""
    del whole
    shares = _shares(counts)
    found: Figures = np.exp(-np.sum(shares * np.log(np.where(shares > 0, shares, 1)), axis=1))
    return found


def recursive(c: float) -> Figure:
    """Return the figure of recursive (c, l)-diversity.

    The largest l for which the most frequent value is less frequent than c times all values from the l-th on, or 0.
    """

    def figure(counts: Counts, whole: Figures) -> Figures:
        del whole
        ordered = -np.sort(-counts, axis=1)
        tails = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
        # Tails shrink with l, so that those that hold are the first ones.
        found: Figures = np.count_nonzero(ordered[:, :1] < c * tails, axis=1).astype(np.float64)
        return found

    return figure


def largest_share(counts: Counts, whole: Figures) -> Figures:
    """Return the share of the most frequent value of a class: the alpha of (alpha, k)-anonymity."""
    del whole
    found: Figures = _shares(counts).max(axis=1)
    return found


def likeness(counts: Counts, whole: Figures) -> Figures:
    """Return the greatest relative gain of a value over its share in the table: the beta of basic beta-likeness."""
    found: Figures = np.maximum((_shares(counts) - whole) / whole, 0).max(axis=1)
    return found


def disclosure(counts: Counts, whole: Figures) -> Figures:
    """Return the greatest |log(share in the class / share in the table)|; infinite where a value does not occur."""
    shares = _shares(counts)
    with np.errstate(divide="ignore"):
        found: Figures = np.abs(np.log(shares / whole)).max(axis=1)
        return found


def equal_distance(counts: Counts, whole: Figures) -> Figures:
    """Return the earth mover's distance from the table where any two values are at distance 1."""
    found: Figures = np.abs(_shares(counts) - whole).sum(axis=1) / 2
    return found


def ordered_distance(counts: Counts, whole: Figures) -> Figures:
    """Return the earth mover's distance where values stand in a row, the first and the last at distance 1."""
    gaps = len(whole) - 1
    if gaps == 0:
        return np.zeros(len(counts))
    found: Figures = np.abs(np.cumsum(_shares(counts) - whole, axis=1)[:, :-1]).sum(axis=1) / gaps
    return found


def hierarchical_distance(above: Sequence[NDArray[np.int64]]) -> Figure:
    """Return the earth mover's distance where values are leaves of a tree.

    Two values are as far apart as the height of the lowest node above both, of the height of the tree. On the way up,
    what a node has too much of goes where one of its children has too little, at the height of the node.

    Args:
        above: for each level from the lowest up, the number of the node above each value; the last has one node.

    """

    def figure(counts: Counts, whole: Figures) -> Figures:
        extra = _shares(counts) - whole
        cost: Figures = np.zeros(len(counts))
        child = np.arange(len(whole))
        for height, nodes in enumerate(above, start=1):
            most = int(nodes.max()) + 1
            parent = np.zeros(int(child.max()) + 1, dtype=np.int64)
            parent[child] = nodes
            more, less = np.zeros((len(counts), most)), np.zeros((len(counts), most))
            for place, node in enumerate(parent.tolist()):
                more[:, node] += np.maximum(extra[:, place], 0)
                less[:, node] += np.maximum(-extra[:, place], 0)
            cost += height / len(above) * np.minimum(more, less).sum(axis=1)
            extra, child = more - less, nodes
        return cost

    return figure


def _shares(counts: Counts) -> Figures:
    shares: Figures = counts / counts.sum(axis=1, keepdims=True)
    return shares
