"""Minimality: that an anonymizer changed something tells why it had to.

The anonymizer merges two classes only if one of them has too many sensitive values (more than half). Where two classes
are found merged, and there are just two sensitive values among six people, the class of two must have had them both:
else nothing would have been merged. What is published says a third; what is known is certainty.
"""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import BOOK, KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_SMALL, _LARGE, _SENSITIVE = 2, 4, 0.3
_PAIRS_PER_NAMED = 100


@attack(
    "minimality",
    source=f"Minimality Attack in Privacy Preserving Data Publishing (Wong et al. 2007); {BOOK}, section 1.3; "
    f"{KAR}, section 2.3",
)
def minimality(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Ask why two classes had to be merged; the answer is a value."""
    drawn = public_generator()
    wanted = -(-targets // _SMALL)
    small = (drawn.uniform(size=(_PAIRS_PER_NAMED * wanted, _SMALL)) < _SENSITIVE).astype(np.int64)
    large = (drawn.uniform(size=(len(small), _LARGE)) < _SENSITIVE).astype(np.int64)
    few, many = small.sum(axis=1), large.sum(axis=1)
    is_merged = (2 * few > _SMALL) | (2 * many > _LARGE)
    # Only a class of two with both can be the reason: the class of four would need three.
    gives_away = np.flatnonzero(is_merged & (few + many == _SMALL))
    named = gives_away[:wanted]
    # Counts of fixed classes, however many of their members are sensitive: nothing is merged for a reason.
    private = noisy_counts(few, epsilon, moved=1)
    chosen = np.lexsort((drawn.uniform(size=len(few)), -private))[:wanted]
    return Outcome(
        attack="minimality",
        measure="share that has the sensitive value, of the people named",
        unprotected=float(np.mean(small[named])),
        protected=float(np.mean(small[chosen])),
        chance=_SENSITIVE,
        ceiling=ceiling(_SENSITIVE, epsilon),
        n=wanted * _SMALL,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{int(is_merged.sum())} of {len(small)} pairs of classes were merged to hide that more than half of a "
        f"class is sensitive. In {len(gives_away)} of them the merging itself proves who it was, while the table "
        f"says one in {(_SMALL + _LARGE) // _SMALL}.",
    )
