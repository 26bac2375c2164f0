"""The same question, asked again and again with fresh noise, gives the noise away by its average.

Noise of the right size for one answer protects nothing if nobody counts how often it is drawn. The defended curator
pays for all repeats out of one budget (dither's own goes further and returns the stored answer to a repeated request).
"""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import KAR, KENTUCKY
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_REPEATS = 400


@attack(
    "averaging",
    source=f"{KENTUCKY}, section 10.1; {KAR}, section 3.4",
)
def averaging(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Ask one question many times over, each time with fresh noise, and average the answers."""
    truth = public_generator().integers(0, 2, size=targets)
    repeated = np.repeat(truth[:, None], _REPEATS, axis=1)
    # Everybody but the target is known and subtracted, so the count that is left is the target's own bit.
    careless = noisy_counts(repeated, positive("epsilon", epsilon) * _REPEATS, moved=_REPEATS)
    budgeted = noisy_counts(repeated, epsilon, moved=_REPEATS)
    asked = np.unique(np.geomspace(1, _REPEATS, 24).astype(int))
    shares = {
        name: [float(np.mean((answers[:, :count].mean(axis=1) > 0.5) == truth)) for count in asked.tolist()]
        for name, answers in (("no account is kept", careless), ("one budget for all", budgeted))
    }
    unprotected, protected = (curve[-1] for curve in shares.values())
    return Outcome(
        attack="averaging",
        measure="share of people whose yes or no is told rightly",
        unprotected=unprotected,
        protected=protected,
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's answer, all {_REPEATS} repeats together",
        words=f"Each answer alone loses {plainly(epsilon)}. After {_REPEATS} fresh ones without an account, "
        f"the average tells {unprotected:.0%} of the bits; out of one budget the repeats add nothing.",
        axes=("answers averaged", "share told rightly"),
        curves=tuple(Curve(name, tuple(map(float, asked)), tuple(curve)) for name, curve in shares.items()),
    )
