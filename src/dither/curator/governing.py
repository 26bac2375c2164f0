"""What is decided about a data set while it is asked: its stage, who agrees to which release, what everybody may see.

Every decision is an entry of the ledger's chain, made in one transaction. None gives budget back: a paused data set has
spent what it has, and an answer that is hidden again was released.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dither.curator.history import Answered
from dither.curator.ledger import OWNER, Account, Balance, Ledger, Receipt, Standing
from dither.curator.ledger.governed import Asked, GovernedBooks
from dither.curator.ledger.standing import OPEN
from dither.errors import BudgetExceeded, DataSetNotOpen, InvalidParameter, NotFound
from dither.privacy import Loss


@dataclass(frozen=True)
class Raise:
    """A budget that was made larger.

    Args:
        time: when.
        before: the budget that it was.
        after: the budget that it became.
        reason: why, as whoever decided it said for everybody.

    """

    time: str
    before: Loss
    after: Loss
    reason: str

    def __str__(self) -> str:
        return f"raised from {self.before} to {self.after} on {self.time[:10]}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as the entry of a publication has it."""
        return {"time": self.time, "from": self.before.to_dict(), "to": self.after.to_dict(), "reason": self.reason}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Raise:
        """Return what ``to_dict`` wrote."""
        before, after = Loss.from_dict(record["from"]), Loss.from_dict(record["to"])
        return cls(str(record["time"]), before, after, str(record["reason"]))


