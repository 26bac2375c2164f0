"""Places: the centres of their clusters, and the grids on which they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dither.audit.specimens.record import BOOK, Odds, Source, Specimen, premise, told_apart
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
        what_is_wrong="Counts have noise, and the number of cells has none: one worker more may make one cell more.",
        value=20,
        neighbour=21,
        step="one worker is added",
        refuted_by="exact argument",
        replacement="adaptive-grid",
        weigh=grid_from_worker_counts,
    ),
)
