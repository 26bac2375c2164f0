"""Places: where people are and which way they went.

Belongs here: mechanisms on cells, zones and journeys, the maps drawn of what they release, and reports of one place.
Does not belong here: what a schema declares about places (``data.place_tables``), and how they are read from an engine
(``lift.places``, ``lift.journeys``).
"""

from dither.lift.lifted import Lifted
from dither.mechanisms.core.registry import add_examples
from dither.publish.places.examples import lifted_examples
from dither.publish.places.flow_table import FlowTable
from dither.publish.places.journey_synthesis import JourneySynthesis
from dither.publish.places.markov_journeys import MarkovJourneys
from dither.publish.places.prefix_journeys import PrefixJourneys
from dither.publish.places.region_centres import RegionCentres

__all__ = ["FlowTable", "JourneySynthesis", "MarkovJourneys", "PrefixJourneys", "RegionCentres"]

add_examples(Lifted.name, lifted_examples)
