"""Trees: classifiers that test one column after the other, on public bins.

Belongs here: boosted trees, random forests, trees whose splits are chosen privately, their models and estimators. No
threshold is taken from data; every score by which a split is chosen has a proven sensitivity.
"""

from dither.learn.trees.boosted import BoostedTrees
from dither.learn.trees.grown import ChosenTree, CountedTree
from dither.learn.trees.models import BoostedModel, ForestModel
from dither.learn.trees.pruning import pessimistic, pruned
from dither.learn.trees.random_forest import RandomForest

__all__ = [
    "BoostedModel",
    "BoostedTrees",
    "ChosenTree",
    "CountedTree",
    "ForestModel",
    "RandomForest",
    "pessimistic",
    "pruned",
]
