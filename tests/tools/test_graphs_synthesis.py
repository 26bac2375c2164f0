"""The measures of synthetic graphs, on graphs whose measures are known."""

from __future__ import annotations

from itertools import combinations

import pytest

from dither.publish.graphs.simple_graph import graph_of
from tools.bench.graphs_synthesis import MEASURES, Compared, differences, facts, places


def test_measures_of_two_cliques_and_a_bridge() -> None:
    cliques = [*combinations(range(4), 2), *combinations(range(4, 8), 2)]
    apart = facts(graph_of(cliques, 8))
    assert (apart.clustering, apart.paths, apart.triangles) == (1.0, 1.0, 8)
    assert apart.communities == pytest.approx(0.5)
    joined = facts(graph_of([*cliques, (3, 4)], 8))
    # Two of eight nodes have three triangles among six pairs of neighbours.
    assert joined.clustering == pytest.approx((6 + 2 * 0.5) / 8)
    off = differences(apart, joined)
    assert off["degrees"] == pytest.approx(0.25)
    assert off["triangles"] == 0
    assert differences(apart, apart) == dict.fromkeys(MEASURES, 0.0)
    empty = facts(graph_of([], 3))
    assert (empty.paths, empty.triangles, empty.communities) == (0.0, 0, 0.0)


def test_places_count_best_and_second() -> None:
    found = [
        Compared("g", "1", name, {measure: float(place) for measure in MEASURES}, 0.0)
        for place, name in enumerate(("a", "b", "c"))
    ]
    assert places(found) == {("g", "1", "a"): 6, ("g", "1", "b"): 6, ("g", "1", "c"): 0}
