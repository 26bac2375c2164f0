"""What goes on for long after it was paid for: the verbs of a session that open streams, conversations and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from dither.lift.verb import Lossy, spelled_out
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


class Opened(dict[str, tuple[str, ...]]):
    """The names of what an analyst has opened, by kind; each is opened again by its name, at no cost.

    >>> found = Opened(streams=("hourly",), conversations=())
    >>> found.streams, found["conversations"]
    (('hourly',), ())
    """

    def __getattr__(self, plural: str) -> tuple[str, ...]:
        if plural not in self:
            raise AttributeError(plural)
        return self[plural]


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
        found: Stream = self._open_long_lived("stream", name, {"query": query, **terms}, only_read=only_read)
        return found

    def long_lived(self) -> Opened:
        """Return the names of the streams, conversations and accounts of parts that this analyst has opened."""
        from dither.curator.long_lived import MODULES, kind_of

        session = cast("Session", self)
        return Opened({kind.plural: kind.names(session) for kind in map(kind_of, MODULES)})

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
        words = {"table": table, "columns": columns, **terms}
        found: Talk = self._open_long_lived("conversation", name, words, only_read=only_read)
        return found

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
        found: PartsInTurn = self._open_long_lived(
            "parts", name, {"partition": partition, **terms}, only_read=only_read
        )
        return found

    def _open_long_lived(self, verb: str, name: str, words: Mapping[str, Any], *, only_read: bool) -> Any:
        """Open what a verb opens, by the arguments of that verb."""
        # A room of many modules, which every session would import for the few with something long-lived.
        from dither.curator.long_lived import kind_of

        return kind_of(verb).opened(cast("Session", self), name, words, only_read=only_read)
