"""Timing: a sampler that takes longer for larger noise says how large its noise was.

The naive sampler tosses a coin until it falls; whoever counts the tosses knows the size of the noise and takes it off
the answer. Its time is counted in tosses, so that the result does not depend on the machine. dither's own draw is timed
by the clock: the attacker first times draws of their own, whose noise they know, and fits how time depends on it.

No promise covers time, so no ceiling is stated; what the answers alone may tell is among the figures. Whoever answers
over a wire should answer on a grid of time besides.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling
from dither.attack.registry import attack
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import Number, positive
from dither.mechanisms import Geometric, perform
from dither.privacy import PureDP


def naive_geometric(again: float, drawn: Generator) -> tuple[int, int]:
    """Return two-sided geometric noise and how many tosses it took: coins until one falls, then one for the sign."""
    tosses = 0
    while True:
        size = 0
        while drawn.uniform() < again:
            size += 1
        is_negative = drawn.uniform() < 0.5
        tosses += size + 2
        # Minus zero would count zero twice, so it is drawn again.
        if size or not is_negative:
            return (-size if is_negative else size), tosses


def bits_from_tosses(answers: NDArray[np.int64], tosses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return whether 0 or 1 was the true count: a rejected draw takes two tosses, so one size has the right parity."""
    is_zero_possible = (tosses - np.abs(answers)) % 2 == 0
    return np.where(is_zero_possible, 0, 1)


def _timed(mechanism: Geometric, values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    answers, spent = np.empty(len(values), dtype=np.int64), np.empty(len(values))
    for place, value in enumerate(values.tolist()):
        start = time.perf_counter_ns()
        answers[place] = perform(mechanism, value, stability=1)
        spent[place] = time.perf_counter_ns() - start
    return answers, spent


@attack(
    "timing",
    source="Are We There Yet? Timing and Floating-Point Attacks on Differential Privacy Systems (Jin et al. 2022)",
    most=2000,
)
def timing(targets: int = 300, epsilon: Number = "1/4") -> Outcome:
    """Measure how long the noise took, and take it off the answer."""
    drawn = public_generator()
    truth = drawn.integers(0, 2, size=targets)
    loss = float(positive("epsilon", epsilon))
    noise, tosses = np.array([naive_geometric(math.exp(-loss), drawn) for _ in range(targets)]).T
    counted = bits_from_tosses(truth + noise, tosses)

    mechanism = Geometric.calibrated(PureDP(epsilon), sensitivity=1)
    own, practice = _timed(mechanism, np.zeros(targets, dtype=np.int64))
    answers, spent = _timed(mechanism, truth)
    # The attacker's model: time is linear in the size of the noise, with a spread that outliers do not set.
    typical = np.median(practice)
    ordinary = practice <= 2 * typical
    sizes = np.abs(own[ordinary])
    # Noise that never differs in size says nothing about time.
    slope, base = np.polyfit(sizes, practice[ordinary], 1) if np.ptp(sizes) > 0 else (0.0, typical)
    spread = max(float(np.std(practice[ordinary])), 1.0)
    evidence = np.zeros(targets)
    for bit, sign in ((1, 1.0), (0, -1.0)):
        size = np.abs(answers - bit)
        late = np.clip((spent - base - slope * size) / spread, -3, 3)
        evidence += sign * (-loss * size - late**2 / 2)
    protected = float(np.mean((evidence > 0) == truth))
    return Outcome(
        attack="timing",
        measure="share of people whose yes or no is told rightly",
        unprotected=float(np.mean(counted == truth)),
        protected=protected,
        chance=0.5,
        ceiling=None,
        n=targets,
        loss=f"epsilon = {loss:g} for one person's answer, if time is not seen",
        words="The number of tosses of the naive sampler tells the size of its noise, and with it every bit. Draws of "
        f"dither, timed by the clock, tell {protected:.0%} of them, where the answers alone may tell "
        f"{ceiling(0.5, epsilon):.0%}.",
        figures=(
            ("share that answers alone may tell, at most", ceiling(0.5, epsilon)),
            ("nanoseconds per unit of noise, as fitted", float(slope)),
            ("nanoseconds of a draw, median", float(typical)),
        ),
        axes=("size of the noise", "time over its median"),
        curves=(
            Curve(
                "naive sampler, in tosses",
                tuple(np.abs(noise).astype(float).tolist()),
                tuple((tosses / np.median(tosses)).tolist()),
                joined=False,
            ),
            Curve(
                "dither, by the clock",
                tuple(np.abs(own[ordinary]).astype(float).tolist()),
                tuple((practice[ordinary] / typical).tolist()),
                joined=False,
            ),
        ),
    )
