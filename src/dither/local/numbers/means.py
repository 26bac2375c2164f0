"""Means of numbers from many reports, without bias and with intervals.

A report gives each mean an integer score whose expectation is ``base + slope * value``, exactly, for the value of the
person it comes from. So the average score, less ``base`` and divided by ``slope``, estimates the mean of the values of
all who reported. Only sums of scores and of their squares are stored: memory does not grow with the reports.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, probability
from dither.local.randomiser import Randomiser

Floats = NDArray[np.float64]
Tally = NDArray[np.int64]


@dataclass(frozen=True)
class Means:
    """Estimated means, in cells counted from 0: ``in_units`` has them on the scale of a range.

    Args:
        reports: how many reports each mean comes from.
        means: unbiased, so that one may be outside of the grid; the middle of the grid where there is no report.
        low: lower ends of the intervals.
        high: upper ends; infinite where there is no report.
        confidence: with which each interval holds the mean of those who reported.

    """

    reports: NDArray[np.int64]
    means: Floats
    low: Floats
    high: Floats
    confidence: Fraction

    def in_units(self, lows: Floats | float, widths: Floats | float = 1.0) -> Means:
        """Return the same on a scale whose cell 0 is ``low``, and whose cells are ``width`` apart."""
        low, mean, high = (lows + widths * part for part in (self.low, self.means, self.high))
        return Means(self.reports, mean, low, high, self.confidence)


class NumberRandomiser(Randomiser):
    """A randomiser from whose reports means are estimated."""

    @abstractmethod
    def tally(self, reports: NDArray[np.int64]) -> Tally:
        """Return sums over reports; those of parts of the reports add up."""

    @abstractmethod
    def means(self, tally: Tally, confidence: Number = "0.95") -> Means:
        """Return the estimated means of the cells."""

    @abstractmethod
    def variances(self, cells: NDArray[np.int64]) -> Floats:
        """Return the exact variance of an estimate that is made of one report, for each cell (and each mean)."""

    @property
    def squared_error(self) -> float:
        """The largest variance of an estimate from one report, over all cells; ``auto`` compares it."""
        cells = np.unique(np.linspace(0, self.half.cells - 1, 1025).astype(np.int64))
        return float(np.max(self.variances(cells)))


def bit_means(ones: Tally, counts: Tally, low: Floats, step: Floats, places: Floats, level: Fraction) -> Means:
    """Return means from bits that are 1 with probability ``low + step * cell``.

    The interval is that of Wilson: bits of people with different values vary no more than equal ones of the same mean.

    Args:
        ones: how many bits are 1, for each mean.
        counts: how many bits there are.
        low: the probability of a 1 at cell 0.
        step: what each cell more adds.
        places: how many cells.
        level: the confidence.

    """
    from scipy.special import ndtri

    squared = float(ndtri(float(1 - level) / 2)) ** 2
    known = counts > 0
    several = np.maximum(counts, 1)
    share = ones / several
    middle = (share + squared / (2 * several)) / (1 + squared / several)
    reach = np.sqrt(squared * (share * (1 - share) / several + squared / (4 * several**2))) / (1 + squared / several)
    scale = [(part - low) / step for part in (share, middle - reach, middle + reach)]
    mean = np.where(known, scale[0], (places - 1) / 2)
    return Means(counts, mean, np.where(known, scale[1], -np.inf), np.where(known, scale[2], np.inf), level)


def level_of(confidence: Number) -> Fraction:
    """Return a confidence as a fraction."""
    return probability("confidence", confidence)


def normal_means(count: int, mean: float, variance: float, least: float, places: int, level: Fraction) -> Means:
    """Return one mean with the interval of a normal law, or the middle of the grid where there is no report.

    Args:
        count: how many reports there are.
        mean: the estimate.
        variance: of one report's estimate, as it was measured.
        least: that of the law alone, for the cell where it is smallest: few reports may all be equal by chance.
        places: how many cells.
        level: the confidence.

    """
    from scipy.special import ndtri

    if not count:
        mean, reach = (places - 1) / 2, np.inf
    else:
        # One report has no measured variance: then the interval is infinite as well.
        reach = (
            -float(ndtri(float(1 - level) / 2)) * float(np.sqrt(max(variance, least) / count)) if count > 1 else np.inf
        )
    found = np.array([mean])
    return Means(np.array([count]), found, found - reach, found + reach, level)
