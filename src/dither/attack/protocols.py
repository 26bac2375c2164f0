"""Protocols: computation that hides its inputs, and what its outputs reveal all the same."""

from __future__ import annotations

import math

import numpy as np

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts, random_answers
from dither.attack.registry import ADELAIDE, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_RICHEST = 64


@attack("millionaires", source=f"{ADELAIDE}, section 2.1.3; Protocols for Secure Computations (Yao 1982)", most=2000)
def millionaires(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Run a secure comparison again and again with the attacker's own numbers, and halve the range each time.

    Repeated millionaires: a comparison that hides its inputs perfectly gives them away when it is repeated.

    Yao's protocol tells two people who is richer and nothing else. A party who may rerun it with other numbers of their
    own halves the range each time. Secure computation protects how an answer is computed, not what answers say; the
    defended comparison is told through randomised response, and all of them are paid for together.

    The protocol itself is not run here: what it gives both sides, by its own promise, is the outcome of the comparison.
    """
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
        measure="share of fortunes revealed exactly",
        unprotected=shares[0][-1],
        protected=shares[1][-1],
        chance=1 / _RICHEST,
        ceiling=ceiling(1 / _RICHEST, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's fortune, all {rounds} comparisons together",
        words=f"{rounds} comparisons, each of them perfectly secure, give a fortune between 0 and {_RICHEST - 1} "
        f"exactly. Answered at random for one price, they give no more than a guess.",
        axes=("comparisons", "share of fortunes revealed exactly"),
        curves=tuple(
            Curve(name, tuple(map(float, range(rounds + 1))), tuple(right))
            for name, right in zip(("true answers", "randomised answers"), shares, strict=True)
        ),
    )


_AGGREGATORS, _LARGEST, _SELDOM = 5, 9, 1e-4


@attack("collusion", source=f"{ADELAIDE}, sections 4.2 and 5.1")
def collusion(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Divide a proportional share by its public weight; or, against shares that hide, pool what all others know.

    Proportional shares: a number times a known weight is the number.

    Curators send each of c aggregators a part w_j u of their number u, the weights being public and adding up to 1,
    with noise once in ten thousand times. Any one aggregator divides by its weight; with all other curators colluding,
    the total says the same. The defended curators send additive shares, of which any c - 1 are independent of the
    number, and always add noise: all that colluders are left with is the total, less what they know, which is the
    number and its noise.
    """
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
        measure="share of numbers revealed exactly",
        unprotected=float(np.mean(read == numbers)),
        protected=float(np.mean(guesses == numbers)),
        chance=1 / (_LARGEST + 1),
        ceiling=ceiling(1 / (_LARGEST + 1), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one curator's number, regardless of who else colludes",
        words=(
            f"One of {_AGGREGATORS} aggregators, alone, divides its share by its weight and has the number. Against "
            "additive shares and noise that is always added, all other curators and all but one aggregator together "
            f"are off by {np.mean(np.abs(always - numbers)):.0f} on average."
        ),
    )