@dataclass(frozen=True)
class Published:
    """An answer that everybody may see.

    Args:
        dataset: what its data set is called.
        answer: the number of its entry.
        title: in public words.
        time: when it was published.
        by: who decided it.
        entry: the number of the entry that says so, which also states the budget and what was spent by then.
        stated: the number of the latest entry that states anew the budget and what is spent, if there is one.
        budget: of its data set, now; None where a service of before does not say it.
        spent: of that, now; likewise.
        raises: how the budget came to be what it is.

    """

    dataset: str
    answer: int
    title: str
    time: str
    by: str
    entry: int
    stated: int | None = None
    budget: Loss | None = None
    spent: Loss | None = None
    raises: tuple[Raise, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        figures = {"budget": self.budget and self.budget.to_dict(), "spent": self.spent and self.spent.to_dict()}
        return {**vars(self), **figures, "raises": [one.to_dict() for one in self.raises]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Published:
        """Return what ``to_dict`` wrote; what else the record says is left alone."""
        said = {name: record[name] for name in ("dataset", "answer", "title", "time", "by", "entry")}
        losses = (record.get(name) for name in ("budget", "spent"))
        budget, spent = (None if loss is None else Loss.from_dict(loss) for loss in losses)
        raises = tuple(Raise.from_dict(one) for one in record.get("raises", ()))
        return cls(**said, stated=record.get("stated"), budget=budget, spent=spent, raises=raises)


@dataclass(frozen=True)
class AskedFor:
    """A release that waits for others to agree, or did.

    Args:
        number: of the question; ``approve`` and ``decline`` take it.
        dataset: what the data set is called.
        analyst: who asks.
        what: in public words.
        loss: what it would be debited.
        digest: of the request.
        time: when it was asked.
        state: ``waiting``, ``approved``, ``declined``, ``used``, ``cancelled`` or ``expired``.
        agreed: who agreed.
        approvers: how many must.
        because: why it was declined.

    """

    number: int
    dataset: str
    analyst: str
    what: str
    loss: Loss
    digest: str
    time: str
    state: str
    agreed: tuple[str, ...]
    approvers: int
    because: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "loss": self.loss.to_dict(), "agreed": list(self.agreed)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> AskedFor:
        """Return what ``to_dict`` wrote."""
        said = {field.name: record[field.name] for field in fields(cls)}
        return cls(**{**said, "loss": Loss.from_dict(record["loss"]), "agreed": tuple(record["agreed"])})


def refuse_not_open(ledger: Ledger, account: Account) -> None:
    """Refuse what is asked of a data set that is not open.

    Args:
        ledger: the books.
        account: who asks, and of which data set.

    """
    stage = ledger.standings()[account.dataset].stage
    if stage != OPEN:
        raise DataSetNotOpen(account.dataset, stage)


def check_fits(ledger: Ledger, account: Account, loss: Loss, balance: Callable[[], Balance]) -> None:
    """Refuse a loss that would not be admitted now; nothing at all is not, where a data set is not open.

    Args:
        ledger: the books.
        account: who asks, and of which data set.
        loss: what would be debited.
        balance: tells what the account has spent, for the words of a refusal.

    """
    if ledger.would_admit(account, loss):
        return
    refuse_not_open(ledger, account)
    stands = balance()
    why = ledger.what_would_fit(account, loss)
    raise BudgetExceeded(loss, stands.spent, stands.budget, f"; {stands.left} is left; {why}")


def refuse_in_turn(ledger: Ledger, account: Account) -> None:
    """Refuse several debits for one question where others must agree to each.

    Args:
        ledger: the books.
        account: who asks, and of which data set.

    """
    if isinstance(ledger, GovernedBooks) and ledger.terms(account.dataset, account.analyst).approval is not None:
        rule = "without CLAMP(x, AUTO), since each of its releases would wait for an approval: find the range first"
        raise InvalidParameter("text", "AUTO", rule)


class GoverningVerbs:
    """What a curator decides while data sets are asked, by what each is called now."""

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The ledger, opened when first needed."""

    @abstractmethod
    def called(self, registered: str) -> str:
        """Return what a data set is called now."""

    @abstractmethod
    def standing(self, registered: str) -> Standing:
        """Return how a data set stands."""

    @abstractmethod
    def _known(self, dataset: str) -> str:
        """Return the name that a data set is registered with."""

    @property
    def books(self) -> GovernedBooks:
        """The ledger, as the place where single releases are decided about."""
        if not isinstance(self.ledger, GovernedBooks):
            raise InvalidParameter("ledger", self.ledger, "one of this package")
        return self.ledger

    def set_stage(self, dataset: str, stage: str, *, reason: str = "") -> None:
        """Open, pause or close a data set: something is debited to an open one alone.

        A draft can be priced. A paused one can be opened again; a closed one never. Answers that were stored stay.

        Args:
            dataset: what it is called.
            stage: "open", "paused" or "closed"; ``retire`` also removes the rows.
            reason: why, for the books.

        """
        self.books.set_stage(self._known(dataset), stage, reason=reason)

    def questions(self, dataset: str | None = None, *, is_waiting: bool = False) -> tuple[AskedFor, ...]:
        """Return the releases that others were asked to agree to, from the oldest.

        Args:
            dataset: what it is called; None for all.
            is_waiting: whether only those are wanted that nobody has settled.

        """
        found = self.books.questions(None if dataset is None else self._known(dataset))
        return tuple(self._asked_for(one) for one in found if not is_waiting or one.state == "waiting")

    def approve(self, question: int, *, by: str = OWNER) -> AskedFor:
        """Agree to a release, for seven days and one debit.

        Args:
            question: its number.
            by: who agrees; never the one who asks.

        """
        return self._asked_for(self.books.approve(question, by=by))

    def decline(self, question: int, *, by: str = OWNER, because: str = "") -> AskedFor:
        """Do not agree to a release.

        Args:
            question: its number.
            by: who declines.
            because: why, for the one who asks.

        """
        return self._asked_for(self.books.decline(question, by=by, because=because))

    def publish(self, name: str, *, dataset: str | None = None, title: str = "", by: str = OWNER) -> Published:
        """Let everybody see a stored answer; nothing is charged.

        Args:
            name: the number that ``history`` has, the key it was asked with, or the place that a receipt tells.
            dataset: what its data set is called, where the same key was used with several.
            title: in public words.
            by: who decided it.

        """
        receipt = self.answer(name, dataset=dataset).receipt
        self.books.publish(receipt.account.dataset, receipt.entry, by=by, title=title)
        return next(one for one in self.published(dataset) if one.answer == receipt.entry)

    def withdraw(self, name: str, *, dataset: str | None = None, because: str = "", by: str = OWNER) -> None:
        """Show a published answer no more; it was released, and nothing is given back.

        Args:
            name: as for ``publish``.
            dataset: as for ``publish``.
            because: why.
            by: who decided it.

        """
        receipt = self.answer(name, dataset=dataset).receipt
        self.books.withdraw(receipt.account.dataset, receipt.entry, by=by, because=because)

    def published(self, dataset: str | None = None) -> tuple[Published, ...]:
        """Return what everybody may see, from the oldest.

        Args:
            dataset: what it is called; None for all.

        """
        records = self.books.published(None if dataset is None else self._known(dataset))
        now = {name: self._stated(name) for name in {str(one["dataset"]) for one in records}}
        stated = self.books.statements() if records else {}
        return tuple(
            Published(
                *(self.called(one["dataset"]), one["about"], one["title"], one["time"], one["by"], one["seq"]),
                max(stated.get(one["dataset"], ()), default=None),
                *now[one["dataset"]],
            )
            for one in records
        )

    def state(self, dataset: str, *, by: str = OWNER) -> int:
        """State anew the budget of a data set and what is spent of it, for everybody; return the entry's number.

        Its receipt proves both as they are now. A publication states them as they were when it was published.

        Args:
            dataset: what it is called; something of it is published.
            by: who decided it.

        """
        return self.books.state(self._known(dataset), by=by)

    def published_entry(self, number: int) -> int:
        """Return the entry of which everybody may have the receipt, by the number of a published answer or its own.

        Args:
            number: of the entry of an answer that is published, or of one that states sums anew.

        """
        if any(number in numbers for numbers in self.books.statements().values()):
            return number
        for record in self.books.published():
            if record["about"] == number:
                return int(record["seq"])
        raise NotFound(f"no published answer has the number {number}")

    def published_answer(self, number: int) -> Receipt:
        """Return an answer that everybody may see, by the number of its entry."""
        for record in self.books.published():
            if record["about"] == number:
                found = self.ledger.find_answers(str(number), record["dataset"])
                return next(one for one in found if one.entry == number)
        raise NotFound(f"no published answer has the number {number}")

    def _stated(self, registered: str) -> tuple[Loss, Loss, tuple[Raise, ...]]:
        """Return what everybody is told of a data set with its published answers: budget, what is spent, raises."""
        raises = tuple(Raise.from_dict(one) for one in self.books.raises(registered))
        return *self.books.spent(registered), raises

    @abstractmethod
    def answer(self, name: str, *, dataset: str | None = None) -> Answered:
        """Return a stored answer once more."""

    def _asked_for(self, asked: Asked) -> AskedFor:
        one = asked.question
        return AskedFor(
            number=one.entry,
            dataset=self.called(one.dataset),
            analyst=one.analyst,
            what=one.description,
            loss=one.charge.loss(),
            digest=one.digest,
            time=one.time,
            state=asked.state,
            agreed=tuple(sorted(one.agreed)),
            approvers=asked.approvers,
            because=asked.because,
        )
