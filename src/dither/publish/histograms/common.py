"""Shared by histogram methods: counts of a public shape, noise of a node, shares of a loss, sums over buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.tails import gaussian_combination_reach, laplace_combination_reach
from dither.estimate.trees import TreeVariances
from dither.exact import Positive, TupleOf
from dither.lift.axes import MOST_CELLS
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import Loss, PureDP
from dither.privacy.calibration import calibrate, laplace_scale
from dither.privacy.plans import Part

P = TypeVar("P", bound=Part)
Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


_SHARES = 2**16
_SMALLEST_SHARE = Fraction(1, 2**40)
# Below this scale the variance of discrete Laplace noise is given as the larger 2 scale^2.
_NARROW = Fraction(1, 8)


class LevelNoise(TupleOf):
    """Noise for one block on each level, smallest blocks first; the same kind on all levels."""

    def __init__(self) -> None:
        rule = "noise of one kind for one block on each level, the smallest blocks first"
        super().__init__(OneCount(), where=_is_of_one_kind, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return noise of two kinds, and anything that is not a tuple of noise."""
        yield (Geometric(scale=1), DiscreteGaussian(sigma=1))
        yield from super().offenders()


def _is_of_one_kind(levels: tuple[CountNoise, ...]) -> bool:
    return len({type(node) for node in levels}) == 1


class Share(Positive):
    """A share of a budget: a number strictly between 0 and 1, and not so near to either that a part buys nothing."""

    def convert(self, name: str, value: Any) -> Fraction:
        """Return the exact rational."""
        share = super().convert(name, value)
        if not share < 1:
            raise InvalidParameter(name, str(share), "a number between 0 and 1")
        if not _SMALLEST_SHARE <= share <= 1 - _SMALLEST_SHARE:
            raise InvalidParameter(name, share, "at least 2^-40, and at most 1 - 2^-40")
        return share

    def offenders(self) -> Iterator[Any]:
        """Return 1, numbers next to 0 and 1, larger numbers, and anything that is not a positive number."""
        yield from (1, Fraction(3, 2), _SMALLEST_SHARE / 2, 1 - _SMALLEST_SHARE / 2)
        yield from super().offenders()


def check_cells(shape: tuple[int, ...]) -> None:
    """Raise unless an array of this shape is small enough to hold."""
    if not shape or math.prod(shape) > MOST_CELLS:
        rule = f"at least one axis and at most {MOST_CELLS} cells; larger domains are for marginals or unknown keys"
        raise InvalidParameter("shape", shape, rule)


def counts_of(data: Any, shape: tuple[int, ...], most: int | None = None) -> Counts:
    """Return the counts in the declared shape, clipped so that the sum of all of them stays within 2^60.

    Cutting off moves no two arrays farther apart. ``most`` is another public limit, for what is computed of them.
    """
    limit = LARGEST_VALUE // math.prod(shape)
    if most is not None:
        limit = min(limit, most)
    return np.clip(IntegerArray(shape).admit(data), -limit, limit).reshape(shape)


def variance_of(node: CountNoise) -> float:
    """Return the variance of the noise; for the discrete Gaussian the bound sigma^2."""
    if isinstance(node, DiscreteGaussian):
        return float(node.sigma) ** 2
    if node.scale < _NARROW:
        return 2 * float(node.scale) ** 2
    return 1 / (2 * math.sinh(float(1 / (2 * node.scale))) ** 2)


def combination_reach(nodes: Sequence[CountNoise], variance: float, failure: float) -> float:
    """Return the reach of a linear combination of such noise, from its variance, at that failure probability."""
    if all(isinstance(node, DiscreteGaussian) for node in nodes):
        return gaussian_combination_reach(variance, failure)
    # The bound for Laplace noise is in terms of the continuous law, and holds for Gaussian terms as well.
    wider = max(2 * float(node.scale) ** 2 / variance_of(node) for node in nodes if isinstance(node, Geometric))
    return laplace_combination_reach(variance * wider, failure)


