"""Codes: private rows as integers, for methods that need rows in memory rather than just marginals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation, DataSet
from dither.data.engines.protocol import Engine
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.cells import Cells
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import RECORDS, Distance


@dataclass(frozen=True)
@typed
class Codes(Source[NDArray[np.int64]]):
    """A row of codes for each private row, coded by the engine.

    The engine returns every combination of codes that occurs, with how often it does: never more than there are rows.

    Args:
        cells: the rows and the code of each of their columns, as ``codings_of`` makes them; public.

    """

    cells: Cells

    def __post_init__(self) -> None:
        if not all(axis.is_numbered for axis in self.cells.axes):
            raise InvalidParameter("cells", self.cells.names, "cells of coded columns, as codings_of makes them")

    @property
    def dataset(self) -> DataSet:
        """The schema."""
        return self.cells.dataset

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts rows by their codes."""
        return (self.cells.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the codes of all counted rows."""
        places, counts = self.cells.filled(engine.aggregate(self.cells.asked))
        return np.repeat(places, counts, axis=0)

    def moves(self) -> dict[Distance, Fraction]:
        """Return how many rows one unit adds and removes together."""
        return {RECORDS: self.cells.sensitivity.l1}

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for other columns."""
        super().check(method)
        if getattr(method, "attributes", None) != self.cells.attributes:
            raise InvalidParameter("method", method.name, f"a method on the columns {', '.join(self.cells.names)}")


register_records(Codes)
