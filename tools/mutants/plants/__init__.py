"""Plants: privacy bugs with witnesses, on which contract and audit are tried as they are.

Their authors had not read the checks. ``python -m tools.mutants --plants`` runs the whole contract and the audit for
the mechanisms concerned by each, and prints how many die, by family.
"""

from tools.mutants.plants.graphs import GRAPHS
from tools.mutants.plants.learners import LEARNERS
from tools.mutants.plants.ledger import LEDGER
from tools.mutants.plants.places import PLACES
from tools.mutants.plants.prices import PRICES
from tools.mutants.plants.primitives import PRIMITIVES
from tools.mutants.plants.queries import QUERIES
from tools.mutants.plants.record import FAMILIES, Plant
from tools.mutants.plants.samples import SAMPLES
from tools.mutants.plants.second import SECOND
from tools.mutants.plants.streams import STREAMS
from tools.mutants.plants.synthetic import SYNTHETIC
from tools.mutants.plants.tables import TABLES

#: By their numbers.
PLANTS = {
    one.number: one
    for one in (
        *(*PRIMITIVES, *PRICES, *TABLES, *SYNTHETIC, *LEARNERS, *STREAMS),
        *(*GRAPHS, *PLACES, *SAMPLES, *QUERIES, *LEDGER, *SECOND),
    )
}

#: Plants whose witness shows no break: what they change is checked once more behind them. Listed, and not counted.
NOT_LIVE = frozenset({70})


def batch_of(number: int) -> int:
    """Return the batch of a plant: 1 up to number 100, 2 from there on."""
    return 1 if number <= 100 else 2


__all__ = ["FAMILIES", "NOT_LIVE", "PLANTS", "Plant", "batch_of"]
