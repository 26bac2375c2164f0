"""Selection: parameters of learners, chosen with private rows and paid for.

Belongs here: searches among learners whose price covers the choice. Fitting many models, each with its budget, and
keeping the one that looks best on private rows loses all budgets together and the choice as well.
"""

from dither.learn.selection.disjoint import DisjointTuning
from dither.learn.selection.model import TunedModel
from dither.learn.selection.repeated import RepeatedTuning

__all__ = ["DisjointTuning", "RepeatedTuning", "TunedModel"]
