"""Graphs: counts and degrees of who knows whom, under edge privacy and under node privacy.

Belongs here: mechanisms whose input is a list of edges among a public number of nodes, and the exact counts that they
are made of (``counts``, ``local``, ``projection``), which are private and never released by themselves. The unit is an
edge, or a node with all its edges. Does not belong here: what a schema declares about a graph (``data.graphs``), and
how its edges are read from an engine (``lift.edges``).
"""

from dither.lift.lifted import Lifted
from dither.mechanisms.core.registry import add_examples
from dither.publish.graphs.chosen_copies import ChosenCopies
from dither.publish.graphs.chosen_degree_sum import ChosenDegreeSum
from dither.publish.graphs.chosen_degrees import ChosenDegrees
from dither.publish.graphs.chosen_edges import ChosenEdges
from dither.publish.graphs.chosen_stars import ChosenStars
from dither.publish.graphs.chosen_triangles import ChosenTriangles
from dither.publish.graphs.degree_histogram import DegreeHistogram
from dither.publish.graphs.degree_sequence import DegreeSequence
from dither.publish.graphs.degree_tail import DegreeTail
from dither.publish.graphs.degree_vector import DegreeVector
from dither.publish.graphs.examples import lifted_examples
from dither.publish.graphs.flow_edges import FlowEdges
from dither.publish.graphs.graph_ratio import GraphRatio
from dither.publish.graphs.ladder_count import LadderCount
from dither.publish.graphs.laplace_count import LaplaceCount
from dither.publish.graphs.local_count import LocalCount
from dither.publish.graphs.projected_degrees import ProjectedDegrees
from dither.publish.graphs.projected_edges import ProjectedEdges
from dither.publish.graphs.quick_triangles import QuickTriangles
from dither.publish.graphs.race import GraphRace
from dither.publish.graphs.recursive_count import RecursiveCount
from dither.publish.graphs.restricted_count import RestrictedCount
from dither.publish.graphs.smooth_count import SmoothCount
from dither.publish.graphs.spanning_tree import SpanningTreeCost
from dither.publish.graphs.truncated_count import TruncatedCount
from dither.publish.graphs.truncated_edges import TruncatedEdges
from dither.publish.graphs.weighted_length import WeightedLength

__all__ = [
    "ChosenCopies",
    "ChosenDegreeSum",
    "ChosenDegrees",
    "ChosenEdges",
    "ChosenStars",
    "ChosenTriangles",
    "DegreeHistogram",
    "DegreeSequence",
    "DegreeTail",
    "DegreeVector",
    "FlowEdges",
    "GraphRace",
    "GraphRatio",
    "LadderCount",
    "LaplaceCount",
    "LocalCount",
    "ProjectedDegrees",
    "ProjectedEdges",
    "QuickTriangles",
    "RecursiveCount",
    "RestrictedCount",
    "SmoothCount",
    "SpanningTreeCost",
    "TruncatedCount",
    "TruncatedEdges",
    "WeightedLength",
]

add_examples(Lifted.name, lifted_examples)
