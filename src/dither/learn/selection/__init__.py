"""Selection: parameters of learners, chosen by private rows and paid for; and scores of learners, likewise.

Belongs here: searches among learners whose price covers the choice, scores on rows held out, and a guard that replaces
a learner by the largest class where that is better. Whoever fits many
models, each with its budget, and keeps the one that looks best on private rows has lost all budgets together and the
choice besides.
"""

from dither.learn.selection.disjoint import DisjointTuning
from dither.learn.selection.guarded import GuardedClassifier
from dither.learn.selection.model import ScoredModel, TunedModel
from dither.learn.selection.repeated import RepeatedTuning
from dither.learn.selection.reusable import ReusableHoldout
from dither.learn.selection.scored import HeldOutScore

__all__ = [
    "DisjointTuning",
    "GuardedClassifier",
    "HeldOutScore",
    "RepeatedTuning",
    "ReusableHoldout",
    "ScoredModel",
    "TunedModel",
]
