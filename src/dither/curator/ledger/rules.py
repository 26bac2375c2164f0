"""The ledger's rules for releases, over any database that has transactions.

Every change is one transaction that reads, decides and writes: nothing is checked first and done later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence

from dither.curator.ledger.admission import filter_at, limit_of, on_its_curve
from dither.curator.ledger.amounts import ZERO, Amount
from dither.curator.ledger.anchor import Memory
from dither.curator.ledger.approvals import MOST_WAITING
from dither.curator.ledger.chain import PROOF, answer_digest
from dither.curator.ledger.commands import Answer, Debit, Decision, Draw, Seal, paced, why_barred
from dither.curator.ledger.evidence import checked_answer
from dither.curator.ledger.holds import Hold
from dither.curator.ledger.interface import (
    MOST_ATTEMPTS,
    OWNER,
    WAIT_SECONDS,
    Account,
    Balance,
    Entry,
    Ledger,
    Receipt,
    Reservation,
    Stored,
    Verification,
    checked_name,
    checked_text,
    checked_wait,
)
from dither.curator.ledger.latest import latest_answered
from dither.curator.ledger.owners import limit_as_loss
from dither.curator.ledger.people import PeopleBooks
from dither.curator.ledger.replay import Replay
from dither.curator.ledger.request_effects import notice_debit, notice_private
from dither.curator.ledger.restore import contradiction
from dither.curator.ledger.returns import kept_of, returned_of, unused
from dither.curator.ledger.terms import terms_of
from dither.curator.ledger.transaction import Page, Purse, Request, moment
from dither.errors import (
    AllowanceExceeded,
    AnalystUnknown,
    ApprovalDeclined,
    ApprovalPending,
    BudgetExceeded,
    DataSetNotOpen,
    DataSetRetired,
    DitherError,
    InvalidParameter,
    KeyReused,
    LedgerCorrupted,
    LedgerUnavailable,
    NotFound,
    QuotaExceeded,
    ReleaseFailed,
    RequestCancelled,
    RequestSealed,
    RequestUnderWay,
)
from dither.lift.stored import LARGEST_ANSWER
from dither.privacy import ZCDP, ApproxDP, Filter, GaussianDP, Loss, PureDP
from dither.privacy.fitting import what_fits
from dither.privacy.losses import states_rho

#: An hour, and a keyed digest.
_PROOF = "([0-9]{1,12}:[0-9a-f]{64})?"
#: Both conditions: the first is that of an index, so that answered requests are not read.
_OPEN_DRAWS = "SELECT record FROM requests JOIN entries ON seq = drawn WHERE state <> 'answered' AND state = 'reserved'"
_STORED = "SELECT number, answer FROM changes, requests WHERE dataset = ? AND analyst = ? AND key = ?"


class Books(PeopleBooks):
    """A ledger in a database: budgets, quotas, releases, and what can be asked about them."""

    # Releases.

    def reserve(
        self,
        account: Account,
        key: str,
        request_digest: str,
        loss: Loss,
        *,
        description: str = "",
        wait: float = WAIT_SECONDS,
        resumes: bool = False,
    ) -> Reservation | Stored:
        """Debit ``loss`` durably, before the first random bit is drawn."""
        checked_name("key", key)
        checked_name("request_digest", request_digest)
        checked_text("description", description)
        debit = Debit(account, key, request_digest, Amount.of(loss), description, resumes)
        seconds = checked_wait(wait)
        # Another digest is another request: it is refused at once, whoever works on this one.
        hold = self._hold((account.dataset, account.analyst, key, request_digest), seconds)
        if hold is None or hold.was_awaited:
            notice_private()
        if hold is None:
            stored = self._stored(account, key, request_digest)
            if stored is None:
                raise RequestUnderWay(key, seconds)
            return stored
        try:
            stored = self._stored(account, key, request_digest) if hold.was_awaited else None
            if stored is None:
                return self._debit(debit, loss, hold)
        except BaseException:
            hold.release()
            raise
        hold.release()
        return stored

    def _debit(self, debit: Debit, loss: Loss, hold: Hold) -> Reservation | Stored:
        """Debit, or find what became of the request, as the one who holds it."""
        account, key, digest = debit.account, debit.key, debit.digest
        try:
            decision = self._ask(debit)
            charge = _otherwise(loss, decision)
            if charge is not None:
                decision = self._ask(debit._replace(charge=charge))
        except LedgerUnavailable:
            # What was answered can be told again even where nothing can be written.
            stored = self._stored(account, key, digest)
            if stored is None:
                raise
            hold.release()
            return stored
        if decision.kind == "reserved" and decision.charge is not None:
            debited = decision.charge.loss()
            place = decision.attempt, decision.entry, decision.hash
            held = Reservation(account, key, digest, debited, *place, proof=decision.proof, hold=hold)
            notice_debit(held)
            return held
        hold.release()
        if decision.kind == "answered":
            stored = self._stored(account, key, digest)
            if stored is None:
                raise LedgerCorrupted(self._where, "an answered request is gone")
            return stored
        raise self._refusal(decision, account, key, loss)

    def _refusal(self, decision: Decision, account: Account, key: str, loss: Loss | None = None) -> DitherError:
        """Return why nothing was done, now that whatever led to it is durable."""
        spent = kept_of(decision.limit, decision.charge or ZERO).loss
        limit = PureDP(0) if decision.limit is None else limit_of(decision.limit)
        match decision.kind:
            case "unknown":
                return NotFound(f"no data set is registered as {account.dataset!r:.80}")
            case "retired":
                return DataSetRetired(account.dataset)
            case "stranger":
                return AnalystUnknown(account.analyst, account.dataset)
            case "reused":
                return KeyReused(key)
            case "sealed":
                return RequestSealed(key, MOST_ATTEMPTS)
            case "drawn":
                return ReleaseFailed()
            case "dearer":
                rule = f"at most what key {key!r} was debited, {spent()}; a new key is a new request"
                return InvalidParameter("loss", loss, rule)
            case "budget":
                return BudgetExceeded(loss, spent(), limit, self._shortage(decision, account, loss))
            case "quota":
                return QuotaExceeded(loss, spent(), limit, account.analyst, self._shortage(decision, account, loss))
            case "draft" | "paused" | "closed":
                return DataSetNotOpen(account.dataset, decision.kind)
            case "most":
                most = terms_of(decision.limit).most
                if loss is None or most is None:
                    raise LedgerCorrupted(self._where, "a limit for one release is gone")
                return too_much(self, account, loss, most)
            case "allowance":
                return self._too_early(decision, account, loss)
            case "waiting":
                return ApprovalPending(account.dataset, decision.entry)
            case "declined":
                return ApprovalDeclined(account.dataset, decision.entry, self.question(decision.entry).because)
            case "crowded":
                rule = f"one of at most {MOST_WAITING} that wait for an approval: wait until some are decided"
                return InvalidParameter("request", key, rule)
            case "cancelled":
                return RequestCancelled(key)
            case _:
                return InvalidParameter("reservation", key, "one that this ledger holds")

    def _too_early(self, decision: Decision, account: Account, loss: Loss | None) -> DitherError:
        """Return that an allowance has no room yet, and when it has more."""
        now, purse = moment(self._clock), Purse(decision.limit, decision.charge or ZERO, 0)
        allowance, pace = terms_of(decision.limit).allowance, paced(purse, now)
        if allowance is None or pace is None:
            raise LedgerCorrupted(self._where, "an allowance is gone")
        told = limit_as_loss(pace)
        fits = "" if loss is None else f"; {self.what_would_fit(account, loss)}"
        return AllowanceExceeded(
            loss, pace.spent.loss(), told, account.analyst, str(allowance), allowance.more_from(now), fits
        )

    def _shortage(self, decision: Decision, account: Account, loss: Loss | None) -> str:
        """Return which figure of a limit is short, and what would fit it and all others that hold."""
        if decision.limit is None or loss is None:
            return ""
        others, most = self._limits(account)
        return filter_at(decision.limit, decision.charge or ZERO).shortage(loss, others, most)

    def _limits(self, account: Account) -> tuple[list[Filter], Loss | None]:
        """Return all that an account's releases must fit: budget, quota, allowance, and the most for one of them."""

        def work(page: Page) -> tuple[list[Filter], Loss | None]:
            purse, mine = page.dataset(account.dataset)[1], page.analyst(account)
            found = [one for one in (purse, mine, paced(mine, page.now)) if one is not None]
            return [filter_at(one.limit, one.spent) for one in found if one.limit is not None], terms_of(
                mine.limit
            ).most

        return self._look_closely(work)

    def _stored(self, account: Account, key: str, request_digest: str) -> Stored | None:
        """Return the answer that is stored for a request, if there is one; waits for no writer."""

        def work(page: Page) -> Stored | None:
            known = page.request(account, key)
            is_answer = known is not None and known.state == "answered" and known.digest == request_digest
            return Stored(self._receipt(page, account, key, known)) if known is not None and is_answer else None

        return self._look(work)

    def begin_draw(self, reservation: Reservation, *, proof: str = "") -> None:
        """Say durably that noise is about to be drawn for a request, once for ever."""
        if not isinstance(reservation, Reservation):
            raise InvalidParameter("reservation", reservation, "what reserve returned")
        if not (isinstance(proof, str) and re.fullmatch(_PROOF, proof)):
            raise InvalidParameter("proof", proof, "an hour and a keyed digest, or empty")
        account, key, digest = reservation.account, reservation.key, reservation.request_digest
        decision = self._ask(Draw(account, key, digest, reservation.entry, reservation.hash, proof))
        if decision.kind == "answered":
            raise InvalidParameter("reservation", key, "of a request that is not answered yet")
        if decision.kind != "drawing":
            raise self._refusal(decision, account, key)

    def complete(self, reservation: Reservation, answer: bytes, *, spent: Loss | None = None) -> Receipt:
        """Store the answer durably, before it is sent, with what it gives back."""
        if not isinstance(reservation, Reservation):
            raise InvalidParameter("reservation", reservation, "what reserve returned")
        if not (isinstance(answer, bytes) and len(answer) <= LARGEST_ANSWER):
            rule = f"at most {LARGEST_ANSWER} bytes"
            # The answer is not shown: until it is stored it is nobody's.
            raise InvalidParameter("answer", type(answer), rule)
        account, key, digest = reservation.account, reservation.key, reservation.request_digest
        returned = unused(Amount.of(reservation.loss), spent)
        decision = self._ask(Answer(account, key, digest, reservation.entry, reservation.hash, answer, returned))
        # Whatever was decided, there is nothing more to draw for.
        self.abandon(reservation)
        if decision.kind == "stored" and decision.charge is not None:
            loss, content = decision.charge.loss(), answer_digest(answer)
            return Receipt(self._id, account, key, digest, loss, decision.entry, decision.hash, content, answer)
        if decision.kind == "answered":
            stored = self._stored(account, key, digest)
            if stored is None:
                raise LedgerCorrupted(self._where, "an answered request is gone")
            return stored.receipt
        raise self._refusal(decision, account, key)

    def seal(self, reservation: Reservation) -> None:
        """Give up a request durably, for every caller."""
        if not isinstance(reservation, Reservation):
            raise InvalidParameter("reservation", reservation, "what reserve returned")
        account, key, digest = reservation.account, reservation.key, reservation.request_digest
        self._ask(Seal(account, key, digest, reservation.entry, reservation.hash))

    def open_proofs(self) -> tuple[str, ...]:
        """Return the proofs of all draws whose requests are neither answered nor sealed."""
        rows = self._look(lambda page: page.rows.all(_OPEN_DRAWS))
        return tuple(proof for proof in (json.loads(row[0]).get(PROOF) for row in rows) if proof)

    def abandon(self, reservation: Reservation) -> None:
        """Give up working on a request, so that whoever waits for it goes on at once."""
        if not isinstance(reservation, Reservation):
            raise InvalidParameter("reservation", reservation, "what reserve returned")
        if reservation.hold is not None:
            reservation.hold.release()

    def _receipt(self, page: Page, account: Account, key: str, known: Request) -> Receipt:
        answer, entry, digest, content = checked_answer(page, account, key, known)
        return Receipt(self._id, account, key, known.digest, known.charge.loss(), entry, digest, content, answer)

    def find_answers(self, name: str, dataset: str | None = None) -> tuple[Receipt, ...]:
        """Return the stored answers that a name stands for: an entry's number, a key, or a receipt's place."""
        wanted = _named(self._id, name)

        def work(page: Page) -> tuple[Receipt, ...]:
            found = {}
            for account, key in page.requests_called(*wanted):
                known = page.request(account, key)
                if known is not None and known.state == "answered" and dataset in (None, account.dataset):
                    found[known.reserved] = self._receipt(page, account, key, known)
            return tuple(found[entry] for entry in sorted(found))

        return self._look(work)

    def known_digest(self, account: Account, key: str) -> str | None:
        """Return the digest of the request that was debited to an account for a key, if one was."""

        def work(page: Page) -> str | None:
            known = page.request(account, key)
            return None if known is None else known.digest

        return self._look(work)

    def answers_that_begin(
        self, dataset: str, beginning: str, analysts: Collection[str] | None = None
    ) -> tuple[Receipt, ...]:
        """Return the stored answers whose keys begin so."""
        checked_name("beginning", beginning)
        last = beginning[:-1] + chr(ord(beginning[-1]) + 1)

        def work(page: Page) -> tuple[Receipt, ...]:
            found = []
            for account in page.analysts_of(dataset) if analysts is None else analysts:
                whose = Account(dataset, account)
                for key in page.keys_between(whose, beginning, last):
                    known = page.request(whose, key)
                    if known is not None and known.state == "answered":
                        found.append(self._receipt(page, whose, key, known))
            return tuple(found)

        return self._look(work)

    def latest_answered(
        self, account: Account, *, but: str, after: int = 0, most: int = 1000
    ) -> tuple[tuple[str, str, Amount], ...]:
        """Return key, digest and charge of an analyst's latest answers, without those whose keys begin so."""
        checked_name("but", but)
        keys = but, but[:-1] + chr(ord(but[-1]) + 1)
        return tuple(self._look(lambda page: latest_answered(page, account, keys, after, most)))

    def answers_called(
        self, dataset: str, keys: Sequence[str], analysts: Collection[str] | None = None
    ) -> tuple[Receipt, ...]:
        """Return the stored answers that have one of these keys, those of the first key first."""

        def work(page: Page) -> tuple[Receipt, ...]:
            whose = [Account(dataset, one) for one in (page.analysts_of(dataset) if analysts is None else analysts)]
            found = []
            for account, key in ((account, key) for key in keys for account in whose):
                known = page.request(account, key)
                if known is not None and known.state == "answered":
                    found.append(self._receipt(page, account, key, known))
            return tuple(found)

        return self._look(work)

    def stored_bytes(self, account: Account, key: str) -> tuple[int, bytes] | None:
        """Return how often something was decided, and the answer to a request as it is stored, in one short read.

        Whoever asks has had the answer from ``answers_called`` before, and compares: the chain is not asked here.

        Args:
            account: whose.
            key: the name of the request.

        """
        row = self._glance(_STORED, account.dataset, account.analyst, key)
        return None if row is None or row[1] is None else (int(row[0]), bytes(row[1]))

    # Looking.

    def balance(self, dataset: str, analyst: str | None = None) -> Balance:
        """Return what is spent and what is left."""
        checked_name("dataset", dataset)
        account = None if analyst is None else Account(dataset, analyst)

        def work(page: Page) -> Balance:
            unit, purse = page.dataset(dataset)
            mine = purse if account is None else page.analyst(account)
            left = purse.room() or PureDP(0)
            pace = None if mine is purse else paced(mine, page.now)
            for share in (None if mine is purse else mine.room(), None if pace is None else pace.room()):
                if share is not None and not left <= share:
                    left = share
            if why_barred(purse, mine, account or Account(dataset, OWNER)) is not None:
                left = ZCDP(0) if isinstance(left, ZCDP) else PureDP(0)
            waiting = page.waiting(dataset, analyst)
            reserved = [charge for state, charge in waiting if state == "reserved"]
            return Balance(
                dataset=dataset,
                analyst=analyst,
                unit=unit,
                budget=limit_as_loss(purse if mine.limit is None else mine),
                spent=_kept(page, purse, mine, account).loss(),
                reserved=sum(reserved, ZERO).loss(),
                left=left,
                releases=mine.releases,
                waiting=len(reserved),
                sealed=len(waiting) - len(reserved),
                most=None if account is None else terms_of(mine.limit).most,
            )

        return self._look_closely(work)

    def would_admit(self, account: Account, loss: Loss, times: int = 1) -> bool:
        """Whether releases of ``loss`` would be admitted now, that many of them one after another."""

        def work(page: Page) -> bool:
            purse, mine = page.dataset(account.dataset)[1], page.analyst(account)
            if why_barred(purse, mine, account) is not None or terms_of(mine.limit).is_too_much(Amount.of(loss)):
                return False
            total = loss if times == 1 else loss.times(times)
            pace = paced(mine, page.now)
            purses = (purse, mine) if pace is None else (purse, mine, pace)
            charges = [Amount.of(total), *(on_its_curve(total, purse.limit, purse.spent) for purse in purses)]
            return any(
                all(purse.admits(charge, self._certificates) for purse in purses)
                for charge in charges
                if charge is not None
            )

        return self._look_closely(work)

    def what_would_fit(self, account: Account, loss: Loss) -> str:
        """Return what would be admitted of the kind of a loss: the least that any limit of the account has room for."""
        limits, most = self._limits(account)
        return what_fits(limits[0], loss, limits[1:], most)

    def left_after(self, account: Account, loss: Loss) -> Loss | None:
        """Return the largest single release that would still fit after one of a loss; None where that does not fit."""
        limits, _ = self._limits(account)
        if not all(limit.admits(loss) for limit in limits):
            return None
        for limit in limits:
            limit.spend(loss)
        first, *others = (limit.room() for limit in limits)
        for room in others:
            first = first if first <= room else room
        return first

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all registered data sets, sorted."""
        return self._look(lambda page: tuple(sorted(str(row[0]) for row in page.rows.all("SELECT name FROM datasets"))))

    def entries(self, dataset: str | None = None, *, after: int = 0) -> Iterator[Entry]:
        """Yield every line, from the oldest, a thousand at a time."""
        lines = self._lines(dataset, after)
        while lines:
            for line in lines:
                yield _entry(self._where, *line)
            lines = self._lines(dataset, lines[-1][0])

    def entry(self, number: int) -> Entry | None:
        """Return one line by its number, if there is such."""
        row = self._glance("SELECT seq, record, hash FROM entries WHERE seq = ?", number)
        return None if row is None else _entry(self._where, *row)

    def first_entry(self, dataset: str) -> Entry | None:
        """Return the oldest line about a data set, if there is one."""
        row = self._glance("SELECT seq, record, hash FROM entries WHERE dataset = ? ORDER BY seq LIMIT 1", dataset)
        return None if row is None else _entry(self._where, *row)

    def debit_of(self, answered: int) -> int | None:
        """Return the number of the debit for which an answer was given, by the number of the answer's entry."""
        statement = "SELECT reserved FROM requests WHERE answered = ?"
        row = self._look(lambda page: page.rows.one(statement, answered))
        return None if row is None else int(row[0])

    def _lines(self, dataset: str | None, after: int) -> list[tuple[int, str, str]]:
        return self._look(lambda page: page.lines(dataset, after))

    def verify(self) -> Verification:
        """Walk the whole chain, play it again, and compare it with the sums, the answers and the anchor."""
        self._check_usable()
        # Read before the ledger, as on opening.
        memory = Memory() if self._anchor is None else self._anchor.read()

        def work(page: Page) -> Verification:
            again = Replay(page.ledger)
            again.walk(page)
            again.compare(page)
            again.compare_anchor(contradiction(page, memory))
            return Verification(
                ledger=page.ledger,
                entries=again.entries,
                datasets=len(again.datasets),
                releases=sum(purse.releases for _, purse in again.datasets.values()),
                head=page.hash,
                problems=(*self._damages(page.rows), *again.problems),
            )

        return self._look(work)


