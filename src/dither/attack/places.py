"""Places: traces, stretches of road and paths, identified by a few points, by the map, or by their remains."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts, noisy_numbers, random_answers
from dither.attack.registry import ADELAIDE, BOOK, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive
from dither.mechanisms import perform
from dither.mechanisms.planar_noise import PlanarNoise

_HOURS, _PLACES, _USUAL, _POINTS = 48, 20, 5, 4
_AGAINST = 4


def who_fits(traces: NDArray[np.int64], person: int, hours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows that were where the person was, at all of these hours."""
    return np.flatnonzero((traces[:, hours] == traces[person, hours]).all(axis=1))


@attack("traces", source=f"Unique in the Crowd (de Montjoye et al. 2013); {BOOK}, section 1.2", most=1000)
def traces(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Find a person's trace by four places and hours, and read off where they were at another hour.

    Four points: hardly anybody shares four places and times with somebody else.

    Where people were, hour by hour, is published under false names. Who knows of the target four places and hours looks
    for rows with all four, and if one is left knows every other hour too. In a study of one and a half million people
    four points found 95 in a hundred (de Montjoye and others 2013).

    The defended release counts the people in every place at the hour in question, with noise.
    """
    drawn = public_generator()
    people = _AGAINST * targets
    # Everybody has a few usual places, and is now here, now there.
    usual = np.argsort(drawn.uniform(size=(people, _PLACES)), axis=1)[:, :_USUAL]
    where = np.take_along_axis(usual, drawn.integers(0, _USUAL, size=(people, _HOURS)), axis=1)
    secret = drawn.integers(0, _PLACES, size=people)
    chosen = drawn.permutation(people)[:targets]
    known = np.argsort(drawn.uniform(size=(targets, _HOURS)), axis=1)[:, : _POINTS + 2]
    lots = drawn.uniform(size=people)
    right = np.zeros((_POINTS + 3, targets), dtype=bool)
    alone = np.zeros(_POINTS + 3)
    for place, person in enumerate(chosen.tolist()):
        for points in range(1, _POINTS + 3):
            fit = who_fits(where, person, known[place, :points])
            alone[points] += len(fit) == 1
            right[points, place] = secret[fit[lots[fit].argmax()]] == secret[person]
    right[0] = secret[chosen] == int(np.bincount(secret, minlength=_PLACES).argmax())
    private = noisy_counts(np.bincount(secret, minlength=_PLACES), epsilon, moved=2)
    counted = tuple(float(points) for points in range(_POINTS + 3))
    return Outcome(
        attack="traces",
        measure="share of people whose place at an unknown hour is inferred correctly",
        unprotected=float(np.mean(right[_POINTS])),
        protected=float(np.mean(secret[chosen] == int(private.argmax()))),
        chance=1 / _PLACES,
        ceiling=ceiling(1 / _PLACES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's place at that hour",
        words=f"{people} people in {_PLACES} places over {_HOURS} hours. {_POINTS} points leave one trace for "
        f"{alone[_POINTS] / targets:.0%} of {targets} people, and with it every other hour. Counts of people in places "
        "have no traces.",
        figures=tuple((f"share alone with {points} points", float(alone[points]) / targets) for points in (2, 3, 4)),
        axes=("points that are known", "share inferred correctly"),
        curves=(Curve("traces under false names", counted, tuple(float(np.mean(row)) for row in right)),),
    )


_SIDE, _MOVED = 10, 0.35


def street_map(side: int) -> NDArray[np.float64]:
    """Return the stretches of a square town, each as two crossings with whole coordinates."""
    here = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=2).reshape(-1, 2)
    stretches = []
    for step in ((0, 1), (1, 0)):
        there = here + np.array(step)
        inside = (there < side).all(axis=1)
        stretches.append(np.stack([here[inside], there[inside]], axis=1))
    return np.concatenate(stretches).astype(np.float64)


def nearest_stretches(streets: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, for each pair of released ends, the stretch whose two ends are nearest to them, in either direction."""
    ways = np.stack([streets, streets[:, ::-1]])
    far = ((ends[:, None, None] - ways[None]) ** 2).sum(axis=(3, 4))
    return np.asarray(far.min(axis=1).argmin(axis=1))


@attack("nearest-edge", source=f"{ADELAIDE}, section 6.1 and figure 6.1", most=2000)
def nearest_edge(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Move the ends of a perturbed stretch of road back to the nearest crossings of the public map.

    Perturbed trajectories on a known map: every false point is nearest to the true one.

    A stretch of road somebody drove is published with both ends moved a little. The map is public, so each end is moved
    back to the nearest crossing, and the stretch between the two crossings is the one that was to be hidden. The
    defended release moves the ends so far that any stretch of the whole map could be the one.
    """
    drawn = public_generator()
    streets = street_map(_SIDE)
    driven = drawn.integers(0, len(streets), size=targets)
    true = streets[driven]
    moved = true + drawn.uniform(-_MOVED, _MOVED, size=true.shape)
    # Another stretch of one person moves four coordinates by at most the side of the map, and no one else's.
    private = noisy_numbers(true, epsilon, moved=4 * (_SIDE - 1))
    shares = [float(np.mean(nearest_stretches(streets, ends) == driven)) for ends in (moved, private)]
    return Outcome(
        attack="nearest-edge",
        measure="share of stretches found",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / len(streets),
        ceiling=ceiling(1 / len(streets), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's stretch, both ends together",
        words=f"{len(streets)} stretches of road. Ends that are moved by up to {_MOVED:g} of a block are moved back to "
        f"the nearest crossings; with noise for the whole map they are {np.abs(private - true).mean():.0f} blocks off.",
        axes=("east", "north"),
        curves=(
            Curve("true crossings", *_places(true[:60]), joined=False),
            Curve("moved a little", *_places(moved[:60]), joined=False),
        ),
    )


def _places(ends: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    flat = ends.reshape(-1, 2)
    return tuple(flat[:, 0].tolist()), tuple(flat[:, 1].tolist())


_ENDS, _THESIS = 4, 5.0
_SETTINGS = (0.5, 1.0, 2.0, 5.0, 10.0)


def chance_of_no_branch(thesis: float) -> float:
    """Return the probability that two places without an edge are in no common branch."""
    return 1 / (1 + math.exp(thesis / 2))


def expected_share(thesis: float) -> float:
    """Return how often the edge is found: the mean of one over the number of the four pairs that remain.

    >>> round(expected_share(0.0), 4), round(expected_share(10.0), 3)
    (0.4688, 0.99)

    """
    left = chance_of_no_branch(thesis)
    decoys = _ENDS - 1
    return sum(
        math.comb(decoys, many) * left**many * (1 - left) ** (decoys - many) / (1 + many) for many in range(_ENDS)
    )


def guess(is_left: NDArray[np.bool_], lots: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one of the remaining pairs at random; any pair if none remains."""
    return np.asarray((is_left * 2.0 + lots).argmax(axis=1))


@attack("endpoint", source=f"{ADELAIDE}, section 6.3, algorithm 6.2", most=2000)
def endpoint(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Join the loose ends of a path that lacks one edge: of four pairs most are published as impossible.

    Endpoints: a path with one edge missing is two pieces, and the edge joins an end of one to an end of the other.

    The Adelaide thesis publishes for every two places of a network whether they stand in one branch. Edges of the path
    never do; places that are not neighbours do with probability 1 / (1 + e^(-epsilon/2)). Who knows all of the path but
    one edge has four pairs of ends to choose from, and strikes out those in one branch: the larger epsilon of the
    thesis, the more. The one that is left is the edge.

    The defended release says of every pair by randomised response whether it is in one branch. Another place for the
    missing edge changes two pairs, so each answer loses half.
    """
    drawn = public_generator()
    edge = drawn.integers(0, _ENDS, size=targets)
    is_edge = np.arange(_ENDS) == edge[:, None]
    lots = drawn.uniform(size=is_edge.shape)
    is_left = is_edge | (drawn.uniform(size=is_edge.shape) < chance_of_no_branch(_THESIS))
    half = positive("epsilon", epsilon) / 2
    told = random_answers(is_edge.ravel().astype(np.int64), half, 2).reshape(is_edge.shape).astype(bool)
    shares = [float(np.mean(guess(seen, lots) == edge)) for seen in (is_left, told)]
    return Outcome(
        attack="endpoint",
        measure="share of missing edges found",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _ENDS,
        ceiling=ceiling(1 / _ENDS, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for the place of the missing edge, all four pairs together",
        words=f"At an epsilon of {_THESIS:g} in the thesis {np.mean(is_left.sum(axis=1) == 1):.0%} of {targets} paths "
        "have one pair of ends left, which is the edge. What was to hide it more, a larger epsilon, hides it less. "
        "Answers of which any may be false leave four.",
        axes=("epsilon of the thesis", "share of missing edges found"),
        curves=(Curve("published branches", _SETTINGS, tuple(expected_share(thesis) for thesis in _SETTINGS)),),
    )


_REPORTS, _HOUSES = 1500, 4
_APART = 200.0


@attack(
    "averaged-reports",
    source=f"{BOOK}, section 12.3.1; Geo-Indistinguishability (Andres et al. 2013), section 5",
    most=400,
)
def averaged_reports(targets: int = 150, epsilon: Number = "1/2") -> Outcome:
    """Average a year of reports that a device made at home, each with noise of its own.

    Averages: noise that is drawn again for each report cancels out, and the place stands still.

    A phone reports where it is several times a day, each time with planar noise that hides places a few hundred metres
    apart. Most reports are made at home. Their mean is nearer to home the more of them there are, and the nearest house
    of the block is the one; at work it is the same.

    The defended device reports once from each place and says the same report again: all its reports together lose what
    the first one loses.
    """
    drawn = public_generator()
    rate = float(positive("epsilon", epsilon)) / _APART
    # Sixteen houses, the farthest two of which are as far apart as the loss is stated for.
    side = _APART / math.sqrt(2) / (_HOUSES - 1)
    houses = np.stack(np.meshgrid(*[np.arange(_HOUSES) * side] * 2), axis=-1).reshape(-1, 2)
    home = drawn.integers(0, len(houses), size=targets)
    noise = PlanarNoise(scale=1 / (positive("epsilon", epsilon) / int(_APART)), places=_REPORTS)
    means, once = np.zeros((targets, 2)), np.zeros((targets, 2))
    for target, house in enumerate(home.tolist()):
        reports = np.asarray(perform(noise, np.tile(houses[house], (_REPORTS, 1)), stability=1), dtype=np.float64)
        means[target], once[target] = reports.mean(axis=0), reports[0]
    shares = [
        float(np.mean(((seen[:, None] - houses[None]) ** 2).sum(axis=2).argmin(axis=1) == home))
        for seen in (means, once)
    ]
    far = np.hypot(*(means - houses[home]).T).mean()
    return Outcome(
        attack="averaged-reports",
        measure="share of homes found",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / len(houses),
        ceiling=ceiling(1 / len(houses), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for homes {_APART:g} metres apart, all reports together",
        words=(
            f"One report is {2 / rate:.0f} metres from home on average, the mean of {_REPORTS} reports {far:.0f}: "
            f"{_REPORTS} reports lose {_REPORTS} times what one loses. A report that is sent again loses nothing more."
        ),
        axes=("metres to the east", "metres to the north"),
        curves=(
            Curve("houses", *_places(houses), joined=False),
            Curve("means of reports", *_places(means[:60]), joined=False),
        ),
    )
