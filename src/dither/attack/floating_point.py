"""Floating point: the textbook sampler cannot reach all numbers, and which it cannot reach depends on the secret.

The textbook adds -b log(u) to the answer, u being a whole multiple of 2^-53. Under each true answer only some doubles
can come out; a released double that one answer cannot give proves that the other was true. dither releases multiples of
a public step, every one of which every answer can give.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Outcome, ceiling, plainly
from dither.attack.registry import attack
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import Number, positive
from dither.mechanisms import Laplace, perform
from dither.privacy import PureDP

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
    """Find released numbers that the naive Laplace sampler cannot have drawn under one of two answers."""
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
        measure="share of people whose yes or no is told rightly",
        unprotected=float(np.mean(guesses[0] == truth)),
        protected=float(np.mean(guesses[1] == truth)),
        chance=0.5,
        ceiling=ceiling(0.5, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's answer, all {_ANSWERS} numbers together",
        words=f"{1 - wrong.mean():.0%} of the numbers that the naive sampler released cannot come from the other "
        f"answer; of {_ANSWERS} numbers one is enough. dither's are multiples of {float(mechanism.step):g}, "
        f"whatever is true.",
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
