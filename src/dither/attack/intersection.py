"""Intersection: two releases, each anonymous alone, have one value in common.

A target is in the tables of two hospitals. Each puts them into a class of k people with k different values; only the
target is in both. Neither release is wrong by its own rule, and together they identify: the reason why losses have to
be added up over releases, which anonymity has no means to do.
"""

from __future__ import annotations

import numpy as np

from dither.attack.anonymous_classes import class_counts
from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import BOOK, KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_ANONYMITY, _VALUES = 4, 60


@attack(
    "intersection",
    source="Composition Attacks and Auxiliary Information in Data Privacy (Ganta, Kasiviswanathan, Smith 2008); "
    f"{BOOK}, section 1.3; {KAR}, section 2.3",
)
def intersection(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Intersect the classes of somebody who is in two anonymous tables."""
    drawn = public_generator()
    own = drawn.integers(0, _VALUES, size=targets)
    others = drawn.integers(0, _VALUES, size=(2, targets, _ANONYMITY - 1))
    tables = np.stack([class_counts(np.hstack([own[:, None], rest]), _VALUES) for rest in others])
    lots = drawn.uniform(0, 0.5, size=(targets, _VALUES))
    alone = np.argmax(np.minimum(tables[0], 1) + lots, axis=1)
    both = np.argmax(np.minimum(tables, 1).sum(axis=0) + lots, axis=1)
    # One target's value moves two counts in each of two tables.
    private = noisy_counts(tables, epsilon, moved=4)
    guesses = np.argmax(private.sum(axis=0) + lots, axis=1)
    return Outcome(
        attack="intersection",
        measure="share of people whose value is told rightly",
        unprotected=float(np.mean(both == own)),
        protected=float(np.mean(guesses == own)),
        chance=1 / _VALUES,
        ceiling=ceiling(1 / _VALUES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's value, both tables together",
        words=f"One {_ANONYMITY}-anonymous table lets {np.mean(alone == own):.0%} of the targets' values be guessed, "
        f"as it promises; two of them let {np.mean(both == own):.0%} be. Noise is paid for both together.",
        figures=(("share told rightly from one table", float(np.mean(alone == own))),),
    )
