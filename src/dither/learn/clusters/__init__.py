"""Clusters: centres of points, released without saying which point belongs to which.

Belongs here: k-means by noisy steps, on a noisy grid or a refined one, on a private coreset, after a projection, by a
genetic search and on blocks, subspaces, mixtures of Gaussian components, their models and estimators. Starts and
numbers of steps are public; the owner of the rows computes their labels from the released centres.
"""

from dither.learn.clusters.blocks import BlockClusters
from dither.learn.clusters.bootstrap import BootstrapMeans
from dither.learn.clusters.coreset import CoresetClusters
from dither.learn.clusters.grid import GridClusters
from dither.learn.clusters.lloyd import LloydClusters
from dither.learn.clusters.mixture import NoisyMixture
from dither.learn.clusters.mixture_model import MixtureModel
from dither.learn.clusters.points import ClustersModel
from dither.learn.clusters.priv_gene import PrivGene
from dither.learn.clusters.private_coreset import CoresetModel, PrivateCoreset
from dither.learn.clusters.projected import ProjectedClusters
from dither.learn.clusters.public_lloyd import PublicClusters, public_lloyd
from dither.learn.clusters.refined import RefinedClusters
from dither.learn.clusters.su import SuClusters
from dither.learn.clusters.subspaces import ChosenSubspaces, SubspacesModel
from dither.learn.clusters.voted_subspaces import VotedSubspaces

__all__ = [
    "BlockClusters",
    "BootstrapMeans",
    "ChosenSubspaces",
    "ClustersModel",
    "CoresetClusters",
    "CoresetModel",
    "GridClusters",
    "LloydClusters",
    "MixtureModel",
    "NoisyMixture",
    "PrivGene",
    "PrivateCoreset",
    "ProjectedClusters",
    "PublicClusters",
    "RefinedClusters",
    "SuClusters",
    "SubspacesModel",
    "VotedSubspaces",
    "public_lloyd",
]
