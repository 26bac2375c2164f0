"""Journeys of others: what is written for them comes back as it was, cell by cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dither.testing.city import city_trips
from tools.rivals import journeys


@pytest.mark.parametrize("every", [1, 4])
def test_a_city_is_written_and_read_again(every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journeys, "TRIPS", 40)
    journeys.written(tmp_path / "city.dat", every=every)
    found = journeys.read(tmp_path / "city.dat")
    for row, true in zip(found, city_trips(40), strict=True):
        cells = true[true >= 0]
        kept = np.unique(np.append(np.arange(0, cells.size, every), cells.size - 1))
        assert row[row >= 0].tolist() == cells[kept].tolist()
