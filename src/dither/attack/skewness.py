"""Skewness: a class may be diverse and still say that its members have a rare value far more often than others."""

from __future__ import annotations

import numpy as np

from dither.attack.anonymous_classes import class_counts, share_right, surest
from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_ANONYMITY, _RARE = 10, 0.05
_CLASSES_PER_NAMED = 100


@attack("skewness", source=f"t-closeness (Li, Li, Venkatasubramanian 2007); {ADELAIDE}, section 2.2", most=2000)
def skewness(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Name the members of the 2-diverse classes in which a rare diagnosis is most frequent."""
    drawn = public_generator()
    wanted = -(-targets // _ANONYMITY)
    values = (drawn.uniform(size=(_CLASSES_PER_NAMED * wanted, _ANONYMITY)) < _RARE).astype(np.int64)
    counts = class_counts(values, 2)
    # How many members a class has is known, so one count says all; another value of one person moves it by 1.
    private = noisy_counts(counts[:, 1], epsilon, moved=1)
    lots = drawn.uniform(size=len(values))
    always = np.ones(len(values), dtype=np.int64)
    # Classes in which everybody has it are not 2-diverse and would not be published.
    published = np.where(counts[:, 1] < _ANONYMITY, counts[:, 1], -1)
    shares = [share_right(values, surest(seen, wanted, lots), always) for seen in (published, private)]
    return Outcome(
        attack="skewness",
        measure="share that has the rare value, of the people named",
        unprotected=shares[0],
        protected=shares[1],
        chance=_RARE,
        ceiling=ceiling(_RARE, epsilon),
        n=wanted * _ANONYMITY,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"One person in {1 / _RARE:.0f} has the value. In the most skewed of {len(values)} classes, all of them "
        f"2-diverse, {shares[0]:.0%} have it: {shares[0] / _RARE:.1f} times as many. Noise evens the classes out.",
    )
