"""Naive Bayes: each class is described column by column, as if the columns were independent.

Belongs here: their mechanisms and estimators. Every record touches one class, so that all classes are drawn at once.
"""

from dither.learn.bayes.categorical import CategoricalModel, CategoricalNaiveBayes
from dither.learn.bayes.gaussian import GaussianModel, GaussianNaiveBayes

__all__ = ["CategoricalModel", "CategoricalNaiveBayes", "GaussianModel", "GaussianNaiveBayes"]
