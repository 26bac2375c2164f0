"""Streams, conversations and parts of people elsewhere, without a word of HTTP: opened by name, and let go of again.

What was paid for goes on in its book, in the curator's folder. Each request opens it, goes on where it stopped, and
closes it: no process keeps a book that another may need. Rows never come in: a stream that is fed is fed where it is.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dither.curator.argument_checks import check_arguments
from dither.curator.conversations import Talk, conversation_names
from dither.curator.folder import Curator
from dither.curator.ledger import Receipt
from dither.curator.ledger.request_effects import notice_private
from dither.curator.partition_account import PartsInTurn, PlannedPart, parts_names
from dither.curator.people import Bearer, Grant, People
from dither.curator.remote_release import usual_key
from dither.curator.request_json import public_record, read_words, write_words
from dither.curator.session import Session
from dither.curator.streams.book import waiting_for_books
from dither.curator.streams.opening import stream_names
from dither.curator.streams.stream import Stream
from dither.curator.timing_gate import held_back
from dither.errors import DitherError, InvalidParameter
from dither.lift.planned_size import planned_within
from dither.lift.verb import REGISTRY
from dither.privacy import stated_loss
from dither.service.governance import NotYours, check_fields, check_most, paged_by_name
from dither.service.pace import Pace, Strict

MOST_QUESTIONS: Final = 1000
TURNS: Final = 64
#: For how many seconds a book that another process has open is waited for.
PATIENCE: Final = 30.0
_LOSS_WORDS: Final = ("epsilon", "delta", "rho", "loss")
_PART_WORDS: Final = ("label", "question", "noise", "confidence", *_LOSS_WORDS)
_NOT_SAID: Final = ("name", "only_read", "key")
#: What planning raises at words of wrong kinds; what reads rows raises an error of this package whatever happens.
_NOT_PLANNED: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)


class GoingOn:
    """The part of a desk at which streams and conversations go on; what else it uses is the desk's."""

    _session: Callable[[Bearer, str], Session]
    _grant: Callable[[Bearer, str], Grant]
    _largest: int | None
    _planned: Callable[[], contextlib.AbstractContextManager[None]]
    _here: Any
    curator: Curator
    people: People
    #: One at a time of one book: another would be told that it is in use. Books share these, many to one.
    _turns: tuple[threading.Lock, ...]

    def conversations(self, bearer: Bearer, name: str, after: str = "") -> dict[str, Any]:
        """Return the names of a person's conversations with a data set, a page of them."""
        return paged_by_name(
            "conversations", {one: one for one in conversation_names(self._session(bearer, name))}, after
        )

    def conversation(self, bearer: Bearer, name: str, called: str, confidence: str) -> dict[str, Any]:
        """Return what is public about a conversation, and all its answers."""
        alone = self._alone(bearer, name, "conversation", called)
        with alone as session, session.conversation(called, only_read=True) as talk:
            return _talk_record(talk) | {"answers": [one.to_dict() for one in talk.answers(confidence=confidence)]}

    def open_conversation(
        self, bearer: Bearer, name: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Pay for a conversation, or find it open."""
        called, words = self._named(bearer, name, "conversation", body)
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
            rule = f"a list of 1 to {MOST_QUESTIONS} questions, each a string"
            raise InvalidParameter("questions", type(questions).__name__, rule)
        if not isinstance(confidence, str | float):
            raise InvalidParameter("confidence", type(confidence).__name__, "a number such as 0.95")
        alone = self._alone(bearer, name, "conversation", called)
        with alone as session, held(pace), session.conversation(called) as talk:
            return {"answers": [one.to_dict() for one in talk.ask_all(questions or (), confidence=confidence)]}

    def partitions(self, bearer: Bearer, name: str, after: str = "") -> dict[str, Any]:
        """Return the names of a person's accounts of parts of a data set, a page of them."""
        return paged_by_name("parts", {one: one for one in parts_names(self._session(bearer, name))}, after)

    def parts(self, bearer: Bearer, name: str, called: str) -> dict[str, Any]:
        """Return what is public about an account of parts."""
        with self._alone(bearer, name, "account", called) as session, session.parts(called, only_read=True) as account:
            return _account_record(account, session)

    def open_parts(
        self, bearer: Bearer, name: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Pay for questions about parts, or find them paid for."""
        called, words = self._named(bearer, name, "parts", body)
        alone = self._alone(bearer, name, "account", called)
        with alone as session, _naming_words("account", _NOT_PLANNED), planned_within(self._largest), held(pace):
            self._check_most(bearer, name, words, session.offer.parts)
            with session.parts(called, **words) as account:
                return _account_record(account, session)

    def stored_part(
        self, bearer: Bearer, name: str, called: str, body: Mapping[str, Any], key: str | None
    ) -> Receipt | None:
        """Return the stored answer to a question about a part, if there is one; what can be refused is refused."""
        with self._alone(bearer, name, "account", called) as session, session.parts(called, only_read=True) as account:
            return account.stored(*self._part(session, account, body, key))

    def ask_part(
        self,
        bearer: Bearer,
        name: str,
        called: str,
        body: Mapping[str, Any],
        key: str | None,
        pace: Pace | Strict | None = None,
    ) -> Receipt:
        """Answer a question about a part, at no further cost."""
        alone = self._alone(bearer, name, "account", called)
        with alone as session, held(pace), session.parts(called) as account:
            return account.carry_out(*self._part(session, account, body, key))

    def _part(
        self, session: Session, account: PartsInTurn, body: Mapping[str, Any], key: str | None
    ) -> tuple[PlannedPart, str]:
        """Return a question as it would be asked, and its key: the same for the same question about the same rows."""
        check_fields(body, ("words",))
        words = read_words(body.get("words"), session.dataset)
        check_fields(words, _PART_WORDS)
        loss = stated_loss(**{word: words.pop(word, None) for word in _LOSS_WORDS})
        if missing := [word for word in ("label", "question") if word not in words]:
            raise InvalidParameter(f"words.{missing[0]}", None, "required: the part, and a query of it")
        with _naming_words("question", _NOT_PLANNED), self._planned():
            planned = account.planned(loss=loss, **words)
        return planned, key or usual_key(planned.request, self._here.edition)

    def streams(self, bearer: Bearer, name: str, after: str = "") -> dict[str, Any]:
        """Return the names of a person's streams of a data set, a page of them."""
        return paged_by_name("streams", {one: one for one in stream_names(self._session(bearer, name))}, after)

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
        called, words = self._named(bearer, name, "stream", body)
        alone = self._alone(bearer, name, "stream", called)
        net = _naming_words("stream", _NOT_PLANNED)
        with alone as session, net, held(pace):
            self._check_most(bearer, name, words, session.offer.stream)
            with session.stream(called, **words) as stream:
                return _stream_record(stream)

    def release_ticks(
        self, bearer: Bearer, name: str, called: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Release the ticks of a stream that have ended; told are those after a number, or those that are new."""
        self._session(bearer, name)
        check_fields(body, ("until", "after"))
        after = body.get("after")
        if after is not None and (type(after) is not int or not 0 <= after < 2**63):
            raise InvalidParameter(
                "after", type(after).__name__, "the number of ticks that you already have, an integer"
            )
        alone = self._alone(bearer, name, "stream", called)
        with alone as session, held(pace), session.stream(called) as stream:
            before, found = stream.released, stream.release(body.get("until"))
            if after is not None and after < before:
                # Whoever did not get the last answer is told again what was in it.
                found = stream.answers(after)
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
            check_most(self.curator.ledger, grant, offer(**words).loss)

    def _named(self, bearer: Bearer, name: str, verb: str, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        dataset = self._session(bearer, name).dataset
        check_fields(body, ("name", "words"))
        called = body.get("name")
        if not isinstance(called, str):
            raise InvalidParameter("name", type(called).__name__, "a string: your name for it")
        written = body.get("words")
        if isinstance(written, dict):
            if unsaid := [word for word in _NOT_SAID if word in written]:
                raise InvalidParameter(f"words.{unsaid[0]}", written[unsaid[0]], "not allowed")
            check_arguments(REGISTRY[verb], written, needs_all=False)
        words = read_words(written, dataset)
        usual = self._grant(bearer, name).usual
        # Without words nothing is paid for: what was opened before is found.
        if words and usual is not None and all(words.get(word) is None for word in _LOSS_WORDS):
            words["loss"] = usual
        return called, words

    @contextlib.contextmanager
    def _alone(self, bearer: Bearer, name: str, kind: str, called: str) -> Iterator[Session]:
        """Give a session to one at a time of a book, and to nobody who is let in no more when the turn comes."""
        session = self._session(bearer, name)
        place = session.dataset.name, bearer.person.name, kind, called
        # Where another worker has the book, its turn is waited for.
        turn, waiting = self._turns[hash(place) % len(self._turns)], waiting_for_books(PATIENCE)
        if not turn.acquire(blocking=False):
            # When it comes may follow from what others read.
            notice_private()
            turn.acquire()
        try:
            if not self.people.is_let_in(bearer):
                # A token that was revoked while its request stood in line pays for nothing, and asks nothing.
                raise NotYours(name)
            with waiting, _naming_words(kind):
                yield session
        finally:
            turn.release()


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
    raise InvalidParameter("words", "others", f"arguments of a {kind}, each of a type that it accepts")


def _talk_record(talk: Talk) -> dict[str, Any]:
    return {**talk.to_dict(), "said": str(talk)}


def _account_record(account: PartsInTurn, session: Session) -> dict[str, Any]:
    split = write_words({"partition": public_record(account.partition, session.dataset)}, session.dataset)
    return {**account.to_dict(), **split, "said": str(account)}


def _stream_record(stream: Stream) -> dict[str, Any]:
    return {**stream.to_dict(), "said": str(stream)}
