"""Ratings without names: a few opinions that somebody aired elsewhere find the rest of them.

A table of ratings is published under false names. Of the target the attacker knows a few ratings, from a public page or
a chat: which film, about what score, about which day, and some of that is wrong. Every row of the table is scored by
how well it fits, rare films counting more; the row that stands out is the target's, and holds what was never aired.

The defended release is the noisy table of scores of the film in question.
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

_FILMS, _SCORES, _DAYS = 200, 5, 365
_RATED, _KNOWN, _DAYS_OFF = 20, 6, 7
_AGAINST = 8


def agreement(
    films: NDArray[np.int64], scores: NDArray[np.int64], days: NDArray[np.int64], about: tuple[int, int, int]
) -> NDArray[np.bool_]:
    """Return which rows hold a film with about this score, about this day.

    Args:
        films: one row for each user.
        scores: beside them.
        days: beside them.
        about: a film, a score and a day.

    """
    film, score, day = about
    near = (np.abs(scores - score) <= 1) & (np.abs(days - day) <= _DAYS_OFF)
    return np.asarray(((films == film) & near).any(axis=1))


@attack(
    "ratings",
    source=f"Robust De-anonymization of Large Sparse Datasets (Narayanan and Shmatikov 2008); {BOOK}, section 1.2",
    most=1000,
)
def ratings(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Find somebody's row of ratings by the few that they aired, and read off one that they did not."""
    drawn = public_generator()
    users = _AGAINST * targets
    popularity = 1.0 / np.arange(1, _FILMS + 1)
    lots = np.log(drawn.uniform(size=(users, _FILMS))) / popularity
    films = np.argsort(-lots, axis=1)[:, :_RATED]
    scores = drawn.integers(0, _SCORES, size=films.shape)
    days = drawn.integers(0, _DAYS, size=films.shape)
    secret = drawn.integers(0, _SCORES, size=users)
    weights = 1 / np.log(2 + np.bincount(films.ravel(), minlength=_FILMS))
    chosen = drawn.permutation(users)[:targets]
    aired = np.argsort(drawn.uniform(size=(targets, _RATED)), axis=1)[:, :_KNOWN]
    # Scores are off by one and days by a week at most; one film in three was never rated: the attacker is misled.
    told = np.take_along_axis(films[chosen], aired, axis=1)
    is_wrong = drawn.uniform(size=told.shape) < 1 / 3
    told = np.where(is_wrong, drawn.integers(0, _FILMS, size=told.shape), told)
    near = np.take_along_axis(scores[chosen], aired, axis=1) + drawn.integers(-1, 2, size=told.shape)
    when = np.take_along_axis(days[chosen], aired, axis=1) + drawn.integers(-_DAYS_OFF, _DAYS_OFF + 1, size=told.shape)
    best = np.zeros((_KNOWN + 1, targets), dtype=np.int64)
    best[0] = drawn.integers(0, users, size=targets)
    lots = drawn.uniform(0, 1e-6, size=users)
    for place in range(targets):
        total = lots.copy()
        for many, about in enumerate(
            zip(told[place].tolist(), near[place].tolist(), when[place].tolist(), strict=True)
        ):
            total += agreement(films, scores, days, about) * weights[about[0]]
            best[many + 1, place] = int(total.argmax())
    shares = [float(np.mean(secret[row] == secret[chosen])) for row in best]
    found = float(np.mean(best[_KNOWN] == chosen))
    private = noisy_counts(np.bincount(secret, minlength=_SCORES), epsilon, moved=2)
    return Outcome(
        attack="ratings",
        measure="share of people whose score of a film is told rightly",
        unprotected=shares[-1],
        protected=float(np.mean(secret[chosen] == int(private.argmax()))),
        chance=1 / _SCORES,
        ceiling=ceiling(1 / _SCORES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's score of the film",
        words=f"{users} users with {_RATED} ratings each. {_KNOWN} ratings that are about right, a third of them not "
        f"at all, find the row of {found:.0%} of {targets} people. Counts of scores have no rows.",
        figures=(("share of people whose row is found", found),),
        axes=("ratings that are known", "share told rightly"),
        curves=(Curve("rows under false names", tuple(float(n) for n in range(_KNOWN + 1)), tuple(shares)),),
    )
