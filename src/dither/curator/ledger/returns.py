"""What releases gave back: the part of a debit that an answer turned out not to lose.

A release may lose less than it was debited, and how much less its own answer says: a noise reduction that stopped at a
coarse level. Then what it gave back stands in one text with the limit, as a sum that only grows, and a debit is
admitted while what is spent, less what came back, keeps within the limit. The sum of all debits is as it was.

Guarantee: only a limit of pure epsilons takes anything back, and of one debit no more than its epsilon. For those
``docs/theory/ex-post.md`` proves that the joint loss keeps within the limit; for all others nothing is proved, and the
worst case stays debited.
"""

from __future__ import annotations

import functools
import json
from typing import Final

from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.chain import canonical
from dither.privacy import Loss

#: What stands beside the figures of a limit, in its text: epsilon in units, as a text.
RETURNED: Final = "returned"


@functools.lru_cache(maxsize=256)
def returned_of(limit: str | None) -> int:
    """Return what came back to a limit, in units of epsilon; raises ValueError where that is nothing sensible.

    >>> returned_of('{"epsilon":"1","kind":"pure","returned":"12"}'), returned_of('{"kind":"zcdp","rho":"1"}')
    (12, 0)
    """
    record = {} if limit is None else json.loads(limit)
    figure = record.get(RETURNED, "0")
    if not (isinstance(figure, str) and figure.isascii() and figure.isdecimal()):
        raise ValueError
    if int(figure) and not _is_pure(record):
        raise ValueError
    return int(figure)


def takes_back(limit: str | None) -> bool:
    """Whether a limit takes back what a release did not lose: one that bounds an epsilon, and nothing else.

    >>> takes_back('{"epsilon":"1","kind":"pure"}'), takes_back('{"delta":"1e-6","epsilon":"1","kind":"approximate"}')
    (True, False)
    """
    return limit is not None and _is_pure(json.loads(limit))


def _is_pure(record: dict[str, object]) -> bool:
    # A budget that states a rho beside its epsilon bounds the sum of both, and the proof is about the one.
    return record.get("kind") == "pure" and "rho" not in record


def returning(limit: str | None, units: int) -> str | None:
    """Return a limit to which units of epsilon came back; the limit itself where it takes none."""
    if limit is None or not takes_back(limit):
        return limit
    return canonical({**json.loads(limit), RETURNED: str(returned_of(limit) + units)})


@functools.lru_cache(maxsize=256)
def without_returned(limit: str) -> str:
    """Return a limit as if nothing had come back."""
    record = json.loads(limit)
    record.pop(RETURNED, None)
    return canonical(record)


def kept_of(limit: str | None, spent: Amount) -> Amount:
    """Return what stays spent of a limit: all debits, less what came back.

    Args:
        limit: a budget or quota.
        spent: the sum of all debits to it.

    """
    units = returned_of(limit)
    if not units or spent.epsilon is None:
        return spent
    return Amount(max(0, spent.epsilon - units), spent.rho, spent.delta)


def unused(charge: Amount, spent: Loss | None) -> int:
    """Return how many units of epsilon a release gives back, rounded down.

    Args:
        charge: what was debited for it.
        spent: what its answer says that it lost; None where it says nothing.

    """
    if spent is None or charge.epsilon is None or charge.delta or spent.pure is None or spent.delta:
        return 0
    lost = Amount.of(spent, "spent").epsilon
    return 0 if lost is None else max(0, charge.epsilon - lost)
