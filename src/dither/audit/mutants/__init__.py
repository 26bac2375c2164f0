"""Mutants: bugs that were really made elsewhere, planted into this product one by one. Every one must be killed.

A test that never fails proves nothing; these prove that the checks do. Each mutant is switched on as a patch, the
cheapest check that should notice is run, and the mutant is killed if that check complains with it and not without it.
Nearly all are killed without a sample: by following every coin, by replay, by closed forms, by asking the ledger in the
worst order. ``try_mutants`` runs them; ``python -m dither.audit`` runs all and prints a table.
"""

from dither.audit.mutants.entrances import ENTRANCES
from dither.audit.mutants.entropy import ENTROPY
from dither.audit.mutants.far import FAR
from dither.audit.mutants.kept import KEPT
from dither.audit.mutants.laws import LAWS
from dither.audit.mutants.ledger import LEDGER
from dither.audit.mutants.numbers import NUMBERS
from dither.audit.mutants.paths import PATHS
from dither.audit.mutants.prices import PRICES
from dither.audit.mutants.queries import QUERIES
from dither.audit.mutants.record import Mutant, Trial, try_mutant, try_mutants
from dither.audit.mutants.samples import SAMPLES
from dither.audit.mutants.told import TOLD
from dither.audit.mutants.unseen import UNSEEN

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
