"""Composed mechanisms whose outputs show little of what is claimed, each with the reason why.

An algorithm that shows less than it should and is not listed here is a hole, and a whole audit complains about it. What
is listed is replayed like all others: that is its evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from dither.audit.accounts import Account

#: The share of a claim from which on an audit says something about it.
TELLING: Final = 0.3
#: What chance and the speed of a machine may take off that before it is a hole.
TOLERANCE: Final = 0.9

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "boosted-trees": (
            "A leaf releases the quotient of two noisy sums. The pull of one record at equal scores is half of "
            "what is charged, and the count beside it takes its own part."
        ),
        "disjoint-tuning": (
            "A row reaches one learner alone, which is released about every other time; no rows were found on "
            "which that one shows a third of its claim."
        ),
        "incremental-regression": (
            "Every node of the tree draws all products of columns, and the model is their quotient: one row moves"
            " what is seen of it by less than half of what is charged."
        ),
        "kernel-predictions": (
            "The charge is how far the minimiser can move at most. The pull of a record on a logistic loss is "
            "half of that where scores are equal, and noisy scores are smoothed afterwards."
        ),
        "moment-grouping": (
            "Only the groups leave, which is one choice made from ten noisy moments: one row decides it on no "
            "data that was found."
        ),
        "noisy-mixture": (
            "Weights, means and variances are quotients of noisy sums, and rows are divided by centres that are "
            "noisy themselves."
        ),
        "perturbed-table": (
            "Three rows of a person are charged, and two are kept: each answer shows a part of its own third."
        ),
        "projected-clusters": (
            "Four draws share the loss, and what leaves are centres that were lifted back from noisy directions, "
            "as quotients of noisy sums."
        ),
        "repeated-tuning": (
            "The price of a secret number of runs is three times that of one, and one run is what is seen: no "
            "more than a third of what a learner shows alone."
        ),
        "selected-columns": (
            "Columns are chosen first, with a part of the loss of its own, and which of them were chosen hides "
            "what the survey of the rest shows."
        ),
    }
)


def best_shares(accounts: Iterable[Account]) -> dict[str, float]:
    """Return for each composed algorithm the largest share of a claim that any of its instances shows."""
    best: dict[str, float] = {}
    for one in accounts:
        if one.kind == "composed":
            best[one.name] = max(best.get(one.name, 0.0), one.share or 0.0)
    return best


def holes(accounts: Iterable[Account]) -> list[str]:
    """Return the algorithms that show too little without a reason."""
    return [
        name for name, share in best_shares(accounts).items() if share < TOLERANCE * TELLING and name not in REASONS
    ]
