"""Many independent outcomes of a mechanism on one input.

A sampler is a function of an input and a count that returns that many independent outcomes, one a row. Primitives have
their own; conversations and composed mechanisms are run one by one, with noise that is drawn ahead in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.audit.analysts import NOT_ASKED, Analyst
from dither.audit.outcomes import Rows
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.mechanisms import Composed, Dialogue, Interactive, InteractivePrimitive, Mechanism, Primitive, Runner
from dither.noise import Entropy, Noise, SystemEntropy
from dither.privacy import LARGEST, ONE_WAY, Use

Sampler = Callable[[Any, int], NDArray[Any]]

_BLOCK = 4096
_MOST_LAWS = 256


class BlockNoise(Noise):
    """The samplers of ``Noise``, with small draws served from larger ones made ahead.

    Every number is handed out once, so the law is the same. For audits, which make millions of draws of a few laws; a
    release makes its own.
    """

    def __init__(self, entropy: Entropy) -> None:
        super().__init__(entropy)
        self._blocks: dict[Hashable, tuple[NDArray[Any], int]] = {}

    def discrete_laplace(self, scale: Number, size: int) -> NDArray[Any]:
        """Return integers x with probability proportional to e^(-|x| / scale)."""
        draw = super().discrete_laplace
        return self._take(("laplace", scale), size, lambda count: draw(scale, count))

    def discrete_gaussian(self, sigma: Number, size: int) -> NDArray[Any]:
        """Return integers x with probability proportional to e^(-x^2 / (2 sigma^2))."""
        draw = super().discrete_gaussian
        return self._take(("gaussian", sigma), size, lambda count: draw(sigma, count))

    def geometric(self, scale: Number, size: int) -> NDArray[Any]:
        """Return integers g of at least 0 with probability proportional to e^(-g / scale)."""
        draw = super().geometric
        return self._take(("geometric", scale), size, lambda count: draw(scale, count))

    def bernoulli(self, p: Number, size: int) -> NDArray[np.bool_]:
        """Return coins that show heads with the rational probability ``p``."""
        draw = super().bernoulli
        return self._take(("bernoulli", p), size, lambda count: draw(p, count))

    def select(self, scores: ArrayLike, rate: Number, size: int) -> NDArray[np.int64]:
        """Return indices i with probability proportional to e^(rate * scores[i])."""
        draw = super().select
        return self._take(("select", np.asarray(scores).tobytes(), rate), size, lambda count: draw(scores, rate, count))

    def _take(self, law: Hashable, size: int, draw: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
        if size > _BLOCK // 16:
            return draw(size)
        block, used = self._blocks.get(law, (None, 0))
        if block is None or used + size > _BLOCK:
            if len(self._blocks) >= _MOST_LAWS:
                self._blocks.clear()
            block, used = draw(_BLOCK), 0
        self._blocks[law] = block, used + size
        return block[used : used + size]


def sampler_of(mechanism: Mechanism[Any, Any]) -> Sampler:
    """Return the sampler of a mechanism, over the operating system's generator.

    For an interactive primitive an input is a script of values, for an interactive mechanism a ``Dialogue``; for either
    it may be an ``Analyst``. An outcome is the answers.
    """
    noise, rows = BlockNoise(SystemEntropy()), Rows()
    if isinstance(mechanism, Primitive):
        return lambda value, count: mechanism.draw_many(value, count, noise)
    if isinstance(mechanism, InteractivePrimitive):
        return lambda script, count: _conversations(mechanism, script, count, noise)
    if isinstance(mechanism, Composed):
        return lambda data, count: rows.of([Runner(Use(mechanism), noise)(mechanism, data) for _ in range(count)])
    if isinstance(mechanism, Interactive):
        return lambda talk, count: rows.of([_talk(mechanism, talk, noise) for _ in range(count)])
    raise InvalidParameter("mechanism", mechanism, "a primitive, a composed or an interactive mechanism")


def _talk(mechanism: Interactive[Any, Any], talk: Dialogue | Analyst, noise: Noise) -> list[Any]:
    return talk.lead(Runner(Use(mechanism), noise).converse(mechanism, talk.data))


def _conversations(mechanism: InteractivePrimitive[Any, Any], script: Any, count: int, noise: Noise) -> NDArray[Any]:
    if isinstance(script, Analyst):
        return _led(mechanism, script, count, noise)
    # NumPy's own scalars are what a domain admits fastest.
    questions = [np.int64(value) if isinstance(value, int) else value for value in script]
    answers = [_converse(mechanism, questions, noise) for _ in range(count)]
    return np.array([given + [NOT_ASKED] * (len(questions) - len(given)) for given in answers])


def _led(mechanism: InteractivePrimitive[Any, Any], analyst: Analyst, count: int, noise: Noise) -> NDArray[Any]:
    if mechanism.distance not in (LARGEST, ONE_WAY):
        # In other metrics a question that is asked twice moves twice.
        raise InvalidParameter("mechanism", mechanism, "one whose promise holds for any number of questions")
    values = [np.int64(value) if isinstance(value, int) else value for value in analyst.data]

    def one() -> list[Any]:
        state = mechanism.begin(noise)
        return analyst.answers(lambda place: mechanism.reply(state, values[place], noise))

    return np.array([one() for _ in range(count)])


def _converse(mechanism: InteractivePrimitive[Any, Any], questions: list[Any], noise: Noise) -> list[Any]:
    state, answers = mechanism.begin(noise), []
    for question in questions:
        answer, is_over = mechanism.reply(state, question, noise)
        answers.append(answer)
        if is_over:
            break
    return answers
