"""Playing again what was granted and decided: quotas with their terms, approvals, publications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dither.curator.ledger.admission import filter_at, limit_of, successor
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.approvals import ASKING, Question, later, take
from dither.curator.ledger.chain import canonical
from dither.curator.ledger.commands import paced
from dither.curator.ledger.raises import raised
from dither.curator.ledger.standing import beside
from dither.curator.ledger.terms import NOTHING, terms_of, with_terms
from dither.curator.ledger.transaction import Purse


class Broken(Exception):
    """An entry that the rules do not allow."""


def demand(holds: bool, rule: str) -> None:
    """Complain of an entry unless a rule holds.

    Args:
        holds: whether it does.
        rule: what is wrong where it does not.

    """
    if not holds:
        raise Broken(rule)


class Governed:
    """What was granted and decided, as the entries tell it."""

    def __init__(self) -> None:
        #: What the table of decisions must hold.
        self.rows: set[tuple[Any, ...]] = set()
        self._questions: dict[int, Question] = {}
        self._published: set[tuple[str, int]] = set()
        #: By data set, how its budget was raised so far.
        self.raises: dict[str, list[dict[str, Any]]] = {}
        #: The latest time of any entry.
        self._ever = ""
        #: The latest time since the first question: what has expired by then has expired for ever.
        self._latest = ""

    def check_quota(self, mine: Purse, quota: str, record: Mapping[str, Any]) -> None:
        """Demand that a new quota changes its figures and its terms, and nothing else.

        Args:
            mine: the quota before, and what is spent of it.
            quota: the text of the new one.
            record: its entry.

        """
        terms, before = terms_of(quota), terms_of(mine.limit)
        kept = canonical(successor(mine.limit, mine.spent, limit_of(quota)))
        is_kept = with_terms(beside(quota), NOTHING) == with_terms(beside(kept), NOTHING)
        demand(is_kept, "a quota says that something else came back")
        demand(not terms.is_ended, "a quota is set that has ended")
        allowance = terms.allowance
        if allowance is not None and allowance != before.allowance:
            at = self._time_of(record)
            # Allowances of before name no time of the ledger, and began by the clock.
            is_latest = "at" not in record or later(self._ever, at) == at
            is_begun = is_latest and (allowance.since, allowance.base) == (at, mine.kept)
            demand(is_begun, "an allowance begins at another time, or with other sums, than those of its entry")

    def check_debit(self, record: Mapping[str, Any], mine: Purse, charge: Amount, edition: int) -> None:
        """Demand that the terms of a quota let a charge be debited.

        Args:
            record: the debit.
            mine: the quota before it.
            charge: what was debited.
            edition: of the rows.

        """
        terms = terms_of(mine.limit)
        whose = record["dataset"], record["analyst"], record["digest"]
        mine_asked = [one for one in self._questions.values() if (one.dataset, one.analyst, one.digest) == whose]
        approval = terms.approval
        is_approved = approval is not None and any(
            one.covers(charge) and one.state(approval.approvers, self._latest, edition) == "approved"
            for one in mine_asked[-1:]
        )
        for one in mine_asked:
            one.used = record["seq"] if one.used is None else one.used
        demand(not terms.is_too_much(charge), "one release was debited more than its grant allows")
        pace = paced(mine, record["time"])
        if pace is not None and pace.limit is not None:
            counted = filter_at(pace.limit, pace.spent)
            fits = counted.usual.holds((pace.spent + charge).loss()) or counted.admits(charge.loss())
            demand(fits, "more was debited than the allowance of its time")
        demand(not terms.needs_approval(charge) or is_approved, "it was debited without the approval that it needs")

    def raised(self, dataset: str, record: Mapping[str, Any], before: str | None, after: str | None) -> None:
        """Take into account that an entry gave a data set a budget.

        Args:
            dataset: which.
            record: the entry.
            before: the text of the budget before it; None for none.
            after: and after it.

        """
        self.raises.setdefault(dataset, []).extend(raised(record, before, after))

    def see(self, record: Mapping[str, Any]) -> None:
        """Take the time of any entry into account: no clock that is set back brings back what has expired.

        Args:
            record: the entry, before it is judged.

        """
        self._ever = later(self._ever, str(record.get("time", "")))
        if self._latest:
            self._latest = later(self._latest, record["time"])

    def take(self, record: Mapping[str, Any], mine: Purse | None = None, edition: int = 1) -> None:
        """Take a question, an approval, a publication or a statement into account, if the rules allow it.

        Args:
            record: the entry.
            mine: the quota of whoever asks, where it is about a question.
            edition: of the rows.

        """
        kind, dataset = record["kind"], record["dataset"]
        if kind in ASKING:
            self.rows.add((record["seq"], dataset, kind, record["analyst"], record["digest"]))
            self._latest = later(self._latest, self._time_of(record))
            if kind == "ask":
                demand(record.get("edition", edition) == edition, "it is about other rows than those of its time")
            else:
                approval = None if mine is None else terms_of(mine.limit).approval
                self._check_answer(record, 1 if approval is None else approval.approvers, edition)
            take(self._questions, record)
            return
        self._latest = later(self._latest, record["time"])
        place = dataset, record["about"]
        self.rows.add((record["seq"], dataset, kind, "", str(record["about"])))
        if kind == "state":
            demand(any(whose == dataset for whose, _ in self._published), "nothing of its data set is published")
            return
        is_new = kind == "publish"
        demand((place in self._published) != is_new, "it is published already" if is_new else "it was not published")
        (self._published.add if is_new else self._published.remove)(place)

    def _time_of(self, record: Mapping[str, Any]) -> str:
        """Return the time of the ledger that an entry names; the clock's where it names none."""
        at: str = record.get("at", record["time"])
        # The clock's, or a later one that an entry has carried, and no other.
        is_of_ledger = later(at, self._ever) == self._ever and later(record["time"], at) == at
        demand(is_of_ledger, "it has another time than the ledger had")
        return at

    def _check_answer(self, record: Mapping[str, Any], approvers: int, edition: int) -> None:
        asked = self._questions.get(record["about"])
        demand(asked is not None, "there is no request for it")
        if asked is None:
            return
        named = asked.dataset, asked.analyst, asked.digest
        demand(named == (record["dataset"], record["analyst"], record["digest"]), "it is about another request")
        is_open = asked.state(approvers, self._latest, edition) in ("waiting", "approved")
        demand(is_open, "it was settled")
        if record["kind"] in ("approve", "decline"):
            demand(record["by"] != asked.analyst, "the analyst who asks agreed")
            demand(record["kind"] != "approve" or record["by"] not in asked.agreed, "it was settled")
        elif record["kind"] == "retract":
            demand(record["by"] in asked.agreed, "what was taken back was not agreed to")
