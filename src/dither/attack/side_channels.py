"""Side channels: what an implementation reveals beside the answer, by its time or by its last bits."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.registry import attack
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import Number, positive
from dither.mechanisms import Geometric, Laplace, perform
from dither.privacy import PureDP


def naive_geometric(again: float, drawn: Generator) -> tuple[int, int]:
    """Return two-sided geometric noise and the number of tosses: coins until one shows heads, then one for the sign."""
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
    """Measure how long the noise took, and subtract it from the answer.

    Timing: a sampler that takes longer for larger noise says how large its noise was.

    The naive sampler tosses a coin until it falls; counting the tosses tells the size of the noise, to be taken
    off the answer. Its time is counted in tosses, so that the result does not depend on the machine. dither's own draw
    is timed by the clock: the attacker first times their own draws, whose noise they know, and fits how time depends
    on it.

    No promise covers time, so no ceiling is stated; what the answers alone may tell is among the figures. A server
    should also answer on a grid of time.
    """
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
        measure="share of people whose yes or no is inferred correctly",
        unprotected=float(np.mean(counted == truth)),
        protected=protected,
        chance=0.5,
        ceiling=None,
        n=targets,
        loss=f"epsilon = {loss:g} for one person's answer, if time is not seen",
        words=(
            "The number of tosses of the naive sampler reveals the size of its noise, and with it every bit. Draws "
            f"of dither, timed by the clock, reveal {protected:.0%} of them, where the answers alone may reveal "
            f"{ceiling(0.5, epsilon):.0%}."
        ),
        figures=(
            ("share that answers alone may reveal, at most", ceiling(0.5, epsilon)),
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


_ANSWERS = 16
_UNITS = 2.0**53
#: How many neighbours of the likeliest u are tried: rounding in exp, log and the sum moves it by a few.
_TRIED = np.arange(-8.0, 9.0)


def naive_laplace(value: NDArray[np.float64], scale: float, drawn: Generator) -> NDArray[np.float64]:
    """Return values with Laplace noise as textbooks draw it: -scale log(u), with a sign."""
    units = 1.0 - drawn.random(size=value.shape)
    signs = np.where(drawn.random(size=value.shape) < 0.5, -1.0, 1.0)
    return np.asarray(value + signs * (-scale * np.log(units)))


def can_come_from(value: float, released: NDArray[np.float64], scale: float) -> NDArray[np.bool_]:
    """Return which released numbers the naive sampler can give for ``value``."""
    likely = np.rint(np.exp(-np.abs(released - value) / scale) * _UNITS)
    units = np.clip(likely[..., None] + _TRIED, 1.0, _UNITS) / _UNITS
    noise = -scale * np.log(units)
    wanted = released[..., None]
    return np.asarray(((value + noise == wanted) | (value - noise == wanted)).any(axis=-1))


@attack(
    "floating-point",
    source="On Significance of the Least Significant Bits for Differential Privacy (Mironov 2012)",
    most=5000,
)
def floating_point(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Find released numbers that the naive Laplace sampler cannot have drawn under one of two answers.

    Floating point: the textbook sampler cannot reach all numbers, and which it cannot reach depends on the secret.

    The textbook adds -b log(u) to the answer, u being a whole multiple of 2^-53. Under each true answer only some
    doubles can come out; a released double that one answer cannot give proves that the other was true. dither releases
    multiples of a public step, every one of which every answer can give.
    """
    drawn = public_generator()
    truth = drawn.integers(0, 2, size=targets)
    values = np.repeat(truth[:, None].astype(np.float64), _ANSWERS, axis=1)
    scale = _ANSWERS / float(positive("epsilon", epsilon))
    naive = naive_laplace(values, scale, drawn)
    possible = [can_come_from(float(bit), naive, scale) for bit in (0, 1)]

    mechanism = Laplace.calibrated(PureDP(epsilon), sensitivity=_ANSWERS, shape=values.shape)
    private = np.asarray(perform(mechanism, values, stability=_ANSWERS), dtype=np.float64)
    # Released numbers are multiples of the step under either answer.
    on_steps = private % float(mechanism.step) == 0
    guesses = [_told(released, *allowed) for released, allowed in ((naive, possible), (private, [on_steps, on_steps]))]
    wrong = np.where(truth[:, None] == 1, possible[0], possible[1])
    right = np.where(truth[:, None] == 1, possible[1], possible[0])
    return Outcome(
        attack="floating-point",
        measure="share of people whose yes or no is inferred correctly",
        unprotected=float(np.mean(guesses[0] == truth)),
        protected=float(np.mean(guesses[1] == truth)),
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's answer, all {_ANSWERS} numbers together",
        words=(
            f"{1 - wrong.mean():.0%} of the numbers that the naive sampler released cannot come from the other "
            f"answer; of {_ANSWERS} numbers one is enough. dither's are multiples of {float(mechanism.step):g}, for "
            "any true answer."
        ),
        figures=(
            ("share of naive numbers impossible under the other answer", float(1 - wrong.mean())),
            ("share of naive numbers found possible under the true answer", float(right.mean())),
            ("share of dither's numbers impossible under either answer", float(1 - on_steps.mean())),
        ),
    )


def _told(
    released: NDArray[np.float64], from_zero: NDArray[np.bool_], from_one: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the answer that could give more of the numbers; between equals, the one that they are nearer to."""
    certain = from_one.sum(axis=1) - from_zero.sum(axis=1)
    nearer = np.abs(released).sum(axis=1) > np.abs(released - 1).sum(axis=1)
    return np.asarray(np.where(certain != 0, certain > 0, nearer), dtype=np.int64)
