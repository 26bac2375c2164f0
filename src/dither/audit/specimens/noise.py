"""Noise of the wrong law, of the wrong size, or on the wrong side."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.specimens.record import BOOK, KENTUCKY, Odds, Source, Specimen
from dither.exact import log_up, sqrt_up
from dither.noise import system_noise
from dither.privacy import ApproxDP, PureDP
from dither.privacy.normal import tail

Rows = NDArray[Any]

_UNIFORM_BITS = 53
_FINE = 1024


def uniform_floats(count: int) -> NDArray[np.float64]:
    """Return floats strictly between -1/2 and 1/2, as a textbook draws them."""
    whole = system_noise().uniform_below(2**_UNIFORM_BITS, count)
    return np.asarray((whole.astype(np.float64) + 0.5) / 2**_UNIFORM_BITS - 0.5)


def floating_point_laplace(value: float, count: int) -> Rows:
    """Return a value plus Laplace noise of scale 1, by the inverse of its distribution function in floats."""
    uniform = uniform_floats(count)
    return np.asarray(value - np.sign(uniform) * np.log1p(-2 * np.abs(uniform)))


def one_sided(value: int, count: int) -> Rows:
    """Return a value plus exponential noise, here on integers: never below the value."""
    return value + system_noise().geometric(1, count)


def round_up(value: float, count: int) -> Rows:
    """Return a value plus Laplace noise that is rounded to an integer, while the value is not."""
    return value + np.rint(system_noise().discrete_laplace(_FINE, count) / _FINE)


def raw_local_sensitivity(values: Sequence[int], count: int) -> Rows:
    """Return the median plus Laplace noise as large as this very median can move."""
    ranked = sorted(values)
    middle = len(ranked) // 2
    moves = max(ranked[middle + 1] - ranked[middle], ranked[middle] - ranked[middle - 1])
    noise = system_noise().discrete_laplace(moves, count) if moves else np.zeros(count, dtype=np.int64)
    return ranked[middle] + noise


def gamma_coordinates(value: Sequence[int], count: int) -> Rows:
    """Return a vector plus one draw of a Gamma law for each coordinate, here on integers."""
    draws = system_noise().geometric(1, count * len(value) ** 2)
    return np.asarray(value + draws.reshape(count, len(value), len(value)).sum(axis=2))


def classical_gaussian(value: int, neighbour: int, *, sigma: Fraction | None = None) -> Odds:
    """Return the odds of the largest outcomes under sigma = sqrt(2 ln(2 / delta)) / epsilon, rounded up, or another."""
    epsilon, delta = Fraction(10), Fraction(1, 10**5)
    sigma = sqrt_up(2 * log_up(2 / delta)) / epsilon if sigma is None else sigma
    # Beyond this the density is more than e^epsilon times the other one.
    cut = epsilon * sigma**2 + Fraction(value + neighbour, 2)
    least, most = Fraction(tail((cut - value) / sigma)[0]), Fraction(tail((cut - neighbour) / sigma)[1])
    return Odds(f"an outcome above {float(cut):.4g}", least, most)


SPECIMENS = (
    Specimen(
        name="floating-point-laplace",
        source=Source(BOOK, "2.4.1, as any textbook; the attack is Mironov's (2012)"),
        claim=PureDP(1),
        what_is_wrong="A sum of floats is rounded to the last place of its parts: "
        "about a quarter of the outcomes for 0 are finer than any outcome for 1.",
        value=0.0,
        neighbour=1.0,
        step="a value that moves by 1",
        refuted_by="sampling",
        replacement="laplace",
        sample=floating_point_laplace,
    ),
    Specimen(
        name="one-sided-exponential-noise",
        source=Source(KENTUCKY, "theorems 6.2.2 and 8.3.1"),
        claim=PureDP(1),
        what_is_wrong=(
            "Noise that is never negative reveals that the value is no larger than the outcome: outcomes between two "
            "neighbours are impossible for the larger."
        ),
        value=0,
        neighbour=1,
        step="a value that moves by 1",
        refuted_by="sampling",
        replacement="bounded-geometric",
        sample=one_sided,
    ),
    Specimen(
        name="round-up-of-the-noise",
        source=Source(KENTUCKY, "definition 6.2.10 and theorem 6.2.3"),
        claim=PureDP(2),
        what_is_wrong="The noise is rounded, not the sum: the fractional part of the value is released as it is.",
        value=0.5,
        neighbour=0.25,
        step="a value that moves by less than 1",
        refuted_by="sampling",
        replacement="laplace",
        sample=round_up,
    ),
    Specimen(
        name="raw-local-sensitivity",
        source=Source(BOOK, "2.3.2, 6.1.2 and table 8.1; also the Adelaide thesis, 2.3"),
        claim=PureDP(1),
        what_is_wrong="The size of the noise is read from the data: where the median cannot move it is released "
        "exactly, next to data on which it can.",
        value=(0, 0, 0, 0, 10),
        neighbour=(0, 0, 0, 10, 10),
        step="one row is replaced",
        refuted_by="sampling",
        replacement="smooth-cauchy",
        sample=raw_local_sensitivity,
    ),
    Specimen(
        name="gamma-coordinates",
        source=Source(BOOK, "6.2.2.1, algorithm 2"),
        claim=PureDP(1),
        what_is_wrong="Noise 'from a Gamma distribution' in each coordinate is never negative; "
        "it is the length of the noise that has a Gamma law, its direction is uniform.",
        value=(0, 0),
        neighbour=(1, 0),
        step="a vector that moves by a length of 1",
        refuted_by="sampling",
        replacement="gamma-norm",
        sample=gamma_coordinates,
    ),
    Specimen(
        name="classical-gaussian-at-large-epsilon",
        source=Source(BOOK, "definition 2.7"),
        claim=ApproxDP(10, Fraction(1, 10**5)),
        what_is_wrong="The formula is stated for every epsilon; from about 9 on its sigma is too small. "
        "Sampling would need hundreds of millions of outcomes to see it.",
        value=1,
        neighbour=0,
        step="a value that moves by 1",
        refuted_by="closed form",
        replacement="gaussian",
        weigh=classical_gaussian,
    ),
)
