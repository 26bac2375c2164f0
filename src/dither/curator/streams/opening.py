"""Opening a stream: it is paid for as a whole, once, and found again by its name.

The book is made first, with its key; then the ledger is debited, and keeps a digest of the key as the answer. So a
debit has one book for ever: a book that was lost cannot be made anew under the same debit, because its noise would be
other noise for the same ticks.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.curator.access import (
    check_affordable,
    commit,
    curator_of,
    place_in_books,
    request_of,
    rows_of_session,
)
from dither.curator.ledger import Receipt
from dither.curator.streams.book import Book
from dither.curator.streams.instants import frame_in_utc, rows_in_utc
from dither.curator.streams.seizable import SeizableStream
from dither.curator.streams.stream import Stream
from dither.data.engines import Engine, connect
from dither.data.own_tables import parts_of
from dither.data.reference import ReferenceEngine
from dither.data.relations import JoinPublic
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter, NotFound, StreamUnavailable
from dither.lift.offer import Offer
from dither.privacy import Loss
from dither.publish.streams.seizable import SeizableAnswer
from dither.verbs.streams import offer_again, ticked_of

if TYPE_CHECKING:
    from dither.curator.session import Session

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")


def checked_stream_name(name: Any) -> str:
    """Return a name that can be that of a file."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidParameter("name", name, "1 to 60 letters, digits, - and _, beginning with a letter or digit")
    return name


def opened_stream(session: Session, offer: Offer[Any], name: str, stated: Loss | None = None) -> Stream:
    """Return the stream of a name: made and paid for, or found and not paid for again.

    Args:
        session: who asks, and of which data set.
        offer: what would be released.
        name: the caller's name for it.
        stated: the loss as the caller stated it, where the offer may spend less of it.

    """
    request = request_of(session, offer)
    path, key = paths_of(session, name)
    if path.exists():
        book = Book(path, key)
        offer = _as_opened(session, offer, book, stated)
    else:
        # A refusal comes before a file.
        if _is_paid(session, name, request.digest):
            raise StreamUnavailable(name, "it was paid for, and its book is gone; open another one")
        check_affordable(session, offer.loss)
        about = {"digest": request.digest, "words": offer.words, "asked": offer.asked, "loss": offer.stated.to_dict()}
        book = Book.create(path, key, about)
    return _stream(session, offer, name, book)


def _as_opened(session: Session, offer: Offer[Any], book: Book, stated: Loss | None) -> Offer[Any]:
    """Return the offer by which a stream was opened, where this one differs in the place of its rows alone.

    A stream that spends its delta, because it was opened before plans compared it with epsilon alone, stays as it is.
    """
    try:
        about = book.about
        losses = [one.to_dict() for one in (offer.stated, stated) if one is not None]
        is_same = placeless(about["asked"]) == placeless(offer.asked) and about["loss"] in losses
        return offer_again(session.dataset, about["asked"], Loss.from_dict(about["loss"])) if is_same else offer
    except BaseException:
        book.close()
        raise


def found_stream(session: Session, name: str, *, only_read: bool) -> Stream:
    """Return a stream that was opened before, by its name alone.

    Args:
        session: who asks, and of which data set.
        name: the caller's name for it.
        only_read: whether nothing is fed or released.

    """
    path, key = paths_of(session, name)
    if not path.exists():
        known = ", ".join(stream_names(session)) or "none"
        raise NotFound(f"no stream of {session._called} is called {name!r}; there is {known}")
    book = Book(path, key, only_read=only_read)
    try:
        about = book.about
        offer = offer_again(session.dataset, about["asked"], Loss.from_dict(about["loss"]))
        if not _is_paid(session, name, about["digest"]):
            raise StreamUnavailable(name, "it was not paid for when its opening broke off; open it with its query")
        if not only_read:
            _check_unchanged(session.dataset, ticked_of(offer).arrivals.table, name)
    except BaseException:
        book.close()
        raise
    return _stream(session, offer, name, book)


def _is_paid(session: Session, name: str, digest: str) -> bool:
    found = curator_of(session).ledger.find_answers(_key_of(name), session.dataset.name)
    return any(known.account == session._account and known.request_digest == digest for known in found)


def _check_unchanged(dataset: DataSet, opened: Table, name: str) -> None:
    """Refuse to go on with a table that is declared otherwise: ids of other people would each count from the start."""
    now = next((table for table in dataset.tables if table.name == opened.name), None)
    if now is None or replace(now, source=opened.source) != opened:
        rule = f"the table {opened.name} is declared otherwise than when it was opened; what was released can be read"
        raise StreamUnavailable(name, rule)


def stream_names(session: Session) -> tuple[str, ...]:
    """Return the names of the streams that an analyst has opened on a data set."""
    return book_names(session, "streams")


def paths_of(session: Session, name: str) -> tuple[Path, Path]:
    """Return where the book of a stream is, and its key, which is kept elsewhere."""
    return book_paths(session, "streams", name)


def book_paths(session: Session, kind: str, name: str) -> tuple[Path, Path]:
    """Return where a book of some kind is, and its key.

    Args:
        session: who asks, and of which data set.
        kind: "streams", "conversations" or "parts": the folder of the books.
        name: the caller's name for it.

    """
    stem = f"{name}-{book_owner(session)}"
    curator = curator_of(session)
    # A point is in no name: no stream has the key of a conversation.
    prefix = "" if kind == "streams" else f"{kind}."
    return curator.folder / kind / f"{stem}.sqlite", curator.anchors / f"{curator.ledger.id}-{prefix}{stem}.key"


