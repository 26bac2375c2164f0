"""Places in boxes of every size and latitude, and how far they move over the ground.

A mechanism for places computes in a plane and charges for metres over the ground. How wrong its plane is depends on the
box: how large it is, how near to a pole, whether the equator crosses it, which of its sides is long. So boxes are drawn
with the places, corners and edges first; distances are measured by ``testing.ground``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.data.places import Box
from dither.errors import DitherError
from dither.mechanisms import Dialogue
from dither.testing.choices import Choices
from dither.testing.ground import ground_metres

#: Places are read in steps of this part of a degree: only places on them are where they are said to be.
_STEPS: Final = 10**7
_METRES: Final = 111_000
#: Latitudes that a box is next to, from one end of what is accepted to the other.
_LATITUDES: Final = (-60, -59, -30, 0, 0, 23, 45, 60, 70, 79, 80)
_LENGTHS: Final = (5, 100, 2_000, 30_000, 100_000, 150_000, 199_000)

#: A place in whole steps of latitude and longitude.
Steps = tuple[int, int]


def random_box(choices: Choices) -> Box:
    """Return a box over degrees: a few metres to the largest that is accepted, square or long in one direction."""
    while True:
        high, wide = (choices.one(_LENGTHS) for _ in range(2))
        middle = _STEPS * choices.one(_LATITUDES) + choices.below(_STEPS) - _STEPS // 2
        up = _STEPS * high // _METRES
        # Inside the latitudes that are accepted.
        south = max(-60 * _STEPS, min(middle - choices.one((0, up // 2, up)), 80 * _STEPS - up))
        shrunk = float(np.cos(np.radians(max(abs(south), abs(south + up)) / _STEPS)))
        across = int(_STEPS * wide / _METRES / (shrunk if choices.below(2) else 1.0))
        west = _STEPS * (choices.below(340) - 170)
        edges = [Fraction(edge, _STEPS) for edge in (south, west, south + up, west + across)]
        with suppress(DitherError):
            return Box.of(*edges)


def place_cases(mechanism: Any, data: Any, choices: Choices) -> Iterator[tuple[Any, Any, Any, Fraction]] | None:
    """Return instances with boxes of their own, two inputs, and the metres between them; None where no box is kept."""
    is_trace = isinstance(data, Dialogue) and data.data is None
    is_rows = isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 2
    if not isinstance(getattr(mechanism, "box", None), Box) or not (is_rows or is_trace):
        return None
    if _in_box(mechanism, random_box(choices), choices) is None:
        return None
    return _cases(mechanism, data, choices)


def _cases(mechanism: Any, data: Any, choices: Choices) -> Iterator[tuple[Any, Any, Any, Fraction]]:
    while True:
        box = random_box(choices)
        made = _in_box(mechanism, box, choices)
        for _ in range(4 if made is not None else 0):
            rows = len(data.script) if isinstance(data, Dialogue) else len(data)
            pairs = [random_move(box, choices) for _ in range(rows)]
            here, there = ([degrees(one[side]) for one in pairs] for side in range(2))
            away = [Fraction(ground_metres(*both)) for both in zip(here, there, strict=True)]
            if isinstance(data, Dialogue):
                yield made, Dialogue(None, tuple(here)), Dialogue(None, tuple(there)), max(away)
            else:
                yield made, np.array(here), np.array(there), sum(away, Fraction(0))


def random_move(box: Box, choices: Choices) -> tuple[Steps, Steps]:
    """Return two places of a box: along one of its sides or across it, from a step to its whole length."""
    south, west, north, east = box.edges
    ends = [(south, north), (west, east)]
    here = [choices.one((low, high, low + choices.below(high - low + 1))) for low, high in ends]
    there = list(here)
    axes = choices.one(((0,), (1,), (0, 1)))
    for axis in axes:
        low, high = ends[axis]
        share = choices.one((1, 1, 2, 16, 1000, 10**6))
        away = max(1, (high - low) // share)
        there[axis] = here[axis] + away if here[axis] + away <= high else max(low, here[axis] - away)
    if there == here:
        there[1] = east if here[1] < east else west
    return (here[0], here[1]), (there[0], there[1])


def degrees(place: Steps) -> tuple[float, float]:
    """Return a place in degrees."""
    return place[0] / _STEPS, place[1] / _STEPS


def _in_box(mechanism: Any, box: Box, choices: Choices) -> Any | None:
    """Return the instance over another box, with public places inside it, and without cells of the old one."""
    names = {field.name for field in fields(mechanism)}
    changes: dict[str, Any] = {"box": box, **{name: None for name in ("cells", "becomes") if name in names}}
    if "places" in names:
        changes["places"] = np.array([degrees(place) for _ in range(4) for place in random_move(box, choices)])
    with suppress(DitherError, TypeError, ValueError):
        made = replace(mechanism, **changes)
        made.plan()
        return made
    return None
