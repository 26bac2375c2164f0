"""Wide instances of reports of places: many reports, steps, cells and places of a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dither.mechanisms import Dialogue

_MANY = 300
_SIDE = 10


def _reports(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return many places, one of which moves, or all of them."""
    here = np.tile(data[:1], (_MANY, 1))
    one, all_of_them = here.copy(), here + np.array([3.0, 4.0])
    one[7] += np.array([30.0, 40.0])
    wide = replace(mechanism, reports=_MANY)
    return wide, here, ((here, one, 50), (here, all_of_them, 5 * _MANY))


def _chosen(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return a long list of places."""
    east, north = np.meshgrid(np.linspace(1, 999, 20), np.linspace(1, 999, 15))
    there = data + np.array([[3.0, 4.0]])
    wide = replace(mechanism, places=np.stack([north.ravel(), east.ravel()], axis=1))
    return wide, data, ((data, there, 5), (there, data, 5))


def _talk(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return a long trace, every place of which moves."""
    here = [(10.0 + number, 900.0 - number) for number in range(_MANY)]
    there = [(north + 3.0, east - 4.0) for north, east in here]
    wide = replace(mechanism, steps=_MANY, fresh=_SIDE)
    talks = [Dialogue(None, tuple(places)) for places in (here, there)]
    return wide, talks[0], ((talks[0], talks[1], 5), (talks[1], talks[0], 5))


def _optimal(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return a hundred cells, a metre apart."""
    from dither.data.places import Box, CellGrid
    from dither.mechanisms.response_table import TOTAL

    cells = CellGrid(Box.of(0, 0, _SIDE, _SIDE, plane=True), _SIDE, _SIDE)
    rows = np.full((cells.cells, cells.cells), TOTAL // (2 * cells.cells), dtype=np.int64)
    rows[np.diag_indices(cells.cells)] += TOTAL - rows.sum(axis=1)
    wide = replace(mechanism, cells=cells, weights=rows)
    return wide, 0, ((0, 1, 1), (99, 89, 1), (3, 33, 3))


def _likely(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return many cells, all of them likely."""
    from dither.data.places import CellGrid

    cells = CellGrid(mechanism.cells.box, 20, 15)
    wide = replace(mechanism, cells=cells, prior=np.ones(cells.cells))
    return wide, 0, ((0, cells.cells - 1, 1), (7, 8, 1))


def _squares(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return squares of many cells."""
    there = data + np.array([[30.0, 40.0]])
    return replace(mechanism, across=_MANY), data, ((data, there, 70), (there, data, 70))


def _visits(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return a long map with many clusters."""
    east, north = np.meshgrid(np.linspace(1, 999, 20), np.linspace(1, 999, 15))
    places = np.stack([north.ravel(), east.ravel()], axis=1)
    wide = replace(mechanism, places=places, clusters=np.arange(len(places)) % 12)
    return wide, 0, ((0, 1, 1), (0, 12, 1), (299, 5, 1))


def _journeys(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return long journeys on many cells, of which one more, or many, come."""
    rows = np.arange(_MANY * 2 * _SIDE, dtype=np.int64).reshape(_MANY, -1) * 7 % (_SIDE * _SIDE)
    sizes = {"shape": (_SIDE, _SIDE), "length": 2 * _SIDE, "most": _MANY}
    if hasattr(mechanism, "width"):
        sizes["width"] = 9 * _SIDE * _SIDE
    wide = replace(mechanism, **sizes)
    return wide, rows, ((rows, rows[1:], 1), (rows[:0], rows[:1], 1), (rows, rows[:-3], 3))


def _timed(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return long journeys with many parts of time."""
    method, rows, pairs = _journeys(mechanism.method, data)
    wide = replace(mechanism, method=method, times=24, blocks=5)
    return wide, rows, pairs


def _regions(mechanism: Any, data: Any) -> tuple[Any, ...]:
    """Return a plane of many cells."""
    return replace(mechanism, tree=replace(mechanism.tree, side=16)), np.resize(data, (16, 16))


RULES_OF_PLACES: Final[dict[str, Callable[[Any, Any], tuple[Any, ...]]]] = {
    "reported-places": _reports,
    "chosen-place": _chosen,
    "predictive-reports": _talk,
    "optimal-report": _optimal,
    "likely-places": _likely,
    "k-locations": _squares,
    "replaced-visit": _visits,
    "timed-journeys": _timed,
    "region-centres": _regions,
}


def _are_journeys(mechanism: Any, data: Any) -> bool:
    return all(hasattr(mechanism, word) for word in ("shape", "length", "most"))


KINDS_OF_PLACES: Final = ((_are_journeys, _journeys),)
