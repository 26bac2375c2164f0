"""Edges and degrees of a graph are the same on every engine as in the reference, limits of edges included."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dither.data import Aggregation, Column, CountRows, DataSet, Kind, Name, Scan, Table
from dither.data.graph_relations import EndDegrees, FirstPairs, edge_rows
from dither.data.graphs import Graph
from dither.data.reference import aggregate
from dither.errors import InvalidParameter
from dither.privacy import EDGE

#: Names that differ by an accent, by case or by a space, in an order of their own.
NAMES = ("e ", "é", "e", "E", "zoë", "Zoe")


def graph_of(nodes: Any, *, directed: bool, edges: int | None) -> DataSet:
    """Return a graph among numbers, or among names."""
    facts: dict[str, Any] = {"lower": 3, "upper": 8} if nodes is int else {"categories": NAMES}
    kind = Kind.INTEGER if nodes is int else Kind.TEXT
    ends = tuple(Column(name, kind, **facts) for name in ("one", "other"))
    graph = Graph(("one", "other"), directed=directed, edges=edges)
    return DataSet("friends", (Table("friends", ends, "friends", graph=graph),), EDGE)


def rows(nodes: Any) -> list[dict[str, Any]]:
    """Return edges, some both ways and twice, loops, NULL, and ends that are not declared."""
    names: list[Any] = [*range(3, 9)] if nodes is int else [*NAMES]
    pairs = [(names[place], names[(place * step + 1) % 6]) for place in range(6) for step in (1, 2, 4)]
    odd = [
        (names[0], None),
        (None, None),
        (names[1], 99 if nodes is int else "ZOE"),
        (-(2**63) if nodes is int else "", names[2]),
    ]
    return [{"one": one, "other": other} for one, other in (*pairs, *(pair[::-1] for pair in pairs[:4]), *odd)]


@pytest.mark.parametrize("nodes", [int, str])
@pytest.mark.parametrize(("directed", "edges"), [(False, None), (False, 5), (True, 7)])
def test_edges_and_degrees_are_those_of_the_reference(
    open_engine: Any, nodes: type, directed: bool, edges: int | None
) -> None:
    dataset = graph_of(nodes, directed=directed, edges=edges)
    tables = {"friends": rows(nodes)}
    engine = open_engine(dataset, tables)
    pairs = edge_rows(engine.dataset.table("friends"))
    for relation, keys in (
        (pairs, ("one", "other")),
        (pairs, ()),
        (EndDegrees(pairs), ("node", "degree")),
        (EndDegrees(pairs), ("degree",)),
    ):
        asked = Aggregation(relation, tuple(map(Name, keys)), (CountRows(),))
        meant, found = aggregate(asked, tables), engine.aggregate(asked)
        counters = [Counter(zip(answer.keys, answer.measures, strict=True)) for answer in (meant, found)]
        assert counters[0] == counters[1]
        if keys == ("one", "other"):
            assert len(meant.keys) == (edges or len(meant.keys)) > 3


def test_relations_of_graphs_are_made_of_two_ends() -> None:
    table = graph_of(int, directed=False, edges=None).table("friends")
    with pytest.raises(InvalidParameter, match="FirstPairs"):
        EndDegrees(Scan(table))
    with pytest.raises(InvalidParameter, match="two ends"):
        FirstPairs(Scan(Table("one", (Column("one", Kind.TEXT),), "one")))
    with pytest.raises(InvalidParameter, match="most"):
        FirstPairs(Scan(table), 0)
    with pytest.raises(InvalidParameter, match="a table with a graph"):
        edge_rows(Table("one", (Column("one", Kind.TEXT),), "one"))
