"""Frequencies: how many people gave each answer.

Belongs here: frequency oracles, each a law and the unbiased estimate from its reports, and the choice among them. Does
not belong here: their client halves (``local.clients``), numbers, sets and words, many rounds.
"""

from dither.local.frequencies.hadamard import HadamardResponse
from dither.local.frequencies.hashing import LocalHashing
from dither.local.frequencies.kary import KaryResponse
from dither.local.frequencies.subset import SubsetResponse
from dither.local.frequencies.unary import UnaryResponse

__all__ = ["HadamardResponse", "KaryResponse", "LocalHashing", "SubsetResponse", "UnaryResponse"]
