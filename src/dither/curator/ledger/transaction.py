"""One transaction on a ledger's tables: what it reads, what it writes, and what the anchor is told of it.

A page may hold several requests. What they write is kept in memory, where later ones of the same page read it, and
``flush`` sends it to the database once: an account that ten requests debit is read once and written once.

Every statement is a constant; names, keys and texts are only ever parameters.
"""

from __future__ import annotations

import functools
import itertools
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from dither.curator.ledger.admission import Certificates, filter_at, limit_of
from dither.curator.ledger.amounts import UNITS, ZERO, Amount
from dither.curator.ledger.anchor import Holding, Memory
from dither.curator.ledger.approvals import later, latest_of
from dither.curator.ledger.chain import answer_text, canonical, debit_text, first_link, link
from dither.curator.ledger.interface import Account
from dither.curator.ledger.returns import kept_of, returned_of, returning
from dither.curator.ledger.rows import Rows
from dither.curator.ledger.standing import standing_of
from dither.curator.ledger.terms import terms_of
from dither.errors import DitherError, LedgerCorrupted, NotFound
from dither.privacy import ZCDP, Loss, PureDP

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Purse(NamedTuple):
    """A limit and what is spent of it: a data set's budget, or an analyst's quota, if there is one.

    ``limit`` is the canonical text of a loss, as it is stored.
    """

    limit: str | None
    spent: Amount
    releases: int

    @property
    def terms(self) -> Any:
        """The limit as plain data."""
        return None if self.limit is None else json.loads(self.limit)

    def admits(self, charge: Amount, certificates: Certificates) -> bool:
        """Whether the charge still fits."""
        return self.limit is None or certificates.admits(self.limit, self.spent, charge)

    def pay(self, charge: Amount) -> Purse:
        """Return the purse with one more release."""
        return Purse(self.limit, self.spent + charge, self.releases + 1)

    @property
    def kept(self) -> Amount:
        """What stays spent: all debits, less what came back."""
        return kept_of(self.limit, self.spent)

    def take_back(self, units: int) -> Purse:
        """Return the purse after a release gave units of epsilon back; the same where its limit takes none."""
        return self._replace(limit=returning(self.limit, units))

    def room(self) -> Loss | None:
        """Return the largest single loss, in whole units, that would be admitted; None without a limit."""
        if self.limit is None:
            return None
        counted = filter_at(self.limit, self.spent)
        room = counted.room()
        kind = ZCDP if isinstance(room, ZCDP) else PureDP
        figure = room.rho if isinstance(room, ZCDP) else room.pure or Fraction(0)
        units = figure.numerator * UNITS // figure.denominator
        while units:
            loss = kind(Fraction(units, UNITS))
            if counted.admits(Amount.of(loss).loss()):
                return loss
            # The search for the room ends a little below the limit; a charge rounded up may need a little more.
            units -= 1 + units // 2**40
        return kind(0)


def limit_text(loss: Loss) -> str:
    """Return the text under which a limit is stored and compared."""
    return canonical(loss.to_dict())


class Request(NamedTuple):
    """What the tables know of one request."""

    digest: str
    reserved: int
    #: The hash of the entry ``reserved``, or None where that entry is missing.
    hash: str | None
    charge: Amount
    attempts: int
    state: str
    answered: int | None
    answer: bytes | None
    #: The entry that says that noise is drawn for it, if it is.
    drawn: int | None = None


