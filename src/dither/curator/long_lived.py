"""What lives longer than a call: opened under a name and paid for once, then opened again by that name at no cost.

A stream, a conversation and an account of parts have one shape. Each has a book in the curator's folder, sealed with a
key in another folder. Opened again, it resumes where the book ends. A kind is a ``LongLived``: it defines how an offer
becomes what a caller holds, and what must be unchanged. The order of refusals, files and debits is here, once. To add a
kind, write its module, with a ``LONG_LIVED``, and its line at ``MODULES``.

The book is made first, with its key; then the ledger is debited, and keeps a digest of the key as the answer. So a
debit has one book for ever: a book that was lost cannot be made anew under the same debit, because its noise would be
other noise for the same steps.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NoReturn, TypeVar

from dither.curator.access import check_affordable, check_declared, commit, curator_of, place_in_books, request_of
from dither.curator.ledger import Receipt
from dither.curator.price import saying_what_is_left
from dither.curator.streams.book import Book, PlainBook
from dither.data.closing import Closing
from dither.errors import HandleMisuse, InvalidParameter, NotFound, StreamUnavailable
from dither.lift.offer import Offer
from dither.lift.verb import LOSSES
from dither.privacy import Loss, stated_loss

if TYPE_CHECKING:
    from dither.curator.session import Session

B_co = TypeVar("B_co", bound=Book, covariant=True)
H_co = TypeVar("H_co", bound="Handle[Any]", covariant=True)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
#: Where the ``LONG_LIVED`` of each kind is, by the verb that opens it; a module is imported when it is first wanted.
MODULES: Final = {
    "stream": "dither.curator.streams.opening",
    "conversation": "dither.curator.conversations",
    "parts": "dither.curator.partition_account",
}


class Handle(Closing, Generic[B_co]):
    """What a caller holds of something long-lived, until it lets go of the book.

    Args:
        name: the caller's name for it.
        book: what was counted, asked and answered.
        place: where the charge is written down.

    """

    #: Why it is not copied or pickled.
    uncopied: ClassVar[str]

    def __init__(self, name: str, book: B_co, place: str) -> None:
        self.name, self.receipt = name, place
        self._book, self._is_open = book, True
        #: What answers, once it goes on.
        self._conversation: Any = None

    def __reduce__(self) -> NoReturn:
        raise HandleMisuse(self.uncopied)

    def close(self) -> None:
        """Close the book, so that it can be opened again, also by another process."""
        if self._is_open:
            self._is_open = False
            self._book.close()

    def _here(self) -> B_co:
        if not self._is_open:
            raise HandleMisuse(f"the {self._book.what} {self.name} was let go of: open it again")
        return self._book

    @contextlib.contextmanager
    def _torn_ends(self) -> Iterator[None]:
        """Drop the conversation after any failure: it resumes from what is durable."""
        try:
            yield
        except BaseException:
            self._conversation = None
            raise


class LongLived(ABC, Generic[H_co]):
    """A kind of what lives longer than a call."""

    #: The verb that opens it: of a session and of its offers, and the first word of its key in the ledger.
    verb: ClassVar[str]
    #: What several of them are called: in the list of a session, over HTTP, and as the folder of their books.
    plural: ClassVar[str]
    #: What an error calls one, before the name of its data set.
    called: ClassVar[str]
    #: The argument without which one that was opened before is found.
    asked: ClassVar[str]
    #: What it is opened with, and what another one of its name would have been opened with, for errors.
    opened_with: ClassVar[str]
    others: ClassVar[str]
    book: ClassVar[type[Book]] = PlainBook

    # What differs.

    @abstractmethod
    def held(self, session: Session, name: str, offer: Offer[Any], book: Any, place: str) -> H_co:
        """Return what a caller holds, once it is paid for."""

    def read(self, session: Session, name: str, about: Mapping[str, Any], book: Any, place: str) -> H_co:
        """Return what a caller holds who only reads."""
        return self.held(session, name, self.again(session, name, about), book, place)

    def again(self, session: Session, name: str, about: Mapping[str, Any]) -> Offer[Any]:
        """Return the offer by which one was opened, as its book says; refuse what can no longer be planned."""
        return session.offer.named(self.verb, {**about["asked"], "loss": Loss.from_dict(about["loss"])})

    def is_asked(self, words: Mapping[str, Any]) -> bool:
        """Whether arguments say what to pay for."""
        return words.get(self.asked) is not None

    def check_offer(self, session: Session, offer: Offer[Any]) -> None:
        """Refuse what can be refused before it costs anything."""
        session._check_offer(offer)

    def facts(self, session: Session, offer: Offer[Any]) -> dict[str, Any]:
        """Return what its book says besides, which must stay as it is."""
        return {}

    def changed(self, session: Session, offer: Offer[Any], about: Mapping[str, Any], *, by_name: bool) -> str:
        """Return why it cannot continue, because something is not as it was when it was opened; "" where it can."""
        return ""

    def same(self, session: Session, offer: Offer[Any], about: Mapping[str, Any], stated: Loss) -> Offer[Any]:
        """Return the offer by which one was opened, where this one asks for the same; else this one."""
        return offer

    # What is one.

    def opened(self, session: Session, name: str, words: Mapping[str, Any], *, only_read: bool = False) -> H_co:
        """Return the one of a name: paid for now, or opened before and free.

        Args:
            session: who asks, and of which data set.
            name: the caller's name for it.
            words: the arguments of its verb; none for one that was opened before.
            only_read: whether to look at it alone.

        """
        if not self.is_asked(words):
            return self._found(session, name, only_read=only_read)
        if only_read:
            rule = f"not allowed with a {self.asked}, which is charged: pass the name alone"
            raise InvalidParameter("only_read", True, rule)
        with saying_what_is_left(session.balance):
            offer = session.offer.named(self.verb, words)
        check_declared(session)
        self.check_offer(session, offer)
        request = request_of(session, offer)
        path, key = book_paths(session, self.plural, checked_name(name))
        if path.exists():
            book = self.book(path, key)
        else:
            # A refusal comes before a file.
            if self._charges(session, name, request.digest):
                raise self.unavailable(name, "it was paid for, and its book is gone; open another one")
            check_affordable(session, offer.loss)
            about = {"digest": request.digest, "words": offer.words, "asked": offer.asked}
            about |= {"loss": offer.stated.to_dict(), **self.facts(session, offer)}
            book = self.book.create(path, key, about)
        with _closed_if_refused(book):
            stated: dict[str, Any] = {word: words.get(word) for word in LOSSES}
            offer = self.same(session, offer, book.about, stated_loss(**stated))
            return self._paid(session, name, offer, book, by_name=False)

    def _found(self, session: Session, name: str, *, only_read: bool) -> H_co:
        """Return one that was opened before, by its name alone."""
        path, key = book_paths(session, self.plural, checked_name(name))
        if not path.exists():
            known = ", ".join(self.names(session)) or "none"
            raise NotFound(f"no {self.called} {session._called} is called {name!r}; there is {known}")
        book = self.book(path, key, only_read=only_read)
        with _closed_if_refused(book):
            about = book.about
            charges = self._charges(session, name, about["digest"])
            if not charges:
                rule = f"it was not paid for when its opening broke off; open it with its {self.opened_with}"
                raise self.unavailable(name, rule)
            if not only_read:
                return self._paid(session, name, self.again(session, name, about), book, by_name=True)
            _check_commitment(charges[0], book)
            return self.read(session, name, about, book, place_in_books(session, charges[0]))

    def names(self, session: Session) -> tuple[str, ...]:
        """Return the names of those that an analyst has opened on a data set."""
        folder, ending = curator_of(session).folder / self.plural, f"-{_owner(session)}.sqlite"
        return tuple(sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}")))

    def unavailable(self, name: str, reason: str) -> StreamUnavailable:
        """Return the error of one that cannot be used."""
        return StreamUnavailable(name, reason, self.book.what)

    def _paid(self, session: Session, name: str, offer: Offer[Any], book: Book, *, by_name: bool) -> H_co:
        """Debit all that a book is for, or find that it was; the ledger keeps a digest of the key of its noise."""
        about, request = book.about, request_of(session, offer)
        if about["digest"] != request.digest:
            rule = f"another for {self.others}: there is one of that name already, {about['words']!r}"
            raise InvalidParameter("name", name, rule)
        if rule := self.changed(session, offer, about, by_name=by_name):
            raise self.unavailable(name, rule)
        opening = json.dumps({"stream": _commitment(book), "words": offer.words}, sort_keys=True).encode()
        receipt = commit(session, request, offer.loss, f"{self.verb} {name}", opening)
        _check_commitment(receipt, book)
        return self.held(session, name, offer, book, place_in_books(session, receipt))

    def _charges(self, session: Session, name: str, digest: str) -> list[Receipt]:
        """Return what was paid for one: one receipt, or none."""
        found = curator_of(session).ledger.find_answers(f"{self.verb} {name}", session.dataset.name)
        return [known for known in found if known.account == session._account and known.request_digest == digest]


def kind_of(verb: str) -> LongLived[Any]:
    """Return the kind that a verb opens."""
    found: LongLived[Any] = import_module(MODULES[verb]).LONG_LIVED
    return found


def checked_name(name: Any) -> str:
    """Return a name that can be that of a file."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidParameter("name", name, "1 to 60 letters, digits, - and _, beginning with a letter or digit")
    return name


