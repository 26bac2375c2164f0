"""The mechanism interface and the primitive mechanisms.

Belongs here: the core (mechanism, runner, budget, release, registry) and mechanisms that draw noise for a value.
Does not belong here: anything that knows what the value was computed from. To add a primitive, write one module beside
these: a docstring, the frozen class, ``@register``; then its page ``docs/algorithms/<name>.md`` and ``make tables``,
which adds it to what follows here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.mechanisms.above_threshold import AboveThreshold
    from dither.mechanisms.accuracy_first import AccuracyFirst
    from dither.mechanisms.bounded_geometric import BoundedGeometric
    from dither.mechanisms.buffered_counter import BufferedCounter
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
    from dither.mechanisms.decayed_counter import DecayedCounter
    from dither.mechanisms.discrete_gaussian import DiscreteGaussian
    from dither.mechanisms.exponential import Exponential
    from dither.mechanisms.exponential_quantiles import ExponentialQuantiles
    from dither.mechanisms.function_release import FunctionRelease
    from dither.mechanisms.gamma_norm import GammaNorm
    from dither.mechanisms.gap_sparse import Gap, GapSparse
    from dither.mechanisms.gaussian import Gaussian
    from dither.mechanisms.gaussian_process import GaussianProcess
    from dither.mechanisms.generalised_exponential import GeneralisedExponential
    from dither.mechanisms.geometric import Geometric
    from dither.mechanisms.grouped_exponential import GroupedExponential
    from dither.mechanisms.hybrid_counter import HybridCounter
    from dither.mechanisms.k_norm import KNorm
    from dither.mechanisms.ladder import Ladder
    from dither.mechanisms.laplace import Laplace
    from dither.mechanisms.max_norm import MaxNorm
    from dither.mechanisms.noise_reduction import NoiseReduction
    from dither.mechanisms.noisy_local import NoisyLocal
    from dither.mechanisms.noisy_max import NoisyMax
    from dither.mechanisms.numeric_sparse import NumericSparse, Reading
    from dither.mechanisms.pair_response import PairResponse
    from dither.mechanisms.pan_private import Intrusion, PanPrivateCounter
    from dither.mechanisms.pan_private_density import PanPrivateDensity
    from dither.mechanisms.permute_and_flip import PermuteAndFlip
    from dither.mechanisms.planar_laplace import PlanarLaplace
    from dither.mechanisms.planar_noise import PlanarNoise
    from dither.mechanisms.prefix_sums import PrefixCounter, PrefixSums, RunningSum
    from dither.mechanisms.propose_test_release import ProposeTestRelease
    from dither.mechanisms.random_projection import RandomProjection, sign_matrix
    from dither.mechanisms.randomised_response import RandomisedResponse
    from dither.mechanisms.repeat_and_select import RepeatAndSelect
    from dither.mechanisms.response_table import ResponseTable
    from dither.mechanisms.sample_and_aggregate import SampleAndAggregate, block_statistic
    from dither.mechanisms.sampling import FixedSizeSample, PoissonSample
    from dither.mechanisms.smooth_cauchy import SmoothCauchy
    from dither.mechanisms.smooth_gaussian import SmoothGaussian
    from dither.mechanisms.smooth_laplace import SmoothLaplace
    from dither.mechanisms.split_counter import SplitCounter
    from dither.mechanisms.square_root_counter import SquareRootCounter
    from dither.mechanisms.stability_selection import StabilitySelection
    from dither.mechanisms.stable_mode import StableMode
    from dither.mechanisms.staircase import Staircase
    from dither.mechanisms.stream_mean import StreamMean
    from dither.mechanisms.tick_noise import TickNoise
    from dither.mechanisms.top_k import TopK
    from dither.mechanisms.tree_counter import TreeCounter
    from dither.mechanisms.truncated_laplace import TruncatedLaplace
    from dither.mechanisms.window_publisher import WindowPublisher

__all__ = [
    "AboveThreshold",
    "AccuracyFirst",
    "Bound",
    "BoundedGeometric",
    "Budget",
    "BufferedCounter",
    "Composed",
    "DecayedCounter",
    "Dialogue",
    "DiscreteGaussian",
    "Entry",
    "Example",
    "Exponential",
    "ExponentialQuantiles",
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
    "HybridCounter",
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
    "NoisyLocal",
    "NoisyMax",
    "NumericSparse",
    "Numerics",
    "PairResponse",
    "PanPrivateCounter",
    "PanPrivateDensity",
    "PermuteAndFlip",
    "PlanarLaplace",
    "PlanarNoise",
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
    "ResponseTable",
    "Runner",
    "RunningSum",
    "SampleAndAggregate",
    "SmoothCauchy",
    "SmoothGaussian",
    "SmoothLaplace",
    "SplitCounter",
    "SquareRootCounter",
    "StabilitySelection",
    "StableMode",
    "Staircase",
    "StreamMean",
    "TickNoise",
    "TopK",
    "TreeCounter",
    "TruncatedLaplace",
    "WindowPublisher",
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

#: Where each name is at home. A module is imported when a name of it is first asked for: a query needs few of them.
_HOMES = {
    "AboveThreshold": "above_threshold",
    "AccuracyFirst": "accuracy_first",
    "Bound": "core.mechanism",
    "BoundedGeometric": "bounded_geometric",
    "Budget": "core.release",
    "BufferedCounter": "buffered_counter",
    "Composed": "core.mechanism",
    "DecayedCounter": "decayed_counter",
    "Dialogue": "core.registry",
    "DiscreteGaussian": "discrete_gaussian",
    "Entry": "core.registry",
    "Example": "core.registry",
    "Exponential": "exponential",
    "ExponentialQuantiles": "exponential_quantiles",
    "FixedSizeSample": "sampling",
    "FunctionRelease": "function_release",
    "GammaNorm": "gamma_norm",
    "Gap": "gap_sparse",
    "GapSparse": "gap_sparse",
    "Gaussian": "gaussian",
    "GaussianProcess": "gaussian_process",
    "GeneralisedExponential": "generalised_exponential",
    "Geometric": "geometric",
    "GroupedExponential": "grouped_exponential",
    "Handle": "core.runner",
    "HybridCounter": "hybrid_counter",
    "Interactive": "core.mechanism",
    "InteractivePrimitive": "core.mechanism",
    "Interval": "core.mechanism",
    "Intrusion": "pan_private",
    "KNorm": "k_norm",
    "Ladder": "ladder",
    "Laplace": "laplace",
    "MaxNorm": "max_norm",
    "Mechanism": "core.mechanism",
    "NoiseReduction": "noise_reduction",
    "NoisyLocal": "noisy_local",
    "NoisyMax": "noisy_max",
    "NumericSparse": "numeric_sparse",
    "Numerics": "core.mechanism",
    "PairResponse": "pair_response",
    "PanPrivateCounter": "pan_private",
    "PanPrivateDensity": "pan_private_density",
    "PermuteAndFlip": "permute_and_flip",
    "PlanarLaplace": "planar_laplace",
    "PlanarNoise": "planar_noise",
    "PoissonSample": "sampling",
    "PrefixCounter": "prefix_sums",
    "PrefixSums": "prefix_sums",
    "Primitive": "core.mechanism",
    "ProposeTestRelease": "propose_test_release",
    "PublicArray": "core.public",
    "RandomProjection": "random_projection",
    "RandomisedResponse": "randomised_response",
    "Reading": "numeric_sparse",
    "Release": "core.release",
    "RepeatAndSelect": "repeat_and_select",
    "ResponseTable": "response_table",
    "Runner": "core.runner",
    "RunningSum": "prefix_sums",
    "SampleAndAggregate": "sample_and_aggregate",
    "SmoothCauchy": "smooth_cauchy",
    "SmoothGaussian": "smooth_gaussian",
    "SmoothLaplace": "smooth_laplace",
    "SplitCounter": "split_counter",
    "SquareRootCounter": "square_root_counter",
    "StabilitySelection": "stability_selection",
    "StableMode": "stable_mode",
    "Staircase": "staircase",
    "StreamMean": "stream_mean",
    "TickNoise": "tick_noise",
    "TopK": "top_k",
    "TreeCounter": "tree_counter",
    "TruncatedLaplace": "truncated_laplace",
    "WindowPublisher": "window_publisher",
    "block_statistic": "sample_and_aggregate",
    "converse": "core.release",
    "digest": "core.spec",
    "find": "core.registry",
    "from_spec": "core.spec",
    "perform": "core.release",
    "register": "core.registry",
    "registered": "core.registry",
    "release": "core.release",
    "sign_matrix": "random_projection",
    "to_spec": "core.spec",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of this room."""
    return sorted(__all__)
