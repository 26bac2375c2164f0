"""One odd row of a list or a frame changes no other, and refuses nobody's fit."""

from __future__ import annotations

from typing import Any

import pytest

from dither.data import Aggregation, Column, CountRows, Kind, Name, Scan
from dither.publish.synthetic import Synthesizer

ROWS = [{"sex": "f", "age": 1}, {"sex": "m", "age": 2}]
COLUMNS = [Column("sex", Kind.TEXT, categories=("f", "m")), Column("age", Kind.INTEGER, lower=0, upper=9)]
ODD: list[Any] = [
    None,
    5,
    "row",
    [],
    {},
    {"sex": "f"},
    {1: 2},
    {"sex": ["f"], "age": 1j},
    {"sex": b"f", "age": 10**400},
]


def counted(data: Any) -> dict[Any, Any]:
    synthesizer = Synthesizer(COLUMNS, epsilon=1)
    synthesizer.fit(data)
    engine = synthesizer._opened(data)
    table = engine.dataset.tables[0]
    found = engine.aggregate(Aggregation(Scan(table), (Name("sex"), Name("age")), (CountRows(),)))
    engine.close()
    return dict(zip(found.keys, found.measures, strict=True))


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:30])
def test_one_odd_row_of_a_list(odd: Any) -> None:
    found = counted([*ROWS, odd])
    assert (found["f", 1], found["m", 2]) == ((1,), (1,))
    assert sum(one[0] for one in found.values()) == 3


def test_one_complex_cell_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    # pandas makes all cells complex.
    frame = pandas.DataFrame({"sex": ["f", "m", "m"], "age": [1, 2, 1j]})
    assert counted(frame) == {("f", 1): (1,), ("m", 2): (1,), ("m", None): (1,)}
