"""Incremental regression: a stream of batches, each answered with a regression of all rows so far.

For data that keep coming where a model is wanted all along. The moments that least squares need are sums over rows, so
their running sums are released by a tree: a batch lies in one node of each level, each node is drawn once, and every
prefix is a sum of few nodes. Cost: one pass over each batch, and one solution of a small system. Corrections: a batch
lies in floor(log2(batches)) + 1 nodes, one more than printed; the horizon is declared and paid for in advance; nothing
is surveyed, because a stream has no rows yet when it begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import FAR, NonNegative, Number, Real, Whole, exact, round_up, sqrt_up, whole
from dither.learn.centred import CONSTANT, LENGTH, REST
from dither.learn.linear.moments import MOST_COLUMNS, STABILITY, FromMoments, counted, moment_entries, solved, uncounted
from dither.learn.models import LinearModel
from dither.learn.noise_parts import shaped
from dither.learn.rows import STEPS, BoundField, Box, Floats, ball_radius, into_ball, records_of, target_box
from dither.mechanisms.core.mechanism import Interactive
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import SMALLEST_SCALE, OneEntry, Purse, VectorNoise
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import EVENT, Loss, Parallel, Plan, Unit, Use
from dither.privacy.plans import sequence

MOST_BATCHES: Final = 2**16


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, -3.0, 1.0], [9.0, 2.0, 0.0], [float("nan"), 1.0, 1.0], [0.1, 0.2, 7.0]])
    here = Dialogue(None, (rows[:2], rows[2:], rows[:0]))
    others = (
        (here, Dialogue(None, (rows[:1], rows[2:], rows[:0])), 1),
        (here, Dialogue(None, (rows[:2], rows[2:], np.array([[4.0, -4.0, float("nan")]]))), 1),
    )
    box: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "target_lower": 0, "target_upper": 2, "batches": 3}
    yield Example(IncrementalRegression(**box, part=DiscreteGaussian(sigma=5 * 2**30)), here, others)
    yield Example(IncrementalRegression(**box, part=GammaNorm(scale=5 * 2**30), penalty=2), here, others[:1])


@register(
    examples=_examples,
    source="Private Incremental Regression (Kasiviswanathan, Nissim, Jin 2017), section 4; Private and Continual "
    "Release of Statistics (Chan, Shi, Song 2011); Differential Privacy and Applications (Zhu et al. 2017), 6.2.2",
)
@dataclass(frozen=True, kw_only=True)
class IncrementalRegression(FromMoments, Interactive[None, "RunningRegression"]):
    """Answer each batch of a stream of rows with a linear regression of all rows so far.

    Guarantee: streams that differ in ``d_in`` rows, each in one batch, lose ``levels`` times what ``part`` loses at
    ``d_in`` times the stability of moments, levels = floor(log2(batches)) + 1. Event level: a person with many rows is
    protected as one row at a time. When a batch is fed is public.

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        target_lower: the public lower bound of the target; one that is not a number means the middle.
        target_upper: its upper bound.
        batches: the largest number of batches of the stream; public, and paid for in advance.
        part: the noise of a node's moments, in steps.
        penalty: on squared weights of columns scaled by their bounds, beside what the noise requires.

    >>> from dither.privacy import ZCDP
    >>> public = {"lower": [0], "upper": [1], "target_lower": 0, "target_upper": 5}
    >>> stream = IncrementalRegression.calibrated(ZCDP(1), batches=12, **public)
    >>> stream.levels, stream.loss(1) <= ZCDP(1)
    (4, True)

    """

    name: ClassVar[str] = "incremental-regression"
    version: ClassVar[int] = 1

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    target_lower: Real = Real()
    target_upper: Real = Real()
    batches: Whole = Whole(least=1, most=MOST_BATCHES)
    part: OneEntry = OneEntry()
    penalty: NonNegative = NonNegative(0, most=FAR)

    def __post_init__(self) -> None:
        if self.box.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")
        # A range that floats do not hold is refused here, and not when rows are fed.
        _ = self.target_box

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        target_lower: Number,
        target_upper: Number,
        batches: int,
        penalty: Number = 0,
    ) -> Self:
        """Return the stream with the least noise whose loss for one row is within ``within``."""
        purse = Purse.within(within)
        levels = whole("batches", batches, least=1, most=MOST_BATCHES).bit_length()
        part = (purse / levels).vector_noise(STABILITY)
        return cls(
            lower=lower,
            upper=upper,
            target_lower=target_lower,
            target_upper=target_upper,
            batches=batches,
            part=part,
            penalty=penalty,
        )

    @cached_property
    def box(self) -> Box:
        """The bounds, and their grid."""
        return Box(self.lower, self.upper)

    @cached_property
    def target_box(self) -> Box:
        """The bounds of the target, moved so that their middle is zero."""
        return target_box(self.target_lower, self.target_upper)

    @property
    def middle(self) -> float:
        """The value of the target that is zero on the grid."""
        return float(self.target_lower + self.target_upper) / 2

    @property
    def levels(self) -> int:
        """The largest number of nodes in which a batch lies."""
        return self.batches.bit_length()

    @property
    def node(self) -> Any:
        """The noise of all moments of one node."""
        return shaped(self.part, moment_entries(self.box.columns, 1))

    @property
    def distance(self) -> Unit:
        """Rows of the stream, added or removed."""
        return EVENT

    def shares(self) -> list[tuple[int, int]]:
        """Return, for each level, the number of blocks of its nodes and the number of nodes in a block."""
        sizes = [self.batches >> level for level in range(self.levels)]
        widths = [math.isqrt(size - 1) + 1 for size in sizes]
        return [(-(-size // width), width) for size, width in zip(sizes, widths, strict=True)]

    def plan(self) -> Plan:
        """Return the draws: on each level the nodes are disjoint, in blocks and within a block."""
        use = Use(self.node, STABILITY)
        return sequence(Parallel(Parallel(use, width, 1), blocks, 1) for blocks, width in self.shares())

    def open(self, data: None, run: Runner) -> RunningRegression:
        """Return the running regression; ``data`` is None, because rows arrive in batches."""
        return RunningRegression(self, run)

    def moments(self, rows: Any) -> NDArray[np.int64]:
        """Return the private integer sums of products of the rows of a batch."""
        records = records_of(rows, self.box.columns)
        with np.errstate(all="ignore"):
            targets = np.rint(self.target_box.scaled(records[:, -1:] - self.middle) * LENGTH)
        short = into_ball(self.box.steps(records[:, :-1]), ball_radius(self.box.columns), REST)
        whole_records = np.hstack([short, np.full((len(short), 1), float(CONSTANT))])
        return counted(whole_records, targets)

    def model(self, seen: Floats, variance: float) -> LinearModel:
        """Return the regression of noisy moments; post-processing.

        Args:
            seen: noisy sums of products.
            variance: of their noise, in units of that of one node.

        """
        square, products = uncounted(seen, self.box.columns + 1)
        radius = ball_radius(self.box.columns) / STEPS
        ratio = REST / LENGTH / radius
        weights = solved(square, products, _louder(self.part, variance), float(self.penalty) * ratio**2)
        weights = weights * float(self.target_box.scale[0])
        return LinearModel(
            self.box.lower,
            self.box.upper,
            PublicArray(np.zeros(self.box.columns)),
            radius,
            PublicArray(weights[:, :-1] * (REST / LENGTH)),
            PublicArray(weights[:, -1] * (CONSTANT / LENGTH) + self.middle),
        )


class _Level:
    """The nodes of one level: those still to be drawn, the sum of the open one, and the estimates in use."""

    def __init__(self, blocks: list[Runner], width: int, entries: int) -> None:
        self._blocks, self._width, self._drawn = blocks, width, 0
        self._block: list[Runner] = []
        self.open_sum = np.zeros(entries, dtype=np.int64)
        self.clear()

    def clear(self) -> None:
        self.in_use, self.variance = np.zeros(self.open_sum.size), 0.0

    def draw(self, node: Any) -> Floats:
        """Return the noisy sum of the open node, and begin the next."""
        block, place = divmod(self._drawn, self._width)
        if place == 0:
            self._block = self._blocks[block].parallel(self._width)
        drawn = self._block[place](node, self.open_sum, stability=STABILITY)
        self._drawn, self.open_sum = self._drawn + 1, np.zeros_like(self.open_sum)
        return np.asarray(drawn, dtype=np.float64)


class RunningRegression:
    """The conversation of an ``IncrementalRegression``; bound to thread and process by its runners."""

    def __init__(self, stream: IncrementalRegression, run: Runner) -> None:
        self.stream, entries = stream, moment_entries(stream.box.columns, 1)
        self._levels = [_Level(run.parallel(blocks), width, entries) for blocks, width in stream.shares()]
        self._answers: list[LinearModel] = []
        self._is_torn = False

    @property
    def fed(self) -> int:
        """The number of batches fed so far."""
        return len(self._answers)

    @quietly
    def feed(self, rows: Any, *, batch: int | None = None) -> LinearModel:
        """Return the regression of all rows up to this batch; with ``batch``, the stored answer if it was already fed.

        Args:
            rows: an array of numbers, the target last; it may have no rows.
            batch: the number of the batch, counted from 0.

        A batch that fails after it was begun, by an interrupt or in another thread, ends the stream.

        """
        if batch is not None and whole("batch", batch) < self.fed:
            return self._answers[batch]
        if batch is not None and batch != self.fed:
            raise HandleMisuse(f"batch must be at most {self.fed}, the next one, got {batch}")
        if self.fed == self.stream.batches:
            raise HandleMisuse(f"the stream ended after {self.fed} batches, as its price allows")
        if self._is_torn:
            raise HandleMisuse(f"batch {self.fed} failed half-way, which ended the stream: its rows would count twice")
        added, done = self.stream.moments(rows), self.fed + 1
        self._is_torn = True
        # Cut off at each addition, so that no sum of however many batches wraps: that moves no two sums farther apart.
        added = np.clip(added, -LARGEST_VALUE, LARGEST_VALUE)
        for level in self._levels:
            level.open_sum = np.clip(level.open_sum + added, -LARGEST_VALUE, LARGEST_VALUE)
        self._close(done)
        seen = np.add.reduce([level.in_use for level in self._levels])
        self._answers.append(self.stream.model(seen, sum(level.variance for level in self._levels)))
        self._is_torn = False
        return self._answers[-1]

    def _close(self, done: int) -> None:
        """Draw the nodes that end here. A node and the sum of its halves estimate the same: both are used, weighted."""
        for height, level in enumerate(self._levels):
            if done % 2**height:
                return
            drawn, variance = level.draw(self.stream.node), 1.0
            if height:
                below = self._levels[height - 1]
                share = below.variance / (1 + below.variance)
                drawn, variance = share * drawn + (1 - share) * below.in_use, share
                below.clear()
            level.in_use, level.variance = level.in_use + drawn, level.variance + variance


def _louder(noise: VectorNoise, variance: float) -> VectorNoise:
    """Return noise with ``variance`` times the variance, to state how far sums may be off."""
    factor = round_up(sqrt_up(Fraction(max(variance, 2.0**-20))), bits=32)
    if isinstance(noise, GammaNorm):
        return replace(noise, scale=exact("scale", noise.scale) * factor)
    return replace(noise, sigma=max(noise.sigma * factor, SMALLEST_SCALE))
