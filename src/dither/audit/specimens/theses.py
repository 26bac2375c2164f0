"""The Adelaide thesis on paths and on k-means, chapters 6 and 7."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dither.audit.specimens.record import ADELAIDE, Odds, Source, Specimen, premise, told_apart
from dither.exact import exp_up, log_up
from dither.privacy import PureDP


class Point(NamedTuple):
    """A point of the plane."""

    x: Fraction
    y: Fraction


Places = tuple[tuple[int, int], ...]

_STARTS = (Point(Fraction(0), Fraction(0)), Point(Fraction(8), Fraction(4)))
_NOISES = (-3, -1, 0, 1, 2, 7)


def published_relation(state: str, other_state: str) -> Odds:
    """Return the odds that a pair of vertices is published as 'same branch', at epsilon_e = 1.

    Pairs that are edges of the path never are; pairs that are no edges of the network are so with probability
    1 / (1 + e^(-1/2)); other edges always.
    """
    chances = {"path": Fraction(0), "none": 1 / (1 + exp_up(Fraction(-1, 2))), "network": Fraction(1)}
    return Odds("the pair is in one branch", chances[state], chances[other_state])


def kept_ends(trace: Places, other: Places) -> Odds:
    """Return the odds that a published trace begins where the true one does: SDD draws the points between the ends."""
    return told_apart(trace[0], other[0], "the published trace begins where the true one does")


def mean(places: Sequence[tuple[int, int]]) -> Point:
    """Return the mean of some places."""
    return Point(*(Fraction(sum(axis), len(places)) for axis in zip(*places, strict=True)))


def lloyd(places: Places, centres: Sequence[Point]) -> tuple[Point, ...]:
    """Return the means of the clusters around some centres."""

    def nearest(place: tuple[int, int]) -> int:
        return min(
            range(len(centres)), key=lambda at: (place[0] - centres[at].x) ** 2 + (place[1] - centres[at].y) ** 2
        )

    return tuple(mean([place for place in places if nearest(place) == at]) for at in range(len(centres)))


def zone(places: Places) -> tuple[Point, Point]:
    """Return the ends of the segment on which the published centre of the first zone lies: two means in a row."""
    now = lloyd(places, _STARTS)
    return now[0], lloyd(places, now)[0]


def _turn(start: Point, end: Point, other: Point) -> Fraction:
    return (end.x - start.x) * (other.y - start.y) - (end.y - start.y) * (other.x - start.x)


def zones_from_means(places: Places, other_places: Places) -> Odds:
    """Return the odds that the centre of the zone lies on the line through two means of the first input.

    It is drawn from a continuous law on the segment between two means, so it lies on another line with probability 0.
    """
    start, end = zone(places)
    other_start, other_end = zone(other_places)
    is_same_line = _turn(start, end, other_start) == 0 == _turn(start, end, other_end)
    premise(start != end and other_start != other_end, "segments, and not points")
    return Odds("a centre on the line of the first input", Fraction(1), Fraction(int(is_same_line)))


def slopes(places: Places) -> set[Fraction]:
    """Return y / x of the released mean, sums over (number + noise), under several noises."""
    total = Point(*(Fraction(sum(axis)) for axis in zip(*places, strict=True)))
    sizes = [len(places) + noise for noise in _NOISES if len(places) + noise]
    return {(total.y / size) / (total.x / size) for size in sizes}


def count_only(places: Places, other_places: Places) -> Odds:
    """Return the odds of the ratio of the two coordinates of a mean."""
    here, there = slopes(places), slopes(other_places)
    premise(len(here) == len(there) == 1, "noise on the number alone cancels in the ratio")
    return told_apart(here, there, f"coordinates in the ratio {next(iter(here))}")


SPECIMENS = (
    Specimen(
        name="path-publication",
        source=Source(ADELAIDE, "6.3, algorithm 6.2 and lemma 6.2"),
        claim=PureDP(1 + log_up(Fraction(2))),
        what_is_wrong="Edges of the path are never published as one branch, and pairs that are no edges are, more "
        "often than not: the lemma looks at one side only.",
        value="none",
        neighbour="path",
        step="one pair of vertices changes its state",
        refuted_by="exact argument",
        replacement="pair-response",
        weigh=published_relation,
    ),
    Specimen(
        name="kept-ends",
        source=Source(ADELAIDE, "3.3, on SDD (Jiang et al. 2013)"),
        claim=PureDP(1),
        what_is_wrong="Both ends of a trace are published as they are; noise is drawn for the points between alone.",
        value=((0, 0), (2, 1), (4, 4)),
        neighbour=((1, 0), (2, 1), (4, 4)),
        step="one point of a trace moves",
        refuted_by="exact argument",
        replacement="predictive-reports",
        weigh=kept_ends,
    ),
    Specimen(
        name="zones-from-means",
        source=Source(ADELAIDE, "7.4, algorithms 7.1 and 7.2"),
        claim=PureDP(1),
        what_is_wrong=(
            "The zone from which a noisy centre is drawn is published, and its middle is on the segment between two "
            "exact means."
        ),
        value=((0, 0), (0, 3), (0, 9), (3, 6)),
        neighbour=((1, 0), (0, 3), (0, 9), (3, 6)),
        step="one row is replaced",
        refuted_by="exact argument",
        replacement="lloyd-clusters",
        weigh=zones_from_means,
    ),
    Specimen(
        name="count-only-last-step",
        source=Source(ADELAIDE, "7.5, algorithm 7.1, the last step"),
        claim=PureDP(1),
        what_is_wrong="Only the number in a mean is noisy, so the ratio of its coordinates is exact.",
        value=((1, 2), (3, 4), (2, 2)),
        neighbour=((1, 2), (3, 4), (2, 3)),
        step="one row is replaced",
        refuted_by="exact argument",
        replacement="lloyd-clusters",
        weigh=count_only,
    ),
)
