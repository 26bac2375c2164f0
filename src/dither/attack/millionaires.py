"""Repeated millionaires: a comparison that hides its inputs perfectly gives them away when it is repeated.

Yao's protocol tells two people who is richer and nothing else. Whoever may run it again with other numbers of their own
halves the range each time. Secure computation protects how an answer is computed, not what answers say; the defended
comparison is told through randomised response, and all of them are paid for together.

The protocol itself is not run here: what it gives both sides, by its own promise, is the outcome of the comparison.
"""

from __future__ import annotations

import math

import numpy as np

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import random_answers
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_RICHEST = 64


@attack("millionaires", source=f"{ADELAIDE}, section 2.1.3; Protocols for Secure Computations (Yao 1982)", most=2000)
def millionaires(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Run a secure comparison again and again with numbers of one's own, and halve the range each time."""
    fortunes = public_generator().integers(0, _RICHEST, size=targets)
    rounds = int(math.log2(_RICHEST))
    share = positive("epsilon", epsilon) / rounds
    shares = []
    for is_private in (False, True):
        low, width, right = np.zeros(targets, dtype=np.int64), _RICHEST, [1 / _RICHEST]
        for _ in range(rounds):
            width //= 2
            richer = (fortunes >= low + width).astype(np.int64)
            low = low + width * (random_answers(richer, share, 2) if is_private else richer)
            # One of the numbers that are left.
            right.append(float(np.mean((fortunes >= low) & (fortunes < low + width)) / width))
        shares.append(right)
    return Outcome(
        attack="millionaires",
        measure="share of fortunes told exactly",
        unprotected=shares[0][-1],
        protected=shares[1][-1],
        chance=1 / _RICHEST,
        ceiling=ceiling(1 / _RICHEST, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's fortune, all {rounds} comparisons together",
        words=f"{rounds} comparisons, each of them perfectly secure, give a fortune between 0 and {_RICHEST - 1} "
        f"exactly. Answered at random for one price, they give no more than a guess.",
        axes=("comparisons", "share of fortunes told exactly"),
        curves=tuple(
            Curve(name, tuple(map(float, range(rounds + 1))), tuple(right))
            for name, right in zip(("true answers", "randomised answers"), shares, strict=True)
        ),
    )
