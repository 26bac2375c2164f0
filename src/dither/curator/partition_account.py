"""Parts of a public partition, asked one after the other in a session: a parallel account that is paid for at once.

What all parts may lose together is debited when the account is opened, before anything is asked. Each question is then
a line of the account's book and a request of its own, debited nothing. The line, with what the question may lose, is
durable before the ledger is asked: so the account outlives its process, and whoever opens it again finds no more left
than there is. In the ledger the request is called by the number of its line, which can have one question and one draw:
of two copies of a book, whichever comes second with another line is refused from there on. A line that the ledger does
not know, because a process died between both or the ledger was restored, stays taken and is never drawn. All questions
are about the same rows: other rows end the account.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakKeyDictionary, WeakValueDictionary

from dither.curator.access import (
    Run,
    charge,
    check_affordable,
    check_declared,
    claim,
    curator_of,
    place_in_books,
    rows_of_session,
)
from dither.curator.editions import mark_of_rows
from dither.curator.ledger import Receipt
from dither.curator.ledger.interface import checked_name
from dither.curator.long_lived import Handle, LongLived
from dither.curator.long_lived_handles import AskedByPart, Question
from dither.curator.request import Request
from dither.curator.streams.book import PlainBook
from dither.data import wire
from dither.data.engines import Engine
from dither.errors import DitherError, HandleMisuse, InvalidParameter, KeyReused
from dither.exact import Number, probability
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER
from dither.lift.trusted import checked_class
from dither.mechanisms import Budget, converse
from dither.privacy import Filter, Loss, PureDP
from dither.publish.queries.adaptive_parts import AdaptiveParts, OpenPartition, PartQuestion, check_fixed
from dither.publish.queries.answer import plan_query
from dither.publish.queries.parts import query_of_part
from dither.publish.queries.present import present
from dither.publish.queries.query import Query
from dither.publish.queries.rehearsal import rehearse
from dither.publish.queries.result import QueryResult
from dither.verbs.parts import parts_again

if TYPE_CHECKING:
    from dither.curator.session import Session

#: What is debited for a question: it was paid for when the account was opened.
_FREE: Final = PureDP(0)
_OTHER_BOOK: Final = "another copy of its book has gone on from here; open another account"
_OTHER_ROWS: Final = "its rows, or the release of their engine, are not those that it was opened on; open another one"
#: Rows that are given as frames are known by the engine that has read them, and end with it.
_frames: WeakKeyDictionary[Engine, str] = WeakKeyDictionary()


class PartsBook(PlainBook):
    """The book of an account: which part each question was about, and what it may have lost."""

    what: ClassVar[str] = "account"


@dataclass(frozen=True)
class PlannedPart:
    """A question about one part, planned from public facts and not yet asked.

    Args:
        request: as the ledger compares it.
        question: the part, and the planned answer.
        level: of the intervals.

    """

    request: Request
    question: PartQuestion
    level: Fraction

    @property
    def loss(self) -> Loss:
        """What it takes from the account of its part."""
        return self.question.answer.loss(1)


class PartsInTurn(AskedByPart, Handle[PartsBook]):
    """What may still be asked about each part.

    Guarantee: data sets one unit apart lose ``loss`` over all questions, whatever is asked of which part.

    Args:
        name: the caller's name for it.
        session: who asks, and of which data set.
        mechanism: the parts and what each may lose.
        book: what was asked so far.
        place: where the charge is written down.

    """

    uncopied = "parts cannot be copied or pickled: two copies would spend one account twice"

    def __init__(self, name: str, session: Session, mechanism: AdaptiveParts, book: PartsBook, place: str) -> None:
        super().__init__(name, book, place)
        self._session, self._mechanism = session, mechanism
        #: The questions that were planned here, by identity: one that a caller put together could say another price.
        self._planned: WeakValueDictionary[int, PlannedPart] = WeakValueDictionary()

    @property
    def loss(self) -> Loss:
        """What all questions together lose."""
        return self._mechanism.loss(1)

    @property
    def partition(self) -> OpenPartition:
        """The parts, and the rows that are split."""
        return self._mechanism.partition

    @property
    def asked(self) -> int:
        """The number of questions so far."""
        return self._here().frozen

    def __repr__(self) -> str:
        return f"<PartsInTurn {self}>"

    def __str__(self) -> str:
        rooms = zip(self.labels, self._accounts(), strict=True)
        left = ", ".join(f"{label}: {account.room()}" for label, account in rooms)
        return f"{self.name}, {self.loss} for all; left in {left}"

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about the account, as plain data."""
        return {
            "name": self.name,
            "parts": wire.encode(self.partition.parts),
            "each": self._mechanism.each.to_dict(),
            "loss": self.loss.to_dict(),
            "unit": str(self._mechanism.distance),
            "asked": self.asked,
            "left": [one.room().to_dict() for one in self._accounts()],
            "receipt": self.receipt,
        }

    def left(self, label: str) -> Loss:
        """Return the largest question about a part that still fits."""
        place = self.partition.place(label)
        return self._accounts()[place].room()

    def _ask(self, label: str, question: Question, loss: Loss, key: str | None, how: Mapping[str, Any]) -> QueryResult:
        receipt = self.carry_out(self.planned(label, question, loss, **how), uuid.uuid4().hex if key is None else key)
        return QueryResult.stored(receipt.answer, place_in_books(self._session, receipt))

    def planned(
        self,
        label: str,
        question: Question,
        loss: Loss,
        *,
        noise: str = "auto",
        confidence: Number = "0.95",
    ) -> PlannedPart:
        """Return a question as it would be asked, from public facts alone.

        Args:
            label: which part.
            question: makes the query of its rows, or the query itself.
            loss: what the answer may lose of the part's account.
            noise: "laplace", "gaussian", or "auto" for whichever errs less.
            confidence: the level of the intervals.

        """
        session, partition = self._session, self.partition
        check_declared(session)
        level = probability("confidence", confidence, open_below=True)
        partition.place(label)
        if callable(question):
            question = query_of_part(partition, label, question)
        checked_class("question", question, Query)
        answer = plan_query(question, loss, noise=noise, quantiles="tree")
        rehearse(answer, confidence=level)
        record = {"of": self.name, "label": label, "query": wire.encode(question), "noise": noise}
        words = f"a question about the part {label} of {self.name}"
        request = Request(session.dataset.name, "part", {**record, "confidence": str(level)}, loss, words)
        planned = PlannedPart(request, PartQuestion(label, answer), level)
        self._planned[id(planned)] = planned
        return planned

    def carry_out(self, planned: PlannedPart, key: str) -> Receipt:
        """Ask a question under a key, or find the answer that is stored for the key.

        Args:
            planned: the question, as ``planned`` returned it.
            key: the caller's name for it.

        """
        if self._planned.get(id(planned)) is not planned:
            raise InvalidParameter("planned", type(planned).__name__, "a question that this account has planned")
        book, session, question = self._here(), self._session, planned.question
        if book.only_read:
            raise HandleMisuse(f"the account {self.name} was opened to be read only")
        checked_name("key", key)
        lines = list(book.numbers())
        number = self._line_of(lines, key, planned)
        if number is None:
            number = self._write(lines, key, planned)
        others = [_taken(one) for place, one in enumerate(lines) if place != number]

        def answered(opened: Engine) -> Any:
            self._check_rows(opened)
            return self._resumed(opened, others).ask(question)

        def stored(out: Any) -> bytes:
            shown = present(question.answer, out, confidence=planned.level)
            return shown.stored_within(LARGEST_ANSWER)[1].encode()

        run = Run(planned.request, _FREE, self._mechanism, stored, answered=answered)
        try:
            return charge(session, run, _line_key(self.name, number))
        except KeyReused:
            raise LONG_LIVED.unavailable(self.name, _OTHER_BOOK) from None

    def stored(self, planned: PlannedPart, key: str) -> Receipt | None:
        """Return the answer that is stored for a question under a key, if there is one.

        Args:
            planned: the question.
            key: the caller's name for it.

        """
        number, account = self._line_of(list(self._here().numbers()), key, planned), self._session._account
        if number is None:
            return None
        called = (_line_key(self.name, number),)
        found = curator_of(self._session).ledger.answers_called(account.dataset, called, [account.analyst])
        return next((one for one in found if one.request_digest == planned.request.digest), None)

    def _line_of(self, lines: list[Any], key: str, planned: PlannedPart) -> int | None:
        """Return the line of a question that was asked before under a key, as the ledger knows it too."""
        named = [place for place, one in enumerate(lines) if one["key"] == key]
        if not named:
            return None
        if lines[named[-1]]["digest"] != planned.request.digest:
            raise KeyReused(key)
        return named[-1] if self._is_claimed(named[-1], lines[named[-1]]) else None

    def _write(self, lines: list[Any], key: str, planned: PlannedPart) -> int:
        """Write a new question down, having refused what can be refused, and return the number of its line."""
        book, session, question = self._here(), self._session, planned.question
        check_affordable(session, _FREE)
        with rows_of_session(session) as engine:
            self._check_rows(engine)
            for aggregation in question.answer.aggregations():
                engine.prepare(aggregation)
            # What does not fit, or is about other rows, is refused before it is written down.
            self._resumed(engine, [_taken(one) for one in lines]).check(question)
        if lines:
            self._claim(len(lines) - 1, lines[-1])
        record = {"key": key, "digest": planned.request.digest, "label": question.label, "loss": planned.loss.to_dict()}
        book.freeze([(record, {})], first=len(lines))
        return len(lines)

    def _is_claimed(self, number: int, record: Mapping[str, Any]) -> bool:
        """Whether the ledger has the request of a line; refuses where it has another one under its number."""
        known = curator_of(self._session).ledger.known_digest(self._session._account, _line_key(self.name, number))
        if known not in (None, record["digest"]):
            raise LONG_LIVED.unavailable(self.name, _OTHER_BOOK)
        return known is not None

    def _claim(self, number: int, record: Mapping[str, Any]) -> None:
        """Let the ledger know the last line, so that no other book goes on from another one; nothing is drawn for it.

        Each line was claimed before the one after it was written: so the lines of all books that were ever drawn for
        are the beginning of one book.
        """
        if self._is_claimed(number, record):
            return
        words = f"a question about the part {record['label']} of {self.name} that was lost"
        try:
            claim(self._session, record["digest"], _line_key(self.name, number), words)
        except KeyReused:
            raise LONG_LIVED.unavailable(self.name, _OTHER_BOOK) from None

    def _accounts(self) -> list[Filter]:
        """Return what was taken from each part, in the order of the parts."""
        partition = self.partition
        accounts = [Filter(self._mechanism.each) for _ in partition.parts]
        for label, loss in map(_taken, self._here().numbers()):
            accounts[partition.place(label)].spend(loss)
        return accounts

    def _resumed(self, engine: Engine, asked: list[tuple[str, Loss]]) -> Any:
        """Return what answers about the rows, with what other questions may have lost taken from their parts."""
        budget = Budget(loss=self.loss, unit=self._mechanism.distance)
        talk = converse(self._mechanism, engine, budget=budget)
        talk.resume(asked)
        return talk

    def _check_rows(self, engine: Engine) -> None:
        """Refuse other rows than those that were asked about before: what was in one part may be in another by now."""
        if self._here().about["rows"] != _mark(self._session, engine):
            raise LONG_LIVED.unavailable(self.name, _OTHER_ROWS)


