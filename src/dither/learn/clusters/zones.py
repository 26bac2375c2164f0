"""Orientation-controlled moves: a centre moves to a point in a zone beside its noisy mean, not to the mean itself.

The published form draws the point about the *true* mean, and the zone itself gives the mean away: its guarantee does
not hold. Here the zone is made of released means and of a public seed alone, so that it is post-processing and costs
nothing. The zone is the printed ball, and the point is drawn in it by the printed score, with public numbers. Any point
nearer to the mean than the old centre lowers the cost of the cluster as it stands (in terms of the noisy means), so
zones keep that property; that the whole converges to an optimum of Lloyd's algorithm is not promised, since no private
algorithm can.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dither.learn.rows import Floats
from dither.learn.trees.bins import public_numbers

ZONES: Final = ("mean", "past", "future")
#: How strongly the printed score is followed, where print has the epsilon of a step: here it costs nothing.
_STRENGTH: Final = 1.0
#: A point of the zone is accepted more often than not; where this number of them fail, its middle is taken.
_TRIES: Final = 64


def zoned(zone: str, before: Floats, old: Floats, means: Floats, number: int, public_seed: str) -> Floats:
    """Return the moved centres, from released numbers and a public seed.

    Args:
        zone: "mean", "past" or "future".
        before: the centres of the step before the last one; for "future" where that pair of steps began.
        old: the centres of which these are the means.
        means: noisy means.
        number: the number of this step.
        public_seed: a public text.

    """
    if zone == "mean" or len(means) == 0:
        return means
    if zone == "future":
        if number % 2 == 0:
            return means  # the first half of a pair: the means of the means come next
        return _in_zone(before, old, means, number, public_seed)
    far = 2 * means - old
    controller = np.array(
        [
            _turned(centre, mean, end, public_numbers(f"turn:{number}:{place}:{public_seed}", 1 + len(mean)) / 2.0**32)
            for place, (centre, mean, end) in enumerate(zip(old, means, far, strict=True))
        ]
    )
    return _in_zone(old, means, controller, number, public_seed)


def _in_zone(old: Floats, means: Floats, controllers: Floats, number: int, public_seed: str) -> Floats:
    """Return a public point of each zone: the ball that touches the controller and keeps away from the mean."""
    found = means.copy()
    for place, (start, mean, controller) in enumerate(zip(old, means, controllers, strict=True)):
        reach, toward = float(np.linalg.norm(mean - start)), controller - mean
        length = float(np.linalg.norm(toward))
        if reach == 0 or length == 0:
            continue  # nothing moved: the centre stays at its mean
        toward = toward * min(1.0, reach / length)  # a controller beyond the convergent ball is drawn back into it
        key = f"zone:{number}:{place}:{public_seed}"
        drawn = public_numbers(key, 1 + len(mean)) / 2.0**32
        # The offset of the zone's middle has a density proportional to e^(2 - 2 offset) on (1/2, 1).
        offset = -0.5 * math.log(math.exp(-1) - float(drawn[0]) * (math.exp(-1) - math.exp(-2)))
        far, angle = drawn_in_zone(offset, len(mean), key)
        found[place] = mean + far * _aside(toward, angle, drawn[1:])
    return found


def drawn_in_zone(offset: float, columns: int, key: str) -> tuple[float, float]:
    """Return a public point of the zone: its distance from the mean, in reaches of the controller, and its angle to it.

    The zone is the ball about ``offset`` that touches the controller at 1. Distance and angle are uniform in it but for
    the weight e^(q / 4) of the printed score q = (1 - distance) + (1 - 2 |angle| / pi), which is at most 2.

    Args:
        offset: where the middle of the zone is, between 1/2 and 1.
        columns: in one column the angle is 0.
        key: a public text.

    """
    widest = math.asin(min(1.0, (1 - offset) / offset)) if columns > 1 else 0.0
    numbers = public_numbers(f"point:{key}", 3 * _TRIES).reshape(_TRIES, 3) / 2.0**32
    for one, other, third in numbers.tolist():
        far, angle = 2 * offset - 1 + 2 * one * (1 - offset), (2 * other - 1) * widest
        inside = far * far - 2 * far * offset * math.cos(angle) + 2 * offset - 1 <= 0
        score = (1 - far) + (1 - 2 * abs(angle) / math.pi)
        if inside and third <= math.exp(_STRENGTH * (score - 2) / 4):
            return far, angle
    return offset, 0.0


def _aside(toward: Floats, angle: float, numbers: Floats) -> Floats:
    """Return ``toward`` turned by an angle, in a public plane."""
    length = float(np.linalg.norm(toward))
    axis = toward / length
    across = 2 * numbers - 1
    across = across - (across @ axis) * axis
    width = float(np.linalg.norm(across))
    if angle == 0 or width == 0:
        return toward
    turned: Floats = length * (math.cos(angle) * axis + math.sin(angle) * across / width)
    return turned


def _turned(old: Floats, mean: Floats, end: Floats, numbers: Floats) -> Floats:
    """Return ``end`` turned about ``mean`` by a public angle below a right one; small angles are likelier."""
    toward = end - mean
    if not toward.any() or len(mean) == 1:
        return end
    angle = -(math.pi / 2) * math.log(1 - float(numbers[0]) * (1 - math.exp(-1)))
    return mean + _aside(toward, angle, numbers[1:])
