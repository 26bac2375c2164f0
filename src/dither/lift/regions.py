"""Regions: positions and trips of a declared table, counted by public regions.

An engine counts positions, or pairs of them, by the cells of a fine public grid; the cells are added up here by the
region that a public map gives each of them. What lies in no region counts nowhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregated, Aggregation, DataSet
from dither.data.contribution import Sensitivity, of_rows
from dither.data.engines.protocol import Engine
from dither.data.places import RegionMap
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.lift.axes import Axis
from dither.lift.cells import Cells
from dither.lift.places import axes_of, declared, known_rows, one_axis
from dither.lift.source import Source
from dither.mechanisms.core.mechanism import Mechanism
from dither.privacy import L1, L2, Distance

#: Pairs of regions between which trips are counted.
_MOST_PAIRS = 2**24


@dataclass(frozen=True)
@typed
class RegionCells(Source[NDArray[np.int64]]):
    """How many positions lie in each of some public regions, or how many trips lead from each to each other.

    Args:
        dataset: the schema, with the unit and the limits.
        table: which declares positions; for trips where they ended, too.
        regions: the region of every cell of a grid over the declared box.
        are_trips: whether trips are counted.

    """

    dataset: DataSet
    table: str
    regions: RegionMap
    are_trips: bool = False

    def __post_init__(self) -> None:
        """Reject a table without positions, one without trips where they are asked for, and too many pairs."""
        places = declared(self.dataset.table(self.table))
        if not places.at:
            raise InvalidParameter("table", self.table, "a table that declares positions: this one has zones")
        if self.are_trips and not places.to:
            raise InvalidParameter("table", self.table, "a table whose rows are trips: its places declare 'to'")
        if math.prod(self.shape) > _MOST_PAIRS:
            raise InvalidParameter("regions", len(self.regions.names), f"at most {_MOST_PAIRS} pairs of regions")

    @cached_property
    def fine(self) -> Cells:
        """The cells of the grid, or pairs of them, as an engine counts them; never written out."""
        table = self.dataset.table(self.table)
        places, shape = declared(table), (self.regions.shape[0], self.regions.shape[1])
        ends = (places.at, places.to) if self.are_trips else (places.at,)
        axes = tuple(
            one_axis(name, axes_of(table, columns, shape)) for name, columns in zip(self._names, ends, strict=True)
        )
        return Cells(self.dataset, known_rows(self.dataset, table), axes)

    @property
    def _names(self) -> tuple[str, ...]:
        return ("origin", "destination") if self.are_trips else ("region",)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of regions, once or, of trips, twice."""
        return (len(self.regions.names),) * len(self._names)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The regions as axes, for tables that show them."""
        names = self.regions.names
        fine = zip(self._names, self.fine.axes, strict=True)
        return tuple(Axis(name, axis.value, names, None, is_numbered=True, is_ordered=False) for name, axis in fine)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far all counts move together for one unit: all rows of it that count may lie in one region."""
        counted = self.fine.contribution
        return of_rows(replace(counted, per_group=counted.total), 0, 1, math.prod(self.shape))

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the statement that counts rows by cells."""
        return (self.fine.asked,)

    def read(self, engine: Engine) -> NDArray[np.int64]:
        """Return the counts of all regions, or of all pairs."""
        return self.counted(engine.aggregate(self.fine.asked))

    def counted(self, answer: Aggregated) -> NDArray[np.int64]:
        """Return the counts of an engine's answer by regions; odd rows are ignored."""
        cells, counts = self.fine.filled(answer)
        regions = self.regions.cells[cells]
        inside = (regions >= 0).all(axis=1)
        found = np.zeros(self.shape, dtype=np.int64)
        np.add.at(found, tuple(regions[inside].T), counts[inside])
        return found

    def moves(self) -> dict[Distance, Fraction]:
        """Return how far one unit moves all counts together."""
        return {L1: self.sensitivity.l1, L2: self.sensitivity.l2}

    def check(self, method: Mechanism[object, object]) -> None:
        """Reject a method on anything but counts of as many regions."""
        super().check(method)
        shape = getattr(method, "shape", self.shape)
        if shape != self.shape:
            raise InvalidParameter("method", f"{method.name} for {shape} cells", f"for the shape {self.shape}")


register_records(RegionCells)
