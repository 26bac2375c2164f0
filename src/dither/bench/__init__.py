"""Comparisons and experiments: how fast, how accurate, beside which rival.

Belongs here: runners, metrics and tables of measurements. Rivals run in an environment of their own and are never part
of the product. Machines are shared and noisy: every figure is printed as a ratio to something measured in the same run,
with the load of the machine.
"""

from dither.bench.noise import NoiseFigures, measure_noise
from dither.bench.primitives import PrimitiveFigures, measure_primitives

__all__ = ["NoiseFigures", "PrimitiveFigures", "measure_noise", "measure_primitives"]
