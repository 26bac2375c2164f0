"""Running counters: each tick is answered with the sum so far, and noise that no value has touched.

Shared by all counters on streams. The noise of tick t depends on public parameters and on secret tapes alone, so it can
be made for a block of ticks at once, and made again from the key of the tapes: what a conversation must remember is the
key, the exact sums and how many ticks were fed. Which noise a counter adds, and why the sums with it are private, is
its own affair.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Shape, sqrt_up
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.values import LARGEST_SUM, LARGEST_VALUE, IntegerArray, integers
from dither.noise import Noise
from dither.noise.frozen import from_plain, plain
from dither.noise.laplace import Integers
from dither.noise.tapes import KeyedTapes, Tapes
from dither.privacy import Metric

#: The longest stream: values saturate at 2^60 divided by its length.
MOST_TICKS = 2**32
#: The sum of 1 / 1, 1 / 2, ... of all ticks of the longest stream is below this: 1 + ln 2^32 is 23.2.
_HARMONIC = 24
#: Numbers of noise that are made together.
_BLOCK = 2**12
#: Of wide ticks as many are made together all the same: what is done once for a block is dear.
_FEWEST = 8
#: How states are frozen, and how they were before: without what makes the noise, which is made again.
_VERSION, _BEFORE = 2, 1


class NoiseProcess(Protocol):
    """Noise of one conversation, block by block."""

    def more(self) -> Integers:
        """Return the noise of the next block of ticks: a row for each, a column for each entry."""

    def freeze(self) -> dict[str, Any]:
        """Return what it remembers between two blocks, as plain JSON data."""

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take up what another one of the same parameters remembered."""


@dataclass
class RunningState:
    """The secret state: the tapes of the noise, the exact sums, and the noise of the block in which the stream is."""

    tapes: Tapes
    process: NoiseProcess
    totals: NDArray[np.int64]
    ahead: Integers
    used: int = 0
    fed: int = 0

    def next_noise(self, ticks: int) -> Integers:
        """Return the noise of the next ticks."""
        if self.used + ticks <= len(self.ahead):
            self.used += ticks
            return self.ahead[self.used - ticks : self.used]
        parts = [self.ahead[self.used :]]
        missing = ticks - len(parts[0])
        while missing > 0:
            self.ahead = self.process.more()
            self.used = min(missing, len(self.ahead))
            parts.append(self.ahead[: self.used])
            missing -= self.used
        return np.concatenate(parts)


