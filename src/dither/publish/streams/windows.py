"""Sums over a sliding window, with noise that depends on the window's length and not on the stream's.

For the number of the last day, told every hour, for years. Time is cut into public blocks as long as the window. Within
a block a counter tells the sum since its beginning; a window is the end of one block and the beginning of the next, and
the end of a block is its whole less its beginning. Each tick lies in one block, so all blocks together cost what one
does. Cost: that of the counter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, Of, Whole, positive, whole
from dither.mechanisms.buffered_counter import BufferedCounter
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Handle, Runner, quietly
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.tree_counter import TreeCounter
from dither.privacy import EVENT, Loss, Parallel, Plan, Unit, Use
from dither.publish.streams.choose import choose_counter

_MOST_BLOCKS = 2**20


def _examples() -> Iterator[Example]:
    def streams(here: tuple[int, ...], there: tuple[int, ...], apart: int) -> tuple[Dialogue, Dialogue, int]:
        return Dialogue(None, here), Dialogue(None, there), apart

    few = (streams((0, 0, 0, 0), (1, 0, 0, 0), 1), streams((2, 3, 1, 5), (2, 3, 0, 5), 1), streams((0,), (1,), 1))
    tree = TreeCounter(steps=2, bases=(), node=Geometric(scale=3))
    yield Example(SlidingWindow(counter=tree, blocks=3), few[1][0], few)
    far = (streams((0,) * 5, (3, 0, 0, 0, 0), 1), streams((0,) * 5, (3, 0, 0, 0, -3), 2))
    mixed = BufferedCounter(sigma=4, rates=("1/2",), zeros=("1/4",), steps=2)
    yield Example(SlidingWindow(counter=mixed, blocks=3, largest=3), far[0][0], far)


@register(
    examples=_examples,
    source=(
        "Differentially Private Continual Monitoring of Heavy Hitters from Distributed Streams (Chan, Li, Shi, Xu "
        "2012) for windows from two blocks; the counters of the blocks have their own sources"
    ),
    made_for={"steps": 9, "width": 3},
)
@dataclass(frozen=True, kw_only=True)
class SlidingWindow(Interactive[None, "WindowSums"]):
    """Answer each tick with the noisy sum of the last ticks, as many as the counter has steps.

    Guarantee: streams that differ in ``d_in`` events, each of which moves the value of one tick by at most ``largest``,
    lose what ``counter`` loses at ``largest * d_in``. Event level: a person with many events is protected as one event
    at a time.

    Args:
        counter: the counter of one block; its steps are the window's length.
        blocks: how many blocks the stream has at most; public.
        largest: how far one event moves the value of its tick.

    >>> from dither.privacy import PureDP
    >>> daily = SlidingWindow.calibrated(PureDP(1), width=24, steps=8760, sensitivity=1)
    >>> daily.blocks, daily.loss(1) <= PureDP(1)
    (365, True)

    """

    name: ClassVar[str] = "sliding-window"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a window is made of three sums of two counters: see their intervals"
    no_interval_because: ClassVar[str] = no_error_because

    counter: Of[Any] = Of(
        TreeCounter,
        BufferedCounter,
        where=lambda counter: counter.length_of_stream is not None and getattr(counter, "ticks", 1) == 1,
        rule="a TreeCounter, or a BufferedCounter of events with a known end",
    )
    blocks: Whole = Whole(least=1, most=_MOST_BLOCKS)
    largest: Whole = Whole(1, least=1, most=2**40)

    @classmethod
    def calibrated(cls, within: Loss, *, width: int, steps: int, sensitivity: Number, shape: Any = ()) -> Self:
        """Return the windows of least error whose loss is within ``within``.

        Args:
            within: the loss not to exceed, for the whole stream.
            width: how many ticks a window has.
            steps: how many ticks the stream has.
            sensitivity: how far one event moves the value of its tick; an integer.
            shape: the shape of a tick.

        """
        length = whole("width", width, least=1)
        moved = positive("sensitivity", sensitivity)
        if moved.denominator != 1:
            raise InvalidParameter("sensitivity", sensitivity, "an integer")
        counter = choose_counter(within, sensitivity=moved, steps=length, shape=shape).counter
        blocks = -(-whole("steps", steps, least=1) // length)
        return cls(counter=counter, blocks=blocks, largest=int(moved))

    @property
    def width(self) -> int:
        """How many ticks a window has."""
        steps: int = self.counter.steps
        return steps

    @property
    def distance(self) -> Unit:
        """Events added or removed."""
        return EVENT

    def plan(self) -> Plan:
        """Return a counter for each of disjoint blocks."""
        return Parallel(Use(self.counter, self.largest), self.blocks, 1)

    def open(self, data: None, run: Runner) -> WindowSums:
        """Return the windows; ``data`` is None, because the values arrive one by one."""
        return WindowSums(self, run)


class WindowSums:
    """The conversation of a ``SlidingWindow``."""

    def __init__(self, windows: SlidingWindow, run: Runner) -> None:
        self._windows, self._runs = windows, run.parallel(windows.blocks)
        self._handle: Handle[Any, Any] | None = None
        self._before: list[Any] = []
        self._now: list[Any] = []
        self.fed = 0

    @quietly
    def feed(self, value: Any) -> Any:
        """Return the noisy sum of the last ticks; of all of them, where there are fewer than the window has."""
        width, counter = self._windows.width, self._windows.counter
        block, place = divmod(self.fed, width)
        if block == self._windows.blocks:
            raise HandleMisuse(f"the stream ended after {self.fed} ticks, as its price allows")
        # Refused before anything is taken: one tick at a time.
        counter.domain.admit(value)
        if (place == 0 and len(self._now) == width) or self._handle is None:
            self._before, self._now = self._now, []
            self._handle = self._runs[block].open(counter, stability=self._windows.largest)
        self._now.append(self._handle.ask(value))
        self.fed += 1
        return self._now[-1] if not self._before else self._now[-1] + self._before[-1] - self._before[place]