def book_paths(session: Session, plural: str, name: str) -> tuple[Path, Path]:
    """Return the paths of a book and of its key, which is in another folder.

    Args:
        session: who asks, and of which data set.
        plural: the kind: the folder of its books.
        name: the caller's name for it.

    """
    stem = f"{name}-{_owner(session)}"
    curator = curator_of(session)
    # A point is in no name: no stream has the key of a conversation.
    prefix = "" if plural == "streams" else f"{plural}."
    return curator.folder / plural / f"{stem}.sqlite", curator.anchors / f"{curator.ledger.id}-{prefix}{stem}.key"


def placeless(record: Any) -> Any:
    """Return encoded records without the places of tables, which another edition may change."""
    if isinstance(record, list):
        return [placeless(one) for one in record]
    if not isinstance(record, dict):
        return record
    left_out = ("source",) if record.get("is") == "Table" else ()
    return {name: placeless(one) for name, one in record.items() if name not in left_out}


def _owner(session: Session) -> str:
    """Return the part of a path that separates the books of one analyst and data set from all others."""
    return hashlib.sha256(json.dumps([session._account.dataset, session._account.analyst]).encode()).hexdigest()[:12]


def _commitment(book: Book) -> str:
    return hashlib.sha256(book.seal.derived("commitment")).hexdigest()


def _check_commitment(receipt: Receipt, book: Book) -> None:
    """Refuse a book whose noise follows from another key than that of the one that was paid for."""
    if json.loads(receipt.answer).get("stream") != _commitment(book):
        raise StreamUnavailable(book.path.stem, "its book is not the one that was paid for", book.what)


@contextlib.contextmanager
def _closed_if_refused(book: Book) -> Iterator[None]:
    try:
        yield
    except BaseException:
        book.close()
        raise
