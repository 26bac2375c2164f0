"""Frequent itemsets: sets of items that many transactions share, and the rules that follow.

Belongs here: transactions over a public universe of items, exact supports, methods that choose and count sets, and what
is made of their releases. The unit is a transaction added or removed: every support then moves the same way, by 0 or 1.
``BestFirstItemsets`` is the one to take unless something speaks for another.
"""

from dither.learn.itemsets.best_first import BestFirstItemsets
from dither.learn.itemsets.binary_estimation import BinaryEstimation
from dither.learn.itemsets.common import Itemsets
from dither.learn.itemsets.fp_tree import PrivateTree
from dither.learn.itemsets.metrics import f1_score, false_negative_rate, precision, recall, relative_support_error
from dither.learn.itemsets.mining import Miner
from dither.learn.itemsets.pattern_sampling import PatternSampling
from dither.learn.itemsets.priv_basis import PrivBasis
from dither.learn.itemsets.rules import Rule, association_rules
from dither.learn.itemsets.transactions import Transactions
from dither.learn.itemsets.truncated_apriori import TruncatedApriori
from dither.learn.itemsets.truncated_frequency import TruncatedFrequency

__all__ = [
    "BestFirstItemsets",
    "BinaryEstimation",
    "Itemsets",
    "Miner",
    "PatternSampling",
    "PrivBasis",
    "PrivateTree",
    "Rule",
    "Transactions",
    "TruncatedApriori",
    "TruncatedFrequency",
    "association_rules",
    "f1_score",
    "false_negative_rate",
    "precision",
    "recall",
    "relative_support_error",
]
