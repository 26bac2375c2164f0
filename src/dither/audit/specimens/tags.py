"""Topics of tags: noise on what a Markov chain has counted."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

from dither.audit.specimens.laws import HALF, at_least, claimed
from dither.audit.specimens.record import BOOK, Odds, Source, Specimen

#: Each of three tags is given so often, in a resource of its own.
_TIMES = 10
_PRIOR = Fraction(1, 100)
_TAGS = 3


@cache
def rising(base: Fraction, steps: int) -> Fraction:
    """Return base (base + 1) ... (base + steps - 1)."""
    return Fraction(1) if steps == 0 else rising(base, steps - 1) * (base + steps - 1)


def split_apart(links: int) -> Fraction:
    """Return the probability that noisy counts put tags A and B into different topics, of two.

    Tags A, B and C are given 10 times each, A in one resource, B in another, C in a third, and B also ``links`` times
    in the resource of A. The chain has converged: assignments have the exact posterior law of the topic model. The
    counts of A and B in the first topic get noise of ratio 1/2 each.
    """
    total = apart = Fraction(0)
    above = [at_least(HALF, _TIMES // 2 + 1 - count) for count in range(_TIMES + links + 1)]
    for a, b, c, linked in product(*(range(size + 1) for size in (_TIMES, _TIMES, _TIMES, links))):
        weight = Fraction(comb(_TIMES, a) * comb(_TIMES, b) * comb(_TIMES, c) * comb(links, linked))
        first, second = (a, b + linked, c), (_TIMES - a, _TIMES + links - b - linked, _TIMES - c)
        for counts in (first, second):
            for count in counts:
                weight *= rising(_PRIOR, count)
            weight /= rising(_TAGS * _PRIOR, sum(counts))
        for resource in ((a + linked, _TIMES + links - a - linked), (b, _TIMES - b), (c, _TIMES - c)):
            for count in resource:
                weight *= rising(_PRIOR, count)
        total += weight
        of_a, of_b = above[a], above[b + linked]
        apart += weight * (of_a * (1 - of_b) + (1 - of_a) * of_b)
    return apart / total


def noise_on_gibbs_counts(links: int, other_links: int) -> Odds:
    """Return the odds that tags A and B seem to belong to different topics."""
    return Odds("tags A and B in different topics", split_apart(links), split_apart(other_links))


SPECIMENS = (
    Specimen(
        name="noise-on-gibbs-counts",
        source=Source(BOOK, "11.3.3.2, equation 11.6 (PriTop)"),
        claim=claimed(4),
        what_is_wrong="Noise for one count that moves by one. A single tag decides to which topic a whole resource "
        "goes, and all its counts move together.",
        value=0,
        neighbour=1,
        step="one tag is given again",
        refuted_by="closed form",
        weigh=noise_on_gibbs_counts,
    ),
)
