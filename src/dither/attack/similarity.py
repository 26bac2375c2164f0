"""Similarity: different values of one kind are diverse by the letter, and tell the kind."""

from __future__ import annotations

import numpy as np

from dither.attack.anonymous_classes import class_counts, share_right, surest
from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_DIVERSITY, _KINDS, _PER_KIND = 3, 5, 6
_CLASSES_PER_NAMED = 100


@attack("similarity", source=f"t-closeness (Li, Li, Venkatasubramanian 2007); {ADELAIDE}, section 2.2", most=2000)
def similarity(targets: int = 600, epsilon: Number = "1/2") -> Outcome:
    """Tell the kind of disease from an l-diverse class whose different diseases are all of one kind."""
    drawn = public_generator()
    wanted = -(-targets // _DIVERSITY)
    values = drawn.integers(0, _KINDS * _PER_KIND, size=(_CLASSES_PER_NAMED * wanted, _DIVERSITY))
    ordered = np.sort(values, axis=1)
    is_diverse = np.all(np.diff(ordered, axis=1) > 0, axis=1)
    kinds = values // _PER_KIND
    counts = class_counts(kinds, _KINDS)
    # A class that is not diverse would be merged away: it is not published.
    confidence = np.where(is_diverse, counts.max(axis=1), -1)
    # The defended table gives counts of values; its reader adds those of one kind.
    private = noisy_counts(class_counts(values, _KINDS * _PER_KIND), epsilon, moved=2)
    seen = private.reshape(len(values), _KINDS, _PER_KIND).sum(axis=2)
    spread = np.sort(seen, axis=1)
    lots = drawn.uniform(size=len(values))
    shares = [
        share_right(kinds, surest(confidence, wanted, lots), counts.argmax(axis=1)),
        share_right(kinds, surest(spread[:, -1] - spread[:, -2], wanted, lots), seen.argmax(axis=1)),
    ]
    alike = int(np.sum(is_diverse & (counts.max(axis=1) == _DIVERSITY)))
    return Outcome(
        attack="similarity",
        measure="share right, of the people whose kind of value the attacker is surest of",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _KINDS,
        ceiling=ceiling(1 / _KINDS, epsilon),
        n=wanted * _DIVERSITY,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{alike} of {int(is_diverse.sum())} {_DIVERSITY}-diverse classes hold different values of one kind "
        f"only: the kind of each member is certain.",
        figures=(("share of diverse classes that are all of one kind", alike / max(int(is_diverse.sum()), 1)),),
    )
