"""Places: the centres of their clusters, the grids on which they are counted, and the steps of journeys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

from dither.audit.specimens.record import BOOK, Odds, Source, Specimen, premise, told_apart
from dither.exact import exp_up
from dither.privacy import PureDP

_STARTS = (0, 10)
_NOISES = (-100, -1, 0, 1, 100)
_WORKERS_PER_CELL = 10


def best_centres(places: Sequence[int], noise: int) -> tuple[int, ...]:
    """Return the places that as centres minimise the noisy objective: the sum of all distances, and one noise for all.

    A sum of distances, and not of their squares, is least at a median; clusters of an odd number of places have one.
    """
    clusters = [
        [place for place in places if abs(place - start) == min(abs(place - s) for s in _STARTS)] for start in _STARTS
    ]

    def objective(centres: tuple[int, ...]) -> int:
        pairs = zip(clusters, centres, strict=True)
        return sum(abs(place - centre) for cluster, centre in pairs for place in cluster) + noise

    return min(product(*clusters), key=objective)


def noise_on_the_objective(places: Sequence[int], other_places: Sequence[int]) -> Odds:
    """Return the odds of the centres found, which are the same under every noise."""
    here, there = ({best_centres(given, noise) for noise in _NOISES} for given in (places, other_places))
    premise(len(here) == len(there) == 1, "a number added to all values of a function does not move its minimum")
    shown = ", ".join(str(centre) for centre in next(iter(here)))
    return told_apart(here, there, f"the centres {shown}")


def cells_of_a_map(workers: int) -> int:
    """Return the number of equal cells of a map that is divided until ten workers, on average, are in a cell."""
    return -(-workers // _WORKERS_PER_CELL)


def grid_from_worker_counts(workers: int, other_workers: int) -> Odds:
    """Return the odds of the number of cells, which anybody sees who is sent one noisy count for each."""
    here, there = cells_of_a_map(workers), cells_of_a_map(other_workers)
    return told_apart(here, there, f"a plot of {here} cells")


def steps_of(journeys: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    """Return how often each step from a place to the next was made, in all journeys."""
    return Counter(step for journey in journeys for step in pairwise(journey))


def steps_without_bounds(journeys: Sequence[Sequence[str]], other_journeys: Sequence[Sequence[str]]) -> Odds:
    """Return the odds that all steps which the one person more made are counted at least as often as they were made.

    Every count has Laplace noise of scale 1, by itself: it is at least the true one with probability 1/2, and at least
    k more than the true one with probability e^-k / 2.
    """
    here, there = steps_of(journeys), steps_of(other_journeys)
    more = here - there
    premise(here == there + more, "one person is added")
    half = Fraction(1, 2 ** len(more))
    return Odds("all steps of one person counted in full", half, half * exp_up(Fraction(-more.total())))


SPECIMENS = (
    Specimen(
        name="noise-on-the-objective",
        source=Source(BOOK, "12.4.3.1, algorithm 2 (PriLocation)"),
        claim=PureDP(1),
        what_is_wrong="Noise is added to the value of the objective, and its minimum stays where it is: "
        "the centres are exact medians.",
        value=(0, 1, 2, 9, 10, 11),
        neighbour=(0, 1, 2, 9, 13, 11),
        step="one visit is moved",
        refuted_by="exact argument",
        replacement="lloyd-clusters",
        weigh=noise_on_the_objective,
    ),
    Specimen(
        name="grid-from-worker-counts",
        source=Source(BOOK, "13.3.2, where cells are sized by the exact places of workers"),
        claim=PureDP(1),
        what_is_wrong="Counts have noise, but the number of cells does not: one worker more may make one cell more.",
        value=20,
        neighbour=21,
        step="one worker is added",
        refuted_by="exact argument",
        replacement="adaptive-grid",
        weigh=grid_from_worker_counts,
    ),
    Specimen(
        name="steps-without-bounds",
        source=Source(BOOK, "12.3.2 (DPT), without a bound on what one person contributes"),
        claim=PureDP(1),
        what_is_wrong=(
            "Counts of steps have the noise of one step, and a person makes one for each step of a journey: the loss "
            "grows with every step."
        ),
        value=("AB", "ABCDE"),
        neighbour=("AB",),
        step="one person is added",
        refuted_by="closed form",
        replacement="markov-journeys",
        weigh=steps_without_bounds,
    ),
)
