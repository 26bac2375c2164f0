"""What goes on for long after it was paid for: the verbs of a session that open streams, conversations and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dither.curator.price import saying_what_is_left
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Query
from dither.publish.queries.builder import Groups

if TYPE_CHECKING:
    from dither.curator.conversations import Talk
    from dither.curator.parts_in_turn import PartsInTurn
    from dither.curator.session import Session
    from dither.curator.streams.stream import Stream
    from dither.publish.queries.adaptive_parts import OpenPartition
    from dither.publish.queries.parts import Partition


class Continuing:
    """The verbs of a session whose answers come one by one; only ``Session`` derives from it."""

    def stream(
        self,
        name: str,
        query: str | Query | Groups | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        released: str = "running",
        horizon: int | None = None,
        shares: Mapping[str, Number] | None = None,
        decay: Number | None = None,
        ranks: Sequence[Number] | None = None,
        top: int | None = None,
        changes: int | None = None,
        threshold: int | None = None,
        kept: str | None = None,
        only_read: bool = False,
    ) -> Stream:
        """Open a query on a stream: paid for as a whole now, released tick by tick; or open it again, at no cost.

        ``session.quote(session.offer.stream(...))`` says what it would cost.

        Args:
            name: the caller's name for it, by which it is found again.
            query: counts, sums and means over public groups of a table for which the schema declares a stream; left out
                for a stream that was opened before.
            epsilon: what all ticks together may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a loss in zero-concentrated differential privacy: Gaussian noise.
            loss: what may be lost as a record, in place of these three.
            released: "running" for everything since the start, at the end of each tick; "tick" for each tick by itself;
                "decayed" for sums in which a tick counts less with every further one; "quantiles" of the last group of
                a count, and "top" for its largest groups, both of everything since the start.
            horizon: the number of ticks that are paid for; by default the one that the schema declares. Where it
                declares none, any number is, for somewhat more noise.
            shares: how the loss is divided among the aggregates, by output name; by default equally.
            decay: how much of a tick is left after one more, for decayed sums.
            ranks: the shares of rows at or below each quantile; 1 is the maximum. By default the quartiles and 1.
            top: how many of the largest groups are listed.
            changes: how often that list is chosen at most; by default by the number of ticks.
            threshold: by how much a group has to lead before it is; by default as the noise needs.
            kept: "exact", by default: a stream outlives its process, and whoever has its book and its key can take the
                noise off. "noisy": only noisy numbers are kept, in memory and on disk, and a crash loses the rows of
                the tick that is open; for rows that are fed, and protected one by one.
            only_read: whether to read what was released, and nothing else; also while another process releases.

        """
        from dither.curator.offers.streams import ticked_of
        from dither.curator.streams.opening import checked_stream_name, found_stream, opened_stream

        session = cast("Session", self)
        if query is None:
            return found_stream(session, checked_stream_name(name), only_read=only_read)
        if only_read:
            raise InvalidParameter("only_read", True, "left out with a query, which is paid for; or the name alone")
        said: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "loss": loss}
        kind: dict[str, Any] = {"decay": decay, "ranks": ranks, "top": top, "changes": changes, "threshold": threshold}
        kind["kept"] = kept
        with saying_what_is_left(session.balance):
            offer = session.offer.stream(query, **said, **kind, released=released, horizon=horizon, shares=shares)
        session._check_declared()
        # Rows that are fed are not here yet.
        (session._check_public_facts if ticked_of(offer).arrivals.is_fed else session._check_offer)(offer)
        return opened_stream(session, offer, checked_stream_name(name), stated_loss(**said))

    def streams(self) -> tuple[str, ...]:
        """Return the names of the streams that this analyst has opened."""
        from dither.curator.streams.opening import stream_names

        session = cast("Session", self)
        return stream_names(session)

    def conversation(
        self,
        name: str,
        table: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        kind: str = "counts",
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        bins: Mapping[str, Any] | None = None,
        corrections: int | None = None,
        questions: int = 1000,
        metric: Any = None,
        degree: int | None = None,
        candidates: int | None = None,
        top: int | None = None,
        only_read: bool = False,
    ) -> Talk:
        """Open a conversation: any number of questions, paid for as a whole now; or open it again, free.

        ``session.quote(session.offer.conversation(...))`` says what it would cost.

        Args:
            name: the caller's name for it, by which it is found again.
            table: the name of a private table; left out for a conversation that was opened before.
            columns: which can be asked about: each with categories or bounds; left out for "cuts".
            kind: "counts" of rows; or, for reference, "cuts", the edges between two sets of nodes of a graph;
                "distances", how far all rows are from a value of one column, added up; "disjunctions", how many rows
                have any of some columns of two values; "minimisers", which candidate has the least loss.
            epsilon: what all answers together may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a loss in zero-concentrated differential privacy: Gaussian noise.
            loss: what may be lost as a record, in place of these three.
            bins: for numeric columns a number of cells, or their edges; by default a cell for each integer where there
                are at most 256, else 32 cells.
            corrections: how many gross errors of the model are measured; by default 2 for counts, 10 for minimisers and
                else 20.
            questions: about how many will be asked; any number may be.
            metric: of "distances", between cells: "line", by default, "circle", or a table of whole distances.
            degree: of "disjunctions": that of the polynomial; by default 2.
            candidates: of "minimisers": how many a question has.
            top: of "minimisers": the largest loss of a candidate on one row.
            only_read: whether to read what was answered, and ask nothing: also while another process asks, and after
                the table was declared otherwise.

        """
        from dither.curator.conversations import found_conversation, opened_conversation

        session = cast("Session", self)
        if table is None and kind == "counts":
            return found_conversation(session, name, only_read=only_read)
        if only_read:
            raise InvalidParameter("only_read", True, "left out with a table, which is paid for; or the name alone")
        said: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "loss": loss}
        how: dict[str, Any] = {"bins": bins, "corrections": corrections, "questions": questions}
        how |= {"metric": metric, "degree": degree, "candidates": candidates, "top": top}
        with saying_what_is_left(session.balance):
            offer = session.offer.conversation(table, columns, kind=kind, **said, **how)
        session._check_declared()
        session._check_offer(offer)
        return opened_conversation(session, offer, name)

    def parts(
        self,
        name: str,
        partition: Partition | OpenPartition | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        loss: Loss | None = None,
        only_read: bool = False,
    ) -> PartsInTurn:
        """Open questions about public disjoint parts of the rows, paid for as a whole now; or open them again, free.

        What all parts may lose together is debited once: the loss of one part, times the parts that a unit touches.
        ``session.quote(session.offer.parts(...))`` says what it would cost.

        Args:
            name: the caller's name for it, by which it is found again.
            partition: ``session.table("visits").partition("site", {"north": ["n"], "south": ["s", "e"]})``; left out
                for an account that was opened before.
            epsilon: what the questions about one part may lose together, alone or with ``delta``; or ``rho``.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a loss in zero-concentrated differential privacy: Gaussian noise.
            loss: what one part may lose as a record, in place of these three.
            only_read: whether to look at what is left, and ask nothing: also while another process asks.

        """
        from dither.curator.parts_in_turn import found_parts, opened_parts

        session = cast("Session", self)
        if partition is None:
            return found_parts(session, name, only_read=only_read)
        if only_read:
            raise InvalidParameter("only_read", True, "left out with a partition, which is paid for; or the name alone")
        with saying_what_is_left(session.balance):
            offer = session.offer.parts(partition, epsilon=epsilon, delta=delta, rho=rho, loss=loss)
        session._check_declared()
        session._check_public_facts(offer)
        return opened_parts(session, name, offer)

    def partitions(self) -> tuple[str, ...]:
        """Return the names of the accounts of parts that this analyst has opened."""
        from dither.curator.parts_in_turn import parts_names

        return parts_names(cast("Session", self))

    def conversations(self) -> tuple[str, ...]:
        """Return the names of the conversations that this analyst has opened."""
        from dither.curator.conversations import conversation_names

        session = cast("Session", self)
        return conversation_names(session)
