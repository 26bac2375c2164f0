"""Pictures of what is published of streams in other ways than by counters: drift, seized memory, density, few reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dither import Budget, converse
from dither.mechanisms import PanPrivateCounter, PanPrivateDensity, StreamMean, TreeCounter
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.privacy import EVENT, PureDP
from dither.publish.streams import DriftPublisher

WIDTH = 560


def pictures() -> Iterator[tuple[str, Chart]]:
    """Draw all of them."""
    for part in (drift, seized, density, reads):
        yield from part()


def drift() -> Iterator[tuple[str, Chart]]:
    """Draw sums that are published again where they have drifted, beside the truth."""
    dice = np.random.default_rng(11)
    ticks = 600
    arrived = dice.poisson(np.where(np.arange(ticks) % 200 < 60, 12, 0.2))
    method = DriftPublisher.calibrated(PureDP(1), sensitivity=1, drift=250, republications=8, steps=ticks)
    stream = converse(method, None, budget=Budget(epsilon=1, unit=EVENT))
    shown = [stream.feed(int(one)) for one in arrived]
    places = [float(tick) for tick in range(ticks)]
    lines = [
        Line("the sum so far", places, np.cumsum(arrived).astype(float).tolist()),
        Line("what is published", places, [float(one) for one in shown]),
    ]
    chart = line_chart(
        "Sums that are published again when they have drifted",
        lines,
        across=Axis("tick"),
        up=Axis("rows so far"),
        width=WIDTH,
    )
    facts = f"A generated stream, epsilon 1 for an event, a drift of 250, published {stream.republications} times."
    yield "drift", chart.captioned(facts)


def seized() -> Iterator[tuple[str, Chart]]:
    """Draw what it costs that a memory may be seized at any moment, by the number of reports."""
    reports = [2**power for power in range(13)]
    # A report after t others carries 2 t draws; each draw has a variance of about 2.
    scale = float(PanPrivateCounter.calibrated(PureDP(1), sensitivity=1, steps=1, every=1).scale)
    rate = np.exp(-1 / scale)
    spread = float(np.sqrt(2 * rate) / (1 - rate))
    trees = [TreeCounter.calibrated(PureDP(1), sensitivity=1, steps=one).largest_standard_error for one in reports]
    lines = [
        Line("the memory may be seized once a tick", [float(one) for one in reports], _roots(reports, spread)),
        Line("tree: the memory is kept from everybody", [float(one) for one in reports], trees),
    ]
    chart = line_chart(
        "Running sums on a machine that may be searched",
        lines,
        across=Axis("ticks", is_log=True),
        up=Axis("standard error", "counts", is_log=True),
        width=WIDTH,
    )
    yield "seized", chart.captioned("Epsilon 1 for an event. From closed forms; no data.")


def _roots(reports: list[int], spread: float) -> list[float]:
    return [spread * float(np.sqrt(2 * one)) for one in reports]


def density() -> Iterator[tuple[str, Chart]]:
    """Draw how far a density of users is off, by epsilon, in runs and by the bound."""
    dice = np.random.default_rng(13)
    users, steps, come = 2000, 1500, 600
    epsilons = (0.2, 0.5, 1.0, 2.0, 4.0)
    seen = dice.choice(come, size=steps)
    truth = len(np.unique(seen))
    off, bounds = [], []
    for epsilon in epsilons:
        method = PanPrivateDensity(users=users, steps=steps, bit_epsilon=epsilon / 2, scale=2 / epsilon)
        errors = []
        for _ in range(12):
            stream = converse(method, budget=Budget(epsilon=epsilon, unit=EVENT), stability=1)
            answers = [stream.ask(int(one)) for one in seen]
            errors.append(abs(method.estimate(answers[-1]) - truth))
        off.append(float(np.mean(errors)))
        bounds.append(_bound(method))
    lines = [Line("mean of 12 runs", epsilons, off), Line("bound at 95 %", epsilons, bounds)]
    chart = line_chart(
        "How many users of a list have appeared",
        lines,
        across=Axis("epsilon", is_log=True),
        up=Axis("off by", "users", is_log=True),
        width=WIDTH,
    )
    facts = f"{truth} of {users:,} users appear in {steps:,} generated rows; the memory holds a coin for each user."
    yield "density", chart.captioned(facts)


def _bound(method: Any) -> float:
    return float(method.error("0.95").value)


def reads() -> Iterator[tuple[str, Chart]]:
    """Draw how many bits of a stream are read, and how far its mean is off."""
    times = tuple(10**power for power in range(2, 7))
    method = StreamMean(kept=630, times=times, epsilon=2)
    kept = method.kept
    expected = [float(t if t <= kept else kept + kept * (_harmonic(t) - _harmonic(kept))) for t in times]
    places = [float(t) for t in times]
    lines = [Line("all bits", places, places), Line("read for a reservoir of 630", places, expected)]
    chart = line_chart(
        "Bits that are read for the mean of a stream",
        lines,
        across=Axis("bits so far", is_log=True),
        up=Axis("bits read", is_log=True),
        width=WIDTH,
    )
    width = float(method.half_width(times[-1], "0.9"))
    facts = f"Epsilon 2 for a bit: each mean is within {width:.2f} of the truth with 90 %. From closed forms; no data."
    yield "reads", chart.captioned(facts)


def _harmonic(count: int) -> float:
    return float(np.sum(1 / np.arange(1, min(count, 10**7) + 1)))
