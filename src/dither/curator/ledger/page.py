"""One transaction on a ledger's tables: what it reads, what it writes, and what the anchor is told of it.

Every statement is a constant; names, keys and texts are only ever parameters.
"""

from __future__ import annotations

import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Concatenate, ParamSpec, TypeVar

from dither.curator.ledger.admission import Certificates, filter_at, limit_of
from dither.curator.ledger.amounts import UNITS, Amount
from dither.curator.ledger.anchor import Holding, Memory
from dither.curator.ledger.chain import canonical, link
from dither.curator.ledger.interface import Account
from dither.errors import DitherError, LedgerCorrupted, UnknownDataset
from dither.privacy import ZCDP, Loss, PureDP

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Rows(ABC):
    """A database inside a transaction; placeholders are question marks."""

    #: Where the database is, for messages.
    place: str

    @abstractmethod
    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return every row that a query gives."""

    @abstractmethod
    def do(self, statement: str, *values: Any) -> None:
        """Run a statement that gives no rows."""

    def one(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row, if there is any."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None


@dataclass(frozen=True)
class Purse:
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
        return replace(self, spent=self.spent + charge, releases=self.releases + 1)

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
    return canonical(loss.to_json())


@dataclass(frozen=True)
class Request:
    """What the tables know of one request."""

    digest: str
    reserved: int
    charge: Amount
    attempts: int
    state: str
    answered: int | None
    answer: bytes | None


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


class Page:
    """Reads and writes within one transaction, and gathers what the anchor should remember of it."""

    def __init__(self, rows: Rows, clock: Callable[[], float]) -> None:
        self.rows = rows
        self.memory = Memory()
        self._clock = clock
        head = rows.one("SELECT ledger, seq, hash FROM head")
        if head is None:
            raise LedgerCorrupted(rows.place, "its head is missing")
        self.ledger, self.seq, self.hash = str(head[0]), int(head[1]), str(head[2])

    def enter(self, kind: str, *, seq: int | None = None, **fields: Any) -> int:
        """Append an entry to the chain and return its number."""
        self.seq = self.seq + 1 if seq is None else seq
        text = canonical({"seq": self.seq, "kind": kind, "time": moment(self._clock)} | fields)
        self.hash = link(self.hash, text)
        self.rows.do(
            "INSERT INTO entries (seq, dataset, record, hash) VALUES (?, ?, ?, ?)",
            self.seq,
            fields.get("dataset"),
            text,
            self.hash,
        )
        self.rows.do("UPDATE head SET seq = ?, hash = ?", self.seq, self.hash)
        self.memory.learn(self.seq, self.hash)
        return self.seq

    def dataset(self, name: str) -> tuple[str, Purse]:
        """Return the unit and the purse of a data set."""
        found = self.find_dataset(name)
        if found is None:
            raise UnknownDataset(name)
        return found

    @guarded
    def find_dataset(self, name: str) -> tuple[str, Purse] | None:
        """Return the unit and the purse of a data set, if it is registered."""
        row = self.rows.one("SELECT unit, budget, epsilon, rho, delta, releases FROM datasets WHERE name = ?", name)
        if row is None:
            return None
        limit_of(row[1])
        return str(row[0]), Purse(row[1], Amount.from_texts(*row[2:5]), int(row[5]))

    @guarded
    def analyst(self, account: Account) -> Purse:
        """Return the purse of an analyst, empty and without a quota where there is none yet."""
        row = self.rows.one(
            "SELECT quota, epsilon, rho, delta, releases FROM analysts WHERE dataset = ? AND analyst = ?",
            account.dataset,
            account.analyst,
        )
        if row is None:
            return Purse(None, Amount(0, 0, 0), 0)
        if row[0] is not None:
            limit_of(row[0])
        return Purse(row[0], Amount.from_texts(*row[1:4]), int(row[4]))

    def keep_dataset(self, name: str, unit: str, purse: Purse) -> None:
        """Write the account of a data set."""
        self.rows.do(
            "INSERT INTO datasets (name, unit, budget, epsilon, rho, delta, releases) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET budget = excluded.budget, epsilon = excluded.epsilon, "
            "rho = excluded.rho, delta = excluded.delta, releases = excluded.releases",
            name,
            unit,
            purse.limit,
            *purse.spent.texts(),
            purse.releases,
        )
        self.memory.learn_dataset(name, self._holding(purse, unit=unit))

    def keep_analyst(self, account: Account, purse: Purse) -> None:
        """Write the account of an analyst."""
        self.rows.do(
            "INSERT INTO analysts (dataset, analyst, quota, epsilon, rho, delta, releases) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (dataset, analyst) DO UPDATE SET quota = excluded.quota, "
            "epsilon = excluded.epsilon, rho = excluded.rho, delta = excluded.delta, releases = excluded.releases",
            account.dataset,
            account.analyst,
            purse.limit,
            *purse.spent.texts(),
            purse.releases,
        )
        self.memory.learn_analyst(account.dataset, account.analyst, self._holding(purse))

    def _holding(self, purse: Purse, **terms: str) -> Holding:
        return Holding(self.seq, {"limit": purse.limit} | terms, purse.spent, purse.releases)

    @guarded
    def request(self, account: Account, key: str) -> Request | None:
        """Return what is known of a request, if it was ever made."""
        row = self.rows.one(
            "SELECT digest, reserved, epsilon, rho, delta, attempts, state, answered, answer FROM requests "
            "WHERE dataset = ? AND analyst = ? AND key = ?",
            account.dataset,
            account.analyst,
            key,
        )
        if row is None:
            return None
        answer = None if row[8] is None else bytes(row[8])
        return Request(str(row[0]), int(row[1]), Amount.from_texts(*row[2:5]), int(row[5]), str(row[6]), row[7], answer)

    def hash_of(self, seq: int) -> str | None:
        """Return the hash of an entry."""
        row = self.rows.one("SELECT hash FROM entries WHERE seq = ?", seq)
        return None if row is None else str(row[0])

    def reserve(self, account: Account, key: str, digest: str, charge: Amount) -> None:
        """Write a new request, whose entry was just made."""
        self.rows.do(
            "INSERT INTO requests (dataset, analyst, key, digest, reserved, epsilon, rho, delta, attempts, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 'reserved')",
            account.dataset,
            account.analyst,
            key,
            digest,
            self.seq,
            *charge.texts(),
        )

    def renew(self, account: Account, key: str) -> None:
        """Count one more attempt."""
        self.rows.do(
            "UPDATE requests SET attempts = attempts + 1 WHERE dataset = ? AND analyst = ? AND key = ?",
            account.dataset,
            account.analyst,
            key,
        )

    def seal(self, account: Account, key: str) -> None:
        """Give a request up for ever."""
        self.rows.do(
            "UPDATE requests SET state = 'sealed' WHERE dataset = ? AND analyst = ? AND key = ?",
            account.dataset,
            account.analyst,
            key,
        )

    def answer(self, account: Account, key: str, answer: bytes) -> None:
        """Store the answer, whose entry was just made."""
        self.rows.do(
            "UPDATE requests SET state = 'answered', answered = ?, answer = ? "
            "WHERE dataset = ? AND analyst = ? AND key = ?",
            self.seq,
            answer,
            account.dataset,
            account.analyst,
            key,
        )

    @guarded
    def waiting(self, dataset: str, analyst: str | None) -> list[tuple[str, Amount]]:
        """Return the state and the charge of every request without an answer."""
        statement = "SELECT state, epsilon, rho, delta FROM requests WHERE dataset = ? AND state <> 'answered'"
        if analyst is None:
            rows = self.rows.all(statement, dataset)
        else:
            rows = self.rows.all(statement + " AND analyst = ?", dataset, analyst)
        return [(str(row[0]), Amount.from_texts(*row[1:])) for row in rows]

    def whole_memory(self) -> Memory:
        """Return what an anchor that knows nothing should learn: the head, and every account."""
        memory = Memory()
        if self.seq:
            memory.learn(self.seq, self.hash)
        for (name,) in self.rows.all("SELECT name FROM datasets"):
            unit, purse = self.dataset(name)
            memory.learn_dataset(name, self._holding(purse, unit=unit))
        for dataset, analyst in self.rows.all("SELECT dataset, analyst FROM analysts"):
            memory.learn_analyst(dataset, analyst, self._holding(self.analyst(Account(dataset, analyst))))
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

    def chain(self, after: int = 0) -> Iterator[tuple[int, str, str]]:
        """Yield all entries after a number, a few at a time."""
        last = after
        while lines := self.lines(None, last):
            yield from lines
            last = lines[-1][0]


def moment(clock: Callable[[], float]) -> str:
    """Return the time of day for people. Nothing depends on it, so that a clock may be as wrong as it likes."""
    try:
        return datetime.fromtimestamp(clock(), UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return "unknown"
