"""Anonymized tables: generalised, merged or perturbed values, with noise that is paid for.

Belongs here: DiffGen on taxonomies, DiffPart on sets of items, and the pipeline of PrivFuzzy (public fuzzy encodings,
groups from private moments, merged attributes) with three ways out of it. Does not belong here: models that records
are drawn from in general, which are in ``dither.publish.synthetic``, and anonymity without noise, which promises
nothing that is said here.
"""

from dither.lift.items import ItemTable
from dither.publish.microdata.anonymized import AnonymizedTable
from dither.publish.microdata.diffgen import DiffGen
from dither.publish.microdata.diffpart import DiffPart
from dither.publish.microdata.fuzzy import (
    Encoding,
    EvenSteps,
    GaussianSet,
    LinguisticVariable,
    Membership,
    RuleTable,
    Trapezoidal,
    Triangular,
    attributes_of,
    decoded,
    encoded,
)
from dither.publish.microdata.generalised import GeneralisedTable
from dither.publish.microdata.hierarchies import read_taxonomies
from dither.publish.microdata.kept_table import Conversation, KeptTable, Question
from dither.publish.microdata.merged import MergedAttributes
from dither.publish.microdata.moments import Grouping, MomentGrouping
from dither.publish.microdata.perturbed_table import PerturbedTable
from dither.publish.microdata.planning import METHODS, Wishes, plan_anonymized
from dither.publish.microdata.priv_fuzzy import PrivFuzzy
from dither.publish.microdata.row_response import PerturbedRows, RowResponse
from dither.publish.microdata.taxonomy import OrderedCells, Taxonomy
from dither.publish.microdata.transactions import ItemSets

__all__ = [
    "METHODS",
    "AnonymizedTable",
    "Conversation",
    "DiffGen",
    "DiffPart",
    "Encoding",
    "EvenSteps",
    "GaussianSet",
    "GeneralisedTable",
    "Grouping",
    "ItemSets",
    "ItemTable",
    "KeptTable",
    "LinguisticVariable",
    "Membership",
    "MergedAttributes",
    "MomentGrouping",
    "OrderedCells",
    "PerturbedRows",
    "PerturbedTable",
    "PrivFuzzy",
    "Question",
    "RowResponse",
    "RuleTable",
    "Taxonomy",
    "Trapezoidal",
    "Triangular",
    "Wishes",
    "attributes_of",
    "decoded",
    "encoded",
    "plan_anonymized",
    "read_taxonomies",
]
