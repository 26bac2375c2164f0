"""Choosing a counter for running sums: by the loss, the length of the stream, the people in it, and memory.

Errors are closed forms of public parameters, so the choice is free. Under a pure epsilon the columns of factors are
long in L1, and trees win; with a rho or a delta factors win, and a few buffers are as good as all of the past.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dither.errors import InvalidParameter
from dither.exact import Number, positive, shape_of, whole
from dither.mechanisms import BufferedCounter, HybridCounter, TreeCounter
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.running import RunningCounter
from dither.mechanisms.decaying_factors import MOST_BUFFERS
from dither.privacy import Loss

_TYPICAL = 2**16


@dataclass(frozen=True)
class Chosen:
    """A counter, its standard error at the end of the stream or after 65,536 ticks, and the reason for the choice."""

    counter: RunningCounter
    error: float
    reason: str


def choose_counter(
    within: Loss,
    *,
    sensitivity: Number,
    steps: int | None = None,
    shape: Any = (),
    ticks: int = 1,
    apart: int = 1,
    memory: int | None = None,
) -> Chosen:
    """Return the counter of least error whose loss is within ``within``, calibrated to it.

    Args:
        within: the loss not to exceed, for the whole stream.
        sensitivity: how far one tick of a person moves: in L1 under a pure epsilon, in Euclidean length otherwise.
        steps: how many ticks the stream has; None where that is not known.
        shape: the shape of a tick; ``()`` is one integer.
        ticks: how many ticks one person touches at most; 1 protects events.
        apart: how far apart these ticks are at least.
        memory: the largest number of numbers that may be kept for each entry of a tick; None for any number.

    >>> from dither.privacy import PureDP, ZCDP
    >>> choose_counter(PureDP(1), sensitivity=1, steps=8760).counter.name
    'tree-counter'
    >>> choose_counter(ZCDP("1/2"), sensitivity=1).counter.name
    'buffered-counter'

    """
    moved, times = positive("sensitivity", sensitivity), whole("ticks", ticks, least=1)
    room = math.inf if memory is None else whole("memory", memory, least=1)
    axes = shape_of("shape", shape) if shape != () else ()
    if Purse.within(within).is_pure:
        return _pure(within, moved * times, steps, axes, room)
    buffers = int(min(room - 1, MOST_BUFFERS, 10 if steps is None else 8))
    if buffers < 1:
        raise InvalidParameter("memory", memory, "at least 2: one buffer and one sum")
    public: dict[str, Any] = {"steps": steps, "shape": axes, "ticks": times, "apart": apart}
    is_even = steps is not None and times == 1
    counter = BufferedCounter.calibrated(within, sensitivity=moved, buffers=buffers, even=is_even, **public)
    error = counter.standard_error(_TYPICAL - 1) if steps is None else counter.largest_standard_error
    reason = f"with a rho or a delta factors of running sums have the least error; {buffers} buffers are stored"
    factors = Chosen(counter, error, reason)
    if axes:
        # How far a vector moves in L1 was not said.
        return factors
    pure = _pure(Purse.pure_within(within).loss, moved * times, steps, axes, room)
    return min(factors, pure, key=lambda chosen: chosen.error)


def _pure(within: Loss, moved: Any, steps: int | None, shape: tuple[int, ...], room: float) -> Chosen:
    if steps is None:
        endless = HybridCounter.calibrated(within, sensitivity=moved, shape=shape)
        return Chosen(endless, endless.standard_error(_TYPICAL - 1), "no end is known, and epochs need none")
    trees = [TreeCounter.calibrated(within, sensitivity=moved, steps=steps, shape=shape)]
    trees += [
        TreeCounter.calibrated(within, sensitivity=moved, steps=steps, shape=shape, bases=bases, combine="subtract")
        for bases in ((), (3,) * max(0, math.floor(math.log(2 * steps, 3))))
    ]
    # Noise on every tick alone keeps one number.
    fitting = [tree for tree in trees if not tree.bases or sum(tree.bases) + tree.levels <= room]
    best = min(fitting, key=lambda tree: tree.largest_standard_error)
    branches = f"{best.levels} levels of {best.bases[0]} branches" if best.bases else "noise on every tick alone"
    return Chosen(best, best.largest_standard_error, f"under a pure epsilon trees have the least error: {branches}")
