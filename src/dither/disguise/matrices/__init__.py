"""Distorted matrices, WITHOUT a formal guarantee: rotation, projection, noise, fewer ranks, fewer wavelets.

Belongs here: ways to publish a matrix of numbers (a row for each person, a column for each attribute) as another one,
and measures of how far the two lie apart. The distance is no privacy: ``dither.attack.matrices`` measures what a reader
who knows one row or a few rows gets back.
"""

from dither.disguise.matrices.baselines import FewFactors, FewFrequencies
from dither.disguise.matrices.contract import Distorted, MatrixDisguise
from dither.disguise.matrices.measures import Distortion, distortion
from dither.disguise.matrices.moments import Restored, restored
from dither.disguise.matrices.perturbation import Perturbed
from dither.disguise.matrices.rank import FewRanks
from dither.disguise.matrices.wavelets import Wavelets

__all__ = [
    "Distorted",
    "Distortion",
    "FewFactors",
    "FewFrequencies",
    "FewRanks",
    "MatrixDisguise",
    "Perturbed",
    "Restored",
    "Wavelets",
    "distortion",
    "restored",
]
