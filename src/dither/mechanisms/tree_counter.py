"""The tree counter: running sums on a stream from noisy sums of intervals, with any number of branches on each level.

For counts, sums and vectors that are published tick by tick under a pure epsilon, over a known number of ticks. A sum
so far is made of few noisy intervals; with ``subtract`` intervals that have not ended yet are taken off larger ones,
which halves their number: over 65,536 ticks the largest standard error is 0.36 of that of the binary tree. Cost: about
one draw a tick. Correction: a tick lies in one interval of every level, one more than the printed logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, TupleOf, Whole, non_negative, positive, probability, sqrt_up, whole
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.running import NoiseProcess, RunningCounter, TickLengths
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.prefix_sums import _laplace_sum_reach
from dither.noise import Noise
from dither.noise.frozen import Freezable
from dither.noise.laplace import Integers
from dither.noise.tapes import Tapes
from dither.privacy import L1, Loss, Metric

_MOST_STEPS = 2**32
#: Up to this many ticks the largest error is looked for, beyond it is bounded.
_FEW_STEPS = 2**22
_MOST_LEVELS = 40
#: Wider noise would leave the integers of 64 bits when many nodes are added up.
_WIDEST = 2**40
#: Weights of a combination are integers divided by this.
_SHARES = 2**12
# Widens bounds by far more than the error of the float functions that compute them.
_OUTWARDS = 1 + 1e-9


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([0, 0, 0, 0], [1, 0, 0, 0], 1),
        ([2, 3, 1, 5], [2, 3, 0, 5], 1),
        ([0, 3, 0, 0], [1, 3, 1, 0], 2),
    )
    yield Example(TreeCounter(steps=4, bases=(3,), node=Geometric(scale=2), combine="subtract"), [1, 0, 2, 5], pairs)
    yield Example(TreeCounter(steps=4, bases=(2, 2), node=DiscreteGaussian(sigma=2)), [1, 0, 2, 5], pairs)
    best = TreeCounter(steps=4, bases=(2, 2), node=Geometric(scale=2), combine="least-variance")
    yield Example(best, [1, 0, 2, 5], pairs)
    twice = (([0, 0, 0, 0], [1, 0, 1, 0], 1), ([0, 0, 0, 0], [1, 1, 0, 0], 2))
    people = TreeCounter(steps=4, bases=(2,), node=DiscreteGaussian(sigma=3), ticks=2, apart=2)
    yield Example(people, [1, 0, 2, 1], twice)
    two = np.array([1, 0])
    vectors = (([two, two], [two * 2, two], 1), ([two, two], [two, two * 0], 1))
    yield Example(TreeCounter(steps=2, bases=(), node=Geometric(scale=2), shape=2), [two, two], vectors)


@register(
    examples=_examples,
    source="Private and Continual Release of Statistics (Chan, Shi, Song 2011), section 3; Count on Your Elders: "
    "Laplace vs Gaussian Noise (Andersson, Pagh, Steiner, Torkamani 2024) for subtraction; Efficient Use of "
    "Differentially Private Binary Trees (Honaker 2015) for least variance; Differential Privacy and Applications (Zhu "
    "et al. 2017), section 4.3",
)
@dataclass(frozen=True, kw_only=True)
class TreeCounter(RunningCounter):
    """Add up a stream, and answer each tick with the sum so far, put together from noisy sums of intervals.

    Guarantee: streams that differ in ``d_in`` people, each of whom moves up to ``ticks`` ticks, at least ``apart``
    apart, by at most 1 in L1, lose what ``node`` loses at ``stability * d_in`` over all ticks: for events, which move
    one tick, that is the number of levels (geometric) or its root (Gaussian), where levels is one more than the number
    of ``bases``; also if values are chosen by who has seen the answers to earlier ones.

    Args:
        steps: how many ticks the stream has; public.
        bases: how many intervals of each level make up one of the next; none means noise on every tick alone.
        node: the noise of one interval.
        combine: "add" for sums of intervals that have ended; "subtract" for geometric noise, to take intervals that
            have not off larger ones; "least-variance" to average each interval with those that it is made of.
        shape: the shape of a tick; ``()`` is one integer.
        ticks: how many ticks one person touches at most; 1 protects events.
        apart: how far apart these ticks are at least.

    >>> from dither.privacy import PureDP
    >>> counter = TreeCounter.calibrated(PureDP(1), sensitivity=1, steps=2**16)
    >>> counter.bases, counter.levels, round(counter.largest_standard_error, 1)
    ((17, 17, 17), 4, 34.3)

    """

    name: ClassVar[str] = "tree-counter"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "averages of geometric noise have no proven tail; add or subtract instead"

    steps: Whole = Whole(least=1, most=_MOST_STEPS)
    bases: TupleOf = TupleOf(
        Whole(least=2, most=2**16), least=0, most=_MOST_LEVELS - 1, rule="a tuple of up to 39 integers from 2 to 2^16"
    )
    node: OneCount = OneCount()
    combine: OneOf = OneOf("add", "subtract", "least-variance", default="add")
    ticks: Whole = Whole(1, least=1, most=2**16)
    apart: Whole = Whole(1, least=1, most=_MOST_STEPS)

    def __post_init__(self) -> None:
        if self.combine == "subtract" and not isinstance(self.node, Geometric):
            raise InvalidParameter("combine", self.combine, "another way than subtraction for Gaussian noise")
        if math.prod(self.bases) > 2 * self.steps:
            raise InvalidParameter(
                "bases", self.bases, "small enough that the largest interval is at most twice the stream"
            )
        if _width(self.node) > _WIDEST:
            raise InvalidParameter(
                "node", self.node, f"noise of scale at most {_WIDEST}; add up values in larger units"
            )
        if self.entries > 2**24:
            raise InvalidParameter("shape", self.shape, "of at most 2^24 entries")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        sensitivity: Number,
        steps: int,
        bases: Any = None,
        combine: str | None = None,
        shape: Any = (),
        ticks: int = 1,
        apart: int = 1,
    ) -> Self:
        """Return the tree with the least noise whose loss at ``sensitivity`` is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream; a pure one gives geometric noise.
            sensitivity: how far one tick of a person moves in L1.
            steps: how many ticks the stream has.
            bases: how many intervals make up one of the next level; by default those of least error.
            combine: by default "subtract" with geometric and "least-variance" with Gaussian noise.
            shape: the shape of a tick.
            ticks: how many ticks one person touches at most.
            apart: how far apart these are at least.

        """
        purse, moved = Purse.within(within), positive("sensitivity", sensitivity)
        length = whole("steps", steps, least=1, most=_MOST_STEPS)
        way = combine or ("subtract" if purse.is_pure else "least-variance")
        chosen = bases if bases is not None else _best_bases(length, way, is_pure=purse.is_pure)
        kind: CountNoise = Geometric(scale=1) if purse.is_pure else DiscreteGaussian(sigma=1)
        public: dict[str, Any] = {"steps": length, "bases": chosen, "combine": way, "shape": shape}
        public |= {"ticks": ticks, "apart": apart}
        return cls(node=purse.noise(moved * cls(node=kind, **public).stability), **public)

    @property
    def length_of_stream(self) -> int:
        """The number of ticks."""
        return self.steps

    @property
    def shares(self) -> int:
        """The shares in which averages are made."""
        return _SHARES if self.combine == "least-variance" else 1

    @property
    def levels(self) -> int:
        """The number of intervals in which a tick lies."""
        return len(self.bases) + 1

    @cached_property
    def stability(self) -> Fraction:
        """How far the vector of all intervals moves when one person moves each of their ticks by 1, rounded up."""
        visits, sizes = min(self.ticks, -(-self.steps // self.apart)), [1]
        for base in self.bases:
            sizes.append(sizes[-1] * base)
        if isinstance(self.node, Geometric):
            return Fraction(visits * self.levels)
        # An interval holds at most one tick of a person for every ``apart`` of its own.
        return sqrt_up(Fraction(sum(visits * min(visits, -(-size // self.apart)) for size in sizes)))

    @property
    def distance(self) -> Metric:
        """L1 over all values for events, which move one tick; or people, times how far one of their ticks moves."""
        return L1 if self.ticks == 1 else TickLengths(self.ticks, self.apart, self.domain.shape, order=1)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together."""
        return self.node.loss(non_negative("d_in", d_in) * self.stability)

    @cached_property
    def ahead(self) -> tuple[int, ...]:
        """How many intervals before its end a larger one is taken already, on each level."""
        return tuple((base - 1) // 2 if self.combine == "subtract" else 0 for base in self.bases)

    @cached_property
    def weights(self) -> tuple[tuple[int, ...], ...]:
        """What each level counts in the estimate of an interval, for every level below its own: integers of one sum."""
        if self.combine == "least-variance":
            return _averages(self.bases)
        return tuple((0,) * level + (1,) for level in range(self.levels))

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The variance of the estimate of one interval on each level."""
        spread = _variance(self.node)
        sizes = [1, *np.cumprod(np.array(self.bases, dtype=object)).tolist()]
        return tuple(
            spread * sum(w * w * (sizes[level] // size) for w, size in zip(row, sizes, strict=False)) / sum(row) ** 2
            for level, row in enumerate(self.weights)
        )

    def standard_error(self, tick: int) -> float:
        """Return the standard deviation of the noise at a tick, counted from 0, rounding to integers included."""
        return math.sqrt(self._variances(np.array([whole("tick", tick, most=self.steps - 1) + 1]))[0])

    @cached_property
    def largest_standard_error(self) -> float:
        """The largest standard deviation of the noise of any tick."""
        if self.steps > _FEW_STEPS:
            used = zip(self._most_used, self.variances, strict=True)
            return math.sqrt(sum(count * variance for count, variance in used) + 1)
        return math.sqrt(max(float(self._variances(part).max()) for part in self._all_ticks()))

    def _all_ticks(self) -> Iterator[NDArray[np.int64]]:
        for start in range(1, self.steps + 1, 2**20):
            yield np.arange(start, min(start + 2**20, self.steps + 1))

    def _variances(self, done: NDArray[np.int64]) -> NDArray[np.float64]:
        total = np.zeros(done.shape)
        for used, variance in zip(_intervals(done, self.bases, self.ahead), self.variances, strict=True):
            total += used * variance
        return total + (1 / 12 if self.combine == "least-variance" else 0.0)

    @cached_property
    def _most_used(self) -> list[int]:
        """The largest number of intervals of each level in a sum."""
        below = [base // 2 if self.combine == "subtract" else base - 1 for base in self.bases]
        # Fewer ticks end fewer intervals.
        return [*below, int(_intervals(np.array([self.steps]), self.bases, self.ahead)[-1][0])]

    @property
    def most_intervals(self) -> int:
        """The largest number of intervals that a sum is made of."""
        return sum(self._most_used)

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the error of every answer."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, self.steps * self.entries)
        if isinstance(self.node, DiscreteGaussian):
            reach = self.largest_standard_error * math.sqrt(2 * math.log(2 / failure)) * _OUTWARDS + 0.5
        elif self.combine == "least-variance":
            return None
        else:
            reach = _laplace_sum_reach(self.node.scale, self.most_intervals, failure)
        return Bound(reach, wanted, "the largest absolute error of any running sum")

    def interval_at(self, tick: int, out: Any, confidence: Number) -> Interval | None:
        """Return an interval for the sums at one tick, counted from 0, for all entries at once."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, self.entries)
        if isinstance(self.node, DiscreteGaussian):
            reach = math.floor(self.standard_error(tick) * math.sqrt(2 * math.log(2 / failure)) * _OUTWARDS + 0.5)
        elif self.combine == "least-variance":
            return None
        else:
            reach = math.floor(_laplace_sum_reach(self.node.scale, self.intervals_at(tick), failure))
        return Interval(out - reach, out + reach, wanted)

    def intervals_at(self, tick: int) -> int:
        """Return how many intervals the sum at a tick, counted from 0, is made of."""
        return sum(int(part[0]) for part in _intervals(np.array([tick + 1]), self.bases, self.ahead))

    def process(self, tapes: Tapes) -> NoiseProcess:
        """Return the noise of a conversation, from its beginning."""
        return TreeNoise(self, tapes)


class TreeNoise(Freezable):
    """The noise of sums so far: on each level a running sum of the noise of its intervals, read at two places."""

    remembered = ("_blocks", "_done", "_sums", "_first", "_drawn", "_known")

    def __init__(self, counter: TreeCounter, tapes: Tapes, *name: int) -> None:
        self._counter, self._tapes, self._name, self._blocks, self._done = counter, tapes, name, 0, 0
        empty = np.zeros((1, counter.entries), dtype=np.int64)
        #: For each level, the running sums that may still be read, and the number of intervals before the first.
        self._sums = [empty.copy() for _ in range(counter.levels)]
        self._first = [0] * counter.levels
        #: For each level, the running sum of all noise drawn there, and how many intervals that is.
        self._drawn = [empty[0].copy() for _ in range(counter.levels)]
        self._known = [0] * counter.levels

    def more(self) -> Integers:
        """Return the noise of the next block of ticks."""
        counter = self._counter
        done = np.arange(self._done + 1, min(self._done + counter.block, counter.steps) + 1)
        ends = _ends(done, counter.bases, counter.ahead)
        self._extend([int(end[-1]) + 1 for end in ends] if counter.combine == "subtract" else None, int(done[-1]))
        total = np.zeros((len(done), counter.entries), dtype=np.int64)
        for level, end in enumerate(ends):
            total += self._sums[level][end - self._first[level]]
            if level + 1 < counter.levels:
                start = ends[level + 1] * counter.bases[level]
                total -= self._sums[level][start - self._first[level]]
        self._forget(ends)
        self._done, self._blocks = int(done[-1]), self._blocks + 1
        return total

    def _extend(self, needed: list[int] | None, done: int) -> None:
        """Draw the noise of all intervals that are read in this block."""
        counter, sizes = self._counter, [1]
        for base in counter.bases:
            sizes.append(sizes[-1] * base)
        fresh, known = [], list(self._known)
        for level, size in enumerate(sizes):
            most = done // size
            if needed is not None:
                # A level is read at its own ends, and at ends of the next one, which may lie a little farther.
                upper = needed[level + 1] * counter.bases[level] if level + 1 < counter.levels else 0
                most = max(most, needed[level], upper)
            count = max(most - known[level], 0)
            drawn = _drawn(
                counter.node, count * counter.entries, Noise(self._tapes.tape(*self._name, self._blocks, level))
            )
            running = self._drawn[level] + np.cumsum(drawn.reshape(count, counter.entries), axis=0)
            if count:
                self._drawn[level] = running[-1]
            fresh.append(running)
            self._known[level] = known[level] + count
        for level, size in enumerate(sizes):
            if needed is not None or counter.combine == "add":
                added = fresh[level]
            else:
                ended = np.arange(known[level] + 1, self._known[level] + 1)
                added = np.zeros((len(ended), counter.entries), dtype=np.int64)
                for below, weight in enumerate(counter.weights[level]):
                    if weight:
                        added += weight * fresh[below][ended * (size // sizes[below]) - known[below] - 1]
            self._sums[level] = np.concatenate([self._sums[level], added])

    def _forget(self, ends: list[NDArray[np.int64]]) -> None:
        """Drop the running sums that no later tick reads: those before the place where the next level ends."""
        for level, end in enumerate(ends):
            least = int(end[-1])
            if level + 1 < self._counter.levels:
                least = min(least, int(ends[level + 1][-1]) * self._counter.bases[level])
            self._sums[level] = self._sums[level][least - self._first[level] :]
            self._first[level] = least


def _ends(done: NDArray[np.int64], bases: tuple[int, ...], ahead: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Return, for each level, at the end of how many intervals a sum of ``done`` ticks changes to the level below."""
    ends = [done]
    for base, early in zip(bases, ahead, strict=True):
        ends.append((ends[-1] + early) // base)
    return ends


def _intervals(done: NDArray[np.int64], bases: tuple[int, ...], ahead: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Return how many intervals of each level are added or subtracted for sums of ``done`` ticks."""
    ends = _ends(done, bases, ahead)
    return [*(np.abs(end - base * above) for end, above, base in zip(ends, ends[1:], bases, strict=False)), ends[-1]]


def _drawn(node: CountNoise, count: int, noise: Noise) -> Integers:
    if isinstance(node, Geometric):
        return noise.discrete_laplace(node.scale, count)
    return noise.discrete_gaussian(node.sigma, count)


def _width(node: CountNoise) -> Fraction:
    return node.scale if isinstance(node, Geometric) else node.sigma


def _variance(node: CountNoise) -> float:
    """Return the variance of the noise of one interval; that of the discrete Gaussian is at most sigma^2."""
    if isinstance(node, DiscreteGaussian):
        return float(node.sigma) ** 2
    rate = float(1 / node.scale)
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


@lru_cache(maxsize=64)
def _averages(bases: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return weights in units of 2^-12 by which an interval and those below it are averaged, of nearly least variance.

    The estimate of an interval is the average of its own noisy sum and of the sum of the estimates below, weighted by
    the inverse of their variances. Weights of each level add up to 1, so that the estimate is unbiased.
    """
    exact_rows, variance = [[1.0]], 1.0
    for base in bases:
        own = base * variance / (1 + base * variance)
        exact_rows.append([*((1 - own) * weight for weight in exact_rows[-1]), own])
        variance = own
    rows = []
    for row in exact_rows:
        below = [round(weight * _SHARES) for weight in row[:-1]]
        rows.append((*below, _SHARES - sum(below)))
    return tuple(rows)


@lru_cache(maxsize=64)
def _best_bases(steps: int, combine: str, *, is_pure: bool) -> tuple[int, ...]:
    """Return equal bases of least levels^2 (or levels) times the number of intervals, weighted by their variance."""
    best, chosen = math.inf, tuple[int, ...]()
    for levels in range(1, min(steps.bit_length(), _MOST_LEVELS) + 1):
        root = steps ** (1 / levels)
        for base in range(max(2, int(root / 2)), int(2 * root) + 3) if levels > 1 else (2,):
            bases = (base,) * (levels - 1)
            if base > 2**16 or math.prod(bases) > 2 * steps:
                continue
            kind: CountNoise = Geometric(scale=1) if is_pure else DiscreteGaussian(sigma=1)
            tree = TreeCounter(steps=steps, bases=bases, node=kind, combine=combine)
            spread = sum(count * variance for count, variance in zip(tree._most_used, tree.variances, strict=True))
            cost = spread * float(tree.stability) ** 2
            if cost < best:
                best, chosen = cost, bases
    return chosen
