"""Related items: lists that change when somebody buys tell what they bought."""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.recommender import limited, private_together, together
from dither.attack.registry import attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_ITEMS, _BOUGHT, _KNOWN, _KEPT = 200, 0.1, 8, 30


@attack(
    "related-items",
    source="You Might Also Like: Privacy Risks of Collaborative Filtering (Calandrino et al. 2011); Differentially "
    "Private Data Publishing and Analysis: A Survey (Zhu et al. 2017), section 5.2",
    most=1000,
)
def related_items(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Watch which item moves up in the lists of all items that the target is known to have; it is the new one."""
    drawn = public_generator()
    before = (drawn.uniform(size=(targets, _ITEMS)) < _BOUGHT).astype(np.int64)
    known = np.argsort(drawn.uniform(size=(targets, _ITEMS)), axis=1)[:, :_KNOWN]
    np.put_along_axis(before, known, 1, axis=1)
    # The new item is any that is not among the known ones: the attacker has no other reason to prefer one.
    new = np.argmax(drawn.uniform(size=(targets, _ITEMS)) * _not_among(known), axis=1)
    before[np.arange(targets), new] = 0
    after = before.copy()
    after[np.arange(targets), new] = 1

    lots = drawn.uniform(size=before.shape)
    half = positive("epsilon", epsilon) / 2
    views = {
        "exact lists": (together(before), together(after)),
        "noisy counts": tuple(private_together(limited(one, _KEPT, lots), half, _KEPT) for one in (before, after)),
    }
    allowed = _not_among(known)
    shares, curves = [], []
    for name, (early, late) in views.items():
        moved = late - early
        counts, right = list(range(1, _KNOWN + 1)), []
        for first in counts:
            # In how many of the watched lists an item moved up; by how much decides between equals.
            watched = moved[known[:, :first]]
            score = (watched >= 1).sum(axis=1) + 1e-6 * watched.sum(axis=1)
            right.append(float(np.mean(np.argmax(np.where(allowed, score, -np.inf), axis=1) == new)))
        shares.append(right[-1])
        curves.append(Curve(name, tuple(map(float, counts)), tuple(right)))
    prior = 1 / (_ITEMS - _KNOWN)
    return Outcome(
        attack="related-items",
        measure="share of people whose newest purchase is told rightly",
        unprotected=shares[0],
        protected=shares[1],
        chance=prior,
        ceiling=ceiling(prior, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's whole history, both days together",
        words=f"{targets} people buy one item each between two days. Whoever knows {_KNOWN} earlier purchases of a "
        f"person finds the new one in {shares[0]:.0%} of the cases, from public lists of what is bought together.",
        axes=("known purchases", "share told rightly"),
        curves=tuple(curves),
    )


def _not_among(
    known: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    allowed = np.ones((len(known), _ITEMS), dtype=bool)
    np.put_along_axis(allowed, known, False, axis=1)
    return allowed
