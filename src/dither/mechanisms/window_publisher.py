"""Tables of counts published at every tick, for w-event privacy: what anybody does within a window of ticks is hidden.

For streams without an end in which the budget renews itself: only the losses of any ``window`` ticks in a row add up.
A noisy test tells whether the present table has moved away from the last published one; only then a new one is
published. Two schemes share the budget of a window among publications (distribution, absorption); two baselines publish
every tick, or one in a window. Cost: a draw a tick, and one an entry and publication. Correction: printed tests compare
floats; here all is decided in integers and rationals, and every window's sum is checked before a draw.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, PlanViolation
from dither.exact import Number, OneOf, Probability, Shape, Whole, non_negative
from dither.mechanisms.core.mechanism import InteractivePrimitive, Numerics
from dither.mechanisms.core.purse import Epsilon
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, saturating_sum
from dither.noise import Noise
from dither.privacy import Loss, PureDP, Unit, w_event

#: How many units the budget of a window has under distribution, where every publication takes half of the rest.
_UNITS = 2**24
_SMALLEST, _LARGEST = Fraction(1, 2**20), 2**20


def _examples() -> Iterator[Example]:
    pairs: tuple[tuple[Any, Any, int], ...] = (
        ([3, 3], [4, 4], 1),
        ([0, 5], [1, 4], 1),
        ([0, 0, 0, 0], [0, 1, 1, 0], 1),
        ([7, 7], [9, 7], 2),
    )
    for scheme in ("uniform", "absorption", "distribution", "sample"):
        yield Example(WindowPublisher(epsilon=2, window=2, scheme=scheme), [3, 4, 9], pairs)
    two = np.array([1, 0])
    vectors = (([two, two], [two * 2, two * 0], 1),)
    yield Example(WindowPublisher(epsilon=1, window=3, shape=2), [two, two], vectors)


@dataclass
class _State:
    """What was published, and the units that the last ticks of a window took: all of it is public."""

    last: NDArray[np.int64]
    spent: deque[int] = field(default_factory=deque)
    tick: int = 0
    published: int = -1  # the tick of the last publication
    taken: int = 0  # the units that it took


@register(
    examples=_examples,
    source="Differentially Private Event Sequences over Infinite Streams (Kellaris, Papadopoulos, Xiao, Papadias "
    "2014); Differential Privacy and Applications (Zhu et al. 2017), section 4.3.3",
)
@dataclass(frozen=True, kw_only=True)
class WindowPublisher(InteractivePrimitive[Any, Any]):
    """Answer each tick with its table of counts and noise, or with the last published one if that is near enough.

    Guarantee: streams that differ in what ``d_in`` people do within any ``window`` ticks in a row, each tick moving by
    at most 1 in L1 for each of them, lose ``d_in * epsilon`` over all ticks; also if values are chosen by who has seen
    earlier answers. This is w-event privacy, which is less than privacy of people: who comes again after the window
    loses epsilon again.

    Args:
        epsilon: the loss of any window.
        window: how many ticks it has.
        scheme: "absorption" or "distribution" publish where the table has moved; "uniform" publishes every tick,
            "sample" the first of every ``window`` ticks.
        share: the part of epsilon for tests whether the table has moved; uniform and sample have none.
        shape: the shape of a tick; ``()`` is one integer.

    >>> WindowPublisher(epsilon=1, window=24).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "window-publisher"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a table that is published again is as far off as the stream has moved"
    no_interval_because: ClassVar[str] = no_error_because

    epsilon: Epsilon = Epsilon()
    window: Whole = Whole(least=1, most=2**16)
    scheme: OneOf = OneOf("absorption", "distribution", "uniform", "sample", default="absorption")
    share: Probability = Probability(Fraction(1, 2))
    shape: Shape = Shape(())

    def __post_init__(self) -> None:
        if not _SMALLEST <= self.epsilon <= _LARGEST:
            raise InvalidParameter("epsilon", self.epsilon, "between 2^-20 and 2^20")
        if not Fraction(1, 100) <= self.share <= Fraction(99, 100):
            raise InvalidParameter("share", self.share, "between 1/100 and 99/100")
        if math.prod(self.shape) > 2**24:
            raise InvalidParameter("shape", self.shape, "of at most 2^24 entries")

    @property
    def distance(self) -> Unit:
        """What people do within a window: a relaxed notion."""
        return w_event(self.window)

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape: one tick."""
        return IntegerArray(self.shape)

    def loss(self, d_in: Number = 1) -> Loss:
        """Return the loss of all ticks together, for what is done within one window."""
        return PureDP(non_negative("d_in", d_in) * self.epsilon)

    @property
    def is_adaptive(self) -> bool:
        """Whether a tick is published only if the table has moved."""
        return self.scheme in ("absorption", "distribution")

    @cached_property
    def units(self) -> int:
        """The number of units in the budget of a window."""
        return {"absorption": self.window, "distribution": _UNITS, "uniform": self.window, "sample": 1}[self.scheme]

    @cached_property
    def unit(self) -> Fraction:
        """The epsilon of one unit."""
        return self.epsilon * (1 - self.share if self.is_adaptive else 1) / self.units

    @property
    def test_scale(self) -> Fraction:
        """The scale of the noise with which the distance to the last table is tested."""
        return self.window / (self.epsilon * self.share)

    def offer(self, state: Any) -> int:
        """Return how many units this tick may take, which follows from what was published before."""
        if self.scheme == "uniform":
            return 1
        if self.scheme == "sample":
            return int(state.tick % self.window == 0)
        if self.scheme == "distribution":
            rest: int = (self.units - sum(state.spent)) // 2
            return rest
        # Who took several units silences as many ticks, less one. What silent and skipped ticks leave is absorbed, but
        # not that of ticks whose units were paid out before.
        free: int = state.tick - state.published - max(state.taken - 1, 0)
        return max(0, min(free, self.window))

    def begin(self, noise: Noise) -> _State:
        """Return the state before the first tick: a table of zeros, as if published long ago."""
        return _State(np.zeros(self.domain.admit(np.zeros(self.shape, dtype=np.int64)).size, dtype=np.int64))

    def reply(self, state: Any, value: Any, noise: Noise) -> tuple[Any, bool]:
        """Return the table of this tick with noise, or the last published one."""
        table, offered = self.domain.admit(value), self.offer(state)
        taken = offered if offered and self._has_moved(state, table, offered, noise) else 0
        if sum(state.spent) + taken > self.units:
            # Never so: it is proved, and checked all the same.
            raise PlanViolation(f"a window of {self.window} ticks would take more than its budget")
        if taken:
            drawn = noise.discrete_laplace(1 / (taken * self.unit), table.size)
            state.last = saturating_sum(table, drawn)
            state.published, state.taken = state.tick, taken
        state.spent.append(taken)
        if len(state.spent) >= self.window:
            state.spent.popleft()
        state.tick += 1
        shown = state.last.reshape(self.shape)
        return (shown.copy() if self.shape else int(shown)), False

    def _has_moved(self, state: Any, table: NDArray[np.int64], offered: int, noise: Noise) -> bool:
        """Return whether a table is so far from the last one that publishing it is better, by a noisy test."""
        if not self.is_adaptive:
            return True
        apart = sum(np.abs(table - state.last).tolist()) + int(noise.discrete_laplace(self.test_scale, 1)[0])
        return bool(apart * offered * self.unit > table.size)

    def freeze(self, state: Any) -> dict[str, Any]:
        """Return what a conversation must remember between two ticks, as plain JSON data; all of it is public."""
        return {
            "version": 1,
            "last": state.last.tolist(),
            "spent": list(state.spent),
            "tick": state.tick,
            "published": state.published,
            "taken": state.taken,
        }

    def thaw(self, frozen: dict[str, Any]) -> _State:
        """Return the state that was frozen."""
        fresh = self.begin(None)  # type: ignore[arg-type]
        try:
            last, spent = np.array(frozen["last"], dtype=np.int64), [int(units) for units in frozen["spent"]]
            state = _State(last, deque(spent), *(int(frozen[name]) for name in ("tick", "published", "taken")))
            is_sound = frozen["version"] == 1 and last.shape == fresh.last.shape and min(spent, default=0) >= 0
            is_sound = is_sound and len(spent) < self.window and sum(spent) <= self.units and state.tick >= 0
        except (KeyError, TypeError, ValueError, OverflowError):
            is_sound = False
        if not is_sound:
            raise InvalidParameter("frozen", "a state", f"what freeze of a {self.name} of the same parameters returned")
        return state
