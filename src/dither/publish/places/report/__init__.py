"""One report: a device tells roughly where it is, and pays for it in epsilon per metre.

Belongs here: mechanisms whose unit is a place (geo-indistinguishability, a relaxed notion), the remapping of their
reports by a public prior, and what an adversary learns from them. Does not belong here: counts of many people.
"""

from dither.publish.places.report.calculator import ReportFigures, adversary, planar_figures
from dither.publish.places.report.chosen import ChosenPlace
from dither.publish.places.report.events import Event, event_loss
from dither.publish.places.report.k_locations import KLocations
from dither.publish.places.report.likely import LikelyPlaces
from dither.publish.places.report.optimal import OptimalReport, optimal_report
from dither.publish.places.report.planar import ReportedPlaces
from dither.publish.places.report.predictive import PredictiveReports
from dither.publish.places.report.remap import best_remap, nearest_allowed, smoothed_prior
from dither.publish.places.report.visits import ReplacedVisit

__all__ = [
    "ChosenPlace",
    "Event",
    "KLocations",
    "LikelyPlaces",
    "OptimalReport",
    "PredictiveReports",
    "ReplacedVisit",
    "ReportFigures",
    "ReportedPlaces",
    "adversary",
    "best_remap",
    "event_loss",
    "nearest_allowed",
    "optimal_report",
    "planar_figures",
    "smoothed_prior",
]
