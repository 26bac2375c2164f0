"""The second batch of plants, numbered from 101: written after the first, by people who had not read the checks."""

from tools.mutants.plants.second.graphs import GRAPHS
from tools.mutants.plants.second.places import PLACES
from tools.mutants.plants.second.prices import PRICES
from tools.mutants.plants.second.streams import STREAMS
from tools.mutants.plants.second.tables import TABLES

SECOND = (*GRAPHS, *STREAMS, *PLACES, *PRICES, *TABLES)
