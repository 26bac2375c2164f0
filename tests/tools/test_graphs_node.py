"""The benchmark of graphs whose nodes are protected measures what it says; no test asserts a time or an error."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dither.publish.graphs import chosen_edges
from dither.publish.graphs.flow import twice_flow
from tools.bench import graphs_node


def test_a_made_up_graph_is_measured_by_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_DATA", raising=False)
    six = np.array(list(itertools.combinations(range(6), 2)))
    monkeypatch.setattr(graphs_node, "read", lambda _: (40, six))
    found = list(graphs_node.measure("ca_grqc", releases=2))
    counted = {"edges", "degrees", "2-stars", "3-stars", "triangles"}
    assert {what for what, _, _ in found} == {*counted, "degrees worth 1", "degrees worth 1, 2, 3"}
    small = list(graphs_node.measure_small(releases=2))
    assert {what for what, _, _ in small} == {"4-cliques", "2-triangles", "2-stars"}
    found += small
    for _, _, errors in found:
        assert len(errors) == 2
        assert all(math.isfinite(error) and error >= 0 for error in errors.tolist())
    # What was remembered for one graph is forgotten.
    assert chosen_edges.twice_flow is twice_flow


def test_a_distance_is_that_of_distributions() -> None:
    degrees = np.array([0, 1, 1, 3])
    assert graphs_node.distance(np.array([1, 2, 0, 1]), degrees) == 0
    assert graphs_node.distance(np.array([4]), degrees) == 0.75
    assert graphs_node.distance(np.array([1, 2, 0, 0, 0, 1]), degrees) == 0.25
