"""Inner products of two vectors that were sent, and what is known of them.

Write x + e and y + f for the two noisy vectors. Their product is off by (x + e) f + y e: the first term is a
combination of the noise f with weights that are known, the second one of the noise e with weights y, whose length is
bounded from what was sent. What was not sent adds at most the product of its length with that of the other vector where
nothing was sent. Post-processing only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.known_weights import gaussian_transform, geometric_transform, known_reach
from dither.exact import Number, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Interval
from dither.mechanisms.core.purse import CountNoise
from dither.mechanisms.geometric import Geometric
from dither.publish.histograms.common import combination_reach, variance_of
from dither.publish.retrieval.sent import SentVector

#: Beyond this width the moments of discrete Gaussian noise are those of the continuous law, to the last digit.
_WIDE = 8
_OUTWARDS = 1 + 1e-9
#: The share of the failure for noise whose weights are known.
_KNOWN = 0.9


@dataclass(frozen=True)
class Product:
    """An inner product, what it may be off by, and what it took.

    Args:
        value: the product of what was sent.
        interval: for the product of the two vectors without noise.
        deviation: an estimate of the root mean square of the error: the noise in the product of the whole vectors, and
            all of ``left_out`` where not everything was sent.
        left_out: the most that coefficients that were not sent can change.
        payload: how many bytes the client sent.

    """

    value: float
    interval: Interval
    deviation: float
    left_out: float
    payload: int


def product_variance(x_squared: float, y_squared: float, cells: int, x_variance: float, y_variance: float) -> float:
    """Return the variance of an inner product of two vectors with independent noise on both.

    Args:
        x_squared: the squared length of one vector, without noise.
        y_squared: that of the other.
        cells: their length.
        x_variance: of the noise of a cell of the one.
        y_variance: of the other.

    >>> round(product_variance(134369, 3, 6, 2, 2) ** 0.5, 2)
    518.43

    """
    return x_squared * y_variance + y_squared * x_variance + cells * x_variance * y_variance


def inner_product(server: SentVector, client: SentVector, *, confidence: Number = "0.95") -> Product:
    """Return the inner product of two vectors that were sent, with an interval for that of the true ones.

    The interval holds with at least that probability over the noise of both, whatever the vectors are.

    Args:
        server: one vector, with noise of its own.
        client: the other.
        confidence: the level of the interval.

    """
    level = probability("confidence", confidence, open_below=True)
    if server.cells != client.cells:
        raise InvalidParameter("client", client.cells, f"a vector of {server.cells} cells, as the server's")
    if server.places is None and client.places is None:
        value, left_out = float(server.values @ client.values), 0.0
    else:
        mine, theirs = server.coefficients, client.coefficients
        value = float(mine @ theirs)
        left_out = (
            float(np.linalg.norm(mine[_unsent(client)])) * client.dropped
            + float(np.linalg.norm(theirs[_unsent(server)])) * server.dropped
            + server.dropped * client.dropped
        )
    reach = (_noise_reach(server, client, level) + left_out) * _OUTWARDS
    x_noise, y_noise = moments(server.node)[0], moments(client.node)[0]
    estimate = server.squared * y_noise + client.squared * x_noise - server.cells * x_noise * y_noise
    interval = Interval(value - reach, value + reach, level)
    return Product(value, interval, math.hypot(math.sqrt(max(estimate, 0.0)), left_out), left_out, client.payload)


def _unsent(vector: SentVector) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return where nothing was sent."""
    missing = np.full(len(vector.coefficients), vector.places is not None)
    if vector.places is not None:
        missing[vector.places] = False
    return missing


def _noise_reach(server: SentVector, client: SentVector, level: Fraction) -> float:
    """Return how far noise moves the product of the whole vectors.

    Nine tenths of the failure are for the first term, whose weights are known where the server sent everything; the
    second has the rest, half of it for the length of its weights.
    """
    failure = share_of_failure(level)
    first = _known_reach(server, client.node, _KNOWN * failure)
    part = (1 - _KNOWN) / 2 * failure
    unknown = true_squared(client, part) * variance_of(server.node)
    second = combination_reach((server.node,), unknown, part) if unknown else 0.0
    return first + second


def _known_reach(server: SentVector, node: CountNoise, failure: float) -> float:
    """Return the reach of the client's noise, weighted with the server's noisy vector."""
    known = server.squared * variance_of(node)
    if not known:
        return 0.0
    found = None
    if server.places is None:
        is_geometric = isinstance(node, Geometric)
        width = float(node.scale) if isinstance(node, Geometric) else float(node.sigma)
        transform = geometric_transform(width) if is_geometric else gaussian_transform(width)
        found = known_reach(server.values, transform, (2 if is_geometric else 1) * width**2, failure)
    return combination_reach((node,), known, failure) if found is None else found


def true_squared(sent: SentVector, failure: float) -> float:
    """Return a bound on the squared length of a vector without its noise, which fails with that probability at most.

    The squared length of the noisy vector has mean ``s + n v`` and variance ``4 s v + n (m - v^2)``, where s is what is
    looked for, v the variance and m the fourth moment of the noise of n cells. By Cantelli's inequality it is seldom
    below its mean by more than the root of (1 - failure) / failure of its variance.

    Args:
        sent: the noisy vector.
        failure: the probability that the bound is too small.

    """
    variance, fourth = moments(sent.node)
    odds = (1 - failure) / failure
    above = sent.squared * _OUTWARDS - sent.cells * variance / _OUTWARDS
    spread = sent.cells * max(fourth * _OUTWARDS - variance**2 / _OUTWARDS, 0.0)
    inside = 4 * above * odds * variance + (2 * odds * variance) ** 2 + odds * spread
    return max(above + 2 * odds * variance + math.sqrt(max(inside, 0.0)), 0.0) * _OUTWARDS


def moments(node: CountNoise) -> tuple[float, float]:
    """Return the variance and the fourth moment of the noise of one cell.

    >>> variance, fourth = moments(Geometric(scale=100))
    >>> round(variance / (2 * 100**2), 4), round(fourth / (24 * 100**4), 4)
    (1.0, 1.0)

    """
    if isinstance(node, Geometric):
        ratio = math.exp(-1 / float(node.scale))
        rest = -math.expm1(-1 / float(node.scale))
        return 2 * ratio / rest**2, 2 * ratio * (1 + 10 * ratio + ratio**2) / rest**4
    sigma = float(node.sigma)
    if sigma > _WIDE:
        return sigma**2, 3 * sigma**4
    values = np.arange(-200, 201, dtype=np.float64)
    law = np.exp(-(values**2) / (2 * sigma**2)) if sigma > 0 else (values == 0).astype(np.float64)
    law /= law.sum()
    return float(law @ values**2), float(law @ values**4)
