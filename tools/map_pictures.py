"""Maps of single algorithms for places, on generated ones, with fresh noise: a picture for each page."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.attack.places import street_map
from dither.data.columns import ColumnRows
from dither.data.place_tables import Places
from dither.data.places import Box, CellGrid
from dither.mechanisms import Geometric, perform
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.privacy import PureDP
from dither.publish.places import FlowTable, GridJourneys, JourneySynthesis, PrefixJourneys, RegionCentres
from dither.publish.places.by_region import RegionCounts, RegionFile
from dither.publish.places.report import ChosenPlace, KLocations, LikelyPlaces
from dither.publish.places.report.visits import ReplacedVisit, public_clusters
from dither.publish.places.shown import FLOWS, JOURNEYS, PlaceMap
from dither.publish.queries import QueryResult, ResultColumn

TOWN = Box.of(0, 0, 10_000, 10_000, plane=True)
_METRES = Axis("metres to the east"), Axis("metres to the north")
_SIDE = 8


def pictures() -> Iterator[tuple[str, Chart]]:
    """Draw them."""
    yield "regions", regions()
    yield "flows", flows()
    yield "journeys", journeys(JourneySynthesis, "by walks that are led to their destination")
    yield "journeys-grids", journeys(GridJourneys, "step by step on several grids")
    yield "journeys-prefixes", journeys(PrefixJourneys, "from noisy counts of how they begin")
    yield "replaced-visits", visits()
    yield "chosen-place", chosen()
    yield "k-locations", k_locations()
    yield "likely-places", likely()
    yield "region-centres", centres()
    yield "nearest-edge", nearest_edge()


def _map(title: str, words: str, *layers: tuple[str, NDArray[np.float64]]) -> Chart:
    """Draw rows of north and east as points."""
    lines = [Line(name, spots[:, 1].tolist(), spots[:, 0].tolist(), is_joined=False) for name, spots in layers]
    chart = line_chart(title, lines, across=_METRES[0], up=_METRES[1], width=560, area=360)
    return chart.captioned(words)


def _result(columns: list[ResultColumn], parts: list[Any], size: int, unit: str) -> QueryResult:
    rows, nothing = ColumnRows(parts, size), ColumnRows([None] * len(parts), size)
    return QueryResult(tuple(columns), rows, nothing, nothing, Fraction(19, 20), True, PureDP(1), unit)


def regions() -> Chart:
    """Draw noisy counts of five made-up districts, one of them with a hole."""
    shapes: dict[str, list[list[tuple[float, float]]]] = {
        "centre": [[(4, 4), (7, 3.5), (7.5, 7), (4.5, 7)]],
        "ring": [[(2, 2), (8.5, 2), (9, 9), (2.5, 8.5)], [(4, 4), (7, 3.5), (7.5, 7), (4.5, 7)]],
        "west": [[(0, 0), (2, 2), (2.5, 8.5), (0, 10)]],
        "south": [[(0, 0), (10, 0), (8.5, 2), (2, 2)]],
        "east": [[(10, 0), (10, 10), (9, 9), (8.5, 2)]],
    }
    features = [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[1000 * x, 1000 * y] for x, y in (*ring, ring[0])] for ring in rings],
            },
        }
        for name, rings in shapes.items()
    ]
    true = np.array([3200, 2500, 300, 450, 120])
    noisy = perform(Geometric(shape=(5,), scale=1), true, stability=1)
    places = Places(("y", "x"), (0.0, 0.0, 10_000.0, 10_000.0), coordinates="metres")
    told = [ResultColumn("region", "text", is_key=True), ResultColumn("count", "real", is_key=False)]
    result = _result(told, [list(shapes), np.asarray(noisy, dtype=np.float64)], 5, "visits added or removed")
    file = RegionFile.read({"type": "FeatureCollection", "features": features}, places)
    return RegionCounts(result, file, places).chart(title="Visits by district of a made-up town")


def flows() -> Chart:
    """Draw the largest released flows between the cells of a made-up town."""
    dice = np.random.default_rng()
    spots = np.concatenate([dice.normal(middle, 0.8, (900, 2)) for middle in ((2, 2), (5, 6), (6, 2))])
    cells = np.clip(spots, 0, _SIDE - 1e-9).astype(int) @ np.array([_SIDE, 1])
    true = np.zeros((_SIDE**2, _SIDE**2), dtype=np.int64)
    np.add.at(true, (cells, dice.permutation(cells)), 1)
    shown = perform(FlowTable.calibrated(PureDP(1), shape=true.shape), true, stability=1)
    ends = np.nonzero(shown > 0)
    side = 10_000 / _SIDE
    parts: list[Any] = [(axis + 0.5) * side for end in ends for axis in np.divmod(end, _SIDE)]
    told = [ResultColumn(name, "real", is_key=True) for name in ("y", "x", "to_y", "to_x")]
    result = _result(
        [*told, ResultColumn("count", "real", is_key=False)],
        [*parts, shown[ends]],
        ends[0].size,
        "trips added or removed",
    )
    places = Places(("y", "x"), (0.0, 0.0, 10_000.0, 10_000.0), coordinates="metres", to=("to_y", "to_x"))
    return PlaceMap(result, FLOWS, places).chart(title="2,700 made-up trips between 64 cells")


def journeys(kind: type[JourneySynthesis | GridJourneys | PrefixJourneys], how: str) -> Chart:
    """Draw journeys of a made-up town as they are released, from the middle of one cell to that of the next."""
    dice, side = np.random.default_rng(), 16
    ends = np.clip(dice.normal(((3, 3), (12, 11)), 2, (4000, 2, 2)), 0, side - 1).astype(int)
    walked = [_walk(tuple(start), tuple(end)) for start, end in ends.tolist()]
    rows = np.full((len(walked), 2 * side), -1, dtype=np.int64)
    for row, walk in zip(rows, walked, strict=True):
        row[: len(walk)] = [up * side + along for up, along in walk]
    method = kind.calibrated(PureDP(1), shape=(side, side), length=2 * side)
    drawn = np.asarray(perform(method, rows, stability=1))[:300]
    trips, points = np.nonzero(drawn >= 0)
    up, along = ((cells + 0.5) * 10_000 / side for cells in np.divmod(drawn[trips, points], side))
    told = [ResultColumn(name, "integer", is_key=True) for name in ("trip", "point")]
    told += [ResultColumn(name, "real", is_key=False) for name in ("y", "x")]
    result = _result(told, [trips, points, up, along], trips.size, "journeys added or removed")
    places = Places(("y", "x"), (0.0, 0.0, 10_000.0, 10_000.0), coordinates="metres")
    return PlaceMap(result, JOURNEYS, places).chart(title=f"300 journeys of a made-up town, drawn {how}")


def _walk(start: tuple[int, ...], end: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the cells of a street north or south, then one east or west."""
    up = range(start[0], end[0], 1 if end[0] > start[0] else -1)
    along = range(start[1], end[1], 1 if end[1] > start[1] else -1)
    return [*((one, start[1]) for one in up), *((end[0], one) for one in along), (end[0], end[1])]


