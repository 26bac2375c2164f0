"""Attributes in binary: each value as bits, most significant first, each bit a separate attribute.

A method that models few values well then sees many attributes of two values. What it models are laws over bits; a
number that no value stands for, which only noise can bring up, is read without its leading bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import Generator
from dither.lift.attributes import Attributes, Axes
from dither.lift.records import Records, counts_of
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.models import Model


class Bits:
    """Which bits stand for which attribute.

    Args:
        attributes: names and sizes.

    >>> bits = Bits(Attributes.of({"a": 2, "b": 5}))
    >>> bits.attributes.names, bits.of(1), bits.owners((1, 3))
    (('a.0', 'b.0', 'b.1', 'b.2'), (1, 2, 3), (1,))

    """

    def __init__(self, attributes: Attributes) -> None:
        self.original = attributes
        #: How many bits each attribute takes; one of a single value takes one all the same.
        self.widths = tuple(max(1, (size - 1).bit_length()) for size in attributes.sizes)
        pairs = zip(attributes.names, self.widths, strict=True)
        names = tuple(f"{name}.{number}" for name, width in pairs for number in range(width))
        if len(set(names)) != len(names):
            raise InvalidParameter("attributes", attributes.names, "names that stay different with .0, .1, ... added")
        self.attributes = Attributes(names, (2,) * len(names))
        self._owner = np.repeat(np.arange(len(self.widths)), self.widths).tolist()
        self._starts = [0, *np.cumsum(self.widths).tolist()]

    def of(self, axis: int) -> Axes:
        """Return the numbers of an attribute's bits."""
        return tuple(range(self._starts[axis], self._starts[axis + 1]))

    def owners(self, bits: Axes) -> Axes:
        """Return the attributes that the bits belong to, in increasing order."""
        return tuple(dict.fromkeys(self._owner[bit] for bit in bits))

    def folded(self, table: NDArray[Any], axes: Axes, bits: Axes) -> NDArray[Any]:
        """Return the marginal on some bits, from a table on the attributes they belong to."""
        if not axes:
            return table
        padding = [(0, 2 ** self.widths[axis] - self.original.sizes[axis]) for axis in axes]
        held = [bit for axis in axes for bit in self.of(axis)]
        wide = np.pad(table, padding).reshape((2,) * len(held))
        return np.asarray(wide.sum(axis=tuple(place for place, bit in enumerate(held) if bit not in bits)))

    def unfolded(self, table: Floats, axes: Axes) -> Floats:
        """Return a table on all bits of some attributes as a table on the attributes."""
        found = table.reshape([2 ** self.widths[axis] for axis in axes])
        for place, axis in enumerate(axes):
            size, half = self.original.sizes[axis], 2 ** (self.widths[axis] - 1)
            over = np.moveaxis(found, place, 0)
            kept = over[:size].copy()
            # A number beyond the last value is read without its leading bit.
            kept[size - half : half] += over[size:]
            found = np.moveaxis(kept, 0, place)
        return found

    def codes(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return records of bits, a row for each, as records of the attributes."""
        found = np.zeros((len(drawn), len(self.widths)), dtype=np.int64)
        for axis, size in enumerate(self.original.sizes):
            for bit in self.of(axis):
                found[:, axis] = 2 * found[:, axis] + drawn[:, bit]
            found[:, axis] = np.where(
                found[:, axis] < size, found[:, axis], found[:, axis] - 2 ** (self.widths[axis] - 1)
            )
        return found


class BitRecords:
    """Private records as records of bits; a marginal on bits is computed from that on their attributes."""

    def __init__(self, bits: Bits, records: Records) -> None:
        self._bits, self._records = bits, records

    @property
    def attributes(self) -> Attributes:
        """Names and sizes of the bits."""
        return self._bits.attributes

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return a marginal; every record lies in one of its cells."""
        owners = self._bits.owners(axes)
        return np.asarray(self._bits.folded(counts_of(self._records, owners), owners, axes), dtype=np.int64)


class BinaryModel(Model):
    """A model of bits as a model of the attributes they encode.

    Args:
        attributes: names and sizes.
        inner: a model of the bits.

    """

    kind: ClassVar[str] = "binary"

    def __init__(self, attributes: Attributes, inner: Model) -> None:
        self.bits = Bits(attributes)
        if inner.attributes != self.bits.attributes:
            raise InvalidParameter("inner", inner.attributes.names, "a model of the bits of the attributes")
        self.attributes, self.total, self.inner = attributes, inner.total, inner

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records."""
        return self.bits.unfolded(self.inner.table(tuple(bit for axis in axes for bit in self.bits.of(axis))), axes)

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records of the attributes."""
        return self.bits.codes(self.inner.draw(rows, generator))

    def write(self) -> dict[str, Any]:
        """Return the model of the bits as plain JSON values."""
        return {"inner": self.inner.to_dict()}

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        inner = Model.from_dict(record.get("inner"))
        if isinstance(inner, BinaryModel) or inner.total != total:
            raise InvalidParameter("inner", "a record", "a model of bits, of the same number of records")
        return cls(attributes, inner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinaryModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"BinaryModel({self.inner!r})"
