"""A search finds graphs that random ones rarely are, places move over the ground, and far pairs are one unit apart."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
import pytest

from dither.audit.far import far_pairs
from dither.audit.random_pairs import cases_of, climbs, told_apart
from dither.data.places import Box
from dither.data.places.projection import Projection
from dither.mechanisms import Example, Geometric, find
from dither.privacy import EDGE, NODE
from dither.publish.graphs import projected_degrees
from dither.publish.graphs.projected_degrees import ProjectedDegrees
from dither.publish.graphs.simple_graph import SimpleGraph
from dither.publish.places.report.planar import ReportedPlaces
from dither.testing.choices import Choices
from dither.testing.climbing import Climb
from dither.testing.ground import ground_metres
from dither.testing.random_graphs import random_graph
from dither.testing.random_neighbours import varied
from dither.testing.random_places import place_cases, random_box


def example(name: str) -> Example:
    return next(iter(find(name).examples()))


@pytest.mark.parametrize("unit", [EDGE, NODE], ids=["edge", "node"])
def test_a_search_stays_among_neighbours(unit: Any) -> None:
    choices = Choices()
    climb = Climb(8, unit, choices)
    for _ in range(300):
        here, there = map(set, climb.step())
        differ = here ^ there
        assert not differ or set.intersection(*map(set, differ))
        assert unit is NODE or len(differ) == 1
        climb.tell(choices.below(10) / 10)


def test_graphs_are_of_all_shapes() -> None:
    choices = Choices()
    sizes = {len(random_graph(12, choices)) for _ in range(600)}
    assert {0, 11, 66} <= sizes


def _turned(graph: SimpleGraph, degree: int) -> Any:
    """Project with an order that begins at another edge for each number of edges: a node changes it everywhere."""
    room = [degree] * graph.nodes
    for one, other in np.roll(graph.edges, 5 * len(graph.edges) // 3, axis=0).tolist():
        if room[one] and room[other]:
            room[one] -= 1
            room[other] -= 1
    return degree - np.array(room, dtype=np.int64)


def test_an_order_that_follows_the_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = example("projected-degrees")
    search = climbs(chosen, Choices())
    assert search is not None
    assert not any(islice(search, 200))
    monkeypatch.setattr(projected_degrees, "projected", _turned)
    search = climbs(chosen, Choices())
    assert search is not None
    assert any(islice(search, 20_000))


def test_declared_numbers_vary() -> None:
    choices, made = Choices(), ProjectedDegrees(nodes=12, degree=2, node=Geometric(scale=4))
    found = [varied(made, choices) for _ in range(40)]
    assert len({getattr(one, "degree", None) for one in found} - {None}) > 2


def test_ways_over_the_ground_are_those_of_known_lines() -> None:
    # A degree along the equator is exact; the first one along a meridian has 110,574.3886 m on the ellipsoid.
    assert ground_metres((0, 0), (0, 1)) == pytest.approx(6_378_137 * math.pi / 180, rel=1e-9)
    assert ground_metres((0, 0), (1, 0)) == pytest.approx(110_574.3886, rel=1e-9)
    # Flinders Peak to Buninyong, on WGS 84: 54,972.27 m.
    here, there = (-37.951033416, 144.424867888), (-37.652821138, 143.926495527)
    assert ground_metres(here, there) == pytest.approx(54_972.27, rel=2e-7)
    assert ground_metres((60, 10), (60, 10)) == 0


def test_boxes_are_of_all_sizes_and_latitudes() -> None:
    choices = Choices()
    boxes = [random_box(choices) for _ in range(300)]
    assert min(box.height for box in boxes) < 20
    assert max(box.height for box in boxes) > 190_000
    assert any(box.south < 0 < box.north for box in boxes)
    assert min(box.south for box in boxes) == -60
    assert max(box.north for box in boxes) > 79


@pytest.mark.parametrize("name", ["reported-places", "chosen-place", "predictive-reports"])
def test_places_of_any_box_move_as_far_as_is_charged(name: str) -> None:
    chosen = example(name)
    for number, case in enumerate(islice(cases_of(chosen), 40)):
        assert told_apart(case, number) == []


def test_a_plane_that_is_right_in_its_middle_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Box.projection.func  # type: ignore[attr-defined]

    def shrunk(self: Box) -> Projection:
        true: Projection = before(self)
        return Projection(true.centre, true.north, true.east, steps=true.steps)

    monkeypatch.setattr(Box, "projection", property(shrunk))
    chosen = example("reported-places")
    cases = place_cases(chosen.mechanism, chosen.data, Choices())
    assert cases is not None
    assert any(told_apart(case, 1) for case in islice(cases_of(chosen), 200))


def test_far_pairs_say_nothing_where_distances_are_measured() -> None:
    """Two corners of a box are kilometres apart, and not one."""
    made = ReportedPlaces(box=Box.of("48.80", "2.25", "48.92", "2.42"), epsilon="0.01")
    assert far_pairs(made, np.array([[48.85, 2.35]])) == []
