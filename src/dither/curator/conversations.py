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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dither.curator.access import rows_of_session
from dither.curator.ledger.request_effects import notice_private
from dither.curator.long_lived import Handle, LongLived, placeless
from dither.curator.long_lived_handles import AskedByOne
from dither.curator.streams.book import PlainBook
from dither.curator.timing_gate import wait_for
from dither.data import wire
from dither.data.engines.protocol import Engine
from dither.errors import EngineFailure, HandleMisuse, InvalidParameter
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

KIND: Final = (
    "Its book and its key, which are stored separately, hold exact counts: anyone who has both can remove the noise "
    "from what was released."
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


class Talk(AskedByOne, Handle[PlainBook]):
    """A conversation with a data set: any number of counting questions, paid for as a whole.

    Args:
        name: the caller's name for it.
        session: who asks, and of which data set.
        planned: what answers, and what its cells mean.
        book: what was counted, asked and answered.
        place: where the charge is written down.

    """

    uncopied = "a conversation cannot be copied or pickled: copies would answer different questions with one noise"

    def __init__(self, name: str, session: Session, planned: AnyPlanned, book: PlainBook, place: str) -> None:
        super().__init__(name, book, place)
        self._planned = planned
        self._session = session
        self._records: WeightedRecords | None = None
        self._known: dict[str, Any] = {}
        # How many records of the book the conversation knows: its noise is that of the next one.
        self._read = 0

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
                    raise LONG_LIVED.unavailable(
                        self.name, "its noise is at another question than its book; open it again"
                    )
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
                    raise LONG_LIVED.unavailable(self.name, rule)
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


class Conversations(LongLived[Talk]):
    """Conversations: any number of questions, paid for as a whole."""

    verb = "conversation"
    plural = "conversations"
    called = "conversation with"
    asked = "table"
    opened_with = "columns"
    others = "other columns or loss"

    def is_asked(self, words: Mapping[str, Any]) -> bool:
        """Whether arguments say what to pay for; a graph need not be named."""
        return super().is_asked(words) or words.get("kind", "counts") != "counts"

    def held(self, session: Session, name: str, offer: Offer[Any], book: Any, place: str) -> Talk:
        """Return a conversation whose counts are frozen."""
        talk = Talk(name, session, planned_of(session.dataset, offer), book, place)
        talk.begin()
        return talk

    def read(self, session: Session, name: str, about: Mapping[str, Any], book: Any, place: str) -> Talk:
        """Return a conversation by the declaration in its book; older books have none."""
        declared = wire.decode(about["dataset"]) if "dataset" in about else session.dataset
        return Talk(name, session, planned_from(declared, about["asked"], Loss.from_dict(about["loss"])), book, place)

    def facts(self, session: Session, offer: Offer[Any]) -> dict[str, Any]:
        """Return what counts as what, and the declaration by which answers are read when there is another one."""
        declared = _declared(planned_of(session.dataset, offer).mechanism.source)
        return {"declared": declared, "dataset": wire.encode(session.dataset)}

    def changed(self, session: Session, offer: Offer[Any], about: Mapping[str, Any], *, by_name: bool) -> str:
        """Return why it cannot continue: what was counted under other limits would be answered with noise for these."""
        planned = planned_of(session.dataset, offer)
        if about.get("declared") == _declared(planned.mechanism.source):
            return ""
        return f"the table {planned.table} is declared otherwise than when it was opened; answers can be read"


LONG_LIVED: Final = Conversations()


def _declared(source: Cells | Edges) -> str:
    """Return a digest of what counts as what: rows, cells, limits and unit, wherever the rows are."""
    if isinstance(source, Edges):
        graph = [placeless(wire.encode(source)), {str(unit): str(moved) for unit, moved in source.moves().items()}]
        return hashlib.sha256(json.dumps(graph, sort_keys=True).encode()).hexdigest()
    parts = [wire.encode(source.relation), *map(wire.encode, source.axes), wire.encode(source.dataset.unit)]
    limits = [repr(source.limits), str(source.sensitivity.l1), str(source.sensitivity.l2)]
    return hashlib.sha256(json.dumps([placeless(parts), limits], sort_keys=True).encode()).hexdigest()


def _written(counts: NDArray[np.int64]) -> str:
    """Return counts as a text whose length follows from their number alone: how many are 0 is private."""
    return base64.b64encode(np.ascontiguousarray(counts, dtype="<i8").tobytes()).decode()


def _counts(text: str) -> NDArray[np.int64]:
    return np.frombuffer(base64.b64decode(text), dtype="<i8").astype(np.int64)


def _plain(answer: Any) -> dict[str, Any]:
    """Return an answer as plain data, to be sealed; floats are written to the last digit."""
    return asdict(answer)
