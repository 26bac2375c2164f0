"""Conversations that outlive a process: paid for once, frozen, sealed, answered question by question.

The order is that of a stream (decision 17). The exact counts are frozen durably when the conversation is opened; each
question is written down, then its noise follows from the kept key, then the answer is stored, then it is returned.
Whoever opens the conversation again goes on with the same counts and the same noise, whatever the tables hold by then.

Beyond 2^20 cells the counts of all cells are not frozen: how many are not 0 would show in the size of the book. There
the counts of what is measured are frozen when the conversation is opened, and the exact count of each question together
with the question, from the rows as they are when it is asked for the first time.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dither.curator.access import check_affordable, curator_of, place_in_books, request_of, rows_of_session
from dither.curator.ledger import Receipt
from dither.curator.ledger.request_effects import notice_private
from dither.curator.streams.book import PlainBook
from dither.curator.streams.opening import book_names, book_paths, checked_stream_name, paid, placeless
from dither.curator.timing_gate import wait_for
from dither.data import wire
from dither.data.closing import Closing
from dither.data.engines.protocol import Engine
from dither.errors import EngineFailure, HandleMisuse, InvalidParameter, NotFound, StreamUnavailable
from dither.exact import Number, probability
from dither.lift.attributes import Attributes, Axes
from dither.lift.cells import Cells
from dither.lift.edges import Edges
from dither.lift.offer import Offer
from dither.mechanisms.core.kept import converse_with_key
from dither.privacy import Loss
from dither.publish.interactive.planning import PlannedConversation
from dither.publish.interactive.products import Product, WeightedRecords
from dither.publish.interactive.question_kinds import PlannedQuestions
from dither.verbs.answers import read_query
from dither.verbs.conversations import planned_from, planned_of

if TYPE_CHECKING:
    from dither.curator.session import Session

#: The folder of the books, in the curator's folder.
FOLDER: Final = "conversations"
KIND: Final = (
    "Its book and its key, which are kept apart, hold exact counts: whoever has both can take the noise off what was "
    "released."
)
_LONGEST: Final = 10_000
T = TypeVar("T")
#: What a conversation answers: counts of cells, or other questions.
AnyPlanned: TypeAlias = PlannedConversation | PlannedQuestions


class FrozenRecords:
    """Records of which only what was asked for is kept: the measured marginals, and the count of each question.

    Args:
        attributes: names and sizes.

    """

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.marginals: dict[Axes, NDArray[np.int64]] = {}
        self.truths: dict[bytes, int] = {}

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return a marginal that was measured."""
        return self.marginals[axes]

    def within(self, question: Product) -> int:
        """Return the count of a question, frozen before it was asked."""
        return self.truths[question.key]


