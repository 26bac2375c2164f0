"""What the owner of a data set decides in the ledger: budget, quotas, names, editions, its end.

Every act is one transaction with an entry of its own, so that the chain says who may ask what since when. None of them
gives anything back: what is spent stays spent, under whatever name and edition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dither.curator.ledger.admission import is_raise, limit_of, successor
from dither.curator.ledger.amounts import ZERO, checked_limit
from dither.curator.ledger.chain import canonical
from dither.curator.ledger.group_commit import TransactedLedger
from dither.curator.ledger.interface import Account, checked_name, checked_text
from dither.curator.ledger.raises import raises_of
from dither.curator.ledger.returns import kept_of
from dither.curator.ledger.standing import (
    OPEN,
    STAGES,
    Standing,
    closed,
    renamed,
    renewed,
    retired,
    staged,
    standing_of,
)
from dither.curator.ledger.terms import Terms, terms_of, with_terms
from dither.curator.ledger.transaction import Page, Purse
from dither.errors import DataSetRetired, IncompatibleDistance, InvalidParameter
from dither.privacy import ZCDP, Loss, PureDP


class OwnersBooks(TransactedLedger):
    """The part of a ledger that is the owner's: what may be spent, by whom, and how each data set stands."""

    #: How data sets stood when so much was decided.
    _stood: tuple[int, dict[str, Standing]] | None = None
    #: And how their budgets had been raised.
    _raised: tuple[int, dict[str, tuple[dict[str, Any], ...]]] | None = None

    def register(self, dataset: str, *, budget: Loss, unit: str, stage: str = OPEN) -> None:
        """Open the account of a data set, or find it open with the same budget and unit."""
        checked_name("dataset", dataset)
        if stage not in (OPEN, "draft"):
            raise InvalidParameter("stage", stage, f"{OPEN} or draft")
        checked_name("unit", unit)
        checked_limit("budget", budget)

        def work(page: Page) -> None:
            found = page.find_dataset(dataset)
            if found is None:
                _refuse_taken(page, "dataset", dataset)
                terms = staged(budget.to_dict(), stage)
                page.enter("register", dataset=dataset, unit=unit, budget=terms)
                page.keep_dataset(dataset, unit, Purse(canonical(terms), ZERO, 0))
                return
            if found[0] != unit:
                raise IncompatibleDistance("unit", found[0], unit)
            _refuse_retired(dataset, found[1])
            if limit_as_loss(found[1]) != budget:
                fix = f"'dither datasets raise-budget {standing_of(found[1].limit).name(dataset)}' raises it"
                rule = f"the one {dataset!r} is registered with, {limit_as_loss(found[1])}; {fix}"
                raise InvalidParameter("budget", budget, rule)

        self._change("register", work)

    def raise_budget(self, dataset: str, budget: Loss, *, reason: str) -> None:
        """Give a data set a larger budget of the same kind."""
        checked_name("dataset", dataset)
        checked_limit("budget", budget)
        checked_text("reason", reason)

        def work(page: Page) -> None:
            unit, purse = page.dataset(dataset)
            _refuse_retired(dataset, purse)
            before = limit_as_loss(purse)
            if purse.limit is None or not is_raise(purse.limit, budget):
                may = "an epsilon alone may get a delta, unless a release gave back a part of its loss"
                rule = f"of the same kind as {before} ({may}), and no less in any figure: a budget is never lowered"
                raise InvalidParameter("budget", budget, rule)
            record = successor(purse.limit, purse.spent, budget)
            page.enter("raise", dataset=dataset, budget=record, reason=reason)
            page.keep_dataset(dataset, unit, Purse(canonical(record), purse.spent, purse.releases))

        self._change("raise", work)

    def spent(self, dataset: str) -> tuple[Loss, Loss]:
        """Return the budget of a data set, and what is spent of it: what ``balance`` says of both, sooner."""

        def work(page: Page) -> tuple[Loss, Loss]:
            _, purse = page.dataset(dataset)
            return limit_as_loss(purse), purse.kept.loss()

        return self._look_closely(work)

    def raises(self, dataset: str) -> tuple[dict[str, Any], ...]:
        """Return when the budget of a data set was raised, from what, to what and why, from the first."""
        seen, known = self.changes(), self._raised
        if known is None or known[0] != seen:
            known = self._raised = seen, {}
        if dataset not in known[1]:
            known[1][dataset] = tuple(self._look(lambda page: raises_of(page, dataset)))
        return known[1][dataset]

    def set_quota(self, dataset: str, analyst: str, quota: Loss, *, terms: Terms | None = None) -> None:
        """Limit what one analyst may spend of a data set's budget; from the first quota on, others spend nothing."""
        account = Account(dataset, analyst)
        checked_limit("quota", quota)

        def work(page: Page) -> None:
            unit, purse = page.dataset(dataset)
            _refuse_retired(dataset, purse)
            budget = limit_as_loss(purse)
            if isinstance(quota, ZCDP) != isinstance(budget, ZCDP) or not quota <= budget:
                raise InvalidParameter("quota", quota, f"of the same kind as the budget, {budget}, and within it")
            if not standing_of(purse.limit).is_closed:
                _enter_terms(page, "close", dataset, unit, purse, closed(purse.terms))
            mine = page.analyst(account)
            granted = _granted(terms, mine, page.latest)
            record = with_terms(successor(mine.limit, mine.spent, quota), granted)
            is_begun = granted.allowance not in (None, terms_of(mine.limit).allowance)
            at: dict[str, Any] = {"at": page.latest} if is_begun else {}
            page.enter("quota", dataset=dataset, analyst=analyst, quota=record, **at)
            page.keep_analyst(account, Purse(canonical(record), mine.spent, mine.releases))

        self._change("quota", work)

    def end_quota(self, dataset: str, analyst: str) -> bool:
        """Debit nothing more to an analyst; return whether something could have been."""
        account = Account(dataset, analyst)
        return self._change("revoke", lambda page: enter_end(page, account))

    def terms(self, dataset: str, analyst: str) -> Terms:
        """Return what a grant says beside its quota."""
        account = Account(dataset, analyst)
        return self._look_closely(lambda page: terms_of(page.analyst(account).limit))

    def set_stage(self, dataset: str, stage: str, *, reason: str = "") -> None:
        """Let a data set be asked, or pause or close it."""
        checked_text("reason", reason)

        def change(_: Page, purse: Purse) -> dict[str, Any]:
            before = standing_of(purse.limit).stage
            if stage not in STAGES[before]:
                others = ", ".join(STAGES[before]) or "nothing: it was closed permanently"
                already = f"; it is {before} already" if stage == before else ""
                raise InvalidParameter("stage", stage, f"what may follow {before}: {others}{already}")
            return staged(purse.terms, stage)

        self._decide("stage", dataset, change, stage=stage, reason=reason)

    def rename(self, dataset: str, name: str, *, reason: str = "") -> None:
        """Call a data set otherwise: the books keep the name it is registered with."""
        checked_name("name", name)
        checked_text("reason", reason)

        def change(page: Page, purse: Purse) -> dict[str, Any]:
            if name == standing_of(purse.limit).name(dataset):
                raise InvalidParameter("name", name, "another one than it has")
            _refuse_taken(page, "name", name, but=dataset)
            return renamed(purse.terms, name)

        self._decide("rename", dataset, change, name=name, reason=reason)

    def retire(self, dataset: str, *, reason: str) -> None:
        """Debit nothing more to a data set, for ever; what was answered can still be told."""
        checked_text("reason", reason)
        self._decide("retire", dataset, lambda _, purse: retired(purse.terms), reason=reason)

    def begin_edition(self, dataset: str) -> int:
        """Say that other rows take the place of those before, and return the number of their edition."""
        self._decide("edition", dataset, lambda page, purse: renewed(purse.terms, page.seq + 1))
        return self.standings()[dataset].edition

    def standings(self) -> dict[str, Standing]:
        """Return how each data set stands, by the name that it is registered with."""

        def work(page: Page) -> dict[str, Standing]:
            return {name: standing_of(purse.limit) for name, (_, purse) in sorted(page.accounts()[0].items())}

        seen, known = self.changes(), self._stood
        if known is None or known[0] != seen:
            # Counted before it is read: what is decided in between is read again.
            known = self._stood = seen, self._look(work)
        return dict(known[1])

    def _decide(self, kind: str, dataset: str, change: Callable[[Page, Purse], dict[str, Any]], **fields: Any) -> None:
        """Write down one decision about a data set."""
        checked_name("dataset", dataset)

        def work(page: Page) -> None:
            unit, purse = page.dataset(dataset)
            _refuse_retired(dataset, purse)
            _enter_terms(page, kind, dataset, unit, purse, change(page, purse), **fields)

        self._change(kind, work)


