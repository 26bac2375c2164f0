"""Accuracy laws of noise: the exact error distribution of released numbers, from public parameters alone.

A law says with which probability noise lies where: of one noisy value, of sums, differences and means of many, of the
largest and the smallest. Questions about accuracy are then one call: how far off, how likely, how many are needed.
Probabilities are floats; each law states its error. No guarantee of privacy depends on them. Formulae, proofs and what
the literature printed wrongly are on the page ``docs/theory/accuracy.md``.
"""

from dither.estimate.accuracy.extremes import Largest, Smallest, largest_interval, smallest_interval
from dither.estimate.accuracy.law import Law, Symmetric
from dither.estimate.accuracy.noises import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    Noisy,
    law_of,
)
from dither.estimate.accuracy.questions import (
    SmallValues,
    chernoff_count,
    error_bound,
    failure_probability,
    gupta_roth_ullman_bound,
    hoeffding_count,
    is_useful,
    largest_scale,
    least_count,
    least_epsilon,
    order_probability,
    small_values,
)
from dither.estimate.accuracy.sums import LaplaceSumLaw, difference, mean, sum_of, total

__all__ = [
    "DiscreteGaussianLaw",
    "DiscreteLaplaceLaw",
    "GaussianLaw",
    "LaplaceLaw",
    "LaplaceSumLaw",
    "Largest",
    "Law",
    "Noisy",
    "SmallValues",
    "Smallest",
    "Symmetric",
    "chernoff_count",
    "difference",
    "error_bound",
    "failure_probability",
    "gupta_roth_ullman_bound",
    "hoeffding_count",
    "is_useful",
    "largest_interval",
    "largest_scale",
    "law_of",
    "least_count",
    "least_epsilon",
    "mean",
    "order_probability",
    "small_values",
    "smallest_interval",
    "sum_of",
    "total",
]
