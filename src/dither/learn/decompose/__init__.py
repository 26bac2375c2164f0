"""Decompositions: means, covariances and principal components of private rows.

Belongs here: mechanisms that release moments of the columns, and what follows from them by linear algebra. Eigenvectors
of noisy moments are post-processing.
"""

from dither.learn.decompose.chosen import ChosenComponents
from dither.learn.decompose.moments import MomentsModel, NoisyMoments

__all__ = ["ChosenComponents", "MomentsModel", "NoisyMoments"]
