"""What one side of an inner product sends: a noisy vector, whole or as some of its wavelet coefficients.

Released already: everything here is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.lift.stored import keep_record
from dither.mechanisms.core.purse import CountNoise
from dither.mechanisms.core.spec import from_spec, to_spec
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.publish.retrieval.haar import Floats, haar, inverse_haar, padded_size

#: Bytes of a number that is sent, and of its place.
_NUMBER: Final = 8
_PLACE: Final = 4


@dataclass(frozen=True, eq=False)
class SentVector:
    """Some coefficients of a noisy vector, and how much the others had.

    Args:
        cells: the length of the vector.
        places: of the coefficients that are sent, in order; None where all cells are sent as they are.
        values: these coefficients, or all cells.
        dropped: the length of what is not sent: the root of the sum of its squares.
        node: the noise of a cell.

    """

    cells: int
    places: NDArray[np.int64] | None
    values: Floats
    dropped: float
    node: CountNoise

    @property
    def payload(self) -> int:
        """How many bytes are sent."""
        return len(self.values) * (_NUMBER if self.places is None else _NUMBER + _PLACE)

    @cached_property
    def coefficients(self) -> Floats:
        """All wavelet coefficients; 0 where none was sent."""
        if self.places is None:
            return haar(self.values)
        found = np.zeros(padded_size(self.cells))
        found[self.places] = self.values
        return found

    @property
    def vector(self) -> Floats:
        """The vector as it can be known from what was sent."""
        return self.values.copy() if self.places is None else inverse_haar(self.coefficients)[: self.cells]

    @property
    def squared(self) -> float:
        """The squared length of the noisy vector, dropped coefficients included."""
        return float(self.values @ self.values) + self.dropped**2

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, exactly."""
        return {
            "cells": self.cells,
            "places": None if self.places is None else self.places.tolist(),
            "values": [float(value).hex() for value in self.values],
            "dropped": self.dropped.hex(),
            "node": to_spec(self.node),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """Return the vector that ``to_dict`` wrote, or reject one that cannot have been sent."""
        node: Any = from_spec(record["node"])
        if not isinstance(node, Geometric | DiscreteGaussian) or node.shape != ():
            raise InvalidParameter("node", type(node).__name__, "noise of one number")
        cells, listed = int(record["cells"]), record["places"]
        values = np.array([float.fromhex(value) for value in record["values"]])
        places = None if listed is None else np.array(listed, dtype=np.int64)
        expected = cells if places is None else len(places)
        is_ordered = places is None or bool(
            (np.diff(places, prepend=-1) > 0).all() and (places < padded_size(cells)).all()
        )
        dropped = float.fromhex(record["dropped"])
        if len(values) != expected or not is_ordered or not np.isfinite(values).all() or not 0 <= dropped < math.inf:
            raise InvalidParameter("values", len(values), "finite, one for each of increasing places")
        return cls(cells, places, values, dropped, node)


keep_record("sent", SentVector)
