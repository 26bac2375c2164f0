"""Clusters: centres of points, released without saying which point belongs to which.

Belongs here: k-means by noisy steps, on a noisy grid and on blocks, their model and estimator. Starts and numbers of
steps are public; labels of rows are computed from released centres by whoever has the rows.
"""

from dither.learn.clusters.blocks import BlockClusters
from dither.learn.clusters.grid import GridClusters
from dither.learn.clusters.lloyd import LloydClusters
from dither.learn.clusters.points import ClustersModel

__all__ = ["BlockClusters", "ClustersModel", "GridClusters", "LloydClusters"]
