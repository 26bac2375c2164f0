"""What is decided about single releases: whether others agree to one, and whether everybody may see its answer.

Every decision is an entry of the chain. A table says which entries are about what, so that a debit need not read all of
them; what they say is read from the chain, where each must be linked to the one before it, and ``verify`` compares.
Requests that are waited for elsewhere (``jobs``) and declarations are kept beside: they decide about no loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from dither.curator.ledger.approvals import ASKING, Question, questions_of
from dither.curator.ledger.evidence import checked_answer
from dither.curator.ledger.interface import Account, checked_name, checked_text
from dither.curator.ledger.owners import OwnersBooks
from dither.curator.ledger.raises import raises_of
from dither.curator.ledger.standing import standing_of
from dither.curator.ledger.terms import moment_of, terms_of
from dither.curator.ledger.transaction import Page, Purse, moment
from dither.errors import InvalidParameter, KeyReused, NotFound


@dataclass(frozen=True)
class Asked:
    """A release that others must agree to, as whoever decides sees it.

    Args:
        question: what was asked, and what was said to it.
        state: ``waiting``, ``approved``, ``declined``, ``used``, ``cancelled`` or ``expired``.
        approvers: how many must agree.

    """

    question: Question
    state: str
    approvers: int

    @property
    def because(self) -> str:
        """Why it was declined, as whoever declined it said."""
        return "" if self.question.declined is None else self.question.declined[2]


class JobRow(NamedTuple):
    """A request that somebody waits for elsewhere, as the table has it."""

    dataset: str
    analyst: str
    key: str
    id: str
    digest: str
    asked: str
    state: str
    problem: str | None
    since: str


_JOB = "SELECT dataset, analyst, key, id, digest, asked, state, problem, since FROM jobs"
_KEEP_JOB = (
    "INSERT INTO jobs (dataset, analyst, key, id, digest, asked, state, problem, since) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (dataset, analyst, key) DO UPDATE SET "
    "id = excluded.id, digest = excluded.digest, asked = excluded.asked, state = excluded.state, "
    "problem = excluded.problem, since = excluded.since"
)
#: For how long it is known what became of a job; its answer stays for ever.
KEPT = timedelta(days=30)
#: Whoever was told that a request is cancelled is not debited because somebody asked how far it has come.
_KEEP_UNLESS_CANCELLED = f"{_KEEP_JOB} WHERE jobs.state <> 'cancelled'"


class GovernedBooks(OwnersBooks):
    """The part of a ledger that says what was decided about single releases."""

    # Approvals.

    def questions(self, dataset: str | None = None, *, analyst: str | None = None) -> tuple[Asked, ...]:
        """Return what others were asked to agree to, from the oldest.

        Args:
            dataset: the registered name; None for all.
            analyst: who asked; None for everybody.

        """

        def work(page: Page) -> tuple[Asked, ...]:
            found = questions_of(page.all_decisions(dataset, ASKING)).values()
            return tuple(_asked(page, one) for one in found if analyst in (None, one.analyst))

        return self._look_closely(work)

    def question(self, entry: int) -> Asked:
        """Return one question, by the number of its entry."""
        for one in self.questions():
            if one.question.entry == entry:
                return one
        raise NotFound(f"entry {entry} asks for no approval")

    def approve(self, entry: int, *, by: str) -> Asked:
        """Agree to a release: to its digest and its loss, for seven days, and for one debit.

        Args:
            entry: the number of the question.
            by: who agrees; never the one who asks.

        """
        return self._answer_question("approve", entry, by)

    def decline(self, entry: int, *, by: str, because: str = "") -> Asked:
        """Do not agree to a release, or no longer.

        Args:
            entry: the number of the question.
            by: who declines; never the one who asks.
            because: why, for the one who asks.

        """
        return self._answer_question("decline", entry, by, because=checked_text("because", because))

    def _answer_question(self, kind: str, entry: int, by: str, **fields: Any) -> Asked:
        checked_name("by", by)

        def work(page: Page) -> Asked:
            found = questions_of(page.all_decisions(None, ASKING)).get(entry)
            if found is None:
                raise NotFound(f"entry {entry} asks for no approval")
            if by == found.analyst:
                raise InvalidParameter("by", by, "another than the one who asks")
            state = _asked(page, found).state
            if state not in ("waiting", "approved") or (kind == "approve" and by in found.agreed):
                said = "was agreed to by them already" if by in found.agreed and state != "used" else f"is {state}"
                raise InvalidParameter("question", entry, f"one that waits; this one {said}")
            whose = found.dataset, found.analyst
            about: dict[str, Any] = {"about": entry, "digest": found.digest, "by": by, "at": page.latest}
            page.decide(kind, whose, found.digest, **about, **fields)
            again = questions_of(page.decisions(*whose, found.digest))[entry]
            return _asked(page, again)

        return self._change(kind, work)

    # Publications.

    def publish(self, dataset: str, answer: int, *, by: str, title: str = "") -> int:
        """Let everybody see an answer; return the entry's number.

        The entry states digest and loss, the budget and what was spent of it by then, and every raise of the budget.

        Args:
            dataset: the registered name.
            answer: the number of the answer's entry.
            by: who decided it.
            title: in public words.

        """
        checked_text("title", title)
        checked_name("by", by)

        def work(page: Page) -> int:
            unit, purse = page.dataset(dataset)
            known = _answered(page, dataset, answer)
            if known is None:
                raise NotFound(f"entry {answer} is no answer about {dataset}")
            if _is_published(page, dataset, answer):
                raise InvalidParameter("answer", answer, "one that is not published")
            stated = stated_of(unit, purse) | known | {"raises": raises_of(page, dataset)}
            return page.decide("publish", (dataset, ""), str(answer), about=answer, by=by, title=title, stated=stated)

        return self._change("publish", work)

    def withdraw(self, dataset: str, answer: int, *, by: str, because: str = "") -> int:
        """Show a published answer no more; nothing is given back. Return the entry's number.

        Args:
            dataset: the registered name.
            answer: the number of the answer's entry.
            by: who decided it.
            because: why.

        """
        checked_text("because", because)
        checked_name("by", by)

        def work(page: Page) -> int:
            if not _is_published(page, dataset, answer):
                raise NotFound(f"entry {answer} is no published answer about {dataset}")
            return page.decide("withdraw", (dataset, ""), str(answer), about=answer, by=by, because=because)

        return self._change("withdraw", work)

    def state(self, dataset: str, *, by: str) -> int:
        """State anew the budget of a data set of which something is published, and what is spent of it by now.

        Returns the number of the entry that says so.

        Args:
            dataset: the registered name.
            by: who decided it.

        """
        checked_name("by", by)

        def work(page: Page) -> int:
            unit, purse = page.dataset(dataset)
            if not _published(page, dataset):
                raise NotFound(f"no answer about {dataset} is published")
            return page.decide("state", (dataset, ""), "", about="", by=by, stated=stated_of(unit, purse))

        return self._change("state", work)

    def statements(self) -> dict[str, list[int]]:
        """Return the numbers of the entries that state sums anew, by data set, of those with something published."""

        def work(page: Page) -> dict[str, list[int]]:
            shown = {record["dataset"] for record in _published(page, None)}
            found = [one for one in page.all_decisions(None, ("state",)) if one["dataset"] in shown]
            return {name: [one["seq"] for one in found if one["dataset"] == name] for name in shown}

        return self._look(work)

    def published(self, dataset: str | None = None) -> tuple[dict[str, Any], ...]:
        """Return the entries of all publications that stand, from the oldest.

        Args:
            dataset: the registered name; None for all.

        """
        return self._look(lambda page: _published(page, dataset))

    # Requests that are waited for elsewhere.

    def keep_job(self, job: JobRow, *, reopens: bool = False) -> None:
        """Store a request and bind its key to what it asks; rows of requests of long ago are deleted.

        Args:
            job: the request.
            reopens: whether one that was cancelled is asked anew; else it stays cancelled.

        Raises:
            KeyReused: the key is bound to another request, debited or not.

        """
        now, keep = job._replace(since=moment(self._clock)), _KEEP_JOB if reopens else _KEEP_UNLESS_CANCELLED

        def work(page: Page) -> None:
            known = page.request(Account(job.dataset, job.analyst), job.key)
            row = page.job(Account(job.dataset, job.analyst), job.key)
            digests = [*([] if known is None else [known.digest]), *([] if row is None else [row[0]])]
            # What was debited under a key decides; a row that contradicts it is replaced.
            if digests and digests[0] != job.digest:
                raise KeyReused(job.key)
            page.rows.do(keep, *now)
            before = moment(lambda: self._clock() - KEPT.total_seconds())
            if moment_of(before) is not None:
                page.rows.do("DELETE FROM jobs WHERE since < ?", before)

        self._change("job", work)

    def job(self, dataset: str, analyst: str, name: str, *, is_key: bool = False) -> JobRow | None:
        """Return a request that is waited for, by its name or its key; by its key alone where that is what is known."""
        where = f"{_JOB} WHERE dataset = ? AND analyst = ? AND"

        def work(page: Page) -> tuple[Any, ...] | None:
            # A key may look like the name of another request: a name is looked for first.
            found = None if is_key else page.rows.one(f"{where} id = ?", dataset, analyst, name)
            return found or page.rows.one(f"{where} key = ?", dataset, analyst, name)

        row = self._look(work)
        return None if row is None else JobRow(*row)

    def binding(self, account: Account, key: str) -> tuple[str, str] | None:
        """Return the digest to which a key is bound, and the state of its row of ``jobs``; None where the key is free.

        Args:
            account: whose key.
            key: the name of a request.

        """

        def work(page: Page) -> tuple[str, str] | None:
            known, job = page.request(account, key), page.job(account, key)
            return job if known is None else (known.digest, "" if job is None else job[1])

        return self._look(work)

    def fail_job(self, job: JobRow, problem: str) -> None:
        """Say that a request failed, and what is told of it; a key that was only bound is free again.

        A key is only bound where nobody was told the name of a job (``asked`` is empty) and nothing was debited.

        Args:
            job: the request.
            problem: as plain data, in JSON.

        """
        whose = job.dataset, job.analyst, job.key
        change = (
            "UPDATE jobs SET state = 'failed', problem = ? "
            "WHERE dataset = ? AND analyst = ? AND key = ? AND digest = ? AND state <> 'cancelled'"
        )
        free = "DELETE FROM jobs WHERE dataset = ? AND analyst = ? AND key = ? AND digest = ? AND asked = ''"

        def work(page: Page) -> None:
            if page.request(Account(job.dataset, job.analyst), job.key) is None:
                page.rows.do(free, *whose, job.digest)
            # The key may have been freed and bound to another body meanwhile, at another server.
            page.rows.do(change, problem, *whose, job.digest)

        self._change("job", work)

    def cancel_job(self, job: JobRow) -> bool:
        """Let a request never be debited; return False where it was already."""

        def work(page: Page) -> bool:
            if page.request(Account(job.dataset, job.analyst), job.key) is not None:
                return False
            change = "UPDATE jobs SET state = 'cancelled' WHERE dataset = ? AND analyst = ? AND key = ? AND digest = ?"
            page.rows.do(change, job.dataset, job.analyst, job.key, job.digest)
            _cancel_question(page, job)
            return True

        return self._change("job", work)

    def progress(self, account: Account, key: str, digest: str) -> tuple[str | None, Asked | None]:
        """Return how far a request has come: its state in the books, if it was debited, and whether it waits.

        Args:
            account: whose.
            key: its name.
            digest: what it asks.

        """

        def work(page: Page) -> tuple[str | None, Asked | None]:
            known = page.request(account, key)
            if known is not None:
                return known.state, None
            asked = list(questions_of(page.decisions(account.dataset, account.analyst, digest)).values())
            return None, _asked(page, asked[-1]) if asked else None

        return self._look(work)

    # What machines that share a ledger have in common: the key that signs, and declarations.

    def signing(self) -> tuple[str, str] | None:
        """Return the public key that signs for this ledger, and by what the salts of its leaves are known."""
        row = self._glance("SELECT key, salts FROM signing")
        return None if row is None else (str(row[0]), str(row[1]))

    def sign_with(self, key: str, salts: str, *, instead_of: str | None) -> None:
        """Say which key signs from now on; nothing changes where another one signs than was thought.

        Args:
            key: its public half.
            salts: by what the salts of leaves are known.
            instead_of: the key that signed so far; None for none.

        """

        def work(page: Page) -> None:
            known = page.rows.one("SELECT key FROM signing")
            if known is None and instead_of is None:
                page.rows.do("INSERT INTO signing (one, key, salts) VALUES (1, ?, ?)", key, salts)
            elif known is not None and known[0] == instead_of:
                page.rows.do("UPDATE signing SET key = ?, salts = ?", key, salts)

        self._change("signing", work)

    def declare(self, dataset: str, declared: str) -> None:
        """Keep what is declared about a data set."""
        keep = (
            "INSERT INTO declarations (dataset, declared) VALUES (?, ?) "
            "ON CONFLICT (dataset) DO UPDATE SET declared = excluded.declared"
        )
        self._change("declare", lambda page: page.rows.do(keep, dataset, declared))

    def declared(self) -> dict[str, str]:
        """Return what is declared about data sets, by registered name."""
        statement = "SELECT dataset, declared FROM declarations ORDER BY dataset"
        return {str(row[0]): str(row[1]) for row in self._look(lambda page: page.rows.all(statement))}


def _asked(page: Page, question: Question) -> Asked:
    account = Account(question.dataset, question.analyst)
    question.used = page.debit_after(account, question.digest, question.entry)
    approval = terms_of(page.analyst(account).limit).approval
    approvers = 1 if approval is None else approval.approvers
    edition = standing_of(page.dataset(question.dataset)[1].limit).edition
    return Asked(question, question.state(approvers, page.latest, edition), approvers)


def retract_all(page: Page, by: str) -> None:
    """Take back what somebody has agreed to and nothing was debited for yet: they are no longer one who may.

    Args:
        page: the transaction in which they cease to be.
        by: who.

    """
    for one in questions_of(page.all_decisions(None, ASKING)).values():
        if by in one.agreed and _asked(page, one).state in ("waiting", "approved"):
            page.decide("retract", (one.dataset, one.analyst), one.digest, about=one.entry, digest=one.digest, by=by)


def _cancel_question(page: Page, job: JobRow) -> None:
    """Let a question that a job has asked wait no more."""
    for one in questions_of(page.decisions(job.dataset, job.analyst, job.digest)).values():
        if one.key == job.key and _asked(page, one).state in ("waiting", "approved"):
            page.decide("cancel", (one.dataset, one.analyst), one.digest, about=one.entry, digest=one.digest)


def stated_of(unit: str, purse: Purse) -> dict[str, Any]:
    """Return what is stated of a data set: by a publication, and anew by a statement."""
    return {"budget": purse.terms, "spent": purse.spent.to_dict(), "releases": purse.releases, "unit": unit}


def _answered(page: Page, dataset: str, answer: int) -> dict[str, Any] | None:
    """Return the digest of an answer, what was debited for it and the edition of its rows, as the chain has them."""
    row = page.rows.one("SELECT analyst, key FROM requests WHERE dataset = ? AND answered = ?", dataset, answer)
    if row is None:
        return None
    account, key = Account(dataset, str(row[0])), str(row[1])
    known = page.request(account, key)
    if known is None:
        return None
    found = {"answer": checked_answer(page, account, key, known)[3], "loss": known.charge.to_dict()}
    edition = page.linked(known.reserved)[0].get("edition")
    return found if edition is None else {**found, "edition": edition}


def _published(page: Page, dataset: str | None) -> tuple[dict[str, Any], ...]:
    """Return the entries of all publications that stand, of one data set or of all."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for record in page.all_decisions(dataset, ("publish", "withdraw")):
        found.pop((record["dataset"], record["about"]), None)
        if record["kind"] == "publish":
            found[record["dataset"], record["about"]] = record
    return tuple(found.values())


def _is_published(page: Page, dataset: str, answer: int) -> bool:
    kinds = [record["kind"] for record in page.decisions(dataset, "", str(answer))]
    return bool(kinds) and kinds[-1] == "publish"
