"""The room of streams: the choice of a counter, windows, republication by drift, waves of a series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dither.errors import BudgetExceeded, HandleMisuse, InvalidParameter, InvalidValue
from dither.mechanisms import Budget, BufferedCounter, DiscreteGaussian, Geometric, SplitCounter, converse, release
from dither.privacy import EVENT, ZCDP, ApproxDP, PureDP
from dither.publish.streams import (
    DriftPublisher,
    FourierSeries,
    SlidingWindow,
    choose_counter,
    decayed_sums,
    window_sums,
)
from dither.publish.streams.sums import window_error


@pytest.mark.parametrize(
    ("within", "words", "name"),
    [
        (PureDP(1), {"steps": 8760}, "tree-counter"),
        (PureDP(1), {}, "hybrid-counter"),
        (PureDP(1), {"steps": 2}, "tree-counter"),
        (ZCDP("1/2"), {"steps": 8760}, "buffered-counter"),
        (ZCDP("1/2"), {}, "buffered-counter"),
        (ApproxDP(1, "1e-9"), {"steps": 8760, "ticks": 5, "apart": 24}, "buffered-counter"),
        (PureDP(1), {"steps": 8760, "ticks": 5, "apart": 24, "shape": 3}, "tree-counter"),
    ],
)
def test_the_choice_is_by_loss_and_horizon_and_keeps_the_loss(within: Any, words: dict[str, Any], name: str) -> None:
    chosen = choose_counter(within, sensitivity=2, **words)
    assert getattr(chosen.counter, "even", True) == (
        ("steps" in words and "ticks" not in words) or name != "buffered-counter"
    )
    assert chosen.counter.name == name
    moved = 2 * words.get("ticks", 1) if isinstance(within, PureDP) else 2
    assert within.covers(chosen.counter.loss(moved))
    assert chosen.error > 0
    assert chosen.reason


def test_the_choice_by_memory() -> None:
    """Fewer numbers to keep, larger errors; the chosen tree is never worse than noise on each sum."""
    loss: dict[str, Any] = {"sensitivity": 1, "steps": 2**12}
    few = choose_counter(ApproxDP(5, "1e-12"), sensitivity=1, steps=2)
    assert few.counter.name == "tree-counter"
    assert ApproxDP(5, "1e-12").covers(few.counter.loss(1))
    errors = [choose_counter(ZCDP(1), **loss, memory=memory).error for memory in (3, 5, 9)]
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 3
    trees = [choose_counter(PureDP(1), **loss, memory=memory) for memory in (2, 33, None)]
    assert trees[0].error > trees[1].error > trees[2].error
    for steps in (1, 2, 3, 5, 40):
        split = SplitCounter.calibrated(PureDP(1), sensitivity=1, steps=steps)
        assert choose_counter(PureDP(1), sensitivity=1, steps=steps).error <= split.standard_error(0)
    with pytest.raises(InvalidParameter, match="memory"):
        choose_counter(ZCDP(1), **loss, memory=1)


def fed(stream: Any, values: Any) -> list[Any]:
    return [stream.feed(value) for value in values]


@pytest.mark.parametrize("loss", [PureDP(2**12), ZCDP(2**14)])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_windows_are_sums_of_the_last_ticks(loss: Any, width: int) -> None:
    """With next to no noise, against a plain loop; longer streams than paid for are refused."""
    windows = SlidingWindow.calibrated(loss, width=width, steps=12, sensitivity=1)
    values = np.random.default_rng().integers(0, 50, windows.blocks * width).tolist()
    budget: Any = {"epsilon": 2**12} if isinstance(loss, PureDP) else {"rho": 2**14}
    stream = converse(windows, None, budget=Budget(**budget, unit=EVENT))
    expected = [sum(values[max(0, tick - width + 1) : tick + 1]) for tick in range(len(values))]
    assert fed(stream, values) == expected
    with pytest.raises(HandleMisuse):
        stream.feed(1)


def test_windows_of_vectors_cost_one_block() -> None:
    windows = SlidingWindow.calibrated(PureDP(1), width=24, steps=240, sensitivity=1, shape=2)
    assert windows.loss(1) == windows.counter.loss(1)
    assert windows.loss(1) <= PureDP(1)
    budget = Budget(epsilon=1, unit=EVENT)
    stream = converse(windows, None, budget=budget)
    assert stream.feed(np.array([1, 2])).shape == (2,)
    with pytest.raises(InvalidValue):
        stream.feed(np.array([1, 2, 3]))
    assert stream.fed == 1
    with pytest.raises(BudgetExceeded):
        converse(windows, None, budget=budget)


def test_sums_that_cost_nothing() -> None:
    values = np.random.default_rng().integers(0, 9, (20, 2))
    sums = np.cumsum(values, axis=0)
    for width in (1, 3, 20, 40):
        expected = [values[max(0, tick - width + 1) : tick + 1].sum(axis=0).tolist() for tick in range(20)]
        assert window_sums(sums, width).tolist() == expected
    decayed = decayed_sums(sums, "3/4")
    assert decayed[7] == pytest.approx(sum(values[tick] * 0.75 ** (7 - tick) for tick in range(8)))
    for bad in (0, 1, "much"):
        with pytest.raises(InvalidParameter, match="decay"):
            decayed_sums(sums, bad)


def test_noise_of_neighbouring_sums_cancels() -> None:
    """The window's error from the row of the factor, against its matrix; it is far below that of two sums."""
    counter = BufferedCounter.calibrated(ZCDP("1/2"), sensitivity=1, steps=400)
    series = np.array([float(counter.factor.coefficient(place)) for place in range(40)])
    lag = np.arange(40)[:, None] - np.arange(40)
    noise = np.tril(np.ones((40, 40))) @ np.linalg.inv(np.where(lag >= 0, series[np.abs(lag)], 0.0))
    row = noise[39] - noise[32]
    expected = math.sqrt(float(counter.sigma) ** 2 * float(row @ row) + 1 / 6)
    assert window_error(counter, 7, 39) == pytest.approx(expected)
    with pytest.raises(InvalidParameter, match="counter"):
        window_error(choose_counter(ZCDP("1/2"), sensitivity=1, steps=400).counter, 7, 39)  # type: ignore[arg-type]
    assert window_error(counter, 7, 399) < counter.standard_error(399)


