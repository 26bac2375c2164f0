"""Contingency tables: marginals of records with a few or a hundred attributes.

Belongs here: methods whose input is an array of records and whose output is a set of marginals, and what makes released
marginals agree. Does not belong here: tables of one or two dimensions (``histograms``), batches of other linear queries
(``workloads``), synthetic records. The full table is written out by ``ContingencyTable`` alone.
"""

from dither.lift.attributes import Attributes
from dither.publish.marginals.contingency_table import ContingencyTable
from dither.publish.marginals.covering import covering_views
from dither.publish.marginals.cuboids import choose_cuboids, choose_most_precise
from dither.publish.marginals.data_cubes import DataCubes
from dither.publish.marginals.fourier import FourierMarginals
from dither.publish.marginals.interactions import Agreed, agree
from dither.publish.marginals.per_marginal import NoisyMarginals
from dither.publish.marginals.priview import PriView
from dither.publish.marginals.residual_planner import ResidualPlanner, best_plan

__all__ = [
    "Agreed",
    "Attributes",
    "ContingencyTable",
    "DataCubes",
    "FourierMarginals",
    "NoisyMarginals",
    "PriView",
    "ResidualPlanner",
    "agree",
    "best_plan",
    "choose_cuboids",
    "choose_most_precise",
    "covering_views",
]
