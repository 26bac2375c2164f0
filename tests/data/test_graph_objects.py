"""Graphs of other libraries: as a method's input, and in place of a file."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from dither.data import Column, DataSet, Kind, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.graph_objects import foreign_edges
from dither.data.graphs import Graph
from dither.errors import EngineUnavailable
from dither.lift.edges import EdgeDegrees, Edges
from dither.privacy import EDGE
from dither.publish.graphs.simple_graph import graph_of

MATRIX = csr_array(np.array([[0, 1, 0], [1, 7, 0], [float("nan"), 0, 0]]))


class OtherGraph:
    """Stands for a graph of NetworkX, with an edge that has a key, and ends of mixed types."""

    edges = ((0, 1), (1, 2, "key"), ("2", 0), (None, 1), (0, "x"), ((1, 2), 0), (1.5, 0), (True, 2))


def dataset(*further: Column) -> DataSet:
    ends = tuple(Column(name, Kind.INTEGER, lower=0, upper=2) for name in ("one", "other"))
    return DataSet("friends", (Table("friends", (*ends, *further), "frames", graph=Graph(("one", "other"))),), EDGE)


def test_entries_that_are_not_0_are_edges() -> None:
    assert graph_of(MATRIX, 3).edges.tolist() == [[0, 1], [0, 2]]
    assert graph_of(MATRIX, 2).edges.tolist() == [[0, 1]]
    # A row has no edges, and numbers and lists are no graphs of others.
    assert foreign_edges(np.zeros((2, 2))) is None


@pytest.fixture
def networkx(monkeypatch: pytest.MonkeyPatch) -> Any:
    """NetworkX, or what is asked of it."""
    monkeypatch.setitem(sys.modules, "networkx", SimpleNamespace(Graph=OtherGraph))  # type: ignore[arg-type]
    return OtherGraph()


def test_a_graph_of_networkx_is_read_edge_by_edge(networkx: Any) -> None:
    # An end is the number that it is or spells, as a cell of a table is.
    assert graph_of(networkx, 3).edges.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_graphs_stand_in_place_of_files(networkx: Any) -> None:
    pytest.importorskip("pyarrow", reason="frames need pyarrow")
    # As cells of a table "2" is an integer, and true is one.
    for given, wanted in ((MATRIX, [[0, 1], [0, 2]]), (networkx, [[0, 1], [0, 2], [1, 2]])):
        with DuckDBEngine(dataset(), frames={"friends": given}) as engine:
            assert Edges(dataset(), "friends").read(engine).tolist() == wanted
            assert EdgeDegrees(dataset(), "friends").read(engine).sum() == 2 * len(wanted)
    with pytest.raises(EngineUnavailable, match="no other declared column"):
        DuckDBEngine(dataset(Column("since", Kind.DATE)), frames={"friends": MATRIX}).check()