class PartAccounts(LongLived[PartsInTurn]):
    """Accounts of parts: questions about public parts of the rows, paid for as a whole."""

    verb = "parts"
    plural = "parts"
    called = "account of parts of"
    asked = opened_with = "partition"
    others = "other parts or losses"
    book = PartsBook

    def held(self, session: Session, name: str, offer: Offer[Any], book: Any, place: str) -> PartsInTurn:
        """Return the account of each part."""
        mechanism: Any = offer.mechanism
        return PartsInTurn(name, session, mechanism, book, place)

    def again(self, session: Session, name: str, about: Mapping[str, Any]) -> Offer[Any]:
        """Return the offer by which it was opened; refuse where the data set is declared otherwise by now."""
        with contextlib.suppress(DitherError):
            return parts_again(session.dataset, about["asked"], Loss.from_dict(about["loss"]))
        rule = f"{session._called} is declared otherwise than when it was opened; open another one"
        raise self.unavailable(name, rule)

    def check_offer(self, session: Session, offer: Offer[Any]) -> None:
        """Refuse what can be refused before it costs anything."""
        session._check_public_facts(offer)

    def facts(self, session: Session, offer: Offer[Any]) -> dict[str, Any]:
        """Return which rows it is about."""
        return {"rows": _rows_now(session)}

    def changed(self, session: Session, offer: Offer[Any], about: Mapping[str, Any], *, by_name: bool) -> str:
        """Return why its partition cannot open it; its name can, and finds stored answers."""
        return "" if by_name or about["rows"] == _rows_now(session) else _OTHER_ROWS


LONG_LIVED: Final = PartAccounts()


def _taken(record: Mapping[str, Any]) -> tuple[str, Loss]:
    """Return the part of a question that was written down, and what it may have lost."""
    return str(record["label"]), Loss.from_dict(record["loss"])


def _mark(session: Session, engine: Engine) -> str:
    """Return what tells the rows that an engine reads from all others."""
    if engine.frames:
        return _frames.setdefault(engine, uuid.uuid4().hex)
    number = curator_of(session).standing(session.dataset.name).edition
    return mark_of_rows(curator_of(session).folder, session.dataset, engine.dataset, number=number)


def _rows_now(session: Session) -> str:
    """Return what identifies the rows; refuse those that may change at any time."""
    with rows_of_session(session) as engine:
        check_fixed(engine)
        return _mark(session, engine)


def _line_key(name: str, number: int) -> str:
    """Return what the request of a line is called in the ledger."""
    return f"parts {name} line {number}"