def enter_end(page: Page, account: Account) -> bool:
    """End the quota of an analyst, in a transaction; return whether there was one that had not ended.

    Args:
        page: the transaction.
        account: whose.

    """
    mine = page.analyst(account)
    if mine.limit is None or terms_of(mine.limit).is_ended:
        return False
    record = with_terms(mine.terms, replace(terms_of(mine.limit), is_ended=True))
    page.enter("revoke", dataset=account.dataset, analyst=account.analyst, quota=record)
    page.keep_analyst(account, mine._replace(limit=canonical(record)))
    return True


def _granted(terms: Terms | None, mine: Purse, latest: str) -> Terms:
    """Return on what terms a quota is granted: those of before where none are given.

    An allowance that stays the same goes on; another one begins at the latest time of the ledger, which no clock sets
    back: the time that a clock was behind by is not allowed for once it is right again.
    """
    before = terms_of(mine.limit)
    granted = replace(before if terms is None else terms, is_ended=False)
    for name, loss in (("most", granted.most), ("usual", granted.usual)):
        if loss is not None:
            checked_limit(name, loss)
    allowance, earlier = granted.allowance, before.allowance
    if allowance is None:
        return granted
    if earlier is not None and (earlier.each, earlier.days) == (allowance.each, allowance.days):
        return replace(granted, allowance=earlier)
    return replace(granted, allowance=allowance.begun(latest, kept_of(mine.limit, mine.spent)))


def limit_as_loss(purse: Purse) -> Loss:
    """Return a limit as a loss; nothing where there is none."""
    return PureDP(0) if purse.limit is None else limit_of(purse.limit)


def _enter_terms(
    page: Page, kind: str, dataset: str, unit: str, purse: Purse, terms: dict[str, Any], **fields: Any
) -> None:
    page.enter(kind, dataset=dataset, budget=terms, **fields)
    page.keep_dataset(dataset, unit, Purse(canonical(terms), purse.spent, purse.releases))


def _refuse_retired(dataset: str, purse: Purse) -> None:
    if standing_of(purse.limit).is_retired:
        raise DataSetRetired(dataset)


def _refuse_taken(page: Page, parameter: str, name: str, but: str | None = None) -> None:
    """Refuse a name that another data set has or had: what was spent under it is about other people."""
    for registered, (_, purse) in page.accounts()[0].items():
        called = standing_of(purse.limit)
        if registered != but and name in (registered, *called.called):
            rule = f"a new one: the data set {called.name(registered)!r} was called so, and its budget stays with it"
            raise InvalidParameter(parameter, name, rule)
