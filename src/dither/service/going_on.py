"""Streams and conversations of people elsewhere, without a word of HTTP: opened by name, asked, and let go of again.

What was paid for goes on in its book, in the curator's folder. Each request opens it, goes on where it stopped, and
closes it: no process keeps a book that another may need. Rows never come in: a stream that is fed is fed where it is.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dither.curator.conversations import Talk
from dither.curator.held_back import held_back
from dither.curator.people import Bearer, Grant
from dither.curator.session import Session
from dither.curator.streams.stream import Stream
from dither.curator.words import read_words
from dither.errors import DitherError, InvalidParameter
from dither.lift.planned_size import planned_within
from dither.service.deciding import check_fields, check_most
from dither.service.pace import Pace, Strict

MOST_QUESTIONS: Final = 1000
TURNS: Final = 64
_NOT_SAID: Final = ("name", "only_read", "key")
#: What planning raises at words of wrong kinds; what reads rows raises an error of this package whatever happens.
_NOT_PLANNED: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)


class GoingOn:
    """The part of a desk at which streams and conversations go on; what else it uses is the desk's."""

    _session: Callable[[Bearer, str], Session]
    _grant: Callable[[Bearer, str], Grant]
    _largest: int | None
    #: One at a time of one book: another would be told that it is in use. Books share these, many to one.
    _turns: tuple[threading.Lock, ...]

    def conversations(self, bearer: Bearer, name: str) -> dict[str, Any]:
        """Return the names of a person's conversations with a data set."""
        return {"conversations": list(self._session(bearer, name).conversations())}

    def conversation(self, bearer: Bearer, name: str, called: str, confidence: str) -> dict[str, Any]:
        """Return what is public about a conversation, and all its answers."""
        alone = self._alone(bearer, name, "conversation", called)
        with alone as session, session.conversation(called, only_read=True) as talk:
            return _talk_record(talk) | {"answers": [one.to_dict() for one in talk.answers(confidence=confidence)]}

    def open_conversation(
        self, bearer: Bearer, name: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Pay for a conversation, or find it open."""
        called, words = self._named(bearer, name, body)
        alone = self._alone(bearer, name, "conversation", called)
        limits = planned_within(self._largest)
        net = _naming_words("conversation", _NOT_PLANNED)
        with alone as session, net, held(pace), limits:
            self._check_most(bearer, name, words, session.offer.conversation)
            with session.conversation(called, **words) as talk:
                return _talk_record(talk)

    def converse(
        self, bearer: Bearer, name: str, called: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Answer questions of a conversation, at no further cost."""
        self._session(bearer, name)
        check_fields(body, ("questions", "confidence"))
        questions, confidence = body.get("questions"), body.get("confidence", "0.95")
        is_list = isinstance(questions, list) and 1 <= len(questions) <= MOST_QUESTIONS
        if not is_list or not all(isinstance(one, str) for one in questions or ()):
            rule = f"a list of 1 to {MOST_QUESTIONS} questions, each a text"
            raise InvalidParameter("questions", type(questions).__name__, rule)
        if not isinstance(confidence, str):
            raise InvalidParameter("confidence", type(confidence).__name__, 'a text such as "0.95"')
        alone = self._alone(bearer, name, "conversation", called)
        with alone as session, held(pace), session.conversation(called) as talk:
            return {"answers": [one.to_dict() for one in talk.ask_all(questions or (), confidence=confidence)]}

    def streams(self, bearer: Bearer, name: str) -> dict[str, Any]:
        """Return the names of a person's streams of a data set."""
        return {"streams": list(self._session(bearer, name).streams())}

    def stream(
        self, bearer: Bearer, name: str, called: str, ticks: tuple[int, int | None], confidence: str
    ) -> dict[str, Any]:
        """Return what is public about a stream, and what it has released from a tick on, up to before another."""
        alone = self._alone(bearer, name, "stream", called)
        with alone as session, session.stream(called, only_read=True) as stream:
            return _stream_record(stream) | {"answers": stream.answers(*ticks, confidence=confidence).to_stored()}

    def open_stream(
        self, bearer: Bearer, name: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Pay for a query on a stream, or find it open."""
        called, words = self._named(bearer, name, body)
        alone = self._alone(bearer, name, "stream", called)
        net = _naming_words("stream", _NOT_PLANNED)
        with alone as session, net, held(pace):
            self._check_most(bearer, name, words, session.offer.stream)
            with session.stream(called, **words) as stream:
                return _stream_record(stream)

    def release_ticks(
        self, bearer: Bearer, name: str, called: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Release the ticks of a stream that have ended."""
        self._session(bearer, name)
        check_fields(body, ("until",))
        alone = self._alone(bearer, name, "stream", called)
        with alone as session, held(pace), session.stream(called) as stream:
            found = stream.release(body.get("until"))
            return _stream_record(stream) | {"answers": found.to_stored()}

    def end_stream(self, bearer: Bearer, name: str, called: str) -> dict[str, Any]:
        """Release nothing more of a stream, for ever."""
        with self._alone(bearer, name, "stream", called) as session, session.stream(called) as stream:
            stream.end()
            return _stream_record(stream)

    def _check_most(self, bearer: Bearer, name: str, words: Mapping[str, Any], offer: Callable[..., Any]) -> None:
        """Refuse what loses more than a grant allows for one release; without words nothing is paid for."""
        grant = self._grant(bearer, name)
        if grant.most is not None and words:
            check_most(grant, offer(**words).loss)

    def _named(self, bearer: Bearer, name: str, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        dataset = self._session(bearer, name).dataset
        check_fields(body, ("name", "words"))
        called = body.get("name")
        if not isinstance(called, str):
            raise InvalidParameter("name", type(called).__name__, "a text: your name for it")
        words = read_words(body.get("words"), dataset)
        if unsaid := [word for word in _NOT_SAID if word in words]:
            raise InvalidParameter(f"words.{unsaid[0]}", words[unsaid[0]], "left out")
        return called, words

    @contextlib.contextmanager
    def _alone(self, bearer: Bearer, name: str, kind: str, called: str) -> Iterator[Session]:
        session = self._session(bearer, name)
        place = session.dataset.name, bearer.person.name, kind, called
        with self._turns[hash(place) % len(self._turns)], _naming_words(kind):
            yield session


def held(pace: Pace | Strict | None, steps: int = 1) -> contextlib.AbstractContextManager[None]:
    """Hold back the steps of a release whose turn has come, so that others see them at their times.

    Args:
        pace: when they may be seen; None for at once.
        steps: how many answers it stores, one after another.

    """
    begun = None if pace is None else pace.begin(steps)
    return held_back(None if begun is None else begun.wait, draws_first=begun is not None and begun.draws_first)


@contextlib.contextmanager
def _naming_words(kind: str, wrong: tuple[type[Exception], ...] = (TypeError,)) -> Iterator[None]:
    """Refuse words of a kind that a verb does not take, before anything is debited."""
    try:
        yield
        return
    except DitherError:
        raise
    except wrong:
        pass
    raise InvalidParameter("words", "others", f"words that a {kind} has, each of a kind that it takes")


def _talk_record(talk: Talk) -> dict[str, Any]:
    return {**talk.to_dict(), "said": str(talk)}


def _stream_record(stream: Stream) -> dict[str, Any]:
    return {**stream.to_dict(), "said": str(stream)}
