"""Reported places: planar Laplace noise over a declared box, in metres over the ground, on public cells if wanted.

For a device that tells a service roughly where it is, and for a table of such reports. Geo-indistinguishability, a
relaxed notion: places r metres apart lose epsilon times r, and reports of one person add up. Cost: five draws a report
and one look into a table. Correction: the paper computes in degrees and floats; here distances are bounded on the
ellipsoid, the draw is exact, and snapping to cells is a public table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.data.places import Box, CellGrid
from dither.errors import InvalidParameter
from dither.exact import Maybe, Number, Of, Positive, Whole, to_float
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.public import Array
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.planar_noise import PlanarNoise
from dither.privacy import Plan, Unit, Use, place
from dither.publish.places.report.metres import metres_of

#: Epsilon per metre: from a loss of 1 over a thousand kilometres to one over a millimetre.
LEAST_EPSILON, MOST_EPSILON = Positive().convert("least", "1e-6"), 1000


def _examples() -> Iterator[Example]:
    plane = Box.of(0, 0, 1000, 1000, plane=True)
    odd = np.array([[float("nan"), 3.0]])
    yield Example(
        ReportedPlaces(box=plane, epsilon="0.01"),
        np.array([[500.0, 500.0]]),
        (
            (np.array([[500.0, 500.0]]), np.array([[503.0, 504.0]]), 5),
            (np.array([[500.0, 500.0]]), odd, 1),
            (np.array([[2000.0, -5.0]]), np.array([[1000.0, 3.0]]), 3),
            (np.array([[2**60, -(2**60)]]), odd, 1),
        ),
    )
    town = Box.of("48.80", "2.25", "48.92", "2.42")
    cells = CellGrid(town, 4, 3)
    near = np.array([[48.85, 2.35], [48.8501, 2.35]])
    table = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9])
    yield Example(
        ReportedPlaces(box=town, epsilon="0.005", reports=2, cells=cells, becomes=table),
        near,
        ((near, near[::-1].copy(), 23), (near, np.array([[48.85, 2.35], [48.8501, 2.3501]]), 8)),
    )


@register(
    examples=_examples,
    source="Geo-Indistinguishability: Differential Privacy for Location-Based Systems (Andres et al. 2013); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 12.3.1",
)
@dataclass(frozen=True, kw_only=True)
class ReportedPlaces(Composed[Any, NDArray[Any]]):
    """Move places by planar Laplace noise, and release them as latitude and longitude, or as public cells.

    Guarantee: places that move by ``d_in`` metres over the ground, all added up, lose epsilon = ``epsilon * d_in``.
    That is geo-indistinguishability and NOT plain differential privacy: far places are told apart, and T reports of one
    person whose places move by r each lose ``T * epsilon * r``. What is not a place counts as the centre of the box, a
    place outside it as the nearest inside.

    Args:
        box: where places lie; public.
        epsilon: the loss for each metre. The noise is about ``2 / epsilon`` metres long on average.
        reports: how many places there are; public.
        cells: to release the number of a cell in place of latitude and longitude.
        becomes: the cell that is released for each cell: an allowed one, or the best guess under a public prior.

    >>> paris = Box.of("48.80", "2.25", "48.92", "2.42")
    >>> ReportedPlaces(box=paris, epsilon="0.01").loss(100)
    PureDP('1')
    >>> ReportedPlaces(box=paris, epsilon="0.01").distance.is_relaxed
    True

    """

    name: ClassVar[str] = "reported-places"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "a table of cells may send a report anywhere"
    no_interval_because: ClassVar[str] = "the error is a distance, which an interval of coordinates does not state"

    box: Of[Box] = Of(Box)
    epsilon: Positive = Positive(least=LEAST_EPSILON, most=MOST_EPSILON)
    reports: Whole = Whole(1, least=1, most=2**26)
    cells: Maybe = Maybe(Of(CellGrid))
    becomes: Maybe = Maybe(Array("int", axes=1, rule="the number of a cell for each cell"))

    def __post_init__(self) -> None:
        """Refuse cells of another box, and a table that does not fit the cells."""
        if self.cells is not None and self.cells.box != self.box:
            raise InvalidParameter("cells", self.cells, "a grid over the box itself")
        if self.becomes is not None:
            table = self.becomes.values
            if self.cells is None or len(table) != self.cells.cells or not 0 <= table.min() <= table.max() < len(table):
                raise InvalidParameter("becomes", self.becomes, "the number of a cell for each cell of ``cells``")

    @property
    def distance(self) -> Unit:
        """Metres over the ground that all places move together: a relaxed notion of privacy."""
        return place("great circle")

    @cached_property
    def noise(self) -> PlanarNoise:
        """The noise in the plane, a little wider than 1 / epsilon: the plane may be longer than the ground."""
        return PlanarNoise(scale=1 / (self.epsilon * self.box.projection.least), places=self.reports)

    def plan(self) -> Plan:
        """Return one draw; a metre over the ground is at most 1 / least metres in the plane."""
        return Use(self.noise, 1 / self.box.projection.least)

    def error(self, confidence: Number) -> Bound | None:
        """Return the reach of the noise over the ground, and half the diagonal of a cell."""
        inner = self.noise.error(confidence)
        if self.becomes is not None:
            return None
        half = (
            0.0 if self.cells is None else float(np.hypot(float(self.cells.sides[0]), float(self.cells.sides[1]))) / 2
        )
        most = to_float(self.box.projection.most, "up")
        return Bound(
            (inner.value + half) * most, inner.confidence, "the largest distance of a report from its place, in metres"
        )

    def release(self, data: Any, run: Runner) -> NDArray[Any]:
        """Return rows of latitude and longitude, or the numbers of cells."""
        here = metres_of(data, self.box, self.reports)
        moved = np.asarray(run(self.noise, here, stability=1 / self.box.projection.least), dtype=np.float64)
        if self.cells is None:
            return self.box.projection.place_of(moved)
        found = self.cells.cell_of_metres(moved)
        return np.asarray(found if self.becomes is None else self.becomes.values[found])
