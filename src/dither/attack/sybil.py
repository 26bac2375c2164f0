"""Sybils: false users copy what is known of the target, become its nearest neighbours, and are given the rest."""

from __future__ import annotations

import numpy as np

from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.recommender import limited, private_together, recommended, together
from dither.attack.registry import attack
from dither.attack.sources import BOOK
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_USERS, _ITEMS, _BOUGHT, _KNOWN, _SYBILS, _NAMED, _KEPT = 300, 120, 0.2, 8, 10, 10, 20


@attack(
    "sybil",
    source="You Might Also Like: Privacy Risks of Collaborative Filtering (Calandrino et al. 2011); "
    f"{BOOK}, section 10.4.1",
    most=2000,
)
def sybil(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Make users with eight known purchases of the target; what they are recommended is what the target bought."""
    drawn = public_generator()
    attacked = -(-targets // _NAMED)
    users = max(_USERS, attacked)
    histories = (drawn.uniform(size=(users, _ITEMS)) < _BOUGHT).astype(np.int64)
    # Eight purchases are known; nobody has fewer, and the rest is bought by the toss of a coin as before.
    known = np.argsort(drawn.uniform(size=(attacked, _ITEMS)), axis=1)[:, :_KNOWN]
    np.put_along_axis(histories[:attacked], known, 1, axis=1)
    false_users = np.zeros((attacked, _ITEMS), dtype=np.int64)
    np.put_along_axis(false_users, known, 1, axis=1)

    hits, named = 0, 0
    for target, sybil_history in enumerate(false_users):
        joined = np.vstack([histories, np.repeat(sybil_history[None, :], _SYBILS, axis=0)])
        items = recommended(joined, users, _SYBILS, _NAMED)
        hits, named = hits + int(histories[target, items].sum()), named + len(items)

    everybody = np.vstack([histories, np.repeat(false_users, _SYBILS, axis=0)])
    kept = limited(everybody, _KEPT, drawn.uniform(size=everybody.shape))
    private = private_together(kept, epsilon, _KEPT)
    # The attacker takes away what their own false users added.
    private = private - together(np.repeat(false_users, _SYBILS, axis=0))
    scores = (false_users @ private).astype(np.float64)
    scores[false_users > 0] = -np.inf
    given = np.argsort(-scores, axis=1, kind="stable")[:, :_NAMED]
    return Outcome(
        attack="sybil",
        measure="share of recommended items that are in the target's history",
        unprotected=hits / max(named, 1),
        protected=float(np.mean(np.take_along_axis(histories[:attacked], given, axis=1))),
        chance=_BOUGHT,
        ceiling=ceiling(_BOUGHT, epsilon),
        n=attacked * _NAMED,
        loss=f"{plainly(epsilon)} for one person's whole history",
        words=f"{_SYBILS} false users with {_KNOWN} known purchases have each other and the target as nearest "
        f"neighbours: {hits} of {named} recommended items were bought by the target. From noisy counts of pairs they "
        f"get items that anybody may have bought.",
        figures=(("items named per target without protection", named / attacked),),
    )
