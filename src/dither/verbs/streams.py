"""Streams: a query that is priced as a whole, and released tick by tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer, not_released
from dither.lift.verb import Arg, Group, Lossy, M, loss_of, verb
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.queries import Query
from dither.publish.queries.builder import Groups
from dither.verbs.answers import read_query
from dither.verbs.arguments import Shares

if TYPE_CHECKING:
    from dither.publish.streams.asked import StreamAnswer

#: Where no end is known, the number of ticks for which errors are compared.
_LONG: Final = 10_000
#: At how many ticks errors are compared.
_COMPARED: Final = 37

StreamQuery = Annotated[
    str | Query | Groups,
    Arg(
        "counts, sums and means over public groups of a table for which the schema declares a stream",
        schema={"anyOf": [{"type": "string"}, {"type": "object", "required": ["spec"]}]},
    ),
]


class Ticking(Lossy, total=False):
    """Arguments of a query on a stream."""

    released: Annotated[
        str,
        Arg(
            "running for everything since the start, at the end of each tick; tick for each tick alone; decayed for "
            "sums in which older ticks count less; quantiles of the last group of a count and top for its largest "
            "groups, both of everything since the start",
            choices=("running", "tick", "decayed", "quantiles", "top"),
            default="running",
        ),
    ]
    horizon: Annotated[
        int | None,
        Arg(
            "the number of ticks that are paid for; by default the one that the schema declares. Where it declares "
            "none, any number is, for somewhat more noise"
        ),
    ]
    shares: Shares
    decay: Annotated[Number | None, Arg("for decayed sums: how much of a tick is left after one more")]
    ranks: Annotated[
        Sequence[Number] | None,
        Arg("for quantiles: the shares of rows at or below each; 1 is the maximum; by default the quartiles and 1"),
    ]
    top: Annotated[int | None, Arg("for top: how many of the largest groups are listed")]
    changes: Annotated[
        int | None, Arg("for top: how often the list is chosen at most; by default by the number of ticks")
    ]
    threshold: Annotated[int | None, Arg("for top: by how much a group has to lead; by default as the noise needs")]
    kept: Annotated[
        str | None,
        Arg(
            "exact (the default): a stream outlives its process, and anyone with its book and its key can remove the "
            "noise; noisy: only noisy numbers are stored, and a crash loses the rows of the open tick; for rows that "
            "are fed and protected one by one",
            choices=("exact", "noisy"),
        ),
    ]


class Streams(Group[M]):
    """Continual release."""

    @verb(arguments=("query",))
    @staticmethod
    def stream(dataset: DataSet, query: StreamQuery, **terms: Unpack[Ticking]) -> Offer[Any]:
        """Price a query on a stream, for all of its ticks; ``Session.stream`` opens it."""
        kind: dict[str, Any] = {
            name: terms.get(name) for name in ("decay", "ranks", "top", "changes", "threshold", "kept")
        }
        released, horizon, shares = terms.get("released", "running"), terms.get("horizon"), terms.get("shares")
        stated = loss_of(terms)
        asked = read_query(dataset, query)
        offer = _offer(asked, stated, released, horizon, shares, kind)
        if not isinstance(stated, ApproxDP) or not stated.delta or not _errors(offer):
            return offer
        # By epsilon alone trees may err less, and cost no delta.
        plain = _offer(asked, PureDP(stated.epsilon), released, horizon, shares, kind)
        is_alike = ticked_of(plain).query == ticked_of(offer).query  # on the same grids
        pairs = zip(_errors(plain), _errors(offer), strict=True)
        return plain if is_alike and sum(one / max(other, 1) - 1 for one, other in pairs) < 0 else offer


def _errors(offer: Offer[Any]) -> list[int]:
    """Return how far all that is measured errs at some ticks of a stream: public facts, or nothing."""
    from dither.publish.streams.ticked import TickedAnswer

    made = ticked_of(offer)
    if not isinstance(made, TickedAnswer):
        return []
    # The error of trees depends on the digits of a tick's number: many ticks, which are no multiples of each other.
    steps = made.steps or _LONG
    ticks = sorted({steps * part // _COMPARED for part in range(_COMPARED)})
    return [made.reach(tick, place, "0.95") for tick in ticks for place in range(len(made.counters))]


def offer_again(dataset: DataSet, asked: Mapping[str, Any], loss: Loss) -> Offer[Any]:
    """Offer a stream as it was opened before.

    Args:
        dataset: the schema.
        asked: the parameters, as its offer had them.
        loss: what all ticks together may lose.

    """
    from dither.publish.streams.leading import FORMER_CHANGES, TOP, former_terms

    query = wire.decode(asked["query"])
    if not isinstance(query, Query) or query.dataset.name != dataset.name:
        raise InvalidParameter("asked", type(query).__name__, f"a query on {dataset.name}")
    kind = asked.get("kind", {})
    is_former = asked["released"] == TOP and not {"changes", "threshold"} <= kind.keys()
    if is_former:
        # Its noise goes on only with the terms by which it began.
        times = kind.get("changes", FORMER_CHANGES)
        kind = former_terms(query, loss, top=kind["top"], changes=times, horizon=asked["horizon"]) | dict(kind)
    offer = _offer(query, loss, asked["released"], asked["horizon"], asked["shares"], kind)
    return replace(offer, asked=dict(asked)) if is_former else offer


def _offer(
    query: Query,
    stated: Loss,
    released: str,
    horizon: int | None,
    shares: Mapping[str, Number] | None,
    kind: Mapping[str, Any],
) -> Offer[Any]:
    # A room of many modules, which every session would import for the few with a stream.
    from dither.publish.streams.kinds import plan_released
    from dither.publish.streams.leading import LeadingGroups

    said = {name: value for name, value in kind.items() if value is not None}
    mechanism: Any = plan_released(query, stated, released=released, horizon=horizon, shares=shares, **said)
    request = {"query": wire.encode(query), "released": released, "horizon": mechanism.steps}
    if isinstance(mechanism, LeadingGroups):
        # Kept with what was asked, so that other defaults never change a list that is open.
        said |= {"changes": mechanism.test.positives, "threshold": mechanism.test.threshold}
    request["shares"] = None if shares is None else {name: str(share) for name, share in sorted(shares.items())}
    if said:
        request["kind"] = {name: _plain(value) for name, value in sorted(said.items())}
    return Offer("stream", mechanism.words, mechanism, request, stated, not_released, not_released, opened_by="stream")


def _plain(value: Any) -> Any:
    """Return a number as a text, and a whole one as it is."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value if isinstance(value, int) else str(value)


def ticked_of(offer: Offer[Any]) -> StreamAnswer:
    """Return what an offer of a stream would release."""
    from dither.publish.streams.asked import StreamAnswer

    mechanism: Any = offer.mechanism
    if not isinstance(mechanism, StreamAnswer):
        raise InvalidParameter("offer", offer.verb, "that of a stream")
    return mechanism
