"""What lives longer than a call, for people elsewhere and without a word of HTTP: opened by name, and let go of again.

What was paid for goes on in its book, in the curator's folder. Each request opens it, goes on where it stopped, and
closes it: no process keeps a book that another may need. Rows never come in: a stream that is fed is fed where it is.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dither.curator.argument_checks import check_arguments
from dither.curator.folder import Curator
from dither.curator.ledger import Receipt
from dither.curator.ledger.request_effects import notice_private
from dither.curator.long_lived import kind_of
from dither.curator.partition_account import PartsInTurn, PlannedPart
from dither.curator.people import Bearer, Grant, People
from dither.curator.remote_release import usual_key
from dither.curator.request_json import read_words
from dither.curator.session import Session
from dither.curator.streams.book import waiting_for_books
from dither.curator.timing_gate import held_back
from dither.errors import DitherError, InvalidParameter
from dither.lift.planned_size import planned_within
from dither.lift.verb import REGISTRY
from dither.privacy import stated_loss
from dither.service.body import check_fields
from dither.service.governance import NotYours, check_most, paged_by_name
from dither.service.long_lived_kinds import SERVED, Step
from dither.service.pace import Pace, Strict
from dither.verbs.offers import Offers

TURNS: Final = 64
#: For how many seconds a book that another process has open is waited for.
PATIENCE: Final = 30.0
_LOSS_WORDS: Final = ("epsilon", "delta", "rho", "loss")
_PART_WORDS: Final = ("label", "question", "noise", "confidence", *_LOSS_WORDS)
_NOT_SAID: Final = ("name", "only_read", "key")
#: What planning raises at words of wrong kinds; what reads rows raises an error of this package whatever happens.
_NOT_PLANNED: Final = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError)


class GoingOn:
    """The part of a desk at which what was paid for goes on; what else it uses is the desk's."""

    _session: Callable[[Bearer, str], Session]
    _grant: Callable[[Bearer, str], Grant]
    _largest: int | None
    _planned: Callable[[], contextlib.AbstractContextManager[None]]
    _here: Any
    curator: Curator
    people: People
    #: One at a time of one book: another would be told that it is in use. Books share these, many to one.
    _turns: tuple[threading.Lock, ...]

    def names_of(self, bearer: Bearer, name: str, kind: str, after: str = "") -> dict[str, Any]:
        """Return the names of what a person has opened of a kind, about a data set; a page of them."""
        found = kind_of(kind).names(self._session(bearer, name))
        return paged_by_name(SERVED[kind].plural, {one: one for one in found}, after)

    def long_lived(self, bearer: Bearer, name: str, kind: str, called: str, query: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is public about one, and what it has answered."""
        served = SERVED[kind]
        with self._alone(bearer, name, kind, called) as session, _open(session, kind, called, only_read=True) as one:
            return served.tells(one) | served.look(one, **query)

    def open_long_lived(
        self, bearer: Bearer, name: str, kind: str, body: Mapping[str, Any], pace: Pace | Strict | None = None
    ) -> dict[str, Any]:
        """Pay for one, or find it open."""
        served = SERVED[kind]
        called, words = self._named(bearer, name, kind, body)
        alone = self._alone(bearer, name, kind, called)
        net, limits = _naming_words(kind_of(kind).book.what, _NOT_PLANNED), planned_within(self._largest)
        with alone as session, net, held(pace), limits:
            self._check_most(bearer, name, words, session.offer, kind)
            with _open(session, kind, called, words) as one:
                return served.tells(one)

    def go_on(
        self,
        bearer: Bearer,
        name: str,
        kind: str,
        step: Step,
        called: str,
        body: Mapping[str, Any],
        pace: Pace | Strict | None = None,
    ) -> dict[str, Any]:
        """Do what is asked of one that is open, at no further cost."""
        self._session(bearer, name)
        asked, alone = step.read(body), self._alone(bearer, name, kind, called)
        # What has no body answers nothing that could be seen before its time.
        with alone as session, held(None if step.body is None else pace), _open(session, kind, called) as one:
            return step.do(one, **asked)

    def stored_part(
        self, bearer: Bearer, name: str, called: str, body: Mapping[str, Any], key: str | None
    ) -> Receipt | None:
        """Return the stored answer to a question about a part, if there is one; what can be refused is refused."""
        with self._alone(bearer, name, "parts", called) as session, session.parts(called, only_read=True) as account:
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
        alone = self._alone(bearer, name, "parts", called)
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

    def _check_most(self, bearer: Bearer, name: str, words: Mapping[str, Any], offers: Offers, kind: str) -> None:
        """Refuse what loses more than a grant allows for one release; without words nothing is paid for."""
        grant = self._grant(bearer, name)
        if grant.most is not None and words:
            check_most(self.curator.ledger, grant, offers.named(kind, words).loss)

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
            with waiting, _naming_words(kind_of(kind).book.what):
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


def _open(session: Session, kind: str, called: str, words: Mapping[str, Any] | None = None, **how: bool) -> Any:
    return kind_of(kind).opened(session, called, words or {}, **how)
