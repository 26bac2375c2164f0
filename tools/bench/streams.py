"""Counters on streams: errors as ratios to the binary tree at the same loss, and ticks a second."""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from dither.mechanisms import BufferedCounter, HybridCounter, SplitCounter, SquareRootCounter, TreeCounter
from dither.noise import system_noise
from dither.privacy import ZCDP, PureDP

STEPS: Final = 2**16
_TICKS: Final = 10**6
_SINGLE: Final = 20_000
_GROUPS: Final = 10_000


def counters() -> list[tuple[str, Any, float]]:
    """Return counters over 65,536 ticks, and the largest standard error of each: at epsilon 1, then at rho 1/2."""
    pure: dict[str, Any] = {"within": PureDP(1), "sensitivity": 1}
    rho: dict[str, Any] = {"within": ZCDP("1/2"), "sensitivity": 1}
    length: dict[str, Any] = {"steps": STEPS}
    binary: dict[str, Any] = {"bases": (2,) * 16, "combine": "add"}
    trees = [
        ("epsilon 1, binary tree", TreeCounter.calibrated(**pure, **length, **binary)),
        ("epsilon 1, tree with subtraction", TreeCounter.calibrated(**pure, **length)),
        ("epsilon 1, noise on every tick", TreeCounter.calibrated(**pure, **length, bases=())),
        ("rho 1/2, binary tree", TreeCounter.calibrated(**rho, **length, **binary)),
        ("rho 1/2, least variance", TreeCounter.calibrated(**rho, **length, bases=(2,) * 16)),
    ]
    found: list[tuple[str, Any, float]] = [(name, tree, tree.largest_standard_error) for name, tree in trees]
    last = STEPS - 1
    split, endless = SplitCounter.calibrated(**pure, **length), HybridCounter.calibrated(**pure)
    found.insert(3, ("epsilon 1, split among ticks", split, split.standard_error(last)))
    found.insert(3, ("epsilon 1, no known end", endless, max(endless.standard_error(t) for t in range(0, STEPS, 97))))
    root = SquareRootCounter.calibrated(**rho, **length)
    found.append(("rho 1/2, square root", root, root.standard_error(last)))
    for buffers in (4, 6, 8):
        counter = BufferedCounter.calibrated(**rho, **length, buffers=buffers)
        found.append((f"rho 1/2, {buffers} buffers", counter, counter.standard_error(last)))
    even, free = BufferedCounter.calibrated(**rho, **length, even=True), BufferedCounter.calibrated(**rho)
    found.append(("rho 1/2, 8 buffers, even columns", even, even.largest_standard_error))
    found.append(("rho 1/2, no known end", free, free.standard_error(last)))
    smooth = BufferedCounter.calibrated(**rho, smooth=True)
    found.append(("rho 1/2, no known end, smooth", smooth, smooth.standard_error(last)))
    return found


def speed(counter: Any, ticks: int, *, block: bool) -> float:
    """Return ticks a second of processor time, all at once or one by one."""
    noise, values = system_noise(), np.zeros((ticks, *counter.shape), dtype=np.int64)
    state, start = counter.begin(noise), time.process_time()
    if block:
        counter.reply(state, values, noise)
    else:
        for value in values if counter.shape else values.tolist():
            counter.reply(state, value, noise)
    return ticks / (time.process_time() - start)


def lines() -> list[str]:
    """Return the figures for people, one counter a line."""
    found, base = ["counter, 65,536 ticks | largest standard error | of the binary tree"], 1.0
    for name, _, error in counters():
        base = error if name.endswith("binary tree") else base
        found.append(f"{name} | {error:.4g} | {error / base:.3f}")
    found.append("ticks a second | in blocks, goal 1,000,000 | one by one, goal 30,000")
    rho: dict[str, Any] = {"within": ZCDP("1/2"), "sensitivity": 1}
    for counter in (
        TreeCounter.calibrated(PureDP(1), sensitivity=1, steps=2**24),
        BufferedCounter.calibrated(**rho, steps=2**24),
        HybridCounter(epsilon=1),
    ):
        rates = speed(counter, _TICKS, block=True), speed(counter, _SINGLE, block=False)
        found.append(f"{counter.name} | {rates[0]:,.0f} | {rates[1]:,.0f}")
    wide = BufferedCounter.calibrated(**rho, steps=8760, shape=_GROUPS)
    found.append(f"buffered-counter, 10,000 groups, goal 200 | | {speed(wide, 80, block=False):,.0f}")
    return found
