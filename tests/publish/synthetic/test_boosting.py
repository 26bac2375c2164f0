"""Boosting for queries: how far a record moves its weights, its price, its exact law, and what it learns."""

from __future__ import annotations

from fractions import Fraction
from itertools import count as counting
from itertools import product
from typing import Any

import numpy as np
import pytest
from dither.lift.attributes import Attributes

from dither.errors import InvalidParameter
from dither.mechanisms import Exponential, Geometric, perform
from dither.privacy import ZCDP, ApproxDP, PureDP
from dither.publish.synthetic.boosting import BoostedQueries

TABLE = Attributes.of({"a": 2, "b": 2})
METHOD = BoostedQueries(
    attributes=TABLE,
    workload=[["a"], ["b"]],
    total=Geometric(scale=5),
    single=Geometric(scale=10),
    scale=100,
    tolerance=2,
    ramp=3,
    rounds=4,
    samples=2,
)


@pytest.mark.parametrize(("tolerance", "ramp"), [(0, 1), (2, 3), (5, 1), (1, 8)])
def test_weights_move_by_at_most_two_per_record(tolerance: int, ramp: int) -> None:
    method = BoostedQueries(
        attributes=TABLE,
        workload=[["a"]],
        total=Geometric(scale=1),
        single=Geometric(scale=1),
        scale=1,
        tolerance=tolerance,
        ramp=ramp,
        rounds=1,
        samples=1,
    )
    farthest = 0
    for count, answer in product(range(25), range(25)):
        given = np.array([answer, answer], dtype=np.float64)
        here, there = (method.moved(np.array([number, 0]), given) for number in (count, count + 1))
        farthest = max(farthest, int(np.abs(here - there).max()))
        error = abs(count - answer)
        # By its definition: -ramp when good, ramp when bad, linear in between.
        wanted = -ramp if error <= tolerance else ramp if error >= tolerance + ramp else 2 * (error - tolerance) - ramp
        assert here[0] == wanted
    assert farthest == 2


def test_the_law_of_sampled_queries_keeps_its_promise() -> None:
    """The weights of the last round are sums of three such scores: the exact law of a choice, over all small errors."""
    claimed, worst = 4 * 3 * 1 / 100, 0.0
    for errors in product(range(7), repeat=2):
        for move in product((-1, 0, 1), repeat=2):
            laws = []
            for shift in ((0, 0), move):
                counts = np.array([errors[0] + shift[0], 0, errors[1] + shift[1], 0])
                weights = 3 * METHOD.moved(counts, np.zeros(4))
                law = np.exp(weights / 100)
                laws.append(law / law.sum())
            worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    assert claimed / 2 < worst <= claimed + 1e-12


def test_price_and_calibration() -> None:
    wanted = Fraction(1, 5) + 8 * Fraction(1, 10) + 2 * (4 + 8 + 12) * Fraction(1, 100)
    assert METHOD.loss(1).epsilon == wanted
    for target in (PureDP(1), ZCDP("1/8"), ApproxDP(1, "1e-9")):
        assert BoostedQueries.calibrated(target, attributes=TABLE).loss(1) <= target
    assert BoostedQueries.calibrated(PureDP(1), attributes=TABLE, rounds=1).loss(1).epsilon == 1
    with pytest.raises(InvalidParameter, match="attributes"):
        BoostedQueries.calibrated(PureDP(1), attributes=Attributes.of({"a": 2**8, "b": 2**8}))


class Evenly:
    """A run without noise, in which choices go through all candidates in turn: one that may happen."""

    def __init__(self) -> None:
        self._turn = counting()

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        return next(self._turn) % part.candidates if isinstance(part, Exponential) else value


def test_without_noise_all_answers_come_out() -> None:
    table = Attributes.of({"a": 2, "b": 3, "c": 2})
    every = np.array(list(product(range(2), range(3), range(2))))
    rows = np.repeat(every, [40, 10, 25, 5, 60, 0, 15, 15, 20, 80, 5, 25], axis=0)
    codes = table.codes(rows)
    for samples, within in ((16, 0.05), (10, 0.1)):
        method = BoostedQueries.calibrated(PureDP(1), attributes=table, rounds=9, samples=samples)
        model = method.release(rows, Evenly())
        assert model.total == len(rows)
        for axes in ((0, 1), (0, 2), (1, 2)):
            # With all 16 queries every table is as near as few passes take it; with 10 in turn the median still is.
            assert np.abs(model.table(axes) - table.count(codes, axes)).max() < within * len(rows)


def test_odd_data() -> None:
    for rows in (0, 1, 3):
        assert np.isfinite(perform(METHOD, np.full((rows, 2), 9), stability=1).law).all()
