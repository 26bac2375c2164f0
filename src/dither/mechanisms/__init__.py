"""The mechanism interface and the primitive mechanisms.

Belongs here: the core (mechanism, runner, budget, release, registry) and mechanisms that draw noise for a value.
Does not belong here: anything that knows what the value was computed from. To add a primitive, write one module beside
these: a docstring, the frozen class, ``@register``; then its page ``docs/algorithms/<name>.md``.
"""

from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.bounded_geometric import BoundedGeometric
from dither.mechanisms.core.mechanism import (
    Bound,
    Composed,
    Interactive,
    InteractivePrimitive,
    Interval,
    Mechanism,
    Numerics,
    Primitive,
)
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import Dialogue, Entry, Example, find, register, registered
from dither.mechanisms.core.release import Budget, Release, converse, perform, release
from dither.mechanisms.core.runner import Handle, Runner
from dither.mechanisms.core.spec import digest, from_spec, to_spec
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.function_release import FunctionRelease
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.gap_sparse import Gap, GapSparse
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.gaussian_process import GaussianProcess
from dither.mechanisms.generalised_exponential import GeneralisedExponential
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.grouped_exponential import GroupedExponential
from dither.mechanisms.k_norm import KNorm
from dither.mechanisms.ladder import Ladder
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.max_norm import MaxNorm
from dither.mechanisms.noise_reduction import NoiseReduction
from dither.mechanisms.noisy_max import NoisyMax
from dither.mechanisms.numeric_sparse import NumericSparse, Reading
from dither.mechanisms.pan_private import Intrusion, PanPrivateCounter
from dither.mechanisms.pan_private_density import PanPrivateDensity
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.planar_laplace import PlanarLaplace
from dither.mechanisms.prefix_sums import PrefixCounter, PrefixSums, RunningSum
from dither.mechanisms.propose_test_release import ProposeTestRelease
from dither.mechanisms.random_projection import RandomProjection, sign_matrix
from dither.mechanisms.randomised_response import RandomisedResponse
from dither.mechanisms.repeat_and_select import RepeatAndSelect
from dither.mechanisms.sample_and_aggregate import SampleAndAggregate, block_statistic
from dither.mechanisms.sampling import FixedSizeSample, PoissonSample
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_gaussian import SmoothGaussian
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.mechanisms.square_root_counter import SquareRootCounter
from dither.mechanisms.stability_selection import StabilitySelection
from dither.mechanisms.stable_mode import StableMode
from dither.mechanisms.staircase import Staircase
from dither.mechanisms.top_k import TopK
from dither.mechanisms.truncated_laplace import TruncatedLaplace

__all__ = [
    "AboveThreshold",
    "Bound",
    "BoundedGeometric",
    "Budget",
    "Composed",
    "Dialogue",
    "DiscreteGaussian",
    "Entry",
    "Example",
    "Exponential",
    "FixedSizeSample",
    "FunctionRelease",
    "GammaNorm",
    "Gap",
    "GapSparse",
    "Gaussian",
    "GaussianProcess",
    "GeneralisedExponential",
    "Geometric",
    "GroupedExponential",
    "Handle",
    "Interactive",
    "InteractivePrimitive",
    "Interval",
    "Intrusion",
    "KNorm",
    "Ladder",
    "Laplace",
    "MaxNorm",
    "Mechanism",
    "NoiseReduction",
    "NoisyMax",
    "NumericSparse",
    "Numerics",
    "PanPrivateCounter",
    "PanPrivateDensity",
    "PermuteAndFlip",
    "PlanarLaplace",
    "PoissonSample",
    "PrefixCounter",
    "PrefixSums",
    "Primitive",
    "ProposeTestRelease",
    "PublicArray",
    "RandomProjection",
    "RandomisedResponse",
    "Reading",
    "Release",
    "RepeatAndSelect",
    "Runner",
    "RunningSum",
    "SampleAndAggregate",
    "SmoothCauchy",
    "SmoothGaussian",
    "SmoothLaplace",
    "SquareRootCounter",
    "StabilitySelection",
    "StableMode",
    "Staircase",
    "TopK",
    "TruncatedLaplace",
    "block_statistic",
    "converse",
    "digest",
    "find",
    "from_spec",
    "perform",
    "register",
    "registered",
    "release",
    "sign_matrix",
    "to_spec",
]
