"""Random words that are told apart: each draw has its own, one draw can be given others, and none may come twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.core.mechanism import InteractivePrimitive, Primitive
from dither.mechanisms.core.runner import Runner
from dither.noise import Noise
from dither.noise.entropy import SystemEntropy
from dither.privacy import Plan
from dither.testing.entropy import SeededEntropy
from dither.testing.replay import ReplayRunner

#: 128 bits: by chance two windows among 2^30 are alike once in 2^69 times.
WINDOW = 8


class OwnWords:
    """Words of which each turn has its own sequence, from the number of the turn; some turns have another one.

    >>> words, others = OwnWords(), OwnWords({1: 5})
    >>> for one in (words, others):
    ...     one.turn = 1
    >>> words.words(4).tolist() == others.words(4).tolist()
    False
    """

    word_bits = 16

    def __init__(self, others: dict[int, int] | None = None) -> None:
        self.turn = 0
        self._others = {} if others is None else others
        self._sources: dict[int, SeededEntropy] = {}

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return words of the present turn."""
        if self.turn not in self._sources:
            self._sources[self.turn] = SeededEntropy(self.turn + 2**32 * self._others.get(self.turn, 0))
        return self._sources[self.turn].words(count)


def redrawn(draws: Iterable[Callable[[Noise], Any]], words: OwnWords) -> list[Any]:
    """Return the results of draws, each with the words of its own turn."""
    found, noise = [], Noise(words)
    for turn, draw in enumerate(draws):
        words.turn = turn
        found.append(draw(noise))
    return found


class WordsRunner(ReplayRunner):
    """A replay that makes each draw again, with words of its own, and hands over the frozen output all the same."""

    def __init__(self, plan: Plan, noise: Noise, *, words: OwnWords, drawn: list[Any], **others: Any) -> None:
        super().__init__(plan, noise, **others)
        self._words, self.drawn = words, drawn

    def _child(self, plan: Plan, name: str, d_in: Fraction) -> Runner:
        return WordsRunner(
            plan,
            self._noise,
            words=self._words,
            drawn=self.drawn,
            earlier=self._earlier,
            tape=self.tape,
            where=(*self._where, name),
            d_in=d_in,
        )

    def _follow(self, kind: str, part: Any, value: Any) -> Any:
        out = super()._follow(kind, part, value)
        # One result for each event: those that draw nothing anew have none.
        self.drawn.extend([None] * (len(self.tape.events) - len(self.drawn)))
        return out

    def _draw(self, part: Primitive[Any, Any], value: Any) -> Any:
        self._words.turn = len(self.tape.events)
        again = Runner._draw(self, part, value)
        out = super()._draw(part, value)
        self.drawn[-1] = again
        return out

    def _begin(self, part: InteractivePrimitive[Any, Any]) -> Any:
        self._words.turn = len(self.tape.events)
        state = Runner._begin(self, part)
        super()._begin(part)
        # A state of its own: that of the first run has gone on with it.
        return [state, False]

    def _reply(self, part: InteractivePrimitive[Any, Any], state: Any, value: Any) -> Any:
        self._words.turn = len(self.tape.events)
        again = None
        if not state[1]:
            again = Runner._reply(self, part, state[0], value)
            state[1] = again[1]
        out = super()._reply(part, state, value)
        self.drawn[-1] = again
        return out


class WordRecorder(SystemEntropy):
    """The words of the system, with all that were handed out on record."""

    def __init__(self) -> None:
        self.seen: list[NDArray[np.uint16]] = []

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return words of the system, and note them."""
        found = super().words(count)
        self.seen.append(found.copy())
        return found


def repeated(words: NDArray[np.uint16]) -> int:
    """Return how many windows of 128 bits come more than once in a sequence of words.

    >>> once = np.arange(64, dtype=np.uint16)
    >>> repeated(once), repeated(np.concatenate([once, once[:10]]))
    (0, 3)
    """
    if len(words) < WINDOW:
        return 0
    windows = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(words, WINDOW))
    keys = windows.view([("all", np.void, 2 * WINDOW)]).ravel()
    return len(keys) - len(set(keys.tolist()))
