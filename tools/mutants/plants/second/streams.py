"""Bugs in streams: a window that forgets a tick too early, a person who counts once more, a level that is free."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.data.ticks import Ticks
from dither.mechanisms import Geometric
from dither.mechanisms.gap_sparse import GapSparse
from dither.mechanisms.window_publisher import WindowPublisher
from dither.privacy import L1
from dither.publish.streams.examples import ranked_examples
from dither.publish.streams.fourier import FourierSeries
from dither.publish.streams.tally import Standing
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Written, oversteps

_FAMILY = "streams and conversations"


def _window(scheme: str) -> str:
    """Feed counts that jump at every tick, and add up what the noise of any three ticks in a row costs."""
    publisher, costs = WindowPublisher(epsilon=1, window=3, scheme=scheme), []
    noise = Written(scheme)
    state = publisher.begin(noise)
    for tick in range(9):
        noise.asked.clear()
        publisher.reply(state, 10**9 * (tick % 2), noise)
        drawn = [given[0] for name, given, _ in noise.asked if name == "discrete_laplace"]
        costs.append(sum((1 / Fraction(scale) for scale in drawn), Fraction(0)))
    worst = max(sum(costs[start : start + 3]) for start in range(7))
    return f"three ticks in a row cost {float(worst):.6g} of 1" if worst > 1 else ""


def _distribution() -> str:
    """Halves of what is left."""
    return _window("distribution")


def _absorption() -> str:
    """Take what ticks before have not taken."""
    return _window("absorption")


def _levels() -> str:
    """All rows of one unit in one cell: each level of the tree has them once."""
    examples: list[Any] = [one.mechanism for one in ranked_examples()]
    answer = next(one for one in examples if one.counter.distance == L1)
    # Five values in a tree of two branches: levels of 5, 3 and 2 nodes.
    answer = replace(answer, branch=2, counter=replace(answer.counter, shape=(10,)))
    moved = answer.moved[0]
    numbers = np.zeros(answer.cells, dtype=np.int64)
    before = answer.counted(numbers)
    numbers[0] = moved.most * moved.units * moved.ticks
    found = int(np.abs(answer.counted(numbers) - before).sum())
    return f"all levels move by {found}, and {answer.stability} is stated" if found > answer.stability else ""


def _person(gap: int, at: list[int]) -> int:
    ticks = Ticks("at", 3600, datetime.datetime(2025, 1, 1), 100, rows=1, ticks=2, gap=gap)
    standing = Standing()
    counted = 0
    for tick in at:
        if standing.may_count(tick, ticks):
            standing, counted = Standing(standing.used + 1, tick), counted + 1
    return counted


def _once_more() -> str:
    """Somebody with a row at each of nine ticks, who may count in two."""
    counted = _person(1, list(range(9)))
    return f"a person counts in {counted} ticks, and 2 are declared" if counted > 2 else ""


def _too_soon() -> str:
    """Somebody with rows two ticks apart, who may count every third tick."""
    counted = _person(3, [0, 2])
    return "a person counts twice within two ticks, and three are declared" if counted > 1 else ""


def _constant() -> str:
    """One event in the middle of six ticks: how far four waves move together."""
    made = FourierSeries(steps=6, waves=4, node=Geometric(scale=2**15))
    moves = (oversteps(made, np.zeros(6, dtype=np.int64), np.eye(6, dtype=np.int64)[tick]) for tick in range(6))
    return next((said for said in moves if said), "")


def _odd_rest() -> str:
    """Three answers far above and one near: in halves of a price, 3 and 2 of the 4 that two positives have."""
    sparse = GapSparse(threshold=0, threshold_scale="1/4", query_scale="1/4", margin=1000, positives=2)
    noise = Written("odd")
    state, paid, is_over = sparse.begin(noise), 0, False
    for value in (10**6, 10**6, 10**6, 500, 500):
        if is_over:
            break
        answer, is_over = sparse.reply(state, value, noise)
        paid += 0 if answer is None else 1 if answer.is_far else 2
    return f"{paid} halves were paid out, and {2 * sparse.positives} are charged" if paid > 2 * sparse.positives else ""


STREAMS = (
    Plant(
        107,
        "the budget of a window forgets its oldest tick one tick early",
        _FAMILY,
        "from three ticks on, what any window takes is more than epsilon under distribution",
        ("window-publisher",),
        edited(
            "dither.mechanisms.window_publisher:WindowPublisher.reply",
            ("if len(state.spent) >= self.window:", "if len(state.spent) >= max(self.window - 1, 1):"),
        ),
        _distribution,
    ),
    Plant(
        108,
        "the test of each tick has the budget of a window",
        _FAMILY,
        "tests of a window cost its length times what is set aside for them",
        ("window-publisher",),
        edited(
            "dither.mechanisms.window_publisher:WindowPublisher.test_scale",
            ("return self.window / (self.epsilon * self.share)", "return 1 / (self.epsilon * self.share)"),
        ),
        _absorption,
    ),
    Plant(
        109,
        "the top level of a tree of ranks is free",
        _FAMILY,
        "with two or more levels under pure noise, one of them is not counted",
        ("ranked-answer",),
        edited(
            "dither.publish.streams.ranked:_spread",
            ("Fraction(levels) if is_pure", "Fraction(max(levels - 1, 1)) if is_pure"),
        ),
        _levels,
    ),
    Plant(
        110,
        "a person counts in one tick more than declared",
        _FAMILY,
        "the limit on ticks is checked before and not after the tick",
        ("ticked-answer", "ranked-answer", "leading-groups"),
        edited(
            "dither.publish.streams.tally:Standing.may_count",
            ("self.used < ticks.ticks", "self.used <= ticks.ticks"),
        ),
        _once_more,
    ),
    Plant(
        111,
        "the gap between two ticks of a person counts both ends",
        _FAMILY,
        "a person may count one tick earlier than the noise is made for",
        ("ticked-answer", "ranked-answer", "leading-groups"),
        edited(
            "dither.publish.streams.tally:Standing.may_count",
            ("tick - self.last >= ticks.gap", "tick - self.last + 1 >= ticks.gap"),
        ),
        _too_soon,
    ),
    Plant(
        112,
        "the constant wave is left out of the longest column",
        _FAMILY,
        "with three or more waves under geometric noise, the sum of the series is free",
        ("fourier-series",),
        edited(
            "dither.publish.streams.fourier:FourierSeries.stability",
            ("np.abs(table).sum(axis=0)", "np.abs(table[1 if self.waves > 2 else 0 :]).sum(axis=0)"),
        ),
        _constant,
    ),
    Plant(
        113,
        "half a positive that is left buys a whole one",
        _FAMILY,
        "after an odd number of far answers one near answer more is given than is charged",
        ("gap-sparse",),
        edited(
            "dither.mechanisms.gap_sparse:GapSparse.reply",
            ("return answer, state.left < _NEAR", "return answer, state.left <= 0"),
        ),
        _odd_rest,
    ),
)
