"""What the accounts must hold, followed along the chain: a row edited behind the ledger's back is not believed.

The tables say again what the chain says, and whoever can write the database can write them alone: a budget raised with
the database's own client is in a row and in no entry. So a process that has a ledger open keeps units, limits and sums
of all accounts in memory. On opening they come from the anchor and from the entries that it may have missed; later from
the entries of others, each of which is linked to the one before it, and from its own commits. Every row that a debit
rests on is compared with them.

Guarantee: on opening every account, and in each debit those it rests on, is what the anchor remembers, changed by
entries of the chain alone. That costs a process the entries that others made, once, and nothing where it is alone. A
machine without an anchor believes the tables at first sight; ``verify`` plays the chain from its first entry.
"""

from __future__ import annotations

import json
from typing import Any, Self

from dither.curator.ledger.amounts import ZERO, Amount
from dither.curator.ledger.anchor import LATEST_HASHES, Holding, Memory
from dither.curator.ledger.approvals import ASKING
from dither.curator.ledger.chain import canonical, first_link, link
from dither.curator.ledger.interface import Account
from dither.curator.ledger.transaction import Page, Purse
from dither.errors import DitherError, LedgerCorrupted

#: Entries that change no account, by a part of their text: quotation marks within names and keys are escaped.
_HARMLESS = tuple(
    f'"kind":"{kind}","seq":' for kind in ("answer", "draw", "renew", "seal", *ASKING, "publish", "withdraw", "state")
)
_NOTHING = Purse(None, ZERO, 0)


class Followed:
    """Units, limits and sums of all accounts after some entry."""

    def __init__(self, seq: int, digest: str) -> None:
        self.seq, self.hash = seq, digest
        self.datasets: dict[str, tuple[str, Purse]] = {}
        self.analysts: dict[Account, Purse] = {}
        # The entry up to which an account was known to begin with.
        self._known: dict[str | Account, int] = {}

    @classmethod
    def tables(cls, page: Page) -> Self:
        """Return what the tables say."""
        found = cls(page.seq, page.hash)
        found.datasets, found.analysts = page.accounts()
        return found

    @classmethod
    def chain(cls, page: Page) -> Self:
        """Return what the whole chain says, from its first entry."""
        found = cls(0, first_link(page.ledger))
        found.catch_up(page)
        return found

    @classmethod
    def anchor(cls, page: Page, memory: Memory) -> Self:
        """Return what an anchor remembers, with what it may have missed of the latest entries.

        A process may have died between a commit and its line: an account is known up to its own line, and changed by
        every later entry.
        """
        start, digest = page.entry_before(memory.seq - LATEST_HASHES + 1) or (0, first_link(page.ledger))
        found = cls(start, digest)
        for name, holding in memory.datasets.items():
            found.datasets[name] = str(holding.terms.get("unit")), _purse(holding)
            found._known[name] = holding.seq
        for names, holding in memory.analysts.items():
            account = Account(*names)
            found.analysts[account] = _purse(holding)
            found._known[account] = holding.seq
        found.catch_up(page)
        return found

    def catch_up(self, page: Page) -> None:
        """Follow the chain to its end; every entry must be linked to the one before it."""
        if page.seq != self.seq:
            for seq, text, digest in page.chain(self.seq):
                if link(self.hash, text) != digest:
                    raise LedgerCorrupted(page.rows.place, f"entry {seq} does not follow from the one before it")
                if not any(part in text for part in _HARMLESS):
                    self._apply(page, seq, text)
                self.seq, self.hash = seq, digest
        if (page.seq, page.hash) != (self.seq, self.hash):
            raise LedgerCorrupted(page.rows.place, "its head is not its last entry")

    def copy(self) -> Followed:
        """Return the same for somebody who follows the chain apart from this one."""
        found = Followed(self.seq, self.hash)
        found.datasets, found.analysts = dict(self.datasets), dict(self.analysts)
        found._known = dict(self._known)
        return found

    def adopt(self, page: Page) -> None:
        """Follow one's own transaction, which is durable now."""
        datasets, analysts = page.changed()
        self.datasets |= datasets
        self.analysts |= analysts
        self.seq, self.hash = page.seq, page.hash

    def same_accounts(self, other: Followed) -> bool:
        """Whether two say the same."""
        return (self.datasets, self.analysts) == (other.datasets, other.analysts)

    def _apply(self, page: Page, seq: int, text: str) -> None:
        try:
            record = json.loads(text)
            match record["kind"]:
                case "register":
                    self._set(seq, record["dataset"], (record["unit"], Purse(canonical(record["budget"]), ZERO, 0)))
                case "raise" | "close" | "rename" | "retire" | "edition" | "stage":
                    unit, purse = self.datasets[record["dataset"]]
                    self._set(seq, record["dataset"], (unit, purse._replace(limit=canonical(record["budget"]))))
                case "quota" | "revoke":
                    account = Account(record["dataset"], record["analyst"])
                    mine = self.analysts.get(account, _NOTHING)
                    self._set(seq, account, mine._replace(limit=canonical(record["quota"])))
                case "reserve":
                    self._pay(seq, Account(record["dataset"], record["analyst"]), Amount.from_dict(record["charge"]))
                case "return":
                    account, units = Account(record["dataset"], record["analyst"]), int(record["epsilon"])
                    unit, purse = self.datasets[account.dataset]
                    self._set(seq, account.dataset, (unit, purse.take_back(units)))
                    self._set(seq, account, self.analysts.get(account, _NOTHING).take_back(units))
                case "restore":
                    for one in record["datasets"]:
                        self._set(seq, one["dataset"], (one["unit"], _written(one, "budget")))
                    for one in record["analysts"]:
                        self._set(seq, Account(one["dataset"], one["analyst"]), _written(one, "quota"))
                case _:
                    raise ValueError
        except (DitherError, ValueError, TypeError, KeyError, AttributeError):
            reason = f"entry {seq} cannot be read; verify says more"
        else:
            return
        raise LedgerCorrupted(page.rows.place, reason)

    def _pay(self, seq: int, account: Account, charge: Amount) -> None:
        unit, purse = self.datasets[account.dataset]
        self._set(seq, account.dataset, (unit, purse.pay(charge)))
        self._set(seq, account, self.analysts.get(account, _NOTHING).pay(charge))

    def _set(self, seq: int, whose: str | Account, value: Any) -> None:
        if seq > self._known.get(whose, 0):
            if isinstance(whose, Account):
                self.analysts[whose] = value
            else:
                self.datasets[whose] = value


def opened(page: Page, memory: Memory) -> tuple[Followed, bool]:
    """Return the accounts of a ledger that is opened, and whether its anchor knew them all; refuse edited ones.

    Args:
        page: the ledger.
        memory: what its anchor remembers; it contradicts nothing in the chain.

    """
    told = Followed.tables(page)
    if not (memory.seq or memory.datasets):
        return told, True
    try:
        is_known = told.same_accounts(Followed.anchor(page, memory))
    except LedgerCorrupted:
        is_known = False
    # An anchor may have lost a line long ago. The chain decides: it ends as the anchor remembers.
    if not is_known and not told.same_accounts(Followed.chain(page)):
        raise LedgerCorrupted(page.rows.place, "a budget, quota or sum in its tables is not that of its entries")
    return told, is_known


def _purse(holding: Holding) -> Purse:
    return Purse(holding.terms.get("limit"), holding.spent, holding.releases)


def _written(record: dict[str, Any], limit: str) -> Purse:
    terms = record[limit]
    spent = Amount.from_dict(record["spent"])
    return Purse(None if terms is None else canonical(terms), spent, record["releases"])
