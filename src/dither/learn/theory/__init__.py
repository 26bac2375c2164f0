"""Private learning theory made runnable: learners of small public classes, and the number of rows they need.

Belongs here: learners over a finite universe, whose exact laws can be enumerated, and calculators of sample sizes and
risks with their formulas, sources and assumptions. Does not belong here: what is learned from tables of numbers in
earnest, which the other rooms have.
"""

from dither.learn.theory.concepts import (
    NEVER,
    Concept,
    Concepts,
    Conjunction,
    IntervalConcept,
    TableConcept,
    most_labellings,
    vc_dimension,
)
from dither.learn.theory.figures import Figure
from dither.learn.theory.labels import LabelLearner, LabelResponse
from dither.learn.theory.pac import PrivateLearner
from dither.learn.theory.perceptron import NoisyPerceptron
from dither.learn.theory.points import PointLearner
from dither.learn.theory.queries import Property, StatisticalQueries, learned_conjunction
from dither.learn.theory.risks import METHODS, risk_bound
from dither.learn.theory.semi import SemiSupervisedLearner
from dither.learn.theory.sizes import LEARNERS, sample_complexity
from dither.learn.theory.thresholds import ThresholdDescent, ThresholdLearner

__all__ = [
    "LEARNERS",
    "METHODS",
    "NEVER",
    "Concept",
    "Concepts",
    "Conjunction",
    "Figure",
    "IntervalConcept",
    "LabelLearner",
    "LabelResponse",
    "NoisyPerceptron",
    "PointLearner",
    "PrivateLearner",
    "Property",
    "SemiSupervisedLearner",
    "StatisticalQueries",
    "TableConcept",
    "ThresholdDescent",
    "ThresholdLearner",
    "learned_conjunction",
    "most_labellings",
    "risk_bound",
    "sample_complexity",
    "vc_dimension",
]
