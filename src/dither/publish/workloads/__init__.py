"""Batches of linear queries on tables of counts: the workload, the strategy measured in its place, and the answers.

Belongs here: workloads, strategies, searches for strategies, and mechanisms that measure a strategy and answer from it.
Does not belong here: histograms chosen by data (``histograms``), synthetic rows (``synthetic``). A workload, a strategy
and the error of one on the other need no data; the page ``docs/theory/workloads.md`` has the formulae.
"""

from dither.publish.workloads.decompositions import low_rank_design, orthogonal_design
from dither.publish.workloads.eigen import EigenDesign
from dither.publish.workloads.factorisation import Factorisation, eigen_design, optimal_factorisation, prefix_root
from dither.publish.workloads.gaussian_factorisation import GaussianFactorisation
from dither.publish.workloads.grids import in_rows_of, on_grid
from dither.publish.workloads.grouped import Grouped
from dither.publish.workloads.grouping import GroupingAndSmoothing
from dither.publish.workloads.hdmm import Found, Hdmm, find_strategy, opt_union
from dither.publish.workloads.ireduct import IReduct
from dither.publish.workloads.low_rank import LowRank
from dither.publish.workloads.marginals import Marginals
from dither.publish.workloads.matrices import Dense, Identity, Matrix, Sparse, Total
from dither.publish.workloads.mechanism import MatrixMechanism, Measured
from dither.publish.workloads.optimise import opt_0, opt_kron, opt_marginals
from dither.publish.workloads.orthogonal import OrthogonalMechanism
from dither.publish.workloads.p_identity import PIdentity
from dither.publish.workloads.privelet import Privelet
from dither.publish.workloads.products import Kron, Union, Weighted
from dither.publish.workloads.ranges import AllRanges, Prefixes, Ranges
from dither.publish.workloads.record import register_matrix
from dither.publish.workloads.trees import Haar, Hierarchy, NominalTree
from dither.publish.workloads.two_phase import TwoPhase
from dither.publish.workloads.weighted_marginals import WeightedMarginals
from dither.publish.workloads.workload import Strategy, Workload

__all__ = [
    "AllRanges",
    "Dense",
    "EigenDesign",
    "Factorisation",
    "Found",
    "GaussianFactorisation",
    "Grouped",
    "GroupingAndSmoothing",
    "Haar",
    "Hdmm",
    "Hierarchy",
    "IReduct",
    "Identity",
    "Kron",
    "LowRank",
    "Marginals",
    "Matrix",
    "MatrixMechanism",
    "Measured",
    "NominalTree",
    "OrthogonalMechanism",
    "PIdentity",
    "Prefixes",
    "Privelet",
    "Ranges",
    "Sparse",
    "Strategy",
    "Total",
    "TwoPhase",
    "Union",
    "Weighted",
    "WeightedMarginals",
    "Workload",
    "eigen_design",
    "find_strategy",
    "in_rows_of",
    "low_rank_design",
    "on_grid",
    "opt_0",
    "opt_kron",
    "opt_marginals",
    "opt_union",
    "optimal_factorisation",
    "orthogonal_design",
    "prefix_root",
    "register_matrix",
]
