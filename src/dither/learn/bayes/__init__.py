"""Naive Bayes: classes described column by column, as if columns told nothing of each other.

Belongs here: their mechanisms and estimators. Every record touches one class, so that all classes are drawn at once.
"""

from dither.learn.bayes.categorical import CategoricalModel, CategoricalNaiveBayes
from dither.learn.bayes.gaussian import GaussianModel, GaussianNaiveBayes

__all__ = ["CategoricalModel", "CategoricalNaiveBayes", "GaussianModel", "GaussianNaiveBayes"]
