"""Edges from an engine: what is no edge is left out, and one edge moves what is read by as much as is said."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregated, Aggregation, Column, DataSet, Kind, Scan, Table, wire
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.graphs import Graph
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter
from dither.lift.cells import cells_of
from dither.lift.edges import EdgeDegrees, Edges, edge_hash
from dither.lift.rows import Rows
from dither.mechanisms import Geometric
from dither.privacy import EDGE, NODE
from dither.publish.graphs import DegreeSequence, LadderCount, LaplaceCount


def friends(nodes: int = 5, *, directed: bool = False, edges: int | None = None) -> DataSet:
    """Return a graph among numbered nodes, from 10 on."""
    ends = tuple(Column(name, Kind.INTEGER, lower=10, upper=9 + nodes) for name in ("one", "other"))
    graph = Graph(("one", "other"), directed=directed, edges=edges)
    return DataSet("friends", (Table("friends", ends, "friends.csv", graph=graph),), EDGE)


def rows(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    """Return rows of a table of edges."""
    return [{"one": one, "other": other} for one, other in pairs]


ODD = rows(
    (10, 11), (11, 10), (10, 11), (12, 12), (9, 10), (10, 15), (None, 11), (11, None), ("12", 13), (14, 10), (2**62, 10)
)


@pytest.mark.parametrize("directed", [False, True])
def test_loops_repeats_and_undeclared_nodes_are_no_edges(directed: bool) -> None:
    dataset = friends(directed=directed)
    source = Edges(dataset, "friends")
    wanted = [[0, 1], [1, 0], [2, 3], [4, 0]] if directed else [[0, 1], [0, 4], [2, 3]]
    assert source.read(ReferenceEngine(dataset, {"friends": ODD})).tolist() == wanted
    assert wire.decode(wire.encode(source)) == source


def test_a_name_that_is_too_long_is_not_cut_to_that_of_another_node(tmp_path: Any) -> None:
    """Else all rows of the one would be some rows of the other: not one node more, or less."""
    ends = tuple(Column(name, Kind.TEXT, categories=("a", "b", "c"), length=1) for name in ("one", "other"))
    dataset = DataSet(
        "friends", (Table("friends", ends, "friends.csv", graph=Graph(("one", "other"), degree=2)),), NODE
    )
    source = Edges(dataset, "friends")
    given = (("a", "b"), ("ax", "c"), ("c", "bx"))
    (tmp_path / "friends.csv").write_text("one,other\n" + "\n".join(map(",".join, given)))
    assert source.read(ReferenceEngine(dataset, {"friends": rows(*given)})).tolist() == [[0, 1]]
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert source.read(engine).tolist() == [[0, 1]]


def test_an_engine_reads_what_the_reference_reads(tmp_path: Any) -> None:
    names = ("ann", "bob", "cy")
    ends = tuple(Column(name, Kind.TEXT, categories=names) for name in ("one", "other"))
    dataset = DataSet("friends", (Table("friends", ends, "friends.csv", graph=Graph(("one", "other"))),), EDGE)
    (tmp_path / "friends.csv").write_text("one,other\nann,bob\nbob,ann\ncy,cy\ncy,ann\ndan,ann\n,bob\n")
    source = Edges(dataset, "friends")
    with DuckDBEngine(dataset, folder=tmp_path) as engine:
        assert source.read(engine).tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize("most", [1, 2, 4, None])
def test_one_edge_more_moves_what_is_read_by_no_more_than_is_said(most: int | None) -> None:
    dataset = friends(4, edges=most)
    source = Edges(dataset, "friends")
    pairs = list(itertools.combinations(range(10, 14), 2))
    largest = 0
    for size in range(len(pairs)):
        for chosen in itertools.combinations(pairs, size):
            for more in set(pairs) - set(chosen):
                here, there = (
                    source.read(ReferenceEngine(dataset, {"friends": rows(*edges)})).tolist()
                    for edges in (chosen, (*chosen, more))
                )
                assert len(here) <= (most or len(pairs))
                largest = max(largest, len({*map(tuple, here)} ^ {*map(tuple, there)}))
    assert source.moves() == {EDGE: Fraction(largest)} == {EDGE: Fraction(1 if most is None else 2)}


@pytest.mark.parametrize("most", [2, None])
def test_degrees_are_those_of_the_edges_that_count(most: int | None) -> None:
    dataset = friends(5, edges=most)
    engine = ReferenceEngine(dataset, {"friends": ODD})
    edges = Edges(dataset, "friends").read(engine)
    source = EdgeDegrees(dataset, "friends")
    assert source.read(engine).tolist() == np.bincount(edges.ravel(), minlength=5).tolist()
    assert source.moves() == Edges(dataset, "friends").moves()
    assert wire.decode(wire.encode(source)) == source
    assert len(edges) == (most or 3)


def test_degrees_need_no_limit_of_edges_and_serve_methods_that_need_no_more() -> None:
    source = EdgeDegrees(friends(2**17), "friends")
    source.check(LadderCount(nodes=2**17, pattern="stars", k=2, scale=2))
    source.check(DegreeSequence(nodes=2**17, node=Geometric(scale=2)))
    with pytest.raises(InvalidParameter, match="no more than degrees"):
        source.check(LadderCount(nodes=2**17, pattern="triangles", scale=2))
    with pytest.raises(InvalidParameter, match="undirected"):
        EdgeDegrees(friends(5, directed=True), "friends")


def test_what_an_engine_returns_raises_nothing() -> None:
    class Odd(ReferenceEngine):
        def aggregate(self, aggregation: Aggregation) -> Aggregated:
            return Aggregated(((10, 2**70), (99, 1), ("x", 1), (11, "two"), (12, -1), (13,), None), ((1,),) * 7)  # type: ignore[arg-type]

    dataset = friends(5)
    odd = Odd(dataset, {"friends": []})
    assert EdgeDegrees(dataset, "friends").read(odd).tolist() == [4, 0, 0, 0, 0]
    assert Edges(dataset, "friends").read(odd).tolist() == []


def test_no_two_pairs_of_nodes_share_a_hash_and_hashes_mix() -> None:
    pairs = np.array(list(itertools.combinations(range(64), 2)))
    hashed = edge_hash(pairs)
    assert len(set(hashed.tolist())) == len(pairs)
    # Not the order of the pairs, nor its reverse: about half of all neighbours in order are out of order.
    assert 0.4 < np.mean(np.diff(hashed.astype(np.float64)) > 0) < 0.6


def test_a_graph_that_might_not_fit_into_memory_is_refused_by_public_numbers() -> None:
    with pytest.raises(InvalidParameter, match="edges"):
        Edges(friends(2**17), "friends")
    assert Edges(friends(2**17, edges=10**6), "friends").nodes == 2**17


def test_methods_for_another_graph_are_refused() -> None:
    source = Edges(friends(5), "friends")
    source.check(LadderCount(nodes=5, pattern="triangles", scale=2))
    with pytest.raises(InvalidParameter, match="5 nodes"):
        source.check(LadderCount(nodes=6, pattern="triangles", scale=2))
    directed = Edges(friends(5, directed=True), "friends")
    noise = Geometric(scale=1)
    directed.check(LaplaceCount(nodes=5, pattern="edges", noise=noise, directed=True))
    for method in (
        LaplaceCount(nodes=5, pattern="edges", noise=noise),
        LadderCount(nodes=5, pattern="triangles", scale=2),
    ):
        with pytest.raises(InvalidParameter, match="directed"):
            directed.check(method)
    with pytest.raises(InvalidParameter, match="no direction"):
        LaplaceCount(nodes=5, pattern="triangles", noise=noise, directed=True)


def test_rows_of_a_graph_are_not_counted_as_rows() -> None:
    # An edge may stand in any number of rows: what is private for rows is not for edges.
    dataset = friends()
    for build in (
        lambda: cells_of(dataset, "friends", "one"),
        lambda: Rows(dataset, Scan(dataset.table("friends")), ("one",)),
    ):
        with pytest.raises(InvalidParameter, match=r"graph|edge"):
            build()


def test_an_answer_of_more_edges_than_declared_is_cut() -> None:
    """Whatever an engine answers: no more edges count, and one edge more pushes out one at most."""
    source = Edges(friends(5, edges=3), "friends")
    pairs = [(one, other) for one, other in itertools.combinations(range(10, 15), 2)]
    read = [set(map(tuple, source.counted(Aggregated(pairs[:size], [(1,)] * size)).tolist())) for size in range(11)]
    assert [len(edges) for edges in read] == [0, 1, 2, *([3] * 8)]
    assert all(len(one ^ other) <= 2 for one, other in itertools.pairwise(read))
    assert len(set().union(*read)) > 3
