"""Mutants: real bugs of other systems, planted into this product one by one. Every one must be killed.

A test that never fails proves nothing; these prove that the checks do. Each mutant is switched on as a patch, the
cheapest check that should notice is run, and the mutant is killed if that check complains with it and not without it.
Nearly all are killed without a sample: by following every coin, by replay, by closed forms, by asking the ledger in the
worst order. ``try_mutants`` runs them; ``python -m dither.audit`` runs all and prints a table.
"""

from tools.mutants.entrances import ENTRANCES
from tools.mutants.entropy import ENTROPY
from tools.mutants.far import FAR
from tools.mutants.kept import KEPT
from tools.mutants.laws import LAWS
from tools.mutants.ledger import LEDGER
from tools.mutants.numbers import NUMBERS
from tools.mutants.paths import PATHS
from tools.mutants.prices import PRICES
from tools.mutants.queries import QUERIES
from tools.mutants.record import Mutant, Trial, try_mutant, try_mutants
from tools.mutants.samples import SAMPLES
from tools.mutants.told import TOLD
from tools.mutants.unseen import UNSEEN

#: By their numbers.
MUTANTS = {
    one.number: one
    for one in sorted(
        (
            *(*LAWS, *NUMBERS, *QUERIES, *ENTROPY, *LEDGER),
            *(*KEPT, *PATHS, *TOLD, *PRICES, *SAMPLES, *ENTRANCES, *UNSEEN, *FAR),
        ),
        key=lambda one: one.number,
    )
}

__all__ = ["MUTANTS", "Mutant", "Trial", "try_mutant", "try_mutants"]
