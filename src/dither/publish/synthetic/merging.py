"""Merging: values too rare to distinguish from noise are counted together, and separated again at the end.

A table on two attributes of a hundred values has ten thousand cells, most of them empty, and noise on each of them.
Which values are rare is read off released counts, so merging costs nothing; a merged table moves by no more than the
table itself. Within a merged value the shares of its members come from the same released counts (McKenna, Miklau and
Sheldon 2021 do the same with equal shares).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import NoisyMarginal
from dither.estimate.projections import non_negative_with_total
from dither.lift.attributes import Attributes, Axes

Floats = NDArray[np.float64]
#: Values whose noisy count is below this many standard deviations are merged.
RARE = 3.0


@dataclass(frozen=True, eq=False)
class Merging:
    """For each attribute, the merged value of each of its values, and the value's share of it.

    Args:
        places: for each attribute an array with the number of the merged value of each value.
        shares: for each attribute an array with the share that each value has of its merged value.

    """

    places: tuple[NDArray[np.int64], ...]
    shares: tuple[Floats, ...]

    @classmethod
    def none(cls, attributes: Attributes) -> Self:
        """Return a merging that merges nothing."""
        places = tuple(np.arange(size, dtype=np.int64) for size in attributes.sizes)
        return cls(places, tuple(np.ones(size) for size in attributes.sizes))

    @classmethod
    def of(cls, attributes: Attributes, singles: Mapping[Axes, NoisyMarginal]) -> Self:
        """Return the merging of all rare values of each attribute into one, from noisy counts of every value."""
        places, shares = [], []
        for axis, size in enumerate(attributes.sizes):
            one = singles[(axis,)]
            rare = one.values < RARE * np.sqrt(one.variance)
            if rare.sum() < 2:
                places.append(np.arange(size, dtype=np.int64))
                shares.append(np.ones(size))
                continue
            # Common values keep their order; the merged one comes last.
            numbers = np.cumsum(~rare) - 1
            places.append(np.where(rare, int((~rare).sum()), numbers).astype(np.int64))
            share = np.ones(size)
            share[rare] = _shares(one.values[rare])
            shares.append(share)
        return cls(tuple(places), tuple(shares))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of merged values of each attribute."""
        return tuple(int(places.max()) + 1 for places in self.places)

    @cached_property
    def _orders(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]] | None, ...]:
        """For each attribute the order that brings merged values together, and where each begins; None: unchanged."""
        found: list[tuple[NDArray[np.int64], NDArray[np.int64]] | None] = []
        for places in self.places:
            if np.array_equal(places, np.arange(places.size)):
                found.append(None)
                continue
            order = np.argsort(places, kind="stable")
            found.append((order, np.searchsorted(places[order], np.arange(int(places.max()) + 1))))
        return tuple(found)

    @property
    def merged_axes(self) -> tuple[int, ...]:
        """The attributes with merged values."""
        return tuple(axis for axis, order in enumerate(self._orders) if order is not None)

    def shape_of(self, axes: Axes) -> tuple[int, ...]:
        """Return the shape of the merged marginal on these attributes."""
        return tuple(self.sizes[axis] for axis in axes)

    def merged(self, table: NDArray[Any], axes: Axes) -> NDArray[Any]:
        """Return a marginal with the cells of merged values added up."""
        for number, axis in enumerate(axes):
            ordered = self._orders[axis]
            if ordered is not None:
                table = np.add.reduceat(np.take(table, ordered[0], axis=number), ordered[1], axis=number)
        return table

    def merged_noisy(self, one: NoisyMarginal) -> NoisyMarginal:
        """Return a noisy marginal with the cells of merged values added up, and so their variances."""
        return NoisyMarginal(one.axes, self.merged(one.values, one.axes), self.merged(np.array(one.variance), one.axes))

    def spread(self, table: Floats, axes: Axes) -> Floats:
        """Return a merged marginal with every merged value divided among its members."""
        for number, axis in enumerate(axes):
            if self._orders[axis] is not None:
                along = [1] * table.ndim
                along[number] = -1
                table = np.take(table, self.places[axis], axis=number) * self.shares[axis].reshape(along)
        return table

    def write(self) -> list[dict[str, Any]]:
        """Return the merged attributes as plain JSON values."""
        return [
            {"attribute": axis, "places": self.places[axis].tolist(), "shares": self.shares[axis].tolist()}
            for axis in self.merged_axes
        ]

    @classmethod
    def read(cls, attributes: Attributes, written: Any) -> Self:
        """Return what ``write`` wrote, or reject it."""
        rule = "attributes with a merged value and a share for each of their values"
        none = cls.none(attributes)
        places, shares = list(none.places), list(none.shares)
        if not isinstance(written, list):
            raise InvalidParameter("merging", "a record", rule)
        for entry in written:
            if not isinstance(entry, Mapping) or set(entry) != {"attribute", "places", "shares"}:
                raise InvalidParameter("merging", "a record", rule)
            axis = entry["attribute"]
            if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis < len(attributes.sizes):
                raise InvalidParameter("merging", "a record", rule)
            size = attributes.sizes[axis]
            places[axis] = _numbers(entry["places"], size, int, rule).astype(np.int64)
            shares[axis] = _numbers(entry["shares"], size, float, rule)
            used = np.unique(places[axis])
            if not np.array_equal(used, np.arange(used.size)):
                raise InvalidParameter("merging", "a record", rule)
            sums = np.bincount(places[axis], weights=shares[axis])
            if not ((shares[axis] >= 0).all() and np.allclose(sums, 1)):
                raise InvalidParameter("merging", "a record", rule)
        return cls(tuple(places), tuple(shares))


def _shares(counts: Floats) -> Floats:
    """Return the shares of rare values in their sum: non-negative noisy counts; equal shares if all are 0."""
    total = float(counts.sum())
    if total <= 0:
        return np.full(counts.size, 1 / counts.size)
    return non_negative_with_total(counts, total) / total


def _numbers(given: Any, size: int, kind: type, rule: str) -> NDArray[Any]:
    """Return a list of ``size`` finite numbers as an array, or reject it."""
    kinds = (int,) if kind is int else (int, float)
    if not isinstance(given, Sequence) or len(given) != size or not all(type(entry) in kinds for entry in given):
        raise InvalidParameter("merging", "a record", rule)
    array = np.array(given, dtype=np.float64)
    if not (np.isfinite(array) & (np.abs(array) <= size)).all():
        raise InvalidParameter("merging", "a record", rule)
    return array
