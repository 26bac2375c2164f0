"""A runner whose noise can be drawn again: every draw and every sample has words that are bound to what it is for.

Used for releases that resume after their process was killed (docs/theory/ledger.md). What cannot be bound, because
noise is drawn before a value is known or because a value has no encoding, is drawn from the system's generator; whoever
uses this runner is told of that by ``before_first_draw``, and refuses it where a release is to resume.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dither.errors import InvalidParameter, NotSerialisable
from dither.mechanisms.core.encoding import digest_of, in_one_order
from dither.mechanisms.core.mechanism import Composed, Mechanism, Primitive
from dither.mechanisms.core.runner import Runner, _subset
from dither.noise import Noise, system_noise
from dither.noise.derived_words import DerivedWords as DerivedWords
from dither.noise.derived_words import derived_key as derived_key
from dither.noise.derived_words import new_key as new_key
from dither.noise.entropy import about_to_draw
from dither.privacy import Plan, Use

V = TypeVar("V")
O = TypeVar("O")  # noqa: E741


class DerivedRunner(Runner):
    """Makes the draws of one plan with words that follow from a key and from each value.

    Args:
        plan: what is drawn.
        words: of the whole release; runners of its parts share them.

    """

    def __init__(self, plan: Plan, words: DerivedWords) -> None:
        # What is not bound to a value comes from the system: conversations, and the number of runs of a selection.
        super().__init__(plan, system_noise())
        self._words = words

    def _inner(self, plan: Plan, part: Mechanism[Any, Any] | None = None, value: Any = None) -> Runner:
        return DerivedRunner(plan, self._words)

    def _noise_for(self, kind: str, *what: Any) -> Noise:
        """Return the samplers of the next step, or the system's where it cannot be described."""
        try:
            description = digest_of((kind, *what))
        except NotSerialisable:
            about_to_draw()
            return self._noise
        return self._words.noise(description)

    def _draw(self, part: Primitive[V, O], value: V) -> O:
        try:
            value = in_one_order(value)
        except NotSerialisable:
            return super()._draw(part, value)
        return part.draw(value, self._noise_for("draw", part, value))

    def _sample(self, data: Sequence[Any] | np.ndarray[Any, Any], rate: Fraction) -> np.ndarray[Any, Any]:
        return self._noise_for("sample", rate, data).bernoulli(rate, len(data))

    def _sample_exactly(self, data: Sequence[Any] | np.ndarray[Any, Any], kept: int) -> np.ndarray[Any, Any]:
        return _subset(self._noise_for("sample exactly", kept, data), kept, len(data))


def perform_derived(mechanism: Composed[V, O], data: V, words: DerivedWords) -> O:
    """Draw a release that is already paid for, with words that can be derived again.

    Only for entry points that keep their own budget, and see to it that nobody else has the key.

    Args:
        mechanism: what to release; it counts units of data itself.
        data: the private input.
        words: of this release alone.

    """
    if not isinstance(mechanism, Composed):
        raise InvalidParameter("mechanism", mechanism, "a composed mechanism")
    return _runner(mechanism, words)(mechanism, data, stability=1)


def _runner(mechanism: Composed[Any, Any], words: DerivedWords) -> Runner:
    return DerivedRunner(Use(mechanism, Fraction(1)), words)
