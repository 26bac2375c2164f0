"""The one abstraction and the primitives.

Belongs here: the core (mechanism, runner, budget, release, registry) and mechanisms that draw noise for a value.
Does not belong here: anything that knows what the value was computed from. To add a primitive, write one module beside
these: a docstring, the frozen class, ``@register``; then its page ``docs/algorithms/<name>.md``.
"""

from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core import (
    Bound,
    Composed,
    Interactive,
    InteractivePrimitive,
    Interval,
    Mechanism,
    Numerics,
    Primitive,
)
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.noisy_max import NoisyMax
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.public import PublicArray
from dither.mechanisms.randomised_response import RandomisedResponse
from dither.mechanisms.registry import Dialogue, Entry, Example, find, register, registered
from dither.mechanisms.release import Budget, Release, converse, release
from dither.mechanisms.runner import Handle, Runner
from dither.mechanisms.spec import digest, from_spec, to_spec
from dither.mechanisms.top_k import TopK

__all__ = [
    "AboveThreshold",
    "Bound",
    "Budget",
    "Composed",
    "Dialogue",
    "DiscreteGaussian",
    "Entry",
    "Example",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Handle",
    "Interactive",
    "InteractivePrimitive",
    "Interval",
    "Laplace",
    "Mechanism",
    "NoisyMax",
    "Numerics",
    "PermuteAndFlip",
    "Primitive",
    "PublicArray",
    "RandomisedResponse",
    "Release",
    "Runner",
    "TopK",
    "converse",
    "digest",
    "find",
    "from_spec",
    "register",
    "registered",
    "release",
    "to_spec",
]
