"""What goes on for long after it was paid for: the verbs of a session that open streams, conversations and parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Unpack, cast

from dither.curator.price import saying_what_is_left
from dither.errors import InvalidParameter
from dither.lift.verb import Lossy, loss_of, spelled_out
from dither.publish.queries import Query
from dither.publish.queries.builder import Groups
from dither.verbs.conversations import Talking
from dither.verbs.streams import Ticking

if TYPE_CHECKING:
    from dither.curator.conversations import Talk
    from dither.curator.partition_account import PartsInTurn
    from dither.curator.session import Session
    from dither.curator.streams.stream import Stream
    from dither.publish.queries.adaptive_parts import OpenPartition
    from dither.publish.queries.parts import Partition


class LongLived(NamedTuple):
    """The names of what an analyst has opened: each is opened again by its name, at no cost."""

    streams: tuple[str, ...]
    conversations: tuple[str, ...]
    parts: tuple[str, ...]


class Continuing:
    """The verbs of a session whose answers come one by one; only ``Session`` derives from it."""

    @spelled_out
    def stream(
        self,
        name: str,
        query: str | Query | Groups | None = None,
        *,
        only_read: bool = False,
        **terms: Unpack[Ticking],
    ) -> Stream:
        """Open a query on a stream: paid for as a whole now, released tick by tick; or open it again, at no cost.

        ``session.quote(session.offer.stream(...))`` says what it would cost.

        Args:
            name: the caller's name for it, by which it is found again.
            query: counts, sums and means over public groups of a table for which the schema declares a stream; left out
                for a stream that was opened before.
            only_read: whether to read what was released, and nothing else; also while another process releases.
            terms: what ``session.offer.stream`` takes: the loss of all ticks together, ``released``, ``horizon`` and
                the options of each kind of release.

        """
        from dither.curator.streams.opening import checked_stream_name, found_stream, opened_stream
        from dither.verbs.streams import ticked_of

        session = cast("Session", self)
        if query is None:
            return found_stream(session, checked_stream_name(name), only_read=only_read)
        if only_read:
            raise InvalidParameter("only_read", True, "left out with a query, which is paid for; or the name alone")
        with saying_what_is_left(session.balance):
            offer = session.offer.stream(query, **terms)
        session._check_declared()
        # Rows that are fed are not here yet.
        (session._check_public_facts if ticked_of(offer).arrivals.is_fed else session._check_offer)(offer)
        return opened_stream(session, offer, checked_stream_name(name), loss_of(terms))

    def long_lived(self) -> LongLived:
        """Return the names of the streams, conversations and accounts of parts that this analyst has opened."""
        from dither.curator.conversations import conversation_names
        from dither.curator.partition_account import parts_names
        from dither.curator.streams.opening import stream_names

        session = cast("Session", self)
        return LongLived(stream_names(session), conversation_names(session), parts_names(session))

    @spelled_out
    def conversation(
        self,
        name: str,
        table: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        only_read: bool = False,
        **terms: Unpack[Talking],
    ) -> Talk:
        """Open a conversation: any number of questions, paid for as a whole now; or open it again, free.

        ``session.quote(session.offer.conversation(...))`` says what it would cost.

        Args:
            name: the caller's name for it, by which it is found again.
            table: the name of a private table; left out for a conversation that was opened before.
            columns: which can be asked about: each with categories or bounds; left out for "cuts".
            only_read: whether to read what was answered, and ask nothing: also while another process asks, and after
                the table was declared otherwise.
            terms: what ``session.offer.conversation`` takes: the loss of all answers together, the ``kind`` of
                questions and the options of each kind.

        """
        from dither.curator.conversations import found_conversation, opened_conversation

        session = cast("Session", self)
        if table is None and terms.get("kind", "counts") == "counts":
            return found_conversation(session, name, only_read=only_read)
        if only_read:
            raise InvalidParameter("only_read", True, "left out with a table, which is paid for; or the name alone")
        with saying_what_is_left(session.balance):
            offer = session.offer.conversation(table, columns, **terms)
        session._check_declared()
        session._check_offer(offer)
        return opened_conversation(session, offer, name)

    @spelled_out
    def parts(
        self,
        name: str,
        partition: Partition | OpenPartition | None = None,
        *,
        only_read: bool = False,
        **terms: Unpack[Lossy],
    ) -> PartsInTurn:
        """Open questions about public disjoint parts of the rows, paid for as a whole now; or open them again, free.

        What all parts may lose together is debited once: the loss of one part, times the parts that a unit touches.
        ``session.quote(session.offer.parts(...))`` says what it would cost.

        Args:
            name: the caller's name for it, by which it is found again.
            partition: ``session.table("visits").partition("site", {"north": ["n"], "south": ["s", "e"]})``; left out
                for an account that was opened before.
            only_read: whether to look at what is left, and ask nothing: also while another process asks.
            terms: the loss of one part: what its questions may lose together.

        """
        from dither.curator.partition_account import found_parts, opened_parts

        session = cast("Session", self)
        if partition is None:
            return found_parts(session, name, only_read=only_read)
        if only_read:
            raise InvalidParameter("only_read", True, "left out with a partition, which is paid for; or the name alone")
        with saying_what_is_left(session.balance):
            offer = session.offer.parts(partition, **terms)
        session._check_declared()
        session._check_public_facts(offer)
        return opened_parts(session, name, offer)
