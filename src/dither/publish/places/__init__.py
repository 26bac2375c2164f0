"""Places out: one report of one device, maps and journeys of many people, crowds and paths.

Belongs here: what lets places out with a guarantee, and what is computed from such releases. Does not belong here: what
a schema declares about places (``data.place_tables``), the geometry of boxes and cells (``data.places``), how places
are read from an engine (``lift.places``, ``lift.journeys``), counts on grids and trees (``publish.histograms``).
"""

from dither.lift.lifted import Lifted
from dither.mechanisms.core.registry import add_examples
from dither.publish.places.examples import lifted_examples
from dither.publish.places.flow_table import FlowTable
from dither.publish.places.grid_journeys import GridJourneys
from dither.publish.places.journey_synthesis import JourneySynthesis
from dither.publish.places.markov_journeys import MarkovJourneys
from dither.publish.places.prefix_journeys import PrefixJourneys
from dither.publish.places.region_centres import RegionCentres
from dither.publish.places.timed_journeys import TimedJourneys

__all__ = [
    "FlowTable",
    "GridJourneys",
    "JourneySynthesis",
    "MarkovJourneys",
    "PrefixJourneys",
    "RegionCentres",
    "TimedJourneys",
]

add_examples(Lifted.name, lifted_examples)
