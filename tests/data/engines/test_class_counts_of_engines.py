"""Counts by class on every engine: Spark and PostgreSQL count what the reference reads row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from dither.data.engines.protocol import Engine
from dither.data.reference import ReferenceEngine
from dither.mechanisms.core.class_counts import ClassCounts
from tests.lift.test_class_counts import cases, tables


@pytest.mark.parametrize("name", ["postgresql", "spark"])
def test_servers_count_what_rows_add_up_to(name: str, factories: Mapping[str, Callable[..., Engine]]) -> None:
    rows: list[dict[str, Any]] = tables()
    # Spark plans each statement for a second: the widest one alone.
    some = cases()[:1] if name == "spark" else [cases()[place] for place in (0, 2, 4, 8, 10)]
    for declared, method in some:
        with factories[name](declared.dataset, {"t": rows}) as engine:
            counted = declared.read_for(engine, method)
        assert isinstance(counted, ClassCounts)
        width = 1 + sum(method.sizes)
        want = method._counts(declared.read(ReferenceEngine(declared.dataset, {"t": rows})), width)
        np.testing.assert_array_equal(counted.table.reshape(-1), want)
