"""Bugs in releases of graphs: a bound for one kind of noise, a weight below zero, an order that follows the data."""

from __future__ import annotations

from itertools import combinations

from dither.mechanisms import DiscreteGaussian, Geometric
from dither.publish.graphs import truncated_count
from dither.publish.graphs.chosen_edges import ChosenEdges
from dither.publish.graphs.degree_histogram import DegreeHistogram
from dither.publish.graphs.projected_edges import ProjectedEdges
from dither.publish.graphs.standing_out import UNIT
from dither.publish.graphs.synthesis.community_graph import CommunityGraph
from dither.publish.graphs.weighted_length import WeightedLength
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import oversteps

_FAMILY = "graphs"


def _equal_ends() -> str:
    """Four nodes and one edge: two nodes leave one cell for another, which is the root of 8."""
    return oversteps(DegreeHistogram(nodes=4, node=DiscreteGaussian(sigma=3)), [], [(0, 1)])


def _pairs_over() -> str:
    """Four nodes, all joined: each of six edges has two nodes over it, and none has without the last node."""
    edges = set(combinations(range(4), 2))

    def copies(left: int) -> int:
        own = {edge for edge in edges if max(edge) < left}
        over = (
            sum({tuple(sorted((a, c))), tuple(sorted((b, c)))} <= own for c in range(left) if c not in (a, b))
            for a, b in own
        )
        return sum(many * (many - 1) // 2 for many in over)

    moved, stated = copies(4) - copies(3), truncated_count.restricted_reach(3, "k-triangles", 2)
    return f"one node moves {moved} copies, and {stated} are stated" if moved > stated else ""


def _below_zero() -> str:
    """Two nodes and one edge, whose weight goes from the least to the largest."""
    made = WeightedLength(nodes=2, low=-8, high=8, what="spanning-tree", noise=Geometric(scale=8))
    return oversteps(made, [(0, 1, -8)], [(0, 1, 8)])


def _order() -> str:
    """Eight edges, and a twelfth node beside five others: how many edges of a matching that node moves."""
    edges = [(0, 4), (0, 6), (0, 10), (1, 4), (1, 9), (2, 6), (2, 9), (5, 10)]
    made = ProjectedEdges(nodes=12, degree=1, noise=Geometric(scale=4))
    return oversteps(made, edges, [*edges, *((place, 11) for place in (1, 5, 6, 7, 9))])


def _two_noises() -> str:
    """One edge, seen with geometric noise while degrees have Gaussian noise: two rows move by 1 each."""
    made = CommunityGraph(
        nodes=4,
        most=6,
        blocks=2,
        rounds=1,
        seen=Geometric(scale=2),
        node=DiscreteGaussian(sigma=2),
        cell=Geometric(scale=2),
    )
    return oversteps(made, [], [(0, 1)])


def _twice() -> str:
    """Take a star of five edges, which is one node: the flow moves by the bound, and twice the flow by twice that."""
    made = ChosenEdges(
        nodes=6, bounds=(2,), penalties=(0,), choice_scale=2, flips=False, noise=Geometric(scale=2 * UNIT)
    )
    return oversteps(made, [], [(0, other) for other in range(1, 6)])


GRAPHS = (
    Plant(
        101,
        "an edge is taken to move four different cells of the degree histogram",
        _FAMILY,
        "Gaussian noise is for a length of 2, where an edge between equal degrees moves by the root of 8",
        ("degree-histogram",),
        edited("dither.publish.graphs.degree_histogram:moved_cells", ("Fraction(17, 6)", "Fraction(2)")),
        _equal_ends,
    ),
    Plant(
        102,
        "the restricted reach of k-triangles forgets edges beyond the node",
        _FAMILY,
        "copies over an edge that does not touch the node are not counted",
        ("truncated-count",),
        edited(
            "dither.publish.graphs.truncated_count:restricted_reach",
            ("return over + degree * math.comb(degree - 1, k)", "return max(over, degree * math.comb(degree - 1, k))"),
        ),
        _pairs_over,
    ),
    Plant(
        103,
        "the span of weights starts at nothing",
        _FAMILY,
        "with a least weight below 0, a weight moves farther than its largest value",
        ("weighted-length", "spanning-tree-cost"),
        edited(
            "dither.publish.graphs.weighted_length:Weighted.span",
            ("return self.high - self.low", "return max(abs(self.high), abs(self.low))"),
        ),
        _below_zero,
    ),
    Plant(
        104,
        "the projection takes edges of low degree first",
        _FAMILY,
        "the order of edges follows the degrees, so that one node changes it for all",
        ("projected-edges", "projected-degrees"),
        edited(
            "dither.publish.graphs.projection:projected",
            ("edge_hash(graph.edges)", "graph.degrees[graph.edges].sum(axis=1)"),
        ),
        _order,
    ),
    Plant(
        105,
        "neighbours in blocks are bounded by the noise of degrees",
        _FAMILY,
        "where one noise is geometric and the other Gaussian, an edge moves more than is stated",
        ("community-graph",),
        edited(
            "dither.publish.graphs.synthesis.community_graph:CommunityGraph.moved",
            ("isinstance(self.seen, Geometric)", "isinstance(self.node, Geometric)"),
        ),
        _two_noises,
    ),
    Plant(
        106,
        "twice the flow is put on the grid of the flow",
        _FAMILY,
        "a node moves the number of edges by twice what is stated",
        ("chosen-edges",),
        edited(
            "dither.publish.graphs.chosen_edges:ChosenEdges.release",
            ("in_units(twice_flow(graph, bound), 2 * bound)", "in_units(twice_flow(graph, bound), bound)"),
        ),
        _twice,
    ),
)
