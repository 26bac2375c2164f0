"""Instances of queries on streams, planned from what is protected, asked and released, with people as neighbours.

The parameters of a stream only fit together when they are planned together. Neighbours are one unit apart as the schema
declares it: a person comes at as many ticks as count, no nearer to each other than is declared, with as many rows as
count in a tick, all in one group or spread over several. What they add to each tick is added up here in the plainest
way, so that it shares nothing with the code that prices it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dither.data.schema import DataSet, person_unit
from dither.mechanisms import Dialogue, Example
from dither.privacy import ZCDP, PureDP
from dither.publish.queries.query import Aggregate, Query
from dither.publish.streams.asked import StreamAnswer
from dither.publish.streams.examples import COUNT, TOTAL, clinic_stream, stream_query
from dither.testing.spaces import Axis, Space

_SITES: Final = ("east", "middle", "west")
#: So many that a tree over them has several levels, of which one unit moves a node each.
_MANY_SITES: Final = tuple(f"site {number:03}" for number in range(100))
_PEOPLE: Final = Aggregate("people", "persons")
#: Who is protected: rows, rows that are replaced, or people, with the rows a tick, ticks and gap that count of each.
_WHO: Final = ("rows", "rows replaced", (2, 2, 2), (3, 3, 1), (1, 2, 1), (2, 2, 2, "replaced"))
_ASKED: Final = ((COUNT,), (TOTAL,), (_PEOPLE,), (COUNT, TOTAL))
_LOSSES: Final = (PureDP(1), ZCDP("1/2"))


def clinic_of(who: Any, horizon: int, sites: tuple[str, ...] = _SITES) -> DataSet:
    """Return a clinic whose visits arrive by the hour, and in which this is protected."""
    if isinstance(who, str):
        return clinic_stream(persons=False, is_replaced=who != "rows", sites=sites, horizon=horizon)
    people = clinic_stream(persons=True, sites=sites, horizon=horizon)
    visits = people.tables[0]
    rows, ticks, gap, *replaced = who
    arriving: Any = replace(visits.stream, rows=rows, ticks=ticks, gap=gap)  # type: ignore[type-var]
    unit = person_unit("person", replaced=bool(replaced))
    return replace(people, tables=(replace(visits, declared=(arriving,)),), unit=unit, rows=rows)


def stream_space(name: str, plan: Callable[..., Any], asked: tuple[Any, ...] = _ASKED, **own: tuple[Any, ...]) -> Space:
    """Return the space of a class that is planned from a query on a stream.

    Args:
        name: of the class.
        plan: plans an instance from a query, a loss and the other values.
        asked: what is measured.
        own: axes that this class alone has.

    """
    axes = (
        Axis("who", _WHO),
        Axis("by_site", (True, False)),
        Axis("asked", asked),
        Axis("loss", _LOSSES),
        Axis("horizon", (4, 6)),
        *(Axis(key, values) for key, values in own.items()),
    )

    def make(start: int, values: dict[str, Any]) -> Example:
        given = dict(values)
        dataset = clinic_of(given.pop("who"), given.pop("horizon"), given.pop("sites", _SITES))
        query = stream_query(dataset, *given.pop("asked"), by_site=given.pop("by_site"))
        mechanism = plan(query, given.pop("loss"), **given)
        return Example(mechanism, *talks(mechanism, query))

    return Space(name, axes, ((0,) * len(axes),), make)


def talks(mechanism: StreamAnswer, query: Query) -> tuple[Dialogue, tuple[tuple[Any, Any, int], ...]]:
    """Return a stream of ticks, and pairs of streams that one unit has changed."""
    steps, shape = int(mechanism.steps or 4), (mechanism.cells, len(mechanism.arrivals.measured))
    usual = np.arange(steps * shape[0] * shape[1], dtype=np.int64).reshape(steps, *shape) % 4
    pairs: list[tuple[Any, Any, int]] = []
    for one in units(mechanism):
        if query.dataset.is_replaced:
            # Another unit of the same kind leaves: the same groups the other way round, or nothing in common.
            pairs += [(_talk(usual + one), _talk(usual + other), 1) for other in (one[:, ::-1], one[::-1], 0 * one)]
        else:
            pairs += [(_talk(usual), _talk(usual + one), 1), (_talk(usual + one), _talk(usual), 1)]
    return _talk(usual), tuple(pairs)


def units(mechanism: StreamAnswer) -> Iterator[Any]:
    """Yield what one unit may add to all ticks: a number for each tick, group and measure."""
    measured, ticks = mechanism.arrivals.measured, mechanism.arrivals.ticks
    steps, cells = int(mechanism.steps or 4), mechanism.cells
    rows, often, gap = (ticks.rows or 1), (ticks.ticks or 1), ticks.gap
    for first in {0, max(0, steps - 1 - gap * (often - 1))}:
        at = list(range(first, steps, gap))[:often]
        for groups in (list(range(min(rows, cells))), [cells - 1]):
            added = np.zeros((steps, cells, len(measured)), dtype=np.int64)
            for number, tick in enumerate(at):
                for row in range(rows):
                    group = groups[row % len(groups)]
                    for column, one in enumerate(measured):
                        largest = one.most if abs(one.most) >= abs(one.least) else one.least
                        if not one.counts_units:
                            added[tick, group, column] += largest
                        elif number == 0 or not mechanism.is_running:
                            # A person is one in each group, however many rows there are.
                            added[tick, group, column] = 1
            yield added


def _talk(numbers: Any) -> Dialogue:
    return Dialogue(None, tuple(numbers))


def _ticked() -> Space:
    from dither.publish.streams.ticked import DECAYED, RUNNING, TICK, plan_stream

    def plan(query: Query, loss: Any, *, released: str) -> Any:
        return plan_stream(query, loss, released=released, decay="1/2" if released == DECAYED else None)

    return stream_space("ticked-answer", plan, released=(TICK, RUNNING, DECAYED))


def _ranked() -> Space:
    from dither.publish.streams.ranked import plan_ranked

    return stream_space(
        "ranked-answer", plan_ranked, ((COUNT,),), ranks=(None, ("1/2",), ("1/3", 1)), sites=(_SITES, _MANY_SITES)
    )


def _seizable() -> Space:
    from dither.publish.streams.seizable import plan_seizable

    return stream_space("seizable-answer", plan_seizable, released=("tick", "running"))


def _leading() -> Space:
    from dither.publish.streams.leading import plan_leading

    def plan(query: Query, loss: Any, *, top: int, changes: int) -> Any:
        return plan_leading(query, loss, top=top, changes=changes, threshold=1)

    return stream_space("leading-groups", plan, ((COUNT,),), top=(1, 2), changes=(1, 2, 3))


RULES: Final[dict[str, Callable[[], Space]]] = {
    "ticked-answer": _ticked,
    "ranked-answer": _ranked,
    "seizable-answer": _seizable,
    "leading-groups": _leading,
}
