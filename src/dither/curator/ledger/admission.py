"""Asking the filter rarely.

Whether a release fits depends on the totals alone, and a filter that admits some totals admits all smaller ones: each
of its conditions bounds a sum from above. So what was admitted once is a certificate for every total below it. A miss
asks the filter, and asks at once for room for many more such releases, so that writers, who wait for one another,
seldom wait for exact arithmetic. (A rho that follows from an epsilon is rounded up in its thirtieth digit, so that two
totals that near to a limit may be told apart by one and not by the other; both keep to the limit.)
"""

from __future__ import annotations

import copy
import functools
import json
from fractions import Fraction

from dither.curator.ledger.amounts import Amount
from dither.privacy import Filter, Loss

#: The share of a budget's delta that converts zCDP. Fixed for ever: a filter is valid for the share it began with, and
#: every ledger began with this one.
_CONVERSION = Fraction(1, 2)
#: How many further releases of the same size a certificate is asked for.
_AHEAD = 64


@functools.lru_cache(maxsize=256)
def limit_of(text: str) -> Loss:
    """Return the budget or quota that a text stands for."""
    return Loss.from_json(json.loads(text))


def filter_at(limit: str, spent: Amount) -> Filter:
    """Return the filter of a limit, with the sums as they stand."""
    counted = copy.copy(_unspent(limit))
    counted.spent = spent.loss()
    return counted


@functools.lru_cache(maxsize=256)
def _unspent(limit: str) -> Filter:
    """Return a filter that is copied before use."""
    return Filter(limit_of(limit), conversion=_CONVERSION)


class Certificates:
    """The largest totals that each limit's filter is known to admit."""

    def __init__(self) -> None:
        self._known: dict[str, Amount] = {}

    def admits(self, limit: str, spent: Amount, charge: Amount) -> bool:
        """Whether the filter of ``limit`` admits ``charge`` when ``spent`` is spent."""
        total = spent + charge
        known = self._known.get(limit)
        if known is not None and total <= known:
            return True
        counted = filter_at(limit, spent)
        if not counted.admits(charge.loss()):
            return False
        many = charge.times(_AHEAD)
        self._known[limit] = spent + many if many.is_loss and counted.admits(many.loss()) else total
        return True
