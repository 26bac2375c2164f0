"""Outputs that no honest draw reaches in a lifetime: draws that were made for other values.

The noise of a sound mechanism reaches everything, so everything after a draw must be right for every output, the
rarest included. A wild runner makes each draw for nothing, for very large or very small numbers, for a single candidate
or for values in another order, and returns that. What it returns depends on the part and on the turn alone, and
not on the data: two runs with the same noise and the same turn get the same outputs for any data.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.mechanisms.core.mechanism import InteractivePrimitive, Mechanism, Primitive
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import Category, IntegerArray, RealArray
from dither.mechanisms.floored_choice import Floored
from dither.mechanisms.line_choice import Line, Lines
from dither.noise import Noise
from dither.privacy import Plan, Repeats
from dither.testing.entropy import SeededEntropy
from dither.testing.replay import RecordingRunner, Tape

_LARGE: Final = 1000
#: How many kinds of values there are: nothing, large, small, one candidate, both signs, falling, all equal.
TURNS: Final = 7


class WildRunner(RecordingRunner):
    """A recording runner whose draws are made for other values; ``turn`` says for which."""

    def __init__(self, plan: Plan, noise: Noise, *, turn: int, **others: Any) -> None:
        super().__init__(plan, noise, **others)
        self._turn = turn

    def _child(self, plan: Plan, name: str, d_in: Fraction) -> Runner:
        where = (*self._where, name)
        return WildRunner(plan, self._noise, turn=self._turn, tape=self.tape, where=where, d_in=d_in)

    def _draw(self, part: Primitive[Any, Any], value: Any) -> Any:
        # A value of the wrong type is refused as it would be.
        part.domain.admit(value)
        return self._record("draw", part, value, part.draw(self._other(part, value), self._noise))

    def _reply(self, part: InteractivePrimitive[Any, Any], state: Any, value: Any) -> Any:
        part.domain.admit(value)
        return self._record("reply", part, value, part.reply(state, self._other(part, value), self._noise))

    def _count_runs(self, repeats: Repeats) -> int:
        count: int = self._record("count", None, None, 1 + self._turn % 3)
        return count

    def _other(self, part: Primitive[Any, Any] | InteractivePrimitive[Any, Any], value: Any) -> Any:
        return other_value(part, value, self._turn, len(self.tape.events))


def other_value(part: Mechanism[Any, Any], value: Any, turn: int, number: int = 0) -> Any:
    """Return a value of the part's domain that shares only the type of ``value``.

    Args:
        part: for which a value is wanted.
        value: one that it takes.
        turn: which kind of other value.
        number: of the draw, so that not all draws favour the same candidate.

    >>> from dither.mechanisms import Geometric
    >>> other_value(Geometric(scale=1, shape=3), np.array([5, 6, 7]), 5).tolist()
    [1000, 0, -1000]

    """
    domain = getattr(part, "domain", None)
    if isinstance(domain, Category):
        return (turn + number) % domain.count
    if isinstance(domain, IntegerArray | RealArray):
        made = _pattern(math.prod(domain.shape), turn, number).reshape(domain.shape)
        return int(made) if domain.shape == () else made
    if isinstance(value, Counter):
        # Cells have numbers. What a key may be is known to the data alone, so that of keys there are none.
        return Counter() if turn % 2 == 0 else Counter({0: _LARGE, 1: _LARGE, 2: _LARGE})
    if isinstance(domain, Lines):
        # A step at the end of each line, large or small, or nothing but steps that are alike.
        return tuple(
            Line([0, 1 + (number + place) % 3], [0, height])
            for place, height in enumerate(_pattern(domain.count, turn, number).tolist())
        )
    if isinstance(value, Floored):
        return Floored(0, {} if turn % 2 == 0 else {number % 3: _LARGE})
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int):
        return (_LARGE * (turn % 2), "0")
    if isinstance(value, np.ndarray):
        return value[:0].copy()
    return value


def canned(plan: Plan, *, turn: int = 0, seed: int = 0) -> WildRunner:
    """Return a runner whose outputs are the same for all data, in this process and in every other."""
    return WildRunner(plan, Noise(SeededEntropy(seed)), turn=turn, tape=Tape(given=seed))


def _pattern(size: int, turn: int, number: int) -> np.ndarray[Any, Any]:
    places = np.arange(size)
    if turn % TURNS == 0:
        return np.zeros(size, dtype=np.int64)
    if turn % TURNS == 3:
        return np.where(places == number % max(size, 1), _LARGE, 0)
    if turn % TURNS == 4:
        return np.where((places + number) % 2, _LARGE, -_LARGE)
    if turn % TURNS == 5:
        return np.rint(np.linspace(_LARGE, -_LARGE, size)).astype(np.int64)
    return np.full(size, {1: _LARGE, 2: -_LARGE, 6: 1}[turn % TURNS])
