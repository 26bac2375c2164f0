"""Two totals that differ in one person tell that person's value.

Each target sits in a table of their own. Without protection the difference of two exact counts is the secret; with it,
both counts carry noise for one total loss, and their difference says little.
"""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE, BOOK
from dither.estimate.public_randomness import public_generator
from dither.exact import Number


@attack(
    "differencing",
    source=f"{BOOK}, section 2.1; {ADELAIDE}, section 1.1",
)
def differencing(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Ask for a total with a person and for the same total without them, and subtract."""
    drawn = public_generator()
    people = 50
    secrets = drawn.integers(0, 2, size=(targets, people))
    # The two questions: everybody, and everybody but the first.
    answers = np.stack([secrets.sum(axis=1), secrets[:, 1:].sum(axis=1)], axis=1)
    exact = answers[:, 0] - answers[:, 1]
    # Anybody but the target is in both questions: one person moves the pair by 2 at most.
    private = noisy_counts(answers, epsilon, moved=2)
    difference = private[:, 0] - private[:, 1]
    truth = secrets[:, 0]
    return Outcome(
        attack="differencing",
        measure="share of people whose yes or no is told rightly",
        unprotected=float(np.mean(exact == truth)),
        protected=float(np.mean((difference >= 1) == truth)),
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's answer, both questions together",
        words=f"Two exact counts in a table of {people} give each target's secret bit by subtraction. With noise for "
        f"both questions together, the difference is off by {np.mean(np.abs(difference - truth)):.1f} on average.",
    )