@dataclass(frozen=True, kw_only=True)
class RunningCounter(InteractivePrimitive[Any, Any]):
    """The part that all running counters share: what a tick may be, how sums are kept, how a conversation is resumed.

    A tick is an integer or an array of integers of the public shape. An array with one more axis in front is a block of
    ticks, and is answered with as many sums; how ticks are gathered into blocks is public and changes no law.
    """

    no_interval_because: ClassVar[str] = "an answer alone does not say which tick it is of: see interval_at"

    shape: Shape = Shape(())

    @property
    @abstractmethod
    def length_of_stream(self) -> int | None:
        """How many ticks there are at most; None where that is not known."""

    @abstractmethod
    def process(self, tapes: Tapes) -> NoiseProcess:
        """Return the noise of a conversation from its beginning."""

    @property
    def entries(self) -> int:
        """How many integers a tick has."""
        return math.prod(self.shape)

    @property
    def block(self) -> int:
        """How many ticks of noise are made together."""
        return min(self.length_of_stream or _BLOCK, max(_FEWEST, _BLOCK // self.entries))

    @property
    def shares(self) -> int:
        """The number of shares of 1 in which noise is made; the answer is rounded to integers after it was added."""
        return 1

    def limits(self, first: int, ticks: int) -> NDArray[np.int64]:
        """Return the largest absolute value of an entry at each of some ticks, a row for each; numbers beyond mean it.

        All of them add up to at most 2^60 shares. Where no end is known early ticks may be large, so that a limit for
        the longest stream of all does not cut off usual ones.
        """
        most, length = LARGEST_VALUE // self.shares, self.length_of_stream
        if length is not None:
            return np.array([[most // length]])
        return np.asarray(most // _HARMONIC // np.arange(first + 1, first + ticks + 1)[:, None])

    @property
    def domain(self) -> IntegerArray:
        """Integers of the declared shape: one tick."""
        return IntegerArray(self.shape)

    def begin(self, noise: Noise) -> RunningState:
        """Return the state before the first tick."""
        return self._opened(noise.tapes())

    def _opened(self, tapes: Tapes) -> RunningState:
        nothing = np.zeros((0, self.entries), dtype=np.int64)
        return RunningState(tapes, self.process(tapes), np.zeros(self.kept, dtype=np.int64), nothing)

    def reply(self, state: Any, value: Any, noise: Noise) -> tuple[Any, bool]:
        """Return the noisy sum up to this tick, or those of a block of ticks, and whether the stream is over."""
        is_block = isinstance(value, np.ndarray) and value.ndim == len(self.shape) + 1
        ticks = self._ticks(value, state.fed) if is_block else self.domain.admit(value)[None, :]
        limits = self.limits(state.fed, len(ticks))
        sums = self.summed(state, np.clip(ticks, -limits, limits))
        drawn = state.next_noise(len(ticks))
        state.fed += len(ticks)
        # Sums in shares are below 2^60. What wraps around, and the cut, are functions of the exact sum.
        shown = sums + drawn if self.shares == 1 else (sums + drawn + self.shares // 2) // self.shares
        shown = np.minimum(np.maximum(shown, -LARGEST_SUM), LARGEST_SUM)
        answers: Any = shown.reshape(len(ticks), *self.shape)
        if not is_block:
            answers = answers[0] if self.shape else int(answers[0])
        return answers, state.fed == (self.length_of_stream or MOST_TICKS)

    def summed(self, state: RunningState, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact sums up to each of some ticks, in shares; what is kept of the past goes on with them."""
        sums = state.totals + np.cumsum(ticks, axis=0)
        if len(ticks):
            state.totals = sums[-1]
        return sums if self.shares == 1 else sums * self.shares

    @property
    def kept(self) -> tuple[int, ...]:
        """The shape of what is kept of the past: one sum for each entry."""
        return (self.entries,)

    def _ticks(self, value: NDArray[Any], fed: int) -> NDArray[np.int64]:
        """Return a block of ticks, refused by its type, its shape and its length alone."""
        left = (self.length_of_stream or MOST_TICKS) - fed
        if value.dtype.kind not in "iu" or value.shape[1:] != self.shape or not 0 < len(value) <= left:
            raise InvalidValue("value", value, f"a block of at most {left} ticks, integers of shape {self.shape}")
        # Of a masked array the numbers are read, as of a single tick: a mask would show in the answer.
        return integers(np.asarray(value).reshape(len(value), self.entries))

    def freeze(self, state: Any) -> dict[str, Any]:
        """Return all that a conversation must remember between two ticks, as plain JSON data; it is secret.

        It holds the exact sums and the key of the noise: whoever reads it reads exact sums of the past and, with later
        answers, of the future. A resumed conversation gives the answers that this one would have given. Its size does
        not depend on how many ticks were fed, nor on how large the sums are: where it is sealed, its size is seen.
        """
        frozen = {"version": _VERSION, "key": state.tapes.key.hex(), "fed": state.fed, "totals": plain(state.totals)}
        return frozen | {"process": state.process.freeze(), "ahead": plain(state.ahead[state.used :])}

    def thaw(self, frozen: dict[str, Any]) -> RunningState:
        """Return the state that was frozen; without what the process remembered its noise is made again."""
        try:
            version, tapes = frozen["version"], KeyedTapes(bytes.fromhex(frozen["key"]))
            fed, totals = frozen["fed"], np.array(from_plain(frozen["totals"]), dtype=np.int64)
            is_sound = version in (_BEFORE, _VERSION) and totals.shape == self.kept and type(fed) is int
            is_sound = is_sound and 0 <= fed <= (self.length_of_stream or MOST_TICKS)
            state = self._opened(tapes)
            if is_sound and version == _VERSION:
                state.process.thaw(frozen["process"])
                state.ahead = from_plain(frozen["ahead"])
                is_sound = state.ahead.ndim == 2 and state.ahead.shape[1] == self.entries
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError, InvalidParameter):
            is_sound = False
        if not is_sound:
            raise InvalidParameter("frozen", "a state", f"what freeze of a {self.name} of the same parameters returned")
        for start in range(0, fed if version == _BEFORE else 0, self.block):
            state.next_noise(min(self.block, fed - start))
        state.totals, state.fed = totals, fed
        return state


class TickLengths(Metric):
    """The sum over people, each at up to ``ticks`` ticks at least ``apart`` apart, of their largest change at a tick.

    The change of a tick is measured in L2, or in L1. With one tick each this is the sum over ticks.
    """

    def __init__(self, ticks: int, apart: int, shape: tuple[int, ...], order: int = 2) -> None:
        length = "Euclidean length of the change" if order == 2 else "absolute changes"
        meaning = f"the sum over ticks of the {length}"
        if ticks > 1:
            meaning = f"the largest change of a person at a tick, at up to {ticks} ticks at least {apart} apart"
        super().__init__(f"TICKS({ticks}, {apart}, {shape}, L{order})", meaning)
        self._of = (ticks, apart, shape, order)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a tick."""
        return self._of[2]

    def measure(self, first: Any, second: Any) -> Fraction | None:
        """Return the distance of two scripts of ticks, from one way to divide their difference among people."""
        ticks, apart, shape, order = self._of
        here, there = ([*_single(script, shape)] for script in (first, second))
        if len(here) != len(there):
            return None
        changes = []
        for one, other in zip(here, there, strict=True):
            if one.shape != shape or other.shape != shape:
                return None
            pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
            moved = [abs(a - b) for a, b in pairs]
            changes.append(Fraction(sum(moved)) if order == 1 else sqrt_up(Fraction(sum(m * m for m in moved))))
        people: list[tuple[int, int, Fraction]] = []  # the last tick of each, how many they had, the largest change
        for place, change in enumerate(changes):
            if change:
                fit = [one for one in people if one[1] < ticks and place - one[0] >= apart]
                last = max(fit, key=lambda one: one[2], default=(place, 0, Fraction(0)))
                if last in people:
                    people.remove(last)
                people.append((place, last[1] + 1, max(last[2], change)))
        return sum((largest for _, _, largest in people), Fraction(0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TickLengths) and self._of == other._of

    def __hash__(self) -> int:
        return hash(self._of)


def _single(script: Iterable[Any], shape: tuple[int, ...]) -> Iterable[NDArray[Any]]:
    """Return the ticks of a script one by one, of integers of Python's own."""
    for value in script:
        array = np.array(value, dtype=object)
        yield from array if array.ndim == len(shape) + 1 else [array]
