"""Places, and the centres of their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.audit.specimens.record import BOOK, Odds, Source, Specimen, premise, told_apart
from dither.privacy import PureDP

_STARTS = (Fraction(0), Fraction(10))
_NOISES = (-100, -1, 0, 1, 100)


def best_centres(places: Sequence[int], noise: int) -> tuple[Fraction, ...]:
    """Return the centres, of some candidates, that minimise the noisy objective: one noise for all of them."""
    clusters = [
        [place for place in places if abs(place - start) == min(abs(place - s) for s in _STARTS)] for start in _STARTS
    ]
    means = tuple(Fraction(sum(cluster), len(cluster)) for cluster in clusters)
    candidates = [_STARTS, means, tuple(mean + 1 for mean in means)]

    def objective(centres: tuple[Fraction, ...]) -> Fraction:
        pairs = zip(clusters, centres, strict=True)
        return sum((place - centre) ** 2 for cluster, centre in pairs for place in cluster) + Fraction(noise)

    return min(candidates, key=objective)


def noise_on_the_objective(places: Sequence[int], other_places: Sequence[int]) -> Odds:
    """Return the odds of the centres found, which are the same under every noise."""
    here, there = ({best_centres(given, noise) for noise in _NOISES} for given in (places, other_places))
    premise(len(here) == len(there) == 1, "a number added to all values of a function does not move its minimum")
    shown = ", ".join(str(centre) for centre in next(iter(here)))
    return told_apart(here, there, f"the centres {shown}")


SPECIMENS = (
    Specimen(
        name="noise-on-the-objective",
        source=Source(BOOK, "12.4.3.1, algorithm 2 (PriLocation)"),
        claim=PureDP(1),
        what_is_wrong="Noise is added to the value of the objective, and its minimum stays where it is: "
        "the centres are exact means.",
        value=(0, 1, 2, 9, 10, 11),
        neighbour=(0, 1, 2, 9, 10, 14),
        step="one visit is moved",
        refuted_by="exact argument",
        replacement="lloyd-clusters",
        weigh=noise_on_the_objective,
    ),
)
