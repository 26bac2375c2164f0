"""Asking the filter rarely.

Under the usual division of a budget's delta a release fits where the totals do, and what holds some totals holds all
smaller ones: each condition bounds a sum from above. So totals that the usual division holds are a certificate for
everything below them, whatever data set it is asked for. A budget that began otherwise is asked each time. A miss
asks the filter, and asks at once for room for many more such releases, so that writers, who wait for one another,
seldom wait for exact arithmetic; how many is doubled and redoubled while there is room, since others spend of the
same budget meanwhile, and falls as the limit comes near. (A rho that follows from an epsilon is rounded up in its
thirtieth digit, so that two totals that near to a limit may be told apart by one and not by the other; both keep to
the limit.)
"""

from __future__ import annotations

import copy
import functools
import json
from fractions import Fraction
from typing import Any

from dither.curator.ledger.amounts import ZERO, Amount, is_no_less
from dither.curator.ledger.returns import RETURNED, kept_of, takes_back, without_returned
from dither.curator.ledger.standing import BESIDE, beside
from dither.privacy import ApproxDP, Filter, GaussianDP, Loss
from dither.privacy.losses import states_rho

#: How many releases of the same size a certificate is asked for: at first, at most, and what changes it.
_AHEAD = 64
_FARTHEST = 2**18
_STRIDE = 8


#: Beside the figures of a limit: the share of its delta that converts rho, where no first release may settle it.
_SHARE = "conversion"


@functools.lru_cache(maxsize=256)
def limit_of(text: str) -> Loss:
    """Return the budget or quota that a text stands for."""
    record = json.loads(text)
    return Loss.from_dict({name: figure for name, figure in record.items() if name != _SHARE and name not in BESIDE})


def _share_of(text: str) -> Fraction | None:
    """Return how the delta of a limit is divided, if it says so."""
    share = json.loads(text).get(_SHARE)
    return None if share is None else Fraction(share)


def is_raise(limit: str, loss: Loss) -> bool:
    """Return whether a budget may take the place of another one: no less in any figure, and of its kind.

    An epsilon alone may get a delta, where nothing came back to it: all that was debited then fits the epsilon, and so
    the usual division holds it. With what came back, more may have been debited, depending on the answers.

    Args:
        limit: the old one.
        loss: the new one.

    """
    before = limit_of(limit)
    return is_no_less(loss, before) and (type(loss) is type(before) or without_returned(limit) == limit)


def successor(limit: str | None, spent: Amount, loss: Loss) -> dict[str, Any]:
    """Return the record of a limit that takes the place of another: it keeps how delta was divided, and all beside.

    The first release settled that before there were answers. What is spent by now depends on them, and so must not
    settle it anew.

    Args:
        limit: the old one; None where nothing was limited.
        spent: of it.
        loss: the new limit.

    """
    record: dict[str, Any] = loss.to_dict() | beside(limit)
    if not takes_back(json.dumps(loss.to_dict())):
        # The new limit counts what was debited in another figure, in which nothing came back.
        record.pop(RETURNED, None)
    if not isinstance(loss, ApproxDP) or states_rho(loss) or spent == ZERO:
        return record
    old = None if limit is None else filter_at(limit, spent)
    division = None if old is None else old.division
    share = None if limit is None else _share_of(limit)
    if old is None or division is None:
        return record | {_SHARE: str(Fraction(1, 2) if share is None else share)}
    if share is None and division == old.usual:
        return record
    is_converted = division.terms < old.budget.delta
    kept = max(Fraction(0), 1 - division.terms / loss.delta) if is_converted and loss.delta else Fraction(0)
    return record | {_SHARE: str(kept)}


def filter_at(limit: str, spent: Amount) -> Filter:
    """Return the filter of a limit, with the sums as they stand, less what came back."""
    counted = copy.copy(_unspent(without_returned(limit)))
    counted.spent = kept_of(limit, spent).loss()
    return counted


@functools.lru_cache(maxsize=256)
def _unspent(limit: str) -> Filter:
    """Return a filter that is copied before use."""
    return Filter(limit_of(limit), conversion=_share_of(limit))


def on_its_curve(loss: Loss, limit: str | None, spent: Amount) -> Amount | None:
    """Return Gaussian noise as the (epsilon, delta) for which a limit has room, where it has none for its rho.

    Args:
        loss: of a release; only Gaussian losses have a curve of their own.
        limit: a budget or quota.
        spent: of that limit.

    """
    if not isinstance(loss, GaussianDP) or limit is None:
        return None
    price = filter_at(limit, spent).price(loss)
    return Amount.of(price) if isinstance(price, ApproxDP) else None


class Certificates:
    """The largest totals that each limit's filter is known to admit."""

    def __init__(self) -> None:
        self._known: dict[str, Amount] = {}
        self._ahead: dict[str, int] = {}

    def admits(self, limit: str, spent: Amount, charge: Amount) -> bool:
        """Whether the filter of ``limit`` admits ``charge`` when ``spent`` is debited."""
        limit, spent = without_returned(limit), kept_of(limit, spent)
        total = spent + charge
        known = self._known.get(limit)
        if known is not None and total <= known:
            return True
        counted = filter_at(limit, spent)
        ahead = self._ahead.get(limit, _AHEAD)
        far = spent + charge.times(ahead)
        if far.is_loss and counted.usual.holds(far.loss()):
            self._ahead[limit] = min(ahead * _STRIDE, _FARTHEST)
            self._known[limit] = far
            return True
        self._ahead[limit] = max(ahead // _STRIDE, 1)
        if not counted.admits(charge.loss()):
            return False
        if counted.usual.holds(total.loss()):
            self._known[limit] = total
        return True
