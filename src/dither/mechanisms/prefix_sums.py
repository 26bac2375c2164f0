"""Prefix sums from a tree of noisy sums, shared by counters on streams and range queries.

For cumulative counts over a public number of steps, all at once (``PrefixSums``) or while the stream runs
(``PrefixCounter``). The error grows with a power of the logarithm of the steps. Cost: linear in the steps; a counter
keeps about the root of them in memory. Correction: a step lies in floor(log_base(steps)) + 1 sums; the printed
log_2(steps) is one too few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse
from dither.exact import Flag, Number, Whole, positive, probability, sqrt_up, whole
from dither.mechanisms.core.accuracy import discrete_laplace_reach, share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Interactive, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, IntegerArray
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import EVENT, L1, InOrder, Loss, Metric, Parallel, Plan, Unit, Use

_MOST_STEPS = 2**24
# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9


def _examples() -> Iterator[Example]:
    def moved(entries: int, *places: int) -> NDArray[np.int64]:
        return sum((np.eye(entries, dtype=np.int64)[place] for place in places), np.zeros(entries, dtype=np.int64))

    few = tuple((moved(4), moved(4, place), 1) for place in range(4))
    yield Example(PrefixSums(steps=4, node=Geometric(scale=3)), np.array([1, 0, 2, 5]), few)
    apart = ((moved(7), moved(7, 0), 1), (moved(7, 3), moved(7, 6), 2), (np.full(7, 2**62), moved(7), 7 * 2**62))
    yield Example(PrefixSums(steps=7, base=3, node=DiscreteGaussian(sigma=2)), np.arange(7), apart[:2])
    yield Example(PrefixSums(steps=7, node=Geometric(scale=6), consistent=True), np.arange(7), apart)
    yield Example(PrefixSums(steps=1, node=Geometric(scale=1)), np.array([3]), ((moved(1), moved(1, 0), 1),))


@dataclass(frozen=True, kw_only=True)
class _Tree:
    """A tree over ``steps`` leaves in which each node is the sum of ``base`` nodes below; only whole nodes exist."""

    node: OneCount = OneCount()
    steps: Whole = Whole(least=1, most=_MOST_STEPS)
    base: Whole = Whole(2, least=2, most=2**10)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes on each level, leaves first."""
        sizes = [self.steps]
        while sizes[-1] >= self.base:
            sizes.append(sizes[-1] // self.base)
        return tuple(sizes)

    @property
    def levels(self) -> int:
        """The number of nodes that hold the first step, the most for any step: floor(log_base(steps)) + 1."""
        return len(self.sizes)

    @property
    def most_terms(self) -> int:
        """The largest number of nodes that make up one prefix."""
        return (self.base - 1) * (self.levels - 1) + self.sizes[-1]

    def _reach(self, confidence: Number) -> tuple[Fraction, float]:
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, self.steps)
        if isinstance(self.node, Geometric):
            return wanted, _laplace_sum_reach(self.node.scale, self.most_terms, failure)
        return wanted, float(self.node.sigma) * math.sqrt(2 * self.most_terms * math.log(2 / failure)) * _OUTWARDS


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 4.3.2; Private and Continual Release of "
    "Statistics (Chan, Shi, Song 2011); Boosting the Accuracy of Histograms (Hay et al. 2010) for consistency",
)
@dataclass(frozen=True, kw_only=True)
class PrefixSums(_Tree, Composed[Any, Any]):
    """Release all prefix sums of a vector of integers, from one noisy tree of sums.

    Guarantee: vectors ``d_in`` apart in L1 lose what ``node`` loses at ``levels * d_in`` (geometric) or at
    ``sqrt(levels) * d_in`` (Gaussian), where levels = floor(log_base(steps)) + 1.

    Args:
        steps: how many integers there are; public.
        base: how many nodes make up the next larger one.
        node: the noise of one node.
        consistent: whether the nodes are made to agree by least squares; the sums are then not integers.

    >>> PrefixSums(steps=8, node=Geometric(scale=4)).loss(1)
    PureDP('1')
    >>> PrefixSums(steps=8, node=DiscreteGaussian(sigma=2)).loss(1)
    ZCDP('1/2')

    """

    name: ClassVar[str] = "prefix-sums"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "least squares on geometric noise has no proven tail; ask without consistency"
    no_interval_because: ClassVar[str] = no_error_because

    consistent: Flag = Flag(False)

    @classmethod
    def calibrated(cls, within: Loss, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """Return the tree with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            steps: how many integers there are.
            sensitivity: how far the vector moves in L1 per unit of data.
            parameters: the other fields: ``base``, ``consistent``.

        """
        purse = Purse.within(within)
        moved = positive("sensitivity", sensitivity)
        # How far the nodes move follows from the kind of noise alone; how wide it is follows from that.
        kind = Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1)
        draft = cls(steps=steps, node=kind, **parameters)
        return replace(draft, node=purse.noise(moved * draft.stability))

    @property
    def distance(self) -> Metric:
        """L1: if people are in one step each, adding or removing one moves the counts by 1, replacing one by 2."""
        return L1

    @cached_property
    def nodes(self) -> CountNoise:
        """The noise for all nodes, level by level."""
        return replace(self.node, shape=(sum(self.sizes),))

    @cached_property
    def stability(self) -> Fraction:
        """How far the vector of all nodes moves when one integer moves by 1."""
        return Fraction(self.levels) if isinstance(self.node, Geometric) else sqrt_up(Fraction(self.levels))

    def plan(self) -> Plan:
        """One draw for all nodes together."""
        return Use(self.nodes, self.stability)

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every prefix sum."""
        wanted, reach = self._reach(confidence)
        if self.consistent and isinstance(self.node, Geometric):
            return None
        return Bound(reach, wanted, "the largest absolute error of any prefix sum")

    def interval(self, out: Any, confidence: Number) -> Interval | None:
        """Return the error on both sides, for all prefix sums at once."""
        bound = self.error(confidence)
        return None if bound is None else Interval(out - bound.value, out + bound.value, bound.confidence)

    def release(self, data: Any, run: Runner) -> NDArray[Any]:
        """Return estimates of the sums of the first 1, 2, ... integers."""
        limit = LARGEST_VALUE // self.steps
        tree = [np.clip(IntegerArray((self.steps,)).admit(data), -limit, limit)]
        for size in self.sizes[1:]:
            tree.append(tree[-1][: size * self.base].reshape(size, self.base).sum(axis=1))
        drawn = np.asarray(run(self.nodes, np.concatenate(tree), stability=self.stability))
        highest = LARGEST_SUM // self.most_terms
        noisy = np.split(np.clip(drawn, -highest, highest), np.cumsum(self.sizes)[:-1])
        return _fitted(noisy, self.base) if self.consistent else _added(noisy, self.base)


def _added(noisy: list[NDArray[np.int64]], base: int) -> NDArray[np.int64]:
    """Return every prefix sum as the sum of the fewest nodes, starting with the largest."""
    prefixes = np.zeros(1, dtype=np.int64)
    for level in reversed(noisy):
        count = np.arange(level.size + 1)
        # Sums may wrap around; their differences, which are small, do not mind.
        running = np.concatenate([[0], np.cumsum(level)])
        prefixes = prefixes[count // base] + running[count] - running[count // base * base]
    return prefixes[1:]


def _fitted(noisy: list[NDArray[np.int64]], base: int) -> NDArray[np.float64]:
    """Return the prefix sums of the leaves that fit all nodes best by least squares."""
    upwards = [noisy[0].astype(np.float64)]
    for height, level in enumerate(noisy[1:], start=2):
        children = upwards[-1][: level.size * base].reshape(level.size, base).sum(axis=1)
        whole_tree, below = 1 - float(base) ** -height, 1 / base - float(base) ** -height
        upwards.append(((1 - 1 / base) * level + below * children) / whole_tree)
    best = upwards[-1]
    for estimates in reversed(upwards[:-1]):
        groups = estimates[: best.size * base].reshape(best.size, base)
        spread = (best - groups.sum(axis=1)) / base
        best = np.concatenate([(groups + spread[:, None]).ravel(), estimates[best.size * base :]])
    return np.cumsum(best)


@lru_cache(maxsize=256)
def _laplace_sum_reach(scale: Fraction, terms: int, failure: float) -> float:
    """Return x with P[|sum of that many discrete Laplace variables| > x] <= failure, by Chernoff or the union bound."""
    rate = float(1 / scale)
    bounds = [float(terms * discrete_laplace_reach(scale, failure / terms))]
    for part in range(1, 64):
        tilt = rate * part / 64
        growth = 2 * math.log(-math.expm1(-rate))
        growth -= math.log(-math.expm1(tilt - rate)) + math.log(-math.expm1(-tilt - rate))
        bounds.append((terms * growth + math.log(2 / failure)) / tilt)
    return min(bounds) * _OUTWARDS


def _streams() -> Iterator[Example]:
    def streams(here: tuple[int, ...], there: tuple[int, ...], apart: int) -> tuple[Dialogue, Dialogue, int]:
        return Dialogue(None, here), Dialogue(None, there), apart

    few = (streams((0, 0, 0, 0), (1, 0, 0, 0), 1), streams((2, 3, 1, 5), (2, 3, 0, 5), 1), streams((0,), (1,), 1))
    yield Example(PrefixCounter(steps=4, node=Geometric(scale=3)), few[1][0], few)
    far = (streams((0,) * 5, (3, 0, 0, 0, 0), 1), streams((0,) * 5, (3, 0, 0, 0, -3), 2))
    yield Example(PrefixCounter(steps=5, base=3, node=DiscreteGaussian(sigma=4), largest=3), far[0][0], far)


@register(
    examples=_streams,
    source="Private and Continual Release of Statistics (Chan, Shi, Song 2011), section 3; Differential Privacy and "
    "Applications (Zhu et al. 2017), section 4.3.2",
)
@dataclass(frozen=True, kw_only=True)
class PrefixCounter(_Tree, Interactive[None, "RunningSum"]):
    """Count events on a stream: answer each step with the noisy sum of all steps so far.

    Guarantee: streams that differ in ``d_in`` events, each of which moves the value of one step by at most
    ``largest``, lose ``levels`` times what ``node`` loses at ``largest * d_in``. Event level: a person with many
    events is protected as one event at a time.

    Args:
        steps: how many steps the stream has; public.
        base: how many nodes make up the next larger one.
        node: the noise of one node.
        largest: how far one event moves the value of its step.

    >>> PrefixCounter(steps=8, node=Geometric(scale=4)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "prefix-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    largest: Whole = Whole(1, least=1, most=2**40)

    @property
    def distance(self) -> Unit:
        """Events added or removed."""
        return EVENT

    def shares(self) -> list[tuple[int, int]]:
        """Return, for each level, the number of blocks of nodes and the number of nodes in a block."""
        widths = [math.isqrt(size - 1) + 1 for size in self.sizes]
        return [(-(-size // width), width) for size, width in zip(self.sizes, widths, strict=True)]

    def plan(self) -> Plan:
        """On each level the nodes are disjoint: blocks of nodes, and nodes within a block."""
        use = Use(self.node, self.largest)
        return InOrder(tuple(Parallel(Parallel(use, width, 1), blocks, 1) for blocks, width in self.shares()))

    def error(self, confidence: Number) -> Bound:
        """Return a bound on the error of every answer."""
        wanted, reach = self._reach(confidence)
        return Bound(reach, wanted, "the largest absolute error of any running sum")

    def interval(self, out: Any, confidence: Number) -> Interval:
        """Return the error on both sides of an answer, or of all answers at once."""
        wanted, reach = self._reach(confidence)
        return Interval(out - reach, out + reach, wanted)

    def open(self, data: None, run: Runner) -> RunningSum:
        """Return the counter; ``data`` is None, because the values arrive one by one."""
        return RunningSum(self, run)


class _Level:
    """The nodes of one level: those not yet drawn, the sum of the open one, and the noisy ones in use."""

    def __init__(self, blocks: list[Runner], width: int) -> None:
        self._blocks, self._width, self._drawn = blocks, width, 0
        self._block: list[Runner] = []
        self.open_sum, self.in_use = 0, 0

    def close(self, counter: PrefixCounter) -> None:
        block, place = divmod(self._drawn, self._width)
        if place == 0:
            self._block = self._blocks[block].parallel(self._width)
        self.in_use += int(self._block[place](counter.node, self.open_sum, stability=counter.largest))
        self._drawn, self.open_sum = self._drawn + 1, 0


class RunningSum:
    """The conversation of a ``PrefixCounter``. Its runners bind it to thread and process, and draw each node once."""

    def __init__(self, counter: PrefixCounter, run: Runner) -> None:
        self._counter = counter
        self._levels = [_Level(run.parallel(blocks), width) for blocks, width in counter.shares()]
        self._answers: list[int] = []
        self._is_torn = False

    @property
    def fed(self) -> int:
        """The number of steps fed so far."""
        return len(self._answers)

    @quietly
    def feed(self, value: int, *, step: int | None = None) -> int:
        """Return the noisy sum up to this step; with ``step``, the stored answer if that step has been fed.

        A step that fails after it was begun, by an interrupt or in another thread, ends the stream.
        """
        if step is not None and whole("step", step) < self.fed:
            return self._answers[step]
        if step is not None and step != self.fed:
            raise HandleMisuse(f"step must be at most {self.fed}, the next one, got {step}")
        if self.fed == self._counter.steps:
            raise HandleMisuse(f"the stream ended after {self.fed} steps, as its price allows")
        if self._is_torn:
            raise HandleMisuse(f"step {self.fed} failed half-way, which ended the stream: its value would count twice")
        added, done = int(IntegerArray(()).admit(value)[0]), self.fed + 1
        self._is_torn = True
        for height, level in enumerate(self._levels):
            level.open_sum += added
            if done % self._counter.base**height == 0:
                level.close(self._counter)
                for lower in self._levels[:height]:
                    lower.in_use = 0
        self._answers.append(sum(level.in_use for level in self._levels))
        self._is_torn = False
        return self._answers[-1]
