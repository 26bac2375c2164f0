"""Linear models: classifiers and regressions whose predictions are weighted sums of columns.

Belongs here: their mechanisms and estimators. Gradients and moments are sums of integers, one term for each
record, so that noise on them is exact; a minimiser that is found by floats and then perturbed is bounded.
"""

from dither.learn.linear.choose import SOLVERS, classifier, regression
from dither.learn.linear.compressed import CompressedClassifier
from dither.learn.linear.descent import GradientDescent
from dither.learn.linear.functional import FunctionalMechanism
from dither.learn.linear.genetic import GeneticClassifier
from dither.learn.linear.kernel_conversation import KernelConversation
from dither.learn.linear.kernel_predictions import KernelPredictions
from dither.learn.linear.kernels import KernelMachine
from dither.learn.linear.minibatch import MinibatchDescent
from dither.learn.linear.moment_classifier import MomentClassifier
from dither.learn.linear.moments import MomentRegression
from dither.learn.linear.newton import NewtonDescent
from dither.learn.linear.objective import ObjectivePerturbation
from dither.learn.linear.output import OutputPerturbation
from dither.learn.linear.parameter_grid import ParameterGrid
from dither.learn.linear.preconditioned import PreconditionedDescent

__all__ = [
    "SOLVERS",
    "CompressedClassifier",
    "FunctionalMechanism",
    "GeneticClassifier",
    "GradientDescent",
    "KernelConversation",
    "KernelMachine",
    "KernelPredictions",
    "MinibatchDescent",
    "MomentClassifier",
    "MomentRegression",
    "NewtonDescent",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "ParameterGrid",
    "PreconditionedDescent",
    "classifier",
    "regression",
]
