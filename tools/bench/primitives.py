"""How long a release takes: every registered primitive, one at a time and many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.mechanisms import Example, InteractivePrimitive, Primitive, registered
from dither.noise import Noise, system_noise
from tools.bench.clock import best_seconds

_ONE_BY_ONE = 200
_IN_BULK = 20_000


@dataclass(frozen=True)
class PrimitiveFigures:
    """Microseconds of one draw made alone, and nanoseconds of one among many."""

    mechanism: str
    microseconds_alone: float
    nanoseconds_in_bulk: float | None


def measure_primitives() -> list[PrimitiveFigures]:
    """Return the time of the first example of every registered primitive."""
    noise = system_noise()
    examples = [next(iter(entry.examples())) for entry in registered().values()]
    return [_measure(example, noise) for example in examples if isinstance(example.mechanism, _PRIMITIVES)]


_PRIMITIVES = (Primitive, InteractivePrimitive)


def _measure(example: Example, noise: Noise) -> PrimitiveFigures:
    mechanism, data = example.mechanism, example.data
    if isinstance(mechanism, Primitive):
        alone = best_seconds(lambda: [mechanism.draw(data, noise) for _ in range(_ONE_BY_ONE)]) / _ONE_BY_ONE
        bulk = best_seconds(lambda: mechanism.draw_many(data, _IN_BULK, noise), repeats=3) / _IN_BULK
        return PrimitiveFigures(repr(mechanism), alone * 1e6, bulk * 1e9)
    answers = best_seconds(lambda: _converse(mechanism, data, noise)) / _ONE_BY_ONE
    return PrimitiveFigures(repr(mechanism), answers * 1e6, None)


def _converse(mechanism: Any, script: list[Any], noise: Noise) -> None:
    """Ask a number of questions, starting again whenever a conversation is over."""
    state, is_over = mechanism.begin(noise), False
    for number in range(_ONE_BY_ONE):
        if is_over:
            state = mechanism.begin(noise)
        _, is_over = mechanism.reply(state, script[number % len(script)], noise)
