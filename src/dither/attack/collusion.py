"""Proportional shares: a number times a known weight is the number.

Curators send each of c aggregators a part w_j u of their number u, the weights being public and adding up to 1, with
noise once in ten thousand times. Any one aggregator divides by its weight; with all other curators colluding, the total
says the same. The defended curators send additive shares, of which any c - 1 are independent of the number, and always
add noise: all that colluders are left with is the total, less what they know, which is the number and its noise.
"""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_AGGREGATORS, _LARGEST, _SELDOM = 5, 9, 1e-4


@attack("collusion", source=f"{ADELAIDE}, sections 4.2 and 5.1")
def collusion(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Divide a proportional share by its public weight; or, against shares that hide, pool what all others know."""
    drawn = public_generator()
    numbers = drawn.integers(0, _LARGEST + 1, size=targets)
    weights = drawn.dirichlet(np.ones(_AGGREGATORS))
    blurred = noisy_counts(numbers, epsilon, moved=_LARGEST)
    # As printed: the noise is left out but for once in ten thousand times.
    sent = np.where(drawn.uniform(size=targets) < _SELDOM, blurred, numbers)
    parts = weights[0] * sent
    read = np.rint(parts / weights[0]).astype(np.int64)
    always = noisy_counts(numbers, epsilon, moved=_LARGEST)
    guesses = np.clip(always, 0, _LARGEST)
    return Outcome(
        attack="collusion",
        measure="share of numbers told exactly",
        unprotected=float(np.mean(read == numbers)),
        protected=float(np.mean(guesses == numbers)),
        chance=1 / (_LARGEST + 1),
        ceiling=ceiling(1 / (_LARGEST + 1), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one curator's number, whoever else colludes",
        words=f"One of {_AGGREGATORS} aggregators, alone, divides its share by its weight and has the number. Against "
        f"additive shares and noise that is never left out, all other curators and all but one aggregator together "
        f"are off by {np.mean(np.abs(always - numbers)):.0f} on average.",
    )
