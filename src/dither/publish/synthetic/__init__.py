"""Synthetic tables: models of private records, made of noisy marginals, from which new records are drawn.

Belongs here: methods that select, measure and generate, the models that they release, and from declared columns to
codes and back. Does not belong here: estimates from released numbers, which are in ``dither.estimate``. A method sees
its records through their marginals only, and pays for each one that it looks at.
"""

from dither.lift.records import CodedRecords, Records, records_of
from dither.publish.synthetic.aim import AdaptiveIterative
from dither.publish.synthetic.all_pairs import AllPairs
from dither.publish.synthetic.bits import BinaryModel
from dither.publish.synthetic.boosting import BoostedQueries
from dither.publish.synthetic.columns import Coding, codings_of
from dither.publish.synthetic.constraints import Constraint, Determined, Impossible
from dither.publish.synthetic.copula import CopulaModel, GaussianCopula
from dither.publish.synthetic.counted_families import CountedFamilies
from dither.publish.synthetic.dual_query import DualQuery
from dither.publish.synthetic.families import SyntheticFamilies, plan_families
from dither.publish.synthetic.found_bins import FoundBins, FoundModel
from dither.publish.synthetic.full_table import FullTable
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.jtree import JunctionTreeSynthesis
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.mst import MaximumSpanningTree
from dither.publish.synthetic.mwem import Mwem
from dither.publish.synthetic.mwem_graphical import GraphicalMwem
from dither.publish.synthetic.network import NetworkModel
from dither.publish.synthetic.pair_model import PairModel
from dither.publish.synthetic.parent_child import FAMILIES, Families, FamilyModel, ParentChild
from dither.publish.synthetic.privbayes import PrivBayes
from dither.publish.synthetic.result import Rows, SyntheticTable
from dither.publish.synthetic.small_database import SmallDatabase
from dither.publish.synthetic.synthesizer import METHODS, Synthesizer, plan_synthesis
from dither.publish.synthetic.weighted import WeightedRecords

__all__ = [
    "FAMILIES",
    "METHODS",
    "AdaptiveIterative",
    "AllPairs",
    "BinaryModel",
    "BoostedQueries",
    "CodedRecords",
    "Coding",
    "Constraint",
    "CopulaModel",
    "CountedFamilies",
    "Determined",
    "DualQuery",
    "Families",
    "FamilyModel",
    "FoundBins",
    "FoundModel",
    "FullTable",
    "GaussianCopula",
    "GraphicalModel",
    "GraphicalMwem",
    "Impossible",
    "IndependentMarginals",
    "JunctionTreeSynthesis",
    "MaximumSpanningTree",
    "Model",
    "Mwem",
    "NetworkModel",
    "PairModel",
    "ParentChild",
    "PrivBayes",
    "Records",
    "Rows",
    "SmallDatabase",
    "Synthesizer",
    "SyntheticFamilies",
    "SyntheticTable",
    "WeightedRecords",
    "codings_of",
    "plan_families",
    "plan_synthesis",
    "records_of",
]
