"""One-shot releases made continual: a table of counts is published again only when it has drifted away.

For sums so far that stand still most of the time. A sparse vector compares the present sums with the last published
ones, tick after tick, and pays for the times it says yes; each yes buys a fresh release. After the last of a public
number of republications the last table stays. Cost: a draw a tick. Correction: comparing is not free, as is sometimes
printed; it goes through a noisy threshold with a cap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, Of, Shape, Whole, positive, whole
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.core.values import LARGEST_VALUE, IntegerArray
from dither.mechanisms.geometric import Geometric
from dither.privacy import EVENT, InOrder, Loss, Plan, PureDP, Repeat, Unit, Use

_MOST_STEPS = 2**32


def _examples() -> Iterator[Example]:
    def streams(here: tuple[int, ...], there: tuple[int, ...], apart: int) -> tuple[Dialogue, Dialogue, int]:
        return Dialogue(None, here), Dialogue(None, there), apart

    few = (streams((0, 0, 0, 0), (1, 0, 0, 0), 1), streams((2, 3, 1, 5), (2, 3, 0, 5), 1), streams((0,), (1,), 1))
    test = AboveThreshold(threshold=3, threshold_scale=2, query_scale=8, positives=2)
    yield Example(DriftPublisher(test=test, node=Geometric(scale=2), steps=4), few[1][0], few)
    far = (streams((0,) * 5, (3, 0, 0, 0, 0), 1), streams((9,) * 5, (9, 9, 9, 9, 6), 1))
    yield Example(DriftPublisher(test=test, node=Geometric(scale=2), steps=5, largest=3), far[0][0], far)


@register(
    examples=_examples,
    source="Differential Privacy under Continual Observation (Dwork, Naor, Pitassi, Rothblum 2010), section 5; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 4.3.3",
    made_for={"drift": 3, "republications": 2, "steps": 9},
)
@dataclass(frozen=True, kw_only=True)
class DriftPublisher(Interactive[None, "Republishing"]):
    """Answer each tick with the last published sums, and publish new ones where these have drifted beyond a threshold.

    Guarantee: streams that differ in ``d_in`` events, each of which moves the value of one tick by at most ``largest``
    in L1, lose what ``test`` loses at ``largest * d_in`` and as many times what ``node`` loses there as ``test`` has
    positives. Event level: a person with many events is protected as one event at a time.

    Args:
        test: the sparse vector that compares; its threshold is the drift, its positives cap republications.
        node: the noise of a published sum.
        steps: how many ticks the stream has; public.
        largest: how far one event moves the value of its tick.
        shape: the shape of a tick; ``()`` is one integer.

    >>> drift = DriftPublisher.calibrated(PureDP(1), sensitivity=1, drift=200, republications=10, steps=8760)
    >>> drift.loss(1) <= PureDP(1)
    True

    """

    name: ClassVar[str] = "drift-publisher"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "after the last republication the sums may drift any distance"
    no_interval_because: ClassVar[str] = no_error_because

    test: Of[AboveThreshold] = Of(
        AboveThreshold, where=lambda test: not test.one_way, rule="an AboveThreshold that is not one-way"
    )
    node: OneCount = OneCount()
    steps: Whole = Whole(least=1, most=_MOST_STEPS)
    largest: Whole = Whole(1, least=1, most=2**40)
    shape: Shape = Shape(())

    @classmethod
    def calibrated(
        cls, within: Loss, *, sensitivity: Number, drift: int, republications: int, steps: int, shape: Any = ()
    ) -> Self:
        """Return a publisher whose loss is within ``within``: half of it for the test, half for what is published.

        Args:
            within: the loss not to exceed, for the whole stream; its epsilon is spent.
            sensitivity: how far one event moves the value of its tick in L1; an integer.
            drift: how far the largest entry may be from the last published one.
            republications: how often new sums are published at most.
            steps: how many ticks the stream has.
            shape: the shape of a tick.

        """
        moved, purse = positive("sensitivity", sensitivity), Purse.pure_within(within)
        if moved.denominator != 1:
            raise InvalidParameter("sensitivity", sensitivity, "an integer")
        times = whole("republications", republications, least=1, most=2**20)
        half = PureDP(purse.amount / 2)
        test = AboveThreshold.calibrated(half, threshold=drift, sensitivity=moved, positives=times)
        node = (purse / (2 * times)).noise(moved)
        return cls(test=test, node=node, steps=steps, largest=int(moved), shape=shape)

    @property
    def distance(self) -> Unit:
        """Events added or removed."""
        return EVENT

    @cached_property
    def table(self) -> CountNoise:
        """The noise of all sums that are published together."""
        return replace(self.node, shape=self.shape)

    def plan(self) -> Plan:
        """Return the test, and a release for every time that it may say yes."""
        return InOrder.of(Use(self.test, self.largest), Repeat(Use(self.table, self.largest), self.test.positives))

    def open(self, data: None, run: Runner) -> Republishing:
        """Return the conversation; ``data`` is None, because the values arrive one by one."""
        return Republishing(self, run)


class Republishing:
    """The conversation of a ``DriftPublisher``."""

    def __init__(self, publisher: DriftPublisher, run: Runner) -> None:
        self._publisher, self._run = publisher, run
        self._test = run.open(publisher.test, stability=publisher.largest)
        self._domain = IntegerArray(publisher.shape)
        size = self._domain.admit(np.zeros(publisher.shape, dtype=np.int64)).size
        self._sums, self._shown = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.fed, self.republications = 0, 0

    @quietly
    def feed(self, value: Any) -> Any:
        """Return the last published sums, new ones where they have drifted."""
        publisher = self._publisher
        if self.fed == publisher.steps:
            raise HandleMisuse(f"the stream ended after {self.fed} ticks, as its price allows")
        limit = LARGEST_VALUE // publisher.steps
        self._sums = self._sums + np.clip(self._domain.admit(value), -limit, limit)
        self.fed += 1
        if not self._test.is_over:
            # Between neighbours one entry moves by ``largest`` at most, and so does the largest difference.
            apart = int(np.abs(self._sums - self._shown).max())
            if self._test.ask(apart):
                drawn = self._run(publisher.table, self._given(), stability=publisher.largest)
                self._shown = np.clip(np.atleast_1d(np.asarray(drawn)).ravel(), -LARGEST_VALUE, LARGEST_VALUE)
                self.republications += 1
        shown: NDArray[np.int64] = self._shown.reshape(publisher.shape)
        return shown.copy() if publisher.shape else int(shown)

    def _given(self) -> Any:
        return self._sums.reshape(self._publisher.shape) if self._publisher.shape else int(self._sums[0])