def guarded(
    read: Callable[Concatenate[Page, Parameters], Result],
) -> Callable[Concatenate[Page, Parameters], Result]:
    """Turn a row that makes no sense into LedgerCorrupted: the tables hold only what this package wrote."""

    @functools.wraps(read)
    def checked(page: Page, /, *values: Parameters.args, **named: Parameters.kwargs) -> Result:
        try:
            return read(page, *values, **named)
        except LedgerCorrupted:
            raise
        except (DitherError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            raise LedgerCorrupted(page.rows.place, f"a row cannot be read ({type(error).__name__})") from None

    return checked


_ENTER = "INSERT INTO entries (seq, dataset, record, hash) VALUES (?, ?, ?, ?)"
_KEEP_DATASET = (
    "INSERT INTO datasets (name, unit, budget, epsilon, rho, delta, releases) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET budget = excluded.budget, epsilon = excluded.epsilon, "
    "rho = excluded.rho, delta = excluded.delta, releases = excluded.releases"
)
_KEEP_ANALYST = (
    "INSERT INTO analysts (dataset, analyst, quota, epsilon, rho, delta, releases) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (dataset, analyst) DO UPDATE SET quota = excluded.quota, "
    "epsilon = excluded.epsilon, rho = excluded.rho, delta = excluded.delta, releases = excluded.releases"
)
_RESERVE = (
    "INSERT INTO requests (dataset, analyst, key, digest, reserved, epsilon, rho, delta, attempts, state) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 'reserved')"
)
_RENEW = "UPDATE requests SET attempts = attempts + 1 WHERE dataset = ? AND analyst = ? AND key = ?"
_DRAW = "UPDATE requests SET drawn = ? WHERE dataset = ? AND analyst = ? AND key = ?"
_SEAL = "UPDATE requests SET state = 'sealed' WHERE dataset = ? AND analyst = ? AND key = ?"
_ANSWER = (
    "UPDATE requests SET state = 'answered', answered = ?, answer = ? WHERE dataset = ? AND analyst = ? AND key = ?"
)


_DECIDED = "SELECT entry, dataset, kind, analyst, subject FROM decisions"
_DECIDE = "INSERT INTO decisions (entry, dataset, kind, analyst, subject) VALUES (?, ?, ?, ?, ?)"


#: The hash of the entry is not read here.
_SOME_REQUESTS = (
    "SELECT dataset, analyst, key, digest, reserved, NULL, epsilon, rho, delta, attempts, state, answered, answer, "
    "drawn FROM requests {}ORDER BY dataset, analyst, key LIMIT ?"
)


class Expected(Protocol):
    """What the accounts of a ledger must hold."""

    datasets: dict[str, tuple[str, Purse]]
    analysts: dict[Account, Purse]


class Page:
    """Reads and writes within one transaction, and gathers what the anchor should remember of it.

    Nothing is written before ``flush``, which whoever makes a page calls last.

    Args:
        rows: the database.
        clock: tells the time that entries carry.
        expected: what accounts must hold; those that are read are compared with it.

    """

    def __init__(self, rows: Rows, clock: Callable[[], float], expected: Expected | None = None) -> None:
        self.rows = rows
        self.memory = Memory()
        self._expected = expected
        self._clock = clock
        self._moment: str | None = None
        head = rows.one("SELECT ledger, seq, hash, latest FROM head")
        if head is None:
            raise LedgerCorrupted(rows.place, "its head is missing")
        self.ledger, self.seq, self.hash, self._latest = str(head[0]), int(head[1]), str(head[2]), str(head[3])
        # What was read or written in this transaction.
        self._datasets: dict[str, tuple[str, Purse]] = {}
        self._analysts: dict[Account, Purse] = {}
        self._requests: dict[tuple[Account, str], Request] = {}
        self._decided: list[tuple[tuple[str, str, str], dict[str, Any]]] = []
        # What is still to be written.
        self._new_entries: list[tuple[int, str | None, str, str]] = []
        self._changed_datasets: set[str] = set()
        self._changed_analysts: set[Account] = set()
        self._changes: list[tuple[str, tuple[Any, ...]]] = []

    def enter(self, kind: str, *, seq: int | None = None, **fields: Any) -> int:
        """Append an entry to the chain and return its number."""
        self.seq = self.seq + 1 if seq is None else seq
        text = canonical({"seq": self.seq, "kind": kind, "time": self.now} | fields)
        self._append(fields.get("dataset"), text)
        return self.seq

    def enter_debit(self, account: Account, key: str, digest: str, charge: Amount, words: str, edition: int) -> None:
        """Append the entry of a debit for an answer about an edition of the rows: what ``enter`` would, sooner."""
        self.seq += 1
        whose = account.dataset, account.analyst
        text = debit_text(self.seq, self.now, whose, key, digest, charge.to_dict(), words, edition)
        self._append(account.dataset, text)

    def enter_answer(self, account: Account, key: str, answer: str) -> None:
        """Append the entry of an answer with this digest, likewise."""
        self.seq += 1
        text = answer_text(self.seq, self.now, (account.dataset, account.analyst), key, answer)
        self._append(account.dataset, text)

    @property
    def now(self) -> str:
        """The time that entries of this transaction carry."""
        if self._moment is None:
            self._moment = moment(self._clock)
        return self._moment

    @property
    def latest(self) -> str:
        """The latest time that any entry has carried, this transaction's included: no clock sets it back."""
        if not self._latest:
            # The head of an earlier version did not say it: read once, and kept with the next entry.
            self._latest = latest_of(text for _, text, _ in self.chain())
        return later(self._latest, self.now)

    def _append(self, dataset: str | None, text: str) -> None:
        self.hash = link(self.hash, text)
        self._new_entries.append((self.seq, dataset, text, self.hash))
        self.memory.hashes[self.seq] = self.hash

    def flush(self) -> None:
        """Write what was entered and changed, each account once, in the order that the tables' references ask for."""
        if self._new_entries:
            self.rows.each(_ENTER, self._new_entries)
            self.rows.do("UPDATE head SET seq = ?, hash = ?, latest = ?", self.seq, self.hash, self.latest)
            self._new_entries = []
        for name in sorted(self._changed_datasets):
            unit, purse = self._datasets[name]
            self.rows.do(_KEEP_DATASET, name, unit, purse.limit, *purse.spent.texts(), purse.releases)
            self.memory.learn_dataset(name, self._holding(purse, unit=unit))
        purses = [(account, self._analysts[account]) for account in self._changed_analysts]
        if purses:
            self.rows.each(
                _KEEP_ANALYST,
                [(one.dataset, one.analyst, mine.limit, *mine.spent.texts(), mine.releases) for one, mine in purses],
            )
        for account, mine in purses:
            self.memory.learn_analyst(account.dataset, account.analyst, self._holding(mine))
        for statement, changes in itertools.groupby(self._changes, key=operator.itemgetter(0)):
            self.rows.each(statement, [values for _, values in changes])
        self._changed_datasets, self._changed_analysts, self._changes = set(), set(), []

    def dataset(self, name: str) -> tuple[str, Purse]:
        """Return the unit and the purse of a data set."""
        found = self.find_dataset(name)
        if found is None:
            raise NotFound(f"no data set is registered as {name!r:.80}")
        return found

    def find_dataset(self, name: str) -> tuple[str, Purse] | None:
        """Return the unit and the purse of a data set, if it is registered."""
        known = self._datasets.get(name)
        return self._read_dataset(name) if known is None else known

    @guarded
    def _read_dataset(self, name: str) -> tuple[str, Purse] | None:
        row = self.rows.one("SELECT unit, budget, epsilon, rho, delta, releases FROM datasets WHERE name = ?", name)
        found = None if row is None else _dataset_of(row)
        if self._expected is not None and found != self._expected.datasets.get(name):
            rule = f"the sums, unit or budget of data set {name!r} are not those of its entries"
            raise LedgerCorrupted(self.rows.place, rule)
        if found is not None:
            self._datasets[name] = found
        return found

    def analyst(self, account: Account) -> Purse:
        """Return the purse of an analyst, empty and without a quota where there is none yet."""
        known = self._analysts.get(account)
        return self._read_analyst(account) if known is None else known

    @guarded
    def _read_analyst(self, account: Account) -> Purse:
        row = self.rows.one(
            "SELECT quota, epsilon, rho, delta, releases FROM analysts WHERE dataset = ? AND analyst = ?",
            account.dataset,
            account.analyst,
        )
        found = None if row is None else _purse_of(row)
        if self._expected is not None and found != self._expected.analysts.get(account):
            raise LedgerCorrupted(self.rows.place, f"the sums or quota of {account} are not those of its entries")
        if found is None:
            return Purse(None, ZERO, 0)
        self._analysts[account] = found
        return found

    @guarded
    def accounts(self) -> tuple[dict[str, tuple[str, Purse]], dict[Account, Purse]]:
        """Return all accounts as the tables have them: of data sets, and of analysts."""
        datasets = self.rows.all("SELECT name, unit, budget, epsilon, rho, delta, releases FROM datasets")
        analysts = self.rows.all("SELECT dataset, analyst, quota, epsilon, rho, delta, releases FROM analysts")
        return (
            {str(row[0]): _dataset_of(row[1:]) for row in datasets},
            {Account(row[0], row[1]): _purse_of(row[2:]) for row in analysts},
        )

    def changed(self) -> tuple[dict[str, tuple[str, Purse]], dict[Account, Purse]]:
        """Return the accounts that this transaction changed, as it leaves them; to be called after ``flush``."""
        accounts = [Account(*names) for names in self.memory.analysts]
        return (
            {name: self._datasets[name] for name in self.memory.datasets},
            {account: self._analysts[account] for account in accounts},
        )

    def keep_dataset(self, name: str, unit: str, purse: Purse) -> None:
        """Change the account of a data set."""
        self._datasets[name] = unit, purse
        self._changed_datasets.add(name)

    def keep_analyst(self, account: Account, purse: Purse) -> None:
        """Change the account of an analyst."""
        self._analysts[account] = purse
        self._changed_analysts.add(account)

    def _holding(self, purse: Purse, **terms: str) -> Holding:
        return Holding(self.seq, {"limit": purse.limit} | terms, purse.spent, purse.releases)

    def request(self, account: Account, key: str) -> Request | None:
        """Return what is known of a request, if it was ever made."""
        known = self._requests.get((account, key))
        return self._read_request(account, key) if known is None else known

    @guarded
    def _read_request(self, account: Account, key: str) -> Request | None:
        row = self.rows.one(
            "SELECT requests.digest, reserved, hash, epsilon, rho, delta, attempts, state, answered, answer, drawn "
            "FROM requests LEFT JOIN entries ON seq = reserved "
            "WHERE requests.dataset = ? AND analyst = ? AND key = ?",
            account.dataset,
            account.analyst,
            key,
        )
        return None if row is None else _request_of(row)

    def all_requests(self, most: int = 1000) -> Iterator[tuple[tuple[str, str], str, Request]]:
        """Yield every request in the tables, a few at a time: dataset and analyst, key, and what is known of it."""
        last: tuple[str, ...] = ()
        while rows := self._some_requests(last, most):
            for dataset, analyst, key, *row in rows:
                yield (dataset, analyst), key, self._checked_request(row)
            last = tuple(rows[-1][:3])

    def _some_requests(self, after: tuple[str, ...], most: int) -> list[tuple[Any, ...]]:
        if not after:
            return self.rows.all(_SOME_REQUESTS.format(""), most)
        return self.rows.all(_SOME_REQUESTS.format("WHERE (dataset, analyst, key) > (?, ?, ?) "), *after, most)

    @guarded
    def _checked_request(self, row: Sequence[Any]) -> Request:
        return _request_of(row)

    def requests_called(self, key: str, entry: int | None) -> list[tuple[Account, str]]:
        """Return the requests that have a key, or whose debit or answer is an entry."""
        statement = "SELECT dataset, analyst, key FROM requests WHERE key = ?"
        rows = list(self.rows.all(statement, key))
        if entry is not None:
            statement = "SELECT dataset, analyst, key FROM requests WHERE reserved = ? OR answered = ?"
            rows += self.rows.all(statement, entry, entry)
        return [(Account(str(row[0]), str(row[1])), str(row[2])) for row in rows]

    def analysts_of(self, dataset: str) -> list[str]:
        """Return who has an account with a data set."""
        return [str(row[0]) for row in self.rows.all("SELECT analyst FROM analysts WHERE dataset = ?", dataset)]

    def keys_between(self, account: Account, first: str, last: str) -> list[str]:
        """Return the keys of an analyst from one on, up to another."""
        statement = "SELECT key FROM requests WHERE dataset = ? AND analyst = ? AND key >= ? AND key < ?"
        return [str(row[0]) for row in self.rows.all(statement, account.dataset, account.analyst, first, last)]

    def hash_of(self, seq: int) -> str | None:
        """Return the hash of an entry."""
        row = self.rows.one("SELECT hash FROM entries WHERE seq = ?", seq)
        if row is not None:
            return str(row[0])
        return next((digest for number, _, _, digest in self._new_entries if number == seq), None)

    def reserve(self, account: Account, key: str, digest: str, charge: Amount) -> None:
        """Make a new request, whose entry was just made."""
        values = (account.dataset, account.analyst, key, digest, self.seq, *charge.texts())
        self._changes.append((_RESERVE, values))
        self._requests[account, key] = Request(digest, self.seq, self.hash, charge, 1, "reserved", None, None)

    def renew(self, account: Account, key: str, known: Request) -> None:
        """Count one more attempt."""
        self._changes.append((_RENEW, (account.dataset, account.analyst, key)))
        self._requests[account, key] = known._replace(attempts=known.attempts + 1)

    def draw(self, account: Account, key: str, known: Request) -> None:
        """Say that noise is drawn for a request, as the entry that was just made does."""
        self._changes.append((_DRAW, (self.seq, account.dataset, account.analyst, key)))
        self._requests[account, key] = known._replace(drawn=self.seq)

    def seal(self, account: Account, key: str, known: Request) -> None:
        """Give a request up for ever."""
        self._changes.append((_SEAL, (account.dataset, account.analyst, key)))
        self._requests[account, key] = known._replace(state="sealed")

    def answer(self, account: Account, key: str, known: Request, answer: bytes) -> None:
        """Store the answer, whose entry was just made."""
        self._changes.append((_ANSWER, (self.seq, answer, account.dataset, account.analyst, key)))
        self._requests[account, key] = known._replace(state="answered", answered=self.seq, answer=answer)

    @guarded
    def waiting(self, dataset: str, analyst: str | None) -> list[tuple[str, Amount]]:
        """Return the state and the charge of every request without an answer."""
        statement = "SELECT state, epsilon, rho, delta FROM requests WHERE dataset = ? AND state <> 'answered'"
        if analyst is None:
            rows = self.rows.all(statement, dataset)
        else:
            rows = self.rows.all(statement + " AND analyst = ?", dataset, analyst)
        return [(str(row[0]), Amount.from_texts(*row[1:])) for row in rows]

    @guarded
    def returned_by(self, account: Account) -> int:
        """Return what all releases of an analyst gave back, in units of epsilon; reads the data set's entries."""
        statement = "SELECT record FROM entries WHERE dataset = ? AND record LIKE ?"
        rows = self.rows.all(statement, account.dataset, '%"kind":"return","seq":%')
        records = [json.loads(row[0]) for row in rows]
        return sum(int(record["epsilon"]) for record in records if record["analyst"] == account.analyst)

    def unanswered(self) -> list[tuple[Account, str, Request]]:
        """Return every request that waits for its answer, of all data sets."""
        rows = self.rows.all("SELECT dataset, analyst, key FROM requests WHERE state = 'reserved' ORDER BY reserved")
        waiting = [(Account(row[0], row[1]), str(row[2])) for row in rows]
        found = [(account, key, self.request(account, key)) for account, key in waiting]
        return [(account, key, known) for account, key, known in found if known is not None]

    # What was decided about single releases: which entries say so is kept in a table, what they say in the chain.

    def decide(self, kind: str, account: tuple[str, str], subject: str, **fields: Any) -> int:
        """Enter a decision about a release, or a question that one is needed.

        Args:
            kind: of the entry.
            account: the data set, and the analyst who asks; no analyst where it is about nobody in particular.
            subject: what it is about: the digest of a request, or the number of an answer's entry.
            fields: what else the entry says.

        """
        dataset, analyst = account
        whose: dict[str, Any] = {"dataset": dataset, "analyst": analyst} if analyst else {"dataset": dataset}
        number = self.enter(kind, **whose, **fields)
        self._changes.append((_DECIDE, (number, dataset, kind, analyst, subject)))
        record = {"seq": number, "kind": kind, "time": self.now} | whose | fields
        self._decided.append(((dataset, analyst, subject), record))
        return number

    @guarded
    def decisions(self, dataset: str, analyst: str, subject: str) -> list[dict[str, Any]]:
        """Return what the chain says was decided about one subject, from the oldest."""
        statement = f"{_DECIDED} WHERE dataset = ? AND analyst = ? AND subject = ? ORDER BY entry"
        found = [self._decision(row) for row in self.rows.all(statement, dataset, analyst, subject)]
        return found + [record for place, record in self._decided if place == (dataset, analyst, subject)]

    @guarded
    def all_decisions(self, dataset: str | None, kinds: Sequence[str]) -> list[dict[str, Any]]:
        """Return what the chain says was decided, of one data set or of all, from the oldest."""
        rows = self.rows.all(f"{_DECIDED} ORDER BY entry")
        return [self._decision(row) for row in rows if dataset in (None, row[1]) and row[2] in kinds]

    def decided(self) -> list[tuple[Any, ...]]:
        """Return the table of decisions: entry, data set, kind, analyst, and what each is about."""
        return self.rows.all(_DECIDED)

    def _decision(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return what the entry of a decision says, if the table says no other."""
        record, _ = self.linked(int(row[0]))
        subject = record["digest"] if "analyst" in record else str(record["about"])
        if (record["dataset"], record["kind"], record.get("analyst", ""), subject) != tuple(row[1:]):
            raise LedgerCorrupted(self.rows.place, "the table of decisions contradicts the entries")
        return record

    def linked(self, seq: int) -> tuple[dict[str, Any], str]:
        """Return what an entry says, and its hash, if it is linked to the one before it."""
        statement = "SELECT seq, record, hash FROM entries WHERE seq <= ? ORDER BY seq DESC LIMIT 2"
        rows = self.rows.all(statement, seq)
        before = rows[1][2] if len(rows) > 1 else first_link(self.ledger)
        if not rows or rows[0][0] != seq or link(before, rows[0][1]) != rows[0][2]:
            raise LedgerCorrupted(self.rows.place, f"entry {seq} is missing or was changed")
        found: dict[str, Any] = json.loads(rows[0][1])
        return found, str(rows[0][2])

    def debit_after(self, account: Account, digest: str, entry: int) -> int | None:
        """Return the first debit of a request with this digest that was made after an entry, if there is one."""
        statement = "SELECT reserved FROM requests WHERE dataset = ? AND analyst = ? AND digest = ? AND reserved > ?"
        rows = self.rows.all(statement, account.dataset, account.analyst, digest, entry)
        found = [int(row[0]) for row in rows]
        for (whose, _), known in self._requests.items():
            if whose == account and known.digest == digest and known.reserved > entry:
                found.append(known.reserved)
        return min(found, default=None)

    def job(self, account: Account, key: str) -> tuple[str, str] | None:
        """Return what a request asks that is waited for under a key, as a digest, and its state, if there is one."""
        statement = "SELECT digest, state FROM jobs WHERE dataset = ? AND analyst = ? AND key = ?"
        row = self.rows.one(statement, account.dataset, account.analyst, key)
        return None if row is None else (str(row[0]), str(row[1]))

    def whole_memory(self) -> Memory:
        """Return what an anchor that knows nothing should learn: the head, and every account."""
        memory = Memory()
        if self.seq:
            memory.learn(self.seq, self.hash)
        datasets, analysts = self.accounts()
        for name, (unit, purse) in datasets.items():
            memory.learn_dataset(name, self._holding(purse, unit=unit))
        for account, purse in analysts.items():
            memory.learn_analyst(account.dataset, account.analyst, self._holding(purse))
        return memory

    def lines(self, dataset: str | None, after: int, most: int = 1000) -> list[tuple[int, str, str]]:
        """Return the next entries after a number: number, text and hash of each."""
        if dataset is None:
            statement = "SELECT seq, record, hash FROM entries WHERE seq > ? ORDER BY seq LIMIT ?"
            rows = self.rows.all(statement, after, most)
        else:
            statement = "SELECT seq, record, hash FROM entries WHERE dataset = ? AND seq > ? ORDER BY seq LIMIT ?"
            rows = self.rows.all(statement, dataset, after, most)
        return [(row[0], row[1], row[2]) for row in rows]

    def hashes(self, after: int) -> dict[int, str]:
        """Return the hashes of all entries after a number."""
        rows = self.rows.all("SELECT seq, hash FROM entries WHERE seq > ?", after)
        return {int(row[0]): str(row[1]) for row in rows}

    def is_written(self, account: Account, key: str) -> bool:
        """Whether this very transaction made or changed a request."""
        return (account, key) in self._requests

    def entry_before(self, seq: int) -> tuple[int, str] | None:
        """Return number and hash of the last entry below a number, if there is one."""
        row = self.rows.one("SELECT seq, hash FROM entries WHERE seq < ? ORDER BY seq DESC LIMIT 1", seq)
        return None if row is None else (int(row[0]), str(row[1]))

    def chain(self, after: int = 0) -> Iterator[tuple[int, str, str]]:
        """Yield all entries after a number, a few at a time."""
        last = after
        while lines := self.lines(None, last):
            yield from lines
            last = lines[-1][0]


def _request_of(row: Sequence[Any]) -> Request:
    digest, reserved, link_hash, epsilon, rho, delta, attempts, state, answered, answer, drawn = row
    return Request(
        str(digest),
        int(reserved),
        link_hash,
        Amount.from_texts(epsilon, rho, delta),
        int(attempts),
        str(state),
        answered,
        None if answer is None else bytes(answer),
        None if drawn is None else int(drawn),
    )


def _dataset_of(row: Sequence[Any]) -> tuple[str, Purse]:
    limit_of(row[1])
    standing_of(row[1])
    returned_of(row[1])
    return str(row[0]), Purse(row[1], Amount.from_texts(*row[2:5]), int(row[5]))


def _purse_of(row: Sequence[Any]) -> Purse:
    if row[0] is not None:
        limit_of(row[0])
        returned_of(row[0])
        terms_of(row[0])
    return Purse(row[0], Amount.from_texts(*row[1:4]), int(row[4]))


def moment(clock: Callable[[], float]) -> str:
    """Return the time of day for people. Nothing depends on it, so that a clock may be as wrong as it likes."""
    try:
        return datetime.fromtimestamp(clock(), UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return "unknown"
