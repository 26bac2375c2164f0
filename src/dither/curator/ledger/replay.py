"""Playing the chain again: what every table should hold, and whether each step was allowed.

The chain is the ledger. This walks it from the first entry, checks every hash, asks the filter again whether every
debit fitted when it was made, and then compares the outcome with the tables, the stored answers and the anchor.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dither.curator.ledger.admission import filter_at, limit_of, successor
from dither.curator.ledger.amounts import ZERO, Amount, is_no_less
from dither.curator.ledger.chain import answer_digest, canonical, first_link, link
from dither.curator.ledger.interface import MOST_ATTEMPTS, Account
from dither.curator.ledger.orders import why_barred
from dither.curator.ledger.page import Page, Purse
from dither.curator.ledger.standing import closed, renamed, renewed, retired, standing_of
from dither.errors import DitherError

_KINDS = (
    *("register", "raise", "quota", "close", "rename", "retire", "edition"),
    *("reserve", "renew", "draw", "seal", "answer", "restore"),
)
#: More problems than this are not listed: one is enough.
_MOST_PROBLEMS = 20


class _Broken(Exception):
    """An entry that the rules do not allow."""


class Replay:
    """The state of a ledger as its entries tell it."""

    def __init__(self, ledger: str) -> None:
        self.problems: list[str] = []
        self.entries = 0
        self.datasets: dict[str, tuple[str, Purse]] = {}
        self.analysts: dict[Account, Purse] = {}
        #: By account and key: what ``Request`` says, with the digest in place of the answer.
        self.requests: dict[tuple[Account, str], dict[str, Any]] = {}
        self._seq = 0
        self._hash = first_link(ledger)

    def walk(self, page: Page) -> None:
        """Read every entry; after the first that is not linked nothing can be known."""
        for seq, text, digest in page.chain():
            if link(self._hash, text) != digest:
                self._complain(f"entry {seq} does not follow from the one before it")
                return
            try:
                record = json.loads(text)
                self._apply(seq, record)
            except _Broken as broken:
                self._complain(f"entry {seq}: {broken}")
            except (DitherError, ValueError, TypeError, KeyError, AttributeError) as error:
                self._complain(f"entry {seq} cannot be read ({type(error).__name__})")
                return
            self._seq, self._hash = seq, digest
            self.entries += 1

    def compare(self, page: Page) -> None:
        """Compare the tables with what the entries tell."""
        if (page.seq, page.hash) != (self._seq, self._hash):
            self._complain("the head is not the last entry")
        try:
            self._compare_accounts(page)
            self._compare_requests(page)
        except (DitherError, ValueError, TypeError) as error:
            self._complain(f"a table cannot be read ({error})")

    def compare_anchor(self, contradiction: str | None) -> None:
        """Take down what contradicts the anchor."""
        if contradiction is not None:
            self._complain(f"the anchor disagrees: {contradiction}")

    def _complain(self, problem: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)

    def _apply(self, seq: int, record: dict[str, Any]) -> None:
        kind = record["kind"]
        is_next = seq == self._seq + 1 or (kind == "restore" and seq > self._seq and record["follows"] == self._seq)
        _demand(record["seq"] == seq and is_next, "its number is not the next")
        _demand(kind in _KINDS, "unknown kind")
        getattr(self, f"_{kind}")(record)

    def _register(self, record: dict[str, Any]) -> None:
        name = record["dataset"]
        called = {other for _, purse in self.datasets.values() for other in standing_of(purse.limit).called}
        _demand(name not in self.datasets and name not in called, "the data set was registered before")
        self.datasets[name] = record["unit"], Purse(_limit(record["budget"]), ZERO, 0)

    def _raise(self, record: dict[str, Any]) -> None:
        unit, purse = self._dataset(record)
        _demand(not standing_of(purse.limit).is_retired, "the data set was retired")
        budget = _limit(record["budget"])
        is_raised = purse.limit is not None and is_no_less(limit_of(budget), limit_of(purse.limit))
        _demand(is_raised, "the budget was not raised")
        kept = canonical(successor(purse.limit, purse.spent, limit_of(budget)))
        _demand(budget == kept, "the raised budget is divided otherwise")
        self.datasets[record["dataset"]] = unit, Purse(budget, purse.spent, purse.releases)

    def _close(self, record: dict[str, Any]) -> None:
        self._change(record, closed)

    def _rename(self, record: dict[str, Any]) -> None:
        name = record["name"]
        taken = {
            other
            for registered, (_, purse) in self.datasets.items()
            if registered != record["dataset"]
            for other in (registered, *standing_of(purse.limit).called)
        }
        _demand(name not in taken, "the name belongs to another data set")
        self._change(record, lambda terms: renamed(terms, name))

    def _retire(self, record: dict[str, Any]) -> None:
        self._change(record, retired)

    def _edition(self, record: dict[str, Any]) -> None:
        self._change(record, lambda terms: renewed(terms, record["seq"]))

    def _change(self, record: dict[str, Any], how: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change what an owner decided, and nothing else."""
        unit, purse = self._dataset(record)
        _demand(not standing_of(purse.limit).is_retired, "the data set was retired")
        terms = canonical(how(purse.terms))
        _demand(_limit(record["budget"]) == terms, "something else changed with it")
        self.datasets[record["dataset"]] = unit, Purse(terms, purse.spent, purse.releases)

    def _quota(self, record: dict[str, Any]) -> None:
        self._dataset(record)
        account = Account(record["dataset"], record["analyst"])
        mine = self.analysts.get(account, Purse(None, ZERO, 0))
        self.analysts[account] = Purse(_limit(record["quota"]), mine.spent, mine.releases)

    def _reserve(self, record: dict[str, Any]) -> None:
        unit, purse = self._dataset(record)
        account, charge = Account(record["dataset"], record["analyst"]), Amount.from_dict(record["charge"])
        mine = self.analysts.get(account, Purse(None, ZERO, 0))
        _demand((account, record["key"]) not in self.requests, "the key was used before: a double debit")
        # Asked anew, and not by the certificates that the ledger decides with.
        fits = all(one.limit is None or filter_at(one.limit, one.spent).admits(charge.loss()) for one in (purse, mine))
        self.datasets[account.dataset] = unit, purse.pay(charge)
        self.analysts[account] = mine.pay(charge)
        self.requests[account, record["key"]] = {
            "digest": record["digest"],
            "reserved": record["seq"],
            "charge": charge,
            "attempts": 1,
            "state": "reserved",
            "answered": None,
            "answer": None,
            "drawn": None,
        }
        _demand(fits, "the debit did not fit: an overspend")
        _demand(why_barred(purse, mine, account) is None, "nothing may be debited to the account")

    def _renew(self, record: dict[str, Any]) -> None:
        request = self._waiting(record)
        _demand(request["drawn"] is None, "a request was begun again after its draw")
        request["attempts"] += 1
        _demand(request["attempts"] == record["attempt"] <= MOST_ATTEMPTS, "too many attempts")

    def _draw(self, record: dict[str, Any]) -> None:
        request = self._waiting(record)
        _demand(request["drawn"] is None, "noise was drawn twice for one debit")
        request["drawn"] = record["seq"]

    def _seal(self, record: dict[str, Any]) -> None:
        self._waiting(record)["state"] = "sealed"

    def _answer(self, record: dict[str, Any]) -> None:
        request = self._waiting(record)
        request |= {"state": "answered", "answered": record["seq"], "answer": record["answer"]}

    def _restore(self, record: dict[str, Any]) -> None:
        for one in record["datasets"]:
            _, before = self.datasets.get(one["dataset"], ("", Purse(None, ZERO, 0)))
            purse = _purse(one, "budget")
            self.datasets[one["dataset"]] = one["unit"], purse
            _demand(before.spent <= purse.spent, "a restore gave budget back")
        for one in record["analysts"]:
            account = Account(one["dataset"], one["analyst"])
            before, purse = self.analysts.get(account, Purse(None, ZERO, 0)), _purse(one, "quota")
            self.analysts[account] = purse
            _demand(before.spent <= purse.spent, "a restore gave a quota back")

    def _dataset(self, record: dict[str, Any]) -> tuple[str, Purse]:
        _demand(record["dataset"] in self.datasets, "the data set was never registered")
        return self.datasets[record["dataset"]]

    def _waiting(self, record: dict[str, Any]) -> dict[str, Any]:
        request = self.requests.get((Account(record["dataset"], record["analyst"]), record["key"]))
        _demand(request is not None, "nothing was debited under its key")
        _demand(request is not None and request["state"] == "reserved", "its request was settled before")
        return request or {}

    def _compare_accounts(self, page: Page) -> None:
        names = {str(row[0]) for row in page.rows.all("SELECT name FROM datasets")}
        for name in sorted(names | set(self.datasets)):
            if page.find_dataset(name) != self.datasets.get(name):
                self._complain(f"the sums, unit or budget of data set {name!r} are not those of its entries")
        pairs = {Account(*map(str, row)) for row in page.rows.all("SELECT dataset, analyst FROM analysts")}
        for account in sorted(pairs | set(self.analysts), key=lambda account: (account.dataset, account.analyst)):
            if page.analyst(account) != self.analysts.get(account):
                self._complain(f"the sums or quota of {account} are not those of its entries")

    def _compare_requests(self, page: Page) -> None:
        keys = page.rows.all("SELECT dataset, analyst, key FROM requests")
        if len(keys) != len(self.requests):
            self._complain("there are not as many requests as debits")
        for dataset, analyst, key in keys:
            told = self.requests.get((Account(dataset, analyst), key))
            kept = page.request(Account(dataset, analyst), key)
            if told is None or kept is None:
                self._complain(f"request {key!r} has no debit")
                continue
            if any(getattr(kept, name) != told[name] for name in told if name != "answer"):
                self._complain(f"request {key!r} is not as its entries tell")
            if (None if kept.answer is None else answer_digest(kept.answer)) != told["answer"]:
                self._complain(f"the answer to request {key!r} was changed")


def _purse(record: dict[str, Any], limit: str) -> Purse:
    terms = record[limit]
    spent = Amount.from_dict(record["spent"])
    return Purse(None if terms is None else _limit(terms), spent, record["releases"])


def _limit(terms: dict[str, Any]) -> str:
    """Return the stored text of a limit, if it is one."""
    text = canonical(terms)
    limit_of(text)
    standing_of(text)
    return text


def _demand(holds: bool, rule: str) -> None:
    if not holds:
        raise _Broken(rule)
