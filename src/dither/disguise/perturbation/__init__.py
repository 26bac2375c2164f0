"""Perturbation of cells, WITHOUT a formal guarantee: swaps, post-randomisation, coding and noise.

To add one, write a frozen class under ``@perturbation``, import it here, and add its row to ``docs/disguise.md``; the
checks of the room find it.
"""

from dither.disguise.perturbation.contract import Perturbation, PerturbedTable, linked, perturbation, perturbations
from dither.disguise.perturbation.numbers import AddedNoise, Coding
from dither.disguise.perturbation.post_randomisation import PostRandomisation, epsilon_of, invariant, staying
from dither.disguise.perturbation.swaps import Permutation, RankSwapping, Swapping

__all__ = [
    "AddedNoise",
    "Coding",
    "Permutation",
    "Perturbation",
    "PerturbedTable",
    "PostRandomisation",
    "RankSwapping",
    "Swapping",
    "epsilon_of",
    "invariant",
    "linked",
    "perturbation",
    "perturbations",
    "staying",
]
