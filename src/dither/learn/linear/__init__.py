"""Linear models: classifiers and regressions whose answers are weighted sums of columns.

Belongs here: their mechanisms and estimators. Gradients and moments are sums of whole numbers, one term for each
record, so that noise on them is exact; a minimiser that is found by floats and then perturbed is bounded.
"""

from dither.learn.linear.choose import SOLVERS, classifier
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.moment_classifier import MomentClassifier
from dither.learn.linear.moments import MomentRegression
from dither.learn.linear.output import OutputPerturbation

__all__ = [
    "SOLVERS",
    "GradientDescent",
    "MomentClassifier",
    "MomentRegression",
    "OutputPerturbation",
    "classifier",
]
