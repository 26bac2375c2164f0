"""Numbers: means, variances, quantiles and whole distributions of numbers on a public grid.

Belongs here: laws by which one number, or several attributes of one person, become one report, and the estimates from
many of them. Does not belong here: their client halves (``local.clients``), frequencies of categories alone.
"""

from dither.local.numbers.bit import OneBitNumber
from dither.local.numbers.hybrid import HybridNumber
from dither.local.numbers.means import Means
from dither.local.numbers.piecewise import PiecewiseNumber
from dither.local.numbers.sampled import SampledAttribute
from dither.local.numbers.signs import SignVector
from dither.local.numbers.wave import SquareWave

__all__ = [
    "HybridNumber",
    "Means",
    "OneBitNumber",
    "PiecewiseNumber",
    "SampledAttribute",
    "SignVector",
    "SquareWave",
]