def test_sums_are_published_again_when_they_have_drifted() -> None:
    """With next to no noise: after a drift of 10, up to three times; then the last ones stay."""
    drift = DriftPublisher.calibrated(PureDP(2**12), sensitivity=1, drift=10, republications=3, steps=12)
    stream = converse(drift, None, budget=Budget(epsilon=2**12, unit=EVENT))
    assert fed(stream, [4, 4, 4, 1, 0, 20, 1, 30, 3, 90, 0]) == [0, 0, 12, 12, 12, 33, 33, 64, 64, 64, 64]
    assert (stream.republications, stream.fed) == (3, 11)
    stream.feed(0)
    with pytest.raises(HandleMisuse):
        stream.feed(0)
    pair = DriftPublisher.calibrated(PureDP(2**12), sensitivity=1, drift=10, republications=3, steps=12, shape=2)
    stream = converse(pair, None, budget=Budget(epsilon=2**12, unit=EVENT))
    assert [one.tolist() for one in fed(stream, np.array([[1, 2], [3, 20], [0, 1]]))] == [[0, 0], [4, 22], [4, 22]]


def test_drift_costs_the_test_and_all_republications() -> None:
    drift = DriftPublisher.calibrated(PureDP(1), sensitivity=2, drift=100, republications=7, steps=1000)
    assert drift.loss(1).pure == drift.test.loss(2).pure + 7 * drift.node.loss(2).pure
    assert drift.loss(1) <= PureDP(1)
    with pytest.raises(InvalidParameter, match="sensitivity"):
        DriftPublisher.calibrated(PureDP(1), sensitivity="1/2", drift=100, republications=7, steps=1000)


@pytest.mark.parametrize("loss", [PureDP(1), ZCDP("1/2")])
def test_waves_move_as_far_as_their_columns(loss: Any) -> None:
    """The price by moving every tick, one by one, in the waves computed here."""
    series = FourierSeries.calibrated(loss, sensitivity=1, steps=50, waves=7)
    ticks = (np.arange(50) + 0.5) / 50
    table = np.rint(2**14 * np.cos(np.pi * np.arange(7)[:, None] * ticks))
    order = 1 if isinstance(loss, PureDP) else 2
    assert float(series.stability) == pytest.approx(float(np.linalg.norm(table, ord=order, axis=0).max()))
    assert series.loss(1) <= loss
    assert not series.loss("1.01") <= loss


def test_a_smooth_series_comes_back() -> None:
    """With next to no noise, up to what the waves leave out; with all waves, any series does."""
    smooth = (1000 + 400 * np.cos(np.pi * 3 * (np.arange(200) + 0.5) / 200)).astype(int)
    few = FourierSeries(steps=200, waves=8, node=DiscreteGaussian(sigma=1))
    budget = Budget(rho=few.loss(1).rho, unit=EVENT)
    assert release(few, smooth, budget=budget, stability=1).value == pytest.approx(smooth, abs=1)
    rough = np.random.default_rng().integers(0, 1000, 30)
    every = FourierSeries(steps=30, waves=30, node=Geometric(scale=1))
    assert release(every, rough, budget=Budget(epsilon=2**30, unit=EVENT), stability=1).value == pytest.approx(
        rough, abs=1
    )


def test_few_waves_have_less_noise_than_noise_on_every_tick() -> None:
    series = FourierSeries.calibrated(ZCDP("1/2"), sensitivity=1, steps=2000, waves=20)
    assert series.standard_error < 0.2
    assert series.standard_error == pytest.approx(
        math.sqrt(2 * 20 - 1) / math.sqrt(2000) * math.sqrt(20 / 2000), rel=0.05
    )
    with pytest.raises(InvalidParameter, match="waves"):
        FourierSeries(steps=5, waves=6, node=Geometric(scale=1))