def visits() -> Chart:
    """Draw a public map, and by what visits to one place are replaced."""
    dice = np.random.default_rng()
    places = np.clip(np.concatenate([dice.normal(m, 500, (25, 2)) for m in dice.uniform(1500, 8500, (8, 2))]), 0, 9999)
    method = ReplacedVisit.for_epsilon(TOWN, places, public_clusters(TOWN, places, 8), epsilon=6)
    told = places[[perform(method, 30) for _ in range(25)]]
    words = "At an epsilon of 6 a visit mostly stays in its cluster; now and then another one is told."
    layers = (("places of the map", places), ("released", told), ("the visit", places[[30]]))
    return _map("25 times a visit to one place, replaced", words, *layers)


def chosen() -> Chart:
    """Draw a public list, and which of its places are told for one position."""
    places = np.random.default_rng().uniform(0, 10_000, (120, 2))
    here = np.array([[4000.0, 6000.0]])
    method = ChosenPlace(box=TOWN, epsilon="0.002", places=places)
    told = places[[perform(method, here) for _ in range(25)]]
    words = "At 0.002 per metre: two places 500 m apart lose epsilon = 1."
    layers = (("places of the list", places), ("reported", told), ("the device", here))
    return _map("25 reports by places of a public list", words, *layers)


def k_locations() -> Chart:
    """Draw nine cells that have nearly the same reports, and reports from the middle of one."""
    middles = np.array([[4500.0 + 500 * row, 4500.0 + 500 * column] for row in range(3) for column in range(3)])
    method = KLocations(box=TOWN, epsilon=1, across=3, side=500)
    told = np.array([np.ravel(perform(method, middles[[0]])) for _ in range(25)])
    words = "Nine cells of 500 m, epsilon 1 between any two of them."
    layers = (("middles of nine cells", middles), ("reports of the first", told))
    return _map("Nine places with nearly the same reports", words, *layers)


