"""Bugs in single draws: a law, a threshold or a price that is wrong for some parameters only."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np

from dither.mechanisms import Exponential, NumericSparse, RandomisedResponse, Staircase, TopK, TruncatedLaplace
from dither.mechanisms.pair_response import PairResponse
from dither.mechanisms.stability_selection import ThresholdedCounts
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Written, exceeds, laplace_tail

_FAMILY = "primitives"


def _truncated() -> str:
    """Two integers one apart, noise of scale 1 within 2: what one can give and the other cannot."""
    noise = TruncatedLaplace(scale=1, bound=2)
    weights = {x: math.exp(-abs(x)) for x in range(-2, 3)}
    total = sum(weights.values())
    charged = noise.loss(1)
    delta = math.fsum(
        max(0.0, weights.get(x, 0.0) / total - math.exp(float(charged.pure or 0)) * weights.get(x - 1, 0.0) / total)
        for x in range(-3, 5)
    )
    return f"delta {delta:.6g} above {float(charged.delta):.6g}" if delta > float(charged.delta) + 1e-12 else ""


def _new_keys() -> str:
    """Try a person who brings three keys that nobody else has: each may be shown."""
    counts = ThresholdedCounts(max_keys=3, scale=2, threshold=9)
    one = laplace_tail(2, 8)
    found, charged = 1 - (1 - one) ** 3, float(counts.loss(1).delta)
    return f"a new key is shown with {found:.6g}, and delta is {charged:.6g}" if found > charged * (1 + 1e-9) else ""


def _readings() -> str:
    """Two values far above the threshold: both are told with fresh noise of scale 1."""
    sparse = NumericSparse(threshold=0, threshold_scale=1000, query_scale=1000, value_scale=1, positives=2)
    # Far above, both comparisons succeed but for e^-100; the noisy values are then e^2 times as likely.
    lost = 2.0 - 1e-6
    return exceeds(lost, sparse.loss(1).pure, "two readings, each moved by 1")


def _places() -> str:
    """Four candidates, three places: the law of draws without replacement, written out."""
    top = TopK(candidates=4, chosen=3, scale=1)

    def law(scores: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        found: dict[tuple[int, ...], float] = {}
        for order in permutations(range(4), 3):
            left, chance = set(range(4)), 1.0
            for place in order:
                chance *= math.exp(scores[place]) / sum(math.exp(scores[other]) for other in left)
                left.discard(place)
            found[order] = chance
        return found

    here, there = law((39, 1, 1, 1)), law((40, 0, 0, 0))
    return exceeds(max(math.log(here[order] / there[order]) for order in here), top.loss(1).pure, "three places")


def _lies() -> str:
    """Six categories: how often the truth is told, from the coin that was asked for."""
    told = RandomisedResponse(epsilon=1, categories=6)
    noise = Written()
    told.draw_many(2, 1, noise)
    others = next(named["others"] for name, _, named in noise.asked if name == "bernoulli_truth")
    truth = 1 / (1 + others * math.exp(-1))
    return exceeds(math.log(truth / ((1 - truth) / 5)), told.loss(1).pure, "the truth against one lie of five")


def _stairs() -> str:
    """Integers three apart, stairs of two: the ratio of the law itself."""
    noise = Staircase(epsilon=1, sensitivity=2, width=1)

    def weight(x: int) -> int:
        return (abs(x) + 2 - 1) // 2

    worst = max(abs(weight(x) - weight(x - 3)) for x in range(-9, 12))
    return exceeds(float(worst), noise.loss(3).pure, "integers three apart")


def _sideways() -> str:
    """Float scores that are off by half a step: one may fall while the other rises, though all move one way."""
    choice = Exponential(candidates=2, scale="1/10", grid=1, score_error="1/2", one_way=True)
    # True scores move from (0, 0) to (1, 0); given ones may be off by 1/2 on both sides: 0 to 2, and 0 to -1.
    steps = choice.steps(np.array([2.0, -1.0])) - choice.steps(np.array([0.0, 0.0]))
    lost = math.log((1 + math.exp(10 * int(steps[0] - steps[1]))) / 2)
    return exceeds(lost, choice.loss(1).pure, "the candidate that fell")


def _no_edge() -> str:
    """Try a pair without an edge, and one with: each answer must be possible for both."""
    asked = PairResponse(epsilon=1, pairs=64)
    drawn = asked.draw_many(np.zeros(64, dtype=np.int64), 8, Written("pairs"))
    seen = set(drawn.ravel().tolist())
    return "" if seen == {0, 1} else f"a pair without an edge only ever answers {seen}: the ratio is infinite"


PRIMITIVES = (
    Plant(
        1,
        "truncated noise forgets its outermost step",
        _FAMILY,
        "delta is too small by a factor of e^(1 / scale)",
        ("truncated-laplace",),
        edited(
            "dither.mechanisms.truncated_laplace:_delta", ("max(bound + 1 - change, 0)", "max(bound + 2 - change, 0)")
        ),
        _truncated,
    ),
    Plant(
        2,
        "delta of new keys is that of one key",
        _FAMILY,
        "a person with several keys shows one of them more often than delta says",
        ("stability-selection", "stability-histogram"),
        edited(
            "dither.mechanisms.stability_selection:ThresholdedCounts._delta",
            ("keys = -(-self.max_keys * units // least)", "keys = -(-units // least)"),
        ),
        _new_keys,
    ),
    Plant(
        3,
        "the values that numeric-sparse tells are charged once",
        _FAMILY,
        "with two or more positives each fresh value is free but the first",
        ("numeric-sparse",),
        edited(
            "dither.mechanisms.numeric_sparse:NumericSparse.loss",
            ("self.positives * change / self.value_scale", "change / self.value_scale"),
        ),
        _readings,
        is_known_kind=True,
    ),
    Plant(
        4,
        "of three or more places the last is free",
        _FAMILY,
        "top-k charges one choice too few from three on",
        ("top-k",),
        edited(
            "dither.mechanisms.top_k:TopK.loss",
            (
                "min(self.chosen, self.candidates - 1)",
                "min(self.chosen if self.chosen < 3 else 2, self.candidates - 1)",
            ),
        ),
        _places,
    ),
    Plant(
        5,
        "randomised response counts half of the lies",
        _FAMILY,
        "with four or more categories the truth is told too often",
        ("randomised-response",),
        edited(
            "dither.mechanisms.randomised_response:RandomisedResponse.draw_many",
            ("count, others=others)", "count, others=max(1, others // 2))"),
        ),
        _lies,
    ),
    Plant(
        6,
        "stairs are rounded down",
        _FAMILY,
        "the staircase charges one stair too few where the distance is no multiple of its sensitivity",
        ("staircase",),
        edited(
            "dither.mechanisms.staircase:Staircase.stairs",
            ("-(-(change - moved + 1) // self.sensitivity)", "max(1, (change - moved + 1) // self.sensitivity)"),
        ),
        _stairs,
    ),
    Plant(
        7,
        "float scores that move one way cannot fall",
        _FAMILY,
        "the error of one-way float scores is counted on one side",
        ("exponential", "permute-and-flip", "noisy-max", "top-k"),
        edited(
            "dither.mechanisms.core.candidates:Choice.spread",
            ("return farthest + sideways if self.one_way", "return farthest if self.one_way"),
        ),
        _sideways,
    ),
    Plant(
        8,
        "a pair without an edge never lies",
        _FAMILY,
        "an answer that a missing edge cannot give",
        ("pair-response",),
        edited(
            "dither.mechanisms.pair_response:PairResponse.draw_many",
            ("np.where(states == NO_EDGE, coins, told)", "np.where(states == NO_EDGE, 0 * coins, told)"),
        ),
        _no_edge,
        is_known_kind=True,
    ),
)
