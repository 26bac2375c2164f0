"""Bugs in places and journeys: weights of long walks, places within a part, metres of a plane."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np

from dither.data.places import Box
from dither.mechanisms import Geometric
from dither.mechanisms.core.public import PublicArray
from dither.publish.histograms.priv_tree import QuarteringTree
from dither.publish.places.flow_table import FlowTable
from dither.publish.places.markov_journeys import MarkovJourneys
from dither.publish.places.region_centres import RegionCentres
from dither.publish.places.report.planar import ReportedPlaces
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Sheet, oversteps
from tools.mutants.record import both

_FAMILY = "places"


def _long_walk() -> str:
    """Try a journey of four cells: its weights add up to one whole."""
    weight = Geometric(scale=2**20)
    made = MarkovJourneys(shape=(3, 3), length=4, most=8, trips=Geometric(scale=2), first=weight, second=weight)
    some = np.array([[0, 1, 2, 5], [3, 4, 5, -1], [4, -1, 0, 0]])
    found = (oversteps(made, some, np.delete(some, place, axis=0)) for place in range(len(some)))
    return next((one for one in found if one), "")


def _centres() -> str:
    """Try a point in the last of sixteen parts of a plane."""
    tree = QuarteringTree(side=8, scale=2, decay=3)
    made = RegionCentres(tree=tree, count=Geometric(scale=2), place=Geometric(scale=2**11))
    here = np.full((8, 8), 40)
    there = here.copy()
    there[7, 7] += 1
    return oversteps(made, here, there)


def _north() -> str:
    """Two places in a box whose metres in the plane are longer than those over the ground at one end."""
    box = Box.of("60.0", "10.0", "61.5", "11.0")
    made = ReportedPlaces(box=box, epsilon="0.01")
    for (north, east), (up, along) in (
        ((60.0, 10.0), (0.0, 0.5)),
        ((61.5, 10.0), (0.0, 0.5)),
        ((60.0, 10.0), (0.5, 0.0)),
    ):
        handed = []
        for place in ([north, east], [north + up, east + along]):
            sheet = Sheet()
            made.release(np.array([place]), sheet)  # type: ignore[arg-type]
            ((_, value, far),) = sheet.handed
            handed.append(np.asarray(value, dtype=np.float64)[0])
        ground = _ground((north, east), (north + up, east + along))
        plane = float(np.hypot(*(handed[0] - handed[1])))
        # A sphere is off by less than 0.7 % of the ellipsoid.
        if plane > ground * float(far) * 1.007:
            return f"{ground:.6g} metres over the ground are {plane:.6g} in the plane, beyond {float(far):.6g} a metre"
    return ""


def _ground(here: tuple[float, float], there: tuple[float, float]) -> float:
    """Return the way over a sphere, in metres."""
    (a, b), (c, d) = (np.radians(place) for place in (here, there))
    half = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return float(2 * 6371008.8 * np.arcsin(np.sqrt(half)))


def _regions() -> str:
    """Try a trip within a region, in a table with flows between regions."""
    blocks = PublicArray(np.array([[0, 1, 1, 0]]))
    made = FlowTable(
        shape=(2, 2), cell=Geometric(scale=2), total=Geometric(scale=4), region=Geometric(scale=4), blocks=blocks
    )
    here = np.array([[9, 0], [30, 1]])
    found = (oversteps(made, here, here + np.eye(4, dtype=int)[place].reshape(2, 2)) for place in range(4))
    return next((one for one in found if one), "")


def _both_ends() -> AbstractContextManager[None]:
    old, new = "1 / self.box.projection.least", "1 / self.box.projection.most"
    place = "dither.publish.places.report.planar:ReportedPlaces."
    return both(edited(place + "plan", (old, new))(), edited(place + "release", (old, new))())


PLACES = (
    Plant(
        53,
        "weights of a walk leave out its start",
        _FAMILY,
        "a journey adds one weight more than its weights are divided by",
        ("markov-journeys",),
        edited(
            "dither.publish.places.markov_journeys:n_grams",
            ("WHOLE // (walks.lengths + 1)", "WHOLE // np.maximum(walks.lengths, 1)"),
        ),
        _long_walk,
    ),
    Plant(
        54,
        "places within a part are counted from the corner of the plane",
        _FAMILY,
        "a point in a small part far from the corner moves its sum too far",
        ("region-centres",),
        edited(
            "dither.publish.places.region_centres:RegionCentres.release",
            ("(2 * (along % side) + 1)", "(2 * along + 1)"),
        ),
        _centres,
    ),
    Plant(
        55,
        "metres of the plane are those of its most stretched end",
        _FAMILY,
        "a metre over the ground moves farther in the plane than stated, in large boxes",
        ("reported-places",),
        _both_ends,
        _north,
    ),
    Plant(
        56,
        "flows within a region count in two regions",
        _FAMILY,
        "one trip moves two sums between regions",
        ("flow-table",),
        edited(
            "dither.publish.places.flow_table:FlowTable.release",
            (
                "bucket_sums(counts, labels, int(labels.max()) + 1)",
                "bucket_sums(counts, labels, int(labels.max()) + 1) + np.diag(counts)[: int(labels.max()) + 1].sum()",
            ),
        ),
        _regions,
    ),
)
