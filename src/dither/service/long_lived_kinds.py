"""What lives longer than a call, as it is reached over HTTP: one record for each kind.

Routes, their OpenAPI text, handlers, the desk and the client are derived from ``SERVED``: all kinds are opened,
listed and read in one way, and a record has the steps of its own kind. ``dither.curator.long_lived`` opens the books.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dither.curator.request_json import public_record, write_words
from dither.errors import InvalidParameter
from dither.service import records
from dither.service.body import check_fields
from dither.service.records import Schema

if TYPE_CHECKING:
    from dither.curator.conversations import Talk
    from dither.curator.partition_account import PartsInTurn
    from dither.curator.streams.stream import Stream

MOST_QUESTIONS: Final = 1000
Body = Mapping[str, Any]


def public_of(handle: Any) -> dict[str, Any]:
    """Return what is public about something long-lived."""
    return {**handle.to_dict(), "said": str(handle)}


def _nothing(*_: Any, **__: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Step:
    """A request to one that is open, under its address. Sent again after a lost answer, it has the same answer.

    Args:
        name: of its route.
        method: as HTTP has it.
        path: the last word of its address; "" for its own address.
        summary: one line for people.
        body: as JSON Schema; None where there is none.
        answer: what is told, as JSON Schema; None for a stored answer under the caller's key, which has a handler of
            its own.
        read: makes of a body the arguments of what is done, before the book is opened.
        do: does it, and says what is told.

    """

    name: str
    method: str
    path: str
    summary: str
    body: Schema | None = None
    answer: Schema | None = None
    read: Callable[[Body], dict[str, Any]] = _nothing
    do: Callable[..., dict[str, Any]] = public_of


@dataclass(frozen=True)
class Served:
    """A kind of what lives longer than a call, as the service presents it.

    Args:
        verb: by which it is opened; the route that looks at one is called so.
        plural: what a list of them is called; the word of their addresses.
        summaries: of the routes that list, open and look.
        told: what is public about one, as JSON Schema.
        looked: what is told to whoever looks at it, where that is more.
        query: the parameters of an address that looks at it, as JSON Schema each.
        look: says what is told besides, by these parameters.
        tells: says what is public about one.
        steps: what is asked of it.
        listed: the route that lists them, where it is not called by their plural.

    """

    verb: str
    plural: str
    summaries: tuple[str, str, str]
    told: Schema
    looked: Schema | None = None
    query: Mapping[str, Schema] = field(default_factory=dict)
    look: Callable[..., dict[str, Any]] = _nothing
    tells: Callable[[Any], dict[str, Any]] = public_of
    steps: tuple[Step, ...] = ()
    listed: str = ""

    @property
    def lists(self) -> str:
        """The name of the route that lists them."""
        return self.listed or self.plural

    @property
    def opens(self) -> str:
        """The name of the route that opens one."""
        return f"open_{self.verb}"


def ending(verb: str, summary: str, answer: Schema) -> Step:
    """Return the step that ends one permanently.

    Args:
        verb: by which it is opened.
        summary: one line for people.
        answer: what is public about it, as JSON Schema.

    """
    return Step(f"end_{verb}", "DELETE", "", summary, answer=answer, do=_ended)


def _ended(handle: Any) -> dict[str, Any]:
    handle.end()
    return public_of(handle)


def _questions(body: Body) -> dict[str, Any]:
    check_fields(body, ("questions", "confidence"))
    questions, confidence = body.get("questions"), body.get("confidence", "0.95")
    is_list = isinstance(questions, list) and 1 <= len(questions) <= MOST_QUESTIONS
    if not is_list or not all(isinstance(one, str) for one in questions or ()):
        rule = f"a list of 1 to {MOST_QUESTIONS} questions, each a string"
        raise InvalidParameter("questions", type(questions).__name__, rule)
    if not isinstance(confidence, str | float):
        raise InvalidParameter("confidence", type(confidence).__name__, "a number such as 0.95")
    return {"questions": questions, "confidence": confidence}


def _answered(talk: Talk, **asked: Any) -> dict[str, Any]:
    return {"answers": [one.to_dict() for one in talk.ask_all(**asked)]}


def _answers(talk: Talk, **how: Any) -> dict[str, Any]:
    return {"answers": [one.to_dict() for one in talk.answers(**how)]}


def _account(account: PartsInTurn) -> dict[str, Any]:
    dataset = account.partition.dataset
    return public_of(account) | write_words({"partition": public_record(account.partition, dataset)}, dataset)


def _ticks(body: Body) -> dict[str, Any]:
    check_fields(body, ("until", "after"))
    after = body.get("after")
    if after is not None and (type(after) is not int or not 0 <= after < 2**63):
        raise InvalidParameter("after", type(after).__name__, "the number of ticks that you already have, an integer")
    return {"until": body.get("until"), "after": after}


def _released(stream: Stream, until: int | None, after: int | None) -> dict[str, Any]:
    before, found = stream.released, stream.release(until)
    if after is not None and after < before:
        # Whoever did not get the last answer is told again what was in it.
        found = stream.answers(after)
    return public_of(stream) | {"answers": found.to_stored()}


def _ticks_told(stream: Stream, **which: Any) -> dict[str, Any]:
    return {"answers": stream.answers(**which).to_stored()}


_CONVERSATION: Final = Served(
    *("conversation", "conversations"),
    (
        "Your conversations with it; a page of them.",
        "Pay for a conversation, or find it open.",
        "One, with its answers.",
    ),
    records.TALK,
    records.TALKED,
    records.TALKED_AT,
    _answers,
    steps=(
        Step(
            *("converse", "POST", "questions", "Ask questions in it, at no additional cost."),
            *(records.QUESTIONS, records.ANSWERS, _questions, _answered),
        ),
    ),
)
_PARTS: Final = Served(
    *("parts", "parts"),
    (
        "Your accounts of its parts; a page of them.",
        "Pay for questions about its parts, or find them paid for.",
        "One, with what is left of each part.",
    ),
    records.ACCOUNT,
    tells=_account,
    steps=(Step("ask_part", "POST", "questions", "Ask about one part, at no additional cost.", records.PART),),
    listed="partitions",
)
_STREAM: Final = Served(
    *("stream", "streams"),
    (
        "Your streams of it; a page of them.",
        "Pay for a query on a stream, or find it open.",
        "One, with what it has released.",
    ),
    records.STREAM,
    records.STREAMED,
    records.STREAMED_AT,
    _ticks_told,
    steps=(
        Step(
            *("release_ticks", "POST", "ticks", "Release the ticks that have ended."),
            *(records.TICKS, records.STREAMED, _ticks, _released),
        ),
        ending("stream", "Release nothing more of it.", records.STREAM),
    ),
)
#: Every kind, by the verb that opens it.
SERVED: Final[dict[str, Served]] = {one.verb: one for one in (_CONVERSATION, _PARTS, _STREAM)}