def likely() -> Chart:
    """Draw the cells that a public model holds for likely, and reports from one of them."""
    cells = CellGrid(TOWN, 20, 20)
    middles = cells.centres()[:, ::-1] + 5000
    prior = np.exp(-((middles[:, 0] - middles[:, 1]) ** 2) / 2e6 - ((middles.sum(axis=1) - 9000) ** 2) / 2e7)
    method = LikelyPlaces(cells=cells, prior=prior, delta="0.1", epsilon=3)
    told = middles[[perform(method, int(method.likely[10])) for _ in range(25)]]
    words = "Noise is as long as the likely set: along a street from south-west to north-east. Epsilon 3."
    here = middles[method.likely[[10]]]
    layers = (("likely cells", middles[method.likely]), ("reported", told), ("the true cell", here))
    return _map("25 reports from a cell of a likely set", words, *layers)


def centres() -> Chart:
    """Draw points, and the released centres of the parts into which they were divided."""
    dice = np.random.default_rng()
    spots = np.clip(np.concatenate([dice.normal(m, 700, (1500, 2)) for m in ((3000, 3000), (7000, 6000))]), 0, 9999)
    counts = np.histogram2d(spots[:, 0], spots[:, 1], bins=32, range=[[0, 10_000]] * 2)[0].astype(np.int64)
    parts = perform(RegionCentres.calibrated(PureDP(1), side=32), counts, stability=1)
    full = parts[parts[:, 2] > 60, :2]
    words = "3,000 points, epsilon 1; parts with a released count above 60."
    layers = (("some of the points", spots[::30]), ("centres of parts", (full + 0.5) * 10_000 / 32))
    return _map("Where many people stop", words, *layers)


def nearest_edge() -> Chart:
    """Draw the crossings of a public map, and the ends of drives, moved a little."""
    dice = np.random.default_rng()
    streets = street_map(10)
    driven = streets[dice.integers(0, len(streets), 12)]
    moved = driven + dice.uniform(-0.35, 0.35, driven.shape)
    ends = Line("moved ends", moved[..., 0].ravel().tolist(), moved[..., 1].ravel().tolist(), is_joined=False)
    corners = np.unique(streets.reshape(-1, 2), axis=0)
    crossings = Line("crossings", corners[:, 0].tolist(), corners[:, 1].tolist(), is_joined=False)
    true = Line("true ends", driven[..., 0].ravel().tolist(), driven[..., 1].ravel().tolist(), is_joined=False)
    chart = line_chart(
        "Ends that are moved a little are nearest to where they were",
        [crossings, ends, true],
        across=Axis("blocks to the east"),
        up=Axis("blocks to the north"),
        width=560,
        area=360,
    )
    return chart.captioned("Ends of 12 stretches, moved by up to 0.35 of a block: each is moved back to its crossing.")
