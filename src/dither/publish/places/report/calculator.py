"""What a report is worth before it is made: its error, the chance to be near, what an adversary with a prior learns.

All of it follows from public parameters. The figures of planar noise are those of its law in the plane; a box stretches
them by at most its own bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive


@dataclass(frozen=True)
class ReportFigures:
    """Figures of one report by planar Laplace noise.

    Args:
        mean: the mean distance from the true place, in metres.
        median: half of the reports are nearer.
        reach: 95 % of the reports are nearer.
        within: the chance to be within the radius that was asked about.
        odds: by how much a report multiplies the odds between two places that far apart, at most.

    """

    mean: float
    median: float
    reach: float
    within: float
    odds: float


def planar_figures(epsilon: Number, radius: Number) -> ReportFigures:
    """Return the figures of one report with ``epsilon`` per metre, and what they say of a radius in metres.

    >>> figures = planar_figures("0.01", 200)
    >>> round(figures.mean), round(figures.median), round(figures.reach)
    (200, 168, 474)
    >>> round(figures.within, 3), round(figures.odds, 2)
    (0.594, 7.39)
    """
    rate, metres = float(positive("epsilon", epsilon)), float(positive("radius", radius))
    return ReportFigures(
        mean=2 / rate,
        median=radius_holding(0.5) / rate,
        reach=radius_holding(0.95) / rate,
        within=chance_within(rate * metres),
        odds=math.exp(min(rate * metres, 700.0)),
    )


def chance_within(scaled: float) -> float:
    """Return P[|Z| <= r] for planar noise of scale 1: 1 - (1 + r) e^-r.

    >>> round(chance_within(2.0), 4)
    0.594
    """
    return -math.expm1(-scaled) - scaled * math.exp(-scaled)


def radius_holding(share: float) -> float:
    """Return the radius that holds a share of planar noise of scale 1, by bisection.

    >>> round(radius_holding(0.95), 4)
    4.7439
    """
    low, high = 0.0, 1.0
    while chance_within(high) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_within(middle) < share else (low, middle)
    return high


@dataclass(frozen=True)
class Learned:
    """What an adversary with a prior learns from one report between cells.

    Args:
        before: the expected distance of the best guess without a report, in metres.
        after: the same with the report.
        right_before: the chance to guess the cell without a report.
        right_after: the same with the report.

    """

    before: float
    after: float
    right_before: float
    right_after: float


def adversary(channel: Any, prior: Any, distances: Any) -> Learned:
    """Return what the best guesser learns from a report.

    Args:
        channel: rows of chances: for each true cell, how likely each report is.
        prior: how likely the guesser holds each true cell for.
        distances: metres between cells.

    >>> learned = adversary(np.eye(2), [0.5, 0.5], [[0, 100], [100, 0]])
    >>> learned.before, learned.after, learned.right_after
    (50.0, 0.0, 1.0)

    """
    rows, weights, apart = (np.asarray(given, dtype=np.float64) for given in (channel, prior, distances))
    count = len(weights)
    if rows.ndim != 2 or len(rows) != count or apart.shape != (count, count) or not weights.sum() > 0:
        raise InvalidParameter("channel, prior, distances", "of other shapes", "for the same true cells")
    weights = weights / weights.sum()
    joint = weights[:, None] * rows
    return Learned(
        before=float((weights @ apart).min()),
        after=float((joint.T @ apart).min(axis=1).sum()),
        right_before=float(weights.max()),
        right_after=float(joint.max(axis=0).sum()),
    )


def planar_channel(middles: NDArray[np.float64], epsilon: Number) -> NDArray[np.float64]:
    """Return how likely planar noise, put on the nearest cell, reports each cell, for cells that are small beside it.

    An approximation for the calculator: the density at the middles of cells, made to add up to 1.
    """
    apart = np.hypot(*(middles[:, None] - middles[None]).transpose(2, 0, 1))
    weights = np.exp(-float(positive("epsilon", epsilon)) * apart)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
