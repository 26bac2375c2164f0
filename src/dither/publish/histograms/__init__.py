"""Histograms: counts of cells of a public shape, in one and two dimensions.

Belongs here: methods whose input is an array of counts and whose output is an array of estimates of the same shape, or
counts of bins that are not listed in advance. Does not belong here: batches of given queries (``workloads``), tables of
many attributes (``marginals``), estimates from released numbers (``estimate``).
"""

from dither.publish.histograms.ahp import ClusteredHistogram
from dither.publish.histograms.bisection import Bisection
from dither.publish.histograms.dawa import Dawa
from dither.publish.histograms.dp_cube import DpCube
from dither.publish.histograms.equi_width import EquiWidthHistogram
from dither.publish.histograms.grids import AdaptiveGrid, UniformGrid
from dither.publish.histograms.hierarchical import HierarchicalHistogram
from dither.publish.histograms.identity import IdentityHistogram
from dither.publish.histograms.median_tree import MedianCuts, MedianTree
from dither.publish.histograms.most_likely import MostLikelyHistogram
from dither.publish.histograms.noise_first import MergedHistogram
from dither.publish.histograms.partition import LeastCostPartition
from dither.publish.histograms.php import BisectedHistogram
from dither.publish.histograms.priv_tree import PrivTree, QuarteringTree
from dither.publish.histograms.pruned import PrunedHistogram
from dither.publish.histograms.pruned_plane import PrunedPlane
from dither.publish.histograms.quad_tree import QuadTree
from dither.publish.histograms.sorted_histogram import SortedHistogram
from dither.publish.histograms.sparse_filter import SparseHistogram
from dither.publish.histograms.stability_histogram import StabilityHistogram
from dither.publish.histograms.structure_first import StructureFirst
from dither.publish.histograms.uniform import UniformHistogram

__all__ = [
    "AdaptiveGrid",
    "BisectedHistogram",
    "Bisection",
    "ClusteredHistogram",
    "Dawa",
    "DpCube",
    "EquiWidthHistogram",
    "HierarchicalHistogram",
    "IdentityHistogram",
    "LeastCostPartition",
    "MedianCuts",
    "MedianTree",
    "MergedHistogram",
    "MostLikelyHistogram",
    "PrivTree",
    "PrunedHistogram",
    "PrunedPlane",
    "QuadTree",
    "QuarteringTree",
    "SortedHistogram",
    "SparseHistogram",
    "StabilityHistogram",
    "StructureFirst",
    "UniformGrid",
    "UniformHistogram",
]
