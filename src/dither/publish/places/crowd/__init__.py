"""Crowds: whom to ask for a task at a place, from noisy counts of workers.

Belongs here: what an untrusted server computes from a private table of counts by cell (regions to notify, radii,
rewards), and the measures of how well that works on true positions. All of it is post-processing; the private release
is that of the counts (``publish.histograms``). Does not belong here: noise.
"""

from dither.publish.places.crowd.day import Day, simulate_day
from dither.publish.places.crowd.geocast import Geocast, Notified, geocast, notify, notify_nearest
from dither.publish.places.crowd.rewards import Measures, acceptance, allocate, measure, radius

__all__ = [
    "Day",
    "Geocast",
    "Measures",
    "Notified",
    "acceptance",
    "allocate",
    "geocast",
    "measure",
    "notify",
    "notify_nearest",
    "radius",
    "simulate_day",
]