def book_names(session: Session, kind: str) -> tuple[str, ...]:
    """Return the names of the books of some kind that an analyst has opened on a data set.

    Args:
        session: who asks, and of which data set.
        kind: the folder of the books.

    """
    folder, ending = curator_of(session).folder / kind, f"-{book_owner(session)}.sqlite"
    return tuple(sorted(path.name.removesuffix(ending) for path in folder.glob(f"*{ending}")))


def book_owner(session: Session) -> str:
    """Return what tells the books of one analyst of one data set from those of others."""
    return hashlib.sha256(json.dumps([session._account.dataset, session._account.analyst]).encode()).hexdigest()[:12]


def placeless(record: Any) -> Any:
    """Return encoded records without the places of tables, which another edition may change."""
    if isinstance(record, list):
        return [placeless(one) for one in record]
    if not isinstance(record, dict):
        return record
    left_out = ("source",) if record.get("is") == "Table" else ()
    return {name: placeless(one) for name, one in record.items() if name not in left_out}


def _key_of(name: str) -> str:
    return f"stream {name}"


def _stream(session: Session, offer: Offer[Any], name: str, book: Book) -> Stream:
    try:
        if book.about["digest"] != request_of(session, offer).digest:
            rule = f"another for another query or price: there is one of that name already, {book.about['words']!r}"
            raise InvalidParameter("name", name, rule)
        receipt = paid(session, offer, _key_of(name), book)
    except BaseException:
        book.close()
        raise
    answer = ticked_of(offer)
    kind = SeizableStream if isinstance(answer, SeizableAnswer) else Stream
    return kind(name, answer, book, _opener(session, offer), place_in_books(session, receipt))


def paid(session: Session, offer: Offer[Any], key: str, book: Book) -> Receipt:
    """Debit all that a book is for, or find that it was; the ledger keeps a digest of the key of its noise.

    Args:
        session: who asks, and of which data set.
        offer: what is released.
        key: of the request in the ledger.
        book: where it is kept.

    """
    commitment = hashlib.sha256(book.seal.derived("commitment")).hexdigest()
    opening = json.dumps({"stream": commitment, "words": offer.words}, sort_keys=True).encode()
    receipt = commit(session, request_of(session, offer), offer.loss, key, opening)
    if json.loads(receipt.answer).get("stream") != commitment:
        raise StreamUnavailable(book.path.stem, "its book is not the one that was paid for", book.what)
    return receipt


def _opener(session: Session, offer: Offer[Any]) -> Callable[[Any], contextlib.AbstractContextManager[Engine]]:
    """Return what opens the rows that a caller feeds, or those of the tables where there are none."""
    table = ticked_of(offer).arrivals.table.name
    # Of all that a session has, what rows in memory are read with: the same for every batch.
    only = replace(session.dataset, tables=tuple(one for one in session.dataset.tables if one.name == table))

    @contextlib.contextmanager
    def opened(rows: Any) -> Iterator[Engine]:
        if rows is None:
            with rows_of_session(session) as engine:
                yield engine
            return
        engine = _fed(session, offer, only, rows)
        try:
            engine.check()
            yield engine
        finally:
            engine.close()

    return opened


def _fed(session: Session, offer: Offer[Any], only: DataSet, rows: Any) -> Engine:
    """Return an engine over rows that a caller gives in place of a table's, the only one of ``only``."""
    table, time = only.tables[0].name, ticked_of(offer).arrivals.ticks.time
    joins = any(isinstance(part, JoinPublic) for part in parts_of(ticked_of(offer).query.relation))
    if not joins and _is_empty(rows):
        # A frame without rows has no types but those that a library makes up.
        rows = []
    if isinstance(rows, list | tuple):
        if joins:
            raise InvalidParameter("rows", "a list", "a frame or a file: the query joins a public table")
        arrived = rows_in_utc(rows, only.tables[0], time)
        # One row that is no record must not decide what becomes of the others, nor what it says that its class is.
        return ReferenceEngine(only, {table: [row if issubclass(type(row), Mapping) else {} for row in arrived]})
    # Other private tables are not read, so that their rows need not be at hand.
    private = {one.name: None for one in session.dataset.tables if not one.is_public}
    read = curator_of(session).as_read(session.dataset, private)
    dataset = replace(read, tables=tuple(one for one in read.tables if one.is_public or one.name == table))
    folder = curator_of(session).folder
    if isinstance(rows, str | Path):
        return connect(_with_source(dataset, table, str(Path(rows).resolve())), folder=folder)
    # A batch of Spark's becomes a frame of this process.
    frame = rows.toPandas() if hasattr(rows, "toPandas") else rows
    stored = next(one for one in dataset.tables if one.name == table).column(time).stored_name
    return connect(dataset, folder=folder, frames={table: frame_in_utc(frame, stored)})


def _is_empty(rows: Any) -> bool:
    """Return whether something is a frame without rows."""
    return hasattr(rows, "columns") and hasattr(rows, "__len__") and len(rows) == 0


def _with_source(dataset: DataSet, table: str, source: str) -> DataSet:
    tables = tuple(replace(one, source=source) if one.name == table else one for one in dataset.tables)
    return replace(dataset, tables=tables, engine="duckdb")
