"""Communities of a graph by its modularity: nodes move to the neighbour's community that gains most, level by level.

The method of Blondel, Guillaume, Lambiotte and Lefebvre (2008). It is handed released weights, or a graph that anybody
may have; no private edge comes here.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dither.publish.graphs.simple_graph import Ints
from dither.publish.graphs.synthesis.settled import Floats

_LEVELS: Final = 12
_SWEEPS: Final = 12


def communities(edges: Ints, weights: Floats, nodes: int) -> Ints:
    """Return the number of the community of each node.

    Args:
        edges: pairs of nodes, each once; both ends may be the same.
        weights: of each of them, not negative.
        nodes: their number.

    >>> cliques = np.array([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)])
    >>> communities(cliques, np.ones(7), 6).tolist()
    [0, 0, 0, 1, 1, 1]

    """
    label = np.arange(nodes)
    ends, worth, count = edges, weights, nodes
    for _ in range(_LEVELS):
        moved = _moved(ends, worth, count)
        names, moved = np.unique(moved, return_inverse=True)
        label = moved[label]
        if len(names) == count:
            break
        pairs = np.sort(moved[ends], axis=1)
        keys, place = np.unique(pairs[:, 0] * len(names) + pairs[:, 1], return_inverse=True)
        worth = np.bincount(place, weights=worth, minlength=len(keys)).astype(np.float64)
        ends, count = np.column_stack([keys // len(names), keys % len(names)]), len(names)
    return np.asarray(label, dtype=np.int64)


def _moved(edges: Ints, weights: Floats, nodes: int) -> Ints:
    """Return the communities after nodes moved one by one until nothing is gained."""
    total = float(weights.sum())
    if total <= 0:
        return np.arange(nodes)
    is_loop = edges[:, 0] == edges[:, 1]
    source = np.concatenate([edges[~is_loop, 0], edges[~is_loop, 1]])
    target = np.concatenate([edges[~is_loop, 1], edges[~is_loop, 0]])
    worth = np.concatenate([weights[~is_loop]] * 2)
    order = np.argsort(source, kind="stable")
    target, worth = target[order], worth[order]
    starts = np.searchsorted(source[order], np.arange(nodes + 1)).tolist()
    strength = np.bincount(edges.ravel(), weights=np.repeat(weights, 2), minlength=nodes).tolist()
    beside, worths = target.tolist(), worth.tolist()
    label, inside = list(range(nodes)), list(strength)
    for _ in range(_SWEEPS):
        changed = 0
        for node in range(nodes):
            first, last = starts[node], starts[node + 1]
            if first == last:
                continue
            mine, mass = label[node], strength[node]
            inside[mine] -= mass
            gained: dict[int, float] = {mine: 0.0}
            for place in range(first, last):
                there = label[beside[place]]
                gained[there] = gained.get(there, 0.0) + worths[place]
            best = mine
            best_gain = gained[mine] - mass * inside[mine] / (2 * total)
            for there, gain in gained.items():
                value = gain - mass * inside[there] / (2 * total)
                if value > best_gain + 1e-12:
                    best, best_gain = there, value
            inside[best] += mass
            if best != mine:
                label[node] = best
                changed += 1
        if not changed:
            break
    return np.array(label, dtype=np.int64)


def modularity(edges: Ints, label: Ints) -> float:
    """Return the share of edges within communities beyond what degrees alone would give.

    >>> round(modularity(np.array([(0, 1), (2, 3)]), np.array([0, 0, 1, 1])), 3)
    0.5
    """
    if not len(edges):
        return 0.0
    within = float(np.mean(label[edges[:, 0]] == label[edges[:, 1]]))
    mass = np.bincount(label[edges.ravel()]) / (2 * len(edges))
    return within - float((mass**2).sum())
