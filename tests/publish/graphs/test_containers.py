"""A row of edges means the same in a list, in an array of any type and in a frame, and refuses nothing."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data import Column, DataSet, Kind, Table
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.graphs import Graph
from dither.errors import InvalidValue
from dither.lift.edges import Edges
from dither.privacy import EDGE
from dither.publish.graphs import by_degrees, weighted
from dither.publish.graphs.simple_graph import ends_of, graph_of

NODES = 6
ROWS: list[Any] = [(0, 1), (1, 0), (2, 3), (4, 4), (3, 9)]
EDGES = [[0, 1], [2, 3]]
#: Rows that are edges from 2 to 5, and rows that are none.
GOOD = [(2, 5), (2.0, 5), ("2", 5), (" 2", 5), ("2.0", 5), (2 + 0j, 5), (Decimal(2), 5), (np.float32(2), 5)]
NONE: list[Any] = [
    ("x", 2),
    (None, 2),
    (float("nan"), 2),
    (float("-inf"), 2),
    (2**70, 1),
    (-1, 2),
    (1j, 5),
    ("２", 5),
    ("1e0", 5),
    ("", 1),
    ("\ud800", 2),
    (datetime.date(2020, 1, 1), 2),
    (np.datetime64("2020"), 2),
    (object(), 3),
    (b"x", 2),
    ([1], 2),
]


def arrays(rows: list[Any]) -> list[Any]:
    """Return what NumPy makes of rows by itself, if it does, and an array of objects."""
    found: list[Any] = [np.array(rows, dtype=object)]
    try:
        found.append(np.array(rows))
    except ValueError:  # NumPy itself refuses rows of several lengths
        return found
    return found


@pytest.mark.parametrize(("odd", "further"), [*((row, [[2, 5]]) for row in GOOD), *((row, []) for row in NONE)])
def test_one_row_means_the_same_in_every_container(odd: Any, further: list[Any]) -> None:
    rows, wanted = [*ROWS, odd], EDGES + further
    assert graph_of(rows, NODES).edges.tolist() == wanted
    for array in arrays(rows):
        assert graph_of(array, NODES).edges.tolist() == wanted
        assert by_degrees.degrees_of(array, NODES).sum() == 2 * len(wanted)


@pytest.mark.parametrize(("odd", "further"), [*((row, [[2, 5]]) for row in GOOD), *((row, []) for row in NONE)])
def test_frames_say_the_same(odd: Any, further: list[Any]) -> None:
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    polars = pytest.importorskip("polars", reason="frames need polars")
    rows, wanted = [*ROWS, odd], EDGES + further
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("one", "other"))}
    ends = tuple(Column(name, Kind.INTEGER, lower=0, upper=NODES - 1) for name in columns)
    dataset = DataSet("friends", (Table("friends", ends, "frames", graph=Graph(tuple(columns))),), EDGE)
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns, strict=False)):
        with DuckDBEngine(dataset, frames={"friends": frame}) as engine:
            assert Edges(dataset, "friends").read(engine).tolist() == wanted


@pytest.mark.parametrize("kind", [bool, int, float, complex, str, np.float32, np.complex64, np.uint8])
@pytest.mark.parametrize("odd", ["x", "5", b"x", None, 0.5, 1j, float("nan")])
def test_an_odd_end_moves_no_row_whatever_the_others_are(kind: Any, odd: Any) -> None:
    """One text writes all numbers of an array as texts: (1+0j), True."""
    rows = [(kind(0), kind(1)), (kind(1), kind(2)), (kind(2), kind(3))]
    before = graph_of(rows, NODES).edges.tolist()
    for array in arrays([*rows, (odd, odd)]):
        assert graph_of(array, NODES).edges.tolist() == before
    assert graph_of(np.array(rows), NODES).edges.tolist() == before


@pytest.mark.parametrize("weight", [-1e17, 1e17, -(10**17), -1e17 + 0j, False, 2.0, -1e300])
@pytest.mark.parametrize("odd", ["x", b"x", None, 0.5, 1j])
def test_an_odd_end_moves_no_weight(weight: Any, odd: Any) -> None:
    rows = [(0, 1, weight), (1, 2, weight)]
    before = weighted.weighted_graph(rows, NODES, 1, 8).weights.tolist()
    for array in (np.array(rows), *arrays([*rows, (odd, 0, 1)])):
        assert weighted.weighted_graph(array, NODES, 1, 8).weights.tolist() == before


def test_rows_of_several_lengths_are_an_array_of_rows() -> None:
    ragged = np.empty(4, dtype=object)
    ragged[:] = [(0, 1), (1, 2, 3), "ab", [2, 3]]
    assert graph_of(ragged, NODES).edges.tolist() == EDGES
    assert by_degrees.degrees_of(ragged, NODES).tolist() == [1, 1, 1, 1, 0, 0]
    assert ends_of(np.array([], dtype=object), NODES).shape == (0, 2)
    with pytest.raises(InvalidValue, match="shape"):
        graph_of(np.zeros((3, 3)), NODES)


def test_a_masked_end_is_none_and_wide_numbers_do_not_wrap() -> None:
    hidden = np.ma.masked_array(np.array([(0, 1), (2, 3)]), mask=[(False, False), (True, False)])
    assert graph_of(hidden, NODES).edges.tolist() == [[0, 1]]
    wide = np.array([(0, 1), (2**64 - 1, 2), (2**63, 3)], dtype=np.uint64)
    assert graph_of(wide, NODES).edges.tolist() == [[0, 1]]
    assert graph_of(np.array([(False, True)]), NODES).edges.tolist() == [[0, 1]]
    days = np.array([(0, 1), (np.timedelta64("NaT"), 1)])
    assert graph_of(days, NODES).edges.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("weight", "wanted"),
    [
        *((good, 3) for good in (3, 3.0, "3", Decimal(3), Fraction(3), 3 + 0j, np.int8(3))),
        *((low, 1) for low in (0, -5, -5.0, "-5", False, -(2**62))),
        *((high, 8) for high in (9, 8, 2**62, 2.5, -0.5, None, "x", float("nan"), float("inf"), -float("inf"), 2**70)),
        *((high, 8) for high in (-(2**70), 1j, object(), datetime.date(2020, 1, 1))),
    ],
)
def test_one_weight_means_the_same_in_every_container(weight: Any, wanted: int) -> None:
    rows = [(0, 1, 5), (1, 2, weight)]
    for given in (rows, *arrays(rows)):
        made = weighted.weighted_graph(given, NODES, 1, 8)
        assert (made.edges.tolist(), made.weights.tolist()) == ([[0, 1], [1, 2]], [5, wanted])
