"""Records: what a synthetic method may request from private data, namely marginals.

The rows themselves may be an array of codes in memory, or rows that stay in an engine and are counted there. Distances
are counted in records (``RECORDS``): a marginal of records that are d apart moves by at most d in L1, and so in L2,
because every record lies in one cell of it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidValue
from dither.lift.attributes import Attributes, Axes
from dither.mechanisms.core.values import LARGEST_VALUE


@runtime_checkable
class Records(Protocol):
    """Private records of public attributes."""

    @property
    def attributes(self) -> Attributes:
        """Names and sizes; public."""

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return the marginal on attributes with these numbers, in increasing order; for no attributes, the total."""


class CodedRecords:
    """Records in memory: a row for each, an integer column for each attribute.

    A number out of range means the nearest in range, so that nothing raises because of a value.
    """

    def __init__(self, attributes: Attributes, data: Any) -> None:
        self._attributes = attributes
        self._codes = attributes.codes(data)

    @property
    def attributes(self) -> Attributes:
        """Names and sizes."""
        return self._attributes

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return a marginal."""
        return self._attributes.count(self._codes, axes)


def records_of(attributes: Attributes, data: Any) -> Records:
    """Return a method's input as records: an array of codes, or records that are counted elsewhere."""
    if isinstance(data, np.ndarray):
        return CodedRecords(attributes, data)
    if isinstance(data, Records) and data.attributes == attributes:
        return data
    raise InvalidValue("data", data, "an array of integers, or records, of the declared attributes")


def counts_of(records: Records, axes: Axes) -> NDArray[np.int64]:
    """Return a marginal to which noise can be added: of the declared shape, between 0 and the largest value."""
    return np.clip(records.count(axes), 0, LARGEST_VALUE).reshape(records.attributes.shape_of(axes))
