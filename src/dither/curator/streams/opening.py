"""Opening a stream: what is long-lived about it, and how the rows are read that its caller feeds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dither.curator.access import curator_of, rows_of_session
from dither.curator.long_lived import LongLived, placeless
from dither.curator.streams.book import Book
from dither.curator.streams.instants import frame_in_utc, rows_in_utc
from dither.curator.streams.seizable import SeizableStream
from dither.curator.streams.stream import Stream
from dither.data.engines import Engine, connect
from dither.data.own_tables import parts_of
from dither.data.reference import ReferenceEngine
from dither.data.relations import JoinPublic
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.offer import Offer
from dither.privacy import Loss
from dither.publish.streams.seizable import SeizableAnswer
from dither.verbs.streams import offer_again, ticked_of

if TYPE_CHECKING:
    from dither.curator.session import Session


class Streams(LongLived[Stream]):
    """Queries on streams: paid for as a whole, released tick by tick."""

    verb = "stream"
    plural = "streams"
    called = "stream of"
    asked = opened_with = "query"
    others = "another query or price"
    book = Book

    def facts(self, session: Session, offer: Offer[Any]) -> dict[str, Any]:
        """Return that its noise has a state that is stored; streams opened by earlier versions replay."""
        return {"checkpoints": True}

    def held(self, session: Session, name: str, offer: Offer[Any], book: Any, place: str) -> Stream:
        """Return a stream, of the kind that its query asks for."""
        answer = ticked_of(offer)
        kind = SeizableStream if isinstance(answer, SeizableAnswer) else Stream
        return kind(name, answer, book, _opener(session, offer), place)

    def again(self, session: Session, name: str, about: Mapping[str, Any]) -> Offer[Any]:
        """Return the offer by which it was opened, with the terms of then."""
        return offer_again(session.dataset, about["asked"], Loss.from_dict(about["loss"]))

    def check_offer(self, session: Session, offer: Offer[Any]) -> None:
        """Refuse what can be refused before it costs anything; rows that are fed are not here yet."""
        (session._check_public_facts if ticked_of(offer).arrivals.is_fed else session._check_offer)(offer)

    def same(self, session: Session, offer: Offer[Any], about: Mapping[str, Any], stated: Loss) -> Offer[Any]:
        """Return the offer by which it was opened, where this one differs in the place of its rows alone.

        A stream that spends its delta, because it was opened before plans compared it with epsilon alone, stays as it
        is: the loss that was stated may be more than that of this offer.
        """
        losses = [one.to_dict() for one in (offer.stated, stated)]
        is_same = placeless(about["asked"]) == placeless(offer.asked) and about["loss"] in losses
        return offer_again(session.dataset, about["asked"], Loss.from_dict(about["loss"])) if is_same else offer

    def changed(self, session: Session, offer: Offer[Any], about: Mapping[str, Any], *, by_name: bool) -> str:
        """Return why it cannot continue: in a table declared otherwise, ids of others would count from the start."""
        opened = ticked_of(offer).arrivals.table
        now = next((table for table in session.dataset.tables if table.name == opened.name), None)
        if now is not None and replace(now, source=opened.source) == opened:
            return ""
        return f"the table {opened.name} is declared otherwise than when it was opened; what was released can be read"


LONG_LIVED: Final = Streams()


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
