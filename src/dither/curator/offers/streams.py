"""Streams: a query that is priced as a whole, and released tick by tick."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from dither.curator.offers.answers import read_query
from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer
from dither.privacy import Loss, stated_loss
from dither.publish.queries import Query
from dither.publish.queries.builder import Groups
from dither.publish.streams.ticked import TickedAnswer, plan_stream


def stream(
    dataset: DataSet,
    query: str | Query | Groups,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    released: str = "running",
    horizon: int | None = None,
    shares: Mapping[str, Number] | None = None,
) -> Offer[Any]:
    """Offer a query on a stream, for all of its ticks; ``Session.stream`` opens it.

    Args:
        dataset: the schema.
        query: counts, sums and means over public groups of a table for which the schema declares a stream.
        epsilon: what all ticks together may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy: Gaussian noise.
        loss: what may be lost as a record, in place of these three.
        released: "running" for everything since the start, at the end of each tick; "tick" for each tick by itself.
        horizon: the number of ticks that are paid for; by default the one that the schema declares.
        shares: how the loss is divided among the aggregates, by output name; by default equally.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    return _offer(read_query(dataset, query), stated, released, horizon, shares)


def offer_again(dataset: DataSet, asked: Mapping[str, Any], loss: Loss) -> Offer[Any]:
    """Offer a stream as it was opened before.

    Args:
        dataset: the schema.
        asked: the parameters, as its offer had them.
        loss: what all ticks together may lose.

    """
    query = wire.decode(asked["query"])
    if not isinstance(query, Query) or query.dataset.name != dataset.name:
        raise InvalidParameter("asked", type(query).__name__, f"a query on {dataset.name}")
    return _offer(query, loss, asked["released"], asked["horizon"], asked["shares"])


def _offer(
    query: Query, stated: Loss, released: str, horizon: int | None, shares: Mapping[str, Number] | None
) -> Offer[Any]:
    mechanism: Any = plan_stream(query, stated, released=released, horizon=horizon, shares=shares)
    request = {"query": wire.encode(query), "released": released, "horizon": mechanism.steps}
    request["shares"] = None if shares is None else {name: str(share) for name, share in sorted(shares.items())}
    return Offer("stream", mechanism.words, mechanism, request, stated, _not_released, _not_released)


def ticked_of(offer: Offer[Any]) -> TickedAnswer:
    """Return what an offer of a stream would release."""
    mechanism: Any = offer.mechanism
    if not isinstance(mechanism, TickedAnswer):
        raise InvalidParameter("offer", offer.verb, "that of a stream")
    return mechanism


def _not_released(*_: Any) -> NoReturn:
    raise HandleMisuse("a stream is opened by ``session.stream``, and released tick by tick")
