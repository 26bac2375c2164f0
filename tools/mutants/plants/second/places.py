"""Bugs in journeys and places: a fence post in a weight, rounding upwards, a diameter that is a mean."""

from __future__ import annotations

import numpy as np

from dither.data.places import Box
from dither.mechanisms import Geometric
from dither.publish.histograms.priv_tree import QuarteringTree
from dither.publish.places import markov_journeys
from dither.publish.places.reference_grids import Grids, Steps
from dither.publish.places.region_centres import RegionCentres
from dither.publish.places.report.visits import ReplacedVisit
from dither.publish.places.walks import WHOLE, Plane, walks_of
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import oversteps

_FAMILY = "places"


def _table(number: int) -> str:
    """Lay one journey of four cells in a row: what all entries of a table weigh together."""
    walks = walks_of(np.array([[0, 1, 2, 3]]), Plane(1, 4), 4)
    found = int(markov_journeys.n_grams(walks)[number].sum())
    return f"one journey weighs {found}, and {WHOLE} is stated" if found > WHOLE else ""


def _first() -> str:
    """Cells and the start."""
    return _table(0)


def _second() -> str:
    """Pairs of steps."""
    return _table(1)


def _speeds() -> str:
    """One journey of three steps: what they weigh together."""
    found = int(Steps.of(Grids(Plane(1, 4), 2), np.arange(4), np.zeros(4, dtype=np.int64), 4).speeds().sum())
    return f"one journey weighs {found}, and {WHOLE} is stated" if found > WHOLE else ""


def _corner() -> str:
    """One point in the last cell of four by four, which no draw divides."""
    tree = QuarteringTree(side=4, scale="1/8", decay=1, threshold=1000)
    made = RegionCentres(tree=tree, count=Geometric(scale=2), place=Geometric(scale=2048))
    moved = np.zeros((4, 4), dtype=np.int64)
    moved[3, 3] = 1
    return oversteps(made, np.zeros((4, 4), dtype=np.int64), moved)


def _mean_distance() -> str:
    """Five places in one cluster, one of them far away: scores from there and from here."""
    box = Box.of(0, 0, 1000, 1000, plane=True)
    places = np.array([[100.0, 100.0], [101.0, 100.0], [102.0, 100.0], [900.0, 900.0], [0.0, 900.0]])
    made = ReplacedVisit(box=box, places=places, clusters=[0, 0, 0, 0, 1], cluster_epsilon=9, place_epsilon=1)
    return oversteps(made, 0, 3)


PLACES = (
    Plant(
        114,
        "the start of a journey has no share of its weight",
        _FAMILY,
        "entries of the first table weigh more than a whole together",
        ("markov-journeys", "timed-journeys"),
        edited(
            "dither.publish.places.markov_journeys:n_grams",
            ("weight = WHOLE // (walks.lengths + 1)", "weight = WHOLE // walks.lengths"),
        ),
        _first,
    ),
    Plant(
        115,
        "pairs of steps are counted without the last, which stops",
        _FAMILY,
        "entries of the second table weigh more than a whole together for three cells or more",
        ("markov-journeys", "timed-journeys"),
        edited(
            "dither.publish.places.markov_journeys:n_grams",
            ("np.maximum(walks.lengths - 1, 1)", "np.maximum(walks.lengths - 2, 1)"),
        ),
        _second,
    ),
    Plant(
        116,
        "shares of a journey's speed are rounded up",
        _FAMILY,
        "journeys whose number of steps does not divide 65536 weigh a little more than a whole",
        ("grid-journeys",),
        edited(
            "dither.publish.places.reference_grids:Steps.speeds",
            ("WHOLE // np.maximum(many, 1)", "-(-WHOLE // np.maximum(many, 1))"),
        ),
        _speeds,
    ),
    Plant(
        117,
        "a place has all steps along each axis",
        _FAMILY,
        "in parts of two cells or more a side, a point moves sums by more than is stated",
        ("region-centres",),
        edited(
            "dither.publish.places.region_centres:RegionCentres.release",
            ("+ 1) * (_STEPS // 2)) // (2 * side)", "+ 1) * _STEPS) // (2 * side)"),
        ),
        _corner,
    ),
    Plant(
        118,
        "distances in a cluster are in parts of their mean",
        _FAMILY,
        "scores move farther than is stated in clusters with a place far from the others",
        ("replaced-visit",),
        edited(
            "dither.publish.places.report.visits:ReplacedVisit.release",
            ("np.minimum(away / max(float(apart.max()), 1e-9), 1.0)", "(away / max(float(apart.mean()), 1e-9))"),
        ),
        _mean_distance,
    ),
)
