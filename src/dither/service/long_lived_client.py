"""Streams, conversations and parts of a curator who is elsewhere: what a session gives here, over HTTP."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from dither.curator.ledger.interface import checked_name
from dither.curator.long_lived_handles import AskedByOne, AskedByPart, Drawn, Question
from dither.curator.request_json import read_words, write_words
from dither.data.closing import Closing
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.lift.trusted import checked_class
from dither.privacy import Loss
from dither.publish.interactive.planning import CountAnswer
from dither.publish.interactive.question_kinds import ChosenAnswer
from dither.publish.queries import Query, QueryResult
from dither.publish.queries.adaptive_parts import OpenPartition
from dither.publish.queries.parts import query_of_part
from dither.service.routes import path_to
from dither.service.transport import Transport


class RemoteHandle(Closing):
    """Something that goes on elsewhere, under a name.

    Args:
        transport: to the service.
        names: that stand in its address: its data set's and its own.
        record: what the service says about it.
        dataset: what it is about.

    """

    #: The verb that opens it, which the route that tells of it is called after.
    verb: ClassVar[str]

    def __init__(
        self, transport: Transport, names: Mapping[str, str], record: dict[str, Any], dataset: DataSet
    ) -> None:
        self._transport, self._names, self._record, self._dataset = transport, names, record, dataset

    @property
    def name(self) -> str:
        """The caller's name for it."""
        return str(self._record["name"])

    @property
    def receipt(self) -> str:
        """Where the charge is written down."""
        return str(self._record["receipt"])

    @property
    def loss(self) -> Loss:
        """What all of it loses together."""
        return Loss.from_dict(self._record["loss"])

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about it, as plain data."""
        return {name: value for name, value in self._looked().items() if name not in ("said", "answers")}

    def __str__(self) -> str:
        return str(self._looked()["said"])

    def close(self) -> None:
        """Do nothing: what goes on elsewhere is let go of there after each request."""

    def _looked(self, **query: Any) -> dict[str, Any]:
        self._record = dict(self._transport.get(*path_to(self.verb, **self._names), **query).json())
        return self._record

    def _step(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Do what is asked of it, by the name of the route; without a body it is ended."""
        path = path_to(name, **self._names)
        if body is None:
            return dict(self._transport.delete(self._transport.address(*path)).json())
        return dict(self._transport.post(*path, body=body).json())


def _answer(record: dict[str, Any]) -> CountAnswer | ChosenAnswer:
    """Return an answer as it is told: a count, or the candidate that was chosen."""
    return CountAnswer(**record) if "count" in record else ChosenAnswer(**record)


class RemoteTalk(AskedByOne, RemoteHandle):
    """A conversation with a data set that is elsewhere: any number of questions, paid for as a whole."""

    verb = "conversation"

    @property
    def asked(self) -> int:
        """The number of different questions so far."""
        return int(self._looked()["asked"])

    def ask_all(
        self, questions: Sequence[str], *, confidence: Number = "0.95"
    ) -> tuple[CountAnswer | ChosenAnswer, ...]:
        """Return the answers to many questions at once.

        Args:
            questions: up to a thousand.
            confidence: the level of the intervals.

        """
        body = {"questions": list(questions), "confidence": str(exact("confidence", confidence))}
        return tuple(_answer(one) for one in self._step("converse", body)["answers"])

    def answers(self, *, confidence: Number = "0.95") -> tuple[CountAnswer | ChosenAnswer, ...]:
        """Return all answers so far, in the order of the questions; nothing is asked by this."""
        told = self._looked(confidence=str(exact("confidence", confidence)))
        return tuple(_answer(one) for one in told["answers"])