class Talk(Closing):
    """A conversation with a data set: any number of counting questions, paid for as a whole.

    Args:
        name: the caller's name for it.
        session: who asks, and of which data set.
        planned: what answers, and what its cells mean.
        book: what was counted, asked and answered.
        place: where the charge is written down.

    """

    def __init__(self, name: str, session: Session, planned: AnyPlanned, book: PlainBook, place: str) -> None:
        self.name = name
        self.receipt = place
        self._planned = planned
        self._session = session
        self._book = book
        self._conversation: Any = None
        self._records: WeightedRecords | None = None
        self._known: dict[str, Any] = {}
        # How many records of the book the conversation knows: its noise is that of the next one.
        self._read = 0
        self._is_open = True

    @property
    def planned(self) -> AnyPlanned:
        """What answers, and what its cells mean; it reads the rows, and is nobody's to replace."""
        return self._planned

    @cached_property
    def _frozen(self) -> FrozenRecords:
        """What is kept of records that are not frozen as a table."""
        return FrozenRecords(self._counted.mechanism.source.attributes)

    @property
    def _counted(self) -> PlannedConversation:
        """The plan, of a conversation that counts."""
        if not isinstance(self.planned, PlannedConversation):
            raise HandleMisuse("there are no conditions in a conversation that does not count")
        return self.planned

    @property
    def _is_product(self) -> bool:
        return isinstance(self.planned, PlannedConversation) and self.planned.mechanism.is_product

    @property
    def loss(self) -> Loss:
        """What all answers together lose, however many there are."""
        return self.planned.mechanism.loss(1)

    @property
    def asked(self) -> int:
        """The number of different questions so far."""
        return max(self._here().answered - 1, 0)

    def __reduce__(self) -> NoReturn:
        rule = "copies would answer different questions with one noise"
        raise HandleMisuse(f"a conversation cannot be copied or pickled: {rule}")

    def __repr__(self) -> str:
        return f"<Talk {self}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.planned.words}; {self.loss} for all of them; {self.asked} asked so far. {KIND}"

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about the conversation, as plain data."""
        source = self.planned.mechanism.source
        about = {"nodes": source.nodes} if isinstance(source, Edges) else {"cells": source.attributes.cells}
        return {
            "name": self.name,
            "what": self.planned.words,
            "columns": list(self.planned.columns),
            **about,
            "loss": self.loss.to_dict(),
            "unit": str(self.planned.mechanism.distance),
            "asked": self.asked,
            "kind": KIND,
            "receipt": self.receipt,
        }

    def ask(self, question: str, *, confidence: Number = "0.95") -> Any:
        """Return the answer to a question, at no further cost; the same question has the same answer.

        Args:
            question: ``SELECT COUNT(*) FROM table WHERE ...``, or the condition alone, over the columns of the
                conversation. Of cuts two sets of nodes, ``ann, bob | carl``, or one for all edges that leave it; of
                distances a place; of disjunctions columns, ``smokes, drinks``; of minimisers a JSON table of losses, a
                row for each candidate and a column for each cell.
            confidence: the level of the interval, for one question.

        """
        return self.ask_all([question], confidence=confidence)[0]

    def ask_all(self, questions: Sequence[str], *, confidence: Number = "0.95") -> tuple[Any, ...]:
        """Return the answers to questions, as ``ask`` does each; whoever reads the book sees all of them at once.

        Args:
            questions: as for ``ask``; refused together where one is.
            confidence: the level of the intervals, each for one question.

        """
        if self._here().only_read:
            raise HandleMisuse(f"the conversation {self.name} was opened to be read only")
        level = probability("confidence", confidence, open_below=True)
        wanted = [(question, self._asked(question)) for question in questions]
        if self._conversation is None:
            stored = self._stored()
            if stored.keys() >= set(questions):
                # Nothing new is asked: what was asked before need not be asked again.
                return tuple(self.planned.present(question, stored[question], level) for question, _ in wanted)
        conversation, found = self._resumed(), []
        with self._torn_ends():
            for question, asked in wanted:
                if question in self._known:
                    continue
                if self._read != self._book.frozen:
                    raise _unavailable(self.name, "its noise is at another question than its book; open it again")
                record = {"question": question}
                if isinstance(asked, Product):
                    truth = self._rows().within(asked)
                    self._frozen.truths[asked.key] = truth
                    record["truth"] = _written(np.array([truth]))
                self._book.freeze([(record, {})], first=self._read)
                answer = conversation.ask(asked)
                found.append(_plain(answer))
                self._read += 1
                self._known[question] = answer
            if found:
                wait_for("store")
                self._book.store(found)
        return tuple(self.planned.present(question, self._known[question], level) for question, _ in wanted)

    def answers(self, *, confidence: Number = "0.95") -> tuple[Any, ...]:
        """Return all answers so far, in the order of the questions; nothing is asked by this."""
        level = probability("confidence", confidence, open_below=True)
        return tuple(self.planned.present(question, answer, level) for question, answer in self._stored().items())

    def _stored(self) -> dict[str, Any]:
        """Return the answers that the book has, by their questions; each question is in it once."""
        planned: Any = self.planned
        asked = [one["question"] for one in self._here().numbers(1)]
        return dict(zip(asked, map(planned.answer_of, self._book.answers(1)), strict=False))

    def close(self) -> None:
        """Let go of the book, so that it can be opened again, here or elsewhere."""
        if self._is_open:
            self._is_open = False
            self._book.close()

    def begin(self) -> None:
        """Freeze the counts, unless they are frozen: from then on the tables are not read again."""
        if self._here().frozen:
            return
        if self._is_product:
            rows = self._rows()
            counts = np.concatenate([rows.count(axes).ravel() for axes in self._counted.mechanism.method.sets])
        else:
            counts = self._from_engine(self.planned.mechanism.read)
        self._book.freeze([({"counts": _written(counts)}, {})], first=0)

    def _rows(self) -> WeightedRecords:
        """Return the cells that are not empty, as they were when this process first looked; private."""
        if self._records is None:
            self._records = self._from_engine(self._counted.mechanism.records)
        return self._records

    def _from_engine(self, read: Callable[[Engine], T]) -> T:
        """Return what is read from the tables, or fail in words that say nothing about rows."""
        notice_private()
        with rows_of_session(self._session) as engine, contextlib.suppress(Exception):
            # Why it fails may depend on rows: what was raised goes nowhere.
            return read(engine)
        raise EngineFailure

    def _asked(self, question: str) -> Any:
        """Return what a question is about, or reject it before anything is written down."""
        if not isinstance(question, str) or not 0 < len(question) <= _LONGEST:
            raise InvalidParameter("question", question, f"a string of 1 to {_LONGEST} characters")
        if not isinstance(self.planned, PlannedConversation):
            return self.planned.asked(question)
        first = question.split(None, 1)[:1]
        text = question
        if first and first[0].upper() not in ("SELECT", "WITH"):
            name = self.planned.table.replace('"', '""')
            # Read as any text of a caller's, and refused unless it is one count.
            text = f'SELECT COUNT(*) FROM "{name}" WHERE {question}'  # noqa: S608
        return self.planned.asked(read_query(self._session.dataset, text))

    def _resumed(self) -> Any:
        """Return the conversation, asked all that was asked before; its answers must be those that were stored."""
        if self._conversation is None:
            notice_private()
            self.begin()
            book, mechanism = self._here(), self.planned.mechanism
            records = list(book.numbers())
            counts, method = self._thawed(_counts(records[0]["counts"])), cast("Any", mechanism.method)
            key = book.seal.derived("noise")
            conversation = converse_with_key(method, counts, key=key, stability=mechanism.stability)
            stored, known = list(book.answers()), {}
            if not stored:
                book.store([{}])
                stored = [{}]
            for place, record in enumerate(records[1:], start=1):
                asked = self._asked(record["question"])
                if isinstance(asked, Product):
                    self._frozen.truths[asked.key] = int(_counts(record["truth"])[0])
                answer = conversation.ask(asked)
                if place >= len(stored):
                    # It was written down, and nobody has seen its answer.
                    wait_for("store")
                    book.store([_plain(answer)])
                elif _plain(answer) != stored[place]:
                    rule = "its noise is not what it was: another version computed the answers, which can be read"
                    raise _unavailable(self.name, rule)
                known[record["question"]] = answer
            self._conversation, self._known, self._read = conversation, known, len(records)
        return self._conversation

    def _thawed(self, counts: NDArray[np.int64]) -> Any:
        """Return frozen counts in the form that the method takes."""
        if not isinstance(self.planned, PlannedConversation):
            return self.planned.mechanism.told(counts)
        mechanism = self.planned.mechanism
        if not mechanism.is_product:
            return counts.reshape(mechanism.source.shape)
        attributes, sets = mechanism.source.attributes, mechanism.method.sets
        ends = np.cumsum([attributes.cells_of(axes) for axes in sets])[:-1]
        for axes, part in zip(sets, np.split(counts, ends), strict=True):
            self._frozen.marginals[axes] = part.reshape(attributes.shape_of(axes))
        return self._frozen

    def _here(self) -> PlainBook:
        if not self._is_open:
            raise HandleMisuse(f"the conversation {self.name} was let go of: open it again")
        return self._book

    @contextlib.contextmanager
    def _torn_ends(self) -> Iterator[None]:
        """Begin anew after anything that broke off: it goes on from what is durable."""
        try:
            yield
        except BaseException:
            self._conversation, self._known = None, {}
            raise


def opened_conversation(session: Session, offer: Offer[Any], name: str) -> Talk:
    """Return the conversation of a name: made and paid for, or found and not paid for again.

    Args:
        session: who asks, and of which data set.
        offer: what would be answered.
        name: the caller's name for it.

    """
    request = request_of(session, offer)
    path, key = book_paths(session, FOLDER, checked_stream_name(name))
    if path.exists():
        book = PlainBook(path, key)
    else:
        # A refusal comes before a file.
        if _charges(session, name, request.digest):
            raise _unavailable(name, "it was paid for, and its book is gone; open another one")
        check_affordable(session, offer.loss)
        about = {"digest": request.digest, "words": offer.words, "asked": offer.asked, "loss": offer.stated.to_dict()}
        about["declared"] = _declared(planned_of(session.dataset, offer).mechanism.source)
        # By which answers are read when the table is declared otherwise.
        about["dataset"] = wire.encode(session.dataset)
        book = PlainBook.create(path, key, about)
    return _talk(session, offer, name, book)


def found_conversation(session: Session, name: str, *, only_read: bool = False) -> Talk:
    """Return a conversation that was opened before, by its name alone.

    Args:
        session: who asks, and of which data set.
        name: the caller's name for it.
        only_read: whether nothing is asked: answers can be read whatever the table is declared as by now.

    """
    path, key = book_paths(session, FOLDER, checked_stream_name(name))
    if not path.exists():
        known = ", ".join(conversation_names(session)) or "none"
        raise NotFound(f"no conversation with {session._called} is called {name!r}; there is {known}")
    book = PlainBook(path, key, only_read=only_read)
    try:
        about = book.about
        charges = _charges(session, name, about["digest"])
        if not charges:
            raise _unavailable(name, "it was not paid for when its opening broke off; open it with its columns")
        if only_read:
            # As it was declared then; books of before say nothing of it.
            declared = wire.decode(about["dataset"]) if "dataset" in about else session.dataset
            planned = planned_from(declared, about["asked"], Loss.from_dict(about["loss"]))
            return Talk(name, session, planned, book, place_in_books(session, charges[0]))
        offer = session.offer.conversation(**about["asked"], loss=Loss.from_dict(about["loss"]))
    except BaseException:
        book.close()
        raise
    return _talk(session, offer, name, book)


def conversation_names(session: Session) -> tuple[str, ...]:
    """Return the names of the conversations that an analyst has opened on a data set."""
    return book_names(session, FOLDER)


def _key_of(name: str) -> str:
    return f"conversation {name}"


def _unavailable(name: str, reason: str) -> StreamUnavailable:
    return StreamUnavailable(name, reason, PlainBook.what)


def _charges(session: Session, name: str, digest: str) -> list[Receipt]:
    """Return what was paid for a conversation: one receipt, or none."""
    found = curator_of(session).ledger.find_answers(_key_of(name), session.dataset.name)
    return [known for known in found if known.account == session._account and known.request_digest == digest]


def _declared(source: Cells | Edges) -> str:
    """Return a digest of what counts as what: rows, cells, limits and unit, wherever the rows are."""
    if isinstance(source, Edges):
        graph = [placeless(wire.encode(source)), {str(unit): str(moved) for unit, moved in source.moves().items()}]
        return hashlib.sha256(json.dumps(graph, sort_keys=True).encode()).hexdigest()
    parts = [wire.encode(source.relation), *map(wire.encode, source.axes), wire.encode(source.dataset.unit)]
    limits = [repr(source.limits), str(source.sensitivity.l1), str(source.sensitivity.l2)]
    return hashlib.sha256(json.dumps([placeless(parts), limits], sort_keys=True).encode()).hexdigest()


def _talk(session: Session, offer: Offer[Any], name: str, book: PlainBook) -> Talk:
    try:
        if book.about["digest"] != request_of(session, offer).digest:
            rule = f"another for other columns or loss: there is one of that name already, {book.about['words']!r}"
            raise InvalidParameter("name", name, rule)
        planned = planned_of(session.dataset, offer)
        # What was counted under other limits would be answered with noise for these.
        if book.about.get("declared") != _declared(planned.mechanism.source):
            rule = f"the table {planned.table} is declared otherwise than when it was opened; answers can be read"
            raise _unavailable(name, rule)
        receipt = paid(session, offer, _key_of(name), book)
        talk = Talk(name, session, planned, book, place_in_books(session, receipt))
        talk.begin()
    except BaseException:
        book.close()
        raise
    return talk


def _written(counts: NDArray[np.int64]) -> str:
    """Return counts as a text whose length follows from their number alone: how many are 0 is private."""
    return base64.b64encode(np.ascontiguousarray(counts, dtype="<i8").tobytes()).decode()


def _counts(text: str) -> NDArray[np.int64]:
    return np.frombuffer(base64.b64decode(text), dtype="<i8").astype(np.int64)


def _plain(answer: Any) -> dict[str, Any]:
    """Return an answer as plain data, to be sealed; floats are written to the last digit."""
    return asdict(answer)
