"""Events of a trace (PriSTE): what reports say about a secret such as "was in this area between eight and nine".

Under a public Markov model of movement, an event is a set of cells at each of some times, and happens if the device is
in it at any (or at every) one of them. ``event_loss`` is by how much given reports change the odds of the event. It is
a fact about one model and one run of reports, no promise for other models: a calculator and not a mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import typed


@dataclass(frozen=True)
@typed
class Event:
    """Being in some cells at any, or at every, one of some times.

    Args:
        areas: for each time of the event, by its number from 0, the cells of its area.
        always: whether the device must be in the areas at all those times; else once is enough.

    """

    areas: tuple[tuple[int, tuple[int, ...]], ...]
    always: bool = False


def event_loss(start: Any, moves: Any, reports: Any, event: Event) -> float:
    """Return |ln| of how the odds of an event change by reports, under a public Markov model.

    Args:
        start: how likely each cell is at the first time.
        moves: rows of chances: for each cell, how likely each next cell is.
        reports: for each time, how likely the report that was seen is from each cell.
        event: what is to be hidden; it must be neither certain nor impossible.

    >>> still = np.eye(2)
    >>> round(event_loss([0.5, 0.5], still, [[0.75, 0.25]], Event(((0, (0,)),))), 4) == round(math.log(3), 4)
    True

    """
    first, step, seen = (np.asarray(given, dtype=np.float64) for given in (start, moves, reports))
    count = len(first)
    if step.shape != (count, count) or seen.ndim != 2 or seen.shape[1] != count:
        raise InvalidParameter("start, moves, reports", "of other shapes", "for the same cells")
    # The state is a cell and whether the event has happened (or, for ``always``, still holds).
    with_event, without = (_chances(first, step, rows, event) for rows in (seen, np.ones_like(seen)))
    happened, not_happened = with_event
    prior, not_prior = without
    if not (prior > 0 and not_prior > 0 and happened > 0 and not_happened > 0):
        raise InvalidParameter(
            "event", "certain or impossible", "one that may happen or not, before and after the reports"
        )
    return abs(math.log(happened / not_happened) - math.log(prior / not_prior))


def _chances(
    start: NDArray[np.float64], moves: NDArray[np.float64], seen: NDArray[np.float64], event: Event
) -> tuple[float, float]:
    """Return the chances of the reports together with the event, and with its contrary: the forward algorithm."""
    areas = dict(event.areas)
    yes = start.copy() if event.always else np.zeros_like(start)
    no = np.zeros_like(start) if event.always else start.copy()
    for time, row in enumerate(seen):
        if time:
            yes, no = yes @ moves, no @ moves
        if time in areas:
            inside = np.zeros(len(start), dtype=bool)
            inside[list(areas[time])] = True
            if event.always:
                yes, no = np.where(inside, yes, 0), np.where(inside, no, no + yes)
            else:
                yes, no = np.where(inside, yes + no, yes), np.where(inside, 0, no)
        yes, no = yes * row, no * row
    return float(yes.sum()), float(no.sum())
