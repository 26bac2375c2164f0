"""The law of objective perturbation, tested without a closed form of its outputs.

At the minimum of a penalised loss with a random linear term the gradient is 0, so that the term can be computed from
the weights that were released: it is minus the gradient of the loss without it. If the weights follow their law, the
terms found so follow that of the noise: their lengths a Gamma law, or that of a Gaussian vector, and their directions
the uniform one. The gradient is written here anew, by the definition of the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.goodness import Fit, Law, noise_test, smallest_scale_error
from dither.learn.centred import LENGTH
from dither.learn.linear.perturbed_minimum import PerturbedMinimum, linear_grid
from dither.mechanisms import Gaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.noise import system_noise

Floats = NDArray[np.float64]

_PENALTY = 2
_SCALE = 2.0
#: Records, at most LENGTH long, and the side of each.
_RECORDS = np.array([[0.6, 0.8, 1], [-0.3, 0.4, 0], [1.0, 0.0, 1], [0.0, -1.0, 0], [0.5, -0.5, 1]])
#: Noise on the weights, so small that it moves no law by as much as a test sees.
_FINISH = GammaNorm(scale=Fraction(1, 2**12))


def minima_test(draws: int, *, false_alarm: float = 1e-6) -> dict[str, tuple[Fit, float]]:
    """Return how well the linear terms behind released weights fit their law, and the smallest error of scale seen.

    Guarantee: a sound sampler fails any of the tests with probability at most ``false_alarm``.

    Args:
        draws: weights drawn for each kind of noise.
        false_alarm: of all tests together.

    """
    found = {}
    for name, part in _parts().items():
        terms = linear_terms(part, draws)
        tests: tuple[tuple[str, Floats, Callable[[Floats, float], Floats]], ...] = (
            ("length", np.hypot(*terms.T), _lengths(part)),
            ("direction", np.arctan2(terms[:, 1], terms[:, 0]), _directions),
        )
        for what, column, up_to in tests:
            told = f"objective perturbation, {what} of the {name} term"
            law = Law(told, partial(_some, column), up_to, 0.0)
            fit = noise_test(column, partial(_unscaled, up_to), false_alarm=false_alarm / 4)
            # A direction has no scale.
            found[told] = fit, smallest_scale_error(law, fit.seen) if what == "length" else 0.0
    return found


def linear_terms(part: PerturbedMinimum, draws: int) -> Floats:
    """Return the linear terms that belong to a number of released weights."""
    rows = np.column_stack([np.rint(_RECORDS[:, :2] * LENGTH), _RECORDS[:, 2]])
    weights = part.draw_many(rows, draws, system_noise())
    records, sides = rows[:, :2] / LENGTH, 2 * rows[:, 2] - 1
    pulls = -sides / (1 + np.exp(sides * (weights @ records.T)))
    return np.asarray(-(pulls @ records + float(part.penalty) * weights))


def _parts() -> dict[str, PerturbedMinimum]:
    shared: dict[str, Any] = {"width": 2, "loss_name": "logistic", "penalty": _PENALTY, "finish": _FINISH}
    fine = linear_grid(2)
    return {
        "pure": PerturbedMinimum(part=GammaNorm(scale=Fraction(_SCALE), grid=fine), **shared),
        "Gaussian": PerturbedMinimum(part=Gaussian(sigma=Fraction(_SCALE), grid=fine), delta="1e-6", **shared),
    }


def _lengths(part: PerturbedMinimum) -> Callable[[Floats, float], Floats]:
    """Return the law of the length of a term with two entries."""

    def up_to(x: Floats, factor: float) -> Floats:
        scaled = np.maximum(x, 0) / (_SCALE * factor)
        if isinstance(part.part, GammaNorm):
            return np.asarray(1 - np.exp(-scaled) * (1 + scaled))
        return np.asarray(1 - np.exp(-(scaled**2) / 2))

    return up_to


def _directions(x: Floats, factor: float) -> Floats:
    return np.clip((x + math.pi) / (2 * math.pi), 0, 1)


def _unscaled(up_to: Callable[[Floats, float], Floats], x: Floats) -> Floats:
    return up_to(x, 1.0)


def _some(column: Floats, count: int) -> Floats:
    return column[:count]