def _kept(page: Page, purse: Purse, mine: Purse, account: Account | None) -> Amount:
    """Return what stays spent of a data set, or by an analyst; one without a quota has no sum of what came back."""
    if account is None or mine.limit is not None or not returned_of(purse.limit) or mine.spent.epsilon is None:
        return mine.kept
    return Amount(max(0, mine.spent.epsilon - page.returned_by(account)), mine.spent.rho, mine.spent.delta)


def _otherwise(loss: Loss, decision: Decision) -> Amount | None:
    """Return how Gaussian noise may be debited that was refused by its rho, or was debited when it was first asked."""
    if decision.charge is None or not isinstance(loss, GaussianDP):
        return None
    if decision.kind in ("budget", "quota"):
        return on_its_curve(loss, decision.limit, decision.charge)
    debited = decision.charge.loss()
    # A debit that states a rho of its own did not pay for the curve.
    is_covered = (
        decision.kind == "dearer" and isinstance(debited, ApproxDP) and not states_rho(debited) and debited >= loss
    )
    return decision.charge if is_covered else None


def _named(ledger: str, name: str) -> tuple[str, int | None]:
    """Return a key that a name may be, and the number of an entry, if it may be one."""
    checked_name("name", name)
    place = name.split(":")
    if len(place) == 3 and place[0] == ledger and place[1].isdecimal():
        return name, int(place[1])
    is_number = name.isascii() and name.isdecimal() and len(name) < 19
    return name, int(name) if is_number else None


def too_much(ledger: Ledger, account: Account, loss: Loss, most: Loss) -> InvalidParameter:
    """Return that a loss is more than a grant allows for one release, and what would fit where that is less.

    Args:
        ledger: the books.
        account: whose release.
        loss: what it would lose.
        most: what the grant allows.

    """
    fits = "" if ledger.would_admit(account, most) else f"; {ledger.what_would_fit(account, loss)}"
    return InvalidParameter("loss", str(loss), f"at most {most} for one release, as your grant says{fits}")


def _entry(place: str, seq: int, text: str, digest: str) -> Entry:
    """Return a line as the export shows it."""
    try:
        record = json.loads(text)
        charge = record.get("charge")
        loss = None if charge is None else Amount.from_dict(charge).loss()
        dataset, analyst, key = (record.get(name) for name in ("dataset", "analyst", "key"))
        return Entry(seq, record["kind"], record["time"], dataset, analyst, key, loss, record, digest)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise LedgerCorrupted(place, f"entry {seq} cannot be read; verify says more") from None
