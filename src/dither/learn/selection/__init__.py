"""Selection: parameters of learners, chosen by private rows and paid for.

Belongs here: searches among learners whose price covers the choice. Whoever fits many models, each with its budget, and
keeps the one that looks best on private rows has lost all budgets together and the choice besides.
"""

from dither.learn.selection.disjoint import DisjointTuning
from dither.learn.selection.model import TunedModel
from dither.learn.selection.repeated import RepeatedTuning

__all__ = ["DisjointTuning", "RepeatedTuning", "TunedModel"]
