"""Graphs: people without names are found again by whom they know, and an edge is read off exact counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import BOOK, KAR, attack
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import Number
from dither.mechanisms import perform
from dither.privacy import PureDP
from dither.publish.graphs.synthesis import ClusteredGraph

Matrix = NDArray[np.float64]
#: People in a circle of friends, how many of its pairs know each other, and further ties of each person.
_CIRCLE, _KNOWN, _FURTHER = 12, 0.6, 3
#: The share of ties that the attacker does not know, and how many people are known by name.
_UNSEEN, _SEEDS = 0.1, 12
_ROUNDS = 30
#: Nodes around a tie that is asked for.
_AROUND = 6


def _network(people: int, drawn: Generator) -> Matrix:
    """Return who knows whom: circles of friends, and ties beyond them."""
    circles = np.arange(people) // _CIRCLE
    chance = np.where(circles[:, None] == circles[None, :], _KNOWN, _FURTHER / people)
    upper = np.triu(drawn.random((people, people)) < chance, 1)
    return (upper | upper.T).astype(np.float64)


def _matched(known: Matrix, released: Matrix, seeds: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each known person the released node, or -1: from the seeds on, by neighbours that are matched already.

    A pair of a person and a node has as many points as the person has matched neighbours whose nodes are neighbours of
    the node, in relation to both degrees; equal degrees decide between equals. The best pairs are matched first.
    """
    found = np.full(len(known), -1, dtype=np.int64)
    found[seeds] = places
    weight = np.sqrt(np.outer(known.sum(axis=1) + 1, released.sum(axis=1) + 1))
    apart = np.abs(known.sum(axis=1)[:, None] - released.sum(axis=1)[None, :])
    for _ in range(_ROUNDS):
        is_matched = np.flatnonzero(found >= 0)
        points = known[:, is_matched] @ released[found[is_matched]] / weight - 1e-4 * apart
        points[is_matched] = -np.inf
        points[:, found[is_matched]] = -np.inf
        best = points.argmax(axis=1)
        value = points.max(axis=1)
        rows = np.argsort(-value)[: max(len(known) // 10, 1)]
        rows = rows[value[rows] > 0]
        # Of several people for one node the first, who has the most points.
        rows = rows[np.unique(best[rows], return_index=True)[1]]
        if not len(rows):
            break
        found[rows] = best[rows]
    return found


@attack(
    "graph-seeds", source=f"De-anonymizing Social Networks (Narayanan, Shmatikov 2009); {BOOK}, section 9.1", most=1200
)
def graph_seeds(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Find people in a graph without names, from a few who are known and from whom everybody knows.

    Re-identification from seeds: a network is published under new numbers. The attacker knows most ties from elsewhere,
    and twelve people by their numbers. Whoever knows these is found by having the same neighbours and about the same
    degree, then whoever knows those, and so on.

    The defended network is a synthetic one, drawn from noisy degrees and a noisy number of triangles.
    """
    drawn = public_generator()
    network = _network(targets, drawn)
    lost = np.triu(drawn.random(network.shape) < _UNSEEN, 1)
    known = np.where(lost | lost.T, 0.0, network)
    numbers = drawn.permutation(targets)
    published = np.empty_like(network)
    published[np.ix_(numbers, numbers)] = network
    seeds = drawn.permutation(targets)[:_SEEDS]
    others = np.setdiff1d(np.arange(targets), seeds)
    open_guess = _matched(known, published, seeds, numbers[seeds])

    edges = np.argwhere(np.triu(network))
    method = ClusteredGraph.calibrated(PureDP(epsilon), nodes=targets)
    synthetic = np.zeros_like(network)
    ends = perform(method, edges, stability=1)
    synthetic[ends[:, 0], ends[:, 1]] = synthetic[ends[:, 1], ends[:, 0]] = 1.0
    # No synthetic node is anybody: the attacker takes those of the same numbers for the seeds.
    private_guess = _matched(known, synthetic, seeds, seeds)
    degrees = [np.sort(one.sum(axis=1))[::-1] for one in (network, synthetic)]
    ranks = tuple(float(rank) for rank in range(1, targets + 1))
    return Outcome(
        attack="graph-seeds",
        measure="share of people found",
        unprotected=float(np.mean(open_guess[others] == numbers[others])),
        protected=float(np.mean(private_guess[others] == others)),
        chance=1 / targets,
        ceiling=None,
        n=len(others),
        loss=f"{plainly(epsilon)} for one tie",
        words=(
            f"{targets} people under new numbers, of whom {_SEEDS} are known and nine of ten ties. "
            f"{np.mean(open_guess[others] == numbers[others]):.0%} of the others are found. In the synthetic network "
            "no node is a person; protection of a tie alone does not imply that for a person with many ties."
        ),
        figures=(("people who were matched, open", float(np.mean(open_guess[others] >= 0))),),
        axes=("people, in order of their degree", "degree"),
        curves=(
            Curve("as published", ranks, tuple(degrees[0].tolist())),
            Curve("synthetic", ranks, tuple(degrees[1].tolist())),
        ),
    )


@attack("edge-differencing", source=f"{KAR}, sections 4.1 and 4.5; {BOOK}, section 9.2", most=20_000)
def edge_differencing(targets: int = 1000, epsilon: Number = "1/2") -> Outcome:
    """Tell whether two people know each other from exact counts, all other ties being known.

    Differencing in graphs: the exact number of triangles among some people is published. Whoever knows all their ties
    but one computes the number with it and without it; where the two have a friend in common the numbers differ.

    The defended counts have noise for how far one tie moves them.
    """
    drawn = public_generator()
    pairs = list(combinations(range(_AROUND), 2))
    ties = drawn.random((targets, len(pairs))) < _KNOWN
    # Whether the first two know each other is the secret, as likely as not; the third is a friend of both.
    secret = drawn.random(targets) < 0.5
    ties[:, pairs.index((0, 1))] = secret
    ties[:, pairs.index((0, 2))] = ties[:, pairs.index((1, 2))] = True
    triangles = np.array(
        [[pairs.index(pair) for pair in combinations(corners, 2)] for corners in combinations(range(_AROUND), 3)]
    )
    count = ties[:, triangles].all(axis=2).sum(axis=1)
    with_tie, without = (
        _with(ties, pairs.index((0, 1)), there)[:, triangles].all(axis=2).sum(axis=1) for there in (1, 0)
    )
    guess = count == with_tie
    # In other people's ties one may move a count by as much as there are further nodes.
    private = noisy_counts(count, epsilon, moved=_AROUND - 2)
    private_guess = np.abs(private - with_tie) < np.abs(private - without)
    sizes = range(int(count.max()) + 1)
    return Outcome(
        attack="edge-differencing",
        measure="share of ties inferred correctly",
        unprotected=float(np.mean(guess == secret)),
        protected=float(np.mean(private_guess == secret)),
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one tie",
        words=(
            f"In {targets} small networks all ties but one are known. The exact number of triangles reveals the last "
            "one, as the numbers with it and without it differ. Noise for the effect of one tie on the number leaves "
            "a coin toss."
        ),
        figures=(("triangles that hang on the tie, average", float(np.mean(with_tie - without))),),
        axes=("triangles", "share of networks"),
        curves=(
            Curve("exact", tuple(map(float, sizes)), tuple(float(np.mean(count == size)) for size in sizes)),
            Curve("with noise", tuple(map(float, sizes)), tuple(float(np.mean(private == size)) for size in sizes)),
        ),
    )


def _with(ties: NDArray[np.bool_], place: int, there: int) -> NDArray[np.bool_]:
    """Return the ties with one of them set."""
    found = ties.copy()
    found[:, place] = bool(there)
    return found
