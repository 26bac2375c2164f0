"""Homogeneity: all members of a class share one value, so being in the class is having the value."""

from __future__ import annotations

import numpy as np

from dither.attack.anonymous_classes import class_counts, share_right, surest
from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE, KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_ANONYMITY, _VALUES = 3, 4
#: One class in so many is homogeneous by chance; twice as many classes are made as that asks for.
_RARITY = 2 * _VALUES ** (_ANONYMITY - 1)


@attack("homogeneity", source=f"l-diversity (Machanavajjhala et al. 2006); {ADELAIDE}, section 2.2; {KAR}, section 2.4")
def homogeneity(targets: int = 600, epsilon: Number = "1/2") -> Outcome:
    """Read a diagnosis off a k-anonymous class all of whose members have the same one."""
    drawn = public_generator()
    wanted = -(-targets // _ANONYMITY)
    values = drawn.integers(0, _VALUES, size=(_RARITY * wanted, _ANONYMITY))
    counts = class_counts(values, _VALUES)
    private = noisy_counts(counts, epsilon, moved=2)
    lots = drawn.uniform(size=len(values))
    ordered = np.sort(private, axis=1)
    shares = [
        share_right(values, surest(confidence, wanted, lots), seen.argmax(axis=1))
        for seen, confidence in ((counts, counts.max(axis=1)), (private, ordered[:, -1] - ordered[:, -2]))
    ]
    found = int(np.sum(counts.max(axis=1) == _ANONYMITY))
    return Outcome(
        attack="homogeneity",
        measure="share right, of the people whose value the attacker is surest of",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _VALUES,
        ceiling=ceiling(1 / _VALUES, epsilon),
        n=wanted * _ANONYMITY,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{found} of {len(values)} classes of {_ANONYMITY} are homogeneous, though every row is {_ANONYMITY}-"
        f"anonymous: their members' values are certain. Noisy counts of the same classes leave nothing certain.",
        figures=(("share of classes that are homogeneous", found / len(values)),),
    )
