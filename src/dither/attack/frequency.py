"""Frequency analysis: a secret code table keeps the frequencies, and they are known from elsewhere.

Replacing values by secret codes, merging columns into codes and keeping the rules secret is a substitution cipher. The
attacker orders codes and values by how frequent they are and pairs them off.
"""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import random_answers
from dither.attack.registry import attack
from dither.attack.sources import KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_VALUES = 12


@attack("frequency", source=f"{KAR}, section 3.4", most=5000)
def frequency(targets: int = 2000, epsilon: Number = "1/2") -> Outcome:
    """Pair off secret codes with values by how frequent they are."""
    drawn = public_generator()
    weights = 0.6 ** np.arange(_VALUES)
    law = weights / weights.sum()
    values = drawn.choice(_VALUES, size=targets, p=law)
    secret = drawn.permutation(_VALUES)
    codes = secret[values]
    decoded = np.empty(_VALUES, dtype=np.int64)
    seen = np.bincount(codes, minlength=_VALUES)
    decoded[np.argsort(-seen, kind="stable")] = np.arange(_VALUES)
    answers = random_answers(values, epsilon, _VALUES)
    # The likeliest value behind an answer, the frequencies being known.
    likely = float(positive("epsilon", epsilon)) * np.eye(_VALUES) + np.log(law)
    return Outcome(
        attack="frequency",
        measure="share of records decoded",
        unprotected=float(np.mean(decoded[codes] == values)),
        protected=float(np.mean(likely.argmax(axis=1)[answers] == values)),
        chance=float(law.max()),
        ceiling=ceiling(float(law.max()), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{targets} records under a secret code table: {int(np.sum(decoded[secret] == np.arange(_VALUES)))} of "
        f"{_VALUES} codes are read by their order of frequency. Randomised answers leave little more than the guess "
        f"that everybody has the most frequent value.",
        axes=("code or value, in order of frequency", "share of records"),
        curves=(
            Curve("codes as published", tuple(map(float, range(_VALUES))), tuple(np.sort(seen)[::-1] / targets)),
            Curve("values as known", tuple(map(float, range(_VALUES))), tuple(law.tolist())),
        ),
    )
