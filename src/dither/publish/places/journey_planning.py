"""Synthetic journeys of a declared table: planned from public facts, presented as a table of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.data.columns import ColumnRows
from dither.data.place_tables import Places
from dither.data.schema import DataSet, Table
from dither.errors import InvalidParameter
from dither.exact import whole
from dither.lift.journeys import Journeys
from dither.lift.lifted import Lifted
from dither.lift.places import declared, grid_shape
from dither.lift.stored import LARGEST_ANSWER
from dither.privacy import Loss
from dither.publish.places.journey_synthesis import JourneySynthesis
from dither.publish.places.journeys import MOST_ALONG, MOST_DRAWN, MOST_LENGTH
from dither.publish.places.markov_journeys import MarkovJourneys
from dither.publish.places.planning import cell_middles
from dither.publish.places.prefix_journeys import PrefixJourneys
from dither.publish.queries import QueryResult, ResultColumn

AUTO: Final = "auto"
KINDS: Final[dict[str, type[Any]]] = {
    "walks": JourneySynthesis,
    "markov": MarkovJourneys,
    "prefix-tree": PrefixJourneys,
}
_USUAL_GRID: Final = 20
#: Bytes of a stored point, and of what stands around all.
_POINT, _HEAD = 56, 2**16
_MADE: Final = "journeys are synthetic: how much one of them tells about a true one is bounded by the loss"


@dataclass(frozen=True)
class JourneyPlan:
    """A release of synthetic journeys that is priced but not yet made."""

    mechanism: Lifted
    length: int
    present: Callable[[Any, Fraction], QueryResult]


def plan_journeys(
    dataset: DataSet,
    table: Table,
    loss: Loss,
    *,
    grid: Any = None,
    length: int | None = None,
    most: int | None = None,
    method: str = AUTO,
) -> JourneyPlan:
    """Return the release of synthetic journeys.

    Args:
        dataset: the schema.
        table: whose places declare trip and time.
        loss: what it may lose.
        grid: the cells along each side; by default 20.
        length: how many cells of a journey count; by default three times the longer side of the grid.
        most: how many journeys are drawn at most.
        method: one of ``KINDS``, or "auto" for the first.

    """
    chosen = "walks" if method == AUTO else method
    if chosen not in KINDS:
        raise InvalidParameter("method", method, f"one of {', '.join((AUTO, *KINDS))}")
    shape = grid_shape(_USUAL_GRID if grid is None else grid)
    if max(shape) > MOST_ALONG:
        raise InvalidParameter("grid", shape, f"at most {MOST_ALONG} cells along each side, for journeys")
    source = Journeys(dataset, table.name, shape)
    usual = min(3 * max(shape), MOST_LENGTH)
    cells = usual if length is None else whole("length", length, least=2, most=MOST_LENGTH)
    # What a ledger stores is limited, and with it the journeys that are drawn: by public facts.
    limit = max(1, min(MOST_DRAWN, (LARGEST_ANSWER - _HEAD) // (_POINT * cells)))
    drawn = limit if most is None else min(whole("most", most, least=1), limit)

    def build(each: Loss) -> Any:
        return KINDS[chosen].calibrated(each, shape=shape, length=cells, most=drawn)

    made = Lifted.calibrated(loss, source=source, build=build)

    def present(out: Any, confidence: Fraction) -> QueryResult:
        return _table(made, declared(table), shape, np.asarray(out, dtype=np.int64), confidence, chosen)

    return JourneyPlan(made, cells, present)


def _table(
    made: Lifted, places: Places, shape: tuple[int, int], journeys: Any, confidence: Fraction, method: str
) -> QueryResult:
    """Return a row for each point: its journey, its place in it, and the middle of its cell."""
    journey, place = np.nonzero(journeys >= 0)
    cells = journeys[journey, place]
    middles = [axis[cells] for axis in cell_middles(places, shape)]
    rows = ColumnRows([journey, place, *middles], len(cells))
    nothing = ColumnRows([None] * 4, len(cells))
    columns = (
        ResultColumn("trip", "integer", is_key=True),
        ResultColumn("place", "integer", is_key=True),
        *(ResultColumn(name, "real", is_key=True) for name in places.at),
    )
    notes = (f"{len(journeys):,} journeys, by the method {method}", _MADE, "a point is the middle of its cell")
    loss, unit = made.loss(1), str(made.distance)
    return QueryResult(columns, rows, nothing, nothing, confidence, False, loss, unit, notes, raw=rows)
