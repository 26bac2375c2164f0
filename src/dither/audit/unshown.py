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

REASONS: Final[Mapping[str, str]] = MappingProxyType({})


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
