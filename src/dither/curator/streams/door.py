"""The verbs of a session about streams: each takes the session as its first argument, and is one of its methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dither.curator.price import saying_what_is_left
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.privacy import Loss

if TYPE_CHECKING:
    from dither.curator.session import Session
    from dither.curator.streams.stream import Stream
    from dither.publish.queries import Query
    from dither.publish.queries.builder import Groups


def stream(
    self: Session,
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
    only_read: bool = False,
) -> Stream:
    """Open a query on a stream: paid for as a whole now, released tick by tick; or open it again, at no cost.

    ``session.quote(session.offer.stream(...))`` says what it would cost.

    Args:
        self: the session that opens it.
        name: the caller's name for it, by which it is found again.
        query: counts, sums and means over public groups of a table for which the schema declares a stream; left out
            for a stream that was opened before.
        epsilon: what all ticks together may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy: Gaussian noise.
        loss: what may be lost as a record, in place of these three.
        released: "running" for everything since the start, at the end of each tick; "tick" for each tick by itself.
        horizon: the number of ticks that are paid for; by default the one that the schema declares.
        shares: how the loss is divided among the aggregates, by output name; by default equally.
        only_read: whether to read what was released, and nothing else; also while another process releases.

    """
    from dither.curator.offers.streams import ticked_of
    from dither.curator.streams.opening import checked_stream_name, found_stream, opened_stream

    if query is None:
        return found_stream(self, checked_stream_name(name), only_read=only_read)
    if only_read:
        raise InvalidParameter("only_read", True, "left out with a query, which is paid for; or the name alone")
    said: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "loss": loss}
    with saying_what_is_left(self.balance):
        offer = self.offer.stream(query, **said, released=released, horizon=horizon, shares=shares)
    self.check_declared()
    # Rows that are fed are not here yet.
    (self.check_promise if ticked_of(offer).arrivals.is_fed else self.check_offer)(offer)
    return opened_stream(self, offer, checked_stream_name(name))


def streams(self: Session) -> tuple[str, ...]:
    """Return the names of the streams that this analyst has opened."""
    from dither.curator.streams.opening import stream_names

    return stream_names(self)
