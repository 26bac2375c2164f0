"""One cell for all rows, whose number is a constant: every engine counts them alike, and takes it for no place."""

from __future__ import annotations

import pytest

from dither.data.examples import clinic, some_visits
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.lift.cells import all_rows
from dither.privacy import ROW, Unit


@pytest.mark.parametrize("unit", [ROW, person_unit("person")])
def test_all_rows_are_one_count(open_engine, unit: Unit) -> None:
    dataset, rows = clinic(unit), {"visits": some_visits()}
    cells = all_rows(dataset, "visits")
    counted = cells.read(open_engine(dataset, rows))
    assert counted.tolist() == cells.read(ReferenceEngine(dataset, rows)).tolist()
    assert counted.shape == (1,)
    assert counted[0] > 0
    assert cells.read(open_engine(dataset, {"visits": []})).tolist() == [0]
