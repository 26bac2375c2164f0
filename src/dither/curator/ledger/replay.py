"""Playing the chain again: what every table should hold, and whether each step was allowed.

The chain is the ledger. This walks it from the first entry, checks every hash, asks the filter again whether every
debit fitted when it was made, and then compares the outcome with the tables, the stored answers and the anchor.

**Many debits at once.** Each condition of a filter's usual division bounds a sum from above, and sums only rise as long
as a limit stands. So where the division holds the sums after the last of some debits under one limit, it held them
after each. Only where it does not is the filter asked debit by debit, from the sums before each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from dither.curator.ledger.admission import filter_at, is_raise, limit_of, successor
from dither.curator.ledger.amounts import ZERO, Amount
from dither.curator.ledger.approvals import ASKING
from dither.curator.ledger.chain import PROOF, answer_digest, canonical, first_link, link
from dither.curator.ledger.commands import why_barred
from dither.curator.ledger.governed import stated_of
from dither.curator.ledger.interface import MOST_ATTEMPTS, Account
from dither.curator.ledger.replay_terms import Broken, Governed
from dither.curator.ledger.replay_terms import demand as _demand
from dither.curator.ledger.returns import kept_of, returned_of
from dither.curator.ledger.standing import (
    STAGES,
    beside,
    closed,
    renamed,
    renewed,
    retired,
    staged,
    standing_of,
)
from dither.curator.ledger.terms import terms_of, with_terms
from dither.curator.ledger.transaction import Page, Purse
from dither.errors import DitherError

_KINDS = (
    *("register", "raise", "quota", "revoke", "close", "rename", "retire", "edition", "stage"),
    *(*ASKING, "publish", "withdraw", "state"),
    *("reserve", "renew", "draw", "seal", "answer", "return", "restore"),
)
#: Without a search for blanks around the text: there are none in a canonical one.
_DECODER = json.JSONDecoder()
#: What a publication states of its answer; all else is about the data set.
_STATED_OF_ANSWERS = ("answer", "loss", "edition")
#: More problems than this are not listed: one is enough.
_MOST_PROBLEMS = 20


#: Entries after which every limit is what it was.
_UNDER_ONE_LIMIT = frozenset({"reserve", "renew", "draw", "seal", "answer", *ASKING, "publish", "withdraw", "state"})


class _Debit(NamedTuple):
    """A debit, with the limit and the sums before it."""

    seq: int
    limit: str
    spent: Amount
    charge: Amount


class Replay:
    """The state of a ledger as its entries tell it."""

    def __init__(self, ledger: str) -> None:
        self.problems: list[str] = []
        self.entries = 0
        self.datasets: dict[str, tuple[str, Purse]] = {}
        self.analysts: dict[Account, Purse] = {}
        #: By account and key: what ``Request`` says, in its order, with the digest in place of the answer.
        self.requests: dict[tuple[Account, str], dict[str, Any]] = {}
        self._editions: dict[int, int | None] = {}
        #: Draws whose noise can be drawn again.
        self._proved: set[int] = set()
        self._seq = 0
        self._hash = first_link(ledger)
        self._accounts: dict[tuple[Any, Any], Account] = {}
        #: Debits that the filter has not been asked about, by data set or account: all under the present limit.
        self._unasked: dict[str | Account, list[_Debit]] = {}
        self._overspent: set[int] = set()
        self._governed = Governed()

    def walk(self, page: Page) -> None:
        """Read every entry; after the first that is not linked nothing can be known."""
        for seq, text, digest in page.chain():
            if link(self._hash, text) != digest:
                self._complain(f"entry {seq} does not follow from the one before it")
                break
            try:
                record, end = _DECODER.raw_decode(text)
                if end != len(text):
                    record = json.loads(text)
                self._apply(seq, record)
            except Broken as broken:
                self._complain(f"entry {seq}: {broken}")
            except (DitherError, ValueError, TypeError, KeyError, AttributeError) as error:
                self._complain(f"entry {seq} cannot be read ({type(error).__name__})")
                break
            self._seq, self._hash = seq, digest
            self.entries += 1
        for whose in list(self._unasked):
            self._ask(whose)

    def compare(self, page: Page) -> None:
        """Compare the tables with what the entries tell."""
        if (page.seq, page.hash) != (self._seq, self._hash):
            self._complain("the head is not the last entry")
        try:
            self._compare_accounts(page)
            self._compare_requests(page)
            if self._governed.rows != {tuple(row) for row in page.decided()}:
                self._complain("the table of decisions contradicts the entries")
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
        if kind not in _UNDER_ONE_LIMIT:
            # Limits may change: what was debited is judged by those of then.
            for whose in list(self._unasked):
                self._ask(whose)
        self._governed.see(record)
        # A question has another name here: ``_ask`` asks the filter.
        getattr(self, "_ask_others" if kind == "ask" else f"_{kind}")(record)

    def _account(self, record: dict[str, Any]) -> Account:
        names = record["dataset"], record["analyst"]
        if names not in self._accounts:
            self._accounts[names] = Account(*names)
        return self._accounts[names]

    def _ask(self, whose: str | Account) -> None:
        """Ask the filter about all debits that it was not asked about."""
        debits = self._unasked.pop(whose)
        limit, last = debits[0].limit, debits[-1]
        if filter_at(limit, debits[0].spent).usual.holds(kept_of(limit, last.spent + last.charge).loss()):
            return
        for debit in debits:
            if not filter_at(limit, debit.spent).admits(debit.charge.loss()) and debit.seq not in self._overspent:
                self._overspent.add(debit.seq)
                self._complain(f"entry {debit.seq}: the debit did not fit: an overspend")

    def _register(self, record: dict[str, Any]) -> None:
        name = record["dataset"]
        called = {other for _, purse in self.datasets.values() for other in standing_of(purse.limit).called}
        _demand(name not in self.datasets and name not in called, "the data set was registered before")
        budget = _limit(record["budget"])
        # Nothing else was decided yet, and nothing can have come back.
        _demand(beside(budget) in ({}, staged({}, "draft")), "the budget says more than its figures")
        self.datasets[name] = record["unit"], Purse(budget, ZERO, 0)

    def _raise(self, record: dict[str, Any]) -> None:
        unit, purse = self._dataset(record)
        _demand(not standing_of(purse.limit).is_retired, "the data set was retired")
        budget = _limit(record["budget"])
        is_raised = purse.limit is not None and is_raise(purse.limit, limit_of(budget))
        _demand(is_raised, "the budget was not raised")
        kept = canonical(successor(purse.limit, purse.spent, limit_of(budget)))
        _demand(budget == kept, "the raised budget is divided otherwise")
        self._governed.raised(record["dataset"], record, purse.limit, budget)
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

    def _stage(self, record: dict[str, Any]) -> None:
        _, purse = self._dataset(record)
        stage = record["stage"]
        _demand(stage in STAGES[standing_of(purse.limit).stage], "the stage does not follow the one before")
        self._change(record, lambda terms: staged(terms, stage))

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
        quota = _limit(record["quota"])
        self._governed.check_quota(mine, quota, record)
        self.analysts[account] = Purse(quota, mine.spent, mine.releases)

    def _revoke(self, record: dict[str, Any]) -> None:
        account = self._account(record)
        mine = self.analysts.get(account, Purse(None, ZERO, 0))
        ended = canonical(with_terms(mine.terms or {}, replace(terms_of(mine.limit), is_ended=True)))
        _demand(mine.limit is not None and _limit(record["quota"]) == ended, "something else changed with it")
        self.analysts[account] = mine._replace(limit=ended)

    def _ask_others(self, record: dict[str, Any]) -> None:
        _, purse = self._dataset(record)
        self._governed.take(record, self.analysts.get(self._account(record)), standing_of(purse.limit).edition)

    _approve = _decline = _retract = _cancel = _ask_others

    def _publish(self, record: dict[str, Any]) -> None:
        unit, purse = self._dataset(record)
        stated, about = stated_of(unit, purse), record["about"]
        said = {name: value for name, value in record["stated"].items() if name not in _STATED_OF_ANSWERS}
        if "raises" in said:
            # Publications of before do not state them.
            stated |= {"raises": self._governed.raises.get(record["dataset"], [])}
        _demand(said == stated, "it states other sums, or other raises, than those of its time")
        mine = (one for (whose, _), one in self.requests.items() if whose.dataset == record["dataset"])
        found = next((one for one in mine if type(about) is int and one["answered"] == about), None)
        _demand(found is not None, "it is about no answer")
        if found is not None and said != record["stated"]:
            # Publications of before state sums alone.
            more = {"answer": found["answer"], "loss": found["charge"].to_dict()}
            edition = self._editions[found["reserved"]]
            more |= {} if edition is None else {"edition": edition}
            _demand(record["stated"] == stated | more, "it states another answer, or another loss, than its own")
        self._governed.take(record)

    def _withdraw(self, record: dict[str, Any]) -> None:
        self._dataset(record)
        self._governed.take(record)

    def _state(self, record: dict[str, Any]) -> None:
        unit, purse = self._dataset(record)
        _demand(record["stated"] == stated_of(unit, purse), "it states other sums than those of its time")
        self._governed.take(record)

    def _reserve(self, record: dict[str, Any]) -> None:
        unit, purse = self._dataset(record)
        account, charge = self._account(record), Amount.from_dict(record["charge"])
        mine = self.analysts.get(account, Purse(None, ZERO, 0))
        _demand((account, record["key"]) not in self.requests, "the key was used before: a double debit")
        # Asked anew, and not by the certificates that the ledger decides with.
        whose: tuple[tuple[str | Account, Purse], ...] = ((account.dataset, purse), (account, mine))
        for one, held in whose:
            if held.limit is not None:
                self._unasked.setdefault(one, []).append(_Debit(record["seq"], held.limit, held.spent, charge))
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
        _demand(why_barred(purse, mine, account) is None, "nothing may be debited to the account")
        edition = standing_of(purse.limit).edition
        # Debits of before do not say it.
        _demand(record.get("edition", edition) == edition, "it is about other rows than those of its time")
        self._editions[record["seq"]] = record.get("edition")
        self._governed.check_debit(record, mine, charge, edition)

    def _renew(self, record: dict[str, Any]) -> None:
        request = self._waiting(record)
        may_resume = request["drawn"] is None or request["drawn"] in self._proved
        _demand(may_resume, "a request was begun again after its draw")
        request["attempts"] += 1
        _demand(request["attempts"] == record["attempt"] <= MOST_ATTEMPTS, "too many attempts")

    def _draw(self, record: dict[str, Any]) -> None:
        request = self._waiting(record)
        _demand(request["drawn"] is None, "noise was drawn twice for one debit")
        request["drawn"] = record["seq"]
        if record.get(PROOF):
            self._proved.add(record["seq"])

    def _seal(self, record: dict[str, Any]) -> None:
        self._waiting(record)["state"] = "sealed"

    def _answer(self, record: dict[str, Any]) -> None:
        request = self._waiting(record)
        request |= {"state": "answered", "answered": record["seq"], "answer": record["answer"]}

    def _return(self, record: dict[str, Any]) -> None:
        account = self._account(record)
        request = self.requests.get((account, record["key"]))
        # One debit gives back once, in the transaction of its answer.
        is_answered = request is not None and request["answered"] == record["seq"] - 1
        _demand(is_answered, "something came back that no answer gave back")
        units, most = int(record["epsilon"]), 0 if request is None else request["charge"].epsilon or 0
        _demand(0 < units <= most, "more came back than was debited")
        (unit, purse), mine = self._dataset(record), self.analysts.get(account, Purse(None, ZERO, 0))
        after, mine_after = purse.take_back(units), mine.take_back(units)
        _demand((after, mine_after) != (purse, mine), "no limit takes back what came back")
        self.datasets[account.dataset] = unit, after
        self.analysts[account] = mine_after

    def _restore(self, record: dict[str, Any]) -> None:
        for one in record["datasets"]:
            _, before = self.datasets.get(one["dataset"], ("", Purse(None, ZERO, 0)))
            purse = _purse(one, "budget")
            self.datasets[one["dataset"]] = one["unit"], purse
            self._governed.raised(one["dataset"], record, before.limit, purse.limit)
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
        request = self.requests.get((self._account(record), record["key"]))
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
        number = 0
        for names, key, kept in page.all_requests():
            number += 1
            account = self._accounts.get(names) or Account(*names)
            told = self.requests.get((account, key))
            if told is None:
                self._complain(f"request {key!r} has no debit")
                continue
            answer = None if kept.answer is None else answer_digest(kept.answer)
            if answer != told["answer"]:
                self._complain(f"the answer to request {key!r} was changed")
            if tuple(told.values()) != (
                *(kept.digest, kept.reserved, kept.charge, kept.attempts, kept.state, kept.answered),
                *(told["answer"], kept.drawn),
            ):
                self._complain(f"request {key!r} contradicts its entries")
        # Counted as well: what has no place in the order of keys is in none of the pieces that were read.
        counted = page.rows.one("SELECT COUNT(*) FROM requests")
        if number != len(self.requests) or counted is None or int(counted[0]) != number:
            self._complain("the numbers of requests and of debits differ")


def _purse(record: dict[str, Any], limit: str) -> Purse:
    terms = record[limit]
    spent = Amount.from_dict(record["spent"])
    return Purse(None if terms is None else _limit(terms), spent, record["releases"])


def _limit(terms: dict[str, Any]) -> str:
    """Return the stored text of a limit, if it is one."""
    text = canonical(terms)
    limit_of(text)
    standing_of(text)
    returned_of(text)
    terms_of(text)
    return text
