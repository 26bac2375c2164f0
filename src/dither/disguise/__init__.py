"""Disguises, WITHOUT a formal guarantee: k-anonymity and its kin, what they leave to an attacker, what they cost.

Belongs here: makers of anonymous tables, checkers of such tables wherever they were made, and measures of risk and
lost information. Does not belong here: anything with a loss. Nothing of this room is a mechanism, can be named in a
plan, a request or a session, or is imported by ``curator``. To add a disguise, write a frozen class under ``@disguise``
in a module of its own, import it here, and add its row to ``docs/disguise.md``; the checks of the room find it.
Numbers without roles are apart: ``matrices`` distorts rows of numbers, ``networks`` changes the weights of edges.
``perturbation`` changes cells, ``buckets`` hides which sensitive value is whose, ``totals`` protects tables of sums.
"""

from dither.disguise.averages import OptimalAverages
from dither.disguise.c_means import CMeans
from dither.disguise.cells import Cell
from dither.disguise.checkers import (
    Presence,
    alpha_k,
    beta_likeness,
    delta_disclosure,
    k_anonymity,
    km_anonymity,
    l_diversity,
    presence,
    t_closeness,
)
from dither.disguise.contract import WARNING, Disguise, Disguised, disguise, disguises, find_disguise
from dither.disguise.full_domain import Datafly, Optimal
from dither.disguise.hierarchies import Hierarchy, read_hierarchies
from dither.disguise.k_member import KMember
from dither.disguise.local_suppression import LocalSuppression
from dither.disguise.measures import Blur, Guess, Risk, risk_of
from dither.disguise.microaggregation import Microaggregation
from dither.disguise.mondrian import Mondrian
from dither.disguise.reading import Reading
from dither.disguise.roles import Roles
from dither.disguise.rules import Rules
from dither.disguise.samarati import Samarati
from dither.disguise.schemes import Guided, GuidedOrdered, SetPartition, Sibling, Subtree, ValueSuppression
from dither.disguise.table import Table

__all__ = [
    "WARNING",
    "Blur",
    "CMeans",
    "Cell",
    "Datafly",
    "Disguise",
    "Disguised",
    "Guess",
    "Guided",
    "GuidedOrdered",
    "Hierarchy",
    "KMember",
    "LocalSuppression",
    "Microaggregation",
    "Mondrian",
    "Optimal",
    "OptimalAverages",
    "Presence",
    "Reading",
    "Risk",
    "Roles",
    "Rules",
    "Samarati",
    "SetPartition",
    "Sibling",
    "Subtree",
    "Table",
    "ValueSuppression",
    "alpha_k",
    "beta_likeness",
    "delta_disclosure",
    "disguise",
    "disguises",
    "find_disguise",
    "k_anonymity",
    "km_anonymity",
    "l_diversity",
    "presence",
    "read_hierarchies",
    "risk_of",
    "t_closeness",
]
