"""Sharp intervals of means, variances, covariances and correlations: one sum of noises instead of a box.

At the true mean m the number ``s - m n`` is 0, where s is the sum of n values; so the noisy one is noise alone, and its
law is known. All m for which it is not farther from 0 than that noise reaches are the interval: a box loses more.
For a variance v the number is ``q - 2 m s + (m^2 - v) n``; it also needs m, but is least at the true one, so that an
interval for m at a small part of the failure probability costs little. Covariances and correlations are the same in two
variables; a correlation r has ``C - r (a V + W / a) / 2``, for the ratio a of the standard deviations.

The weights of the noises depend on what is sought. They are bounded over what is known of it so far, which the result
then narrows; each round holds whenever the same one or few sums of noise stay within their reach. The proof is in
``docs/algorithms/query.md``, *One sum of noises*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.publish.queries.statistics import Averaged, Bounds, Related, Spread, Statistic, outwards, unless_empty
from dither.publish.queries.sums_of_noise import LEAST_FAILURE, Additive, few_reach, is_smooth

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]

#: How much of the failure probability goes to each thing that must be known beside what is sought.
_BESIDE: Final = 0.04
_ROUNDS: Final = 3


def sharp(
    statistic: Statistic, noisy: Sequence[NDArray[Any]], parts: Sequence[Additive], failure: float
) -> Bounds | None:
    """Return where every group's true statistic lies, except with that probability; None where a box says more.

    Args:
        statistic: what is sought.
        noisy: the measured integers as drawn, a row of groups for each.
        parts: their noises.
        failure: of the interval as a whole.

    """
    if failure * _BESIDE * _BESIDE < LEAST_FAILURE or not is_smooth(list(parts)):
        return None
    numbers = [array.astype(np.float64) for array in noisy]
    fewest = noisy[-1] - parts[-1].reach(failure)
    if isinstance(statistic, Averaged):
        return _of_mean(statistic, numbers, parts, failure, fewest)
    if isinstance(statistic, Spread):
        return _of_spread(statistic, numbers, parts, failure, fewest)
    if isinstance(statistic, Related):
        return _of_pair(statistic, numbers, parts, failure, fewest)
    return None


def _of_mean(
    statistic: Averaged, numbers: list[Floats], parts: Sequence[Additive], failure: float, fewest: NDArray[Any]
) -> Bounds:
    grid = statistic.scaled.grid
    whole = float(grid.least), float(grid.most)
    found = _mean(numbers[0], np.maximum(numbers[1], 1), (parts[0], parts[1]), whole, failure)
    ends = unless_empty(found, fewest, whole)
    return outwards(*(grid.origin + np.ldexp(end, -grid.exponent) for end in ends))


def _of_spread(
    statistic: Spread, numbers: list[Floats], parts: Sequence[Additive], failure: float, fewest: NDArray[Any]
) -> Bounds:
    grid, less = statistic.scaled.grid, 1 if statistic.is_sample else 0
    largest = statistic.largest * (2 if statistic.is_sample else 1)
    squares = np.ldexp(numbers[0], statistic.squares[1])
    moments = squares, numbers[1], np.maximum(numbers[2], 1 + less)
    weight = 2.0 ** statistic.squares[1]
    found = _variance(moments, tuple(parts), weight, (float(grid.least), float(grid.most)), largest, failure, less)
    ends = unless_empty(found, fewest - less, (0.0, largest))
    low, high = outwards(*(np.ldexp(end, -2 * grid.exponent) for end in ends))
    low = np.maximum(low, 0.0)
    return outwards(np.sqrt(low), np.sqrt(high)) if statistic.is_root else (low, high)


def _of_pair(
    statistic: Related, numbers: list[Floats], parts: Sequence[Additive], failure: float, fewest: NDArray[Any]
) -> Bounds:
    pair = _Pair(statistic, numbers, parts, failure)
    if statistic.is_correlation:
        found, whole = pair.correlation(), (-1.0, 1.0)
        low, high = outwards(*unless_empty(found, fewest, whole))
        return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)
    less = 1 if statistic.is_sample else 0
    largest = statistic.largest * (1 + less)
    ends = unless_empty(pair.covariance(less), fewest - less, (-largest, largest))
    exponent = -statistic.first.grid.exponent - statistic.second.grid.exponent
    return outwards(*(np.ldexp(end, exponent) for end in ends))


def _mean(
    total: Floats, count: Floats, parts: tuple[Additive, Additive], whole: tuple[float, float], failure: float
) -> Ends:
    """Return all means m in a range for which total - m count may be noise."""
    low, high = np.full_like(total, whole[0]), np.full_like(total, whole[1])
    for _ in range(_ROUNDS):
        weights = np.stack([np.ones_like(total), _far(low, high)], axis=1)
        reach = few_reach(list(parts), weights, failure)
        low, high = (np.clip((total + side * reach) / count, *whole) for side in (-1, 1))
    return low, high


def _variance(
    moments: tuple[Floats, Floats, Floats],
    parts: tuple[Additive, ...],
    weight: float,
    whole: tuple[float, float],
    largest: float,
    failure: float,
    less: int = 0,
) -> Ends:
    """Return all variances, with ``less`` fewer in the divisor, for which the squares may be off by noise alone."""
    squares, total, count = moments
    means = _mean(total, count, (parts[1], parts[2]), whole, failure * _BESIDE)
    least, most = _parabola(moments, means)
    near, far = _near(*means), _far(*means)
    # Squares that were rounded down may leave a little less than nothing.
    low, high = np.full_like(squares, -weight), np.full_like(squares, largest)
    for _ in range(_ROUNDS):
        of_count = np.maximum(np.abs(far * far - low), np.abs(near * near - high))
        weights = np.stack([np.full_like(far, weight), 2 * far, of_count], axis=1)
        reach = few_reach(list(parts), weights, failure * (1 - _BESIDE))
        low, high = (np.clip(end / (count - less), -weight, largest) for end in (least - reach, most + reach))
    return low, high


def _parabola(moments: tuple[Floats, Floats, Floats], means: Ends) -> Ends:
    """Return the range of q - 2 m s + m^2 n over means: least at s / n, largest at an end."""
    squares, total, count = moments
    heights = [squares - 2 * mean * total + mean * mean * count for mean in (*means, np.clip(total / count, *means))]
    return np.minimum.reduce(heights), np.maximum(heights[0], heights[1])


class _Pair:
    """Two variables: their sums, products and squares in each group, and the noise of each."""

    def __init__(self, statistic: Related, numbers: list[Floats], parts: Sequence[Additive], failure: float) -> None:
        shifts = [shift for _, shift in statistic.products]
        self.failure, self.parts = failure, parts
        # Products that were rounded down may lie a little below what is possible.
        self.largest = statistic.largest + 2.0 ** shifts[0]
        self.count = np.maximum(numbers[-1], 1)
        self.totals = numbers[-3], numbers[-2]
        self.products = [np.ldexp(product, shift) for product, shift in zip(numbers, shifts, strict=False)]
        self.weights = [2.0**shift for shift in shifts]
        grids = statistic.first.grid, statistic.second.grid
        self.ranges = [(float(grid.least), float(grid.most)) for grid in grids]
        self.spans = [((grid.most - grid.least) / 2) ** 2 for grid in grids]
        self.means = [
            _mean(total, self.count, (part, parts[-1]), whole, failure * _BESIDE)
            for total, part, whole in zip(self.totals, parts[-3:-1], self.ranges, strict=True)
        ]
        # p - y x - x y + x y n, bilinear in the means, is largest and least at corners.
        x, y = self.totals
        corners = [self.products[0] - b * x - a * y + a * b * self.count for a in self.means[0] for b in self.means[1]]
        self.joint = np.minimum.reduce(corners), np.maximum.reduce(corners)

    def covariance(self, less: int) -> Ends:
        """Return all c for which p - m_y x - m_x y + (m_x m_y - c) n may be noise, with ``less`` fewer to divide by."""
        largest, divisor = self.largest * (1 + less), np.maximum(self.count - less, 1)
        low, high = np.full_like(self.count, -largest), np.full_like(self.count, largest)
        (x_far, y_far), corners = (_far(*mean) for mean in self.means), self._corners()
        for _ in range(_ROUNDS):
            of_count = np.maximum.reduce([np.abs(corner - end) for corner in corners for end in (low, high)])
            weights = np.stack([np.full_like(x_far, self.weights[0]), y_far, x_far, of_count], axis=1)
            reach = few_reach([self.parts[0], *self.parts[-3:]], weights, self.failure * (1 - 2 * _BESIDE))
            low, high = (
                np.clip(end / divisor, -largest, largest) for end in (self.joint[0] - reach, self.joint[1] + reach)
            )
        return low, high

    def correlation(self) -> Ends:
        """Return all correlations r for which C - r (a V + W / a) / 2 may be noise; all where a spread may be 0."""
        moments = [(self.products[1 + i], self.totals[i], self.count) for i in (0, 1)]
        spreads = [
            _variance(
                moments[i],
                (self.parts[1 + i], self.parts[3 + i], self.parts[-1]),
                self.weights[1 + i],
                self.ranges[i],
                self.spans[i],
                self.failure * _BESIDE,
            )
            for i in (0, 1)
        ]
        is_flat = (spreads[0][0] <= 0) | (spreads[1][0] <= 0)
        with np.errstate(all="ignore"):
            low_ratio, high_ratio = (
                np.where(is_flat, 1.0, np.sqrt(spreads[1][end] / spreads[0][1 - end])) for end in (0, 1)
            )
        ratios = low_ratio, high_ratio
        squares = [_parabola(moments[i], self.means[i]) for i in (0, 1)]
        product = self._of_ratio(squares, ratios)
        is_flat |= product[0] <= 0
        divisor = np.where(is_flat, 1.0, product[0]), np.where(is_flat, 1.0, product[1])
        low, high = np.full_like(self.count, -1.0), np.full_like(self.count, 1.0)
        for _ in range(_ROUNDS):
            reach = few_reach(list(self.parts), self._weights((low, high), ratios), self.failure * (1 - 4 * _BESIDE))
            below, above = self.joint[0] - reach, self.joint[1] + reach
            low = np.clip(np.minimum(below / divisor[0], below / divisor[1]), -1.0, 1.0)
            high = np.clip(np.maximum(above / divisor[0], above / divisor[1]), -1.0, 1.0)
        return np.where(is_flat, -1.0, low), np.where(is_flat, 1.0, high)

    def _of_ratio(self, squares: list[Ends], ratios: Ends) -> Ends:
        """Return the range of (a V + W / a) / 2 over ratios a: least at the root of W / V, largest at an end."""
        with np.errstate(all="ignore"):
            at = np.clip(np.sqrt(np.maximum(squares[1][0], 0) / np.maximum(squares[0][0], 1e-300)), *ratios)
            least = (at * squares[0][0] + squares[1][0] / at) / 2
            ends = [(ratio * squares[0][1] + squares[1][1] / ratio) / 2 for ratio in ratios]
        return least, np.maximum(*ends)

    def _weights(self, found: Ends, ratios: Ends) -> Floats:
        """Return bounds on the weights of all six noises, over correlations, ratios and means."""
        shape = np.ones_like(self.count)
        largest = [shape * self.weights[0], 0 * shape, 0 * shape, 0 * shape, 0 * shape, 0 * shape]
        for r in found:
            for a in ratios:
                of_squares = np.abs(r) * a / 2 * self.weights[1], np.abs(r) / a / 2 * self.weights[2]
                largest[1], largest[2] = np.maximum(largest[1], of_squares[0]), np.maximum(largest[2], of_squares[1])
                for x in self.means[0]:
                    for y in self.means[1]:
                        largest[3] = np.maximum(largest[3], np.abs(r * a * x - y))
                        largest[4] = np.maximum(largest[4], np.abs(r / a * y - x))
        # Of the count: x y - r (a x^2 + y^2 / a) / 2, by the ranges of its parts.
        corners = self._corners()
        (x_near, x_far), (y_near, y_far) = ((_near(*mean), _far(*mean)) for mean in self.means)
        least = (ratios[0] * x_near * x_near + y_near * y_near / ratios[1]) / 2
        most = (ratios[1] * x_far * x_far + y_far * y_far / ratios[0]) / 2
        taken = [r * end for r in found for end in (least, most)]
        low, high = np.minimum.reduce(taken), np.maximum.reduce(taken)
        largest[5] = np.maximum(np.abs(np.maximum.reduce(corners) - low), np.abs(np.minimum.reduce(corners) - high))
        return np.stack(largest, axis=1)

    def _corners(self) -> list[Floats]:
        return [a * b for a in self.means[0] for b in self.means[1]]


def _far(low: Floats, high: Floats) -> Floats:
    return np.maximum(np.abs(low), np.abs(high))


def _near(low: Floats, high: Floats) -> Floats:
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
