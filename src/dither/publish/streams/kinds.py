"""What can be released of a stream, by the word for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.exact import Number
from dither.privacy import Loss
from dither.publish.queries.query import Query
from dither.publish.streams.asked import StreamAnswer
from dither.publish.streams.leading import TOP, plan_leading
from dither.publish.streams.ranked import QUANTILES, plan_ranked
from dither.publish.streams.seizable import NOISY, plan_seizable
from dither.publish.streams.ticked import DECAYED, RUNNING, TICK, plan_stream

#: The words, and what may be said with each.
RELEASED: Final[Mapping[str, frozenset[str]]] = {
    RUNNING: frozenset({"kept"}),
    TICK: frozenset({"kept"}),
    DECAYED: frozenset({"decay"}),
    QUANTILES: frozenset({"ranks"}),
    TOP: frozenset({"top", "changes", "threshold"}),
}
#: What a stream keeps where nothing is said: exact numbers, and the key of its noise.
EXACT: Final = "exact"
_NEEDED: Final = {DECAYED: "decay", TOP: "top"}


def plan_released(
    query: Query,
    loss: Loss,
    *,
    released: str = RUNNING,
    horizon: int | None = None,
    shares: Mapping[str, Number] | None = None,
    **said: Any,
) -> StreamAnswer:
    """Return the release of a query on a stream within a loss for all of its ticks.

    Args:
        query: what is asked.
        loss: the most that one unit may lose over all ticks.
        released: one of ``RELEASED``.
        horizon: how many ticks there are; by default as the schema declares.
        shares: how the loss is divided among the aggregates, by name; of "running", "tick" and "decayed" sums.
        **said: what ``RELEASED`` names for the word.

    """
    if released not in RELEASED:
        raise InvalidParameter("released", released, f"one of {', '.join(RELEASED)}")
    for name, value in said.items():
        if name not in RELEASED[released]:
            words = [word for word, names in RELEASED.items() if name in names]
            raise InvalidParameter(name, value, f"not allowed: it is for {' or '.join(words) or 'nothing'}")
    if said.get("kept", EXACT) not in (EXACT, NOISY):
        raise InvalidParameter("kept", said["kept"], f"{EXACT!r} or {NOISY!r}")
    needed = _NEEDED.get(released)
    if needed is not None and needed not in said:
        raise InvalidParameter(needed, None, f"required for {released!r}")
    if released in (QUANTILES, TOP):
        if shares is not None:
            raise InvalidParameter("shares", shares, f"not allowed for {released!r}, which has one count")
        plan: Any = plan_ranked if released == QUANTILES else plan_leading
        answer: StreamAnswer = plan(query, loss, horizon=horizon, **said)
        return answer
    if said.pop("kept", EXACT) != EXACT:
        return plan_seizable(query, loss, released=released, horizon=horizon, shares=shares)
    return plan_stream(query, loss, released=released, horizon=horizon, shares=shares, **said)
