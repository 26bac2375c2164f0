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
from dither.publish.places.grid_journeys import GridJourneys
from dither.publish.places.journey_synthesis import JourneySynthesis
from dither.publish.places.journeys import MOST_ALONG, MOST_DRAWN, MOST_LENGTH, OfJourneys
from dither.publish.places.markov_journeys import MarkovJourneys
from dither.publish.places.planning import cell_middles
from dither.publish.places.prefix_journeys import PrefixJourneys
from dither.publish.places.timed_journeys import TimedJourneys
from dither.publish.queries import QueryResult, ResultColumn

AUTO: Final = "auto"
KINDS: Final[dict[str, type[Any]]] = {
    "walks": JourneySynthesis,
    "markov": MarkovJourneys,
    "hierarchy": GridJourneys,
    "prefix-tree": PrefixJourneys,
}
_USUAL_GRID: Final = 20
#: Bytes of a stored point, of the time at which its journey begins, and of what stands around all.
_POINT, _START, _HEAD = 56, 24, 2**16
_MADE: Final = "journeys are synthetic: what one of them reveals about a true one is bounded by the loss"
_NO_LAW: Final = "points have no intervals: what the model omits of true journeys has no known law"
_TIMES: Final = "start is where a part of time begins, drawn by the block of cells in which a journey begins"


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
    times: int | None = None,
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
        times: into how many public parts of time the beginnings of journeys are sorted; None: no times.

    """
    chosen = "walks" if method == AUTO else method
    if chosen not in KINDS:
        raise InvalidParameter("method", method, f"one of {', '.join((AUTO, *KINDS))}")
    shape = grid_shape(_USUAL_GRID if grid is None else grid)
    if max(shape) > MOST_ALONG:
        raise InvalidParameter("grid", shape, f"at most {MOST_ALONG} cells along each side, for journeys")
    source = Journeys(dataset, table.name, shape, times)
    usual = min(3 * max(shape), MOST_LENGTH)
    cells = usual if length is None else whole("length", length, least=2, most=MOST_LENGTH)
    # What a ledger stores is limited, and with it the journeys that are drawn: by public facts.
    point = _POINT if times is None else _POINT + _START
    limit = max(1, min(MOST_DRAWN, (LARGEST_ANSWER - _HEAD) // (point * cells)))
    drawn = limit if most is None else min(whole("most", most, least=1), limit)

    def untimed(each: Loss) -> OfJourneys:
        made: OfJourneys = KINDS[chosen].calibrated(each, shape=shape, length=cells, most=drawn)
        return made

    def build(each: Loss) -> Any:
        return untimed(each) if times is None else TimedJourneys.calibrated(each, build=untimed, times=times)

    made = Lifted.calibrated(loss, source=source, build=build)

    def present(out: Any, confidence: Fraction) -> QueryResult:
        rows = np.asarray(out, dtype=np.int64)
        began = None if source.began is None else (rows[:, 0], source.began.labels)
        said = (f"{len(rows):,} journeys, by the method {chosen}", _counted(made.method, len(rows), drawn, confidence))
        notes = (*said, _MADE, "a point is the middle of its cell", _NO_LAW)
        return _table(made, declared(table), shape, rows if began is None else rows[:, 1:], confidence, notes, began)

    return JourneyPlan(made, cells, present)


def _counted(method: Any, many: int, most: int, confidence: Fraction) -> str:
    """Return what is known of the number of true journeys: the noise of their number has a known law."""
    bound = method.trips.error(confidence)
    if many >= most:
        return f"{most:,} journeys are drawn at most: there may be more"
    least, largest = max(0, many - int(bound.value)), many + int(bound.value)
    return f"of the declared table {least:,} to {largest:,} journeys count ({float(confidence):.0%})"


def _table(
    made: Lifted,
    places: Places,
    shape: tuple[int, int],
    journeys: Any,
    confidence: Fraction,
    notes: tuple[str, ...],
    began: tuple[Any, list[Any]] | None,
) -> QueryResult:
    """Return a row for each point: its journey, its place in it, the middle of its cell, and when the journey began."""
    journey, place = np.nonzero(journeys >= 0)
    cells = journeys[journey, place]
    values: list[Any] = [journey, place, *(axis[cells] for axis in cell_middles(places, shape))]
    columns = [ResultColumn(name, "integer", is_key=True) for name in ("trip", "place")]
    columns += [ResultColumn(name, "real", is_key=True) for name in places.at]
    if began is not None:
        part, labels = began
        is_text = isinstance(labels[0], str)
        columns.append(ResultColumn("start", "text" if is_text else "real", is_key=True))
        values.append([labels[one] for one in part[journey].tolist()])
        notes = (*notes, _TIMES)
    rows, nothing = ColumnRows(values, len(cells)), ColumnRows([None] * len(columns), len(cells))
    loss, unit = made.loss(1), str(made.distance)
    return QueryResult(tuple(columns), rows, nothing, nothing, confidence, False, loss, unit, notes, raw=rows)
