"""Background knowledge: a class of diverse values is no cover for somebody known not to have most of them."""

from __future__ import annotations

import numpy as np

from dither.attack.anonymous_classes import class_counts
from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE, KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_DIVERSITY, _EXCLUDED, _POSSIBLE = 3, 10, 10


@attack("background", source=f"l-diversity (Machanavajjhala et al. 2006); {ADELAIDE}, section 2.2; {KAR}, section 2.4")
def background(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Strike out the values that the target cannot have; one is left of an l-diverse class."""
    drawn = public_generator()
    # The others have different values among those that the target's sex or age rules out for the target.
    others = np.argsort(drawn.uniform(size=(targets, _EXCLUDED)), axis=1)[:, : _DIVERSITY - 1]
    own = drawn.integers(0, _POSSIBLE, size=targets)
    values = np.hstack([own[:, None] + _EXCLUDED, others])
    counts = class_counts(values, _EXCLUDED + _POSSIBLE)
    private = noisy_counts(counts, epsilon, moved=2)
    shares = [float(np.mean(seen[:, _EXCLUDED:].argmax(axis=1) == own)) for seen in (counts, private)]
    return Outcome(
        attack="background",
        measure="share of people whose value is told rightly",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _POSSIBLE,
        ceiling=ceiling(1 / _POSSIBLE, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"Every class holds {_DIVERSITY} different values, so it is {_DIVERSITY}-diverse. Whoever knows that the "
        f"target has none of {_EXCLUDED} values strikes out the others and keeps one. With noise, many are left.",
    )
