"""Endpoints: a path with one edge missing is two pieces, and the edge joins an end of one to an end of the other.

The Adelaide thesis publishes for every two places of a network whether they stand in one branch. Edges of the path
never do; places that are no neighbours do with probability 1 / (1 + e^(-epsilon/2)). Who knows all of the path but one
edge has four pairs of ends to choose from, and strikes out those in one branch: the larger epsilon of the thesis, the
more. The one that is left is the edge.

The defended release says of every pair by randomised response whether it is in one branch. Another place for the
missing edge changes two pairs, so each answer loses half.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import random_answers
from dither.attack.registry import attack
from dither.attack.sources import ADELAIDE
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_ENDS, _THESIS = 4, 5.0
_SETTINGS = (0.5, 1.0, 2.0, 5.0, 10.0)


def chance_of_no_branch(thesis: float) -> float:
    """Return the probability that two places without an edge stand in no common branch."""
    return 1 / (1 + math.exp(thesis / 2))


def expected_share(thesis: float) -> float:
    """Return how often the edge is found: one over how many of four pairs are left, on average.

    >>> round(expected_share(0.0), 4), round(expected_share(10.0), 3)
    (0.4688, 0.99)

    """
    left = chance_of_no_branch(thesis)
    decoys = _ENDS - 1
    return sum(
        math.comb(decoys, many) * left**many * (1 - left) ** (decoys - many) / (1 + many) for many in range(_ENDS)
    )


def guess(is_left: NDArray[np.bool_], lots: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one of the pairs that are left, by lot; any of them if none is."""
    return np.asarray((is_left * 2.0 + lots).argmax(axis=1))


@attack("endpoint", source=f"{ADELAIDE}, section 6.3, algorithm 6.2", most=2000)
def endpoint(targets: int = 400, epsilon: Number = "1/2") -> Outcome:
    """Join the loose ends of a path that lacks one edge: of four pairs most are published as impossible."""
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
