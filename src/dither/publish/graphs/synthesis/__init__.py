"""Synthetic graphs: edges that anybody may have, drawn from released numbers about private ones.

Belongs here: mechanisms under edge privacy whose output is a list of synthetic edges on the public nodes, or numbers
that a model of graphs is made of. Does not belong here: counts and degrees for their own sake (``publish.graphs``).
"""

from dither.publish.graphs.synthesis.clustered_graph import ClusteredGraph
from dither.publish.graphs.synthesis.community_graph import CommunityGraph
from dither.publish.graphs.synthesis.degree_graph import DegreeGraph
from dither.publish.graphs.synthesis.density_graph import DensityGraph
from dither.publish.graphs.synthesis.ergm_statistics import ErgmStatistics
from dither.publish.graphs.synthesis.graph_update import GraphUpdate
from dither.publish.graphs.synthesis.grown_hierarchy import GrownHierarchy
from dither.publish.graphs.synthesis.hierarchical_graph import HierarchicalGraph
from dither.publish.graphs.synthesis.joint_degree_graph import JointDegreeGraph
from dither.publish.graphs.synthesis.kronecker_graph import KroneckerGraph
from dither.publish.graphs.synthesis.top_edges_graph import TopEdgesGraph
from dither.publish.graphs.synthesis.weighted_query import WeightedQuery

__all__ = [
    "ClusteredGraph",
    "CommunityGraph",
    "DegreeGraph",
    "DensityGraph",
    "ErgmStatistics",
    "GraphUpdate",
    "GrownHierarchy",
    "HierarchicalGraph",
    "JointDegreeGraph",
    "KroneckerGraph",
    "TopEdgesGraph",
    "WeightedQuery",
]