class RemoteParts(AskedByPart, RemoteHandle):
    """Questions about public parts of rows that are elsewhere, paid for as a whole."""

    verb = "parts"

    @cached_property
    def partition(self) -> OpenPartition:
        """The parts, and the rows that are split."""
        found: OpenPartition = read_words({"partition": self._record["partition"]}, self._dataset)["partition"]
        return found

    @property
    def asked(self) -> int:
        """The number of questions so far."""
        return int(self._looked()["asked"])

    def to_dict(self) -> dict[str, Any]:
        """Return what is public about the account, as plain data."""
        return {name: value for name, value in super().to_dict().items() if name != "partition"}

    def left(self, label: str) -> Loss:
        """Return the largest question about a part that still fits."""
        place = self.partition.place(label)
        return Loss.from_dict(self._looked()["left"][place])

    def _ask(self, label: str, question: Question, loss: Loss, key: str | None, how: Mapping[str, Any]) -> QueryResult:
        self.partition.place(label)
        query = query_of_part(self.partition, label, question) if callable(question) else question
        checked_class("question", query, Query)
        if key is not None:
            checked_name("key", key)
        words = {"label": label, "question": query, "loss": loss, **how}
        words["confidence"] = exact("confidence", how["confidence"])
        body = {"words": write_words(words, self._dataset)}
        reply = self._transport.post(*path_to("ask_part", **self._names), body=body, key=key)
        return QueryResult.stored(reply.content, reply.headers["dither-place"])


class RemoteStream(Drawn, RemoteHandle):
    """A query on a stream that is elsewhere, paid for as a whole, answered tick by tick."""

    verb = "stream"

    @property
    def released(self) -> int:
        """The number of ticks that were released."""
        return int(self._looked()["released"])

    @property
    def is_closed(self) -> bool:
        """Whether nothing more is released."""
        return bool(self._looked()["closed"])

    @property
    def ends_at(self) -> datetime.datetime | None:
        """The moment at which the last tick ends; None where no end is known."""
        told = self._looked()
        if told["ticks"] is None:
            return None
        length = datetime.timedelta(seconds=int(told["tick_seconds"]))
        return datetime.datetime.fromisoformat(str(told["start"])) + int(told["ticks"]) * length

    @property
    def is_without_rows(self) -> bool:
        """Whether no batch was ever fed; that is known where the stream is."""
        return False

    def release(
        self, until: int | None = None, *, now: None = None, rows: Any = None, batch: str | None = None
    ) -> QueryResult:
        """Release the ticks that have ended, and return those that were not released before.

        Args:
            until: release no more than this number of ticks in all.
            now: left out: the clock is that of the service.
            rows: left out: rows never travel.
            batch: left out with them.

        """
        if rows is not None or batch is not None:
            self.feed(rows)
        if now is not None:
            raise InvalidParameter("now", now, "not allowed: the clock is that of the service")
        # A reply that was lost on the way is told again: all that this handle does not know yet.
        body = {"after": int(self._record["released"])} | ({} if until is None else {"until": until})
        told = self._step("release_ticks", body)
        self._record = {name: value for name, value in told.items() if name != "answers"}
        return QueryResult.stored(told["answers"], self.receipt)

    def answers(self, first: int = 0, end: int | None = None, *, confidence: Number = "0.95") -> QueryResult:
        """Return what was released, from a tick on; nothing is released by this.

        Args:
            first: the first tick, counted from 0.
            end: the tick before which to end; by default all.
            confidence: the level of the intervals, each for one number.

        """
        until = {} if end is None else {"end": end}
        told = self._looked(first=first, confidence=str(exact("confidence", confidence)), **until)
        return QueryResult.stored(told["answers"], self.receipt)

    def feed(self, *_: Any, **__: Any) -> Any:
        """Refuse: rows never travel."""
        raise InvalidParameter("rows", "remote", "fed where the stream is: rows never travel")

    def end(self) -> None:
        """Release nothing more, for ever. What was paid for and not released is not given back."""
        self._step("end_stream")


#: What a session elsewhere gives, by the verb that opens it.
HANDLES: Final[dict[str, type[RemoteHandle]]] = {one.verb: one for one in (RemoteTalk, RemoteParts, RemoteStream)}
