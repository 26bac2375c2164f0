"""Bugs in graphs: what one edge, one weight or one node moves, for some pattern, size or degree only."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dither.mechanisms import Geometric
from dither.mechanisms.core import relative_scores as relative
from dither.publish.graphs import local
from dither.publish.graphs.laplace_count import LaplaceCount
from dither.publish.graphs.projected_degrees import ProjectedDegrees
from dither.publish.graphs.simple_graph import graph_of
from dither.publish.graphs.spanning_tree import SpanningTreeCost
from dither.publish.graphs.weighted_length import WeightedLength
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Sheet, oversteps

_FAMILY = "graphs"


def _edges(*pairs: tuple[int, int]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _stars() -> str:
    """Try the complete graph on five nodes and one edge less: each of its ends loses three stars of three."""
    count = LaplaceCount(nodes=5, pattern="stars", k=3, noise=Geometric(scale=9))
    every = _edges(*combinations(range(5), 2))
    return oversteps(count, every, every[1:])


def _cliques() -> str:
    """Try the complete graph on six nodes and one edge less: six cliques of four."""
    count = LaplaceCount(nodes=6, pattern="cliques", k=4, noise=Geometric(scale=9))
    every = _edges(*combinations(range(6), 2))
    return oversteps(count, every, every[1:])


def _ladder() -> str:
    """Stars of two around one hub, with a second node of one edge less: the ladder of one graph, one rung up."""
    here = _edges((0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3))
    for place in range(len(here)):
        there = np.delete(here, place, axis=0)
        rungs = [local.star_ladder(graph_of(edges, 6), 12, 2) for edges in (here, there)]
        for first, second in (rungs, rungs[::-1]):
            if (first[:-1] > second[1:]).any():
                return (
                    f"without edge {here[place].tolist()} {first.tolist()} is not below {second.tolist()} one rung on"
                )
    return ""


def _projection() -> str:
    """Eight nodes, and a ninth with five edges: cumulative counts of projected degrees."""
    release = ProjectedDegrees(nodes=9, degree=2, node=Geometric(scale=4))
    others = ((1, 6), (2, 3), (2, 4), (2, 6), (3, 4), (3, 7), (4, 5), (5, 6), (5, 7), (6, 7), (6, 8))
    hub = ((0, 1), (0, 2), (0, 4), (0, 6), (0, 8))
    return oversteps(release, _edges(*others), _edges(*others, *hub))


def _falling() -> str:
    """Try a tree of two edges whose weights can only fall: how far one weight moves its cost."""
    tree = SpanningTreeCost(nodes=3, low=0, high=100, scale=2)
    here = np.array([[0, 1, 90], [1, 2, 90], [0, 2, 95]])
    there = np.array([[0, 1, 0], [1, 2, 90], [0, 2, 95]])
    costs, widths = [], []
    for data in (here, there):
        sheet = Sheet()
        tree.release(data, sheet)  # type: ignore[arg-type]
        ((_, value, _),) = sheet.handed
        costs.append(int(value[0]))
        widths.append([int(width) for width in value[1:]])
    moved = abs(costs[0] - costs[1])
    return (
        "" if all(moved <= rungs[0] for rungs in widths) else f"one weight moves the cost by {moved}, beyond {widths}"
    )


def _weights() -> str:
    """Try a weight of minus a thousand, which counts as the least one."""
    length = WeightedLength(nodes=3, low=0, high=10, what="spanning-tree", noise=Geometric(scale=10))
    return oversteps(length, np.array([[0, 1, 3], [1, 2, 4]]), np.array([[0, 1, -1000], [1, 2, 4]]))


def _relative() -> str:
    """Three values that all rise, each by its own sensitivity."""
    sensitivities = [1, 4, 16]
    values = [100, 90, 80]
    for moved in ([1, 0, 0], [0, 4, 0], [0, 0, 16], [1, 4, 0], [0, 4, 16], [1, 0, 16], [1, 4, 16]):
        here = relative.relative_scores(values, sensitivities, 1)
        there = relative.relative_scores([a + b for a, b in zip(values, moved, strict=True)], sensitivities, 1)
        apart = int(np.abs(there - here).max())
        if apart > relative.RELATIVE_STEPS // 2 + 1:
            return (
                f"values that rise by {moved} move a score by {apart / relative.RELATIVE_STEPS:.6g} steps, beyond 1/2"
            )
    return ""


GRAPHS = (
    Plant(
        46,
        "stars of three or more are counted at one end",
        _FAMILY,
        "an edge moves them at both of its ends",
        ("graph-laplace",),
        edited(
            "dither.publish.graphs.local:star_reach",
            ("2 * math.comb(nodes - 2, k - 1)", "(2 if k < 3 else 1) * math.comb(nodes - 2, k - 1)"),
        ),
        _stars,
    ),
    Plant(
        47,
        "cliques of four or more are bounded as triangles",
        _FAMILY,
        "an edge lies in more cliques than there are other nodes",
        ("graph-laplace",),
        edited(
            "dither.publish.graphs.cliques:clique_reach",
            ("math.comb(nodes - 2, k - 2)", "math.comb(nodes - 2, min(k, 3) - 2)"),
        ),
        _cliques,
    ),
    Plant(
        48,
        "the second degree of a star ladder never grows",
        _FAMILY,
        "rungs of neighbours do not interleave once the hub is full",
        ("graph-ladder", "graph-smooth"),
        edited(
            "dither.publish.graphs.local:star_ladder",
            (
                "np.minimum(smaller + np.maximum(steps - (top - larger), 0), top)",
                "np.minimum(smaller + 0 * steps, top)",
            ),
        ),
        _ladder,
    ),
    Plant(
        49,
        "edges of rare nodes are kept first",
        _FAMILY,
        "the order of a projection follows the degrees, so that one node changes it everywhere",
        ("projected-degrees", "projected-edges"),
        edited(
            "dither.publish.graphs.projection:projected",
            (
                'np.argsort(edge_hash(graph.edges), kind="stable")',
                'np.argsort(graph.degrees[graph.edges].sum(axis=1), kind="stable")',
            ),
        ),
        _projection,
    ),
    Plant(
        50,
        "weights of a spanning tree only rise",
        _FAMILY,
        "the first rung leaves out how far a weight may fall",
        ("spanning-tree-cost",),
        edited(
            "dither.publish.graphs.weighted:forest_moves",
            (
                "max((weights[places] - low).max(), (replaced - weights[places]).max())",
                "(replaced - weights[places]).max()",
            ),
        ),
        _falling,
    ),
    Plant(
        51,
        "weights are cut off above alone",
        _FAMILY,
        "a weight far below the least one moves a length without limit",
        ("weighted-length", "spanning-tree-cost"),
        edited(
            "dither.publish.graphs.weighted:weighted_graph",
            ("np.clip(weights, low, high)", "np.minimum(weights, high)"),
        ),
        _weights,
    ),
    Plant(
        52,
        "leads are divided by the smaller sensitivity",
        _FAMILY,
        "relative scores of unlike candidates move too far",
        ("chosen-triangles", "chosen-copies"),
        edited(
            "dither.mechanisms.core.relative_scores:relative_scores",
            ("(2 * max(unit, others))", "(2 * min(unit, others))"),
        ),
        _relative,
    ),
)
