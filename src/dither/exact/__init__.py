"""Exact numbers: how a parameter becomes a rational, and how an irrational is enclosed between two rationals.

Belongs here: parsing and checking of public numbers, directed rounding, rigorous bounds on exp, log, tanh and square
roots. Does not belong here: anything about privacy or noise. The only arithmetic is that of ``int``, ``Fraction`` and
the correctly rounded ``decimal``; a float never decides anything.
"""

from dither.exact.enclosure import exp_down, exp_up, log_down, log_up, round_up, sqrt_down, sqrt_up, tanh_up, to_float
from dither.exact.parameters import (
    FAR,
    Field,
    Flag,
    Maybe,
    NonNegative,
    Of,
    OneOf,
    Positive,
    Probability,
    Real,
    Shape,
    Text,
    TupleOf,
    Whole,
)
from dither.exact.rational import Number, exact, non_negative, positive, probability, shape_of, whole
from dither.exact.typed import typed

__all__ = [
    "FAR",
    "Field",
    "Flag",
    "Maybe",
    "NonNegative",
    "Number",
    "Of",
    "OneOf",
    "Positive",
    "Probability",
    "Real",
    "Shape",
    "Text",
    "TupleOf",
    "Whole",
    "exact",
    "exp_down",
    "exp_up",
    "log_down",
    "log_up",
    "non_negative",
    "positive",
    "probability",
    "round_up",
    "shape_of",
    "sqrt_down",
    "sqrt_up",
    "tanh_up",
    "to_float",
    "typed",
    "whole",
]
