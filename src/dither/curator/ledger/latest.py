"""What an analyst was answered lately: read without the answers, for whoever looks for one of them."""

from __future__ import annotations

from typing import Any, Final

from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.interface import Account
from dither.curator.ledger.transaction import Page, guarded

_ANSWERED: Final = (
    "SELECT key, digest, epsilon, rho, delta FROM requests WHERE {} = ? AND {} = ? AND reserved > ? "
    "AND state = 'answered' AND (key < ? OR key >= ?) ORDER BY reserved DESC LIMIT ?"
)
_OWN: Final = _ANSWERED.format("dataset", "analyst")
#: The same, found by the entry and not by whose it is: no index has such a text.
_LATE: Final = _ANSWERED.format("dataset || ''", "analyst || ''")
#: The entries of a release that is answered: its debit, its draw and its answer.
_ENTRIES: Final = 3


@guarded
def latest_answered(
    page: Page, account: Account, but: tuple[str, str], after: int, most: int
) -> list[tuple[str, str, Amount]]:
    """Return key, digest and charge of an analyst's latest answers; about ``most`` rows are looked at, however many.

    Args:
        page: the transaction.
        account: whose.
        but: leave out the keys from one on, up to another.
        after: and what was debited up to this entry.
        most: how many.

    """
    if page.analyst(account).releases > most:
        statement, first = _LATE, max(after, page.seq - _ENTRIES * most)
    else:
        statement, first = _OWN, after
    values: tuple[Any, ...] = (account.dataset, account.analyst, first, *but, most)
    return [(str(row[0]), str(row[1]), Amount.from_texts(*row[2:])) for row in page.rows.all(statement, *values)]
