"""Four points: hardly anybody shares four places and times with somebody else.

Where people were, hour by hour, is published under false names. Who knows of the target four places and hours looks for
rows with all four, and if one is left knows every other hour too. In a study of one and a half million people four
points found 95 in a hundred (de Montjoye and others 2013).

The defended release counts the people in every place at the hour in question, with noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import BOOK
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_HOURS, _PLACES, _USUAL, _POINTS = 48, 20, 5, 4
_AGAINST = 4


def who_fits(traces: NDArray[np.int64], person: int, hours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows that were where the person was, at all of these hours."""
    return np.flatnonzero((traces[:, hours] == traces[person, hours]).all(axis=1))


@attack("traces", source=f"Unique in the Crowd (de Montjoye et al. 2013); {BOOK}, section 1.2", most=1000)
def traces(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Find somebody's trace by four places and hours, and read off where they were at another one."""
    drawn = public_generator()
    people = _AGAINST * targets
    # Everybody has a few usual places, and is now here, now there.
    usual = np.argsort(drawn.uniform(size=(people, _PLACES)), axis=1)[:, :_USUAL]
    where = np.take_along_axis(usual, drawn.integers(0, _USUAL, size=(people, _HOURS)), axis=1)
    secret = drawn.integers(0, _PLACES, size=people)
    chosen = drawn.permutation(people)[:targets]
    known = np.argsort(drawn.uniform(size=(targets, _HOURS)), axis=1)[:, : _POINTS + 2]
    lots = drawn.uniform(size=people)
    right = np.zeros((_POINTS + 3, targets), dtype=bool)
    alone = np.zeros(_POINTS + 3)
    for place, person in enumerate(chosen.tolist()):
        for points in range(1, _POINTS + 3):
            fit = who_fits(where, person, known[place, :points])
            alone[points] += len(fit) == 1
            right[points, place] = secret[fit[lots[fit].argmax()]] == secret[person]
    right[0] = secret[chosen] == int(np.bincount(secret, minlength=_PLACES).argmax())
    private = noisy_counts(np.bincount(secret, minlength=_PLACES), epsilon, moved=2)
    counted = tuple(float(points) for points in range(_POINTS + 3))
    return Outcome(
        attack="traces",
        measure="share of people whose place at an unknown hour is told rightly",
        unprotected=float(np.mean(right[_POINTS])),
        protected=float(np.mean(secret[chosen] == int(private.argmax()))),
        chance=1 / _PLACES,
        ceiling=ceiling(1 / _PLACES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's place at that hour",
        words=f"{people} people in {_PLACES} places over {_HOURS} hours. {_POINTS} points leave one trace for "
        f"{alone[_POINTS] / targets:.0%} of {targets} people, and with it every other hour. Counts of people in places "
        "have no traces.",
        figures=tuple((f"share alone with {points} points", float(alone[points]) / targets) for points in (2, 3, 4)),
        axes=("points that are known", "share told rightly"),
        curves=(Curve("traces under false names", counted, tuple(float(np.mean(row)) for row in right)),),
    )
