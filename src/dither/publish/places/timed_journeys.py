"""Synthetic journeys with times: any method of journeys, and one table of when journeys of each block begin.

For those who need to know when, and pay for it: by default a tenth of the loss. A drawn journey begins in a part of
time that is drawn by the block of cells in which it begins; its further points have an order and no times. Cost: that
of the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.data.places.trips import Trips
from dither.errors import InvalidValue
from dither.estimate.projections import non_negative_with_total
from dither.exact import Number, Of, Whole
from dither.lift.start_times import MOST_PARTS
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, InOrder, Loss, Metric, Plan, Use
from dither.publish.graphs.synthesis.settled import Settled
from dither.publish.places.journeys import SOME_JOURNEYS, OfJourneys, journey_pairs, noise_scale
from dither.publish.places.markov_journeys import MarkovJourneys
from dither.publish.places.walks import WHOLE, Ints, Plane

_BLOCKS: Final = 5
_SHARE: Final = Fraction(1, 10)


def _examples() -> Iterator[Example]:
    weight = Geometric(scale=2 * WHOLE)
    method = MarkovJourneys(shape=(3, 3), length=4, most=8, trips=Geometric(scale=2), first=weight, second=weight)
    made = TimedJourneys(method=method, times=3, blocks=2, begun=Geometric(scale=2))
    pairs = tuple((_numbered(one), _numbered(other), apart) for one, other, apart in journey_pairs())
    yield Example(made, _numbered(SOME_JOURNEYS), pairs)


def _numbered(rows: Ints) -> Ints:
    """Return rows that begin with a part of time, which follows from the row alone."""
    return np.concatenate([rows.sum(axis=1, keepdims=True) % 5 - 1, rows], axis=1)


@register(
    examples=_examples,
    source="Utility-Aware Synthesis of Differentially Private and Attack-Resilient Location Traces (Gursoy et al. "
    "2018) for the journeys; times are this project's own",
    made_for={"build": lambda loss: MarkovJourneys.calibrated(loss, shape=(2, 3), length=3), "times": 2},
)
@dataclass(frozen=True, kw_only=True)
class TimedJourneys(Composed[Any, Ints]):
    """Draw journeys by a method, and for each the part of time in which it begins.

    Guarantee: collections of journeys ``d_in`` apart lose what ``method`` and ``begun`` lose at ``d_in``, added up.

    Data: as for the method, with a first column more: the number of the part of time in which the journey began, any
    other number where it began in none. Released is an array of that kind.

    Args:
        method: a method of journeys.
        times: how many parts of time there are; public.
        blocks: how many blocks of cells there are along each side; public.
        begun: the noise of the number of journeys that begin in a block and a part of time.

    >>> from dither.privacy import PureDP
    >>> build = lambda loss: MarkovJourneys.calibrated(loss, shape=(20, 20), length=60)
    >>> TimedJourneys.calibrated(PureDP(1), build=build, times=24).loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "timed-journeys"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = OfJourneys.no_error_because
    no_interval_because: ClassVar[str] = OfJourneys.no_interval_because

    method: Of[OfJourneys] = Of(OfJourneys)
    times: Whole = Whole(least=2, most=MOST_PARTS)
    blocks: Whole = Whole(_BLOCKS, least=1, most=16)
    begun: OneCount = OneCount()

    @classmethod
    def calibrated(
        cls, within: Loss, *, build: Callable[[Loss], OfJourneys], times: int, share: Number = _SHARE
    ) -> Self:
        """Return the least noise within a loss for collections one journey apart.

        Args:
            within: what they may lose.
            build: makes the method, from its loss for such collections.
            times: how many parts of time there are.
            share: of the loss, what the table of beginnings may lose.

        """
        purse = Purse.within(within)
        part = Fraction(share)
        return cls(method=build(purse.share(1 - part).loss), times=times, begun=purse.share(part).noise())

    @property
    def distance(self) -> Metric:
        """Journeys added and removed."""
        return RECORDS

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells along both axes."""
        return self.method.shape

    @property
    def trips(self) -> CountNoise:
        """The noise of the number of journeys."""
        found: CountNoise = self.method.trips  # type: ignore[attr-defined]
        return found

    @property
    def table(self) -> CountNoise:
        """The noise of beginnings, by block and part of time."""
        return replace(self.begun, shape=(self._many, self.times))

    @property
    def _many(self) -> int:
        return int(self.method.plane.blocks(self.blocks).max()) + 1

    def plan(self) -> Plan:
        """Use the method, then draw the table of beginnings."""
        return InOrder.of(Use(self.method), Use(self.table))

    def release(self, data: Any, run: Runner) -> Ints:
        """Return synthetic journeys, a row for each, which begins with a part of time."""
        began, origins, journeys = _parted(data)
        rows = run(self.method, journeys)
        blocks = self.method.plane.blocks(self.blocks)
        counts = beginnings(began, origins, blocks, self.method.plane, self.table.shape)
        noisy = np.asarray(run(self.table, counts), dtype=np.float64)
        # A method draws no journey without a cell.
        return np.concatenate([self._drawn(noisy, blocks[rows[:, 0]])[:, None], rows], axis=1)

    def _drawn(self, noisy: Any, block: Ints) -> Ints:
        """Return parts of time for journeys that begin in these blocks: a function of what was released."""
        total = max(float(noisy.sum()), 1.0)
        overall = non_negative_with_total(noisy.sum(axis=0), total)
        # A block of which little is known follows the others: as if it had one scale of noise more, begun as they did.
        law = non_negative_with_total(noisy.ravel(), total).reshape(noisy.shape)
        reached = np.cumsum(law + noise_scale(self.begun) * overall / total, axis=1)[block]
        points = Settled(noisy).random(block.size) * reached[:, -1]
        return np.asarray(np.minimum((reached <= points[:, None]).sum(axis=1), self.times - 1), dtype=np.int64)


def beginnings(began: Ints, origins: Ints, blocks: Ints, plane: Plane, shape: Any) -> Ints:
    """Return how many journeys begin in each block and part of time: exact and private.

    Args:
        began: the part of time of each journey; any other number where it began in none.
        origins: its first cell; any other number for no journey.
        blocks: the block of each cell.
        plane: the grid.
        shape: how many blocks and parts of time there are.

    """
    found = np.zeros(shape, dtype=np.int64)
    counts = (origins >= 0) & (origins < plane.cells) & (began >= 0) & (began < shape[1])
    np.add.at(found, (blocks[origins[counts].astype(np.int64)], began[counts].astype(np.int64)), 1)
    return found


def _parted(data: Any) -> tuple[Ints, Ints, Any]:
    """Return the parts of time, the first cells, and the journeys."""
    if isinstance(data, Trips):
        began = np.full(data.starts.size, -1, dtype=np.int64) if data.began is None else data.began
        return began, data.cells[data.starts], data
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.ndim == 2 and data.shape[1] > 1):
        rule = "an array of integers with two axes: for each journey a part of time, and its cells"
        raise InvalidValue("data", data, rule)
    return data[:, 0], data[:, 1], data[:, 1:]