def mean_prefix_variance(known: TreeVariances) -> float:
    """Return the mean variance of prefix estimates, over all prefixes of the cells of one dimension.

    Term by term of the covariance (``estimate.trees``): a node counts with the square of the part of it that a prefix
    holds, which is all of it once the node has ended. Cost: a pass over the cells for each level.

    >>> round(mean_prefix_variance(TreeVariances.of((4,), [(2,)], [1.0, 1.0])), 6)
    1.0
    """
    cells = known.own[0].size
    part, ancestor = np.ones(cells), np.arange(cells)
    total = 0.0
    for level, (own, below) in enumerate(zip(known.own, known.below, strict=True)):
        if level:
            parent = ancestor // known.branchings[level - 1][0]
            part, ancestor = part * known.own[level - 1][ancestor] / below[parent], parent
        starts = np.flatnonzero(np.diff(ancestor, prepend=-1))
        running = np.cumsum(part)
        inside = running - np.concatenate([[0.0], running])[starts][ancestor]
        after = cells - np.append(starts[1:], cells)
        total += float(((own - below) * (np.add.reduceat(inside**2, starts) + after)).sum())
    return total / cells


def with_largest_epsilon(within: Loss, build: Callable[[Fraction], P]) -> P:
    """Return ``build(epsilon)`` with the largest epsilon whose loss for counts 1 apart is within ``within``.

    For methods of pure parts. Under a target in rho these add up to less than their epsilons would, so the epsilon is
    searched for, to one part in a million.
    """
    # Refuses what no epsilon is within, before anything is searched for.
    scale = laplace_scale(within, 1)
    if isinstance(within, PureDP):
        found = build(1 / scale)
        # Sums of very long fractions are rounded up, and may then be a little more than was asked for.
        if found.loss(1) <= within:
            return found
    return calibrate(lambda scale: build(1 / scale), within)


def whole_shares(parts: Sequence[float]) -> tuple[Fraction, ...]:
    """Return positive parts as shares that add up to exactly 1."""
    total = sum(parts)
    counts = [max(1, round(part / total * _SHARES)) for part in parts]
    return tuple(Fraction(count, sum(counts)) for count in counts)


def bucket_sums(counts: Counts, labels: NDArray[np.int64], size: int) -> Counts:
    """Return the sum of every bucket, ``labels`` giving each cell's bucket; ``size`` entries."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, labels.ravel(), counts.ravel())
    return sums


def measured(run: Runner, node: CountNoise, counts: Counts, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the noisy sum and the number of cells of each bucket of a released partition.

    There are as many draws as cells, whatever the number of buckets, so that the plan is fixed; a cell lies in one
    bucket, so the sums move by as much as the counts do in L1.
    """
    buckets = int(labels.max()) + 1
    drawn = run(replace(node, shape=(counts.size,)), bucket_sums(counts, labels, counts.size))
    sizes = np.bincount(labels.ravel(), minlength=buckets)
    return np.asarray(drawn, dtype=np.float64)[:buckets], sizes.astype(np.float64)


def labels_of_runs(starts: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """Return the number of each cell's run, from where runs begin.

    >>> labels_of_runs(np.array([0, 2]), 5).tolist()
    [0, 0, 1, 1, 1]
    """
    marks = np.zeros(cells, dtype=np.int64)
    marks[starts] = 1
    return np.cumsum(marks) - 1


def moved(shape: tuple[int, ...], *places: int) -> Counts:
    """Return counts that are 0 except for 1 at these places of the flat array: neighbours for examples."""
    counts = np.zeros(math.prod(shape), dtype=np.int64)
    np.add.at(counts, np.array(places, dtype=np.int64), 1)
    return counts.reshape(shape)


def neighbours(shape: tuple[int, ...]) -> tuple[tuple[Any, Any, int], ...]:
    """Return adversarial pairs of counts for examples: both ends moved, flat, hilly, and at the integers' limits."""
    last = math.prod(shape) - 1
    hill = np.arange(last + 1, dtype=np.int64).reshape(shape) * 3
    edge = np.full(shape, 2**62, dtype=np.int64)
    return (
        (moved(shape), moved(shape, 0), 1),
        (moved(shape), moved(shape, last), 1),
        (hill, hill - moved(shape, last), 1),
        (hill, hill + moved(shape, 0), 1),
        (edge, edge - moved(shape, 0), 1),
    )
