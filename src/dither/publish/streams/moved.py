"""How far one unit moves what a stream measures, and the counter that this buys: by loss and by what is released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dither.data.ticks import MOST_TICKS
from dither.exact import Number
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.running import RunningCounter, TickLengths
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.decayed_counter import DecayedCounter
from dither.mechanisms.tick_noise import TickNoise
from dither.privacy import L1, Loss
from dither.publish.streams.choose import choose_counter


@dataclass(frozen=True)
class Moved:
    """How far one unit moves what is measured: at each of few ticks, some distance apart, by so much in all groups.

    Args:
        most: the sum of the absolute changes of all groups at one tick.
        ticks: at how many ticks at most.
        apart: the least number of ticks from one of them to the next.
        units: how many people or rows one change is of: two where one takes the place of another.

    """

    most: int
    ticks: int
    apart: int
    units: int


def counter_within(
    loss: Loss, moved: Moved, *, steps: int | None, cells: int, is_running: bool, decay: Fraction | None = None
) -> InteractivePrimitive[Any, Any]:
    """Return the counter of least error within a loss for one unit.

    Under a pure loss running sums are made by trees, whose columns are short in L1; under any other by correlated
    Gaussian noise from a few buffers. Ticks by themselves have independent noise.

    Args:
        loss: the most that one unit may lose over all ticks.
        moved: how far one unit moves what is measured.
        steps: how many ticks there are; None where no end is known.
        cells: the number of groups.
        is_running: whether numbers are those of all ticks so far.
        decay: how much of a tick is left after one more, for decayed sums.

    """
    is_pure = Purse.within(loss).is_pure
    # One unit moves L1 over all ticks by this much; and each of its ticks, in L2, by at most what it moves it in L1.
    at_a_tick = moved.most * moved.units
    in_all = at_a_tick * moved.ticks
    given: dict[str, Any] = {"shape": (cells,)}
    if decay is not None:
        people: dict[str, Any] = {} if is_pure else {"ticks": moved.ticks, "apart": moved.apart}
        sensitivity = in_all if is_pure else at_a_tick
        return DecayedCounter.calibrated(loss, sensitivity=sensitivity, decay=decay, steps=steps, **given, **people)
    if not is_running:
        ticks = 1 if is_pure else moved.ticks
        # Noise of a tick by itself does not depend on how many there are.
        given |= {"steps": steps or MOST_TICKS, "ticks": ticks}
        return TickNoise.calibrated(loss, sensitivity=in_all if is_pure else at_a_tick, **given)
    given |= {"steps": steps, "ticks": moved.ticks, "apart": moved.apart}
    chosen = choose_counter(loss, sensitivity=at_a_tick, **given)
    return chosen.counter


def stability_of(counter: InteractivePrimitive[Any, Any], moved: Moved) -> Fraction | None:
    """Return how far one unit moves what a counter is fed, in its distance; None where that is not known.

    Args:
        counter: what is fed.
        moved: how far one unit moves what is measured.

    """
    if counter.distance == L1:
        return Fraction(moved.most * moved.units * moved.ticks)
    protected, apart = getattr(counter, "ticks", 1), getattr(counter, "apart", 1)
    if protected < moved.ticks or apart > moved.apart or not isinstance(counter.distance, TickLengths):
        return None
    return Fraction(moved.most * moved.units)


def largest_tick(counter: InteractivePrimitive[Any, Any], tick: int) -> int:
    """Return the largest number of a group at a tick, counted from 1, that a counter does not cut off."""
    if isinstance(counter, RunningCounter):
        return int(counter.limits(tick - 1, 1).min())
    return LARGEST_VALUE


@lru_cache(maxsize=2**12)
def reach_at(counter: Any, tick: int, confidence: Number) -> int:
    """Return how far one number of a tick errs at most, at a confidence.

    Args:
        counter: what answers.
        tick: counted from 0.
        confidence: for one number.

    """
    return int(_of_one(counter).interval_at(tick, 0, confidence).high)


@lru_cache(maxsize=64)
def _of_one(counter: Any) -> Any:
    """Return the same counter for one number a tick, whose errors are the same."""
    return replace(counter, shape=())
